r"""How often the better answer wins with k advocates a side (claims K6 to K8).

On the Gumbel scale a law H is :math:`\psi(g) = H^{-1}(e^{-e^{-g}})`, and the maximum of k draws is :math:`\psi(\Gamma + \ln k)`,
:math:`\Gamma` standard Gumbel. Under a shift the better answer wins iff :math:`\psi(\Gamma_2 + \ln k) - \psi(\Gamma_1 + \ln k) < \Delta`.
For :math:`\Gamma_2 > \Gamma_1` the left side moves in k with the sign of :math:`\psi''`: P(win) falls where :math:`\psi` is convex, rises
where it is concave, and stays where it is linear (the Gumbel law).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import sympy
from scipy import stats
from scipy.special import ndtr

from .claim import Assumption, Check, Choice, Claim, Counterexample, Integers, Reals, at_most, equal, near, shows
from .numerics import Law, Scaled, chance_to_win, gauss, integral01, polynomial_product, shifted_exponential_win

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CLAIMS", "effective_advocates"]

Floats = npt.NDArray[np.float64]


# -- K6 --

_TAILS: dict[str, tuple[Law, float]] = {
    "normal": (stats.norm(), 1.0),
    "Gumbel": (stats.gumbel_r(), 1.0),
    "exponential": (stats.expon(), math.log(2)),
    "t with 3 degrees": (stats.t(3), 1.0),
    "Lomax(3)": (stats.lomax(3), 0.5),
}
"""Law and shift."""


def win_under_shift(law: str, k: int) -> float:
    """P(better wins) with k advocates a side for a law of the table, by quadrature on the Gumbel scale."""
    shape, shift = _TAILS[law]
    return chance_to_win(Scaled(shape, shift, 1.0), shape, k)


def _lomax_win_on_scores(k: int) -> float:
    """Lomax(3) shifted by .5, integrated over the scores: density of the better side's maximum times G^k."""

    def integrand(t: Floats) -> Floats:  # x = t / (1 - t)
        x = t / (1 - t)
        tail = (1 + x) ** -3.0
        density = k * (1 - tail) ** (k - 1) * 3 * (1 + x) ** -4.0
        return np.asarray(density * (1 - (1 + x + 0.5) ** -3.0) ** k / (1 - t) ** 2)

    return gauss(integrand, 0.0, 0.3, 0.6, 0.8, 0.9, 0.97, 1.0, nodes=80)


def _gumbel_slope(law: Law, g: Floats) -> Floats:
    """Slope of psi by finite differences."""
    step = 1e-4
    t_low, t_high = np.exp(-(g - step)), np.exp(-(g + step))
    return np.asarray((law.isf(-np.expm1(-t_high)) - law.isf(-np.expm1(-t_low))) / (2 * step))


def _k6_conclusion(*, law: str) -> Iterator[Check]:
    chances = [win_under_shift(law, k) for k in (1, 3, 10, 100)]
    for first, second in pairwise(chances):
        yield at_most(f"P(better wins) rises along k = 1, 3, 10, 100 ({law})", first, second, strict=True)


def _k6_derive() -> Iterator[Check]:
    c, k, t, n = sympy.symbols("c k t n", positive=True)
    yield equal("Gumbel, c = e^Delta: F = G^c, so P(win) = integral of u^k d(u^(ck))", c * k / (c * k + k), c / (1 + c))
    psi_slope = t / (sympy.exp(t) - 1)  # exponential law: psi(g) = -ln(1 - e^-t), t = e^-g, d/dg = -t d/dt
    yield equal("exponential: slope of psi", -t * sympy.diff(-sympy.log(1 - sympy.exp(-t)), t), t * sympy.exp(-t) / (1 - sympy.exp(-t)))
    curvature = -t * sympy.diff(psi_slope, t)
    yield equal(
        "exponential: psi'' = t (t e^t - e^t + 1)/(e^t - 1)^2",
        curvature,
        t * (t * sympy.exp(t) - sympy.exp(t) + 1) / (sympy.exp(t) - 1) ** 2,
    )
    yield equal("whose series t e^t - e^t + 1 has coefficients 1/(n-1)! - 1/n! = (n-1)/n!, none negative", n - 1, n * (1 - 1 / n))
    x = sympy.Function("psi")(t)
    alpha = sympy.Symbol("alpha", positive=True)
    second = sympy.diff(sympy.exp(x / alpha), t, 2)
    yield equal(
        "Lomax: exp(psi/alpha) - 1 of a convex increasing psi is convex: second derivative",
        second,
        sympy.exp(x / alpha) * (sympy.diff(x, t, 2) / alpha + sympy.diff(x, t) ** 2 / alpha**2),
    )
    chances = [shifted_exponential_win(Fraction(1, 2), m) for m in (1, 2, 3, 4, 8)]
    yield equal("exponential scores, e^-Delta = 1/2: P(win) at k = 1", chances[0], Fraction(3, 4))
    yield equal("k = 2", chances[1], Fraction(17, 24))
    yield equal("and it falls with k", all(a > b for a, b in pairwise(chances)), True)


