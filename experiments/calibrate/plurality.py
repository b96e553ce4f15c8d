r"""Accuracy of a plurality vote over n answers: what a law predicts, and what the log itself says.

Both take fair ties and strays that coincide with nobody's. Under a law, k of n answers are right, m fall on the misconception and
the rest are strays, with the trinomial probabilities of (p, (1-p)w, (1-p)(1-w)); the right answer wins if k > m (and k > 1 where
there are strays), shares the win with the misconception at k = m > 1, and among n single answers wins with probability 1/n.

The log's own accuracy is the mean over questions of the probability that a random subset of n of the question's answers (without
replacement) has a right plurality: unbiased for every exchangeable law of answers, whatever the true one is. With cluster sizes c_0
(right), c_1, ..., c_s

.. math::

   P = \binom{c}{n}^{-1} \sum_j \binom{c_0}{j} \int_0^1 [x^{n-j}] \prod_i
       \Big(\sum_{t<j} \binom{c_i}{t} x^t + u \binom{c_i}{j} x^j\Big) du,

where the integral over u gives 1/(1 + number tied), exactly by Gauss-Legendre nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, xlogy

from .first_answers import FirstAnswers

__all__ = ["curve_sizes", "own_accuracy", "own_shares", "predicted"]

Floats = npt.NDArray[np.float64]


def curve_sizes(first: FirstAnswers) -> tuple[int, ...]:
    """Panel sizes n at which accuracy is compared: 1, 3, 5, 10, 20, 40 and the number of answers that nearly all questions hold."""
    most = int(np.quantile(first.size, 0.05, method="lower"))
    return tuple(sorted({n for n in (1, 3, 5, 10, 20, 40) if n <= most} | {min(most, 100)}))


@lru_cache(maxsize=64)
def _winning(n: int) -> tuple[Floats, Floats, Floats]:
    """Right and misconception counts (k, m) that can win, and log of (multinomial coefficient times probability of winning)."""
    k, m = np.meshgrid(np.arange(n + 1.0), np.arange(n + 1.0), indexing="ij")
    chance = np.where(k > m, 1.0, np.where(k == m, 0.5, 0.0))
    chance = np.where((k == 1) & (m <= 1), 1.0 / n, chance)
    keep = (k >= 1) & (k + m <= n) & (chance > 0)
    k, m, chance = k[keep], m[keep], chance[keep]
    return k, m, gammaln(n + 1) - gammaln(k + 1) - gammaln(m + 1) - gammaln(n - k - m + 1) + np.log(chance)


def predicted(n: int, p: Floats, w: Floats, weight: Floats) -> float:
    """P(a plurality of n answers is right) under a law with nodes (p, w) and weights.

    Parameters
    ----------
    n : int
        Number of answers.
    p, w, weight : ndarray of float, shape (nodes,)
        The law; exact where the nodes integrate polynomials of degree n.
    """
    k, m, log_coefficient = _winning(n)
    terms = xlogy(k[:, None], p) + xlogy(m[:, None], (1 - p) * w) + xlogy((n - k - m)[:, None], (1 - p) * (1 - w))
    return float(np.exp(log_coefficient[:, None] + terms).sum(axis=0) @ weight)


def own_shares(first: FirstAnswers, n: int, abstentions_vote: bool = True) -> Floats:
    """P(right plurality of n of its answers) of each question; NaN where it holds fewer than n. Shape (questions,).

    Parameters
    ----------
    first : FirstAnswers
        The answers.
    n : int
        Number of answers drawn.
    abstentions_vote : bool
        True: an abstention is a wrong answer that agrees with nobody. False: it casts no vote.
    """
    kinds: dict[tuple[int, int, tuple[int, ...], int], float] = {}
    shares = np.empty(len(first))
    for index, kind in enumerate(zip(first.size.tolist(), first.right.tolist(), first.clusters, first.abstained.tolist(), strict=True)):
        if kind not in kinds:
            kinds[kind] = _own_share(*kind[:3], 0 if abstentions_vote else kind[3], n) if kind[0] >= n else math.nan
        shares[index] = kinds[kind]
    return shares


def own_accuracy(first: FirstAnswers, n: int) -> float:
    """Return the log's own accuracy of a plurality of n answers, over the questions that hold that many."""
    return float(np.nanmean(own_shares(first, n)))


def _own_share(size: int, right: int, clusters: Sequence[int], silent: int, n: int) -> float:
    nodes, weights = _legendre(min(n, len(clusters)) // 2 + 1)
    singles = sum(1 for c in clusters if c == 1) - silent
    total = 0.0
    for j in range(max(1, n - (size - right)), min(right, n) + 1):
        rest = n - j
        series = np.zeros((len(nodes), rest + 1))
        series[:, 0] = 1.0
        for c in clusters:
            if c > 1:
                series = _times(series, [math.comb(c, t) for t in range(min(c, j) + 1)], nodes, j)
        series = _times_singles(series, singles, nodes if j == 1 else np.ones_like(nodes))
        series = _times_singles(series, silent, np.ones_like(nodes))
        total += math.comb(right, j) * float(weights @ series[:, rest])
    return total / math.comb(size, n)


def _times(series: Floats, coefficients: Sequence[int], nodes: Floats, j: int) -> Floats:
    """Multiply by one cluster's polynomial; its term x^j carries the tie mark u."""
    length = series.shape[1]
    result = np.zeros_like(series)
    for t, coefficient in enumerate(coefficients[:length]):
        mark = nodes[:, None] if t == j else 1.0
        result[:, t:] += coefficient * mark * series[:, : length - t]
    return result


def _times_singles(series: Floats, singles: int, mark: Floats) -> Floats:
    """Multiply by (1 + mark x) ** singles, the strays that are held once."""
    length = series.shape[1]
    result = np.zeros_like(series)
    for t in range(min(singles, length - 1) + 1):
        result[:, t:] += math.comb(singles, t) * (mark**t)[:, None] * series[:, : length - t]
    return result


@lru_cache(maxsize=64)
def _legendre(count: int) -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2
