"""``adjourn calibrate``: fit a population to a log, of reasoning debates or of judges."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, cast

import typer
from rich.console import Console
from rich.table import Table

from ...model import ParameterError
from ...model.response import RULES
from ..calibrate import Calibration
from ..calibrate import calibrate as fit
from ..calibrate.judges import JudgeCalibration, calibrate_judges
from ..console import emit, format_estimate, new_table, progress, warn, write_text
from ..logs import JudgeLog, read_log, read_mapping
from ..options import ColumnMap, JsonFlag, Seed

ORDERS = ("auto", "simultaneous", "sequential")
_MOST_DRAWS = 100_000


def calibrate(
    log: Annotated[Path, typer.Argument(help="CSV or JSON Lines, one row an answer or a judgement; or a log of inspect_ai.")],
    column_map: ColumnMap = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the population here (TOML); the whole report where it ends in .json.", show_default=False)
    ] = None,
    order: Annotated[str, typer.Option(help="Order of speaking in later rounds: auto, simultaneous, sequential.")] = "auto",
    rule: Annotated[
        str,
        typer.Option(help="Rule by which agents respond to each other: auto (the one that fits best, by AIC), " + ", ".join(RULES) + "."),
    ] = "auto",
    draws: Annotated[int, typer.Option(help="Bootstrap draws behind the intervals; 0 leaves them out.")] = 200,
    seed: Seed = 0,
    as_json: JsonFlag = False,
) -> None:
    """Fit a population to a log (difficulty, misconception, response rule; or judges), with intervals and goodness of fit."""
    if order not in ORDERS:
        raise ParameterError("--order", order, "one of " + ", ".join(ORDERS))
    if rule != "auto" and rule not in RULES:
        raise ParameterError("--rule", rule, "one of auto, " + ", ".join(RULES))
    if not 0 <= draws <= _MOST_DRAWS:
        raise ParameterError("--draws", draws, f"an integer from 0 to {_MOST_DRAWS}")
    read = read_log(log, read_mapping(column_map))
    if isinstance(read, JudgeLog) and (order, rule) != ("auto", "auto"):
        raise ParameterError("--order, --rule", (order, rule), "auto for a log of judges: there are no rounds of responses")
    order_word = cast(Literal["auto", "simultaneous", "sequential"], order)
    found: Calibration | JudgeCalibration
    with progress("bootstrap", draws) as advance:
        if isinstance(read, JudgeLog):
            found = calibrate_judges(read, draws=draws, seed=seed, advance=advance)
        else:
            found = fit(read, order=order_word, rule=rule, draws=draws, seed=seed, advance=advance)
    for note in found.warnings:
        warn(note)
    as_report = out is not None and out.suffix.lower() == ".json"
    if out is not None and not as_report:
        write_text(out, found.population.to_toml())
    emit(found.to_json(), as_json=as_json, out=out if as_report else None, show=lambda screen: _show(found, out, screen))


def _show(found: Calibration | JudgeCalibration, out: Path | None, screen: Console) -> None:
    for paragraph in found.report:
        screen.print(paragraph, markup=False)
        screen.print()
    if isinstance(found, Calibration):
        for table in filter(None, (_curve(found), _families(found), _cells(found))):
            screen.print(table)
            screen.print()
    if out is None:
        screen.print("Nothing was written; --out FILE.toml writes the population, which every command accepts.", markup=False)
    else:
        screen.print(f"Written to {out}.", markup=False)


def _table(title: str, *columns: str) -> Table:
    return new_table(title, columns, left=columns[:1], overflow="fold")


def _curve(found: Calibration) -> Table:
    table = _table("Accuracy of a plurality of n answers (share of questions)", "n", "fitted", "95 %", "own", "95 %", "miss, points")
    for n, miss in zip(found.choice.sizes, found.choice.chosen.misses, strict=True):
        cells = [*format_estimate(found.intervals[f"plurality_{n}"]), *format_estimate(found.intervals[f"own_plurality_{n}"])]
        table.add_row(str(n), *cells, f"{100 * miss:+z.2f}")
    return table


def _families(found: Calibration) -> Table | None:
    if len(found.choice.scores) < 2:
        return None
    title = "Laws of p (a question's chance of a right answer) and w (of a wrong one being the shared misconception), nats a question"
    table = _table(title, "family", "held-out fit", "behind the best", "miss, points", "chosen")
    for score in found.choice.scores:
        table.add_row(
            score.family.name,
            f"{score.held_out:.4f}",
            f"{score.behind:.4f} ± {score.behind_error:.4f}",
            f"{100 * max(score.misses, key=abs):+.2f}",
            "yes" if score is found.choice.chosen else "",
        )
    return table


def _cells(found: Calibration) -> Table | None:
    if found.response is None:
        return None
    table = _table("P(next answer right), observed and fitted", "own answer", "right peers", "moves", "observed", "fitted", "miss, points")
    for cell in found.response.cells:
        table.add_row(
            "right" if cell.own_right else "wrong",
            f"{cell.right_peers} of {cell.agents - 1}",
            str(cell.moves),
            f"{cell.observed:.3f}",
            f"{cell.predicted:.3f}",
            f"{-100 * cell.miss:+.1f}",
        )
    return table


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("calibrate")(calibrate)
