r"""The score gap of one judgement: how the judge's two scores differ, given what it sees.

A judge that sees the effective difference e (:mod:`.items`: true difference, its bias, shifts of position and length) answers with a gap
:math:`\delta`, its score of A minus its score of B; noise belongs to the answers, not to the slots.

* :class:`BetaGap`: :math:`g = (1 + \delta)/2 \sim Beta(\nu \mu, \nu (1 - \mu))` with :math:`\mu = \Phi(scale\, e)`, so that mu stays
  inside (0, 1).
* :class:`ZeroInflatedBetaGap`: the same, and :math:`\delta = 0` with probability ``zero``: integer scores tie often.
* :class:`GaussianGap`: :math:`\delta = e + s Z`, unbounded; for closed forms and for logs that hold verdicts only.
* :class:`RubricGap`: six criteria a side, each an integer from 1 to 20: round(level :math:`\pm` scale e / 2 + s Z), clipped.

A gap of at most ``tie`` in size is a verdict "tie". Bounded laws scale :math:`\delta` to [-1, 1]; a rubric's unit is 114 points, the
largest difference of two sums of six criteria.

The exact law needs gaps on a lattice of equal cells (:class:`Lattice`). A continuous law is exact in the probability of each cell; what
happens inside cells is treated to second order in their width.

*Error variance.* On the scale of e, at e = 0: :math:`s^2` (Gaussian), :math:`(\pi/2)/(\nu + 1)` (Beta, since :math:`g` has variance
:math:`1/(4(\nu+1))` and slope :math:`\phi(0)`), that times 1 - zero, :math:`s^2/(3\,scale^2)` (rubric).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.interpolate import make_interp_spline
from scipy.special import betainc, ndtr

from ..checks import require_positive, require_range

__all__ = [
    "CRITERIA",
    "GAP_LAWS",
    "RUBRIC_POINTS",
    "BetaGap",
    "GapLaw",
    "GaussianGap",
    "Lattice",
    "RubricGap",
    "Shifts",
    "SizeCells",
    "ZeroInflatedBetaGap",
]

Floats = npt.NDArray[np.float64]

CRITERIA = 6
TOP_SCORE = 20
RUBRIC_POINTS = CRITERIA * (TOP_SCORE - 1)
"""Largest difference of two sums of six criteria of 1 to 20: the points of one unit of the gap."""

EDGE = 7.0
"""Effective differences are cut off here by bounded laws: Phi(-7) is 1e-12."""


@dataclass(frozen=True, eq=False)
class Shifts:
    """Law of what one call adds to the effective difference (order shown, arguments): discrete, plus an independent Gaussian part.

    Attributes
    ----------
    value, weight : ndarray of float, shape (q,)
        Discrete shifts and their probabilities.
    variance : float
        Variance of the Gaussian part.
    """

    value: Floats
    weight: Floats
    variance: float = 0.0

    @classmethod
    def of(cls, *values: float, variance: float = 0.0) -> Shifts:
        """Equally likely values, plus a Gaussian part."""
        return cls(np.array(values, dtype=float), np.full(len(values), 1 / len(values)), variance)

    def plus(self, other: Shifts) -> Shifts:
        """Law of the sum of two independent shifts."""
        value = np.add.outer(self.value, other.value).ravel()
        return Shifts(value, np.outer(self.weight, other.weight).ravel(), self.variance + other.variance)

    def discrete(self) -> Shifts:
        """Replace the Gaussian part by the nodes of Gauss-Hermite quadrature."""
        if self.variance == 0:
            return self
        node, weight = np.polynomial.hermite_e.hermegauss(32)
        return Shifts(self.value, self.weight).plus(Shifts(math.sqrt(self.variance) * node, weight / weight.sum()))

    @property
    def reach(self) -> float:
        """Largest size of a shift (of the Gaussian part: seven standard deviations)."""
        return float(np.abs(self.value).max()) + 7 * math.sqrt(self.variance)


@dataclass(frozen=True, eq=False)
class Lattice:
    """Equal cells that hold the gaps of a law.

    Attributes
    ----------
    step : float
        Width of a cell.
    low, size : int
        Whole number of the first cell, and how many there are.
    offset : float
        Cell k is centred at (k + offset) step: 1/2 for continuous laws, 0 where k counts points.
    relative : bool
        Whether the centre is added to e (a location family).
    whole : bool
        Whether gaps are whole numbers of steps, so that comparisons are exact.
    atom : bool
        Whether point 0 is an atom among cells that cover two steps each (a zero-inflated law).
    """

    step: float
    low: int
    size: int
    offset: float
    relative: bool
    whole: bool
    atom: bool = False

    def widths(self) -> Floats:
        """Width over which each point's mass is spread; shape (size,)."""
        if self.whole:
            return np.zeros(self.size)
        if not self.atom:
            return np.full(self.size, self.step)
        width = np.full(self.size, 2 * self.step)
        width[-self.low] = 0.0
        return width

    def centres(self, e: Floats) -> Floats:
        """Gaps at the cells; shape (len(e), size)."""
        centre = (self.low + np.arange(self.size) + self.offset) * self.step
        return centre + e[:, None] if self.relative else np.broadcast_to(centre, (len(e), self.size))


