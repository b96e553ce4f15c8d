r"""Double-exponential (tanh-sinh) quadrature on (0, 1) (Takahasi and Mori 1974), and the quantile function that it is used with.

The substitution :math:`x = (1 + \tanh(\tfrac{\pi}{2} \sinh t)) / 2` makes the trapezoidal rule converge exponentially also where the
integrand has algebraic singularities at the ends, as quantile functions of Beta laws have.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, betaln

__all__ = ["beta_quantile", "frozen", "tanh_sinh"]

Floats = npt.NDArray[np.float64]


def frozen(array: Floats) -> Floats:
    """Make an array that is remembered for other callers read-only, and return it."""
    array.setflags(write=False)
    return array


@lru_cache(maxsize=8)
def tanh_sinh(half: int = 48, reach: float = 3.4) -> tuple[Floats, Floats]:
    """Nodes in (0, 1) and weights that sum to 1; 2 * half + 1 of them."""
    t = np.linspace(-reach, reach, 2 * half + 1)
    s = np.pi / 2 * np.sinh(t)
    x = 1.0 / (1.0 + np.exp(-2.0 * s))
    weight = np.cosh(t) / np.cosh(s) ** 2
    return frozen(x), frozen(weight / weight.sum())


def beta_quantile(a: float | Floats, b: float | Floats, v: Floats) -> Floats:
    """Quantile of Beta(a, b) at v in [0, 1]; broadcasts.

    Notes
    -----
    ``scipy.special.betaincinv`` gives no number for some a just above 1 and v below 1e-16; there the leading term
    :math:`(v a B(a, b))^{1/a}` is exact to double precision.
    """
    found = np.asarray(betaincinv(a, b, v), dtype=float)
    lost = np.isnan(found)
    if lost.any():
        with np.errstate(divide="ignore"):
            found = np.where(lost, np.exp((np.log(v) + np.log(a) + betaln(a, b)) / a), found)
    return found
