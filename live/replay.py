"""Recorded answers, scores and votes behind the engines' sources: the decision on them is the decision that was taken."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from ..model.deciding import Abstention
from ..model.draws import Purpose
from ..model.errors import InputError
from ..model.judging.agreement import LABELS
from ..model.protocol import Protocol

__all__ = ["RecordedJudgingSource", "RecordedSource", "label_of"]


def label_of(value: Any) -> Hashable:
    """Label of an answer from its form in an audit trail."""
    return Abstention(value["abstained"]) if isinstance(value, Mapping) else value


class RecordedSource:
    """Answers of one question from its audit trail.

    Parameters
    ----------
    protocol : Protocol
        What was run.
    audit : mapping
        The trail.
    gold : str
        Label of the right answer; "" where nobody knows it.
    """

    def __init__(self, protocol: Protocol, audit: Mapping[str, Any], gold: str) -> None:
        self._protocol = protocol
        self._audit = audit
        self._gold = gold
        self._chains = [label_of(row["label"]) for row in audit["chains"]]

    def _said(self, round_: int, agent: int) -> Hashable:
        return label_of(self._audit["said"][f"{round_}/{agent}"]["label"])

    @property
    def steps(self) -> int:
        """Number of steps of the candidate's solution."""
        return int(self._audit["steps"])

    def sample(self, index: int) -> Hashable:
        """Give a recorded independent answer."""
        if index < len(self._chains):
            return self._chains[index]
        return self._said(1, index - (self._protocol.chains if self._protocol.initial == "fresh" else 0))

    def signals(self, candidate: Hashable) -> tuple[Sequence[float], Sequence[float]]:
        """Give the recorded signals."""
        return self._audit["signals"]["h"], self._audit["signals"]["d"]

    def oracle_tier(self) -> int:
        """Refuse: no record holds it."""
        raise InputError("no record holds the best tier of a question.")

    def confidence(self, round_: int, agent: int, answer: Hashable) -> int:
        """Give the recorded confidence, as the engine was told it."""
        return int(self._audit["confidence"][f"{round_}/{agent}"])

    def respond(self, round_: int, answers: Sequence[Hashable], candidate: Hashable, target: int | None) -> list[Hashable]:
        """Give the recorded answers of a round."""
        return [self._said(round_, agent) for agent in range(len(answers))]

    def fair(self, purpose: Purpose) -> float:
        """Give a recorded fair draw."""
        return float(self._audit["fair"][purpose.name])

    def is_right(self, answer: Hashable) -> bool:
        """Whether the label is the right answer's."""
        return bool(self._gold) and answer == self._gold


class RecordedJudgingSource:
    """Gaps and votes on one item from its audit trail.

    Parameters
    ----------
    audit : mapping
        The trail.
    """

    swapped = False

    def __init__(self, audit: Mapping[str, Any]) -> None:
        self._audit = audit

    def label(self) -> int:
        """Give the recorded human label."""
        return LABELS.index(self._audit["label"] or "tie")

    def gap(self, judge: int, call: int, a_first: bool, previous: float) -> float:
        """Give a recorded gap."""
        value = self._audit["gaps"][f"{judge}/{call}"]
        return math.nan if value is None else float(value)

    def opinion(self, agent: int, turn: int, a_first: bool) -> float:
        """Give a recorded gap of a discussion."""
        return self.gap(agent, turn, a_first, 0.0)

    def vote(self, juror: int, arguments: int, a_first: bool) -> int:
        """Give a recorded vote."""
        return int(self._audit["votes"][str(juror)])

    def fair(self, purpose: Purpose, slot: int) -> float:
        """Give a recorded fair draw."""
        return float(self._audit["fair"][f"{purpose.name}/{slot}"])
