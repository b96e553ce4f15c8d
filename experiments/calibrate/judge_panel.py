r"""What judges have in common: loadings of their biases on a shared factor, from how their votes move together.

With :math:`m_j(e) = E[v_j | e]` the mean vote at effective difference :math:`e = \mu + s_j z`, z standard normal, and Hermite coefficients
:math:`c^j_n`,

.. math:: E[v_j v_k] = \sum_n c^j_n c^k_n r_{jk}^n

(Mehler), with r the correlation of the two effective differences. The log's mean product of votes gives r for every pair, hence the
biases' covariance :math:`r s_j s_k - 1`; loadings are the least-squares one-factor fit to these. No label is needed: the covariance
holds whatever makes judges agree beyond the true difference, the labels' own noise included.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, least_squares

from ...model.judging import ItemLaw, Judge

__all__ = ["loadings", "pair_products"]

Floats = npt.NDArray[np.float64]

_TERMS = 48
_MOST = 0.9995


def pair_products(votes: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Weighted mean product of two judges' votes over the items that both judged, and the weight of these; shapes (judges, judges)."""
    known = np.isfinite(votes)
    filled = np.where(known, votes, 0.0)
    size = (known * weight[:, None]).T @ known
    with np.errstate(invalid="ignore", divide="ignore"):
        return (filled * weight[:, None]).T @ filled / size, size


def loadings(judges: Sequence[Judge], items: ItemLaw, products: Floats, size: Floats) -> Floats:
    """Fit loadings of the judges' biases on what they share.

    Parameters
    ----------
    judges : sequence of Judge
        Their own parameters; each vote is the mean over both orders.
    items : ItemLaw
        Law of the true difference.
    products, size : ndarray of float, shape (judges, judges)
        From :func:`pair_products`.
    """
    n = len(judges)
    if n == 1:
        return np.array([0.5])
    sd = np.array([math.sqrt(items.sigma_x**2 + judge.sigma_b**2) for judge in judges])
    series = np.stack([_hermite(judge, items, s) for judge, s in zip(judges, sd, strict=True)])
    bias = np.array([judge.sigma_b for judge in judges])
    pairs = [(j, k) for j in range(n) for k in range(j + 1, n) if size[j, k] > 0]
    covariance = np.array([_solve(series[j] * series[k], products[j, k]) * sd[j] * sd[k] - items.sigma_x**2 for j, k in pairs])
    weight = np.sqrt([size[j, k] for j, k in pairs])

    def misses(loading: Floats) -> Floats:
        fitted = np.array([bias[j] * bias[k] * loading[j] * loading[k] for j, k in pairs])
        return np.asarray(weight * (fitted - covariance))

    start = _leading(n, pairs, covariance / np.array([max(bias[j] * bias[k], 1e-12) for j, k in pairs]))
    found = least_squares(misses, start, bounds=(-np.ones(n), np.ones(n)))
    return np.asarray(found.x * (1.0 if found.x.sum() >= 0 else -1.0))


def _leading(n: int, pairs: Sequence[tuple[int, int]], correlation: Floats) -> Floats:
    """Start from the leading eigenvector of the biases' correlations: judges of opposite biases start apart."""
    matrix = np.eye(n)
    for (j, k), value in zip(pairs, np.clip(correlation, -1.0, 1.0), strict=True):
        matrix[j, k] = matrix[k, j] = value
    sizes, vectors = np.linalg.eigh(matrix)
    found = np.clip(vectors[:, -1] * math.sqrt(float(sizes[-1])), -0.95, 0.95)
    return np.where(np.abs(found) < 0.05, 0.05, found)


def _hermite(judge: Judge, items: ItemLaw, sd: float) -> Floats:
    """Normalised Hermite coefficients of the mean vote; shape (terms,)."""
    z = np.linspace(-8, 8, 1601)
    density = np.exp(-(z**2) / 2)
    density /= density.sum()
    q = np.linspace(-4.5, 4.5, 41)
    share = np.exp(-(q**2) / 2)
    share /= share.sum()
    shift = judge.position + judge.position_sd * q
    e = (items.mean_x + sd * z)[:, None]
    votes = sum((judge.gap.verdicts(e + s * shift) @ np.array([0.5, 0.0, -0.5])) @ share for s in (1, -1))
    mean = (1 - judge.undecided) * np.asarray(votes)
    before, now = np.zeros_like(z), np.ones_like(z)
    terms = []
    for n in range(_TERMS):
        terms.append(float(density @ (mean * now)))
        before, now = now, (z * now - math.sqrt(n) * before) / math.sqrt(n + 1)
    return np.array(terms)


def _solve(series: Floats, product: float) -> float:
    """Correlation r at which the series gives the product, from 0 to almost 1."""

    def excess(r: float) -> float:
        return float(np.polynomial.polynomial.polyval(r, series)) - product

    if excess(_MOST) <= 0:
        return _MOST
    return float(brentq(excess, 0.0, _MOST)) if excess(0.0) < 0 else 0.0
