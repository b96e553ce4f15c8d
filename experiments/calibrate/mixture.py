r"""Non-parametric maximum likelihood: the mixing weights on a grid that make the data most probable.

Given L[t, g], the likelihood of data kind t at grid point g, and the number c_t of questions of each kind, maximise

.. math:: \ell(\pi) = \sum_t c_t \log \sum_g L_{tg} \pi_g, \qquad \pi \ge 0, \ \sum_g \pi_g = 1.

The problem is convex; at the maximum the gradient :math:`D_g = \sum_t c_t L_{tg} / f_t - N` is at most 0 everywhere, and
:math:`\max_g D_g` bounds how far the log-likelihood is from its maximum (Lindsay 1983). Solved by the constrained Newton method (Wang
2007, "On fast computation of the non-parametric maximum likelihood estimate of a mixing distribution"): the support takes in all local
maxima of D, a non-negative least-squares problem finds the next weights, and what becomes 0 leaves the support, which therefore stays
small.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

__all__ = ["maximise", "sine_grid"]

Floats = npt.NDArray[np.float64]

_MOST_STEPS = 200
_PRUNED = 1e-9


def sine_grid(points: int) -> Floats:
    """Points from 0 to 1 (both included) that are denser towards the ends, as the spread of a proportion is smaller there."""
    grid: Floats = np.sin(np.linspace(0.0, np.pi / 2, points)) ** 2
    grid[0], grid[-1] = 0.0, 1.0
    return grid


def maximise(likelihood: Floats, counts: Floats, shape: tuple[int, ...], start: Floats | None = None, gap: float = 1e-3) -> Floats:
    """Find the maximum-likelihood weights.

    Parameters
    ----------
    likelihood : ndarray of float, shape (kinds, points)
        L[t, g]; each row may be scaled by any positive factor, and must be positive somewhere.
    counts : ndarray of float, shape (kinds,)
        c_t, not negative.
    shape : tuple of int
        Shape of the grid, one or two axes, whose product is ``points``.
    start : ndarray of float, shape (points,), optional
        Weights to start from; they are mixed with a little of everything.
    gap : float
        Largest distance from the maximum log-likelihood at which to stop.

    Returns
    -------
    ndarray of float, shape (points,)
        Weights with sum 1.
    """
    used = counts > 0
    likelihood, counts = likelihood[used], counts[used]
    points = likelihood.shape[1]
    weights = np.full(points, 1.0 / points)
    if start is not None:
        weights = 0.999 * start + 0.001 * weights
        fitted = likelihood @ weights
        weights, _ = _step(likelihood, counts, weights, fitted, np.flatnonzero(start > 0))
        if np.any(likelihood @ weights <= 0):
            weights = np.full(points, 1.0 / points)
    for _ in range(_MOST_STEPS):
        fitted = likelihood @ weights
        gradient = (counts / fitted) @ likelihood - counts.sum()
        if gradient.max() <= gap:
            break
        candidates = np.flatnonzero((weights > 0) | (_peaks(gradient, shape) & (gradient > 0)))
        weights, gain = _step(likelihood, counts, weights, fitted, candidates)
        if gain <= 0:
            break
    weights = np.where(weights > _PRUNED, weights, 0.0)
    return np.asarray(weights / weights.sum())


def _peaks(values: Floats, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Points no lower than their neighbours along each axis."""
    grid = values.reshape(shape)
    peak = np.ones(shape, dtype=bool)
    for axis in range(len(shape)):
        step = np.diff(grid, axis=axis)
        edge = np.zeros_like(np.take(grid, [0], axis=axis))
        peak &= np.concatenate([edge, step], axis=axis) >= 0
        peak &= np.concatenate([step, edge], axis=axis) <= 0
    return peak.ravel()


def _step(likelihood: Floats, counts: Floats, weights: Floats, fitted: Floats, candidates: npt.NDArray[np.int64]) -> tuple[Floats, float]:
    """One Newton step on the candidate points with a line search; the second value is the gain in log-likelihood."""
    root = np.sqrt(counts)
    stiff = 1e3 * math.sqrt(counts.sum())
    matrix = np.vstack([likelihood[:, candidates] * (root / fitted)[:, None], np.full((1, len(candidates)), stiff)])
    solution, _ = nnls(matrix, np.append(2.0 * root, stiff))
    target = np.zeros_like(weights)
    target[candidates] = solution / solution.sum()
    direction = target - weights
    slope = likelihood @ direction
    before = float(counts @ np.log(fitted))
    size = 1.0
    while size > 1e-10:
        moved = fitted + size * slope
        if np.all(moved > 0):
            gain = float(counts @ np.log(moved)) - before
            if gain > 0:
                return weights + size * direction, gain
        size /= 2
    return weights, 0.0
