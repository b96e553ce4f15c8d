"""What a real run is asked: a question to answer, or a pair of answers to judge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from ..model.checks import require_one_of
from ..model.errors import ParameterError
from .answers import KINDS, canonical, kind_of

__all__ = ["LONGEST_QUESTION", "MOST_OPTIONS", "Item", "Question", "digest"]

LONGEST_QUESTION = 100_000
MOST_OPTIONS = 26


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question to answer.

    Parameters
    ----------
    question_id : str
        Unique within a run.
    text : str
        The question.
    gold : str
        The right answer; "" where nobody knows it.
    options : tuple of str
        Texts of the options A, B, ...; empty for an open question.
    kind : {"number", "option", "text"} or None
        How answers are compared; None reads it off options and gold.
    """

    question_id: str
    text: str
    gold: str = ""
    options: tuple[str, ...] = ()
    kind: str | None = None

    def __post_init__(self) -> None:
        if not self.question_id or not self.text.strip():
            raise ParameterError("question", self.text or self.question_id, "an id and a text that are not empty")
        if len(self.text) > LONGEST_QUESTION:
            raise ParameterError("question", self.text, f"at most {LONGEST_QUESTION} characters")
        if len(self.options) > MOST_OPTIONS:
            raise ParameterError("options", len(self.options), f"at most {MOST_OPTIONS}")
        if self.kind is None:
            object.__setattr__(self, "kind", kind_of(self.gold, self.options))
        require_one_of("kind", self.kind, KINDS)
        if self.gold and not self.gold_label:
            raise ParameterError("gold", self.gold, f"an answer of kind {self.kind}", "Give kind, or correct gold or options.")

    @property
    def gold_label(self) -> str:
        """Canonical form of the right answer; "" where nobody knows it."""
        return canonical(self.gold, str(self.kind), self.options) if self.gold else ""


@dataclass(frozen=True, kw_only=True)
class Item:
    """A pair of answers to judge.

    Parameters
    ----------
    item_id : str
        Unique within a run.
    question, answer_a, answer_b : str
        What was asked, and the two answers.
    label : {"A", "B", "tie", ""}
        What humans say; "" where nobody knows.
    """

    item_id: str
    question: str
    answer_a: str
    answer_b: str
    label: str = ""

    def __post_init__(self) -> None:
        for field in ("item_id", "question", "answer_a", "answer_b"):
            value = getattr(self, field)
            if not value.strip() or len(value) > LONGEST_QUESTION:
                raise ParameterError(field, value, f"a text of 1 to {LONGEST_QUESTION} characters")
        require_one_of("label", self.label, ("A", "B", "tie", ""))

    @property
    def question_id(self) -> str:
        """The item's id, under the name that both families share."""
        return self.item_id


def digest(questions: Sequence[Question] | Sequence[Item]) -> str:
    """Fingerprint of what is asked, in order."""
    rows = [sorted(vars(question).items()) for question in questions]
    return sha256(json.dumps(rows).encode("utf-8", "surrogatepass")).hexdigest()
