"""A plan in words, for a person: the answer first, then how sure, the frontier, what would flip it, what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..model.cost import EXAMPLE_LIST
from .advice import Outlook, Plan
from .console import new_table

__all__ = ["show_plan"]

_NO_DEBATE = {
    "reasoning": "Plain sampling and voting wins here: no debate is expected to give more for this money.",
    "judging": "Judges that do not debate win here: what a debate would add depends on its arguments, which this pilot does not hold.",
}
_WIDE = 110
"""Width in characters from which the frontier is shown with all its columns."""

_LEGEND = (
    "p95: 95 % of runs stay below it, US$. P(over): probability of passing the budget. wins: share of the resampled pilots that choose it."
)
_TRIED = {
    "reasoning": "budgets from a tenth to ten times, lambda from -1 to 3, AUROC up to 0.98",
    "judging": "budgets from a tenth to ten times, repeat correlations, what arguments leave of the judge's bias",
}


def show_plan(advice: Plan, screen: Console) -> None:
    """Print a plan of either family."""
    best, unit = advice.recommendation, advice.unit
    screen.print(f"[bold]Run {escape(best.design.name)}[/bold] for {advice.request.items:,} {unit}s.\n")
    for line in _answer(advice):
        screen.print(f"  {line}", markup=False)
    screen.print(f"\n[bold]How sure[/bold]: {_wins(advice)}")
    for line in _rival(advice):
        screen.print(line, markup=False)
    screen.print()
    screen.print(_frontier(advice, narrow=screen.width < _WIDE))
    screen.print(_LEGEND)
    if advice.panels:
        screen.print()
        screen.print(_panels(advice))
    screen.print("\n[bold]What would flip the choice[/bold]")
    for line in _flips(advice):
        screen.print(f"  {line}", markup=False)
    conditional = advice.conditional
    if conditional.rows:
        values = ", ".join(f"{_percent(row['accuracy'])} at {row[conditional.parameter]:g}" for row in conditional.rows)
        screen.print(f"\n[bold]{conditional.says}[/bold]: {escape(conditional.rows[0]['design'])} is expected to reach {values}.")
    screen.print("\n[bold]What this rests on[/bold]")
    screen.print(f"  - {_prices(advice)}", markup=False)
    for note in advice.notes:
        screen.print(f"  - {note}", markup=False)


def _prices(advice: Plan) -> str:
    listed = advice.pricing.prices
    yours = "; give yours with --prices" if listed.name == EXAMPLE_LIST else ""
    return f"Prices of the model {advice.pricing.price.model} in {listed.name}, as of {listed.as_of}{yours}."


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _money(value: float) -> str:
    return f"{value:,.2f} US$" if value >= 0.1 else f"{value:.4g} US$"


def _probability(value: float) -> str:
    return "less than 0.001" if value < 0.001 else f"{value:.3f}"


def _answer(advice: Plan) -> Iterator[str]:
    best, request, size = advice.recommendation, advice.request, advice.pilot.questions
    yield (
        f"expected accuracy  {_percent(best.accuracy.mean)}   (95 % interval {_percent(best.accuracy.low)} to "
        f"{_percent(best.accuracy.high)}; the pilot has {size:,} {advice.unit}{'' if size == 1 else 's'})"
    )
    yield (
        f"expected cost      {_money(best.usd_mean)} of {_money(request.budget_usd)}   (95 % of runs stay below "
        f"{_money(best.usd_p95)}; worst case {_money(best.usd_worst)})"
    )
    yield f"P(over budget)     {_probability(best.p_over_budget)}"
    yield f"calls              {best.calls:.2f} {advice.one_unit} on average (exact, given the fit)"
    if not best.design.debates:
        yield _NO_DEBATE[advice.family]
    if request.target_accuracy is not None:
        verdict = "is expected to be reached" if advice.target_met else "is NOT reached by any affordable design; this is the best there is"
        yield f"target {_percent(request.target_accuracy)} {verdict} (share of draws that reach it: {advice.p_target:.2f})"


def _wins(advice: Plan) -> str:
    kinds = ", ".join(f"{share:.0%} {kind}" for kind, share in advice.wins_by_kind().items())
    return f"of {advice.request.draws} resampled pilots {advice.recommendation.wins:.0%} choose this very design; by kind: {kinds}."


def _rival(advice: Plan) -> Iterator[str]:
    rival = advice.rival
    if rival is None:
        return
    gap = rival["accuracy_difference"]
    low, high = gap["ci95"]
    dearer = rival["usd_difference_per_question"] * advice.request.items
    yield (
        f"Strongest rival: {rival['design']} ({rival['wins']:.0%} of the draws): {100 * gap['mean']:+.2f} points of accuracy "
        f"[{100 * low:+.2f}, {100 * high:+.2f}], {_sign(dearer)}{_money(abs(dearer))} for all."
    )
    more = rival["more_pilot_questions"]
    if rival["practically_equal"]:
        close = advice.request.tolerance
        if max(-low, high) <= close:
            yield f"They are equal for practical purposes (within {100 * close:g} points): more pilot {advice.unit}s would not matter."
        else:
            yield f"The fit puts the two within {100 * close:g} points; the interval does not rule out a larger difference."
    elif more == 0:
        yield "The pilot already tells the two apart."
    elif more is not None:
        yield f"About {more:,} more pilot {advice.unit}s would tell the two apart (95 %, estimated)."


def _sign(value: float) -> str:
    return "-" if value < 0 else "+"


def _frontier(advice: Plan, *, narrow: bool) -> Table:
    table = Table(
        title="Frontier: designs that nothing cheaper beats (exact law at the fit; intervals over resampled pilots)", title_justify="left"
    )
    for column in _row(advice.recommendation, advice, narrow=narrow):
        table.add_column(column, justify="left" if column == "design" else "right", no_wrap=column != "design", overflow="fold")
    for o in advice.frontier:
        table.add_row(*_row(o, advice, narrow=narrow).values())
    return table


def _row(o: Outlook, advice: Plan, *, narrow: bool) -> dict[str, str]:
    """Cells by column; a narrow screen goes without those that follow from the others."""
    mark = "-> " if o == advice.recommendation else ""
    cells = {
        "design": mark + escape(o.design.name),
        "accuracy": _percent(o.robust_accuracy),
        "95 % interval": f"{100 * o.accuracy.low:.1f} to {100 * o.accuracy.high:.1f}",
        f"US$ / {advice.unit}": f"{o.usd_per_question:.5f}",
        "total US$": f"{o.usd_mean:,.2f}",
        "p95": f"{o.usd_p95:,.2f}",
        "P(over)": f"{o.p_over_budget:.2f}",
        "wins": f"{o.wins:.0%}",
    }
    return {name: cell for name, cell in cells.items() if not narrow or name not in (f"US$ / {advice.unit}", "P(over)")}


def _panels(advice: Plan) -> Table:
    columns = ("judges", "predicted", "the log's own", "miss, points")
    table = new_table("Panels by size: mean over all subsets, both orders averaged, ties half a credit", columns, left=(), no_wrap=False)
    for row in advice.panels:
        known = row["predicted"] is not None
        miss = f"{100 * (row['predicted'] - row['log']):+.1f}" if known else "-"
        table.add_row(str(row["size"]), _percent(row["predicted"]) if known else "-", _percent(row["log"]), miss)
    return table


def _flips(advice: Plan) -> Iterator[str]:
    if not advice.flips:
        yield f"nothing that was tried ({_TRIED[advice.family]})."
    for flip in advice.flips:
        yield f"- {_flip(flip)}"


def _flip(flip: Mapping[str, Any]) -> str:
    if flip["what"] == "budget":
        choice = f"{flip['choice']} ({_percent(flip['accuracy'])})" if flip["choice"] else "nothing is affordable"
        return f"a budget of {_money(flip['value'])}: {choice}"
    now = f" (now {flip['now']:.2g})" if "now" in flip else ""
    return f"{flip['what']} {flip['direction']} {flip['value']:g}{now}: {flip['choice']}"
