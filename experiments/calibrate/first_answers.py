r"""The independent answers of each question, and which of them may be counted.

The first round of a log (round 0, or round 1 where there is no round 0) holds independent answers. Where every question has the
same agents, or where missing agents are missing at random, all are used. But a log may have stopped asking once the first agents
agreed: then a question's last answers exist *because* the earlier ones differed, and shares over all of them are biased. This is
looked for: let L be a number of agents; among the questions that hold agents 1..L, the dominant share of these L answers is
compared between questions that go on and questions that end there (:func:`is_informative`). Where it matters, only the longest
prefix of agents that nearly all questions hold is used.

Of a question's answers only (n, k, wrong clusters) matters: n answers, k of them right (one cluster, however spelt), and the sizes
of the clusters of equal wrong answers. An abstention is a wrong answer that coincides with nobody's.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...model.errors import FileFormatError
from ..logs.columns import MISSING, ReasoningLog

__all__ = ["FirstAnswers", "first_answers", "is_informative"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NEARLY_ALL = (0.9, 0.75, 0.5)
"""Share of questions that must hold a prefix of agents for it to be used; the next where no prefix of two agents reaches one."""

_COMPARABLE = 3
"""More agents than this times the answers of a question: then the questions do not share agents."""

_Z = 3.0
"""Standard errors at which ending there is taken to depend on the answers (two-sided false-alarm rate .0027 for each length)."""


@dataclass(frozen=True)
class FirstAnswers:
    """Independent answers, question by question.

    Attributes
    ----------
    round : int
        Round of the log that they stand in.
    question : ndarray of int, shape (questions,)
        Codes of the questions used.
    size, right, largest, abstained : ndarray of int, shape (questions,)
        n, k, size of the largest cluster of equal wrong answers, and abstentions.
    clusters : tuple of tuple of int
        Sizes of the wrong clusters of each question, descending; abstentions are clusters of 1.
    left_out : int
        Questions that lack one of the agents of the prefix used.
    prefix : tuple of str
        Agents used where only a prefix is; else empty.
    """

    round: int
    question: Ints
    size: Ints
    right: Ints
    largest: Ints
    abstained: Ints
    clusters: tuple[tuple[int, ...], ...]
    left_out: int = 0
    prefix: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.question)

    @property
    def informed(self) -> int:
        """Number of questions with two wrong answers or more: those that tell how far wrong answers agree."""
        return int((self.size - self.right >= 2).sum())

    @property
    def repeated(self) -> int:
        """Number of questions with two answers or more: those that tell how difficulty spreads."""
        return int((self.size >= 2).sum())

    @property
    def accuracy(self) -> float:
        """Mean over questions of the share of right answers."""
        return float(np.mean(self.right / self.size))


def first_answers(log: ReasoningLog) -> FirstAnswers:
    """Gather the independent answers that may be counted.

    Raises
    ------
    FileFormatError
        If no question holds an answer in the first round.
    """
    first = log.rounds[0]
    rows = np.flatnonzero(log.round == first)
    place, agents = _places(log, rows)
    held = np.full((len(log.questions), len(agents)), -1, dtype=np.int64)
    held[log.question[rows], place] = rows
    present = held >= 0
    keep = np.asarray(present.any(axis=1))
    prefix = 0
    if is_informative(present, _dominant_shares(log, held)):
        prefix = _longest_prefix(present)
        keep = np.asarray(present[:, :prefix].all(axis=1))
        held = np.where(np.arange(held.shape[1]) < prefix, held, -1)
    if not keep.any():
        raise FileFormatError(log.path, f"no question has answers of its first agents in round {first}, the first of the log.")
    return _tally(log, first, held, keep, agents[:prefix])


def _places(log: ReasoningLog, rows: Ints) -> tuple[Ints, tuple[str, ...]]:
    """Column of each row's agent, and the columns' names: agents, or places within a question where each question has agents of its own."""
    order = np.lexsort((log.agent[rows], log.question[rows]))
    _, first, size = np.unique(log.question[rows][order], return_index=True, return_counts=True)
    if len(log.agents) <= _COMPARABLE * size.max():
        return log.agent[rows], log.agents
    place = np.empty(len(rows), dtype=np.int64)
    place[order] = np.arange(len(rows)) - np.repeat(first, size)
    return place, tuple(f"number {k + 1} of a question" for k in range(int(size.max())))


def _dominant_shares(log: ReasoningLog, held: Ints) -> Floats:
    """Share of the largest cluster among the first L agents' answers, for each question and L; shape (questions, agents)."""
    shares = np.zeros(held.shape)
    for question, rows in enumerate(held):
        counts: Counter[int] = Counter()
        top = 0
        for position, row in enumerate(rows):
            if row < 0:
                break
            label = -2 if log.right[row] else int(log.answer[row])
            label = -10 - position if label == MISSING else label
            counts[label] += 1
            top = max(top, counts[label])
            shares[question, position] = top / (position + 1)
    return shares


def is_informative(present: npt.NDArray[np.bool_], shares: Floats) -> bool:
    """Whether a question's number of answers depends on how far its first answers agree.

    Parameters
    ----------
    present : ndarray of bool, shape (questions, agents)
        Who answered, agents in order.
    shares : ndarray of float, shape (questions, agents)
        Dominant share of the first 1, 2, ... agents' answers.

    Notes
    -----
    For each prefix of 2 agents or more that ends some questions and not others, the two groups' mean dominant shares are compared by
    Welch's z (with one pseudo-observation at each end for the variance, so that unanimous groups have one).
    """
    if present.all():
        return False
    whole = np.logical_and.accumulate(present, axis=1)
    for length in range(2, present.shape[1]):
        asked = whole[:, length - 1]
        on = asked & present[:, length:].any(axis=1)
        off = asked & ~on
        if min(on.sum(), off.sum()) < 3:
            continue
        a, b = shares[on, length - 1], shares[off, length - 1]
        error = math.sqrt(_variance(a, length) / len(a) + _variance(b, length) / len(b))
        if abs(a.mean() - b.mean()) > _Z * error:
            return True
    return False


def _variance(shares: Floats, length: int) -> float:
    return float(np.var(np.concatenate([shares, [1 / length, 1.0]])))


def _longest_prefix(present: npt.NDArray[np.bool_]) -> int:
    coverage = np.logical_and.accumulate(present, axis=1).sum(axis=0)
    longest = 1
    for share in NEARLY_ALL:
        enough = np.flatnonzero(coverage >= share * present.any(axis=1).sum())
        longest = int(enough[-1]) + 1 if len(enough) else 1
        if longest > 1:
            break
    return longest


def _tally(log: ReasoningLog, first: int, held: Ints, keep: npt.NDArray[np.bool_], prefix: tuple[str, ...]) -> FirstAnswers:
    questions = np.flatnonzero(keep)
    size, right, abstained, clusters = [], [], [], []
    for rows in held[questions]:
        rows = rows[rows >= 0]
        wrong = log.answer[rows][~log.right[rows]]
        silent = int((wrong == MISSING).sum())
        counts = sorted(Counter(wrong[wrong != MISSING].tolist()).values(), reverse=True)
        size.append(len(rows))
        right.append(len(rows) - len(wrong))
        abstained.append(silent)
        clusters.append((*counts, *[1] * silent))
    return FirstAnswers(
        round=first,
        question=questions,
        size=np.array(size),
        right=np.array(right),
        largest=np.array([c[0] if c else 0 for c in clusters]),
        abstained=np.array(abstained),
        clusters=tuple(clusters),
        left_out=int((held.shape[0]) - len(questions)),
        prefix=prefix,
    )
