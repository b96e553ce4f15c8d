r"""Accuracy and money of many designs, over many plausible populations.

The pilot fixes the population up to sampling error: its questions (items) are resampled with replacement (bootstrap) and the population
is fitted again, R times. Every design is evaluated on every draw, so designs are compared on the same draws (paired). Draw 0 is the fit
to the whole pilot; it gives the point estimates.

What no pilot can say (an informative step signal, what arguments do to a judge) is swept instead of drawn: the accuracy that a choice
counts (``robust``) is the worst over the sweep, by which all draws of the design move alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..model.outcomes import Money
from ..model.result import from_draws
from .totals import Total, mixture_cdf, mixture_quantile

__all__ = ["LEAST_RESAMPLED", "Candidate", "Study", "seeds", "worst_of_sweep"]

Floats = npt.NDArray[np.float64]

LEAST_RESAMPLED = 10
"""Resamples of fewer questions than this hold too few different ones to say how sure a figure is."""


class Candidate(Protocol):
    """What a design of either family tells about itself."""

    @property
    def name(self) -> str:
        """Says its parameters."""

    @property
    def protocol(self) -> Any:
        """The policy."""

    @property
    def kind(self) -> str:
        """The sort of design it is, for a person."""

    @property
    def debates(self) -> bool:
        """Whether arguments are exchanged."""

    def rests_on(self) -> list[str]:
        """List what its law needs."""


def seeds(seed: int, draws: int) -> Iterator[np.random.Generator]:
    """Yield one generator a draw; draw b depends on (seed, b) alone."""
    for b in range(draws):
        yield np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 0, b]))


def worst_of_sweep(accuracy: Floats, swept: Mapping[int, Sequence[Mapping[str, Any]]]) -> tuple[Floats, list[Mapping[str, Any]]]:
    """Lower the accuracy of swept designs to the worst of their sweeps.

    Parameters
    ----------
    accuracy : ndarray, shape (draws + 1, D)
        Row 0 is the point estimate.
    swept : mapping
        Design to its rows, each with an ``accuracy`` (share) at one value of what was swept.

    Returns
    -------
    robust : ndarray, shape (draws + 1, D)
        The accuracy that a choice counts.
    rows : list of mapping
        The sweep of the design that reaches the highest accuracy; empty where nothing was swept.
    """
    robust = accuracy.copy()
    for d, rows in swept.items():
        robust[:, d] += min(row["accuracy"] for row in rows) - accuracy[0, d]
    best = max(swept.values(), key=lambda rows: max(row["accuracy"] for row in rows), default=[])
    return robust, list(best)


@dataclass(frozen=True, eq=False)
class Study:
    """Designs by draws.

    Parameters
    ----------
    designs : sequence of Candidate
        The menu, length D.
    accuracy : ndarray, shape (draws + 1, D)
        Row 0 is the point estimate.
    robust : ndarray, shape (draws + 1, D)
        The accuracy that a choice counts.
    calls : ndarray, shape (D,)
        Expected calls of a question (point estimate).
    money : list of Money, length D
        A question's money (point estimate).
    totals : list of lists of Total, shape (draws + 1, D) or (1, D)
        Money of all questions; one row alone where it is the same on all draws.
    items : int
        Number of questions to answer.
    resampled : int
        Number of pilot questions that the draws resample.
    """

    designs: Sequence[Candidate]
    accuracy: Floats
    robust: Floats
    calls: Floats
    money: list[Money]
    totals: list[list[Total]]
    items: int
    resampled: int

    @property
    def sure(self) -> bool:
        """Whether the pilot is large enough for its resamples to say how sure a figure is."""
        return self.resampled >= LEAST_RESAMPLED

    @property
    def draws(self) -> int:
        """Number of bootstrap draws."""
        return len(self.accuracy) - 1

    def usd(self) -> Floats:
        """Return the expected money of a question, US dollars, point estimate; shape (D,)."""
        return np.array([money.expected for money in self.money])

    def totals_of_draw(self, b: int) -> list[Total]:
        """Totals of all designs on draw b."""
        return self.totals[b if len(self.totals) > 1 else 0]

    def drawn(self, d: int) -> list[Total]:
        """Totals of design d over the draws (the point estimate alone where there are none)."""
        return [row[d] for row in self.totals[1:]] or [self.totals[0][d]]

    def p_over(self, budget: float) -> Floats:
        """P(total money > budget) of each design, over the draws; shape (D,)."""
        return np.array([min(max(1.0 - mixture_cdf(self.drawn(d), budget), 0.0), 1.0) for d in range(len(self.designs))])

    def quantile(self, d: int, level: float) -> float:
        """Quantile of the total money, over the draws."""
        return mixture_quantile(self.drawn(d), level)

    def interval(self, d: int) -> tuple[float, float]:
        """95 % interval of the expected accuracy of design d over the draws (percentiles), holding the point estimate.

        All of 0 to 1 where the pilot is too small to say.
        """
        if not self.sure:
            return 0.0, 1.0
        return _percentiles(self.accuracy[:, d])

    def difference(self, d: int, e: int) -> tuple[float, float, float, float]:
        """Accuracy of d less that of e on the same draws: point estimate, 95 % percentiles, standard deviation."""
        gap = self.accuracy[:, d] - self.accuracy[:, e]
        if not self.sure:
            return float(gap[0]), -1.0, 1.0, float("nan")
        low, high = _percentiles(gap)
        return float(gap[0]), low, high, float(gap[1:].std(ddof=1)) if self.draws > 1 else float("nan")


def _percentiles(values: Floats) -> tuple[float, float]:
    """Percentile interval of rows 1.. that holds row 0."""
    if len(values) < 3:
        return float(values[0]), float(values[0])
    found = from_draws(values[0], values[1:])
    return found.low, found.high
