"""``adjourn plan``: from a pilot log and a budget to a design, before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..choosing import Request
from ..console import emit, progress
from ..families import price_of
from ..frontier import save_frontier
from ..options import ColumnMap, JsonFlag, ModelName, OutFile, PricesFile, Seed, picture_file
from ..plan_words import show_plan


def plan(
    pilot: Annotated[Path, typer.Option(help="Log of real answers, or of judges (CSV or JSON Lines).", show_default=False)],
    items: Annotated[int, typer.Option(help="Questions to answer, or items to judge.", show_default=False)],
    budget_usd: Annotated[float, typer.Option(help="Money for all of them, US$.", show_default=False)],
    target_accuracy: Annotated[
        float | None, typer.Option(help="Accuracy to reach as cheaply as possible, 0 to 1.", show_default=False)
    ] = None,
    prices: PricesFile = None,
    model: ModelName = None,
    risk: Annotated[float, typer.Option(help="Largest acceptable probability of passing the budget.")] = 0.05,
    tolerance: Annotated[float, typer.Option(help="Accuracy to give up for a cheaper design; 0.002 is 0.2 points.")] = 0.002,
    confidence: Annotated[float, typer.Option(help="Share of the draws in which a dearer design must be better to be chosen.")] = 0.8,
    draws: Annotated[int, typer.Option(help="Bootstrap draws over the pilot's questions; time grows with them.")] = 200,
    seed: Seed = 0,
    column_map: ColumnMap = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the frontier (PNG, SVG or PDF).", callback=picture_file, show_default=False)
    ] = None,
    as_json: JsonFlag = False,
    out: OutFile = None,
) -> None:
    """Choose a debate design, or how to judge, with its thresholds and its budget from a pilot log, without spending anything."""
    from ..pilots import plan_from_log, read_any_log

    request = Request(
        items=items,
        budget_usd=budget_usd,
        target_accuracy=target_accuracy,
        risk=risk,
        tolerance=tolerance,
        confidence=confidence,
        draws=draws,
        seed=seed,
    )
    log = read_any_log(pilot, column_map or [])
    with progress("resampling the pilot", request.draws + 1) as advance:
        advice = plan_from_log(log, request, lambda population_model: price_of(prices, model, population_model), advance)
    if plot is not None:
        save_frontier(advice, plot)

    def show(screen: Console) -> None:
        show_plan(advice, screen)
        if plot is not None:
            screen.print(f"\nThe frontier is drawn in {plot}.")

    emit(advice.to_json(), as_json=as_json, out=out, show=show)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(plan)
