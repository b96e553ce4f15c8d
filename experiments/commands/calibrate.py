"""``adjourn calibrate``: fit a population and, where it can be, a response rule to a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ...model import InputError, ParameterError
from ...model.response import RULES
from ..calibrate import Calibration
from ..calibrate import calibrate as fit
from ..console import emit, progress, warn, write_text
from ..logs import ReasoningLog, read_log, read_mapping
from ..options import JsonFlag, Seed

ORDERS = ("auto", "simultaneous", "sequential")
_MOST_DRAWS = 100_000


def calibrate(
    log: Annotated[Path, typer.Argument(help="CSV or JSON Lines, one row a message.")],
    mapping: Annotated[list[str] | None, typer.Option("--map", help="ours=theirs: the file's name of a column. Repeat for more.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the population here (TOML; the whole report where it ends in .json).")] = None,
    order: Annotated[str, typer.Option(help="Order of speaking in later rounds: auto, simultaneous, sequential.")] = "auto",
    rule: Annotated[str, typer.Option(help="Response rule to take: auto (lowest AIC), " + ", ".join(RULES) + ".")] = "auto",
    draws: Annotated[int, typer.Option(help="Bootstrap draws behind the intervals.")] = 200,
    seed: Seed = 0,
    as_json: JsonFlag = False,
) -> None:
    """Fit difficulty, misconception and response rule to a log, with intervals and goodness of fit; write a population file."""
    if order not in ORDERS:
        raise ParameterError("--order", order, "one of " + ", ".join(ORDERS))
    if rule != "auto" and rule not in RULES:
        raise ParameterError("--rule", rule, "one of auto, " + ", ".join(RULES))
    if not 1 <= draws <= _MOST_DRAWS:
        raise ParameterError("--draws", draws, f"an integer from 1 to {_MOST_DRAWS}")
    read = read_log(log, read_mapping(mapping))
    if not isinstance(read, ReasoningLog):
        raise InputError(f"{log}: this is a log of judges; calibrate fits logs of reasoning debates.")
    with progress("bootstrap", draws) as advance:
        found = fit(read, order=order, rule=rule, draws=draws, seed=seed, advance=advance)  # type: ignore[arg-type]
    for note in found.warnings:
        warn(note)
    as_report = out is not None and out.suffix.lower() == ".json"
    emit(found.to_json(), as_json=as_json, out=out if as_report else None, show=lambda screen: _show(found, out, screen))
    if out is not None and not as_report:
        write_text(out, found.population.to_toml())


def _show(found: Calibration, out: Path | None, screen: Console) -> None:
    for paragraph in found.report:
        screen.print(paragraph, markup=False)
        screen.print()
    if out is None:
        screen.print("Nothing was written; --out FILE.toml writes the population, which every command accepts.", markup=False)
    else:
        screen.print(f"Written to {out}.", markup=False)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("calibrate")(calibrate)
