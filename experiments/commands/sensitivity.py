"""``adjourn sensitivity``: Sobol' indices with intervals; ``adjourn discover``: where debate loses, as a readable box."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from ...model import Estimate, ParameterError
from ..console import format_estimate, new_table, progress
from ..discovery import Discovery
from ..discovery import discover as find_region
from ..options import JsonFlag, ModelName, OutResult, PopulationName, PricesFile, Seed, Settings, picture_file, read_settings
from ..saved import deliver
from ..sensitivity import ISHIGAMI, SOBOL_G, Sensitivity, analyse
from ..sensitivity import sensitivity as study

_KNOWN = {f.name: f for f in (ISHIGAMI, SOBOL_G)}

Over = Annotated[
    list[str] | None,
    typer.Option(
        "--over", help="key=low:high or key=value,value: what varies. Repeat for more.", show_default="what is uncertain or unpublished"
    ),
]


def sensitivity(
    protocol: Annotated[str, typer.Argument(help="A preset; or ishigami or sobol-g, test functions whose indices are known.")],
    population: PopulationName = None,
    over: Over = None,
    output: Annotated[
        list[str] | None, typer.Option("--output", help="Mean to explain. Repeat for more.", show_default="accuracy, calls")
    ] = None,
    settings: Settings = None,
    prices: PricesFile = None,
    model: ModelName = None,
    samples: Annotated[
        int | None, typer.Option(min=100, help="Use the compiled engine (mc) with this many questions a point.", show_default="exact law")
    ] = None,
    width: Annotated[float, typer.Option(help="Double the points until every 95 % half-width is this.")] = 0.05,
    most_evaluations: Annotated[int, typer.Option("--evaluations", min=64, help="No doubling beyond this many evaluations.")] = 4000,
    seed: Seed = 0,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the first output's indices (PNG or SVG).", callback=picture_file, show_default=False)
    ] = None,
    as_json: JsonFlag = False,
    out: OutResult = None,
) -> None:
    """Rank what moves accuracy and calls: Sobol' indices on the exact law, first and total order, with intervals."""
    if protocol in _KNOWN:
        known = _KNOWN[protocol]
        result = analyse(
            lambda x: known.function(np.asarray(x)), known.inputs, subject=known.name, width=width, most_evaluations=200_000, seed=seed
        )
    else:
        with progress("evaluating", None) as advance:
            result = study(
                protocol,
                population,
                over or (),
                output or ("accuracy", "calls"),
                read_settings(settings),
                prices=prices,
                model=model,
                samples=samples,
                width=width,
                most_evaluations=most_evaluations,
                seed=seed,
                advance=advance,
            )
    deliver(result, as_json=as_json, out=out, show=lambda screen: _show(result, screen))
    if plot is not None:
        _plot(result, plot)


def _plot(result: Sensitivity, path: Path) -> None:
    from ..plots import plot_sensitivity, save_plot

    drawn = [name for name in result.outputs if name not in result.constant]
    if not drawn:
        raise ParameterError("--plot", str(path), "an output that varies (all are constant here)")
    save_plot(plot_sensitivity(result, drawn[0]), path)


def _show(result: Sensitivity, screen: Console) -> None:
    screen.print(f"{result.subject}: {result.points} points, {result.evaluations:,} distinct evaluations, seed {result.seed}")
    for name, value in result.constant.items():
        screen.print(f"{name} is constant at {value:.6g}: no input moves it.")
    for name, groups in result.ranking.items():
        mean, spread = result.spread[name]
        title = f"{name}: mean {mean:.4g}, standard deviation {spread:.3g} over the inputs"
        table = new_table(title, ("input", "law", "first order", "95 %", "total order", "95 %"))
        laws = {x.name: (f"{len(x.levels)} levels" if x.levels else f"{x.low:.4g} to {x.high:.4g}") for x in result.inputs}
        for row in sorted((r for r in result.indices if r.output == name), key=lambda r: -r.total.mean):
            table.add_row(row.input, laws[row.input], *_index(row.first), *_index(row.total))
        screen.print(table)
        screen.print("order: " + "  >  ".join(" ~ ".join(group) for group in groups) + "   (~: intervals overlap, not ranked)")
    if not result.narrow_enough:
        screen.print(f"Not every interval reached the half-width {result.width:g}; give more --evaluations.")
    for note in result.notes:
        screen.print(f"note: {note}")


def _index(estimate: Estimate) -> tuple[str, str]:
    """Sobol' index and interval to four decimals, which is more than it is known to."""
    return f"{estimate.mean:z.4f}", f"[{estimate.low:z.4f}, {estimate.high:z.4f}]"


def discover(
    protocol: Annotated[str, typer.Argument(help="A preset with a debate.")],
    population: PopulationName = None,
    over: Over = None,
    settings: Settings = None,
    cost: Annotated[str, typer.Option(help="What is held equal: calls, usd or completion_tokens.")] = "calls",
    points: Annotated[
        int, typer.Option(min=64, max=16384, help="Points of the ranges to evaluate; half of them are held out to check the box.")
    ] = 512,
    prices: PricesFile = None,
    model: ModelName = None,
    seed: Seed = 0,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the box (PNG or SVG).", callback=picture_file, show_default=False)
    ] = None,
    as_json: JsonFlag = False,
    out: OutResult = None,
) -> None:
    """Find where debate loses to self-consistency at equal cost: a readable box with coverage and density."""
    with progress("evaluating", points) as advance:
        result = find_region(
            protocol,
            population,
            over or (),
            read_settings(settings),
            cost=cost,
            points=points,
            prices=prices,
            model=model,
            seed=seed,
            advance=advance,
        )
    deliver(result, as_json=as_json, out=out, show=lambda screen: _show_box(result, screen))
    if plot is not None:
        from ..plots import plot_box, save_plot

        save_plot(plot_box(result), plot)


def _show_box(result: Discovery, screen: Console) -> None:
    share, interval = format_estimate(result.cases)
    screen.print(f"{result.question}: at a share of {share} {interval} of {result.points} points over the inputs.")
    if not result.box.limits:
        screen.print("No box: no part of the range holds clearly more of the losses than the rest.")
        return
    screen.print("Region: " + " and ".join(limit.text() for limit in result.box.limits))
    box = result.box
    screen.print(
        f"  coverage {' '.join(format_estimate(box.coverage))} of the losses lie in it (held out; {box.coverage_found:.2f} where found)"
    )
    screen.print(
        f"  density {' '.join(format_estimate(box.density))} of what lies in it are losses (held out; {box.density_found:.2f} where found)"
    )
    for note in result.notes:
        screen.print(f"note: {note}")


def register(app: typer.Typer) -> None:
    """Add both commands."""
    app.command()(sensitivity)
    app.command()(discover)
