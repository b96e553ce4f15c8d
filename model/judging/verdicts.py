"""Verdicts from gaps: shares of lattice cells, means of gaps, joint verdicts under the same noise, signs of sums of votes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .gaps import GapLaw, Lattice, RubricGap, ZeroInflatedBetaGap
from .stopping import SLACK

__all__ = ["TIED", "draws_once", "joint_verdicts", "mean_verdicts", "sign_masses", "spread_cdf", "verdict_shares", "zero_shares"]

Floats = npt.NDArray[np.float64]

TIED: Floats = np.array([0.0, 1.0, 0.0])
"""A certain tie, as probabilities of the verdicts."""


def spread_cdf(x: Floats, width: Floats | float, closed: bool) -> Floats:
    """P(W <= x) for W uniform of a width around 0; a width of 0 is a point (``closed`` counts x = 0)."""
    point = (x >= -SLACK if closed else x > SLACK).astype(float)
    spread = np.clip(x / np.maximum(width, 1e-300) + 0.5, 0.0, 1.0)
    return np.where(np.asarray(width) > 0, spread, point)


def verdict_shares(gap: Floats, width: Floats | float, tie: float) -> Floats:
    """Shares of cells around ``gap`` that are verdicts A, tie, B; a leading axis of 3."""
    a = 1 - spread_cdf(tie - gap, width, closed=True)
    b = spread_cdf(-tie - gap, width, closed=False)
    return np.stack([a, np.maximum(1 - a - b, 0.0), b])


def mean_verdicts(mass: Floats, lattice: Lattice, count: int, e: Floats, tie: float) -> Floats:
    """P(A, tie, B) of the mean of ``count`` gaps.

    Parameters
    ----------
    mass : ndarray of float, shape (n or 1, size)
        Law of the sum of their whole numbers on the lattice, from the smallest.
    lattice : Lattice
        Of one gap.
    count : int
        Number of gaps.
    e : ndarray of float, shape (n,)
        What a location family is relative to (the mean over the gaps).
    tie : float
        Largest size of a tie.

    Returns
    -------
    ndarray of float, shape (n, 3); (1, 3) where nothing depends on e
    """
    mean = (count * (lattice.low + lattice.offset) + np.arange(mass.shape[1])) * lattice.step / count
    width = _mean_width(lattice, count)
    if not lattice.relative:
        return np.asarray(mass @ verdict_shares(mean, width, tie).T)
    return np.asarray((verdict_shares(mean[None, :] + e[:, None], width, tie) * mass[None]).sum(axis=-1).T)


def _mean_width(lattice: Lattice, count: int) -> float:
    """Width over which the mass of a mean of ``count`` gaps is spread."""
    return 0.0 if lattice.whole else (2 if lattice.atom else 1) * lattice.step / count


def zero_shares(lattice: Lattice, count: int, tie: float) -> Floats:
    """P(A, tie, B) that :func:`mean_verdicts` gives to a mean of ``count`` exact zeros; shape (3,)."""
    return verdict_shares(np.zeros(()), _mean_width(lattice, count), tie)


def sign_masses(total: Floats) -> Floats:
    """P(sum > 0), P(sum = 0), P(sum < 0) of sums from -s to s; shape (n, 3)."""
    half = total.shape[1] // 2
    return np.stack([total[:, half + 1 :].sum(axis=1), total[:, half], total[:, :half].sum(axis=1)], axis=1)


def draws_once(law: GapLaw) -> bool:
    """Whether a gap is an inverse transform of one uniform number (a rubric's criteria have one each)."""
    return not isinstance(law, RubricGap)


def joint_verdicts(law: GapLaw, p: Floats, q: Floats) -> Floats:
    """Joint law of one judgement's verdicts under two laws and the same noise.

    Noise is an inverse transform, so each verdict holds an interval of the uniform number, B lowest; zeros of a zero-inflated law are
    drawn apart.

    Parameters
    ----------
    law : GapLaw
        Of the judgement; one that :func:`draws_once`.
    p, q : ndarray of float, shape (..., 3)
        P(A, tie, B) in the two cases.

    Returns
    -------
    ndarray of float, shape (..., 3, 3)
    """
    if isinstance(law, ZeroInflatedBetaGap) and law.zero > 0:
        scale = 1 - law.zero
        tie = np.array([0.0, law.zero, 0.0])
        joint = scale * _intervals((p - tie) / scale, (q - tie) / scale)
        joint[..., 1, 1] += law.zero
        return joint
    return _intervals(p, q)


def _intervals(p: Floats, q: Floats) -> Floats:
    low_p, low_q = 1 - np.cumsum(p, axis=-1), 1 - np.cumsum(q, axis=-1)
    high = np.minimum((low_p + p)[..., :, None], (low_q + q)[..., None, :])
    return np.asarray(np.maximum(high - np.maximum(low_p[..., :, None], low_q[..., None, :]), 0.0))
