r"""Laws of (p, w), their likelihood on a question's answers, and their maximum-likelihood fits.

Of n answers k are right and W = n - k wrong; M is the size of the largest cluster of equal wrong answers. Under (p, w)

.. math:: P(k) = Bin(k; n, p), \qquad P(M = m | W) = Bin(m; W, w) \ (m \ge 2), \quad P(M \le 1 | W) = Bin(0; W, w) + Bin(1; W, w),

since strays coincide with nobody's. The pair (k, M) is what decides a plurality. Its likelihood is proper for every log, where that
of the whole partition is zero on every question with two different repeated wrong answers (a quarter of the questions of one real
log): a second repeated wrong answer counts as strays here. Coincidences of pairs and triples of wrong answers enter through M.

Three families for p: Beta; Beta with point masses at 0 and 1; a discrete mixture. Two for w: one fixed share; Beta. And one for
both, a discrete mixture on a grid of (p, w). The product families' likelihoods factor, so that p and w are fitted apart. Beta laws
integrate in closed form (beta-binomial).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, gammaln, xlog1py, xlogy

from ...model.difficulty import BetaDifficulty, BetaShare, Difficulty, FixedShare, MixtureDifficulty, Share, question_law
from ...model.population import DEFAULT_POPULATION, load_population
from .first_answers import FirstAnswers
from .mixture import maximise, sine_grid
from .scoring import maximise_in_box

__all__ = [
    "FAMILIES",
    "FEWEST_FOR_SHARE",
    "FEWEST_FOR_SPREAD",
    "SHAPE_BOUNDS",
    "Family",
    "Kinds",
    "Law",
    "borrowed_share",
    "borrowed_spread",
    "fit_difficulty",
    "fit_joint",
    "fit_share",
    "log_counts",
    "log_joint",
    "log_largest",
    "log_right",
    "posterior",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_LOW_SHAPE, _HIGH_SHAPE = 1.001e-3, 400.0
FEWEST_FOR_SPREAD = 5
"""Fewest questions with two answers or more from which the spread of p is fitted."""

FEWEST_FOR_SHARE = 3
"""Fewest questions with two wrong answers or more from which w is fitted."""

SHAPE_BOUNDS = (float(np.log(_LOW_SHAPE)), float(np.log(_HIGH_SHAPE)))
_SPREAD_BOUNDS = (float(np.log(0.02)), float(np.log(_HIGH_SHAPE)))
_LOGIT_BOUNDS = (-12.0, 8.0)


@dataclass(frozen=True)
class Law:
    """A law of difficulty and misconception; ``misconception`` is None where the mixture of p carries w."""

    difficulty: Difficulty
    misconception: Share | None

    def nodes(self, degree: int) -> tuple[Floats, Floats, Floats]:
        """Nodes p, w and weights that integrate polynomials of ``degree`` in p and in w exactly."""
        return question_law(self.difficulty, self.misconception, degree)

    def coincidence(self) -> float:
        """P(two wrong answers to one question coincide), of a wrong pair taken at random: E[(1-p)^2 w^2] / E[(1-p)^2]."""
        p, w, weight = self.nodes(4)
        wrong = weight * (1 - p) ** 2
        return float(wrong @ w**2 / wrong.sum()) if wrong.sum() > 0 else float("nan")


@dataclass(frozen=True)
class Family:
    """A pair of families, simplest first in :data:`FAMILIES`."""

    p: Literal["beta", "beta with masses", "mixture", "joint mixture"]
    w: Literal["fixed", "beta", "joint"]

    @property
    def name(self) -> str:
        """Words for reports."""
        if self.w == "joint":
            return "joint mixture of p and w"
        return f"p: {self.p}, w: {self.w}"


FAMILIES = (
    Family("beta", "fixed"),
    Family("beta", "beta"),
    Family("beta with masses", "fixed"),
    Family("beta with masses", "beta"),
    Family("mixture", "fixed"),
    Family("mixture", "beta"),
    Family("joint mixture", "joint"),
)
"""All families, in order of complexity."""


@dataclass(frozen=True)
class Kinds:
    """The different (n, k, M) of a log.

    Attributes
    ----------
    size, right, largest : ndarray of int, shape (kinds,)
        n, k and M.
    of_question : ndarray of int, shape (questions,)
        Each question's kind.
    """

    size: Ints
    right: Ints
    largest: Ints
    of_question: Ints

    @classmethod
    def of(cls, first: FirstAnswers) -> Kinds:
        """Kinds of the questions of a log."""
        kinds, index = np.unique(np.stack([first.size, first.right, first.largest]), axis=1, return_inverse=True)
        return cls(kinds[0], kinds[1], kinds[2], index.ravel())

    @property
    def wrong(self) -> Ints:
        """W = n - k."""
        return self.size - self.right

    def counts(self, weight: Floats) -> Floats:
        """Weight of each kind, from a weight of each question."""
        return np.bincount(self.of_question, weights=weight, minlength=len(self.size)).astype(np.float64)


def _log_choose(n: npt.ArrayLike, k: npt.ArrayLike) -> Floats:
    n, k = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def _log_binomial(k: npt.ArrayLike, n: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
    k, n, p = (np.asarray(value, dtype=np.float64) for value in (k, n, p))
    return np.asarray(_log_choose(n, k) + xlogy(k, p) + xlog1py(n - k, -p))


def _log_beta_binomial(k: Ints, n: Ints, a: float, b: float) -> Floats:
    return np.asarray(_log_choose(n, k) + betaln(k + a, n - k + b) - betaln(a, b))


def _log_binomial_largest(m: Ints, wrong: Ints, w: Floats) -> Floats:
    """Log P(M = m | W, w) for arrays that broadcast."""
    single = np.logaddexp(_log_binomial(0, wrong, w), _log_binomial(np.minimum(wrong, 1), wrong, w))
    return np.where(wrong < 2, 0.0, np.where(m >= 2, _log_binomial(m, wrong, w), single))


def _log_mixed(log: Floats, weight: Floats) -> Floats:
    """Log of the mean of exp(log) over the last axis, by weights."""
    top = log.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(log - top) @ weight) + top[..., 0])


def log_counts(law: Difficulty | Share, k: Ints, n: Ints) -> Floats:
    """Log P(k of n) where each of n has the same probability, drawn from a law: of p, or of w; for arrays of equal shape."""
    if isinstance(law, FixedShare):
        return _log_binomial(k, n, float(law.w))
    if isinstance(law, BetaShare):
        return _log_beta_binomial(k, n, law.a, law.b)
    if isinstance(law, MixtureDifficulty):
        p, weight = law.nodes(0)
        return _log_mixed(_log_binomial(k[..., None], n[..., None], p), weight)
    with np.errstate(divide="ignore"):
        inner = np.log(1.0 - law.mass_zero - law.mass_one)
        ends = np.log(law.mass_zero * (k == 0) + law.mass_one * (k == n))
        return np.asarray(np.logaddexp(inner + _log_beta_binomial(k, n, law.a, law.b), ends))


def log_right(difficulty: Difficulty, kinds: Kinds) -> Floats:
    """Log P(k | n) of each kind; shape (kinds,)."""
    return log_counts(difficulty, kinds.right, kinds.size)


def log_largest(share: Share, kinds: Kinds) -> Floats:
    """Log P(M | W) of each kind; shape (kinds,)."""
    m, wrong = kinds.largest, kinds.wrong
    single = np.logaddexp(log_counts(share, np.zeros_like(wrong), wrong), log_counts(share, np.minimum(wrong, 1), wrong))
    return np.where(wrong < 2, 0.0, np.where(m >= 2, log_counts(share, m, wrong), single))


def log_joint(law: Law, kinds: Kinds) -> Floats:
    """Log P(k, M | n) of each kind; shape (kinds,)."""
    if law.misconception is not None:
        return log_right(law.difficulty, kinds) + log_largest(law.misconception, kinds)
    p, w, weight = law.nodes(0)
    return _log_mixed(log_points(kinds, p, w), weight)


def log_points(kinds: Kinds, p: Floats, w: Floats) -> Floats:
    """Log P(k, M | n, p, w) of each kind at each point; shape (kinds, points)."""
    right = _log_binomial(kinds.right[:, None], kinds.size[:, None], p)
    return right + _log_binomial_largest(kinds.largest[:, None], kinds.wrong[:, None], w)


def borrowed_share() -> Share:
    """Return the law of w where a log has too few pairs of wrong answers: the default population's."""
    share = load_population(DEFAULT_POPULATION).misconception
    assert share is not None
    return share


