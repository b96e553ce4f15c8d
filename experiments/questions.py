"""Files of what a real run asks: questions (with gold and options, where known), or pairs of answers to judge. CSV or JSON Lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..live.questions import Item, Question
from ..model import FileFormatError, ParameterError
from .logs.rows import Table, open_binary, open_table
from .logs.values import Record, refuse_missing_columns

__all__ = ["MOST_QUESTIONS", "read_items", "read_questions"]

MOST_QUESTIONS = 1_000_000


def read_questions(path: Path) -> list[Question]:
    """Read questions: ``question_id`` and ``question``; optional ``gold``, ``options`` (a list, or texts between bars), ``kind``.

    Raises
    ------
    FileFormatError
        If a row cannot be read, or an id comes twice; file and line are named.
    """
    return _read(path, "question", ("question_id", "question"), _question)


def read_items(path: Path) -> list[Item]:
    """Read pairs of answers: columns ``item_id``, ``question``, ``answer_a``, ``answer_b``; optional ``label`` (A, B or tie).

    Raises
    ------
    FileFormatError
        As :func:`read_questions`.
    """
    return _read(path, "judging", ("item_id", "question", "answer_a", "answer_b"), _item)


def _read(path: Path, family: str, needed: tuple[str, ...], make: Callable[[Record, Mapping[str, Any]], Any]) -> list[Any]:
    path = Path(path)
    found: dict[str, tuple[Any, int]] = {}
    with open_binary(path) as file:
        table: Table = open_table(path, file)
        refuse_missing_columns(table, [name for name in needed if name not in table.columns], family)
        for line, row in table.rows:
            record = Record(path, line, row, {})
            key = record.required(needed[0])
            if key in found:
                raise record.error(needed[0], f"came before, in line {found[key][1]}; ids are unique.")
            if len(found) == MOST_QUESTIONS:
                raise FileFormatError(path, f"more than {MOST_QUESTIONS} rows; split the file.", line)
            try:
                found[key] = make(record, row), line
            except ParameterError as error:
                raise FileFormatError(path, str(error), line) from None
    if not found:
        raise FileFormatError(path, "the file has a header but no rows; give one row a question.", 1)
    return [entry for entry, _ in found.values()]


def _question(record: Record, row: Mapping[str, Any]) -> Question:
    return Question(
        question_id=record.required("question_id"),
        text=record.required("question"),
        gold=record.text("gold") or "",
        options=_options(record, row.get("options")),
        kind=record.text("kind"),
    )


def _options(record: Record, value: object) -> tuple[str, ...]:
    if isinstance(value, list):
        if not all(isinstance(option, str) and option.strip() for option in value):
            raise FileFormatError(record.path, "options is a list of texts that are not empty.", record.line)
        return tuple(value)
    text = record.text("options")
    return tuple(option.strip() for option in text.split("|")) if text else ()


def _item(record: Record, row: Mapping[str, Any]) -> Item:
    label = (record.text("label") or "").upper()
    return Item(
        item_id=record.required("item_id"),
        question=record.required("question"),
        answer_a=record.required("answer_a"),
        answer_b=record.required("answer_b"),
        label={"TIE": "tie"}.get(label, label),
    )
