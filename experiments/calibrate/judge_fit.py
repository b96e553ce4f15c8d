r"""Maximum likelihood of one judge's parameters, given the labels.

An item's calls are independent given the judge's effective difference :math:`e = x + b` and its position shift p there, so with
:math:`T(o | y)` the probability of an observation o (a verdict, or a gap of scores on its lattice) at effective difference y,

.. math:: L_i = (1 - u) \int P(label_i, e) \int P(p) \prod_{calls} T(o \mid e \pm (position + p)) \; + \; u\, P(label_i) [\text{all ties}].

The true difference has standard deviation 1, which fixes the scale; the human label is taken as its sign without noise, with a band of
ties: noise that the label has and bias that all judges share cannot be told apart from such a log.

Parameters, unbounded: log sigma_b, position, log position_sd, logit undecided, logit of the repeat correlation r (which gives the gap's
noise: :math:`s^2 = (1 - r)/r\,(1 + \sigma_b^2 + position\_sd^2)`), and those of the gap law. What a log cannot tell stays fixed: without
both orders the position is 0; without repeats in the same order r is borrowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import expit, logit, ndtr, ndtri

from ...model.judging import BetaGap, GaussianGap, ItemLaw, Judge, ZeroInflatedBetaGap
from ...model.judging.gaps import GapLaw, beta_cdf

__all__ = ["BORROWED_REPEAT", "GAP_FAMILIES", "JudgeData", "JudgeFit", "fit_judge", "label_law"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BORROWED_REPEAT = 0.85
"""Repeat correlation of GPT-4 scoring 2,000 texts five times (intra-class correlation), used where a log has one call an item."""

GAP_FAMILIES = ("beta", "zero_inflated_beta")
"""Laws of the gap of two scores; verdicts alone have a Gaussian gap with a band of ties."""
_NAMES = ("log_sigma_b", "position", "log_position_sd", "logit_undecided", "logit_repeat")
_BOUNDS = ((-4.0, 2.5), (-8.0, 8.0), (-4.0, 2.5), (-9.0, 2.0), (float(logit(0.3)), float(logit(0.999))))
_START = (-0.1, 0.0, -0.7, -3.0, float(logit(BORROWED_REPEAT)))
_EXTRAS = {
    "verdict": (("log_tie",), ((-5.0, 2.5),), (-1.2,)),
    "beta": (("log_scale",), ((-5.0, 2.0),), (-1.0,)),
    "zero_inflated_beta": (("log_scale", "logit_zero"), ((-5.0, 2.0), (-9.0, 3.0)), (-1.0, -2.0)),
}
_E_NODES, _E_REACH = 81, 5.5
_P_NODES, _P_REACH = 41, 4.5
_STEP_IN_NOISES = 1.25
"""Widest step of the sums over e and the shift: the trapezoid rule on what noise of sd s smooths errs by exp(-2 (pi s / step)^2)."""
_MOST_NODES = 301
"""Of either sum: what a repeat correlation of .999 asks for; a gap law at the end of its range may ask for thousands."""
_MOST_AT_ONCE = 2**22
"""Numbers of the integrand held at once."""
_FLOOR = 1e-12
_SMALL_SHIFT = math.log(0.05)


def label_law(shares: Sequence[float]) -> ItemLaw:
    """Law of the true difference (sd 1) whose labels A, tie, B have these shares."""
    a, b = float(ndtri(shares[0])), float(ndtri(shares[2]))
    return ItemLaw(mean_x=(a - b) / 2, sigma_x=1.0, tie_band=max(-(a + b) / 2, 0.0))


@dataclass(frozen=True, eq=False)
class JudgeData:
    """One judge's calls.

    Attributes
    ----------
    name : str
        The judge.
    item, order, symbol : ndarray of int, shape (calls,)
        Item code; 0 for AB and 1 for BA; place of the observation in ``gaps`` (for verdicts: 0 B, 1 tie, 2 A).
    label : ndarray of int, shape (items,)
        0 for A, 1 for a tie, 2 for B, -1 where unknown.
    gaps : ndarray of float or None
        The distinct gaps, ascending, on [-1, 1]; None for verdicts.
    step : float
        Distance of neighbouring gaps, in units of the largest gap.
    """

    name: str
    item: Ints
    order: Ints
    symbol: Ints
    label: Ints
    gaps: Floats | None = None
    step: float = 0.0

    @property
    def symbols(self) -> int:
        """Number of distinct observations."""
        return 3 if self.gaps is None else len(self.gaps)

    @property
    def tie_symbol(self) -> int:
        """Symbol of a tie; -1 where none was seen."""
        if self.gaps is None:
            return 1
        at = np.nonzero(np.abs(self.gaps) < 1e-9)[0]
        return int(at[0]) if len(at) else -1

    @cached_property
    def items(self) -> Ints:
        """Codes of the items judged, ascending."""
        return np.unique(self.item)

    @cached_property
    def counts(self) -> csr_matrix:
        """Calls by item (row of ``items``) and order-symbol."""
        row = np.searchsorted(self.items, self.item)
        return csr_matrix((np.ones(len(row)), (row, self.order * self.symbols + self.symbol)), shape=(len(self.items), 2 * self.symbols))

    @cached_property
    def patterns(self) -> tuple[csr_matrix, Ints, Ints, npt.NDArray[np.bool_]]:
        """Distinct rows: counts, label, pattern of each item, and whether all calls are ties."""
        dense = self.counts.toarray()
        key = np.column_stack([self.label[self.items], dense])
        distinct, pattern = np.unique(key, axis=0, return_inverse=True)
        counts = distinct[:, 1:]
        tied = np.zeros(counts.shape[1], dtype=bool)
        if self.tie_symbol >= 0:
            tied[[self.tie_symbol, self.symbols + self.tie_symbol]] = True
        return csr_matrix(counts), distinct[:, 0].astype(np.int64), pattern.ravel(), counts[:, ~tied].sum(axis=1) == 0

    @property
    def has_both_orders(self) -> bool:
        """Whether both orders were used."""
        return len(np.unique(self.order)) == 2

    @property
    def has_repeats(self) -> bool:
        """Whether any item was judged twice in one order."""
        return bool(self.counts.max() > 1 or np.any(self._calls_by_order() > 1))

    @property
    def has_several_calls(self) -> bool:
        """Whether any item was judged more than once."""
        return bool(np.any(self._calls_by_order().sum(axis=1) > 1))

    def _calls_by_order(self) -> Floats:
        dense = self.counts.toarray().reshape(len(self.items), 2, self.symbols)
        return np.asarray(dense.sum(axis=2))


@dataclass(frozen=True, eq=False)
class JudgeFit:
    """A judge's parameters.

    Attributes
    ----------
    data : JudgeData
        What was fitted.
    items : ItemLaw
        Law of labels.
    family : str
        ``verdict`` or the gap law's name.
    names : tuple of str
        Free parameters, on the unbounded scale.
    theta : ndarray of float, shape (free,)
        Their estimates.
    fixed : mapping of str to float
        Parameters that the log cannot tell.
    log_likelihood : float
        At the estimates, nats.
    scores : ndarray of float, shape (items of the judge, free)
        Gradient of each item's log-likelihood.
    """

    data: JudgeData
    items: ItemLaw
    family: str
    names: tuple[str, ...]
    theta: Floats
    fixed: dict[str, float]
    log_likelihood: float
    scores: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return 2 * len(self.theta) - 2 * self.log_likelihood

    @property
    def borrows_repeat(self) -> bool:
        """Whether the repeat correlation is borrowed: no call was repeated, and the two orders did not give it away."""
        return "logit_repeat" in self.fixed

    def judge(self, theta: Floats | None = None, loading: float = 0.5) -> Judge:
        """Judge of the estimates, or of other parameters."""
        values = {**self.fixed, **dict(zip(self.names, self.theta if theta is None else theta, strict=True))}
        return Judge(
            name=self.data.name,
            sigma_b=math.exp(values["log_sigma_b"]),
            loading=loading,
            position=float(values["position"]),
            position_sd=math.exp(values["log_position_sd"]) if values["log_position_sd"] > _BOUNDS[2][0] + 1e-6 else 0.0,
            undecided=float(expit(values["logit_undecided"])) if values["logit_undecided"] > _BOUNDS[3][0] + 1e-6 else 0.0,
            gap=gap_law(self.family, values, self.data.step / 2),
        )

    def repeat_correlation(self, theta: Floats | None = None) -> float:
        """Correlation of what two calls of one order see: the share of the variance that repeats."""
        values = {**self.fixed, **dict(zip(self.names, self.theta if theta is None else theta, strict=True))}
        return float(expit(values["logit_repeat"]))

    def step(self, weight: Floats) -> Floats:
        """Estimates of a reweighted log by one step of Fisher scoring; ``weight`` has one entry an item of the log, 1 as it is."""
        w = weight[self.data.items]
        information = self.scores.T @ self.scores
        scale = np.sqrt(np.maximum(np.diag(information), 1e-12))
        inverse = np.linalg.pinv(information / np.outer(scale, scale), rcond=1e-4) / np.outer(scale, scale)
        change = inverse @ (self.scores.T @ (w - 1.0))
        return np.asarray(self.theta + np.clip(change, -1.5, 1.5))

    def marginal(self) -> Floats:
        """Fitted probabilities of the observations over all calls; shape (symbols,)."""
        judge = self.judge()
        sd = math.sqrt(1 + judge.sigma_b**2 + judge.position_sd**2)
        z, w = np.polynomial.hermite_e.hermegauss(64)
        total = np.zeros(self.data.symbols)
        for sign in (1, -1):
            y = self.items.mean_x + sign * judge.position + sd * z
            total += (w / w.sum()) @ observation_table(judge.gap, self.data, y).T / 2
        total *= 1 - judge.undecided
        if self.data.tie_symbol >= 0:
            total[self.data.tie_symbol] += judge.undecided
        return np.asarray(total)


def gap_law(family: str, values: dict[str, float], half_step: float = 0.0) -> GapLaw:
    """Gap law of a family from unbounded parameters; gaps of scores within half a step are ties."""
    r = float(expit(values["logit_repeat"]))
    spread = 1 + math.exp(2 * values["log_sigma_b"]) + math.exp(2 * values["log_position_sd"])
    variance = (1 - r) / r * spread
    if family == "verdict":
        return GaussianGap(sd=max(math.sqrt(variance), 1e-3), tie=math.exp(values["log_tie"]))
    scale = math.exp(values["log_scale"])
    zero = float(expit(values["logit_zero"])) if family == "zero_inflated_beta" else 0.0
    nu = min(max((1 - zero) * math.pi / 2 / (variance * scale**2) - 1, 0.05), 1e4)
    return ZeroInflatedBetaGap(nu, zero, scale, half_step) if family == "zero_inflated_beta" else BetaGap(nu, scale, half_step)


def observation_table(gap: GapLaw, data: JudgeData, y: Floats) -> Floats:
    """P(observation | effective difference y); shape (symbols, len(y)).

    A continuous gap is rounded to the nearest possible difference of scores.
    """
    if data.gaps is None:
        return np.maximum(gap.verdicts(y)[:, ::-1].T, _FLOOR)
    plain = gap.plain if isinstance(gap, ZeroInflatedBetaGap) else gap
    assert isinstance(plain, BetaGap)
    whole = np.round(data.gaps / data.step)
    halves, at = np.unique(np.stack([2 * whole - 1, 2 * whole + 1]), return_inverse=True)
    upto = beta_cdf(plain.nu, plain.scale * y, np.clip((1 + halves * data.step / 2) / 2, 0.0, 1.0)[:, None])
    low, high = at.reshape(2, -1)
    mass = upto[high] - upto[low]
    if isinstance(gap, ZeroInflatedBetaGap):
        mass = (1 - gap.zero) * mass + gap.zero * (whole == 0)[:, None]
    return np.maximum(mass, _FLOOR)


def fit_judge(data: JudgeData, items: ItemLaw, family: str, repeat: float = BORROWED_REPEAT) -> JudgeFit:
    """Fit a judge by maximum likelihood.

    Parameters
    ----------
    data : JudgeData
        Its calls.
    items : ItemLaw
        Law of labels.
    family : {"verdict", "beta", "zero_inflated_beta"}
        What gaps follow.
    repeat : float
        Repeat correlation to borrow where no call was repeated in the same order: two orders alone cannot tell noise from shifts that
        differ from item to item. Where even no such shift leaves the two orders closer than that, it is fitted after all.
    """
    if data.has_repeats:
        return _fit(data, items, family, {})
    borrowed = {"logit_repeat": float(logit(repeat))}
    fit = _fit(data, items, family, borrowed)
    if "log_position_sd" in fit.names and fit.theta[fit.names.index("log_position_sd")] < _SMALL_SHIFT:
        return _fit(data, items, family, {"log_position_sd": _BOUNDS[2][0]})
    return fit


def _fit(data: JudgeData, items: ItemLaw, family: str, fixed: dict[str, float]) -> JudgeFit:
    extra_names, extra_bounds, extra_start = _EXTRAS[family]
    names, bounds, first = [*_NAMES, *extra_names], [*_BOUNDS, *extra_bounds], [*_START, *extra_start]
    fixed = dict(fixed)
    if not data.has_both_orders:
        fixed |= {"position": 0.0, "log_position_sd": _BOUNDS[2][0]}
    if not data.has_several_calls:
        fixed |= {"logit_repeat": float(logit(BORROWED_REPEAT)), "logit_undecided": _BOUNDS[3][0]}
    if data.tie_symbol < 0 or not np.any(data.symbol == data.tie_symbol):
        fixed |= {"logit_undecided": _BOUNDS[3][0]}
        if "log_tie" in names:
            fixed["log_tie"] = _EXTRAS["verdict"][1][0][0]
        if "logit_zero" in names:
            fixed["logit_zero"] = _EXTRAS["zero_inflated_beta"][1][1][0]
    free = [k for k, name in enumerate(names) if name not in fixed]
    chosen = tuple(names[k] for k in free)
    likelihood = _likelihood(data, items, family, chosen, fixed)
    pattern = data.patterns[2]
    weight = np.bincount(pattern).astype(float)

    def loss(theta: Floats) -> float:
        return -float(weight @ likelihood(theta))

    limits = [bounds[k] for k in free]
    found = minimize(loss, np.array([first[k] for k in free]), method="L-BFGS-B", bounds=limits, options={"maxiter": 200})
    theta = np.asarray(found.x)
    scores = _scores(likelihood, theta, limits)[pattern]
    return JudgeFit(data, items, family, chosen, theta, fixed, -float(found.fun), scores)


def _likelihood(
    data: JudgeData, items: ItemLaw, family: str, names: tuple[str, ...], fixed: dict[str, float]
) -> Callable[[Floats], Floats]:
    """Return a function of the free parameters that gives every pattern's log-likelihood."""
    counts, label, _, tied = data.patterns
    m, band = items.mean_x, items.tie_band
    plain = np.array([ndtr(m - band), ndtr(m + band) - ndtr(m - band), ndtr(-band - m)])

    def evaluate(theta: Floats) -> Floats:
        values = {**fixed, **dict(zip(names, theta, strict=True))}
        variance, shift_sd = math.exp(2 * values["log_sigma_b"]), math.exp(values["log_position_sd"])
        gap = gap_law(family, values)
        noise = math.sqrt(gap.error_variance)
        z, density = _normal_grid(_E_REACH, math.sqrt(1 + variance) / noise, _E_NODES)
        q, share = _normal_grid(_P_REACH, shift_sd / noise, _P_NODES)
        e = m + math.sqrt(1 + variance) * z
        seen, rest = m + (e - m) / (1 + variance), math.sqrt(variance / (1 + variance))
        a, b = ndtr((seen - band) / rest), ndtr((-band - seen) / rest)
        weight = np.stack([a, np.maximum(1 - a - b, 0.0), b, np.ones_like(a)]) * density
        shift = values["position"] + shift_sd * q
        logs = _log_tables(gap, data, e[:, None] + shift, e[:, None] - shift)
        flat = logs.reshape(2 * data.symbols, -1)
        at_once = max(1, _MOST_AT_ONCE // flat.shape[1])
        inner = np.concatenate(
            [
                np.exp(counts[start : start + at_once] @ flat).reshape(-1, len(z), len(q)) @ share
                for start in range(0, counts.shape[0], at_once)
            ]
        )
        undecided = float(expit(values["logit_undecided"]))
        likely = (1 - undecided) * np.einsum("ke,ke->k", inner, weight[label])
        likely = likely + undecided * tied * np.append(plain, 1.0)[label]
        return np.asarray(np.log(np.maximum(likely, 1e-300)))

    return evaluate


def _normal_grid(reach: float, spread_in_noises: float, least: int) -> tuple[Floats, Floats]:
    """Even grid of a standard normal and its weights, as fine as noise asks that has ``1 / spread_in_noises`` of the spread."""
    nodes = min(max(least, math.ceil(2 * reach * spread_in_noises / _STEP_IN_NOISES) + 1), _MOST_NODES)
    z = np.linspace(-reach, reach, nodes)
    density = np.exp(-(z**2) / 2)
    return z, density / density.sum()


def _log_tables(gap: GapLaw, data: JudgeData, first: Floats, second: Floats) -> Floats:
    """Log-probabilities of the observations at y = e + shift (AB) and e - shift (BA); shape (2, symbols, e, p).

    Score gaps are tabulated on a grid of y and interpolated.
    """
    if data.gaps is None:
        return np.log(np.stack([observation_table(gap, data, y.ravel()) for y in (first, second)])).reshape(2, 3, *first.shape)
    low, high = min(first.min(), second.min()), max(first.max(), second.max())
    grid = np.linspace(low, high, max(24, math.ceil((high - low) / (0.5 * math.sqrt(gap.error_variance)))) + 1)
    spline = CubicSpline(grid, np.log(observation_table(gap, data, grid)), axis=1)
    return np.stack([np.minimum(spline(y.ravel()), 0.0) for y in (first, second)]).reshape(2, data.symbols, *first.shape)


def _scores(likelihood: Callable[[Floats], Floats], theta: Floats, bounds: Sequence[tuple[float, float]]) -> Floats:
    """Gradient of every pattern's log-likelihood by central differences; 0 for a parameter that rests on its bound."""
    h = 1e-3
    columns = []
    for k, (low, high) in enumerate(bounds):
        step = np.zeros(len(theta))
        step[k] = h
        held = theta[k] <= low + h or theta[k] >= high - h
        columns.append(0 * likelihood(theta) if held else (likelihood(theta + step) - likelihood(theta - step)) / (2 * h))
    return np.stack(columns, axis=1)