@dataclass(frozen=True, eq=False)
class SizeCells:
    """Cells of the size of a Beta gap, finer and finer towards 1, where its density may grow without bound.

    Sizes within 1e-9 of 1 are an atom.

    Attributes
    ----------
    edges : ndarray of float, shape (size,)
        Edges from 0 to 1 - 1e-9. The atom at 1 comes last but one, an atom at 0 (zero-inflated laws) last.
    """

    edges: Floats

    @classmethod
    def make(cls) -> SizeCells:
        """Cells of width 1/128 up to 0.9, then narrower by a factor 0.7 each."""
        plain = np.linspace(0.0, 0.9, 116)
        narrow = 0.1 * 0.7 ** np.arange(1, 52)
        return cls(np.concatenate([plain, 1 - narrow[narrow > 1e-9], [1 - 1e-9]]))

    def centres(self) -> Floats:
        """Middle of each cell; shape (size + 1,)."""
        return np.concatenate([(self.edges[1:] + self.edges[:-1]) / 2, [1.0, 0.0]])

    def widths(self) -> Floats:
        """Width of each cell; shape (size + 1,)."""
        return np.concatenate([np.diff(self.edges), [0.0, 0.0]])


class GapLaw:
    """What every gap law offers; ``e`` is an array of effective differences."""

    law: ClassVar[str]
    tie: float

    @property
    def tie_gap(self) -> float:
        """Gaps of at most this size are ties."""
        return self.tie

    def mean_tie(self, count: int) -> float:
        """Means of ``count`` gaps of at most this size are ties."""
        return self.tie_gap

    @property
    def error_variance(self) -> float:
        """Variance of one judgement's noise on the scale of e, at e = 0."""
        raise NotImplementedError

    @property
    def flat_beyond(self) -> float:
        """Effective differences beyond this size make no difference to the law."""
        return math.inf

    def with_error_variance(self, variance: float) -> Any:
        """Return the law whose :attr:`error_variance` is this."""
        raise NotImplementedError

    def below(self, e: Floats, gap: float) -> Floats:
        """P(delta < gap | e), for every e."""
        raise NotImplementedError

    def at_most(self, e: Floats, gap: float) -> Floats:
        """P(delta <= gap | e), for every e."""
        return self.below(e, gap)

    def lattice(self, cells: int, reach: float) -> Lattice:
        """Cells that hold the law.

        Parameters
        ----------
        cells : int
            How many, about (laws of whole points have their own number).
        reach : float
            Largest shift that will be added to e.
        """
        raise NotImplementedError

    def masses(self, lattice: Lattice, e: Floats, shifts: Shifts, factor: float = 1.0) -> Floats:
        """Probabilities of the cells given e and a law of shifts.

        Parameters
        ----------
        lattice : Lattice
            From :meth:`lattice`.
        e : ndarray of float, shape (n,)
            Effective differences.
        shifts : Shifts
            Added to e.
        factor : float
            Factor on the noise's standard deviation (Gaussian only).

        Returns
        -------
        ndarray of float, shape (n, cells), or (1, cells) where the law is a location family
        """
        raise NotImplementedError

    def verdicts(self, e: Floats) -> Floats:
        """P(verdict A), P(tie), P(verdict B) of one judgement; shape of e plus (3,)."""
        b = self.below(e, -self.tie_gap)
        a = 1.0 - self.at_most(e, self.tie_gap)
        return np.stack([a, np.maximum(1.0 - a - b, 0.0), b], axis=-1)

    def classes(self, e: Floats, shifts: Shifts, factor: float = 1.0) -> Floats:
        """Probabilities of (verdict, sign of the gap): (A, +), (tie, +), (tie, 0), (tie, -), (B, -); shape (n, 5)."""

        def upto(x: Floats) -> Floats:
            ends = (self.below(x, -self.tie_gap), self.below(x, 0.0), self.at_most(x, 0.0), self.at_most(x, self.tie_gap))
            return np.stack(ends, axis=-1)

        cumulative = _mixed(upto, e, shifts, self.error_variance)
        steps = np.diff(np.concatenate([0 * cumulative[:, :1], cumulative, 1 + 0 * cumulative[:, :1]], axis=1), axis=1)
        return np.asarray(np.maximum(steps[:, ::-1], 0.0))