def _k6_witness() -> Iterator[Check]:
    figures = {
        "normal": ("0.760", "0.829", "0.888", "0.951"),
        "Gumbel": ("0.7311", "0.7311", "0.7311", "0.7311"),
        "t with 3 degrees": ("0.713", "0.750", "0.725", "0.634"),
        "Lomax(3)": ("0.826", "0.735", "0.660", "0.576"),
        "exponential": ("0.75", "0.694", "0.674", "0.667"),
    }
    for law, printed in figures.items():
        for k, figure in zip((1, 3, 10, 100), printed, strict=True):
            yield shows(f"{law}, shift {_TAILS[law][1]:.3g}: P(win) with {k} advocates", win_under_shift(law, k), figure)
    g = np.linspace(-1.5, 12.0, 400)
    curvature = {law: np.diff(_gumbel_slope(shape, g)) for law, (shape, _) in _TAILS.items()}
    yield at_most("psi of the normal is concave: largest rise of its slope", float(curvature["normal"].max()), 0.0)
    yield at_most("psi of the exponential is convex: largest fall of its slope", float(-curvature["exponential"].min()), 1e-9)
    yield at_most("psi of the Lomax law is convex", float(-curvature["Lomax(3)"].min()), 1e-9)
    yield equal(
        "psi of t with 3 degrees is neither", bool(curvature["t with 3 degrees"].min() < 0 < curvature["t with 3 degrees"].max()), True
    )
    yield near("Gumbel by its closed form", win_under_shift("Gumbel", 7), math.e / (1 + math.e), 1e-9)


def _k6_counterexample() -> Iterator[Counterexample]:
    exact = shifted_exponential_win(Fraction(1, 2), 3) - shifted_exponential_win(Fraction(1, 2), 1)
    ways = {
        "exact integral": float(exact),
        "quadrature on the Gumbel scale": win_under_shift("exponential", 3) - win_under_shift("exponential", 1),
    }
    yield Counterexample("rise of P(win) from 1 to 3 advocates, exponential scores shifted by ln 2", 0.0, math.inf, ways, 1e-8)
    ways = {
        "quadrature over the scores": _lomax_win_on_scores(10) - _lomax_win_on_scores(1),
        "quadrature on the Gumbel scale": win_under_shift("Lomax(3)", 10) - win_under_shift("Lomax(3)", 1),
    }
    yield Counterexample("rise of P(win) from 1 to 10 advocates, Lomax(3) scores shifted by .5", 0.0, math.inf, ways, 1e-6)


def _k6_law(*, shift: float, k: int, law: str) -> Iterator[Check]:
    shape = _TAILS[law][0]
    now, more = (chance_to_win(Scaled(shape, shift, 1.0), shape, n) for n in (k, k + 1))
    if law == "normal":
        yield at_most("light tail: P(win) rises", now, more, 1e-9)
    elif law == "Gumbel":
        yield near("exponential tail of the Gumbel law: P(win) stays", now, 1 / (1 + math.exp(-shift)), 1e-7)
    else:
        yield at_most("exponential and heavier tails: P(win) falls", more, now, 1e-9)


