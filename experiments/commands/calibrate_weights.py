"""``adjourn calibrate-weights``: risk weights and tier thresholds from steps that are known to be faulty or clean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..console import format_estimate, new_table
from ..logs import read_mapping
from ..options import ColumnMap, JsonFlag, OutResult, Seed, picture_file
from ..saved import deliver
from ..weights import WeightFit, fit_weights, read_steps


def calibrate_weights(
    log: Annotated[Path, typer.Argument(help="CSV or JSON Lines: question_id, step, h, q, d (0 to 1), faulty.")],
    column_map: ColumnMap = None,
    seed: Seed = 0,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the reliability diagram (PNG or SVG).", callback=picture_file, show_default=False)
    ] = None,
    as_json: JsonFlag = False,
    out: OutResult = None,
) -> None:
    """Fit risk weights and thresholds on half of the questions; show reliability on the other half."""
    result = fit_weights(read_steps(log, read_mapping(column_map)), seed)
    deliver(result, as_json=as_json, out=out, show=lambda screen: _show(result, screen))
    if plot is not None:
        from ..plots import plot_reliability, save_plot

        save_plot(plot_reliability(result.curves(), unit="share of steps faulty"), plot)


def _show(result: WeightFit, screen: Console) -> None:
    screen.print(f"{result.log}: {result.steps:,} steps of {result.questions:,} questions, seed {result.seed}")
    for name, weight in result.weights.items():
        screen.print(f"  {name} = {' '.join(format_estimate(weight))} (fitted, 95 % bootstrap interval)")
    columns = ("weights", "calibration error", "concordance", "tau_low / tau_high", "share in tiers", "faulty in tiers")
    table = new_table("On the held-out half", columns, overflow="fold")
    for name, tiers in result.tiers.items():
        table.add_row(
            name,
            " ".join(format_estimate(result.ece[name])),
            f"{result.concordance[name]:.4f}",
            f"{tiers.low:.3g} / {tiers.high:.3g}",
            " / ".join(f"{s:.2f}" for s in tiers.shares),
            " / ".join(format_estimate(e)[0] for e in tiers.faulty),
        )
    screen.print(table)
    screen.print(f"use it: adjourn simulate uaad {result.settings()}")
    for note in result.notes:
        screen.print(f"note: {note}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="calibrate-weights")(calibrate_weights)
