r"""When to stop sampling, and when to stop debating.

Sampling stops look at the chains as they come:

* :class:`AdaptiveConsistency`: stop when P(Beta(v1 + 1, v2 + 1) > 1/2) >= level on the two largest counts v1 >= v2 (Aggarwal et al.
  2023). With n = v1 + v2 + 1 that probability is :math:`2^{-n} \sum_{k \le v1} \binom{n}{k}`, so the comparison is one of integers.
* :class:`Window`: disjoint blocks of w answers; stop at a unanimous one (ESC, Li et al. 2024).

Round stops look at the dominant share C(r) = k_r / N after round r:

* :class:`StableConsensus`: C(r) >= tau_c and |C(r) - C(r-1)| <= epsilon (UAAD, termination), in integers.
* :class:`FixedRounds`: never before the last round. :class:`TokenBudget`: after the round that reaches a budget of tokens.

Every trajectory ends with a :class:`StopReason`. Precedence: stable consensus is looked at first, also after the last round (the
weighted vote needs to know it); a panel of one agent has no consensus; then the token budget; then the limit of rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from math import comb

import numpy as np
import numpy.typing as npt

from .checks import require_count, require_one_of
from .thresholds import RationalLike, as_fraction, largest_change, smallest_count

__all__ = [
    "AdaptiveConsistency",
    "FixedRounds",
    "RoundStop",
    "SamplingStop",
    "StableConsensus",
    "StopReason",
    "TokenBudget",
    "Window",
]


class StopReason(StrEnum):
    """Why a trajectory ended."""

    CONSENSUS = "consensus"  # stable consensus was reached
    ROUND_LIMIT = "round_limit"  # the tier's rounds were used up
    TOKEN_BUDGET = "token_budget"  # the debate's token budget was reached
    CONFIDENT = "confident"  # the gate let the single chain stand
    SAMPLE_LIMIT = "sample_limit"  # no debate; all chains were drawn
    SAMPLING_STOP = "sampling_stop"  # no debate; the chains agreed early


@dataclass(frozen=True)
class AdaptiveConsistency:
    """Stop sampling when the leading answer is beyond doubt at a level.

    Parameters
    ----------
    level : rational
        From 0 to 1; published default 0.95. Up to 3/4 one chain is enough, at 1 sampling never ends early.
    """

    level: RationalLike = Fraction(95, 100)

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", as_fraction(self.level, "level"))

    def sure(self, first: int, second: int) -> bool:
        """Whether P(Beta(first + 1, second + 1) > 1/2) >= level."""
        return _sure(first, second, Fraction(self.level))

    def table(self, most: int) -> npt.NDArray[np.bool_]:
        """``sure`` for all pairs of counts up to ``most``; shape (most + 1, most + 1), indexed [first, second]."""
        return np.array([[self.sure(v1, v2) for v2 in range(most + 1)] for v1 in range(most + 1)])


@lru_cache(maxsize=65536)
def _sure(first: int, second: int, level: Fraction) -> bool:
    n = first + second + 1
    tail = sum(comb(n, k) for k in range(first + 1))
    return tail * level.denominator >= level.numerator << n


@dataclass(frozen=True)
class Window:
    """Stop sampling at the first unanimous one of disjoint blocks of answers (ESC).

    Parameters
    ----------
    window : int
        Length of a block, 1 to 64; published default 5.
    """

    window: int = 5

    def __post_init__(self) -> None:
        require_count("window", self.window, 1, 64)


SamplingStop = AdaptiveConsistency | Window


@dataclass(frozen=True)
class StableConsensus:
    """Stop at a dominant share of at least tau_c that moved by at most epsilon (UAAD).

    Parameters
    ----------
    tau_c, epsilon : rational
        From 0 to 1; read as exact rationals.
    same_leader : bool
        Also ask that the same single largest cluster leads in both rounds (the published rule does not look).
    first_share : {"agents", "chains", "none"}
        What C(0) is for inherited answers: the share among the N agents, the share among the M chains, or nothing (no stop after
        round 1). Protocols with fresh first answers have no C(0).
    """

    tau_c: RationalLike = Fraction(4, 5)
    epsilon: RationalLike = Fraction(1, 20)
    same_leader: bool = False
    first_share: str = "agents"

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau_c", as_fraction(self.tau_c, "tau_c"))
        object.__setattr__(self, "epsilon", as_fraction(self.epsilon, "epsilon"))
        require_one_of("first_share", self.first_share, ("agents", "chains", "none"))

    def table(self, agents: int, before: int | None = None) -> npt.NDArray[np.bool_]:
        """Whether the rule fires, by dominant counts.

        Parameters
        ----------
        agents : int
            N. A panel of one never fires.
        before : int, optional
            Denominator of the earlier share where it is not N (the number of chains, for ``first_share="chains"``).

        Returns
        -------
        ndarray of bool, shape (before + 1, N + 1)
            Entry [k', k]: dominant count k' (of ``before``) earlier and k (of N) now. Row and column 0 are false.
        """
        tau, epsilon = Fraction(self.tau_c), Fraction(self.epsilon)
        earlier = agents if before is None else before
        need = smallest_count(tau, agents)
        change = largest_change(epsilon, agents * earlier)
        table = np.zeros((earlier + 1, agents + 1), dtype=np.bool_)
        if agents > 1:
            for k_before in range(1, earlier + 1):
                for k in range(max(need, 1), agents + 1):
                    table[k_before, k] = abs(k * earlier - k_before * agents) <= change
        return table


@dataclass(frozen=True)
class FixedRounds:
    """Never stop before the tier's last round."""


@dataclass(frozen=True)
class TokenBudget:
    """Stop after the round in which the debate's expected tokens (prompt and completion) reach a budget.

    Parameters
    ----------
    tokens : int
        Budget for the debate calls of one question.
    """

    tokens: int = 10_000

    def __post_init__(self) -> None:
        require_count("tokens", self.tokens, 1, 10**9)

    def last_round(self, round_tokens: Callable[[int], float], rounds: int) -> tuple[int, bool]:
        """Last round (from 1) of a tier of ``rounds`` rounds, and whether it is the budget that ends it there."""
        total = 0.0
        for r in range(1, rounds + 1):
            total += round_tokens(r)
            if total >= self.tokens:
                return r, True
        return rounds, False


RoundStop = StableConsensus | FixedRounds | TokenBudget
