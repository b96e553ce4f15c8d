r"""How gaps are drawn: the arithmetic that the reference engine and the compiled kernels share.

Functions here take numbers and arrays and call nothing else, so that the kernels compile these very functions. Each draw is monotone in e
for the same uniform number: under equal seeds a shift of position moves every gap the same way.

The Beta gap is read off a table of :math:`z = \Phi^{-1}(g)`: rows at e = -7, -7 + 1/8, ... 7 are nearly straight lines in e, so cubic
interpolation between rows is as good as the cells in u; the upper quantiles follow by symmetry, z(1 - t, e) = -z(t, -e).
"""

from __future__ import annotations

import math
from enum import IntEnum
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from ..draws import cell_edges
from ..quadrature import beta_quantile
from .gaps import CRITERIA, EDGE, RUBRIC_POINTS, TOP_SCORE

__all__ = ["Latent", "argument_slot", "beta_gap_at", "beta_gap_table", "call_slot", "gap_of_z", "judge_slot", "rubric_score"]

Floats = npt.NDArray[np.float64]

MOST_JUDGES = 64
MOST_CALLS = 4096
MOST_ADVOCATES = 64

ROWS_PER_UNIT = 8
ROWS = 2 * int(EDGE) * ROWS_PER_UNIT + 1
Z_EDGE = 9.0
Z_PER_UNIT = 256


class Latent(IntEnum):
    """Slots of an item's own random numbers (``Purpose.ITEM``)."""

    DIFFERENCE = 0  # x
    LABEL = 1  # the human label's noise
    LENGTH = 2  # how much longer A is than B
    SHARED = 3  # what the judges' biases have in common
    JURY = 4  # what the jurors' errors have in common
    COIN = 5  # the last tie-break


def call_slot(run: int, judge: int, call: int) -> int:
    """Slot of a judge's call (all counted from 0); run 1 is the repetition with fresh noise."""
    return (run * MOST_JUDGES + judge) * MOST_CALLS + call


def judge_slot(judge: int, what: int) -> int:
    """Slot of a judge's number on the item: 0 its own bias, 1 its position shift, 2 whether it is undecided."""
    return 4 * judge + what


def argument_slot(run: int, call: int, side: int, advocate: int) -> int:
    """Slot of an advocate's argument for a side (0: A, 1: B)."""
    return (call_slot(run, 0, call) * 2 + side) * MOST_ADVOCATES + advocate


@lru_cache(maxsize=32)
def beta_gap_table(nu: float) -> Floats:
    """Return z at the lower quantiles of the Beta gap, one row an e.

    Returns
    -------
    ndarray of float, shape (113, OCTAVES * CELLS_PER_OCTAVE + 3)
        The last column stands twice, so that the cell above the last edge needs no test.
    """
    t = np.maximum(cell_edges(), 2.0**-33)
    e = np.linspace(-EDGE, EDGE, ROWS)
    a, b = (nu * ndtr(e))[:, None], (nu * ndtr(-e))[:, None]
    g = beta_quantile(a, b, t)
    z = ndtri(g)
    row, cell = np.nonzero(g > 0.5)  # there 1 - g is the smaller and the more precise number
    z[row, cell] = -ndtri(beta_quantile(b[row, 0], a[row, 0], 1 - t[cell]))
    z = np.clip(z, -Z_EDGE, Z_EDGE)
    return np.ascontiguousarray(np.concatenate([z, z[:, -1:]], axis=1))


@lru_cache(maxsize=1)
def gap_of_z() -> Floats:
    """2 Phi(z) - 1 at z = 0, 1/256, ... 9; one value more, so that the last cell needs no test."""
    z = np.arange(int(Z_EDGE) * Z_PER_UNIT + 2) / Z_PER_UNIT
    return np.asarray(1 - 2 * ndtr(-z))


def beta_gap_at(rows: Any, gap: Any, e: float, sign: float, cell: int, fraction: float) -> float:
    """Gap of a Beta law at a quantile.

    Parameters
    ----------
    rows, gap : ndarray
        :func:`beta_gap_table` and :func:`gap_of_z`.
    e : float
        Effective difference.
    sign : float
        1 where u < 1/2, -1 where u >= 1/2.
    cell, fraction : int, float
        Place of min(u, 1 - u) among the quantile cells.
    """
    position = (min(max(sign * e, -EDGE), EDGE) + EDGE) * ROWS_PER_UNIT
    row = min(max(int(position), 1), ROWS - 3)
    f = position - row
    z0 = rows[row - 1, cell] + fraction * (rows[row - 1, cell + 1] - rows[row - 1, cell])
    z1 = rows[row, cell] + fraction * (rows[row, cell + 1] - rows[row, cell])
    z2 = rows[row + 1, cell] + fraction * (rows[row + 1, cell + 1] - rows[row + 1, cell])
    z3 = rows[row + 2, cell] + fraction * (rows[row + 2, cell + 1] - rows[row + 2, cell])
    outer = f * (f - 1) * ((f + 1) * z3 - (f - 2) * z0) / 6
    z = sign * (outer + (f + 1) * (f - 2) * ((f - 1) * z1 - f * z2) / 2)
    size = min(abs(z), Z_EDGE) * Z_PER_UNIT
    k = int(size)
    value = gap[k] + (size - k) * (gap[k + 1] - gap[k])
    return float(value if z > 0 else (-value if z < 0 else 0.0))


def rubric_score(level: float, half_scale_e: float, sd: float, z: float) -> int:
    """One criterion's integer score."""
    return int(min(max(math.floor(level + half_scale_e + sd * z + 0.5), 1), TOP_SCORE))


def rubric_gap(points: int) -> float:
    """Gap of a difference in points."""
    return points / RUBRIC_POINTS


RUBRIC_DRAWS = 2 * CRITERIA
"""Random numbers of one rubric call; the first six are A's criteria."""
