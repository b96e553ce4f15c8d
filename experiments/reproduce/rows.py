"""Rows of a reproduction, and the input file of reported figures that they are compared with.

What a paper reports stands in the file's rows and nowhere else: no simulated number depends on it. What was *fitted* to a reported figure
is an input of its own in the file (``[choices]``, ``[replay]``), so changing a reported figure changes the residual and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

from ...model import FileFormatError
from ...model.tables import parse_toml, read_text
from ..saved import SavedResult

__all__ = ["FITTED", "INPUT", "NOT_POSSIBLE", "PREDICTED", "Choice", "Reproduction", "Row", "Simulated", "read_file"]

FITTED, PREDICTED, NOT_POSSIBLE, INPUT = "fitted", "predicted", "not possible", "input"
STATUSES = (FITTED, PREDICTED, NOT_POSSIBLE, INPUT)


@dataclass(frozen=True)
class Choice:
    """An unknown of the paper and how it was chosen.

    Parameters
    ----------
    name : str
        Parameter.
    value : float
        Taken value.
    values : tuple of float
        Values that the spread runs over.
    why : str
        How it was chosen.
    """

    name: str
    value: float
    values: tuple[float, ...]
    why: str


@dataclass(frozen=True)
class Simulated:
    """A simulated figure.

    Parameters
    ----------
    value : float
        In the row's unit.
    low, high : float
        Central 95 % of what the paper's number of questions would show; equal to the value where it is exact.
    choices_low, choices_high : float
        Smallest and largest over the values of the unknowns.
    lam_low, lam_high : float
        Smallest and largest over the interval of the truth's advantage.
    """

    value: float
    low: float
    high: float
    choices_low: float = math.nan
    choices_high: float = math.nan
    lam_low: float = math.nan
    lam_high: float = math.nan


@dataclass(frozen=True)
class Row:
    """One published figure.

    Parameters
    ----------
    id, table, name, unit : str
        What it is.
    reported : str or None
        As printed; None where the paper gives none.
    replay : Simulated or None
        By the replay of reconstructed states.
    replay_status : str
        Whether the replay's value is fitted, predicted or not possible.
    model : Simulated or None
        By the stochastic model.
    model_status : str
        The same for the model.
    residual : float or None
        Model (where there is none, replay) minus reported, in the row's unit; None where there is nothing to compare.
    inside : bool or None
        Whether the reported figure, within rounding, lies in the interval of that value.
    note : str
        What a reader must know.
    """

    id: str
    table: str
    name: str
    unit: str
    reported: str | None
    replay: Simulated | None
    replay_status: str
    model: Simulated | None
    model_status: str
    residual: float | None
    inside: bool | None
    note: str


@dataclass(frozen=True, kw_only=True)
class Reproduction(SavedResult):
    """A paper's tables, re-derived.

    Parameters
    ----------
    paper, source : str
        What is reproduced.
    rows : tuple of Row
        Every figure.
    choices : tuple of Choice
        The unknowns.
    notes : tuple of str
        What a reader must know.
    provenance : mapping
        Version and the file's contents.
    """

    kind: ClassVar[str] = "reproduction"

    paper: str
    source: str
    rows: tuple[Row, ...]
    choices: tuple[Choice, ...]
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    def residuals(self) -> list[dict[str, Any]]:
        """Residuals in per cent of the reported figures, with the interval of the simulated value: points of a plot."""
        found = []
        for row in self.rows:
            simulated = row.model or row.replay
            if row.residual is None or simulated is None or row.reported is None or float(row.reported) == 0:
                continue
            reported = float(row.reported)
            ends = sorted(100 * (x - reported) / abs(reported) for x in (simulated.low, simulated.high))
            status = row.model_status if row.model else row.replay_status
            found.append(
                {"name": row.name, "residual": 100 * row.residual / abs(reported), "low": ends[0], "high": ends[1], "status": status}
            )
        return found

    def to_records(self) -> list[dict[str, Any]]:
        """One row for each figure."""
        records = []
        for row in self.rows:
            record: dict[str, Any] = {"id": row.id, "table": row.table, "name": row.name, "unit": row.unit, "reported": row.reported}
            for how in ("replay", "model"):
                simulated: Simulated | None = getattr(row, how)
                for field in ("value", "low", "high", "choices_low", "choices_high", "lam_low", "lam_high"):
                    record[f"{how}_{field}"] = None if simulated is None else getattr(simulated, field)
                record[f"{how}_status"] = getattr(row, f"{how}_status")
            records.append(record | {"residual": row.residual, "inside": row.inside, "note": row.note})
        return records


def read_file(path: Path | None, shipped: str, sections: tuple[str, ...]) -> dict[str, Any]:
    """Read an input file; without a path, the shipped one.

    Raises
    ------
    FileFormatError
        If a section is missing or unknown, or a row lacks its entries.
    """
    if path is None:
        where = shipped
        text = (resources.files(__package__) / shipped).read_text(encoding="utf-8")
    else:
        where = str(path)
        text = read_text(path)
    data = parse_toml(where, text)
    for name in data:
        if name not in sections:
            raise FileFormatError(where, f"unknown entry {name!r}; a reproduction has: {', '.join(sections)}.")
    for name in sections:
        if name not in data:
            raise FileFormatError(where, f"no entry {name!r}; a reproduction has: {', '.join(sections)}.")
    rows = data["row"]
    if not isinstance(rows, list) or not rows:
        raise FileFormatError(where, "no rows; write [[row]] with id, table, name, unit, figure and, where there is one, reported.")
    seen = set()
    for row in rows:
        for key in ("id", "table", "name", "unit", "figure"):
            if not isinstance(row, dict) or not isinstance(row.get(key), str):
                raise FileFormatError(where, f"row {row!r} needs {key} (text).")
        if row["id"] in seen:
            raise FileFormatError(where, f"two rows have the id {row['id']!r}.")
        seen.add(row["id"])
        if "reported" in row:
            reported_number(row["reported"], row["id"], where)
    return data


def reported_number(text: object, row: str, where: str) -> tuple[float, float]:
    """Value and half a unit of the last digit of a printed figure; words (a claim) are NaN."""
    if not isinstance(text, str) or not text.strip():
        raise FileFormatError(where, f"row {row}: reported = {text!r}; write the figure as text, as printed.")
    try:
        value = float(text)
    except ValueError:
        return math.nan, math.nan
    if not math.isfinite(value):
        raise FileFormatError(where, f"row {row}: reported = {text!r} is no finite number.")
    return value, 0.5 * 10.0 ** -len(text.partition(".")[2])


def read_choices(table: Mapping[str, Any], where: str) -> dict[str, Choice]:
    """Read the unknowns.

    Raises
    ------
    FileFormatError
        If one has no value, values or reason.
    """
    found = {}
    for name, entry in table.items():
        try:
            values = tuple(float(v) for v in entry.get("values", [entry["value"]]))
            found[name] = Choice(name, float(entry["value"]), values, str(entry["why"]))
        except (AttributeError, KeyError, TypeError, ValueError):
            raise FileFormatError(where, f"choices.{name} needs value (a number), values (a list) and why (text).") from None
    return found


def make_row(
    entry: Mapping[str, Any], replay: tuple[Simulated | None, str], model: tuple[Simulated | None, str], note: str, where: str
) -> Row:
    """Put a row together; the only place where simulated and reported meet."""
    reported = entry.get("reported")
    value, half = (math.nan, math.nan) if reported is None else reported_number(reported, entry["id"], where)
    compared = model[0] if model[0] is not None else replay[0]
    residual = inside = None
    if compared is not None and math.isfinite(value) and math.isfinite(compared.value):
        residual = compared.value - value
        inside = compared.low - half <= value <= compared.high + half
    notes = " ".join(part for part in (str(entry.get("note", "")), note) if part)
    return Row(entry["id"], entry["table"], entry["name"], entry["unit"], reported, *replay, *model, residual, inside, notes)