def borrowed_spread() -> float:
    """Return a + b where a log cannot tell it: the default population's."""
    difficulty = load_population(DEFAULT_POPULATION).difficulty
    assert isinstance(difficulty, BetaDifficulty)
    return difficulty.a + difficulty.b


def fit_difficulty(family: str, kinds: Kinds, counts: Floats, start: Difficulty | None = None) -> Difficulty:
    """Fit the law of p by maximum likelihood.

    Parameters
    ----------
    family : {"beta", "beta with masses", "mixture"}
        Family of laws.
    kinds : Kinds
        What occurs.
    counts : ndarray of float, shape (kinds,)
        How often.
    start : Difficulty, optional
        A law of the same family near the answer.
    """
    if family == "mixture":
        return _fit_mixture(kinds, counts, start)
    if family == "beta":
        return _fit_beta(kinds, counts, start)
    return _fit_masses(kinds, counts, start)


def _moment_start(kinds: Kinds, counts: Floats) -> list[float]:
    total = counts.sum()
    mean = float(np.clip(counts @ (kinds.right / kinds.size) / total, 0.02, 0.98))
    return [float(np.log(mean)), float(np.log(1 - mean))]


def _fit_beta(kinds: Kinds, counts: Floats, start: Difficulty | None) -> BetaDifficulty:
    mean = float(counts @ (kinds.right / kinds.size) / counts.sum())
    if mean in (0.0, 1.0):
        return BetaDifficulty(1.0, 1.0, mass_zero=1.0 - mean, mass_one=mean)
    if counts[kinds.size > 1].sum() < FEWEST_FOR_SPREAD:
        total = borrowed_spread()
        return BetaDifficulty(mean * total, (1.0 - mean) * total)

    def log_terms(x: Floats) -> Floats:
        return _log_beta_binomial(kinds.right, kinds.size, *np.exp(x))

    if isinstance(start, BetaDifficulty):
        starts = [[np.log(start.a), np.log(start.b)]]
    else:
        starts = [[x + np.log(total) for x in _moment_start(kinds, counts)] for total in (1.0, 0.02, 300.0)]
    best = max((maximise_in_box(log_terms, counts, s, [SHAPE_BOUNDS] * 2) for s in starts), key=lambda r: r[1])
    a, b = np.exp(best[0])
    return BetaDifficulty(float(a), float(b))