@dataclass(frozen=True)
class GaussianGap(GapLaw):
    """delta = e + sd Z.

    Parameters
    ----------
    sd : float
        Standard deviation of a judgement's noise.
    tie : float
        Gaps of at most this size are ties.
    factor : float
        The noise of round r has standard deviation sd factor^(r - 1).
    """

    law: ClassVar[str] = "gaussian"
    sd: float = 0.5
    tie: float = 0.0
    factor: float = 1.0

    def __post_init__(self) -> None:
        require_positive("sd", self.sd, high=100, low=1e-3)
        require_range("tie", self.tie, 0, 100)
        require_positive("factor", self.factor, high=10, low=0.1)

    @property
    def error_variance(self) -> float:
        """Variance of one judgement's noise on the scale of e."""
        return self.sd**2

    def with_error_variance(self, variance: float) -> GaussianGap:
        """Return the law with this error variance."""
        return replace(self, sd=math.sqrt(variance))

    def below(self, e: Floats, gap: float) -> Floats:
        """P(delta < gap | e)."""
        return np.asarray(ndtr((gap - e) / self.sd))

    def classes(self, e: Floats, shifts: Shifts, factor: float = 1.0) -> Floats:
        """Probabilities of (verdict, sign), the shifts' Gaussian part added to the noise."""
        wide = replace(self, sd=math.sqrt((self.sd * factor) ** 2 + shifts.variance))
        return GapLaw.classes(wide, e, Shifts(shifts.value, shifts.weight))

    def lattice(self, cells: int, reach: float) -> Lattice:
        """Cells over +- (7 sd + reach) around e."""
        half = cells // 2
        return Lattice((7 * self.sd + reach) / half, -half, 2 * half, 0.5, relative=True, whole=False)

    def masses(self, lattice: Lattice, e: Floats, shifts: Shifts, factor: float = 1.0) -> Floats:
        """Probabilities of the cells around e; shape (1, cells)."""
        edges = (lattice.low + np.arange(lattice.size + 1)) * lattice.step
        sd = math.sqrt((self.sd * factor) ** 2 + shifts.variance)
        upto = shifts.weight @ ndtr((edges[None, :] - shifts.value[:, None]) / sd)
        return _cells(upto[None, :])


