"""Every parameter by its name: what ``--set key=value`` reaches.

A key belongs to the population (its law, its signals, its response rule) or to the protocol. Which keys mean something depends on the protocol: ``tau_c``
means nothing where nobody debates, ``theta`` nothing where nobody responds. An unknown or meaningless key is an error that lists the valid ones.

Setting ``a``, ``b`` or ``w`` replaces a population's law of difficulty or misconception by the plain Beta or the fixed share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from .deciding import VOTES
from .difficulty import BetaDifficulty, FixedShare, MixtureDifficulty
from .errors import ParameterError
from .population import Population
from .protocol import INITIAL, TARGETS, Protocol
from .response import RULES
from .scheduling import ConfidenceGate, UncertaintyGate
from .signals import Signals
from .stopping import AdaptiveConsistency, StableConsensus, TokenBudget, Window

__all__ = ["apply_settings", "as_count", "as_number", "as_switch", "valid_keys"]

Setting = str | int | float | bool

_SIGNALS = tuple(f.name for f in fields(Signals))


def as_number(field: str, value: Setting) -> float:
    """Read a number.

    Raises
    ------
    ParameterError
        If it is none.
    """
    try:
        if isinstance(value, bool):
            raise ValueError
        return float(value)
    except ValueError:
        raise ParameterError(field, value, "a number") from None


def as_count(field: str, value: Setting) -> int:
    """Read an integer ("6" and 6.0 are integers, 6.5 is not).

    Raises
    ------
    ParameterError
        If it is none.
    """
    number = as_number(field, value)
    if number != number or number in (float("inf"), float("-inf")) or number != int(number):
        raise ParameterError(field, value, "an integer")
    return int(str(value)) if str(value).lstrip("+-").isdigit() else int(number)


def as_switch(field: str, value: Setting) -> bool:
    """Read true or false.

    Raises
    ------
    ParameterError
        If it is neither.
    """
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if str(value).lower() not in words:
        raise ParameterError(field, value, "true or false")
    return words[str(value).lower()]


def _protocol_keys(protocol: Protocol) -> list[str]:
    keys = []
    if not protocol.tiers and protocol.name != "cot":
        keys.append("n")
    if protocol.chains and protocol.name != "cot" and protocol.initial != "restated":
        keys.append("chains")
    if isinstance(protocol.sampling_stop, AdaptiveConsistency):
        keys.append("level")
    if isinstance(protocol.sampling_stop, Window):
        keys.append("window")
    if isinstance(protocol.gate, ConfidenceGate):
        keys.append("threshold")
    if isinstance(protocol.gate, UncertaintyGate):
        keys += (
            ["tau_low", "tau_high", "weight_h", "weight_q", "weight_d"]
            if len(protocol.gate.bounds) == 2
            else ["weight_h", "weight_q", "weight_d"]
        )
    if len(protocol.tiers) == 1:
        keys += ["agents", "rounds"]
    elif protocol.tiers:
        keys += [f"tiers.{tier.name}.{part}" for tier in protocol.tiers for part in ("agents", "rounds")]
    if isinstance(protocol.round_stop, StableConsensus):
        keys += ["tau_c", "epsilon", "same_leader"] + (["first_share"] if protocol.inherits else [])
    if isinstance(protocol.round_stop, TokenBudget):
        keys.append("token_budget")
    if protocol.tiers:
        keys += ["vote", "target"] + (["initial"] if protocol.initial != "restated" else [])
    return keys


def _population_keys(protocol: Protocol, population: Population) -> list[str]:
    keys = ["a", "b", "w"]
    if isinstance(protocol.gate, UncertaintyGate) or protocol.target != "none":
        keys += list(_SIGNALS)
    if protocol.tiers:
        keys += ["rule", *(f.name for f in fields(population.response))]
    return keys


def valid_keys(protocol: Protocol, population: Population) -> list[str]:
    """Keys that mean something for this pair."""
    return _population_keys(protocol, population) + _protocol_keys(protocol)


def apply_settings(protocol: Protocol, population: Population, settings: Mapping[str, Setting]) -> tuple[Protocol, Population]:
    """Change parameters by name.

    Parameters
    ----------
    protocol, population
        Where to start from.
    settings : mapping
        Key to value; values may be text, as a command line gives them.

    Returns
    -------
    protocol, population
        New values.

    Raises
    ------
    ParameterError
        If a key is unknown or means nothing here, or a value lies outside its range.
    """
    settings = dict(settings)
    if "rule" in settings:
        rule = str(settings.pop("rule"))
        if rule not in RULES:
            raise ParameterError("rule", rule, "one of " + ", ".join(RULES))
        if "rule" not in valid_keys(protocol, population):
            raise _unknown("rule", protocol, population)
        kept = {f: getattr(population.response, f) for f in ("iota", "phi", "lam_focus")}
        population = replace(population, response=RULES[rule](**kept), borrowed={**population.borrowed, "response": "set by hand"})
    for key in settings:
        if key not in valid_keys(protocol, population):
            raise _unknown(key, protocol, population)
    return _set_protocol(protocol, settings), _set_population(population, settings)


def _unknown(key: str, protocol: Protocol, population: Population) -> ParameterError:
    valid = ", ".join(valid_keys(protocol, population))
    return ParameterError("--set", key, f"a key that means something for {protocol.name}: {valid}")


def _set_population(population: Population, settings: Mapping[str, Setting]) -> Population:
    difficulty, share = population.difficulty, population.misconception
    if "w" in settings:
        share = FixedShare(as_number("w", settings["w"]))
        if isinstance(difficulty, MixtureDifficulty):
            difficulty = replace(difficulty, w=())
    if "a" in settings or "b" in settings:
        now = {k: as_number(k, settings[k]) for k in ("a", "b") if k in settings}
        for k in ("a", "b"):
            if k not in now and not isinstance(difficulty, BetaDifficulty):
                raise ParameterError(k, None, "a number", f"{population.name} has no Beta law of difficulty: give both a and b.")
            now.setdefault(k, getattr(difficulty, k, 0.0))
        difficulty = BetaDifficulty(now["a"], now["b"])
        if share is None:
            raise ParameterError(
                "w", None, "a number from 0 to 1", f"{population.name} has a joint law of p and w: give w together with a and b."
            )
    signals = {k: _as_type(k, v, getattr(population.signals, k)) for k, v in settings.items() if k in _SIGNALS}
    response_fields = {f.name for f in fields(population.response)}
    response = {k: as_number(k, v) for k, v in settings.items() if k in response_fields}
    return replace(
        population,
        difficulty=difficulty,
        misconception=share,
        signals=replace(population.signals, **signals),
        response=replace(population.response, **response),
    )


def _as_type(key: str, value: Setting, current: object) -> Any:
    if isinstance(current, int):
        return as_count(key, value)
    return as_number(key, value) if isinstance(current, float) else str(value)


def _set_protocol(protocol: Protocol, settings: Mapping[str, Setting]) -> Protocol:
    changes: dict[str, Any] = {}
    if "n" in settings and "chains" in settings:
        raise ParameterError("n, chains", (settings["n"], settings["chains"]), "only one of them", "Here n is the number of chains.")
    for key in ("n", "chains"):
        if key in settings:
            changes["chains"] = as_count(key, settings[key])
    for key, choices in (("vote", VOTES), ("target", TARGETS), ("initial", INITIAL)):
        if key in settings:
            if settings[key] not in choices:
                raise ParameterError(key, settings[key], "one of " + ", ".join(choices))
            changes[key] = str(settings[key])
    changes["gate"] = _set_gate(protocol, settings)
    changes["tiers"] = tuple(_set_tier(protocol, t, settings) for t in range(len(protocol.tiers)))
    changes["sampling_stop"] = _set_parts(protocol.sampling_stop, settings, {"level": lambda _, v: v, "window": as_count})
    readers: dict[str, Callable[[str, Setting], Any]] = {
        "tau_c": lambda _, v: v,
        "epsilon": lambda _, v: v,
        "same_leader": as_switch,
        "first_share": lambda _, v: str(v),
    }
    changes["round_stop"] = _set_parts(protocol.round_stop, settings, readers)
    if "token_budget" in settings:
        changes["round_stop"] = TokenBudget(as_count("token_budget", settings["token_budget"]))
    return replace(protocol, **changes)


def _set_parts(part: Any, settings: Mapping[str, Setting], readers: Mapping[str, Callable[[str, Setting], Any]]) -> Any:
    changes = {key: read(key, settings[key]) for key, read in readers.items() if key in settings}
    return replace(part, **changes) if changes else part


def _set_gate(protocol: Protocol, settings: Mapping[str, Setting]) -> Any:
    gate = protocol.gate
    if isinstance(gate, ConfidenceGate) and "threshold" in settings:
        return ConfidenceGate(as_count("threshold", settings["threshold"]))
    if isinstance(gate, UncertaintyGate):
        weights = {k: as_number(k, settings[k]) for k in ("weight_h", "weight_q", "weight_d") if k in settings}
        bounds = list(gate.bounds)
        for position, key in enumerate(("tau_low", "tau_high")):
            if key in settings:
                bounds[position] = as_number(key, settings[key])
        return replace(gate, bounds=tuple(bounds), **weights)
    return gate


def _set_tier(protocol: Protocol, t: int, settings: Mapping[str, Setting]) -> Any:
    tier = protocol.tiers[t]
    changes = {}
    for part in ("agents", "rounds"):
        key = part if len(protocol.tiers) == 1 else f"tiers.{tier.name}.{part}"
        if key in settings:
            changes[part] = as_count(key, settings[key])
    return replace(tier, **changes)
