r"""Statistics of paired differences: two protocols on the same questions.

Let a of n questions be answered right by the first protocol only and b by the second only. The difference of accuracies is :math:`(a -
b)/n`.

* Interval: Tango's score interval (Tango 1998), the set of differences :math:`\delta` with

  .. math:: \Bigl|\frac{a - b - n\delta}{\sqrt{n\,(2\tilde q + \delta(1 - \delta))}}\Bigr| \le z,

  where :math:`\tilde q`, the probability of the second kind under :math:`\delta`, is the larger root of :math:`2n q^2 + B q + C = 0`,
  :math:`B = -(a + b) + (2n - a + b)\delta`, :math:`C = -b\,\delta(1 - \delta)`. At :math:`\delta = 0` it is McNemar's statistic
  :math:`(a - b)/\sqrt{a + b}`; unlike Wald's interval it does not shrink to a point where a = b = 0.
* Test of no difference: McNemar's, exact: a given a + b is binomial with probability 1/2.

Other paired differences (calls, tokens, money, half credits) have normal intervals from the sums of d and of d squared over the joint
table.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import bdtr

from ..model.result import Z95, Estimate, from_moments

__all__ = ["influence_interval", "mcnemar", "paired_mean", "tango"]


def tango(first_only: int, second_only: int, n: int) -> Estimate:
    """Difference of two paired proportions with Tango's 95 % score interval.

    Parameters
    ----------
    first_only, second_only : int
        Questions that only the first, and only the second, answers right.
    n : int
        Questions.
    """
    difference = (first_only - second_only) / n

    def z(delta: float) -> float:
        b = -(first_only + second_only) + (2 * n - first_only + second_only) * delta
        c = -second_only * delta * (1 - delta)
        q = (math.sqrt(max(b * b - 8 * n * c, 0.0)) - b) / (4 * n)
        spread = n * (2 * q + delta * (1 - delta))
        distance = first_only - second_only - n * delta
        return distance / math.sqrt(spread) if spread > 0 else math.copysign(math.inf, distance) if distance else 0.0

    edge = 1 - 1e-12
    low = -1.0 if z(-edge) <= Z95 else brentq(lambda d: min(z(d), 1e9) - Z95, -edge, difference, xtol=1e-12)
    high = 1.0 if z(edge) >= -Z95 else brentq(lambda d: max(z(d), -1e9) + Z95, difference, edge, xtol=1e-12)
    return Estimate(difference, float(low), float(high))


def mcnemar(first_only: int, second_only: int) -> float:
    """Exact two-sided p value of no difference between two paired proportions; 1 where no question tells them apart."""
    discordant = first_only + second_only
    if discordant == 0:
        return 1.0
    return float(min(1.0, 2 * bdtr(min(first_only, second_only), discordant, 0.5)))


def paired_mean(counts: npt.NDArray[np.int64], difference: npt.NDArray[Any]) -> Estimate:
    """Mean of a difference with its normal 95 % interval.

    Parameters
    ----------
    counts : ndarray of int
        Questions by cell of a joint table.
    difference : ndarray, same shape
        Difference in each cell; integers are summed exactly.
    """
    held = counts > 0
    n, d = counts[held], difference[held]
    if d.dtype.kind == "i":
        exact_n, exact_d = n.astype(object), d.astype(object)
        return from_moments(float((exact_n * exact_d).sum()), float((exact_n * exact_d * exact_d).sum()), int(n.sum()))
    return from_moments(math.fsum(n * d), math.fsum(n * d * d), int(n.sum()))


def influence_interval(counts: npt.NDArray[np.int64], mean: float, influence: npt.NDArray[np.float64]) -> Estimate:
    """95 % interval of a smooth function of means, from each cell's first-order influence on it.

    Parameters
    ----------
    counts : ndarray of int
        Questions by cell.
    mean : float
        The estimate.
    influence : ndarray of float, same shape
        Change of the estimate when a question is in this cell, times the number of questions; has mean zero.
    """
    n = int(counts.sum())
    variance = math.fsum((counts * influence**2).ravel()) / n
    half = Z95 * math.sqrt(variance / n)
    return Estimate(mean, mean - half, mean + half)
