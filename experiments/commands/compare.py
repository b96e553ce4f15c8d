"""``adjourn compare``: protocols side by side on the same questions, at equal cost where asked."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ...model import Estimate, InterruptedRunError, ParameterError
from ..compare import COSTS, Comparison, PairedDifference, find_cases
from ..compare import compare as study
from ..console import UNITS, format_estimate, new_table, progress
from ..options import JsonFlag, ModelName, OutResult, PopulationName, PricesFile, Seed, Settings, read_settings
from ..saved import deliver


def compare(
    protocols: Annotated[list[str], typer.Argument(help="Two or more: NAME, or NAME:key=value,key=value with settings of its own.")],
    population: PopulationName = None,
    samples: Annotated[int | None, typer.Option(min=1, help="Questions to simulate.", show_default="1,000,000")] = None,
    precision: Annotated[
        float | None, typer.Option(help="Run until every 95 % half-width of a difference of accuracies is this.", show_default=False)
    ] = None,
    equal_cost: Annotated[
        str | None, typer.Option("--equal-cost", help=f"Also at equal mean cost: {', '.join(COSTS)}.", show_default=False)
    ] = None,
    seed: Seed = 0,
    settings: Settings = None,
    prices: PricesFile = None,
    model: ModelName = None,
    threads: Annotated[int | None, typer.Option(help="Threads.", show_default="all cores")] = None,
    as_json: JsonFlag = False,
    out: OutResult = None,
) -> None:
    """Compare protocols on the same questions: paired differences of accuracy, calls, tokens and money."""
    cases = find_cases(protocols, population, read_settings(settings), prices, model)
    if len(cases) < 2:
        raise ParameterError("protocols", len(cases), "two or more")

    def show(screen: Console) -> None:
        _show(result, screen)

    try:
        with progress("comparing", None if precision is not None else samples) as advance:
            result = study(cases, samples=samples, seed=seed, equal_cost=equal_cost, precision=precision, progress=advance, threads=threads)
    except InterruptedRunError as interruption:
        if isinstance(interruption.partial, Comparison):
            result = interruption.partial
            deliver(result, as_json=as_json, out=out, show=show)
        raise
    deliver(result, as_json=as_json, out=out, show=show)


def _show(result: Comparison, screen: Console) -> None:
    screen.print(f"on {result.population}: {result.samples:,} questions, the same for all; seed {result.seed}")
    for pair in result.differences:
        screen.print(_pair_table(pair))
        if pair.equal_cost is not None:
            screen.print(_equal_cost_line(pair))
    for note in result.notes:
        screen.print(f"note: {note}")


def _pair_table(pair: PairedDifference) -> Table:
    columns = ("quantity", "difference", "95 % interval", "unit")
    table = new_table(f"{pair.first} minus {pair.second}", columns, left=("quantity", "95 % interval", "unit"))
    rows: dict[str, tuple[Estimate, str]] = {"accuracy": (pair.accuracy, UNITS["accuracy"])}
    if pair.accuracy != pair.sampled:
        rows["accuracy, sampled"] = (pair.sampled, UNITS["accuracy"])
    rows[f"only {pair.first} right"] = (pair.only_first, UNITS["accuracy"])
    rows[f"only {pair.second} right"] = (pair.only_second, UNITS["accuracy"])
    rows |= {name: (value, UNITS.get(name, "")) for name, value in pair.costs.items()}
    for name, (value, unit) in rows.items():
        table.add_row(name, *format_estimate(value), unit)
    if pair.p_value is not None:
        shown = f"{pair.p_value:.2g}" if pair.p_value >= 1e-6 else "< 1e-6"
        table.add_row("McNemar's test", shown, "p value, exact", "of no difference")
    return table


def _equal_cost_line(pair: PairedDifference) -> str:
    same = pair.equal_cost
    assert same is not None
    value, interval = format_estimate(same.accuracy)
    share, _ = format_estimate(same.share)
    return (
        f"at equal mean {same.by}: {same.thinned} on {share} of the questions (drawn at random), {same.otherwise} on the others; "
        f"the accuracy of {pair.first} minus that of {pair.second} is then {value} ({interval})"
    )


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(compare)
