"""``adjourn report``: one self-contained HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..console import screen, write_text


def report(
    results: Annotated[list[Path], typer.Argument(help="Results written with --out (JSON or Parquet).")],
    out: Annotated[Path, typer.Option("--out", help="The page.")] = Path("report.html"),
    title: Annotated[str, typer.Option("--title", help="Title of the page.", show_default="the first result's")] = "",
) -> None:
    """Write one self-contained page: the answer first, figures, tables, assumptions, provenance, how to run it again."""
    from ..report import build_page, section_of
    from ..saved import load_result

    sections = [section_of(load_result(path)) for path in results]
    write_text(out, build_page(sections, title))
    screen().print(
        f"wrote {out} ({len(sections)} {'result' if len(sections) == 1 else 'results'}; open it in a browser, it needs no network)"
    )


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(report)
