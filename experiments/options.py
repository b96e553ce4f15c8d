"""Command-line options that several commands share, each defined once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..model import InputError
from .pairs import split_pairs

__all__ = [
    "ColumnMap",
    "JsonFlag",
    "ModelName",
    "OutFile",
    "OutResult",
    "PopulationName",
    "PricesFile",
    "Seed",
    "Settings",
    "picture_file",
    "read_settings",
]

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output and nothing else there.")]
ColumnMap = Annotated[
    list[str] | None,
    typer.Option("--map", help="ours=theirs, such as question_id=qid: what your file calls a column. Repeat for more.", show_default=False),
]
OutFile = Annotated[Path | None, typer.Option("--out", help="Also write the JSON to this file.", show_default=False)]
OutResult = Annotated[Path | None, typer.Option("--out", help="Save as .json, .csv or .parquet.", show_default=False)]
PopulationName = Annotated[
    str | None,
    typer.Option(
        "--population",
        "-p",
        help="A shipped population (see `adjourn populations`), or a TOML file that calibrate wrote.",
        show_default="the family's default",
    ),
]
PricesFile = Annotated[
    Path | None, typer.Option("--prices", help="Your price list (TOML, dated).", show_default="the shipped example list")
]
ModelName = Annotated[
    str | None,
    typer.Option("--model", help="Model of the price list whose prices count.", show_default="the population's, else the list's default"),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the random numbers, 0 to 2**64 - 1.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="key=value, such as tau_c=0.9: any parameter by its name (see `adjourn protocols --json`). Repeat for more.",
        show_default=False,
    ),
]


def picture_file(path: Path | None) -> Path | None:
    """Refuse, before any work is done, a file that no picture can be written to; used as a callback of ``--plot``.

    Raises
    ------
    InputError
        If the name does not end in .png, .svg or .pdf, or its folder does not exist.
    """
    if path is None:
        return None
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError(f"--plot {path}: the file must end in .png, .svg or .pdf.")
    if not path.parent.is_dir():
        raise InputError(f"--plot {path}: there is no folder {path.parent}; make it, or name another.")
    return path


def read_settings(pairs: Sequence[str] | None) -> dict[str, str]:
    """Split ``key=value`` texts.

    Raises
    ------
    ParameterError
        If one is no such pair, or a key comes twice.
    """
    return split_pairs("--set", pairs, "key=value")
