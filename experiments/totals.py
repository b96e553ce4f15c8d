r"""Money for many questions: mean, quantiles, worst case, probability of passing a budget.

The total of N independent questions has N times the mean, variance and third central moment of one. Its law is approximated by the Pearson
type III law (a shifted gamma) with these three moments: exact as N grows, skewed as the truth is while N is small. The worst case is exact:
N times the dearest path with every completion as long as the endpoint allows.

Uncertain parameters make a mixture: one law per draw of the parameters, with equal weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.optimize import brentq
from scipy.special import gammainc, gammaincc, ndtr

from ..model.outcomes import Money

__all__ = ["Total", "mixture_cdf", "mixture_quantile"]

_SYMMETRIC = 1e-6
_ROUNDING = 1e-7
"""A coefficient of variation below this is the rounding of a sum of squares."""


@dataclass(frozen=True)
class Total:
    """Law of the money of N questions.

    Parameters
    ----------
    mean, variance, skewness : float
        Of the total, in US dollars.
    worst : float
        Largest possible total.
    """

    mean: float
    variance: float
    skewness: float
    worst: float

    @classmethod
    def of(cls, money: Money, items: int) -> Total:
        """Total of ``items`` independent questions."""
        mean, variance, third = money.central_moments()
        if variance <= (_ROUNDING * mean) ** 2:
            variance = 0.0
        skewness = third / variance**1.5 if variance > 0 else 0.0
        return cls(items * mean, items * variance, skewness / math.sqrt(items), items * money.worst)

    @property
    def sd(self) -> float:
        """Standard deviation, US dollars."""
        return math.sqrt(self.variance)

    def cdf(self, x: float) -> float:
        """P(total <= x)."""
        if x >= self.worst:
            return 1.0
        if self.variance <= 0:
            return float(x >= self.mean)
        z = (x - self.mean) / self.sd
        if abs(self.skewness) < _SYMMETRIC:
            return float(ndtr(z))
        shape = 4 / self.skewness**2
        y = shape + z * math.copysign(math.sqrt(shape), self.skewness)
        if y <= 0:
            return 0.0 if self.skewness > 0 else 1.0
        return float(gammainc(shape, y) if self.skewness > 0 else gammaincc(shape, y))

    def quantile(self, level: float) -> float:
        """Total that is not passed with probability ``level``."""
        return mixture_quantile([self], level)


def mixture_cdf(totals: Sequence[Total], x: float) -> float:
    """P(total <= x) over equally weighted laws."""
    return math.fsum(total.cdf(x) for total in totals) / len(totals)


def mixture_quantile(totals: Sequence[Total], level: float) -> float:
    """Quantile over equally weighted laws."""
    if all(total.variance <= 0 for total in totals):
        return sorted(total.mean for total in totals)[min(int(level * len(totals)), len(totals) - 1)]
    low = min(total.mean - 12 * total.sd for total in totals)
    high = max(total.mean + 40 * total.sd for total in totals)
    return float(brentq(lambda x: mixture_cdf(totals, x) - level, low, high, xtol=1e-9 * max(abs(high), 1e-9)))