def _k6_plot(axes: Axes) -> None:
    k = np.unique(np.geomspace(1, 300, 25).astype(int))
    for law, (_, shift) in _TAILS.items():
        axes.plot(k, [win_under_shift(law, int(i)) for i in k], marker=".", label=f"{law}, shift {shift:.2g}")
    axes.set(
        xlabel="advocates a side, k",
        ylabel="P(better answer wins)",
        xscale="log",
        ylim=(0.5, 1.0),
        title="K6: whether more advocates help depends on the tail",
    )
    axes.legend()


K6 = Claim(
    id="K6",
    title="More advocates, more wins under a shift",
    statement=(
        "If the better answer's scores are the worse one's plus Delta, more advocates raise the chance that it wins. That depends on the "
        "tail (convexity of the quantile function on the Gumbel scale): normal rises, Gumbel stays, exponential and Lomax fall, t with 3 "
        "degrees rises and then falls."
    ),
    latex=(
        r"P(\max X > \max Y) \uparrow_k \quad\text{against}\quad \psi(g) = H^{-1}(e^{-e^{-g}}):\ \psi \text{ concave} \Rightarrow "
        r"\uparrow,\ \text{linear} \Rightarrow \tfrac{1}{1 + e^{-\Delta/\beta}},\ \text{convex} \Rightarrow \downarrow"
    ),
    source="Ours, as the reading of D3's separation claim that matters for accuracy",
    derive=_k6_derive,
    witness=_k6_witness,
    domain={"shift": Reals(0.05, 3.0), "k": Integers(1, 60), "law": Choice(("normal", "Gumbel", "exponential", "Lomax(3)"))},
    law=_k6_law,
    world={"law": "normal"},
    assumptions=(Assumption("light tail", "psi is concave (tails lighter than exponential)", {"law": "Lomax(3)"}, stated=False),),
    conclusion=_k6_conclusion,
    counterexample=_k6_counterexample,
    plot=_k6_plot,
)


# -- K7 --


def _uniform_success() -> Fraction:
    """P(|max X - max Y| > |X_1 - Y_1|) for six independent uniform scores, exactly.

    Condition on the maxima m < n and put r = m/n, which has density 3 r^2. X_1 is the maximum m with chance 1/3, else uniform below it;
    Y_1 likewise. The chance that |x - y| < 1 - r (scale n = 1) is 0 if both are the maxima or y alone is; for x = r, y uniform on (0, 1):
    1 - max(0, 2r - 1); for both uniform it is (1/r) times the integral over x in (0, r) of min(1, x + 1 - r) - max(0, x - 1 + r).
    """
    half, third = Fraction(1, 2), Fraction(1, 3)
    x_only = integral01([0, 0, 3], 0, half) + integral01([0, 0, 6, -6], half, 1)
    # min(1, x + 1 - r) = x + 1 - r throughout x < r; max(0, x - 1 + r) starts at x = 1 - r, inside (0, r) iff r > 1/2.
    # integral of x + 1 - r over (0, r) is r - r^2/2; of x - 1 + r over (1 - r, r) is (2r - 1)^2 / 2.
    both = integral01([0, 0, 3, -Fraction(3, 2)]) - integral01(polynomial_product([0, 3], [-1, 2], [-1, 2], [half]), half, 1)
    return third * 2 * third * x_only + 4 * third**2 * both


def _unit_rule(nodes: int) -> tuple[Floats, Floats]:
    t, weight = np.polynomial.legendre.leggauss(nodes)
    return np.asarray((t + 1) / 2), np.asarray(weight / 2)


@lru_cache(maxsize=8)
def _success_by_singles(law: Law, nodes: int = 32) -> float:
    """Condition on the two single scores, for any law: given X_1 = x the maximum is x with chance F(x)^2, else above it.

    Everything is integrated over ranks F(x), F(y) < F(x) (the other half is its mirror image) and F(max X); max Y <= z has chance F(z)^2
    for z >= y.
    """
    u, w = _unit_rule(nodes)
    x_rank = u[:, None, None]
    y_rank = x_rank * u[None, :, None]
    max_rank = x_rank + (1 - x_rank) * u[None, None, :]
    x, y, largest = law.ppf(x_rank), law.ppf(y_rank), law.ppf(max_rank)
    gap = x - y
    missed = law.cdf(largest + gap) ** 2 - law.cdf(largest - gap) ** 2  # largest - gap >= y, so both are P(max Y <= .)
    above = ((1 - x_rank) * 2 * max_rank * (1 - missed)) @ w
    at_single = (x_rank**2 * (1 - law.cdf(x + gap) ** 2))[:, :, 0]  # max X = x: the gap of the maxima must come from max Y > x + gap
    return float(2 * (w * u) @ (above + at_single) @ w)