@dataclass(frozen=True)
class BetaGap(GapLaw):
    """g = (1 + delta)/2 ~ Beta(nu mu, nu (1 - mu)) with mu = Phi(scale e).

    Parameters
    ----------
    nu : float
        Concentration: large where repeated judgements agree.
    scale : float
        How strongly the judge's scores spread: small where it gives close scores to unlike answers.
    tie : float
        Gaps of at most this size are ties: half a step where scores have steps, of which a gap is rounded to the nearest.
    """

    law: ClassVar[str] = "beta"
    nu: float = 10.0
    scale: float = 1.0
    tie: float = 0.0

    def __post_init__(self) -> None:
        require_positive("nu", self.nu, high=1e4, low=0.05)
        require_positive("scale", self.scale, high=100, low=1e-3)
        require_range("tie", self.tie, 0, 1)

    def mean_tie(self, count: int) -> float:
        """Means of ``count`` gaps of at most this size are ties: half a step of the sum, which steps as one gap does."""
        return self.tie / count

    @property
    def error_variance(self) -> float:
        """Variance of one judgement's noise on the scale of e, at e = 0."""
        return math.pi / 2 / (self.nu + 1) / self.scale**2

    @property
    def flat_beyond(self) -> float:
        """Effective differences beyond this size make no difference to the law."""
        return EDGE / self.scale

    def with_error_variance(self, variance: float) -> BetaGap:
        """Return the law with this error variance."""
        return replace(self, nu=math.pi / 2 / (variance * self.scale**2) - 1)

    def below(self, e: Floats, gap: float) -> Floats:
        """P(delta < gap | e)."""
        return beta_cdf(self.nu, self.scale * e, (1 + gap) / 2)

    def lattice(self, cells: int, reach: float) -> Lattice:
        """Equal cells of [-1, 1]; more of them, up to four times as many, where the law is narrow."""
        half = min(max(cells, math.ceil(cells / 22 * math.sqrt(self.nu + 1))), 4 * cells) // 2
        return Lattice(1 / half, -half, 2 * half, 0.5, relative=False, whole=False)

    def masses(self, lattice: Lattice, e: Floats, shifts: Shifts, factor: float = 1.0) -> Floats:
        """Probabilities of the cells; shape (n, cells)."""
        edges = (lattice.low + np.arange(1, lattice.size)) * lattice.step
        inner = _mixed(lambda x: beta_cdf(self.nu, self.scale * x[:, None], (1 + edges[None, :]) / 2), e, shifts, self.error_variance)
        ends = np.zeros((len(e), 1)), np.ones((len(e), 1))
        return _cells(np.concatenate([ends[0], inner, ends[1]], axis=1))

    def size_masses(self, cells: SizeCells, e: Floats, shifts: Shifts) -> Floats:
        """Probabilities of the cells of the gap's size; shape (n, cells + 2 atoms)."""
        upper = np.concatenate([(1 - cells.edges) / 2, [0.0]])

        def outside(x: Floats) -> Floats:
            mean = self.scale * x[:, None]
            return beta_cdf(self.nu, mean, upper[None, :]) + beta_cdf(self.nu, -mean, upper[None, :])

        mass = np.maximum(-np.diff(_mixed(outside, e, shifts, self.error_variance), axis=1), 0.0)
        return np.concatenate([mass, np.zeros((len(e), 1))], axis=1)


