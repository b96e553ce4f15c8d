"""``adjourn simulate``: one protocol on one population by one of the three engines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ...model import InterruptedRunError, ParameterError, Result
from ..console import emit, progress, result_table
from ..families import Case, find_case
from ..options import JsonFlag, ModelName, OutFile, PopulationName, PricesFile, Seed, Settings, read_settings

ENGINES = ("exact", "mc", "reference")


def simulate(
    protocol: Annotated[str, typer.Argument(help="A preset (see `adjourn protocols`), or a file of your own or of plan --out.")],
    population: PopulationName = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="exact (no sampling error), mc (Monte Carlo: compiled, millions a second), reference (readable, slow).",
            show_default="exact; mc where --samples, --precision or another option of mc is given",
        ),
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="Questions to simulate.", show_default="1,000,000 for mc, 1,000 for reference")
    ] = None,
    precision: Annotated[
        float | None, typer.Option(help="Run mc until the 95 % half-width of accuracy is this.", show_default=False)
    ] = None,
    seed: Seed = 0,
    settings: Settings = None,
    prices: PricesFile = None,
    model: ModelName = None,
    threads: Annotated[int | None, typer.Option(help="Threads of mc.", show_default="all cores")] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="File that mc saves to and resumes from.", show_default=False)] = None,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler for mc.", show_default=False)] = None,
    local_cluster: Annotated[int | None, typer.Option(help="Run mc on this many local Dask workers.", show_default=False)] = None,
    as_json: JsonFlag = False,
    out: OutFile = None,
) -> None:
    """Simulate a protocol: accuracy, calls, tokens, depth, money, tiers, stop reasons, flips."""
    given = {"precision": precision, "threads": threads, "checkpoint": checkpoint, "scheduler": scheduler, "local_cluster": local_cluster}
    given = {key: value for key, value in given.items() if value is not None}
    engine = _engine(engine, samples, given)
    case = find_case(protocol, population, read_settings(settings), prices, model)
    try:
        result = _run(case, engine, samples, seed, given)
    except InterruptedRunError as interruption:
        if isinstance(interruption.partial, Result):
            _show(interruption.partial, as_json, out)
        raise
    _show(result, as_json, out)


def _engine(engine: str | None, samples: int | None, given: Mapping[str, Any]) -> str:
    """Engine that was asked for or that the options need; options that it does not have are refused."""
    if samples is not None and not 1 <= samples <= 10**15:
        raise ParameterError("--samples", samples, "an integer from 1 to 10**15")
    if engine is None:
        return "mc" if given or samples is not None else "exact"
    if engine not in ENGINES:
        raise ParameterError("--engine", engine, "one of " + ", ".join(ENGINES))
    if engine != "mc" and given:
        key = next(iter(given))
        raise ParameterError(f"--{key.replace('_', '-')}", given[key], f"--engine mc only (here: {engine})")
    if engine == "exact" and samples is not None:
        raise ParameterError("--samples", samples, "--engine mc or reference (the exact law draws none)")
    return engine


def _run(case: Case, engine: str, samples: int | None, seed: int, options: dict[str, Any]) -> Result:
    if engine == "exact":
        return case.exact()
    if engine == "reference":
        return case.reference(1000 if samples is None else samples, seed)
    from ...vectorized.driver import DEFAULT_SAMPLES

    total = None if "precision" in options else (DEFAULT_SAMPLES if samples is None else samples)
    with progress("simulating", total) as advance:
        return case.monte_carlo(samples=samples, seed=seed, progress=advance, **options)


def _show(result: Result, as_json: bool, out: Path | None) -> None:
    def show(screen: Console) -> None:
        screen.print(result_table(result))
        prices = result.provenance.get("prices")
        if prices:
            apart = _priced_apart(result)
            own = f"; the judges {', '.join(apart)} at their own" if apart else ""
            screen.print(f"prices: {prices['model']}, {prices['list']}, as of {prices['as_of']}{own}")
        for note in result.notes:
            screen.print(f"note: {note}")

    emit(result.to_json(), as_json=as_json, out=out, show=show)


def _priced_apart(result: Result) -> list[str]:
    """Models, other than the one that was priced, whose own prices judges have."""
    judges = result.provenance.get("population", {}).get("judges", ())
    return sorted({judge["model"] for judge in judges if judge.get("model")} - {result.provenance["prices"]["model"]})


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(simulate)
