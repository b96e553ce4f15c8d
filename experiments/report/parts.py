"""What a page is made of: figures, tables and sections, and numbers as text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from ...model import Estimate
from ..console import format_estimate

__all__ = ["Figure", "Section", "Table", "cell", "told"]

_MOST_ROWS = 60


@dataclass(frozen=True)
class Figure:
    """A drawn axes with its caption."""

    ax: Axes
    caption: str


@dataclass(frozen=True)
class Table:
    """A table with its caption; cells are text."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, caption: str, records: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> Table:
        """Make a table of records; at most 60 rows, and it says how many more there are."""
        names = list(columns) if columns else list(dict.fromkeys(key for row in records for key in row))
        shown = records[:_MOST_ROWS]
        if len(records) > len(shown):
            caption = f"{caption} ({len(records) - len(shown):,} more rows are in the result file)"
        return cls(caption, tuple(names), tuple(tuple(cell(row.get(n)) for n in names) for row in shown))


@dataclass(frozen=True)
class Section:
    """One result on the page.

    Parameters
    ----------
    title : str
        Heading.
    asked : str
        What was asked.
    answer : tuple of str
        The answer, first sentence first.
    figures : tuple of Figure
        Pictures.
    tables : tuple of Table
        Tables.
    assumptions : tuple of str
        What a reader must know.
    provenance : mapping
        Enough to run it again.
    again : str
        Command line.
    """

    title: str
    asked: str
    answer: tuple[str, ...]
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]
    assumptions: tuple[str, ...]
    provenance: Mapping[str, Any]
    again: str


def cell(value: Any) -> str:
    """Text of a table's cell: four significant digits, a dash for what does not exist."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if math.isclose(value, round(value), rel_tol=1e-9, abs_tol=1e-12) or 1e3 <= abs(value) < 1e9:
            return f"{round(value):,}" if abs(value) >= 1e4 else str(round(value))
        return f"{value:.4g}"
    return str(value)


def told(estimate: Estimate) -> str:
    """Value with its interval, or that it is exact."""
    value, interval = format_estimate(estimate)
    return f"{value} ({interval})" if interval == "exact" else f"{value} {interval}"
