"""``adjourn reproduce``: published tables re-derived."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ...model import ParameterError
from ..console import new_table, progress
from ..options import JsonFlag, OutResult, picture_file
from ..reproduce import Reproduction, Row, Simulated
from ..saved import deliver

_PAPERS = ("uaad", "d3")


def reproduce(
    paper: Annotated[str, typer.Argument(help="Whose tables: uaad or d3.")],
    file: Annotated[
        Path | None, typer.Option("--file", help="Reported figures and inputs (TOML).", show_default="the shipped file")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the residuals (PNG or SVG).", callback=picture_file, show_default=False)
    ] = None,
    as_json: JsonFlag = False,
    out: OutResult = None,
) -> None:
    """Re-derive a paper's tables: reported, simulated with interval, and whether a row is fitted, predicted or not possible."""
    if paper not in _PAPERS:
        raise ParameterError("paper", paper, "one of " + ", ".join(_PAPERS))
    with progress("reproducing", None) as advance:
        result = _run(paper, file, advance)
    deliver(result, as_json=as_json, out=out, show=lambda screen: _show(result, screen))
    if plot is not None:
        from ..plots import plot_residuals, save_plot

        save_plot(plot_residuals(result.residuals()), plot)


def _run(paper: str, file: Path | None, advance: Callable[[int], None]) -> Reproduction:
    if paper == "uaad":
        from ..reproduce.uaad import reproduce_uaad

        return reproduce_uaad(file, advance)
    from ..reproduce.d3 import reproduce_d3

    return reproduce_d3(file, advance)


def _value(simulated: Simulated | None) -> str:
    if simulated is None or not math.isfinite(simulated.value):
        return "-"
    text = f"{simulated.value:.4g}"
    if simulated.low != simulated.high:
        text += f" [{simulated.low:.3g}, {simulated.high:.3g}]"
    return text


def _range(low: float, high: float) -> str:
    return "" if not math.isfinite(low) else f"{low:.3g} to {high:.3g}"


def _show(result: Reproduction, screen: Console) -> None:
    screen.print(result.paper)
    for name in dict.fromkeys(row.table for row in result.rows):
        columns = ("figure", "reported", "replay", "model [95 %]", "over unknowns", "over lambda", "residual")
        table = new_table(name, columns, overflow="fold")
        for row in (r for r in result.rows if r.table == name):
            table.add_row(*_cells(row))
        screen.print(table)
    screen.print("Residual: model (without one, replay) minus reported. Unknowns and how they were chosen:")
    for choice in result.choices:
        values = ", ".join(f"{v:g}" for v in choice.values)
        screen.print(f"  {choice.name} = {choice.value:g} (spread over {values}): {choice.why}")
    for row in result.rows:
        if row.note:
            screen.print(f"{row.name}: {row.note}")
    for note in result.notes:
        screen.print(f"note: {note}")


def _cells(row: Row) -> list[str]:
    spread = ("", "")
    if row.model is not None:
        spread = _range(row.model.choices_low, row.model.choices_high), _range(row.model.lam_low, row.model.lam_high)
    residual = "" if row.residual is None else f"{row.residual:+.3g}" + ("" if row.inside else "\n(outside)")
    replayed = _value(row.replay) + (f"\n{row.replay_status}" if row.replay is not None else "")
    return [
        f"{row.name}\n({row.unit})",
        row.reported or "not given",
        replayed,
        f"{_value(row.model)}\n{row.model_status}",
        *spread,
        residual,
    ]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(reproduce)