@lru_cache(maxsize=8)
def _success_by_maxima(law: Law, nodes: int = 48) -> float:
    """Condition on the two maxima first, as in the exact uniform case, for any law."""
    u, w = _unit_rule(nodes)
    n_rank = u[:, None]  # of the larger maximum, max Y; the case max X > max Y is its mirror image
    m_rank = n_rank * u[None, :]
    n, m = law.ppf(n_rank), law.ppf(m_rank)
    density = 2 * 9 * n_rank**2 * m_rank**2 * n_rank * w[:, None] * w[None, :]
    gap = n - m
    x_only = 1 - law.cdf(m - gap) / n_rank  # x = m, and y below n but above m - gap
    x = law.ppf(m_rank[:, :, None] * u)
    inner = np.minimum(law.cdf(x + gap[:, :, None]), n_rank[:, :, None]) - law.cdf(x - gap[:, :, None])
    return float((density * (2 / 9 * x_only + 4 / 9 * (inner @ w) / n_rank)).sum())


def _k7_derive() -> Iterator[Check]:
    yield equal("uniform scores: P(the claim holds), exactly", _uniform_success(), Fraction(41, 144))
    a, b = (Fraction(9, 10), Fraction(8, 10), Fraction(6, 10)), (Fraction(4, 10), Fraction(85, 100), Fraction(5, 10))
    yield equal(
        "one path on which it fails: single gap .5, gap of the maxima", (a[0] - b[0], max(a) - max(b)), (Fraction(1, 2), Fraction(1, 20))
    )
    r = sympy.Symbol("r", positive=True)
    yield equal(
        "density of the ratio of two maxima of three uniforms, given the smaller: 3 r^2 integrates to 1",
        sympy.integrate(3 * r**2, (r, 0, 1)),
        1,
    )


def _k7_witness() -> Iterator[Check]:
    uniform, normal = stats.uniform(), stats.norm()
    yield shows("uniform scores: the claim fails with probability", 1 - float(_uniform_success()), "0.715")
    yield near("uniform scores by quadrature, conditioning on the maxima", _success_by_maxima(uniform), float(_uniform_success()), 5e-4)
    yield near(
        "uniform scores by quadrature, conditioning on the single scores", _success_by_singles(uniform), float(_uniform_success()), 5e-4
    )
    yield shows("normal scores: it fails with probability", 1 - _success_by_maxima(normal), "0.677")
    absolute = [float(np.sqrt(2)) * math.sqrt(2 / math.pi), 2 * _expected_absolute_of_maxima()]
    yield shows("normal: E|single gap|", absolute[0], "1.128")
    yield shows("normal: E|gap of the maxima|", absolute[1], "0.842")
    yield shows("exponential scores: it fails with probability", 1 - _success_by_maxima(stats.expon()), "0.53")
    heavy = 1 - _success_by_maxima(stats.lomax(0.2))
    yield at_most("very heavy tails, Lomax(.2): not below the least possible, 1/3", 1 / 3, heavy)
    yield at_most("but near it", heavy, 0.37)


def _expected_absolute_of_maxima() -> float:
    """Half of E|max X - max Y| of three normal scores each: integral of F^3 (1 - F^3)."""
    return gauss(lambda x: ndtr(x) ** 3 * (1 - ndtr(x) ** 3), *np.linspace(-9.0, 9.0, 13).tolist())


def _k7_counterexample() -> Iterator[Counterexample]:
    uniform, normal = stats.uniform(), stats.norm()
    ways = {"exact integral": float(_uniform_success()), "quadrature, given the single scores": _success_by_singles(uniform)}
    yield Counterexample("P(|gap of the maxima| > |single gap|), equal answers, k = 3, uniform scores", 1.0, 1.0, ways, 5e-4)
    ways = {"quadrature, given the maxima": _success_by_maxima(normal), "quadrature, given the single scores": _success_by_singles(normal)}
    yield Counterexample("the same for normal scores", 1.0, 1.0, ways, 5e-4)