def _fit_masses(kinds: Kinds, counts: Floats, start: Difficulty | None) -> BetaDifficulty:
    def law(x: Floats) -> BetaDifficulty:
        a, b = np.exp(x[:2])
        parts = np.exp(np.array([x[2], x[3], 0.0]) - max(x[2], x[3], 0.0))
        zero, one, _ = parts / parts.sum()
        return BetaDifficulty(float(a), float(b), float(zero), float(one))

    def log_terms(x: Floats) -> Floats:
        return log_right(law(x), kinds)

    if isinstance(start, BetaDifficulty):
        inner = max(1.0 - start.mass_zero - start.mass_one, 1e-6)
        starts = [[np.log(start.a), np.log(start.b), np.log(max(start.mass_zero, 1e-4) / inner), np.log(max(start.mass_one, 1e-4) / inner)]]
    else:
        base = _moment_start(kinds, counts)
        starts = [[*base, -4.0, -4.0], [base[0] + 1, base[1] + 1, -1.5, -1.5], [*base, -5.0, -1.0], [*base, -1.0, -5.0]]
    bounds = [(np.log(0.02), SHAPE_BOUNDS[1])] * 2 + [_LOGIT_BOUNDS] * 2
    best = max((maximise_in_box(log_terms, counts, s, bounds) for s in starts), key=lambda r: r[1])
    found = law(best[0])
    tiny = 2 * float(np.exp(_LOGIT_BOUNDS[0]))
    return BetaDifficulty(
        found.a, found.b, found.mass_zero if found.mass_zero > tiny else 0.0, found.mass_one if found.mass_one > tiny else 0.0
    )


def _points(kinds: Kinds) -> int:
    """Points of the grid of p: finer where more answers a question resolve more."""
    return int(np.clip(20 + 10 * np.sqrt(kinds.size.max()), 41, 161))


def _fit_mixture(kinds: Kinds, counts: Floats, start: Difficulty | None) -> MixtureDifficulty:
    p = sine_grid(_points(kinds))
    log = _log_binomial(kinds.right[:, None], kinds.size[:, None], p)
    weight = maximise(_scaled(log), counts, (len(p),), _on_grid(start, p, None))
    keep = weight > 0
    return MixtureDifficulty(tuple(p[keep].tolist()), _distribution(weight[keep]))


