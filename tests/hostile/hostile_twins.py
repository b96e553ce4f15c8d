"""Two ways to write the same log must give the same figures: rows shuffled, columns moved or added, CSV or JSON Lines, other spellings.

A silent wrong number raises no error; these pairs show it. Figures are compared to nine digits, since sums may run in another order.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any

from hostile_material import as_json_lines
from hostile_runner import run_case

__all__ = ["REWRITES", "differences", "twins"]

_NUMERIC = ("round", "score_a", "score_b", "prompt_tokens", "completion_tokens", "correct")


def _table(text: str) -> tuple[list[str], list[list[str]]]:
    header, *rows = (line.split(",") for line in text.splitlines())
    return header, rows


def _text(header: list[str], rows: list[list[str]], end: str = "\n") -> str:
    return "".join(",".join(row) + end for row in (header, *rows))


def _shuffled(text: str, rng: random.Random) -> str:
    header, rows = _table(text)
    rng.shuffle(rows)
    return _text(header, rows)


def _moved(text: str, rng: random.Random) -> str:
    header, rows = _table(text)
    order = rng.sample(range(len(header)), len(header))
    return _text([header[k] for k in order], [[row[k] for k in order] for row in rows])


def _added(text: str, rng: random.Random) -> str:
    header, rows = _table(text)
    words = ("", "x", "1e400", "nan", "é🙂", '"a,b"', "\u202e")
    return _text([*header, "remark"], [[*row, rng.choice(words)] for row in rows])


def _quoted(text: str, rng: random.Random) -> str:
    header, rows = _table(text)
    return _text(header, [[f'"{value}"' for value in row] for row in rows], "\r\n")


def _spelt(text: str, rng: random.Random) -> str:
    """Numbers of rounds, tokens and scores as floats, with white space around all."""
    header, rows = _table(text)
    numeric = {k for k, name in enumerate(header) if name in _NUMERIC}
    return _text(header, [[f" {v}.0 " if k in numeric and v else f" {v} " for k, v in enumerate(row)] for row in rows])


def _renamed(text: str, rng: random.Random) -> str:
    """Other names for questions, agents, answers and judges, in the same order."""
    header, rows = _table(text)
    renamed = {k for k, name in enumerate(header) if name in ("question_id", "answer", "item_id")}
    return _text(header, [[f"z{v}" if k in renamed and v else v for k, v in enumerate(row)] for row in rows])


REWRITES: Mapping[str, Callable[[str, random.Random], str]] = {
    "rows shuffled": _shuffled,
    "columns moved": _moved,
    "a column added": _added,
    "JSON Lines": lambda text, rng: as_json_lines(text),
    "quoted, CR LF": _quoted,
    "a byte-order mark, blank lines": lambda text, rng: "\ufeff" + text + "\n\n",
    "numbers as floats": _spelt,
    "other names": _renamed,
}

_ABOUT_THE_FILE = {"log", "name", "source", "warnings", "notes", "extra_columns", "provenance"}
_BY_SPLITS = {"families", "rules"}
"""What is chosen by scores over a random split: the split follows the order in which questions first appear, and only it may."""


def twins(text: str, command: list[str], folder: Path, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Names of the rewrites of a log, each with what a command then says differently."""
    folder.mkdir(parents=True, exist_ok=True)
    first = _figures(text, command, folder / "first")
    for name, rewrite in REWRITES.items():
        passed_over = _ABOUT_THE_FILE | (_BY_SPLITS if rewrite is _shuffled else set())
        second = _figures(rewrite(text, random.Random(f"{seed}:{name}")), command, folder / name.replace(" ", "-"))
        yield (
            name,
            [first] if isinstance(first, str) else [second] if isinstance(second, str) else list(differences(first, second, passed_over)),
        )


def _figures(text: str, command: list[str], folder: Path) -> Any:
    folder.mkdir(exist_ok=True)
    (folder / "log.csv").write_text(text, encoding="utf-8", newline="")
    found = run_case([*command, "--json"], folder, 60)
    return json.loads(found.out) if found.code == 0 and not found.fault else found.fault or found.err


def differences(one: Any, other: Any, passed_over: Set[str] = frozenset(), path: str = "") -> Iterator[str]:
    """Where two results differ by more than the order of a sum; keys in ``passed_over`` are not looked at."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            if key not in passed_over:
                yield from differences(one.get(key), other.get(key), passed_over, f"{path}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differences(left, right, passed_over, f"{path}[{index}]")
    elif isinstance(one, float) and isinstance(other, (int, float)):
        if not math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9):
            yield f"{path}: {one} and {other}"
    elif one != other:
        yield f"{path}: {one!r} and {other!r}"[:300]
