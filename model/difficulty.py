r"""The law of a question: how hard it is (p) and how far its wrong answers agree (w).

Question i has p_i, the probability that an independent answer is right; a wrong answer is the question's shared misconception
with probability w_i and otherwise a stray answer that coincides with nobody's. Answers are independent given (p_i, w_i): all
correlation between agents is this mixture (intra-class correlation 1/(a + b + 1) for a Beta law). Two wrong answers coincide
with probability E[w^2].

p follows Beta(a, b), possibly with point masses at 0 and 1 (:class:`BetaDifficulty`), or a discrete mixture
(:class:`MixtureDifficulty`). w is fixed, Beta, or joint with p (each point of the mixture has its own w).

The exact law needs :math:`E[f(p, w)]` for polynomials f. For a Beta law that is Gauss-Jacobi quadrature with weight
:math:`p^{a-1} (1-p)^{b-1}`, which holds the singularities at 0 and 1 (a < 1 or b < 1) in the weight and is exact for
polynomials of degree 2n - 1 with n nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh_tridiagonal
from scipy.special import betaln, gammaln, xlog1py, xlogy

from .checks import require_distribution, require_positive, require_probability
from .draws import Purpose, beta_table, uniform
from .errors import ParameterError
from .quadrature import frozen

__all__ = ["BetaDifficulty", "BetaShare", "Difficulty", "FixedShare", "MixtureDifficulty", "Share", "beta_nodes"]

Floats = npt.NDArray[np.float64]


@lru_cache(maxsize=512)
def beta_nodes(a: float, b: float, count: int) -> tuple[Floats, Floats]:
    """Gauss-Jacobi nodes and weights of Beta(a, b): exact for polynomials of degree up to 2 * count - 1.

    Notes
    -----
    Eigenvalues of the Jacobi matrix of the orthogonal polynomials, weights from its eigenvectors (Golub and Welsch 1969). Works for
    every a and b, where weights that are scaled by 2 ** (a + b) would overflow.

    Returns
    -------
    nodes, weights : ndarray of float, shape (count,)
        Nodes in [0, 1]; weights sum to 1.
    """
    k = np.arange(1.0, count)
    total = 2.0 * k + a + b - 2.0
    diagonal = np.concatenate([[a / (a + b)], 0.5 + 0.5 * (a - b) * (a + b - 2.0) / (total * (total + 2.0))])
    square = np.empty(count - 1)
    square[:1] = a * b / ((a + b) ** 2 * (a + b + 1.0))
    k, total = k[1:], total[1:]
    square[1:] = k * (k + a - 1.0) * (k + b - 1.0) * (k + a + b - 2.0) / (total**2 * (total**2 - 1.0))
    nodes, vectors = eigh_tridiagonal(diagonal, np.sqrt(square), lapack_driver="stev")
    weight = vectors[0] ** 2
    return frozen(np.clip(nodes, 0.0, 1.0)), frozen(weight / weight.sum())


def log_choose(n: int) -> Floats:
    """Logarithms of the binomial coefficients of n; shape (n + 1,)."""
    i = np.arange(n + 1)
    return np.asarray(gammaln(n + 1) - gammaln(i + 1) - gammaln(n - i + 1))


@dataclass(frozen=True)
class BetaDifficulty:
    """p ~ Beta(a, b) with optional point masses at 0 and at 1.

    Parameters
    ----------
    a, b : float
        Shape parameters, from 0.001 to 10,000.
    mass_zero, mass_one : float
        Share of questions that are never and always answered right.
    """

    a: float
    b: float
    mass_zero: float = 0.0
    mass_one: float = 0.0

    def __post_init__(self) -> None:
        require_positive("a", self.a, high=1e4, low=1e-3)
        require_positive("b", self.b, high=1e4, low=1e-3)
        require_probability("mass_zero", self.mass_zero)
        require_probability("mass_one", self.mass_one)
        if self.mass_zero + self.mass_one > 1:
            raise ParameterError("mass_zero + mass_one", self.mass_zero + self.mass_one, "at most 1")

    def nodes(self, degree: int) -> tuple[Floats, Floats]:
        """Nodes and weights that integrate polynomials of ``degree`` in p exactly."""
        inner = 1.0 - self.mass_zero - self.mass_one
        p, weight = beta_nodes(float(self.a), float(self.b), degree // 2 + 1)
        points = [np.array([0.0, 1.0]), p]
        weights = [np.array([self.mass_zero, self.mass_one]), inner * weight]
        keep = np.concatenate(weights) > 0
        return np.concatenate(points)[keep], np.concatenate(weights)[keep]

    def number_right(self, n: int) -> Floats:
        """P(i of n answers are right), i = 0 .. n: the beta-binomial law with what the point masses add; shape (n + 1,)."""
        i = np.arange(n + 1)
        inner = np.exp(log_choose(n) + betaln(i + self.a, n - i + self.b) - betaln(self.a, self.b))
        law = (1.0 - self.mass_zero - self.mass_one) * inner / inner.sum()
        law[0] += self.mass_zero
        law[n] += self.mass_one
        return np.asarray(law)

    def mean(self) -> float:
        """E[p], the accuracy of a single answer."""
        return self.mass_one + (1 - self.mass_zero - self.mass_one) * self.a / (self.a + self.b)

    def at(self, u: float) -> float:
        """Quantile: p of a question whose uniform number is u."""
        if u < self.mass_zero:
            return 0.0
        if u >= 1.0 - self.mass_one:
            return 1.0
        if self.mass_zero or self.mass_one:
            u = (u - self.mass_zero) / (1.0 - self.mass_zero - self.mass_one)
            u = min(max(u, 2.0**-33), 1.0 - 2.0**-33)
        return beta_table(float(self.a), float(self.b))(u)


@dataclass(frozen=True)
class MixtureDifficulty:
    """p on finitely many points (for instance a non-parametric maximum-likelihood fit), optionally each with its own w.

    Parameters
    ----------
    p : tuple of float
        Support points in [0, 1].
    weight : tuple of float
        Probabilities, with sum 1.
    w : tuple of float, optional
        Misconception share at each point (a joint law of p and w). Empty: w has a law of its own.
    """

    p: tuple[float, ...]
    weight: tuple[float, ...]
    w: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for field, values in (("p", self.p), ("w", self.w)):
            for value in values:
                require_probability(field, value)
        require_distribution("weight", self.weight)
        if len(self.weight) != len(self.p) or (self.w and len(self.w) != len(self.p)):
            raise ParameterError("p, weight, w", (len(self.p), len(self.weight), len(self.w)), "lists of equal length")

    def nodes(self, degree: int) -> tuple[Floats, Floats]:
        """Return the support points and their weights: exact for every function."""
        return np.array(self.p, dtype=float), np.array(self.weight, dtype=float)

    def number_right(self, n: int) -> Floats:
        """P(i of n answers are right), i = 0 .. n; shape (n + 1,)."""
        return np.asarray(np.array(self.weight) @ self.number_right_by_point(n))

    def number_right_by_point(self, n: int) -> Floats:
        """P(i of n answers are right) at each support point; shape (points, n + 1)."""
        i, p = np.arange(n + 1)[None, :], np.array(self.p)[:, None]
        return np.asarray(np.exp(log_choose(n)[None, :] + xlogy(i, p) + xlog1py(n - i, -p)))

    def mean(self) -> float:
        """E[p], the accuracy of a single answer."""
        return float(np.dot(self.p, self.weight))

    def point(self, u: float) -> int:
        """Index of the support point of a question whose uniform number is u."""
        return min(int(np.searchsorted(self.cumulative(), u, side="right")), len(self.p) - 1)

    def cumulative(self) -> Floats:
        """Cumulative weights, by running sums in the order of the points."""
        return np.cumsum(np.array(self.weight, dtype=float))

    def at(self, u: float) -> float:
        """Quantile: p of a question whose uniform number is u."""
        return self.p[self.point(u)]


@dataclass(frozen=True)
class FixedShare:
    """Every question's misconception draws the same share w of its wrong answers."""

    w: float

    def __post_init__(self) -> None:
        require_probability("w", self.w)

    def nodes(self, degree: int) -> tuple[Floats, Floats]:
        """One node."""
        return np.array([float(self.w)]), np.array([1.0])

    def coincidence(self) -> float:
        """P(two wrong answers to one question coincide) = E[w^2]."""
        return self.w**2

    def at(self, u: float) -> float:
        """Quantile: the fixed share."""
        return float(self.w)


