"""``adjourn import``: from the logs of an evaluation harness to a pilot log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..console import warn, write_text
from ..importers import FORMATS, import_logs


def import_(
    kind: Annotated[str, typer.Argument(metavar="FORMAT", help="One of " + ", ".join(FORMATS) + ".")],
    files: Annotated[list[Path], typer.Argument(help="Logs; each after the first repeats the same questions.")],
    out: Annotated[Path, typer.Option(help="Write the pilot log (CSV) here.", show_default=False)],
    score: Annotated[str | None, typer.Option(help="Scorer or metric that says what is right.", show_default="the only one")] = None,
    filter_name: Annotated[str | None, typer.Option("--filter", help="Filter of lm-eval.", show_default="the only one")] = None,
) -> None:
    """Turn logs of inspect_ai or lm-evaluation-harness into a pilot log."""
    found = import_logs(files, kind, score, filter_name)
    for note in found.notes:
        warn(note)
    write_text(out, found.to_csv())
    questions = len({row["question_id"] for row in found.rows})
    typer.echo(f"{len(found.rows):,} answers to {questions:,} questions, written to {out}.")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("import")(import_)
