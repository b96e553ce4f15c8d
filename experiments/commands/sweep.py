"""``adjourn sweep``: maps over a grid, with their cells and the places where the ranking flips."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ..axes import read_axes
from ..console import format_estimate, new_table, progress
from ..options import JsonFlag, ModelName, OutResult, PopulationName, PricesFile, Seed, Settings, picture_file, read_settings
from ..saved import deliver
from ..sweep import Sweep
from ..sweep import sweep as run_sweep

_SHOWN = 40


def sweep(
    protocol: Annotated[list[str] | None, typer.Option("--protocol", help="A preset. Repeat to compare.", show_default="uaad")] = None,
    grid: Annotated[
        list[str] | None, typer.Option("--grid", help="key=start:stop:count or key=value,value. Repeat for more axes.", show_default=False)
    ] = None,
    population: PopulationName = None,
    settings: Settings = None,
    prices: PricesFile = None,
    model: ModelName = None,
    engine: Annotated[str, typer.Option(help="exact, or mc for panels that the exact law cannot hold.")] = "exact",
    samples: Annotated[int, typer.Option(help="Questions for each distinct point (mc).", min=1)] = 100_000,
    seed: Seed = 0,
    regret: Annotated[bool, typer.Option("--regret", help="Add the distance to the best stopping rule of the same calls.")] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw accuracy over the grid (PNG or SVG).", callback=picture_file, show_default=False)
    ] = None,
    as_json: JsonFlag = False,
    out: OutResult = None,
) -> None:
    """Map accuracy, calls and money over a grid: equivalence cells with exact edges, and where the ranking of protocols flips."""
    protocols = protocol or ["uaad"]
    axes = read_axes(grid or [])
    points = math.prod(len(axis.values) for axis in axes) * len(protocols)
    with progress("sweeping", points) as advance:
        result = run_sweep(
            protocols,
            axes,
            population,
            read_settings(settings),
            prices=prices,
            model=model,
            engine=engine,
            samples=samples,
            seed=seed,
            regret=regret,
            advance=advance,
        )
    deliver(result, as_json=as_json, out=out, show=lambda screen: _show(result, screen))
    if plot is not None:
        from ..plots import plot_sweep, save_plot

        save_plot(plot_sweep(result), plot)


def _show(result: Sweep, screen: Console) -> None:
    for name in result.protocols:
        cells = [c for c in result.cells if c.protocol == name]
        screen.print(
            f"{name} on {result.population}: {len(result.cell_of[name]):,} grid points, {len(cells)} cells, {result.laws[name]} laws"
        )
        for tier in result.lattices[name]:
            screen.print(f"  {tier.agents} agents alone ({tier.tier}): {tier.cells} distinct rules")
            screen.print(f"    tau_c: {' '.join(str(i) for i in tier.tau_c)}")
            screen.print(f"    epsilon: {' '.join(str(i) for i in tier.epsilon)}")
    screen.print(_cells_table(result))
    if len(result.cells) > _SHOWN:
        screen.print(f"{len(result.cells) - _SHOWN} more cells; all are in --out FILE.")
    if len(result.protocols) > 1:
        screen.print(f"{len(result.flips)} places where the most accurate protocol changes" + (":" if result.flips else "."))
    for flip in result.flips[:_SHOWN]:
        at = "".join(f", {k} = {v}" for k, v in flip.at.items())
        screen.print(f"  {flip.axis} {flip.low} -> {flip.high}{at}: {flip.before} -> {flip.after}")
    for note in result.notes:
        screen.print(f"note: {note}")


def _cells_table(result: Sweep) -> Table:
    keys = list(dict.fromkeys(k for c in result.cells for k in (*c.fixed, *c.edges)))
    shown = [q for q in ("accuracy", "calls", "depth", "usd", "regret") if q in result.quantities]
    table = new_table("Cells: within each, nothing changes", ("cell", "protocol", *keys, "points", *shown))
    for number, cell in enumerate(result.cells[:_SHOWN]):
        values = [str(cell.edges.get(k, cell.fixed.get(k, ""))) for k in keys]
        means = [" ".join(format_estimate(cell.means.get(q))) for q in shown]
        table.add_row(str(number), cell.protocol, *values, str(cell.points), *(m.replace(" exact", "") for m in means))
    table.caption_justify = "left"
    table.caption = "exact values" if result.provenance.get("engine") == "exact" else "95 % intervals in brackets"
    return table


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(sweep)
