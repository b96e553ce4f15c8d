r"""Accuracy and money of many designs, over many plausible populations.

The pilot fixes the population up to sampling error: questions are resampled with replacement (bootstrap) and the population is fitted
again, R times. What the pilot does not
hold is borrowed, and its uncertainty is drawn beside: how agents respond (theta, sigma, lambda), each normal around the borrowed value.
Every design is evaluated by the exact law on
every draw, so designs are compared on the same draws (paired).

Draw 0 is the fit to the whole pilot with the borrowed values as they stand; it gives the point estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..model import Copying, Population
from ..model.cost import Price
from ..model.exact import ExactLaw
from ..model.outcomes import Costs, Money, OutcomeSpace
from .designs import Design
from .totals import Total, mixture_cdf, mixture_quantile

__all__ = ["BORROWED_SPREAD", "Study", "assess", "draw_responses", "with_auroc"]

Floats = npt.NDArray[np.float64]

BORROWED_SPREAD = {"theta": 0.15, "sigma": 0.15, "lam": 0.20}
"""Standard deviations of borrowed response parameters, assumed: about how far fits to single tasks lie apart."""


@dataclass(frozen=True)
class Assessment:
    """One design on one population.

    Parameters
    ----------
    accuracy : float
        P(the final answer is right).
    calls : float
        Expected calls of a question.
    money : Money
        Law of a question's money.
    """

    accuracy: float
    calls: float
    money: Money


def assess(design: Design, population: Population, price: Price, costs: Costs | None = None) -> Assessment:
    """Evaluate a design by the exact law."""
    space = OutcomeSpace(design.protocol)
    costs = Costs(space, population) if costs is None else costs
    masses = ExactLaw(design.protocol, population).masses().ravel()
    right = space.coordinates[5] == 1
    return Assessment(float(masses[right].sum()), float(masses @ costs.calls), Money.of(costs, masses, price))


def draw_responses(population: Population, rng: np.random.Generator) -> Population:
    """Draw the borrowed response parameters from their spread; a fitted rule is left as it is."""
    rule = population.response
    if "response" not in population.borrowed or not isinstance(rule, Copying):
        return population
    theta, sigma, lam = (rng.normal(getattr(rule, name), sd) for name, sd in BORROWED_SPREAD.items())
    return replace(population, response=replace(rule, theta=float(max(theta, 0.0)), sigma=float(max(sigma, 0.0)), lam=float(lam)))


def with_auroc(population: Population, auroc: float) -> Population:
    """Return the population with both signals at an AUROC."""
    return replace(population, signals=replace(population.signals, auroc_h=auroc, auroc_d=auroc))


@dataclass(frozen=True, eq=False)
class Study:
    """Designs by draws.

    Parameters
    ----------
    designs : sequence of Design
        The menu, length D.
    accuracy : ndarray, shape (draws + 1, D)
        Row 0 is the point estimate.
    calls : ndarray, shape (D,)
        Expected calls of a question (point estimate).
    money : list of Money, length D
        A question's money (point estimate).
    totals : list of lists of Total, shape (draws + 1, D)
        Money of all questions.
    items : int
        Number of questions to answer.
    """

    designs: Sequence[Design]
    accuracy: Floats
    calls: Floats
    money: list[Money]
    totals: list[list[Total]]
    items: int

    @classmethod
    def run(
        cls,
        designs: Sequence[Design],
        populations: Sequence[Population],
        price: Price,
        items: int,
        advance: Callable[[int], None] = lambda steps: None,
    ) -> Study:
        """Evaluate every design on every population; the first population gives the point estimates."""
        costs = [Costs(OutcomeSpace(design.protocol), populations[0]) for design in designs]
        same_tokens = all(population.tokens == populations[0].tokens for population in populations)
        rows = []
        for population in populations:
            rows.append([assess(d, population, price, c if same_tokens else None) for d, c in zip(designs, costs, strict=True)])
            advance(1)
        return cls(
            designs=designs,
            accuracy=np.array([[a.accuracy for a in row] for row in rows]),
            calls=np.array([a.calls for a in rows[0]]),
            money=[a.money for a in rows[0]],
            totals=[[Total.of(a.money, items) for a in row] for row in rows],
            items=items,
        )

    @property
    def draws(self) -> int:
        """Number of bootstrap draws."""
        return len(self.totals) - 1

    def usd(self) -> Floats:
        """Return the expected money of a question, US dollars, point estimate; shape (D,)."""
        return np.array([money.expected for money in self.money])

    def drawn(self, d: int) -> list[Total]:
        """Totals of design d over the draws (the point estimate alone where there are none)."""
        return [row[d] for row in self.totals[1:]] or [self.totals[0][d]]

    def p_over(self, d: int, budget: float) -> float:
        """P(total money > budget), over the draws."""
        return 1.0 - mixture_cdf(self.drawn(d), budget)

    def quantile(self, d: int, level: float) -> float:
        """Quantile of the total money, over the draws."""
        return mixture_quantile(self.drawn(d), level)

    def interval(self, d: int) -> tuple[float, float]:
        """95 % interval of the expected accuracy of design d over the draws (percentiles), holding the point estimate."""
        return _percentiles(self.accuracy[:, d])

    def difference(self, d: int, e: int) -> tuple[float, float, float, float]:
        """Accuracy of d less that of e on the same draws: point estimate, 95 % percentiles, standard deviation."""
        gap = self.accuracy[:, d] - self.accuracy[:, e]
        low, high = _percentiles(gap)
        return float(gap[0]), low, high, float(gap[1:].std(ddof=1)) if self.draws > 1 else float("nan")


def _percentiles(values: Floats) -> tuple[float, float]:
    """Percentile interval of rows 1.. that holds row 0."""
    if len(values) < 3:
        return float(values[0]), float(values[0])
    low, high = np.quantile(values[1:], [0.025, 0.975])
    return min(float(low), float(values[0])), max(float(high), float(values[0]))
