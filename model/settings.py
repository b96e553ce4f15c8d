"""Every parameter by its name: what ``--set key=value`` reaches.

A key belongs to the population (its law, its signals, its response rule) or to the protocol. Which keys mean something depends on the
protocol: ``tau_c`` means nothing where nobody debates, ``lam_focus`` nothing where no step is targeted. Keys of the protocol are set first,
so that ``target=uniform`` makes room for ``lam_focus``. An unknown or meaningless key is an error that lists the valid ones.

Setting ``a``, ``b`` or ``w`` replaces a population's law of difficulty or misconception by the plain Beta or the fixed share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from .checks import require_one_of
from .deciding import VOTES
from .difficulty import BetaDifficulty, FixedShare, MixtureDifficulty
from .errors import ParameterError
from .population import Population
from .protocol import INITIAL, TARGETS, Protocol
from .response import RULES
from .scheduling import ConfidenceGate, Tier, UncertaintyGate
from .signals import Signals
from .stopping import AdaptiveConsistency, StableConsensus, TokenBudget, Window

__all__ = ["apply_settings", "as_count", "as_number", "as_switch", "valid_keys"]

Setting = str | int | float | bool

_SIGNALS = {f.name: f.default for f in fields(Signals)}
_OTHER_MODE = {"white-box": ("variants", "agreement"), "black-box": ("mean_h", "concentration_h")}
"""Signal parameters that a mode does not look at."""


def as_number(field: str, value: Setting) -> float:
    """Read a number; a quotient of integers ("1/3") is one, as for thresholds.

    Raises
    ------
    ParameterError
        If it is none.
    """
    try:
        if isinstance(value, bool):
            raise ValueError
        if isinstance(value, str) and "/" in value:
            above, _, below = value.partition("/")
            return int(above) / int(below)
        return float(value)
    except (ValueError, OverflowError, ZeroDivisionError):
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
    if protocol.name != "cot" and protocol.initial != "restated":
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


def _population_keys(protocol: Protocol, population: Population, mode: str) -> list[str]:
    keys = ["a", "b", "w"]
    if isinstance(protocol.gate, UncertaintyGate) or protocol.target == "riskiest":
        keys += [key for key in _SIGNALS if key not in _OTHER_MODE[mode]]
    elif protocol.target == "uniform":
        keys.append("steps")
    if protocol.tiers:
        rule = [f.name for f in fields(population.response) if f.name != "lam_focus" or protocol.target != "none"]
        keys += ["rule", *rule]
    return keys


def valid_keys(protocol: Protocol, population: Population, settings: Mapping[str, Setting] | None = None) -> list[str]:
    """Keys that mean something for this pair, once the target, the rule and the mode of ``settings`` are those."""
    policy, law, mode, _ = _prepare(protocol, population, settings or {})
    keys = _population_keys(policy, law, mode) + _protocol_keys(protocol)
    return list(dict.fromkeys(keys))


def _prepare(
    protocol: Protocol, population: Population, settings: Mapping[str, Setting]
) -> tuple[Protocol, Population, str, dict[str, Setting]]:
    """Protocol with its settings, population with its rule, the mode of the signals, and the settings that are left."""
    theirs = set(_protocol_keys(protocol))
    policy = _set_protocol(protocol, {key: value for key, value in settings.items() if key in theirs})
    rest = {key: value for key, value in settings.items() if key not in theirs}
    mode = str(rest.get("mode", population.signals.mode))
    require_one_of("mode", mode, list(_OTHER_MODE))
    if "rule" in rest and policy.tiers:
        population = _set_rule(population, str(rest.pop("rule")))
    return policy, population, mode, rest


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
    policy, population, mode, rest = _prepare(protocol, population, settings)
    for key in rest:
        if key not in _population_keys(policy, population, mode):
            raise _unknown(key, protocol, population, settings)
    return policy, _set_population(population, rest)


def _set_rule(population: Population, rule: str) -> Population:
    if rule not in RULES:
        raise ParameterError("rule", rule, "one of " + ", ".join(RULES))
    kept = {f: getattr(population.response, f) for f in ("iota", "phi", "lam_focus")}
    return replace(population, response=RULES[rule](**kept), borrowed={**population.borrowed, "response": "set by hand"})


def _unknown(key: str, protocol: Protocol, population: Population, settings: Mapping[str, Setting]) -> ParameterError:
    valid = ", ".join(valid_keys(protocol, population, {k: v for k, v in settings.items() if k != "rule"}))
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
    signals = {k: _as_type(k, v, _SIGNALS[k]) for k, v in settings.items() if k in _SIGNALS}
    response_fields = {f.name for f in fields(population.response)}
    response = {k: as_number(k, v) for k, v in settings.items() if k in response_fields}
    return replace(
        population,
        difficulty=difficulty,
        misconception=share,
        signals=replace(population.signals, **signals),
        response=replace(population.response, **response),
        borrowed={**population.borrowed, "response": "set by hand"} if response else population.borrowed,
    )


def _as_type(key: str, value: Setting, default: object) -> Any:
    if isinstance(default, int):
        return as_count(key, value)
    return as_number(key, value) if isinstance(default, float) else str(value)


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


def _set_tier(protocol: Protocol, t: int, settings: Mapping[str, Setting]) -> Tier:
    tier = protocol.tiers[t]
    changes: dict[str, Any] = {}
    for part in ("agents", "rounds"):
        key = part if len(protocol.tiers) == 1 else f"tiers.{tier.name}.{part}"
        if key in settings:
            changes[part] = as_count(key, settings[key])
    return replace(tier, **changes)
