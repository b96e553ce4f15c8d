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
from .laws import Law, log_counts

__all__ = ["curve_sizes", "own_accuracy", "own_shares", "predicted"]

Floats = npt.NDArray[np.float64]


def curve_sizes(first: FirstAnswers) -> tuple[int, ...]:
    """Panel sizes n at which accuracy is compared: 1, 3, 5, 10, 20, 40 and the median number of answers a question."""
    most = int(np.median(first.size))
    return tuple(sorted({n for n in (1, 3, 5, 10, 20, 40) if n <= most} | {min(most, 100)}))


@lru_cache(maxsize=64)
def _chance(n: int) -> Floats:
    """P(right wins) by (k right, m on the misconception), shape (n + 1, n + 1); 0 where k + m > n."""
    k, m = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    chance = np.where(k > m, 1.0, np.where(k == m, 0.5, 0.0))
    chance = np.where((k == 1) & (m <= 1), 1.0 / n, chance)
    return np.where((k >= 1) & (k + m <= n), chance, 0.0)


def predicted(n: int, law: Law) -> float:
    """P(a plurality of n answers is right) under a law; exact.

    Where w has a law of its own, the chances of k right answers and, given these, of m on the misconception multiply, each in closed form.
    """
    k, m = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    if law.misconception is not None:
        of_k = np.exp(log_counts(law.difficulty, np.arange(n + 1), np.full(n + 1, n)))
        inside = k + m <= n
        of_m = np.where(inside, np.exp(log_counts(law.misconception, np.where(inside, m, 0), n - k)), 0.0)
        return float(of_k @ (of_m * _chance(n)).sum(axis=1))
    p, w, weight = law.nodes(0)
    keep = _chance(n) > 0
    k, m = k[keep][:, None], m[keep][:, None]
    log = gammaln(n + 1) - gammaln(k + 1) - gammaln(m + 1) - gammaln(n - k - m + 1)
    log = log + xlogy(k, p) + xlogy(m, (1 - p) * w) + xlogy(n - k - m, (1 - p) * (1 - w))
    return float(_chance(n)[keep] @ np.exp(log) @ weight)


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
