"""An answer source that reads its answers from a script, so that the reference engine can be asked what it does with given answers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from ..model.draws import Purpose

__all__ = ["Script"]


@dataclass(frozen=True)
class Script:
    """Answers of one question, written down.

    Parameters
    ----------
    chains : sequence of answers
        Independent answers in order; the label 0 is right.
    rounds : sequence of sequence of answers
        Answers of round 1, 2, ...; the last one is repeated where more are asked for.
    h, d : sequence of float
        Step signals of the candidate.
    """

    chains: Sequence[Hashable]
    rounds: Sequence[Sequence[Hashable]] = ()
    h: Sequence[float] = (1.0,)
    d: Sequence[float] = (1.0,)

    @property
    def steps(self) -> int:
        """Number of steps of a solution."""
        return len(self.h)

    def sample(self, index: int) -> Hashable:
        """Independent answer number ``index``."""
        return self.chains[index]

    def signals(self, candidate: Hashable) -> tuple[Sequence[float], Sequence[float]]:
        """Signals as written."""
        return self.h, self.d

    def oracle_tier(self) -> int:
        """Return the largest tier."""
        return -1

    def confidence(self, round_: int, agent: int, answer: Hashable) -> int:
        """Return the same confidence for everybody."""
        return 8

    def respond(self, round_: int, answers: Sequence[Hashable], candidate: Hashable, target: int | None) -> list[Hashable]:
        """Answers of the round, cut to the panel's size."""
        written = self.rounds[min(round_, len(self.rounds)) - 1]
        return list(written[: len(answers)])

    def fair(self, purpose: Purpose) -> float:
        """Return the first of tied answers."""
        return 0.25

    def is_right(self, answer: Hashable) -> bool:
        """Whether the label is 0."""
        return answer == 0
