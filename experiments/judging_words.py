"""A plan for judging in words, for a person: the answer first, then how sure, the frontier, what would flip it, what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from .plan_judging import JudgingPlan

__all__ = ["show_judging_plan"]


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _money(value: float) -> str:
    return f"{value:,.2f} US$" if value >= 0.1 else f"{value:.4g} US$"


def show_judging_plan(advice: JudgingPlan, screen: Console) -> None:
    """Print a plan for judging."""
    screen.print(f"[bold]Run[/bold] {_plain(advice.recommendation.design.name)} [bold]on {advice.request.items:,} items.[/bold]\n")
    for line in _answer(advice):
        screen.print(line, markup=False)
    screen.print("\n[bold]How sure[/bold]")
    for line in _how_sure(advice):
        screen.print(f"  {line}", markup=False)
    screen.print()
    screen.print(_frontier(advice))
    screen.print(_panels(advice))
    screen.print("\n[bold]What would flip the choice[/bold]")
    for line in _flips(advice):
        screen.print(f"  - {line}", markup=False)
    screen.print("\n[bold]What this rests on[/bold]")
    prices = advice.pricing
    screen.print(
        f"  - prices of {prices.price.model} in {prices.prices.name}, as of {prices.prices.as_of}; give yours with --prices.", markup=False
    )
    for note in advice.notes:
        screen.print(f"  - {note}", markup=False)


def _plain(text: str) -> str:
    return text.replace("[", r"\[")


def _answer(advice: JudgingPlan) -> Iterator[str]:
    best, request = advice.recommendation, advice.request
    yield (
        f"  expected accuracy  {_percent(best.accuracy.mean)}   (95 % interval {_percent(best.accuracy.low)} to "
        f"{_percent(best.accuracy.high)}; the pilot has {advice.pilot.items:,} items)"
    )
    yield (
        f"  expected cost      {_money(best.usd_mean)} of {_money(request.budget_usd)}   (95 % of runs stay below {_money(best.usd_p95)}; "
        f"worst case {_money(best.usd_worst)})"
    )
    yield f"  P(over budget)     {'less than 0.001' if best.p_over_budget < 0.001 else f'{best.p_over_budget:.3f}'}"
    yield f"  calls              {best.calls:.2f} an item on average (exact, given the fit)"
    if not best.design.debates:
        yield "  Judges that do not debate win here: no debate is expected to give more for this money without assuming what arguments do."
    if request.target_accuracy is not None:
        verdict = "is expected to be reached" if advice.target_met else "is NOT reached by any affordable design; this is the best there is"
        yield f"  target {_percent(request.target_accuracy)} {verdict} (share of draws that reach it: {advice.p_target:.2f})"


def _how_sure(advice: JudgingPlan) -> Iterator[str]:
    kinds = advice.wins_by_kind()
    shares = ", ".join(f"{share:.0%} {kind}" for kind, share in kinds.items())
    yield f"Of {advice.request.draws} resampled pilots {advice.recommendation.wins:.0%} choose this very design; by kind: {shares}."
    rival = advice.rival
    if rival is None:
        return
    gap = rival["accuracy_difference"]
    low, high = gap["ci95"]
    yield (
        f"Strongest rival: {rival['design']} ({rival['wins']:.0%} of the draws): {100 * gap['mean']:+.2f} points of accuracy "
        f"[{100 * low:+.2f}, {100 * high:+.2f}], {rival['usd_difference_per_question']:+.3g} US$ an item."
    )
    if rival["practically_equal"]:
        close = 100 * advice.request.tolerance
        yield f"They are equal for practical purposes (within {close:g} points): more pilot items would not matter."
    elif rival["more_pilot_questions"] == 0:
        yield "The pilot already tells the two apart."
    elif rival["more_pilot_questions"] is not None:
        yield f"About {rival['more_pilot_questions']:,} more pilot items would tell the two apart (95 %, estimated)."


def _frontier(advice: JudgingPlan) -> Table:
    table = Table(
        title="Frontier: designs that nothing cheaper beats (exact law at the fit; intervals over resampled pilots)", title_justify="left"
    )
    for column in ("design", "accuracy", "95 % interval", "US$ / item", "total US$", "p95", "P(over)", "wins"):
        table.add_column(column, justify="left" if column == "design" else "right", overflow="fold")
    for o in advice.frontier:
        table.add_row(
            ("-> " if o == advice.recommendation else "") + o.design.name,
            _percent(o.robust_accuracy),
            f"{100 * o.accuracy.low:.1f} to {100 * o.accuracy.high:.1f}",
            f"{o.usd_per_item:.5f}",
            f"{o.usd_mean:,.2f}",
            f"{o.usd_p95:,.2f}",
            f"{o.p_over_budget:.2f}",
            f"{o.wins:.0%}",
        )
    return table


def _panels(advice: JudgingPlan) -> Table:
    table = Table(title="Panels by size: mean over all subsets, both orders averaged, ties half a credit", title_justify="left")
    for column in ("judges", "predicted", "the log's own", "miss, points"):
        table.add_column(column, justify="right")
    for row in advice.panels:
        known = row["predicted"] is not None
        miss = f"{100 * (row['predicted'] - row['log']):+.1f}" if known else "-"
        table.add_row(str(row["size"]), _percent(row["predicted"]) if known else "-", _percent(row["log"]), miss)
    return table


def _flips(advice: JudgingPlan) -> Iterator[str]:
    if not advice.flips:
        yield "nothing that was tried (budgets from a tenth to ten times, repeat correlations, what arguments leave of the judge's bias)."
    for flip in advice.flips:
        yield _flip(flip)
    if advice.conditional:
        rows = "; ".join(f"{row['bias_factor']:g} left: {_percent(row['accuracy'])}" for row in advice.conditional)
        yield f"debates depend on how much of the judge's bias arguments leave ({advice.conditional[0]['design']}): {rows}."


def _flip(flip: Mapping[str, Any]) -> str:
    if flip["what"] == "budget":
        choice = f"{flip['choice']} ({_percent(flip['accuracy'])})" if flip["choice"] else "nothing is affordable"
        return f"a budget of {_money(flip['value'])}: {choice}"
    return f"{flip['what']} {flip['direction']} {flip['value']:g}: {flip['choice']}"