@dataclass(frozen=True)
class ZeroInflatedBetaGap(GapLaw):
    """delta = 0 with probability ``zero``, else as :class:`BetaGap`.

    Parameters
    ----------
    nu : float
        Concentration of the continuous part.
    zero : float
        P(the two scores are equal), whatever e.
    scale : float
        As of :class:`BetaGap`.
    tie : float
        As of :class:`BetaGap`.
    """

    law: ClassVar[str] = "zero_inflated_beta"
    nu: float = 10.0
    zero: float = 0.1
    scale: float = 1.0
    tie: float = 0.0

    def __post_init__(self) -> None:
        require_positive("nu", self.nu, high=1e4, low=0.05)
        require_positive("scale", self.scale, high=100, low=1e-3)
        require_range("zero", self.zero, 0, 0.99)
        require_range("tie", self.tie, 0, 1)

    def mean_tie(self, count: int) -> float:
        """Means of ``count`` gaps of at most this size are ties."""
        return self.plain.mean_tie(count)

    @property
    def error_variance(self) -> float:
        """Variance of one judgement's noise on the scale of e, at e = 0."""
        return (1 - self.zero) * self.plain.error_variance

    @property
    def flat_beyond(self) -> float:
        """Effective differences beyond this size make no difference to the law."""
        return self.plain.flat_beyond

    def with_error_variance(self, variance: float) -> ZeroInflatedBetaGap:
        """Return the law with this error variance and the same share of zeros."""
        return replace(self, nu=self.plain.with_error_variance(variance / (1 - self.zero)).nu)

    @property
    def plain(self) -> BetaGap:
        """Law of the gap where the scores differ."""
        return BetaGap(self.nu, self.scale, self.tie)

    def below(self, e: Floats, gap: float) -> Floats:
        """P(delta < gap | e)."""
        return (1 - self.zero) * self.plain.below(e, gap) + (self.zero if gap > 0 else 0.0)

    def at_most(self, e: Floats, gap: float) -> Floats:
        """P(delta <= gap | e)."""
        return (1 - self.zero) * self.plain.below(e, gap) + (self.zero if gap >= 0 else 0.0)

    def lattice(self, cells: int, reach: float) -> Lattice:
        """Points of [-1, 1] at half the cells' width: the continuous part lives on the odd ones, the zero on point 0."""
        half = self.plain.lattice(cells, reach).size // 2
        return Lattice(1 / (2 * half), 1 - 2 * half, 4 * half - 1, 0.0, relative=False, whole=False, atom=True)

    def masses(self, lattice: Lattice, e: Floats, shifts: Shifts, factor: float = 1.0) -> Floats:
        """Probabilities of the points; shape (n, points)."""
        half = (lattice.size + 1) // 4
        cells = Lattice(1 / half, -half, 2 * half, 0.5, relative=False, whole=False)
        mass = np.zeros((len(e), lattice.size))
        mass[:, ::2] = (1 - self.zero) * self.plain.masses(cells, e, shifts)
        mass[:, -lattice.low] += self.zero
        return mass

    def size_masses(self, cells: SizeCells, e: Floats, shifts: Shifts) -> Floats:
        """Probabilities of the cells of the gap's size; shape (n, cells + 2 atoms)."""
        mass = (1 - self.zero) * self.plain.size_masses(cells, e, shifts)
        mass[:, -1] += self.zero
        return mass


@dataclass(frozen=True)
class RubricGap(GapLaw):
    """Six criteria a side, integers from 1 to 20: round(level +- scale e / 2 + sd Z), clipped; the gap is the difference of the sums.

    Parameters
    ----------
    level : float
        Mean criterion score of both sides at e = 0.
    scale : float
        Points of one criterion that a unit of e moves the sides apart.
    sd : float
        Standard deviation of a criterion's noise, in points.
    tie : float
        Gaps of at most this many points are ties.
    """

    law: ClassVar[str] = "rubric"
    level: float = 15.3
    scale: float = 3.4
    sd: float = 2.8
    tie: float = 0.0

    def __post_init__(self) -> None:
        require_range("level", self.level, 1, TOP_SCORE)
        require_positive("scale", self.scale, high=100, low=1e-3)
        require_positive("sd", self.sd, high=100, low=0.3)
        require_range("tie", self.tie, 0, RUBRIC_POINTS)

    @property
    def tie_gap(self) -> float:
        """Gaps of at most this size are ties."""
        return self.tie / RUBRIC_POINTS

    @property
    def error_variance(self) -> float:
        """Variance of one judgement's noise on the scale of e, at e = 0, without rounding and clipping."""
        return self.sd**2 / (3 * self.scale**2)

    @property
    def flat_beyond(self) -> float:
        """Effective differences beyond this size make no difference to the law: every criterion is at an end of its scale."""
        return (2 * TOP_SCORE + 16 * self.sd) / self.scale

    def with_error_variance(self, variance: float) -> RubricGap:
        """Return the law with this error variance."""
        return replace(self, sd=self.scale * math.sqrt(3 * variance))

    def points(self, e: Floats) -> Floats:
        """P(gap = -114 .. 114 points | e); shape (n, 229)."""
        scores = np.arange(1, TOP_SCORE)
        sides = []
        for sign in (0.5, -0.5):
            upto = ndtr((scores[None, :] + 0.5 - self.level - sign * self.scale * e[:, None]) / self.sd)
            one = np.diff(np.concatenate([np.zeros((len(e), 1)), upto, np.ones((len(e), 1))], axis=1), axis=1)
            sides.append(_power(one, CRITERIA))
        return _convolve(sides[0], sides[1][:, ::-1])

    def below(self, e: Floats, gap: float) -> Floats:
        """P(delta < gap | e); gap in units of 114 points."""
        return self._upto(e, math.ceil(gap * RUBRIC_POINTS - 1e-9) - 1)

    def at_most(self, e: Floats, gap: float) -> Floats:
        """P(delta <= gap | e)."""
        return self._upto(e, math.floor(gap * RUBRIC_POINTS + 1e-9))

    def _upto(self, e: Floats, points: int) -> Floats:
        if not -RUBRIC_POINTS <= points < RUBRIC_POINTS:
            return np.full(np.shape(e), float(points >= RUBRIC_POINTS))
        spline, edge = _rubric_cdf(self, points)
        return np.asarray(np.clip(spline(np.clip(e, -edge, edge)), 0.0, 1.0))

    def lattice(self, cells: int, reach: float) -> Lattice:
        """Whole points from -114 to 114."""
        return Lattice(1 / RUBRIC_POINTS, -RUBRIC_POINTS, 2 * RUBRIC_POINTS + 1, 0.0, relative=False, whole=True)

    def masses(self, lattice: Lattice, e: Floats, shifts: Shifts, factor: float = 1.0) -> Floats:
        """Probabilities of the points; shape (n, 229)."""
        return _mixed(self.points, e, shifts, self.error_variance)


