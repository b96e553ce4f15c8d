r"""When a judging debate stops, from the gaps of the rounds held so far.

* :class:`GapStable`: the last ``window`` gaps lie within ``epsilon`` of each other ("the score difference has stabilised", D3).
* :class:`SignAgreement`: the last ``run`` gaps have the same sign (SAMRE of 2024: two equal signs in a row). With independent signs
  that are right with probability p and no cap, :math:`P = p^2 (2 - p)/(1 - p + p^2)` and :math:`E[T] = (2 + p - p^2)/(1 - p + p^2)`.
* :class:`LeadBy`: one side leads by n signs; the best rule for independent signs of known p.
* :class:`ReleasedCode`: what the published code does, faults included.
* :class:`.TokenBudget` (of :mod:`adjourn.model.stopping`) and :class:`.FixedRounds`.

Only :class:`ReleasedCode` and an unsigned :class:`GapStable` drop the sign of a gap. A round whose scores could not be read has no gap
(NaN): it breaks a window and a run. Comparisons allow a slack of 1e-9 for the rounding of whole points to fractions.

The rules are functions of plain arrays, so that the kernels compile these very functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..checks import require_count, require_positive, require_range
from ..stopping import FixedRounds, TokenBudget
from .gaps import RUBRIC_POINTS

__all__ = [
    "FixedRounds",
    "GapStable",
    "JudgingStop",
    "JudgingStopReason",
    "LeadBy",
    "ReleasedCode",
    "SignAgreement",
    "TokenBudget",
    "fires",
    "gap_stable",
    "lead_by",
    "released_code",
    "sign_agreement",
]

SLACK = 1e-9
MOST_ROUNDS = 64


class JudgingStopReason(StrEnum):
    """Why a trajectory ended."""

    SCORED = "scored"  # all calls were planned from the start; nothing could stop
    STABLE_GAP = "stable_gap"
    SIGN_AGREEMENT = "sign_agreement"
    LEAD = "lead"
    RELEASED_CODE = "released_code"
    AGREEMENT = "agreement"  # the agents of a discussion agreed
    TOKEN_BUDGET = "token_budget"
    ROUND_LIMIT = "round_limit"


def gap_stable(gaps: Any, held: int, epsilon: float, window: int, min_rounds: int, signed: bool) -> bool:
    """Whether the last ``window`` of ``held`` gaps lie within ``epsilon`` of each other (of their sizes, where not signed)."""
    if held < min_rounds or held < window:
        return False
    low = math.inf
    high = -math.inf
    for r in range(held - window, held):
        gap = gaps[r]
        if math.isnan(gap):
            return False
        if not signed and gap < 0:
            gap = -gap
        low = min(low, gap)
        high = max(high, gap)
    return bool(high - low <= epsilon + SLACK)


def sign_agreement(gaps: Any, held: int, run: int) -> bool:
    """Whether the last ``run`` of ``held`` gaps are all positive or all negative."""
    if held < run:
        return False
    plus = 0
    minus = 0
    for r in range(held - run, held):
        if gaps[r] > 0:
            plus += 1
        elif gaps[r] < 0:
            minus += 1
    return plus == run or minus == run


def lead_by(gaps: Any, held: int, lead: int) -> bool:
    """Whether positive and negative gaps differ in number by ``lead`` or more."""
    ahead = 0
    for r in range(held):
        if gaps[r] > 0:
            ahead += 1
        elif gaps[r] < 0:
            ahead -= 1
    return ahead >= lead or -ahead >= lead


def released_code(gaps: Any, held: int, epsilon: float, window: int, min_rounds: int) -> bool:
    """Convergence check of the published code: sizes of the last gaps, within epsilon and not strictly monotone.

    A gap that could not be read counts as 0, since the code stores (0, 0) for a failed parse.
    """
    if held < min_rounds or held < window:
        return False
    low = math.inf
    high = -math.inf
    rises = 0
    falls = 0
    before = 0.0
    for r in range(held - window, held):
        gap = gaps[r]
        size = 0.0 if math.isnan(gap) else abs(gap)
        if r > held - window:
            if size > before + SLACK:
                rises += 1
            elif size < before - SLACK:
                falls += 1
        low = min(low, size)
        high = max(high, size)
        before = size
    steps = window - 1
    monotone = steps > 0 and (rises == steps or falls == steps)
    return high - low < epsilon - SLACK and not monotone


@dataclass(frozen=True)
class GapStable:
    """Stop when the last ``window`` gaps lie within ``epsilon`` of each other.

    Parameters
    ----------
    epsilon : float
        On the scale of the gap: 1 is the largest possible gap of a bounded law (114 points of a rubric).
    window : int
        Rounds compared, at least 2.
    min_rounds : int
        No stop before this round.
    signed : bool
        False compares sizes, so that a winner that flips can look stable.
    """

    epsilon: float = 5 / RUBRIC_POINTS
    window: int = 2
    min_rounds: int = 2
    signed: bool = True

    def __post_init__(self) -> None:
        require_range("epsilon", self.epsilon, 0, 100)
        require_count("window", self.window, 2, MOST_ROUNDS)
        require_count("min_rounds", self.min_rounds, 1, MOST_ROUNDS)

    def fires(self, gaps: Sequence[float]) -> bool:
        """Whether the debate stops after these rounds."""
        return gap_stable(gaps, len(gaps), self.epsilon, self.window, self.min_rounds, self.signed)


@dataclass(frozen=True)
class SignAgreement:
    """Stop when the last ``run`` gaps have the same sign."""

    run: int = 2

    def __post_init__(self) -> None:
        require_count("run", self.run, 1, MOST_ROUNDS)

    def fires(self, gaps: Sequence[float]) -> bool:
        """Whether the debate stops after these rounds."""
        return sign_agreement(gaps, len(gaps), self.run)


@dataclass(frozen=True)
class LeadBy:
    """Stop when one side leads by ``lead`` signs."""

    lead: int = 2

    def __post_init__(self) -> None:
        require_count("lead", self.lead, 1, MOST_ROUNDS)

    def fires(self, gaps: Sequence[float]) -> bool:
        """Whether the debate stops after these rounds."""
        return lead_by(gaps, len(gaps), self.lead)


@dataclass(frozen=True)
class ReleasedCode:
    """The stopping rule of D3's published code, its faults reproduced.

    Faults: it works on the size of the gap, so a winner that flips every round converges; it needs three rounds, so nothing stops by
    round 2; a failed parse is stored as (0, 0), so three failures converge; it records zero tokens a round, so its token budget never
    binds.

    Parameters
    ----------
    epsilon : float
        Points of the summed score; 3 is the code's default, 5 is what its callers pass.
    window, min_rounds : int
        3 and 3 in the code.
    max_tokens : int
        The budget that never binds (10,000 in the code).
    points : float
        Points of a gap of 1: 114 for two sums of six criteria from 1 to 20.
    parse_failure : float
        Probability that a judge's scores cannot be read.
    """

    epsilon: float = 5.0
    window: int = 3
    min_rounds: int = 3
    max_tokens: int = 10_000
    points: float = RUBRIC_POINTS
    parse_failure: float = 0.0

    def __post_init__(self) -> None:
        require_range("epsilon", self.epsilon, 0, 1e4)
        require_count("window", self.window, 1, MOST_ROUNDS)
        require_count("min_rounds", self.min_rounds, 1, MOST_ROUNDS)
        require_count("max_tokens", self.max_tokens, 1, 10**9)
        require_positive("points", self.points, high=1e6)
        require_range("parse_failure", self.parse_failure, 0, 1)

    def fires(self, gaps: Sequence[float]) -> bool:
        """Whether the debate stops after these rounds; the token budget is not asked, since the code counts no tokens."""
        return released_code(gaps, len(gaps), self.epsilon / self.points, self.window, self.min_rounds)

    def converged(self, scores: Sequence[tuple[float, float] | None]) -> bool:
        """Apply the code's check to pairs of scores as the judge gave them (None: a failed parse)."""
        pairs = [(0.0, 0.0) if pair is None else pair for pair in scores]
        return self.fires([(a - b) / self.points for a, b in pairs])


JudgingStop = GapStable | SignAgreement | LeadBy | ReleasedCode | TokenBudget | FixedRounds

REASONS: dict[type, JudgingStopReason] = {
    GapStable: JudgingStopReason.STABLE_GAP,
    SignAgreement: JudgingStopReason.SIGN_AGREEMENT,
    LeadBy: JudgingStopReason.LEAD,
    ReleasedCode: JudgingStopReason.RELEASED_CODE,
}
"""What a rule that fired is called."""


def fires(stop: JudgingStop, gaps: Sequence[float]) -> bool:
    """Whether a rule that looks at gaps stops the debate after these rounds."""
    return not isinstance(stop, (TokenBudget, FixedRounds)) and stop.fires(gaps)
