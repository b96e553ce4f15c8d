"""Values of one row, read strictly: what is missing stays missing, and what cannot be meant is an error with file and line."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...model.errors import FileFormatError
from .rows import Table

__all__ = ["Codes", "Record", "is_number", "refuse_missing_columns"]

_MISSING = {"", "nan", "null", "<na>", "#n/a", "n/a"}
_TRUE = {"1", "1.0", "true", "t", "yes", "y", "right", "correct"}
_FALSE = {"0", "0.0", "false", "f", "no", "n", "wrong", "incorrect"}
_USUAL = {
    "question_id": ("qid", "id", "question", "question_idx", "task_id"),
    "round": ("turn", "iteration", "phase"),
    "agent": ("sample", "sample_id", "run", "seed"),
    "answer": ("prediction", "pred", "response", "output", "final", "final_answer", "extracted"),
    "correct": ("is_correct", "ok", "score", "label", "acc"),
    "item_id": ("id", "pair", "pair_id", "qid"),
    "judge": ("model", "judge_model"),
    "label": ("human", "gold", "winner"),
    "verdict": ("winner", "decision", "choice"),
}
_LARGEST = 1e15


def is_number(name: str) -> bool:
    """Whether a name is a whole number (of at most 18 digits, which a computer counts with)."""
    return name.isascii() and name.isdecimal() and len(name) <= 18


class Codes(dict[str, int]):
    """Numbers its keys in the order in which they are first asked for."""

    def __missing__(self, key: str) -> int:
        self[key] = len(self)
        return self[key]


class Record:
    """One row, its values asked for by Adjourn's names.

    Parameters
    ----------
    path : Path
        The file, for messages.
    line : int
        Line that the row starts on.
    row : mapping
        The file's names to raw values.
    names : mapping of str to str
        Adjourn's names to the file's; a name that is not listed is its own.
    """

    __slots__ = ("_names", "_row", "line", "path")

    def __init__(self, path: Path, line: int, row: Mapping[str, Any], names: Mapping[str, str]) -> None:
        self.path = path
        self.line = line
        self._row = row
        self._names = names

    def error(self, name: str, problem: str) -> FileFormatError:
        """Return the error of a value, naming the file's column."""
        raw = self._row.get(self._names.get(name, name))
        shown = "" if raw is None or not str(raw).strip() else f" = {str(raw)[:60]!r}"
        return FileFormatError(self.path, f"{self._names.get(name, name)}{shown} {problem}", self.line)

    def text(self, name: str) -> str | None:
        """Text without white space around it; None where it is missing (empty, NaN, null, N/A)."""
        raw = self._row.get(self._names.get(name, name))
        if raw is None or (isinstance(raw, float) and math.isnan(raw)):
            return None
        if isinstance(raw, (dict, list)):
            raise self.error(name, "is nested; a log holds plain values.")
        text = ("true" if raw else "false") if isinstance(raw, bool) else str(raw).strip()
        if any("\ud800" <= c <= "\udfff" for c in text):
            raise self.error(name, "holds half of a surrogate pair, which is no character.")
        return None if text.lower() in _MISSING else text

    def required(self, name: str) -> str:
        """Text that must be there."""
        text = self.text(name)
        if text is None:
            raise self.error(name, "is missing; every row needs it.")
        return text

    def number(self, name: str, low: float = 0.0, high: float = _LARGEST) -> float:
        """Return a number within [low, high], or NaN where it is missing."""
        text = self.text(name)
        if text is None:
            return math.nan
        try:
            value = float(text)
        except ValueError:
            raise self.error(name, "is no number.") from None
        if not low <= value <= high:
            raise self.error(name, f"is outside the possible range, {low:g} to {high:g}.")
        return value

    def count(self, name: str, high: int) -> int:
        """Return a whole number from 0 to ``high`` ("2" or "2.0")."""
        self.required(name)
        value = self.number(name, 0, high)
        if value != int(value):
            raise self.error(name, "is no whole number.")
        return int(value)

    def flag(self, name: str) -> bool | None:
        """Return true or false in any of the usual spellings; None where it is missing."""
        text = self.text(name)
        if text is None:
            return None
        if text.lower() in _TRUE:
            return True
        if text.lower() in _FALSE:
            return False
        raise self.error(name, "is neither right nor wrong; write 1 or 0, true or false, yes or no.")

    def choice(self, name: str, words: Mapping[str, int]) -> int | None:
        """Return the code of one of several words, whatever their case; None where it is missing."""
        text = self.text(name)
        if text is None:
            return None
        code = words.get(text.lower())
        if code is None:
            raise self.error(name, "is none of " + ", ".join(words) + ".")
        return code


def refuse_missing_columns(table: Table, missing: list[str], family: str) -> None:
    """Refuse a log that lacks columns, naming them all, and how to map them.

    Raises
    ------
    FileFormatError
        If ``missing`` is not empty.
    """
    if not missing:
        return
    hints = " ".join(_hint(name.split(" ")[0], table.columns) for name in missing)
    held = ", ".join(repr(column) for column in table.columns[:20])
    raise FileFormatError(
        table.path,
        f"a {family} log needs {', '.join(missing)}; the columns here are {held[:400]}. If they go by other names, say so: {hints}",
        1,
    )


def _hint(missing: str, columns: tuple[str, ...]) -> str:
    usual = [column for column in columns if column.lower() in _USUAL.get(missing, ())]
    close = usual or difflib.get_close_matches(missing, columns, n=1, cutoff=0.5)
    return f"--map {missing}={close[0] if close else 'NAME'}"
