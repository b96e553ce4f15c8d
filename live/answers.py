r"""Which answer a text gives, and which answers mean the same.

An answer is read from the line "Answer: ..." (the last one), else, for numbers, from the last number of the text. Rules come first:

* a number becomes an exact rational in lowest terms ("1,200.50 dollars", "1200.5" and "2401/2" are one answer);
* an option becomes its letter, also where its text is given instead;
* other text is folded (case, punctuation, articles) and compared whole.

Only texts are then compared by a similarity in [0, 1]: an answer joins the earliest cluster whose first member is at least ``threshold``
like it. Labels are the first member's canonical form, so that equal labels mean the same answer. A text without an answer is an
abstention; no two abstentions are the same answer, and none is right.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction

from ..model.deciding import Abstention
from .text import clean

__all__ = [
    "KINDS",
    "Abstention",
    "Clusters",
    "Reading",
    "Similarity",
    "canonical",
    "kind_of",
    "read_answer",
    "read_confidence",
    "token_overlap",
]

KINDS = ("number", "option", "text")

Similarity = Callable[[str, str], float]
"""How alike two texts are, 0 to 1."""

_ANSWER = re.compile(r"^[ \t>*_#]*(?:final\s+)?answer[ \t*_]*(?:is|:|=)[ \t*_]*(.*)$", re.IGNORECASE | re.MULTILINE)
_IN_LINE = re.compile(r"\banswer\s*(?:is|:|=)\s*(.{1,200})", re.IGNORECASE)
_CONFIDENCE = re.compile(r"\bconfidence[ \t*_]*(?:is|:|=)[ \t*_]*([0-9]{1,3})(?![0-9.])", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?(?:\s*/\s*[0-9]+(?:\.[0-9]+)?)?|[-+]?\.[0-9]+")
_OPTION = re.compile(r"^\W*(?:option\s+)?([A-Za-z])(?:\s*[).:\],;*]|\W*$)", re.IGNORECASE)
_LONGEST_ANSWER = 200


@dataclass(frozen=True)
class Reading:
    """What a call said.

    Parameters
    ----------
    label : str or Abstention
        Cluster of its answer.
    answer : str
        The answer as written, cleaned; "" for an abstention.
    confidence : int or None
        Stated confidence, 1 to 10, where it states one.
    text : str
        The whole text, cleaned.
    """

    label: Hashable
    answer: str
    confidence: int | None
    text: str


def kind_of(gold: str, options: tuple[str, ...]) -> str:
    """Kind of a question's answers: options where there are some, a number where the known answer is one, else text."""
    if options:
        return "option"
    return "number" if _as_number(gold) is not None else "text"


def read_answer(text: str, kind: str) -> str:
    """Answer that a text gives, cleaned and on one line; "" if it gives none."""
    plain = clean(text)
    found = _ANSWER.findall(plain) or _IN_LINE.findall(plain)
    answer = " ".join(found[-1].split()).strip(" *_\"'`")[:_LONGEST_ANSWER] if found else ""
    if kind == "number" and not _NUMBER.search(answer):
        numbers = _NUMBER.findall(_CONFIDENCE.sub("", plain))
        return numbers[-1] if numbers else ""
    return answer


def read_confidence(text: str) -> int | None:
    """Stated confidence from 1 to 10; None where none is stated, or none in that range."""
    found = _CONFIDENCE.findall(clean(text))
    value = int(found[-1]) if found else 0
    return value if 1 <= value <= 10 else None


def canonical(answer: str, kind: str, options: tuple[str, ...] = ()) -> str:
    """Canonical form of an answer by the rules of its kind; "" if it is no answer of that kind."""
    if kind == "number":
        number = _as_number(answer)
        return "" if number is None else str(number)
    if kind == "option":
        return _as_option(answer, options)
    return _folded(answer)


def _as_number(answer: str) -> Fraction | None:
    match = _NUMBER.search(answer)
    if not match or len(match[0]) > 60:
        return None
    top, _, bottom = match[0].replace(",", "").replace(" ", "").partition("/")
    try:
        return Fraction(top) / Fraction(bottom or "1")
    except (ValueError, ZeroDivisionError):
        return None


def _as_option(answer: str, options: tuple[str, ...]) -> str:
    folded = _folded(answer)
    same = [index for index, option in enumerate(options) if folded and _folded(option) == folded]
    if len(same) == 1:
        return chr(ord("A") + same[0])
    match = _OPTION.match(answer)
    letter = match[1].upper() if match else ""
    return letter if letter and (not options or ord(letter) - ord("A") < len(options)) else ""


def _folded(answer: str) -> str:
    plain = unicodedata.normalize("NFKC", answer).casefold()
    words = re.sub(r"[^\w\s.%/-]", " ", plain).split()
    words = [word.strip(".-") for word in words]
    return " ".join(word for word in words if word and word not in ("a", "an", "the"))


def token_overlap(one: str, other: str) -> float:
    """Jaccard similarity of the sets of words."""
    first, second = set(_folded(one).split()), set(_folded(other).split())
    return len(first & second) / len(first | second) if first or second else 0.0


@dataclass
class Clusters:
    """Clusters of the answers to one question, built as the answers come.

    Parameters
    ----------
    kind : {"number", "option", "text"}
        Rules to apply.
    options : tuple of str
        Texts of the options.
    similarity : Similarity
        Compares texts that the rules leave apart.
    threshold : float
        Similarity from which two texts are one answer; above 1 leaves it to the rules.
    """

    kind: str
    options: tuple[str, ...] = ()
    similarity: Similarity = token_overlap
    threshold: float = 0.8
    labels: list[str] = field(default_factory=list)

    def label(self, answer: str) -> str:
        """Label of an answer, a new one where no cluster fits; "" for no answer."""
        form = canonical(answer, self.kind, self.options)
        if not form or form in self.labels:
            return form
        if self.kind == "text":
            for known in self.labels:
                if self.similarity(form, known) >= self.threshold:
                    return known
        self.labels.append(form)
        return form

    def read(self, call: str, text: str) -> Reading:
        """Read a text and put its answer into a cluster."""
        answer = read_answer(text, self.kind)
        label = self.label(answer)
        return Reading(label or Abstention(call), answer if label else "", read_confidence(text), clean(text))