def _discrete_success(weights: tuple[int, ...], k: int) -> Fraction:
    """P(the claim holds) for scores 0, 1, 4, ... (squares) with probabilities proportional to ``weights``, by enumeration."""
    total, held = sum(weights) ** (2 * k), 0
    scores = [(n * n, weight) for n, weight in enumerate(weights)]
    for path in product(scores, repeat=2 * k):
        x, y = [v for v, _ in path[:k]], [v for v, _ in path[k:]]
        held += math.prod(weight for _, weight in path) * (abs(max(x) - max(y)) > abs(x[0] - y[0]))
    return Fraction(held, total)


def _k7_law(*, a: int, b: int, c: int, k: int) -> Iterator[Check]:
    yield at_most(
        "equal answers: P(the claim holds) <= 1 - 1/k, since the largest of all scores is a single one with chance 1/k",
        _discrete_success((a, b, c), k),
        1 - Fraction(1, k),
    )


K7 = Claim(
    id="K7",
    title="Separation path by path",
    statement=(
        "|gap of the aggregates| > |gap of single advocates|, always (2024 version; aggregate at least the maximum). For two equally "
        "good answers, k = 3 and the single advocate one of the three, it fails with probability .715 (103/144) for uniform and .677 for "
        "normal scores; other laws differ, but for none is it below 1/3."
    ),
    latex=r"|g(f_{1,\mathrm{agg}}) - g(f_{2,\mathrm{agg}})| > |g(f_1) - g(f_2)|",
    source="The 2024 version of D3, Theorem 1, with the maximum that its assumptions imply. Counterexamples: ours",
    derive=_k7_derive,
    witness=_k7_witness,
    domain={"a": Integers(1, 20), "b": Integers(1, 20), "c": Integers(1, 20), "k": Integers(1, 3)},
    law=_k7_law,
    counterexample=_k7_counterexample,
)


# -- K8 --


def effective_advocates(k: float, correlation: float) -> float:
    r"""Independent advocates that k equally correlated ones are worth: :math:`k / (1 + (k-1) \rho) \le 1/\rho`."""
    return k / (1 + (k - 1) * correlation) if math.isfinite(k) else 1 / correlation


def _win_by_mean(ratio: float, k: int, correlation: float) -> float:
    """P(win) when means of k scores decide, Delta/sigma = ratio."""
    return float(ndtr(ratio * math.sqrt(effective_advocates(k, correlation) / 2)))


def _win_by_max(ratio: float, k: int, correlation: float, *, shared: bool) -> float:
    """P(win) when maxima decide; each side's scores share a factor of weight sqrt(rho), or both sides share one, which cancels."""
    normal, own = stats.norm(), math.sqrt(1 - correlation)
    if shared:
        return chance_to_win(Scaled(normal, ratio / own, 1.0), normal, k)
    z, weight = np.polynomial.hermite_e.hermegauss(24)
    shifts = (ratio + math.sqrt(2 * correlation) * z) / own
    chances = [chance_to_win(Scaled(normal, float(s), 1.0), normal, k) for s in shifts]
    return float(weight @ chances) / math.sqrt(2 * math.pi)


_ONE_MODEL = 0.72
"""Measured correlation of being right of one model under different prompts."""


def _k8_conclusion(*, correlation: float, shared: bool) -> Iterator[Check]:
    limit = float(ndtr(1.0 / math.sqrt(2 * _ONE_MODEL)))
    for k in (3, 30):
        yield at_most(
            f"P(win) by the maximum of {k} advocates, against Phi(Delta/(sigma sqrt(2 rho)))",
            _win_by_max(1.0, k, correlation, shared=shared),
            limit,
            1e-4,
        )