@dataclass(frozen=True)
class BetaShare:
    """w ~ Beta(a, b), independent of p."""

    a: float
    b: float

    def __post_init__(self) -> None:
        require_positive("misconception.a", self.a, high=1e4, low=1e-3)
        require_positive("misconception.b", self.b, high=1e4, low=1e-3)

    def nodes(self, degree: int) -> tuple[Floats, Floats]:
        """Nodes and weights that integrate polynomials of ``degree`` in w exactly."""
        return beta_nodes(float(self.a), float(self.b), degree // 2 + 1)

    def coincidence(self) -> float:
        """P(two wrong answers to one question coincide) = E[w^2]."""
        total = self.a + self.b
        return self.a * (self.a + 1) / (total * (total + 1))

    def at(self, u: float) -> float:
        """Quantile: w of a question whose uniform number is u."""
        return beta_table(float(self.a), float(self.b))(u)


Difficulty = BetaDifficulty | MixtureDifficulty
Share = FixedShare | BetaShare


def question_law(difficulty: Difficulty, share: Share | None, degree: int) -> tuple[Floats, Floats, Floats]:
    """Nodes (p, w) and weights that integrate polynomials of ``degree`` in p and in w exactly.

    Parameters
    ----------
    difficulty : Difficulty
        Law of p.
    share : Share or None
        Law of w; None where the mixture of p carries w itself.
    degree : int
        Degree in p and in w.

    Returns
    -------
    p, w, weight : ndarray of float, shape (nodes,)
    """
    p, weight_p = difficulty.nodes(degree)
    if share is None:
        assert isinstance(difficulty, MixtureDifficulty)
        return p, np.array(difficulty.w, dtype=float), weight_p
    w, weight_w = share.nodes(degree)
    return np.repeat(p, len(w)), np.tile(w, len(p)), np.outer(weight_p, weight_w).ravel()


def draw_question(difficulty: Difficulty, share: Share | None, seed: int, question: int) -> tuple[float, float]:
    """Draw (p, w) of a question from its counters."""
    u = uniform(seed, question, Purpose.DIFFICULTY, 0)
    if share is None:
        assert isinstance(difficulty, MixtureDifficulty)
        point = difficulty.point(u)
        return difficulty.p[point], difficulty.w[point]
    p = difficulty.at(u)
    if isinstance(share, FixedShare):
        return p, float(share.w)
    return p, share.at(uniform(seed, question, Purpose.MISCONCEPTION, 0))
