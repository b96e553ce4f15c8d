"""``adjourn validate``: fit on half of a log's questions, predict the other half."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..console import new_table, progress
from ..logs import read_mapping, read_reasoning
from ..options import ColumnMap, JsonFlag, OutResult, Seed, picture_file
from ..saved import deliver
from ..validate import Validation
from ..validate import validate as run_validation


def validate(
    log: Annotated[Path, typer.Argument(help="CSV or JSON Lines log of answers.")],
    splits: Annotated[int, typer.Option(help="Random halves.")] = 200,
    column_map: ColumnMap = None,
    debate: Annotated[
        str | None, typer.Option("--debate", help="Preset that the log's debate followed.", show_default="read off it")
    ] = None,
    seed: Seed = 0,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw predicted against actual (PNG or SVG).", callback=picture_file, show_default=False)
    ] = None,
    as_json: JsonFlag = False,
    out: OutResult = None,
) -> None:
    """Fit on half of the questions, predict the other half over many random splits; show predicted against actual."""
    read = read_reasoning(log, read_mapping(column_map))
    with progress("splitting", splits) as advance:
        result = run_validation(read, splits=splits, seed=seed, debate=debate, advance=advance)
    deliver(result, as_json=as_json, out=out, show=lambda screen: _show(result, screen))
    if plot is not None:
        from ..plots import plot_reliability, save_plot

        save_plot(plot_reliability(result.curves()), plot)


def _show(result: Validation, screen: Console) -> None:
    splits = f"{result.splits} random halves, seed {result.seed}"
    screen.print(f"{result.log}: {result.inside:.1%} of the predictions lie inside their 95 % band ({splits})")
    if result.debate_inside is not None:
        screen.print(f"the log's own debate: {result.debate_inside:.1%} of the predictions lie inside")
    screen.print(f"{result.questions} questions used, {result.left_out} left out; law: {result.law}, fitted again on each half")
    columns = ("quantity", "unit", "actual", "predicted", "error", "95 % of the errors", "band", "inside")
    table = new_table("Predicted by one half, actual of the other", columns)
    for c in result.checks:
        spread = f"[{c.error.low:+.4f}, {c.error.high:+.4f}]"
        table.add_row(
            c.name, c.unit, f"{c.actual:.4f}", f"{c.predicted:.4f}", f"{c.error.mean:+.4f}", spread, f"± {c.band:.4f}", f"{c.inside:.1%}"
        )
    screen.print(table)
    for note in result.notes:
        screen.print(f"note: {note}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(validate)