@lru_cache(maxsize=16)
def _rubric_table(law: RubricGap) -> tuple[Floats, Floats]:
    """Cumulative probabilities of a rubric's points on a grid of e beyond whose ends every criterion is at its own end."""
    edge = law.flat_beyond
    step = law.sd / law.scale / 6
    grid = np.linspace(-edge, edge, 2 * math.ceil(edge / step) + 1)
    return grid, np.cumsum(law.points(grid), axis=1)


@lru_cache(maxsize=64)
def _rubric_cdf(law: RubricGap, points: int) -> tuple[Any, float]:
    """P(gap <= points | e) as a function of e (spline of order 8), and where its grid ends."""
    grid, cumulative = _rubric_table(law)
    return make_interp_spline(grid, cumulative[:, points + RUBRIC_POINTS], k=7), float(grid[-1])


GAP_LAWS: dict[str, type[GapLaw]] = {law.law: law for law in (BetaGap, ZeroInflatedBetaGap, GaussianGap, RubricGap)}


def beta_cdf(nu: float, e: Floats, g: Any) -> Floats:
    """P(Beta(nu Phi(e), nu Phi(-e)) <= g), e cut off at +-7; broadcasts."""
    e = np.clip(e, -EDGE, EDGE)
    return np.asarray(betainc(nu * ndtr(e), nu * ndtr(-e), g))


def _cells(upto: Floats) -> Floats:
    mass = np.maximum(np.diff(upto, axis=1), 0.0)
    return np.asarray(mass / mass.sum(axis=1, keepdims=True))


def _mixed(law: Callable[[Floats], Floats], e: Floats, shifts: Shifts, variance: float) -> Floats:
    """Average of law(e + shift) over the shifts; by a spline in e (order 8) where many values are asked for."""
    shifts = shifts.discrete()
    points = np.add.outer(e, shifts.value)
    low, high = float(points.min()), float(points.max())
    nodes = max(16, math.ceil((high - low) / (min(math.sqrt(variance), 1.0) / 4)) + 8)
    if points.size <= nodes:
        values = law(points.ravel())
    else:
        grid = np.linspace(low, high, nodes)
        values = make_interp_spline(grid, law(grid), k=7)(points.ravel())
    return np.asarray(np.einsum("q,nqm->nm", shifts.weight, values.reshape(*points.shape, -1)))


def _convolve(x: Floats, y: Floats) -> Floats:
    """Row by row convolution."""
    total = np.zeros((x.shape[0], x.shape[1] + y.shape[1] - 1))
    for k in range(y.shape[1]):
        total[:, k : k + x.shape[1]] += y[:, k : k + 1] * x
    return total


def _power(x: Floats, times: int) -> Floats:
    result = x
    for _ in range(times - 1):
        result = _convolve(result, x)
    return result