def _k8_derive() -> Iterator[Check]:
    k, rho, s = sympy.symbols("k rho sigma2", positive=True)
    variance = (k * s + k * (k - 1) * rho * s) / k**2
    yield equal("variance of the mean of k equally correlated scores", variance, s * (rho + (1 - rho) / k))
    yield equal("independent advocates they are worth", s / variance, k / (1 + (k - 1) * rho))
    yield equal("distance to 1/rho", 1 / rho - s / variance, (1 - rho) / (rho * (1 + (k - 1) * rho)))
    a, n, z = sympy.symbols("a n z", positive=True)
    yield equal("symmetric noise n on top lowers P(win): exponents (a+n)^2 - (a-n)^2 of the slope", (a + n) ** 2 - (a - n) ** 2, 4 * a * n)
    yield equal("the location family's separation is Delta for every k (K2): shift of all scores by z", (z + a) - a, z)


def _k8_witness() -> Iterator[Check]:
    limit = float(ndtr(1 / math.sqrt(2 * _ONE_MODEL)))
    yield shows("three advocates on one model (rho = .72) are worth", effective_advocates(3, _ONE_MODEL), "1.23")
    yield shows("and any number at most", effective_advocates(math.inf, _ONE_MODEL), "1.39")
    for k in (2, 5):
        own = math.sqrt((1 - 0.4) / k)

        def given(z: Floats, own: float = own) -> Floats:
            return np.asarray(np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * ndtr((0.8 + math.sqrt(0.8) * z) / (own * math.sqrt(2))))

        yield near(
            f"mean of {k}, rho = .4: P(win) against quadrature over the factors",
            _win_by_mean(0.8, k, 0.4),
            gauss(given, *np.linspace(-9.0, 9.0, 13).tolist()),
            1e-9,
        )
    yield at_most("mean of a thousand advocates at rho = .72 stays below the limit", _win_by_mean(1.0, 1000, _ONE_MODEL), limit)
    yield near("and comes near it", _win_by_mean(1.0, 100_000, _ONE_MODEL), limit, 1e-5)
    yield at_most(
        "a thousand advocates by the maximum gain less over one than the limit allows",
        _win_by_max(1.0, 1000, _ONE_MODEL, shared=False) - _win_by_mean(1.0, 1, 0.0),
        limit - _win_by_mean(1.0, 1, 0.0),
    )
    yield near("one advocate: maximum and mean are the same", _win_by_max(1.0, 1, 0.5, shared=False), _win_by_mean(1.0, 1, 0.5), 1e-9)


def _k8_law(*, ratio: float, k: int, correlation: float) -> Iterator[Check]:
    worth = effective_advocates(k, correlation)
    matrix = np.full((k, k), correlation) + (1 - correlation) * np.eye(k)
    yield near("worth, formula against the correlation matrix", 1 / float(matrix.mean()), worth, 1e-9)
    yield at_most("at most 1/rho", worth, 1 / correlation, 1e-12)
    yield at_most(
        "P(win) by the mean is at most its limit",
        _win_by_mean(ratio, k, correlation),
        float(ndtr(ratio / math.sqrt(2 * correlation))),
        1e-12,
    )


K8 = Claim(
    id="K8",
    title="Advocates on one model are few",
    statement=(
        "If the scores of a side's advocates have correlation rho, k of them are worth k/(1 + (k-1) rho) <= 1/rho independent ones; "
        "under a Gaussian shift P(better wins) stays below Phi(Delta/(sigma sqrt(2 rho))), by the mean and by the maximum, however many "
        "advocates argue."
    ),
    latex=(
        r"k_{\mathrm{eff}} = \frac{k}{1 + (k-1)\rho} \le \frac1\rho, \qquad P(\text{win}) \le "
        r"\Phi\Bigl(\frac{\Delta}{\sigma\sqrt{2\rho}}\Bigr)"
    ),
    source="Ours; .72 is the correlation of being right measured between prompts on one model (a proxy)",
    derive=_k8_derive,
    witness=_k8_witness,
    domain={"ratio": Reals(0.05, 3.0), "k": Integers(1, 40), "correlation": Reals(0.05, 0.99)},
    law=_k8_law,
    world={"correlation": _ONE_MODEL, "shared": False},
    assumptions=(
        Assumption("correlated", "the advocates of a side are correlated by rho", {"correlation": 0.05}),
        Assumption("own factor", "each side has a factor of its own; one that both sides share would cancel", {"shared": True}),
    ),
    conclusion=_k8_conclusion,
)

CLAIMS = (K6, K7, K8)
