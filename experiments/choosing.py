r"""The choice among designs: what is wanted, which design that makes, and what would change the answer.

A design is affordable where P(total money > budget) <= risk. Climb from the cheapest affordable design: a dearer one takes the place of
the present one where it gains more than ``tolerance`` in expected accuracy and is better in at least the share ``confidence`` of the
draws. Money is thus not spent on a gain that the pilot and the borrowed parameters leave in doubt. Last, a cheaper design within
``tolerance`` of where the climb ended is preferred.

With a target accuracy, the cheapest affordable design that is expected to reach it is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..model import Copying, ParameterError, Population
from ..model.checks import require_count, require_positive, require_range
from ..model.cost import Price
from .study import Study, assess, with_auroc

__all__ = ["AUROCS", "Request", "choose", "find_flips"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

AUROCS = (0.5, 0.6, 0.75, 0.9)
BUDGET_FACTORS = (0.1, 0.25, 0.5, 2.0, 4.0, 10.0)
LAMBDAS = tuple(round(-1.0 + 0.25 * k, 2) for k in range(17))


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


def find_flips(
    study: Study, robust: Floats, chosen: int, affordable: Bools, population: Population, request: Request, price: Price
) -> list[Mapping[str, Any]]:
    """Find changes of the budget, of truth's advantage and of the signals' AUROC that would change the choice."""
    within = [int(d) for d in np.flatnonzero(affordable)]
    return [
        *_budget_flips(study, robust, chosen, request),
        *_lambda_flips(study, chosen, within, population, price),
        *_auroc_flips(study, chosen, within, population, price),
    ]


def _budget_flips(study: Study, robust: Floats, chosen: int, request: Request) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for factor in BUDGET_FACTORS:
        budget = request.budget_usd * factor
        affordable = np.array([study.p_over(d, budget) <= request.risk for d in range(len(study.designs))])
        flip: dict[str, Any] = {"what": "budget", "value": budget, "unit": "US$", "choice": None}
        if affordable.any():
            d, _ = choose(robust, study.usd(), affordable, replace(request, budget_usd=budget))
            flip |= {"choice": study.designs[d].name, "accuracy": float(robust[0, d])}
        if flip["choice"] != study.designs[chosen].name:
            found.append(flip)
    return found


def _lambda_flips(study: Study, chosen: int, within: Sequence[int], population: Population, price: Price) -> list[Mapping[str, Any]]:
    """Truth's advantage at which the other kind of design (debate, or none) becomes the better one."""
    rule = population.response
    if not isinstance(rule, Copying):
        return []
    debates = study.designs[chosen].responses
    others = [d for d in within if study.designs[d].responses != debates and not study.designs[d].signals]
    for lam in sorted(LAMBDAS, reverse=debates):
        now = replace(population, response=replace(rule, lam=lam))

        def accuracy(d: int, now: Population = now) -> float:
            known = not study.designs[d].responses
            return float(study.accuracy[0, d]) if known else assess(study.designs[d], now, price).accuracy

        best = max(others, key=accuracy, default=None)
        if best is not None and accuracy(best) > accuracy(chosen):
            return [
                {
                    "what": "lambda (truth's advantage)",
                    "value": lam,
                    "unit": "log odds",
                    "choice": study.designs[best].name,
                    "direction": "at or below" if debates else "at or above",
                    "now": rule.lam,
                }
            ]
    return []


def _auroc_flips(study: Study, chosen: int, within: Sequence[int], population: Population, price: Price) -> list[Mapping[str, Any]]:
    needing = [d for d in within if study.designs[d].signals]
    if not needing or study.designs[chosen].signals:
        return []
    for auroc in (*AUROCS, 0.95, 0.98):
        try:
            now = with_auroc(population, auroc)
        except ParameterError:
            break
        scores = {d: assess(study.designs[d], now, price).accuracy for d in needing}
        best = max(needing, key=lambda d: scores[d])
        if scores[best] > study.accuracy[0, chosen]:
            flip = {"what": "AUROC of the step signals", "value": auroc, "unit": "", "choice": study.designs[best].name}
            return [{**flip, "direction": "at or above"}]
    return []
