"""``adjourn warmup``: compile the Monte Carlo kernels now, so that no later command has to."""

from __future__ import annotations

import time

import typer
from rich.console import Console

from ..console import emit
from ..options import JsonFlag, OutFile


def warmup(as_json: JsonFlag = False, out: OutFile = None) -> None:
    """Compile the Monte Carlo kernels, or load them, and say where they are kept."""
    from ...vectorized import warm_up
    from ...vectorized.jit import cache_folder

    start = time.perf_counter()
    warm_up()
    seconds = time.perf_counter() - start
    folder = cache_folder()

    def show(screen: Console) -> None:
        kept = "in memory only (no folder can be written; set ADJOURN_CACHE_DIR)" if folder is None else f"in {folder}"
        screen.print(f"ready after {seconds:.1f} s; the kernels are kept {kept}.")

    emit({"seconds": seconds, "folder": None if folder is None else str(folder)}, as_json=as_json, out=out, show=show)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(warmup)
