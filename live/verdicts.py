"""Reading scores, grades and votes: what cannot be read is no score, never a zero. The reply is JSON, with or without text around it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from . import prompts
from .text import clean, one_line

__all__ = ["GRADE_POINTS", "GRADE_SCHEMA", "VOTE_SCHEMA", "grades", "rubric_schema", "rubric_sums", "said", "vote"]

T = TypeVar("T")

GRADE_POINTS = 9
"""Largest difference of two grades from 1 to 10."""

_MOST_OBJECTS = 50
_SENTENCE: Mapping[str, Any] = {"type": "string", "maxLength": 200}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(properties), "additionalProperties": False}


_GRADE = {"type": "integer", "minimum": 1, "maximum": 10}
GRADE_SCHEMA = _object({"first": _GRADE, "second": _GRADE, "comment": _SENTENCE})
VOTE_SCHEMA = _object({"vote": {"type": "string", "enum": ["first", "second"]}, "reason": _SENTENCE})


def rubric_schema(arguments: int) -> dict[str, Any]:
    """Give the schema of a judge's reply: six scores for each side, or for each of several arguments of a side."""
    side = _object({criterion: {"type": "integer", "minimum": 1, "maximum": 20} for criterion in prompts.CRITERIA})
    entry = side if arguments == 1 else {"type": "array", "items": side, "minItems": arguments, "maxItems": arguments}
    return _object({"first": entry, "second": entry, "feedback": _SENTENCE})


def _first_object(text: str, read: Callable[[dict[str, Any]], T | None]) -> T | None:
    """Give what ``read`` makes of the first JSON object in a text that it can make sense of."""
    plain, decoder, place = clean(text), json.JSONDecoder(), -1
    for _ in range(_MOST_OBJECTS):
        place = plain.find("{", place + 1)
        if place < 0:
            return None
        try:
            value, _ = decoder.raw_decode(plain, place)
        except (ValueError, RecursionError):
            continue
        found = read(value) if isinstance(value, dict) else None
        if found is not None:
            return found
    return None


def _whole(value: Any, low: int, high: int) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or not low <= value <= high or value != int(value):
        return None
    return int(value)


def _rubric_sum(value: Any) -> int | None:
    if not isinstance(value, dict):
        return None
    scores = [_whole(value.get(criterion), 1, 20) for criterion in prompts.CRITERIA]
    known = [score for score in scores if score is not None]
    return sum(known) if len(known) == len(scores) else None


def rubric_sums(text: str, arguments: int) -> tuple[list[int], list[int]] | None:
    """Add up the six scores, for each argument of the side shown first and of the other; None if any is missing or out of range."""

    def read(data: dict[str, Any]) -> tuple[list[int], list[int]] | None:
        sides = []
        for name in ("first", "second"):
            entries = data.get(name) if arguments > 1 else [data.get(name)]
            sums = [_rubric_sum(entry) for entry in entries] if isinstance(entries, list) else []
            known = [value for value in sums if value is not None]
            if len(known) != arguments or len(sums) != arguments:
                return None
            sides.append(known)
        return sides[0], sides[1]

    return _first_object(text, read)


def grades(text: str) -> tuple[int, int] | None:
    """Grades of the answer shown first and of the other; None if any is missing or out of range."""

    def read(data: dict[str, Any]) -> tuple[int, int] | None:
        first, second = _whole(data.get("first"), 1, 10), _whole(data.get("second"), 1, 10)
        return None if first is None or second is None else (first, second)

    return _first_object(text, read)


def vote(text: str) -> int | None:
    """1 for the answer shown first, -1 for the other; None for neither."""
    return _first_object(text, lambda data: {"first": 1, "second": -1}.get(str(data.get("vote", "")).strip().lower()))


def said(text: str, field: str) -> str:
    """Sentence of a reply, for a transcript; the whole reply where there is none."""
    sentence = _first_object(text, lambda data: data[field] if isinstance(data.get(field), str) else None)
    return one_line(text if sentence is None else sentence, 400)
