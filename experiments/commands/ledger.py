"""``adjourn ledger``: what real runs spent and said, and their log for ``calibrate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ...live.export import log_text
from ...live.money import usd
from ...live.reading import LedgerReader, Totals
from ...model import AdjournError, InputError
from ...model.result import share
from ..after_run import Prediction, actual_of, compare
from ..console import emit, new_table, write_text
from ..live_runs import stored_case
from ..options import JsonFlag, OutFile

__all__ = ["comparison_table", "ledger", "register", "run_report"]


def ledger(
    path: Annotated[Path, typer.Argument(help="The ledger of `adjourn run`.")],
    run: Annotated[str | None, typer.Option(help="Which run.", show_default="the last one")] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write the run's log (CSV) here; `adjourn calibrate` reads it.", show_default=False)
    ] = None,
    as_json: JsonFlag = False,
    out: OutFile = None,
) -> None:
    """Show spending by role and predicted against actual; export the log; check the ledger."""
    with LedgerReader(path) as book:
        runs = {entry["run_id"]: entry for entry in book.runs()}
        if not runs:
            raise InputError(f"{path} holds no run yet.")
        chosen = run or list(runs)[-1]
        if chosen not in runs:
            raise InputError(f'no run "{chosen}" in {path}; there are: {", ".join(runs)}.')
        report = run_report(book, chosen)
        report["runs"] = [
            {"run_id": key, "created": entry["created"], "protocol": entry["protocol"]["name"]} for key, entry in runs.items()
        ]
        report["problems"] = book.check()
        if export is not None:
            write_text(export, log_text(book, chosen, runs[chosen]["family"]))
            report["exported"] = str(export)
    emit(report, as_json=as_json, out=out, show=lambda screen: _show(report, screen))
    if report["problems"]:
        raise AdjournError(f"{path} is damaged: {report['problems'][0]}. Do not run on it; keep a copy.")


def run_report(book: LedgerReader, run_id: str) -> dict[str, Any]:
    """Tell what a run did: accuracy, spending by role, and predicted against actual."""
    entry = next(entry for entry in book.runs() if entry["run_id"] == run_id)
    settings = entry["settings"]
    outcomes = book.outcomes(run_id)
    graded = [outcome["correct"] for outcome in outcomes if outcome["correct"] is not None]
    prediction = Prediction(stored_case(settings), len(outcomes)) if outcomes else None
    return {
        "run_id": run_id,
        "protocol": entry["protocol"]["name"],
        "model": entry["model"],
        "items": settings["items"],
        "done": len(outcomes),
        "graded": len(graded),
        "accuracy": share(sum(graded), len(graded)).to_json() if graded else None,
        "abstained": sum(outcome["answer"] is None for outcome in outcomes),
        "plan": entry["plan"],
        "predicted_vs_actual": compare(prediction, actual_of(outcomes)) if prediction else [],
        "by_role": [_in_usd(row) for row in book.by_role(run_id)],
        "run": _sums(book.totals(run_id)),
        "ledger": _sums(book.totals()),
    }


def _sums(totals: Totals) -> dict[str, Any]:
    return {
        "attempts": totals.attempts,
        "dangling_attempts": totals.dangling_attempts,
        "charged_usd": usd(totals.charged),
        "settled_usd": usd(totals.settled),
        "uncertain_usd": usd(totals.uncertain),
        "dangling_usd": usd(totals.dangling),
    }


def _in_usd(row: dict[str, Any]) -> dict[str, Any]:
    money = {f"{name}_usd": usd(row[name]) for name in ("charged", "uncertain")}
    return {**{name: row[name] for name in ("role", "calls", "attempts", "prompt_tokens", "completion_tokens")}, **money}


def comparison_table(rows: list[dict[str, Any]]) -> Table:
    """Table of predicted against actual totals."""
    table = Table(title="predicted (exact law, before the run) against actual, totals", title_justify="left")
    for column in ("total", "predicted", "95 % range", "actual", "percentile", "unit", "why outside"):
        table.add_column(column, justify="left" if column in ("total", "unit", "why outside") else "right", no_wrap=column != "why outside")
    for row in rows:
        digits = 6 if row["unit"] == "US$" else 1
        low, high = row["range95"]
        cells = (f"{row['predicted']:,.{digits}f}", f"{low:,.{digits}f} to {high:,.{digits}f}", f"{row['actual']:,.{digits}f}")
        table.add_row(row["quantity"], *cells, f"{row['percentile']:.1f} %", row["unit"], row["why"])
    return table


def _show(report: dict[str, Any], screen: Console) -> None:
    title = f"run {report['run_id']}: {report['protocol']}, {report['done']} of {report['items']} questions"
    columns = ("role", "calls", "attempts", "prompt tokens", "completion tokens", "charged US$", "of it uncertain US$")
    table = new_table(title, columns, left=("role",))
    for row in report["by_role"]:
        counts = (row["calls"], row["attempts"], row["prompt_tokens"], row["completion_tokens"])
        table.add_row(row["role"], *(f"{n:,}" for n in counts), f"{row['charged_usd']:.6f}", f"{row['uncertain_usd']:.6f}")
    screen.print(table)
    money = report["ledger"]
    screen.print(
        f"whole ledger: {money['charged_usd']:.6f} US$ charged in {money['attempts']:,} attempts; {money['dangling_attempts']} of them "
        f"were sent and never settled, charged with their worst case ({money['dangling_usd']:.6f} US$)"
    )
    if report["predicted_vs_actual"]:
        screen.print(comparison_table(report["predicted_vs_actual"]))
    for problem in report["problems"]:
        screen.print(f"problem: {problem}", markup=False)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(ledger)
