"""``adjourn plan``: from a pilot log and a budget to a design, before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ..choosing import Request
from ..console import emit, progress, warn
from ..families import price_of
from ..frontier import require_picture, save_frontier
from ..options import JsonFlag, ModelName, OutFile, PricesFile, Seed
from ..plan import DesignOutlook, Plan, make_plan


def plan(
    pilot: Annotated[Path, typer.Option(help="Log of real answers (CSV or JSON Lines).", show_default=False)],
    items: Annotated[int, typer.Option(help="Questions to answer.", show_default=False)],
    budget_usd: Annotated[float, typer.Option(help="Money for all of them, US$.", show_default=False)],
    target_accuracy: Annotated[float | None, typer.Option(help="Accuracy to reach as cheaply as possible.", show_default=False)] = None,
    prices: PricesFile = None,
    model: ModelName = None,
    risk: Annotated[float, typer.Option(help="Largest acceptable probability of passing the budget.")] = 0.05,
    tolerance: Annotated[float, typer.Option(help="Accuracy to give up for a cheaper design.")] = 0.002,
    confidence: Annotated[float, typer.Option(help="Share of the draws in which a dearer design must be better.")] = 0.8,
    draws: Annotated[int, typer.Option(help="Bootstrap draws over the pilot's questions.")] = 200,
    seed: Seed = 0,
    column_map: Annotated[
        list[str] | None, typer.Option("--map", help="ours=theirs; renames a column. Repeat for more.", show_default=False)
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the frontier to a PNG, SVG or PDF file.", show_default=False)] = None,
    as_json: JsonFlag = False,
    out: OutFile = None,
) -> None:
    """Choose a debate design, or how to judge, with its thresholds and its budget from a pilot log, without spending anything."""
    from ..calibrate import calibrate
    from ..calibrate.judges import calibrate_judges
    from ..judging_words import show_judging_plan
    from ..logs import JudgeLog
    from ..pilots import fitted_pilot, read_any_log
    from ..plan_judging import JudgingPlan, plan_judging

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
    if plot is not None:
        require_picture(plot)
    log = read_any_log(pilot, column_map or [])
    advice: Plan | JudgingPlan
    if isinstance(log, JudgeLog):
        judged = calibrate_judges(log, draws=0)
        for note in judged.warnings:
            warn(note)
        pricing = price_of(prices, model, judged.population.model)
        with progress("resampling the pilot", request.draws + 1) as advance:
            advice = plan_judging(judged, request, pricing, advance)
    else:
        fitted = fitted_pilot(calibrate(log, draws=0))
        pricing = price_of(prices, model, fitted.population.model)
        with progress("resampling the pilot", request.draws + 1) as advance:
            advice = make_plan(fitted, request, pricing, advance)
    if plot is not None:
        save_frontier(advice, plot)

    def show(screen: Console) -> None:
        if isinstance(advice, JudgingPlan):
            show_judging_plan(advice, screen)
        else:
            show_plan(advice, screen)
        if plot is not None:
            screen.print(f"\nThe frontier is drawn in {plot}.")

    emit(advice.to_json(), as_json=as_json, out=out, show=show)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _money(value: float) -> str:
    return f"{value:,.2f} US$" if value >= 0.1 else f"{value:.4g} US$"


def show_plan(advice: Plan, screen: Console) -> None:
    """Print the advice: the answer first, then how sure, the frontier, what would flip it, what it rests on."""
    best, request = advice.recommendation, advice.request
    screen.print(f"[bold]Run {best.design.name}[/bold] for {request.items:,} questions.\n")
    screen.print(
        f"  expected accuracy  {_percent(best.accuracy.mean)}   (95 % interval {_percent(best.accuracy.low)} to "
        f"{_percent(best.accuracy.high)}; the pilot has {advice.pilot.questions:,} questions)"
    )
    screen.print(
        f"  expected cost      {_money(best.usd_mean)} of {_money(request.budget_usd)}   (95 % of runs stay below "
        f"{_money(best.usd_p95)}; worst case {_money(best.usd_worst)})"
    )
    screen.print(f"  P(over budget)     {_probability(best.p_over_budget)}")
    screen.print(f"  calls              {best.calls:.2f} a question on average (exact, given the fit)")
    if not best.design.responses:
        screen.print("  Plain sampling and voting wins here: no debate is expected to give more for this money.")
    if request.target_accuracy is not None:
        verdict = "is expected to be reached" if advice.target_met else "is NOT reached by any affordable design; this is the best there is"
        screen.print(f"  target {_percent(request.target_accuracy)} {verdict} (share of draws that reach it: {advice.p_target:.2f})")
    kinds = advice.wins_by_kind()
    screen.print(
        f"\n[bold]How sure[/bold]: of {request.draws} resampled pilots {best.wins:.0%} choose this very design, "
        f"{kinds['sampling and voting']:.0%} one without debate, {kinds['debate']:.0%} one with."
    )
    _show_rival(advice, screen)
    screen.print()
    screen.print(_frontier_table(advice))
    _show_flips(advice, screen)
    if advice.conditional:
        rows = "; ".join(f"AUROC {r['auroc']:g}: {_percent(r['accuracy'])}" for r in advice.conditional)
        screen.print(f"\n[bold]UAAD depends on its signals[/bold] ({advice.conditional[0]['design']}): {rows}.")
    screen.print("\n[bold]What this rests on[/bold]")
    p = advice.pricing
    screen.print(f"  - prices of {p.price.model} in {p.prices.name}, as of {p.prices.as_of}; give yours with --prices.")
    for note in advice.notes:
        screen.print(f"  - {note}")


def _probability(value: float) -> str:
    return "less than 0.001" if value < 0.001 else f"{value:.3f}"


def _show_rival(advice: Plan, screen: Console) -> None:
    rival = advice.rival
    if rival is None:
        return
    gap = rival["accuracy_difference"]
    low, high = gap["ci95"]
    screen.print(
        f"Strongest rival: {rival['design']} ({rival['wins']:.0%} of the draws): {100 * gap['mean']:+.2f} points of accuracy "
        f"[{100 * low:+.2f}, {100 * high:+.2f}], {rival['usd_difference_per_question']:+.3g} US$ a question."
    )
    if rival["practically_equal"]:
        close = 100 * advice.request.tolerance
        screen.print(f"They are equal for practical purposes (within {close:g} points): more pilot questions would not matter.")
    elif rival["more_pilot_questions"] == 0:
        screen.print("The pilot already tells the two apart.")
    elif rival["more_pilot_questions"] is not None:
        screen.print(f"About {rival['more_pilot_questions']:,} more pilot questions would tell the two apart (95 %, estimated).")


def _frontier_table(advice: Plan) -> Table:
    table = Table(
        title="Frontier: designs that nothing cheaper beats (exact law at the fit; intervals over resampled pilots)", title_justify="left"
    )
    for column in ("design", "accuracy", "95 % interval", "US$ / question", "total US$", "p95", "P(over)", "wins"):
        table.add_column(column, justify="left" if column == "design" else "right", no_wrap=True)
    for o in advice.frontier:
        table.add_row(*_row(o, o == advice.recommendation))
    return table


def _row(o: DesignOutlook, chosen: bool) -> list[str]:
    mark = "-> " if chosen else ""
    return [
        mark + o.design.name,
        _percent(o.robust_accuracy),
        f"{100 * o.accuracy.low:.1f} to {100 * o.accuracy.high:.1f}",
        f"{o.usd_per_question:.5f}",
        f"{o.usd_mean:,.2f}",
        f"{o.usd_p95:,.2f}",
        f"{o.p_over_budget:.2f}",
        f"{o.wins:.0%}",
    ]


def _show_flips(advice: Plan, screen: Console) -> None:
    screen.print("\n[bold]What would flip the choice[/bold]")
    if not advice.flips:
        screen.print("  nothing that was tried (budgets from a tenth to ten times, lambda from -1 to 3, AUROC up to 0.98).")
    for flip in advice.flips:
        if flip["what"] == "budget":
            choice = f"{flip['choice']} ({_percent(flip['accuracy'])})" if flip["choice"] else "nothing is affordable"
            screen.print(f"  - a budget of {_money(flip['value'])}: {choice}")
        else:
            now = f" (now {flip['now']:g})" if "now" in flip else ""
            screen.print(f"  - {flip['what']} {flip['direction']} {flip['value']:g}{now}: {flip['choice']}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(plan)
