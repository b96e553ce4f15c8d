"""``adjourn solve``: all but one given, the missing one found; ``adjourn tell-apart``: items that two designs need to differ live."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ...model import ParameterError
from ..apart import TellApart
from ..apart import tell_apart as compare
from ..console import new_table, progress
from ..options import JsonFlag, ModelName, OutResult, PopulationName, PricesFile, Seed, Settings, read_settings
from ..saved import deliver
from ..solve import Candidate, Request, Solution
from ..solve import solve as find_missing

Pilot = Annotated[
    Path | None, typer.Option("--pilot", help="Fit the population to this log, and carry its uncertainty.", show_default=False)
]


def solve(
    protocol: Annotated[str, typer.Argument(help="A preset (see `adjourn protocols`), or a file of your own or of plan --out.")],
    find: Annotated[str, typer.Option("--find", help="accuracy, budget, items, tau_c, epsilon, rounds, agents, chains, n, ...")],
    items: Annotated[int | None, typer.Option("--items", help="Number of questions.", show_default=False)] = None,
    budget: Annotated[float | None, typer.Option("--budget-usd", help="US dollars for all items.", show_default=False)] = None,
    accuracy: Annotated[float | None, typer.Option("--accuracy", help="Wanted share of right answers, 0 to 1.", show_default=False)] = None,
    confidence: Annotated[float, typer.Option(help="Wanted probability of staying within the budget.")] = 0.95,
    population: PopulationName = None,
    pilot: Pilot = None,
    draws: Annotated[int, typer.Option(min=10, max=1000, help="Resamples of the pilot.")] = 50,
    settings: Settings = None,
    prices: PricesFile = None,
    model: ModelName = None,
    seed: Seed = 0,
    as_json: JsonFlag = False,
    out: OutResult = None,
) -> None:
    """Give all but one of budget, accuracy, items and the design's parameters; get the missing one with its interval."""
    if pilot is not None and population is not None:
        raise ParameterError("--pilot, --population", (str(pilot), population), "one of them")
    request = Request(find, items, budget, accuracy, confidence)
    law, resample = population, None
    if pilot is not None:
        from ..pilots import read_pilot

        fitted = read_pilot(pilot)
        law, resample = fitted.population, fitted.resample
    with progress("solving", None):
        result = find_missing(
            protocol,
            request,
            law,
            read_settings(settings),
            prices=prices,
            model=model,
            resample=resample,
            draws=draws,
            seed=seed,
        )
    deliver(result, as_json=as_json, out=out, show=lambda screen: _show(result, screen))


_ROWS = 20
"""Rows of a table that are shown in any case."""

_UNITS = {"budget": "US$", "items": "items", "accuracy": "of the questions"}


def _show(result: Solution, screen: Console) -> None:
    unit = _UNITS.get(result.find, "")
    answer = f"{result.answer} {unit}".strip() if result.answer is not None else "nothing"
    screen.print(f"{result.find} for {result.protocol} on {result.population}: {answer}")
    if result.value is not None and result.value.low != result.value.high:
        screen.print(f"  interval [{result.value.low:.6g}, {result.value.high:.6g}]")
    screen.print(f"  {result.interval}")
    if result.pilot_interval:
        screen.print(f"  over resamples of the pilot: {', '.join(result.pilot_interval)}")
    if result.answer is not None:
        screen.print(f"  the design: accuracy {result.accuracy:.4f} (exact), {result.usd:.6f} US$ a question (expected)")
    if result.candidates:
        columns = (result.find, "accuracy", "US$ / question", "P(within budget)", "meets")
        shown = _worth_showing(result.candidates)
        table = new_table(f"Values of {result.find}", columns)
        for c in shown:
            within = "" if c.within_budget is None else f"{c.within_budget:.4f}"
            table.add_row(c.value, f"{c.accuracy:.4f}", f"{c.usd:.6f}", within, "yes" if c.meets else "")
        screen.print(table)
        if len(shown) < len(result.candidates):
            screen.print(f"{len(result.candidates) - len(shown)} further values, which do not meet it, are in the --json.")
    for note in result.notes:
        screen.print(f"note: {note}")


def _worth_showing(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Candidates that a person wants to see: up to a few beyond the last that meets what was asked."""
    last = max((index for index, c in enumerate(candidates) if c.meets), default=0)
    return candidates[: max(_ROWS, last + 4)]


def tell_apart(
    first: Annotated[str, typer.Argument(help="A preset, or a file as for simulate.")],
    second: Annotated[str, typer.Argument(help="Another one.")],
    items: Annotated[
        int | None, typer.Option("--items", min=1, help="Give the power (chance to find the difference) of this many.", show_default=False)
    ] = None,
    power: Annotated[float, typer.Option(help="Wanted power: chance to find the difference if there is one.")] = 0.8,
    level: Annotated[float, typer.Option(help="Level of the two-sided test.")] = 0.05,
    population: PopulationName = None,
    settings: Settings = None,
    prices: PricesFile = None,
    model: ModelName = None,
    as_json: JsonFlag = False,
    out: OutResult = None,
) -> None:
    """Find how many items tell two designs apart live (paired, exact McNemar test), or the power of a given number."""
    result = compare(first, second, population, read_settings(settings), items=items, power=power, level=level, prices=prices, model=model)
    deliver(result, as_json=as_json, out=out, show=lambda screen: _show_apart(result, screen))


def _show_apart(result: TellApart, screen: Console) -> None:
    names = f"{result.first} and {result.second} on {result.population}"
    if result.items is None:
        screen.print(f"{names}: their accuracies are equal or so close that no feasible number of items tells them apart.")
    else:
        cost = "" if result.usd is None else f", {result.usd:.4g} US$ expected for asking both"
        screen.print(f"{names}: {result.items:,} items, power {result.power:.3f} at level {result.level:g}{cost}")
    screen.print(
        f"  accuracies {result.accuracy[0]:.4f} and {result.accuracy[1]:.4f}, difference {result.difference:+.4f}; only the first right "
        f"{result.only_first:.4f}, only the second {result.only_second:.4f} (exact shares of questions)"
    )
    for note in result.notes:
        screen.print(f"note: {note}")


def register(app: typer.Typer) -> None:
    """Add both commands."""
    app.command()(solve)
    app.command(name="tell-apart")(tell_apart)
