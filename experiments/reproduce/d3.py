"""D3's tables by the exact law of judging debates, on a population of which two parameters are fitted to two of the figures.

Values are exact laws. Their spread moves one chosen parameter at a time over its values. What the paper leaves open (labels' shares,
reviewers, what tokens count) is named with each row.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from scipy.optimize import brentq

from ...model import FileFormatError, InputError
from ...model.judging import JudgingPopulation, evaluate_judging
from ..families import judging_case
from ..saved import provenance
from .rows import FITTED, NOT_POSSIBLE, PREDICTED, Choice, Reproduction, Row, Simulated, make_row, read_choices, read_file

__all__ = ["reproduce_d3"]

_SECTIONS = ("paper", "source", "choices", "population", "row")
_SHARES = ("accuracy", "swap_consistency", "swap_consistency_fresh")
_WAYS = ("value", "difference", "change", "ratio")

_Settings = tuple[tuple[str, str], ...]


def reproduce_d3(path: Path | None = None, advance: Callable[[int], None] = lambda steps: None) -> Reproduction:
    """Re-derive D3's tables.

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
    figures = _Figures(data["population"], choices, where)
    rows: list[Row] = []
    for entry in data["row"]:
        rows.append(_row(figures, entry, where))
        advance(1)
    single, five = figures.jury_ceiling()
    fitted = ", ".join(row.name for row in rows if row.model_status == FITTED)
    return Reproduction(
        paper=str(data["paper"]),
        source=str(data["source"]),
        rows=tuple(rows),
        choices=tuple(choices.values()),
        notes=(
            f"Fitted: {fitted}. Everything else is predicted from them and from what is assumed.",
            f"A juror who agrees as often as the single judge ({single:.1f} %): five of them, independent and without shared bias, reach "
            f"{five:.1f} %. What jury and personas are said to add beyond that cannot be had together in this model.",
            "Values are exact laws; the paper's number of items is not published, so no sampling interval is given.",
        ),
        provenance=provenance(command="reproduce d3", file=where, contents=data),
    )


class _Figures:
    """Quantities of protocols at settings, each worked out once."""

    def __init__(self, population: Mapping[str, Any], choices: Mapping[str, Choice], where: str) -> None:
        self._table = population
        self._where = where
        self.choices = choices
        self.result: Callable[..., dict[str, float]] = lru_cache(maxsize=None)(self._result)
        self.population({})

    def population(self, changed: Mapping[str, float]) -> JudgingPopulation:
        """Return the population with the choices put in at their paths."""
        table = copy.deepcopy(dict(self._table))
        for path, choice in self.choices.items():
            _put(table, path, changed.get(path, choice.value), self._where)
        return JudgingPopulation.from_dict(table, self._where)

    def _result(self, protocol: str, settings: _Settings, changed: tuple[tuple[str, float], ...]) -> dict[str, float]:
        case = judging_case(protocol, self.population(dict(changed)), dict(settings))
        result = case.exact()
        found = {name: e.mean * (100 if name in _SHARES else 1) for name, e in result.means.items() if e is not None}
        found["tokens"] = found["prompt_tokens"] + found["completion_tokens"]
        by_rounds = evaluate_judging(case.protocol, case.population).masses.sum(axis=(0, 1, 3))
        for k in range(1, len(by_rounds)):
            found[f"ended_by_{k}"] = 100 * float(by_rounds[: k + 1].sum() / by_rounds.sum())
        return found

    def at(self, quantity: str, protocol: str, settings: Mapping[str, str], changed: Mapping[str, float]) -> float:
        """Value of a quantity at a row's own settings, some choices changed; NaN where the exact law does not give it."""
        return self.result(protocol, tuple(sorted(settings.items())), tuple(sorted(changed.items()))).get(quantity, math.nan)

    def jury_ceiling(self) -> tuple[float, float]:
        """Return the agreement, in per cent, of the single judge and of five independent unbiased jurors each of whom agrees as often."""
        single = self.at("accuracy", "single_judge", {}, {})
        settings = {"bias_factor": "0", "rho_jury": "0", "rho_arguments": "1", "position": "0", "personas": "false"}

        def jurors(count: int, sensitivity: float) -> float:
            asked = {**settings, "jurors": str(count), "sensitivity": repr(sensitivity)}
            return judging_case("more", self.population({}), asked).exact().mean("accuracy").mean * 100

        level = float(brentq(lambda s: jurors(1, s) - single, 0.01, 100, xtol=1e-3))
        return single, jurors(5, level)


def _put(table: dict[str, Any], path: str, value: float, where: str) -> None:
    """Set a value at a dotted path of tables and lists."""
    *parents, last = path.split(".")
    here: Any = table
    try:
        for part in parents:
            here = here[int(part)] if isinstance(here, list) else here.setdefault(part, {})
        here[last] = value
    except (AttributeError, IndexError, TypeError, ValueError):
        raise FileFormatError(where, f"choices.{path}: [population] has no such place.") from None


def _row(figures: _Figures, entry: Mapping[str, Any], where: str) -> Row:
    words, way = entry["figure"].split(), str(entry.get("as", "value"))
    if len(words) != 2 or way not in _WAYS or (way != "value") != ("against" in entry):
        raise FileFormatError(
            where, f"row {entry['id']}: figure is 'quantity protocol', and against needs as = one of {', '.join(_WAYS[1:])}."
        )
    quantity, protocol = words
    settings, against = (_text_settings(entry.get(key, {}), entry["id"], where) for key in ("settings", "against"))

    def value(changed: Mapping[str, float]) -> float:
        own = figures.at(quantity, protocol, settings, changed)
        if way == "value":
            return own
        other = figures.at(quantity, protocol, against, changed)
        return own - other if way == "difference" else 100 * (own / other - (way == "change"))

    try:
        at = value({})
        over = [value({name: x}) for name, c in figures.choices.items() for x in c.values if x != c.value and "reported" in entry]
    except InputError as error:
        raise FileFormatError(where, f"row {entry['id']}: {error}") from None
    if math.isnan(at):
        raise FileFormatError(where, f"row {entry['id']}: {protocol} has no quantity {quantity!r} in the exact law.")
    known = [x for x in over if math.isfinite(x)]
    simulated = Simulated(at, at, at, min([at, *known]), max([at, *known]))
    status = NOT_POSSIBLE if "reported" not in entry else str(entry.get("status", PREDICTED))
    if status not in (FITTED, PREDICTED, NOT_POSSIBLE):
        raise FileFormatError(where, f"row {entry['id']}: status = {status!r}; allowed are fitted, predicted and not possible.")
    return make_row(entry, (None, NOT_POSSIBLE), (simulated, status), "", where)


def _text_settings(table: object, row: str, where: str) -> dict[str, str]:
    if not isinstance(table, Mapping) or not all(isinstance(v, str) for v in table.values()):
        raise FileFormatError(where, f"row {row}: settings and against are tables of text, as of --set.")
    return {str(k): str(v) for k, v in table.items()}