def fit_joint(kinds: Kinds, counts: Floats, start: Law | None = None) -> Law:
    """Fit the joint discrete mixture of p and w by maximum likelihood on a grid.

    Notes
    -----
    At p = 1 there are no wrong answers and w means nothing; these points are left with the one w that is nearest to the middle.
    """
    p, w = sine_grid(_points(kinds)), sine_grid(21)
    of_p = _scaled(_log_binomial(kinds.right[:, None], kinds.size[:, None], p))
    of_w = _scaled(_log_binomial_largest(kinds.largest[:, None], kinds.wrong[:, None], w))
    grid = of_p[:, :, None] * of_w[:, None, :]
    grid[:, -1, np.arange(len(w)) != len(w) // 2] = 0.0
    likelihood = grid.reshape(len(grid), -1)
    weight = maximise(likelihood, counts, (len(p), len(w)), None if start is None else _on_grid(start.difficulty, p, w))
    keep = weight > 0
    return Law(
        MixtureDifficulty(
            tuple(np.repeat(p, len(w))[keep].tolist()), _distribution(weight[keep]), tuple(np.tile(w, len(p))[keep].tolist())
        ),
        None,
    )


def _scaled(log: Floats) -> Floats:
    return np.asarray(np.exp(log - log.max(axis=1, keepdims=True)))


def _distribution(weight: Floats) -> tuple[float, ...]:
    return tuple((weight / weight.sum()).tolist())


def _on_grid(start: Difficulty | None, p: Floats, w: Floats | None) -> Floats | None:
    """Weights of an earlier fit on the same grid."""
    if not isinstance(start, MixtureDifficulty):
        return None
    column = np.searchsorted(p, np.array(start.p) - 1e-9)
    if w is None:
        index, size = column, len(p)
    else:
        index, size = column * len(w) + np.searchsorted(w, np.array(start.w) - 1e-9), len(p) * len(w)
    return np.bincount(index, weights=np.array(start.weight), minlength=size).astype(np.float64)


def fit_share(family: str, kinds: Kinds, counts: Floats, start: Share | None = None) -> Share:
    """Fit the law of w by maximum likelihood on the largest wrong clusters; parameters as of :func:`fit_difficulty`.

    With fewer than ``FEWEST_FOR_SHARE`` questions that have two wrong answers the share is borrowed (:func:`borrowed_share`).
    """
    if counts[kinds.wrong > 1].sum() < FEWEST_FOR_SHARE:
        return borrowed_share()
    if family == "fixed":
        grid = sine_grid(401)
        informed = (kinds.wrong >= 2) & (counts > 0)
        values = counts[informed] @ _log_binomial_largest(kinds.largest[informed, None], kinds.wrong[informed, None], grid)
        return FixedShare(_refined(grid, values))
    first = [np.log(start.a), np.log(start.b)] if isinstance(start, BetaShare) else [0.0, 0.0]

    def log_terms(x: Floats) -> Floats:
        return log_largest(BetaShare(*np.exp(x).tolist()), kinds)

    a, b = np.exp(maximise_in_box(log_terms, counts, first, [_SPREAD_BOUNDS] * 2)[0])
    return BetaShare(float(a), float(b))


def _refined(grid: Floats, values: Floats) -> float:
    """Place of the maximum: of a parabola through the best grid point and its neighbours; an end stays an end."""
    top = int(np.argmax(values))
    if top in (0, len(grid) - 1) or not np.all(np.isfinite(values[top - 1 : top + 2])):
        return float(grid[top])
    x, y = grid[top - 1 : top + 2], values[top - 1 : top + 2]
    second, first, _ = np.polyfit(x - x[1], y, 2)
    return float(np.clip(x[1] - first / (2 * second), x[0], x[2])) if second < 0 else float(x[1])


def posterior(law: Law, kinds: Kinds) -> tuple[Floats, Floats]:
    """Posterior means of p and of the share (1 - p) w of the misconception, for each kind; each of shape (kinds,).

    The law is mixed with a millionth of the ignorant one (p and w uniform), so that a question it holds impossible has a posterior too.
    """
    degree = 2 * int(kinds.size.max()) + 2
    ignorant = Law(BetaDifficulty(1.0, 1.0), BetaShare(1.0, 1.0)).nodes(degree)
    p, w, weight = (np.concatenate(pair) for pair in zip(law.nodes(degree), ignorant, strict=True))
    weight[-len(ignorant[2]) :] *= 1e-6
    log = log_points(kinds, p, w) + np.log(weight)
    mass = np.exp(log - log.max(axis=1, keepdims=True))
    mass /= mass.sum(axis=1, keepdims=True)
    return mass @ p, mass @ ((1 - p) * w)
