r"""The choice among designs: what is wanted, and which design that makes.

A design is affordable where P(total money > budget) <= risk. Climb from the cheapest affordable design: a dearer one takes the place of
the present one where it gains more than ``tolerance`` in expected accuracy and is better in at least the share ``confidence`` of the
draws. Money is thus not spent on a gain that the pilot and the borrowed parameters leave in doubt. Last, a cheaper design within
``tolerance`` of where the climb ended is preferred.

With a target accuracy, the cheapest affordable design that is expected to reach it is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..model.checks import require_count, require_positive, require_range

__all__ = ["Request", "choose"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is wanted.

    Parameters
    ----------
    items : int
        Questions to answer.
    budget_usd : float
        Money for all of them.
    target_accuracy : float or None
        Accuracy to reach, if that matters more than the best accuracy for the money.
    risk : float
        Largest acceptable P(over budget).
    tolerance : float
        Accuracy that one is ready to give up for a cheaper design (0.002: two questions in a thousand).
    confidence : float
        Share of the draws in which a dearer design must be better to be worth its money.
    draws : int
        Bootstrap draws.
    seed : int
        Of the bootstrap.
    """

    items: int
    budget_usd: float
    target_accuracy: float | None = None
    risk: float = 0.05
    tolerance: float = 0.002
    confidence: float = 0.8
    draws: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        require_count("--items", self.items, 1, 10**9)
        require_positive("--budget-usd", self.budget_usd, high=1e12, low=1e-9)
        if self.target_accuracy is not None:
            require_range("--target-accuracy", self.target_accuracy, 0, 1)
        require_range("--risk", self.risk, 0, 1)
        require_range("--tolerance", self.tolerance, 0, 1)
        require_range("--confidence", self.confidence, 0, 1)
        require_count("--draws", self.draws, 20, 100_000)
        require_count("--seed", self.seed, 0, 2**63)


def choose(accuracy: Floats, usd: Floats, affordable: Bools, request: Request) -> tuple[int, bool | None]:
    """Choose a design.

    Parameters
    ----------
    accuracy : ndarray, shape (draws + 1, D)
        Accuracy that counts; row 0 is the point estimate, the other rows are draws (there may be none).
    usd : ndarray, shape (D,)
        Expected money of a question.
    affordable : ndarray of bool, shape (D,)
        At least one is true.
    request : Request
        Target, tolerance and confidence.

    Returns
    -------
    index : int
        The design to run.
    target_met : bool or None
        Whether it is expected to reach the target; None without a target.
    """
    point = accuracy[0]
    order = sorted((int(d) for d in np.flatnonzero(affordable)), key=lambda d: (usd[d], -point[d]))
    if request.target_accuracy is not None:
        for d in order:
            if point[d] >= request.target_accuracy:
                return d, True
    current = order[0]
    for d in order[1:]:
        if point[d] > point[current] + request.tolerance and _better_share(accuracy, d, current) >= request.confidence:
            current = d
    cheapest = next(d for d in order if d == current or point[d] >= point[current] - request.tolerance)
    return cheapest, None if request.target_accuracy is None else False


def _better_share(accuracy: Floats, d: int, e: int) -> float:
    """Share of the draws in which design d is more accurate than e; 1 where there are no draws."""
    return float((accuracy[1:, d] > accuracy[1:, e]).mean()) if len(accuracy) > 1 else 1.0
