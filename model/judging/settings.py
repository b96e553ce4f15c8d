"""Every parameter of judging by its name: what ``--set key=value`` reaches.

Keys of the protocol depend on its kind and its stopping rule, keys of the gap on the judges' gap law. An unknown or meaningless key is
an error that lists the valid ones. A key of a judge changes every judge that the protocol asks.

* ``position`` replaces a population's law of position shifts by the fixed shift: spreads over items become 0 unless ``position_sd`` is
  set too, and jurors take the same shift.
* ``rho_jury`` sets the correlation of the jurors in use (with or without personas); ``rho_judges`` gives all judges the loading
  sqrt(rho_judges).
* ``rho_round`` is sigma_b^2 / (sigma_b^2 + s^2). Alone it splits the judge's error variance anew; together with the gap's noise (``nu``,
  ``sd``) it moves sigma_b, together with ``sigma_b`` it moves the noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from ..checks import require_probability, require_range
from ..errors import ParameterError
from ..settings import as_count, as_number, as_switch
from ..stopping import TokenBudget
from .agreement import TIES
from .gaps import BetaGap, GaussianGap, RubricGap, ZeroInflatedBetaGap
from .items import Judge, JudgingPopulation
from .jury import MOST_RHO
from .protocols import Debate, Discussion, JudgingProtocol, Panel
from .stopping import GapStable, LeadBy, ReleasedCode, SignAgreement

__all__ = ["apply_judging_settings", "judging_valid_keys"]

Setting = str | int | float | bool

_COUNTS = ("advocates", "rounds", "jurors", "agents", "turns", "samples", "judges", "window", "min_rounds", "run", "lead", "max_tokens")
_SWITCHES = ("personas", "anonymised", "until_agreement", "signed")
_WORDS = ("aggregator", "decision", "order", "combine", "weights", "roles")

_STOP_KEYS: dict[type, tuple[str, ...]] = {
    GapStable: ("epsilon", "window", "min_rounds", "signed"),
    SignAgreement: ("run",),
    LeadBy: ("lead",),
    ReleasedCode: ("epsilon", "window", "min_rounds", "max_tokens", "parse_failure"),
    TokenBudget: ("token_budget",),
}
_GAP_KEYS: dict[type, tuple[str, ...]] = {
    BetaGap: ("nu", "scale"),
    ZeroInflatedBetaGap: ("nu", "zero", "scale"),
    GaussianGap: ("sd", "tie", "factor"),
    RubricGap: ("level", "scale", "sd", "tie"),
}
_ITEM_KEYS = ("mean_x", "sigma_x", "human_sd", "tie_band")
_JUDGE_KEYS = ("sigma_b", "position", "position_sd", "verbosity", "undecided", "rho_round")


def _protocol_keys(protocol: JudgingProtocol) -> list[str]:
    if isinstance(protocol, Panel):
        return ["judges", "samples", "order", "both_orders", "combine", "weights", "anonymised"]
    if isinstance(protocol, Discussion):
        return ["agents", "turns", "roles", "until_agreement", "order", "anonymised"]
    keys = ["advocates", "aggregator", "rounds", "jurors", "personas", "decision", "order", "anonymised"]
    return keys + list(_STOP_KEYS.get(type(protocol.stop), ()))


def _asked(protocol: JudgingProtocol, population: JudgingPopulation) -> tuple[Judge, ...]:
    """Judges that a protocol asks, as far as the population has them."""
    if not isinstance(protocol, Panel):
        return population.judges[:1]
    if isinstance(protocol.judges, int):
        return population.judges[: protocol.judges]
    return tuple(population.judge(name) for name in protocol.judges)


def _population_keys(protocol: JudgingProtocol, population: JudgingPopulation) -> list[str]:
    keys = [*_ITEM_KEYS, *_JUDGE_KEYS, "ties"]
    keys += sorted({key for judge in _asked(protocol, population) for key in _GAP_KEYS[type(judge.gap)]})
    if protocol.anonymised:
        keys.append("anonymity")
    if isinstance(protocol, Panel):
        keys.append("rho_judges")
    if isinstance(protocol, Discussion):
        keys += ["pull", "rho_roles"]
    if isinstance(protocol, Debate):
        keys += ["bias_factor", "argument_sd", "gain", "sensitivity", "rho_jury", "rho_arguments"]
    return keys


def judging_valid_keys(protocol: JudgingProtocol, population: JudgingPopulation) -> list[str]:
    """Keys that mean something for this pair."""
    return _population_keys(protocol, population) + _protocol_keys(protocol)


def apply_judging_settings(
    protocol: JudgingProtocol, population: JudgingPopulation, settings: Mapping[str, Setting]
) -> tuple[JudgingProtocol, JudgingPopulation]:
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
    valid = judging_valid_keys(protocol, population)
    for key in settings:
        if key not in valid:
            raise ParameterError("--set", key, f"a key that means something for {protocol.name}: {', '.join(valid)}")
    changed = _set_protocol(protocol, settings)
    return changed, _set_population(changed, population, settings)


def _read(key: str, value: Setting) -> Any:
    if key in _COUNTS:
        return as_count(key, value)
    if key in _SWITCHES:
        return as_switch(key, value)
    return str(value) if key in _WORDS else as_number(key, value)


def _set_protocol(protocol: JudgingProtocol, settings: Mapping[str, Setting]) -> JudgingProtocol:
    own = {f.name for f in fields(protocol)}
    changes = {key: _read(key, value) for key, value in settings.items() if key in own}
    if "both_orders" in settings:
        if "order" in settings:
            raise ParameterError("both_orders, order", (settings["both_orders"], settings["order"]), "only one of them")
        changes["order"] = "both" if as_switch("both_orders", settings["both_orders"]) else "fixed"
    if isinstance(protocol, Debate):
        if isinstance(protocol.stop, TokenBudget):
            if "token_budget" in settings:
                changes["stop"] = TokenBudget(as_count("token_budget", settings["token_budget"]))
        else:
            keys = _STOP_KEYS.get(type(protocol.stop), ())
            changes["stop"] = replace(protocol.stop, **{key: _read(key, settings[key]) for key in keys if key in settings})
    return replace(protocol, **changes)


def _set_population(protocol: JudgingProtocol, population: JudgingPopulation, settings: Mapping[str, Setting]) -> JudgingPopulation:
    textual = {*_COUNTS, *_SWITCHES, *_WORDS, "ties", "both_orders"}
    numbers = {key: as_number(key, value) for key, value in settings.items() if key not in textual}
    changes: dict[str, Any] = {
        "items": replace(population.items, **_only(numbers, _ITEM_KEYS)),
        "debate": replace(population.debate, **_only(numbers, ("bias_factor", "argument_sd", "gain"))),
        "jury": replace(population.jury, **_jury_changes(protocol, numbers)),
        "discussion": replace(population.discussion, **_discussion_changes(protocol, numbers)),
    }
    if "ties" in settings:
        if settings["ties"] not in TIES:
            raise ParameterError("ties", settings["ties"], "one of " + ", ".join(TIES))
        changes["ties"] = str(settings["ties"])
    if "anonymity" in numbers:
        changes["anonymity"] = numbers["anonymity"]
    asked = {judge.name for judge in _asked(protocol, population)}
    changes["judges"] = tuple(_set_judge(judge, numbers) if judge.name in asked else judge for judge in population.judges)
    touched = {part: "set by hand" for part, keys in _PART_KEYS.items() if keys & set(settings) and part in population.borrowed}
    return replace(population, **changes, borrowed={**population.borrowed, **touched})


_PART_KEYS = {
    "debate": {"bias_factor", "argument_sd", "gain"},
    "jury": {"sensitivity", "rho_jury", "rho_arguments"},
    "discussion": {"pull", "rho_roles"},
}


def _only(numbers: Mapping[str, float], keys: tuple[str, ...]) -> dict[str, float]:
    return {key: numbers[key] for key in keys if key in numbers}


def _jury_changes(protocol: JudgingProtocol, numbers: Mapping[str, float]) -> dict[str, float]:
    changes = _only(numbers, ("sensitivity", "rho_arguments", "position"))
    if "rho_jury" in numbers:
        require_range("rho_jury", numbers["rho_jury"], 0, MOST_RHO)
        personas = isinstance(protocol, Debate) and protocol.personas
        changes["rho_personas" if personas else "rho"] = numbers["rho_jury"]
    return changes


def _discussion_changes(protocol: JudgingProtocol, numbers: Mapping[str, float]) -> dict[str, float]:
    changes = _only(numbers, ("pull",))
    if "rho_roles" in numbers:
        require_probability("rho_roles", numbers["rho_roles"])
        single = isinstance(protocol, Discussion) and protocol.roles == "single"
        changes["rho_single" if single else "rho_diverse"] = numbers["rho_roles"]
    return changes


def _set_judge(judge: Judge, numbers: Mapping[str, float]) -> Judge:
    gap_keys = _GAP_KEYS[type(judge.gap)]
    law: Any = judge.gap
    gap: Any = replace(law, **_only(numbers, gap_keys))
    changes: dict[str, Any] = _only(numbers, ("sigma_b", "position", "position_sd", "verbosity", "undecided"))
    if "position" in numbers:
        changes.setdefault("position_sd", 0.0)
    if "rho_judges" in numbers:
        require_probability("rho_judges", numbers["rho_judges"])
        changes["loading"] = math.sqrt(numbers["rho_judges"])
    changed = replace(judge, **changes, gap=gap)
    if "rho_round" not in numbers:
        return changed
    noise_set = bool({"nu", "sd", "zero", "scale"} & set(numbers) & set(gap_keys))
    return _split_error(changed, numbers["rho_round"], noise_set, "sigma_b" in numbers)


def _split_error(judge: Judge, rho: float, noise_set: bool, bias_set: bool) -> Judge:
    """Give a judge the round correlation rho."""
    if not 0 <= rho < 1:
        raise ParameterError("rho_round", rho, "a number from 0 to below 1")
    if noise_set and bias_set:
        raise ParameterError("rho_round", rho, "set without sigma_b or without the gap's noise", "Two of the three fix the third.")
    noise = judge.gap.error_variance
    if noise_set:
        return replace(judge, sigma_b=math.sqrt(noise * rho / (1 - rho)))
    if bias_set:
        if rho == 0 or judge.sigma_b == 0:
            raise ParameterError("rho_round", rho, "above 0 where sigma_b is set above 0", "Leave sigma_b out.")
        return replace(judge, gap=_noise_of(judge, judge.sigma_b**2 * (1 - rho) / rho, rho))
    total = judge.sigma_b**2 + noise
    return replace(judge, sigma_b=math.sqrt(rho * total), gap=_noise_of(judge, (1 - rho) * total, rho))


def _noise_of(judge: Judge, variance: float, rho: float) -> Any:
    try:
        return judge.gap.with_error_variance(variance)
    except ParameterError as error:
        raise ParameterError("rho_round", rho, "one that the gap law's noise reaches", f"It asks for this: {error}") from None
