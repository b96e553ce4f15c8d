r"""Quadrature and exact polynomial arithmetic that several claims share.

Maxima of k independent scores are integrated on the Gumbel scale: with :math:`G` standard Gumbel, :math:`F^{-1}(e^{-e^{-G}/k})` is
distributed as the maximum of k draws from F. The trapezoidal rule in g converges exponentially there, because the Gumbel density dies off
fast at both ends.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

__all__ = [
    "Law",
    "Scaled",
    "chance_to_win",
    "expected_maximum",
    "gauss",
    "integral01",
    "polynomial_product",
    "separation",
    "shifted_exponential_win",
]

Floats = npt.NDArray[np.float64]


class Law(Protocol):
    """What a continuous law must offer (frozen scipy distributions do)."""

    def cdf(self, x: Floats) -> Floats:
        """P(X <= x)."""
        ...

    def ppf(self, q: Floats) -> Floats:
        """Return x with P(X <= x) = q."""
        ...

    def isf(self, q: Floats) -> Floats:
        """Return x with P(X > x) = q."""
        ...


@dataclass(frozen=True)
class Scaled:
    """Law of centre + scale * Z, Z of a given law.

    Parameters
    ----------
    shape : Law
        Law of Z.
    centre, scale : float
        Shift, and positive factor.
    """

    shape: Law
    centre: float
    scale: float

    def cdf(self, x: Floats) -> Floats:
        """P(X <= x)."""
        return np.asarray(self.shape.cdf((x - self.centre) / self.scale))

    def ppf(self, q: Floats) -> Floats:
        """Return x with P(X <= x) = q."""
        return np.asarray(self.centre + self.scale * self.shape.ppf(q))

    def isf(self, q: Floats) -> Floats:
        """Return x with P(X > x) = q."""
        return np.asarray(self.centre + self.scale * self.shape.isf(q))


@lru_cache(maxsize=16)
def _legendre(nodes: int) -> tuple[Floats, Floats]:
    x, weight = np.polynomial.legendre.leggauss(nodes)
    return np.asarray(x), np.asarray(weight)


def gauss(f: Callable[[Floats], Floats], *edges: float, nodes: int = 60) -> float:
    """Integrate f over consecutive pieces between ``edges`` by Gauss-Legendre quadrature; f takes and gives arrays."""
    x, weight = _legendre(nodes)
    total = 0.0
    for low, high in itertools.pairwise(edges):
        half = (high - low) / 2
        total += half * float(weight @ f(low + half * (x + 1)))
    return total


_GRID = np.linspace(-5.0, 42.0, 2351)
_STEP = float(_GRID[1] - _GRID[0])
_DENSITY = np.exp(-_GRID - np.exp(-_GRID))


def _maximum(law: Law, k: float) -> Floats:
    """Quantiles of the maximum of k draws at the grid's points."""
    t = np.exp(-_GRID) / k
    return np.where(t > 0.7, law.ppf(np.exp(-t)), law.isf(-np.expm1(-t)))


def expected_maximum(law: Law, k: float) -> float:
    """E[max of k independent draws]."""
    return _STEP * float(_DENSITY @ _maximum(law, k))


def separation(better: Law, worse: Law, k: float) -> float:
    """D_k = E[max of k draws of the better] - E[max of k draws of the worse]."""
    return expected_maximum(better, k) - expected_maximum(worse, k)


def chance_to_win(better: Law, worse: Law, k: float) -> float:
    """P(max of k draws of the better > max of k draws of the worse), independent sides."""
    with np.errstate(divide="ignore"):
        logs = k * np.log(np.asarray(worse.cdf(_maximum(better, k))))
    return _STEP * float(_DENSITY @ np.exp(logs))


def polynomial_product(*factors: Sequence[Fraction | int]) -> list[Fraction]:
    """Coefficients (ascending) of a product of polynomials."""
    product = [Fraction(1)]
    for factor in factors:
        grown = [Fraction(0)] * (len(product) + len(factor) - 1)
        for i, a in enumerate(product):
            for j, b in enumerate(factor):
                grown[i + j] += a * b
        product = grown
    return product


def integral01(polynomial: Sequence[Fraction | int], low: Fraction | int = 0, high: Fraction | int = 1) -> Fraction:
    """Exact integral of a polynomial (ascending coefficients) from ``low`` to ``high``."""
    low, high = Fraction(low), Fraction(high)
    return sum((Fraction(c) * (high ** (n + 1) - low ** (n + 1)) / (n + 1) for n, c in enumerate(polynomial)), Fraction(0))


def shifted_exponential_win(q: Fraction, k: int) -> Fraction:
    r"""P(better wins) with k advocates a side for exponential scores shifted by Delta, exactly.

    With :math:`q = e^{-\Delta}` it is :math:`\int_0^1 (1 - q v)^k\, k (1 - v)^{k-1} dv`. Pareto I scores multiplied by c are the same on
    the log scale, with :math:`q = c^{-\alpha}`.
    """
    first: list[Fraction | int] = [1, -q]
    second: list[Fraction | int] = [1, -1]
    return k * integral01(polynomial_product(*[first] * k, *[second] * (k - 1)))
