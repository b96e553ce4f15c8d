"""How results reach a person or a script: tables on standard output, progress and warnings on standard error, JSON on request."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from ..model import Estimate, InputError, Result
from ..model.tables import plain

__all__ = ["emit", "format_estimate", "new_table", "progress", "result_table", "screen", "unit_of", "warn", "write_bytes", "write_text"]

_ROUNDING = 1e-12
"""Magnitude below which a number is what rounding leaves of zero."""

UNITS = {
    "accuracy": "share of questions",
    "candidate_accuracy": "share of questions",
    "calls": "calls / question",
    "debate_calls": "calls / question",
    "depth": "rounds",
    "prompt_tokens": "tokens / question",
    "completion_tokens": "tokens / question",
    "usd": "US$ / question",
    "right_to_wrong": "of right candidates",
    "wrong_to_right": "of wrong candidates",
    "kappa": "Cohen's kappa",
    "swap_consistency": "share of items",
    "swap_consistency_fresh": "share of items",
    "accuracy_decisive": "share of decisive items",
    "accuracy_half": "ties count half",
    "accuracy_three_class": "ties are a class",
    "rounds": "rounds",
}


def unit_of(quantity: str, result: Result) -> str:
    """Return the unit of a quantity of a result: judging speaks of items where answering speaks of questions."""
    unit = UNITS.get(quantity, "")
    return unit.replace("question", "item") if "kappa" in result.means else unit


def screen() -> Console:
    """Console on standard output, made at each use so that redirection is honoured."""
    return Console(file=sys.stdout, highlight=False, soft_wrap=not sys.stdout.isatty(), width=None if sys.stdout.isatty() else 140)


def _error_screen() -> Console:
    return Console(file=sys.stderr, highlight=False)


def warn(message: str) -> None:
    """Print a warning on standard error."""
    sys.stderr.write(f"warning: {message}\n")


def _json_ready(value: Any) -> Any:
    value = plain(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _json_ready(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_json_ready(entry) for entry in value]
    return value


def emit(data: Mapping[str, Any], *, as_json: bool, out: Path | None, show: Callable[[Console], None]) -> None:
    """Show a result: JSON alone on standard output, or a rendering; and the JSON to a file where asked.

    Parameters
    ----------
    data : mapping
        The result with its documented keys.
    as_json : bool
        One JSON object on standard output and nothing else there.
    out : Path or None
        File to write the JSON to.
    show : callable
        Renders for a person.
    """
    text = json.dumps(_json_ready(data), indent=2, allow_nan=False, ensure_ascii=True)
    if out is not None:
        write_text(out, text + "\n")
    if as_json:
        sys.stdout.write(text + "\n")
    else:
        show(screen())


def write_text(path: Path, text: str) -> None:
    """Write a text by :func:`write_bytes`, as UTF-8; half a character is written as its code."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path, data: bytes, option: str = "--out") -> None:
    """Write a file whole or not at all; a pipe or a device is written to as it is.

    Raises
    ------
    InputError
        If it cannot be written; the message names the option that gave the path.
    """
    path = Path(path)
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):  # a link, a pipe or a device is written to, never replaced
            path.write_bytes(data)
            return
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}. Choose another place with {option}.") from None


@contextmanager
def progress(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Progress on standard error, off when that is no terminal; the callable advances by a number of steps."""
    if not sys.stderr.isatty():
        yield lambda steps: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=_error_screen(), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda steps: bar.advance(task, steps)


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "?"
    if abs(value) < _ROUNDING:
        value = 0.0
    if value == 0 or 0.001 <= abs(value) < 1e6:
        digits = 4 if abs(value) < 10 else (2 if abs(value) < 1000 else 0)
        return f"{value:,.{digits}f}"
    return f"{value:.3g}"


def _count(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else _number(value)


def format_estimate(estimate: Estimate | None) -> tuple[str, str]:
    """Return value and interval as text; what does not exist is a dash, never zero."""
    if estimate is None:
        return "-", "does not exist here"
    if estimate.is_exact:
        return _number(estimate.mean), "exact"
    return _number(estimate.mean), f"[{_number(estimate.low)}, {_number(estimate.high)}]"


def new_table(title: str, columns: Iterable[str], left: Collection[str] | None = None, **style: Any) -> Table:
    """Make a table without rows.

    Parameters
    ----------
    title : str
        Heading.
    columns : iterable of str
        Names.
    left : collection of str, optional
        Columns that hold words: the others, which hold numbers, stand on the right. Without it all stand on the left.
    **style
        As rich's ``add_column`` takes it. Unless something is said, a narrow screen wraps words; never numbers, nor the first column.
    """
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        justify: Literal["left", "right"] = "left" if left is None or column in left else "right"
        table.add_column(column, justify=justify, **(style or {"no_wrap": number == 0 or justify == "right", "overflow": "fold"}))
    return table


def result_table(result: Result) -> Table:
    """Table of a result: quantity, value, 95 % interval, unit, quantiles per question."""
    how = "exact law" if result.samples is None else f"{result.engine}, {result.samples:,} samples, seed {result.seed}"
    columns = ("quantity", "mean", "95 % interval", "unit", "p95 / worst")
    table = new_table(f"{result.protocol} on {result.population} ({how})", columns, left=("quantity", "95 % interval", "unit"))
    for name, estimate in result.means.items():
        if estimate is None and name == "usd":
            continue
        value, interval = format_estimate(estimate)
        quantiles = result.quantiles.get(name)
        tail = " / ".join(_count(quantiles[end]) for end in ("p95", "max")) if quantiles else ""
        table.add_row(name, value, interval, unit_of(name, result), tail)
    for group, masses in result.shares.items():
        for name, estimate in masses.items():
            value, interval = format_estimate(estimate)
            table.add_row(f"{group}: {name}", value, interval, "share", "")
    return table
