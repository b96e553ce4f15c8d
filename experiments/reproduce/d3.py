"""D3's MT-Bench figures on the shipped population: which were fitted, which follow, and which cannot be met together.

Values are exact laws. The spread of a row runs over the values of each choice in turn, the fitted parameters held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...model import FileFormatError, ParameterError, Result
from ...model.judging import (
    Debate,
    FixedRounds,
    JudgingPopulation,
    JudgingProtocol,
    JudgingTally,
    apply_judging_settings,
    evaluate_judging,
    judging_protocol_names,
    judging_valid_keys,
    load_judging_population,
    load_judging_protocol,
    summarise_judging,
)
from ..calibrate.mtbench import stopped_by
from ..saved import provenance
from .rows import NOT_POSSIBLE, STATUSES, Choice, Reproduction, Row, Simulated, make_row, read_choices, read_file

__all__ = ["reproduce_d3"]

_SECTIONS = ("paper", "source", "population", "choices", "row")


def reproduce_d3(path: Path | None = None, advance: Callable[[int], None] = lambda steps: None) -> Reproduction:
    """Re-derive D3's MT-Bench figures.

    Parameters
    ----------
    path : Path, optional
        Input file; the shipped one by default.
    advance : callable
        Told of each row.

    Raises
    ------
    FileFormatError
        If the file is no such input.
    """
    data = read_file(path, "d3.toml", _SECTIONS)
    where = str(path or "d3.toml")
    choices = read_choices(data["choices"], where)
    figures = _Figures(load_judging_population(str(data["population"])), choices)
    rows = []
    for entry in data["row"]:
        rows.append(_row(figures, entry, where))
        advance(1)
    return Reproduction(
        paper=str(data["paper"]),
        source=str(data["source"]),
        rows=tuple(rows),
        choices=tuple(choices.values()),
        notes=(
            "Seven parameters are fitted to the seven figures marked so; they say nothing for the model by being met.",
            "What the jury's figures ask for (nearly independent jurors of one model, arguments that take away the judge's bias) is not "
            "what public logs show: there, jurors of one model under different prompts are right together with a correlation of .72.",
        ),
        provenance=provenance(command="reproduce d3", file=where, contents=data),
    )


def _row(figures: _Figures, entry: Mapping[str, Any], where: str) -> Row:
    status = entry.get("status")
    if status not in STATUSES:
        raise FileFormatError(where, f"row {entry['id']}: status = {status!r}; write one of {', '.join(STATUSES)}.")
    name, _, protocol = entry["figure"].partition(" ")
    if name not in _FIGURES or protocol not in judging_protocol_names():
        known = f"{', '.join(_FIGURES)}, then a protocol: {', '.join(judging_protocol_names())}"
        raise FileFormatError(where, f"row {entry['id']}: figure = {entry['figure']!r} is not known; there are {known}.")
    try:
        value = figures.value(name, protocol, {})
        spread = [value, *(figures.value(name, protocol, change) for change in figures.changes(protocol))]
    except ParameterError as error:
        raise FileFormatError(where, str(error)) from None
    simulated = Simulated(value, value, value, min(spread), max(spread))
    return make_row(entry, (None, NOT_POSSIBLE), (simulated, status), "", where)


class _Figures:
    """Figures of protocols on the population, with the choices set."""

    def __init__(self, population: JudgingPopulation, choices: Mapping[str, Choice]) -> None:
        self.population = population
        self.choices = choices
        self._value = lru_cache(maxsize=None)(self._work_out)
        self._laws: dict[tuple[JudgingProtocol, str], JudgingTally] = {}

    def changes(self, protocol: str) -> Iterator[dict[str, float]]:
        """Other values of the choices that mean something for a protocol, one at a time."""
        valid = judging_valid_keys(load_judging_protocol(protocol), self.population)
        for name, choice in self.choices.items():
            if name in valid:
                yield from ({name: value} for value in choice.values if value != choice.value)

    def value(self, name: str, protocol: str, change: Mapping[str, float]) -> float:
        """One figure, in the row's unit."""
        return self._value(name, protocol, tuple(sorted(change.items())))

    def _work_out(self, name: str, protocol: str, change: tuple[tuple[str, float], ...]) -> float:
        policy = load_judging_protocol(protocol)
        valid = judging_valid_keys(policy, self.population)
        taken = {key: choice.value for key, choice in self.choices.items() if key in valid} | dict(change)
        return _FIGURES[name](*apply_judging_settings(policy, self.population, taken), self._law)

    def _law(self, protocol: JudgingProtocol, population: JudgingPopulation) -> JudgingTally:
        """Exact law of a pair, worked out once: many figures are read off the same law."""
        key = protocol, repr(population)
        if key not in self._laws:
            self._laws[key] = evaluate_judging(protocol, population)
        return self._laws[key]


_Law = Callable[[JudgingProtocol, JudgingPopulation], JudgingTally]
_Figure = Callable[[JudgingProtocol, JudgingPopulation, _Law], float]


def _exact(protocol: JudgingProtocol, population: JudgingPopulation, law: _Law) -> Result:
    return summarise_judging(protocol, population, law(protocol, population), engine="exact")


def _mean(key: str, factor: float = 1.0) -> _Figure:
    return lambda protocol, population, law: factor * _exact(protocol, population, law).mean(key).mean


def _debate(protocol: JudgingProtocol) -> Debate:
    if not isinstance(protocol, Debate):
        raise ParameterError("figure", protocol.name, "a debate with jurors")
    return protocol


def _accuracy(protocol: JudgingProtocol, population: JudgingPopulation, law: _Law) -> float:
    return 100 * _exact(protocol, population, law).mean("accuracy").mean


def _jury_gain(protocol: JudgingProtocol, population: JudgingPopulation, law: _Law) -> float:
    alone = replace(_debate(protocol), jurors=1, personas=False)
    return _accuracy(protocol, population, law) - _accuracy(alone, population, law)


def _personas_gain(protocol: JudgingProtocol, population: JudgingPopulation, law: _Law) -> float:
    return _accuracy(protocol, population, law) - _accuracy(replace(_debate(protocol), personas=False), population, law)


def _tokens(protocol: JudgingProtocol, population: JudgingPopulation, law: _Law) -> float:
    result = _exact(protocol, population, law)
    return result.mean("prompt_tokens").mean + result.mean("completion_tokens").mean


def _token_saving(protocol: JudgingProtocol, population: JudgingPopulation, law: _Law) -> float:
    return 100 * (1 - _tokens(protocol, population, law) / _tokens(_fixed(protocol), population, law))


def _retained(protocol: JudgingProtocol, population: JudgingPopulation, law: _Law) -> float:
    return 100 * _accuracy(protocol, population, law) / _accuracy(_fixed(protocol), population, law)


def _stopped_by_2(protocol: JudgingProtocol, population: JudgingPopulation, law: _Law) -> float:
    return 100 * stopped_by(law(_debate(protocol), population), 2)


def _fixed(protocol: JudgingProtocol) -> Debate:
    return replace(_debate(protocol), stop=FixedRounds())


_FIGURES: dict[str, _Figure] = {
    "accuracy": _accuracy,
    "kappa": _mean("kappa"),
    "swap": _mean("swap_consistency", 100.0),
    "swap_fresh": _mean("swap_consistency_fresh", 100.0),
    "rounds": _mean("rounds"),
    "completion_tokens": _mean("completion_tokens"),
    "jury_gain": _jury_gain,
    "personas_gain": _personas_gain,
    "stopped_by_2": _stopped_by_2,
    "token_saving": _token_saving,
    "retained": _retained,
}
