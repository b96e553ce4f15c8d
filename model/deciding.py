r"""How the answers of a panel become one answer.

Plurality: the largest cluster. Weighted: each agent states a confidence from 1 to 10; the cluster with the largest sum wins. In both,
a tie goes to the candidate where it is among the tied, else to a fair draw among them. UAAD takes the weighted vote only after
confirmed stability, else plurality.

Confidence has one law for right and one for wrong answers (equal by default: public logs show no difference). It is an integer, so
that the exact law can enumerate the sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

from .checks import require_distribution
from .errors import ParameterError

Answer = TypeVar("Answer")

__all__ = ["VOTES", "Abstention", "ConfidenceLaw", "leaders", "winner"]

VOTES = ("plurality", "weighted_after_stability", "weighted")
"""Voting rules: the largest cluster; a weighted vote after confirmed stability, else plurality; always a weighted vote."""

_ASSUMED = (0.0, 0.0, 0.0, 0.02, 0.05, 0.08, 0.10, 0.25, 0.30, 0.20)


@dataclass(frozen=True)
class ConfidenceLaw:
    """P(stated confidence = 1..10) of a right and of a wrong answer.

    Parameters
    ----------
    right, wrong : tuple of float, length 10
        Probabilities. The default, one law for both, is our assumption: high values, as models state them.
    """

    right: tuple[float, ...] = _ASSUMED
    wrong: tuple[float, ...] = _ASSUMED

    def __post_init__(self) -> None:
        for field, law in (("confidence.right", self.right), ("confidence.wrong", self.wrong)):
            if len(law) != 10:
                raise ParameterError(field, law, "ten probabilities, of the values 1 to 10")
            require_distribution(field, law)

    def below(self, threshold: int, right: bool) -> float:
        """P(confidence < threshold)."""
        return cumulative(self.right if right else self.wrong)[threshold - 2] if threshold >= 2 else 0.0

    def at(self, u: float, right: bool) -> int:
        """Quantile: the confidence whose uniform number is u."""
        law = self.right if right else self.wrong
        for value, upto in enumerate(cumulative(law), start=1):
            if u < upto:
                return value
        return max(value for value, mass in enumerate(law, start=1) if mass > 0)


def cumulative(law: Sequence[float]) -> list[float]:
    """Return running sums of a law, in order; the last is forced to 1."""
    sums = list(accumulate(law))
    last = max(index for index, mass in enumerate(law) if mass > 0)
    return [value if index < last else 1.0 for index, value in enumerate(sums)]


@dataclass(frozen=True)
class Abstention:
    """No answer where one was asked for (recorded and live sources; the sampled source has none).

    It equals only itself, so it agrees with nobody, and it leads only where nobody answered.

    Parameters
    ----------
    where : str
        What tells it from every other abstention on the same question.
    """

    where: str


def leaders(weights: Mapping[Answer, int]) -> list[Answer]:
    """Answers of the largest weight, in order of first appearance; abstentions only where there is no answer."""
    answered = {answer: weight for answer, weight in weights.items() if not isinstance(answer, Abstention)} or weights
    top = max(answered.values())
    return [answer for answer, weight in answered.items() if weight == top]


def winner(weights: Mapping[Answer, int], candidate: Answer, tie_draw: float) -> Answer:
    """Answer of the largest weight; a tie goes to the candidate if it is tied, else to the fair draw.

    Parameters
    ----------
    weights : mapping
        Answer to votes, in order of first appearance among the agents.
    candidate : answer
        The protocol's candidate.
    tie_draw : float
        Uniform number in (0, 1): tied answer floor(tie_draw * number tied) wins.
    """
    tied = leaders(weights)
    if candidate in tied:
        return candidate
    return tied[int(tie_draw * len(tied))]
