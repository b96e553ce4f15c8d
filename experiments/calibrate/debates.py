r"""What the log's own debates were worth: the final decision against a vote on the same first answers.

Of each question the first round's answers are put to a plurality vote, and so are its last round's (of those agents that spoke in
it); ties count by the chance of a fair draw, abstentions cast no vote. The difference is taken question by question (a question
whose debate ended at once contributes 0), and its interval is normal over questions: mean and 1.96 standard errors of paired
differences.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ...model.result import Estimate, from_moments
from ..logs.columns import MISSING, ReasoningLog
from .moves import RIGHT

__all__ = ["DebateValue", "debate_value"]


@dataclass(frozen=True)
class DebateValue:
    """Debate against vote, over questions.

    Attributes
    ----------
    questions, debated : int
        Questions of the log; those with more than one round.
    vote, decision : Estimate
        Accuracy of the vote on the first answers and of the last round's.
    difference : Estimate
        Decision minus vote, paired.
    difference_debated : Estimate
        The same over the questions that were debated.
    """

    questions: int
    debated: int
    vote: Estimate
    decision: Estimate
    difference: Estimate
    difference_debated: Estimate


def debate_value(log: ReasoningLog) -> DebateValue:
    """Compare the log's debates with votes on their first answers."""
    label = np.where(log.right, RIGHT, log.answer)
    votes: list[dict[int, Counter[int]]] = [{} for _ in log.questions]
    for question, round_, answer in zip(log.question.tolist(), log.round.tolist(), label.tolist(), strict=True):
        votes[question].setdefault(round_, Counter())[answer] += 1
    before = np.array([_plurality_right(v[min(v)]) for v in votes])
    after = np.array([_plurality_right(v[max(v)]) for v in votes])
    debated = np.array([len(v) > 1 for v in votes])
    return DebateValue(len(votes), int(debated.sum()), _mean(before), _mean(after), _mean(after - before), _mean((after - before)[debated]))


def _plurality_right(votes: Counter[int]) -> float:
    votes = Counter({answer: count for answer, count in votes.items() if answer != MISSING})
    top = max(votes.values(), default=0)
    return float(votes[RIGHT] == top) / sum(count == top for count in votes.values()) if top else 0.0


def _mean(values: np.ndarray) -> Estimate:
    return from_moments(float(values.sum()), float((values**2).sum()), len(values))
