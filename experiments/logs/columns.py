"""The two kinds of log as light columns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

__all__ = ["ABSTAINED", "MISSING", "JudgeLog", "ReasoningLog"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

MISSING = -1
"""Code of a missing answer: an abstention, which is a class of its own and coincides with nobody's answer."""

ABSTAINED = -9
"""Code of a missing verdict or label."""


@dataclass(frozen=True, kw_only=True)
class ReasoningLog:
    """Answers of agents to questions, one entry a message.

    Attributes
    ----------
    path : str
        File that was read.
    questions, agents, answers, models : tuple of str
        What the codes stand for. Agents are sorted (by number where all are numbers), questions stand in order of first appearance.
    numbered : bool
        Whether all agents are whole numbers.
    question, round, agent : ndarray of int, shape (messages,)
        Codes of the question and agent; the round as logged.
    answer : ndarray of int, shape (messages,)
        Code of the answer; ``MISSING`` for an abstention.
    right : ndarray of bool, shape (messages,)
        Whether the answer is right; False for an abstention.
    confidence, prompt_tokens, completion_tokens : ndarray of float, shape (messages,)
        NaN where the log does not say.
    model : ndarray of int, shape (messages,)
        Code of the model; -1 where the log does not say.
    line : ndarray of int, shape (messages,)
        Line of the file that the message starts on.
    extra_columns : tuple of str
        Columns that the file holds besides; they are not read.
    warnings : tuple of str
        What was passed over or decided while reading.
    """

    path: str
    questions: tuple[str, ...]
    agents: tuple[str, ...]
    answers: tuple[str, ...]
    models: tuple[str, ...]
    numbered: bool
    question: Ints
    round: Ints
    agent: Ints
    answer: Ints
    right: Bools
    confidence: Floats
    prompt_tokens: Floats
    completion_tokens: Floats
    model: Ints
    line: Ints
    extra_columns: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.question)

    @property
    def rounds(self) -> tuple[int, ...]:
        """Rounds that occur, ascending."""
        return tuple(int(r) for r in np.unique(self.round))


@dataclass(frozen=True, kw_only=True)
class JudgeLog:
    """Judgements of pairs of answers, one entry a call of a judge.

    Attributes
    ----------
    path : str
        File that was read.
    items, judges : tuple of str
        What the codes stand for.
    item, judge, round : ndarray of int, shape (messages,)
        Codes of the item and of the judge; the round as logged (0 where the log has none).
    repeat : ndarray of int, shape (messages,)
        Number, from 0, among the calls of the same judge on the same item, order and round.
    swapped : ndarray of bool, shape (messages,)
        True where answer B was shown first (order BA).
    score_a, score_b : ndarray of float, shape (messages,)
        Scores of the two answers (of the answers, not of the slots); NaN where the log does not say.
    verdict, label : ndarray of int, shape (messages,)
        1 for A, 0 for a tie, -1 for B; ``ABSTAINED`` where the log does not say. The verdict follows from the scores where the log
        holds only these.
    prompt_tokens, completion_tokens : ndarray of float, shape (messages,)
        NaN where the log does not say.
    line : ndarray of int, shape (messages,)
        Line of the file that the message starts on.
    extra_columns, warnings : tuple of str
        As in :class:`ReasoningLog`.
    """

    path: str
    items: tuple[str, ...]
    judges: tuple[str, ...]
    item: Ints
    judge: Ints
    round: Ints
    repeat: Ints
    swapped: Bools
    score_a: Floats
    score_b: Floats
    verdict: Ints
    label: Ints
    prompt_tokens: Floats
    completion_tokens: Floats
    line: Ints
    extra_columns: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.item)
