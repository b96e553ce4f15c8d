r"""When separation grows with the number of advocates (claims K4, K5 and K9).

Notation as in :mod:`.separation`: scores F of the better answer, G of the worse one, :math:`D_k` the expected difference of the two maxima.
:math:`e_k` is the expected maximum of k draws of a shape with mean 0 (for the normal :math:`0, \pi^{-1/2}, \tfrac32 \pi^{-1/2}, \dots`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import sympy
from scipy import stats

from .claim import Assumption, Check, Choice, Claim, Counterexample, Integers, Reals, at_most, equal, near, shows
from .numerics import Law, Scaled, chance_to_win, expected_maximum, gauss, integral01, separation, shifted_exponential_win

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CLAIMS", "location_scale_separation", "power_separation", "reversal"]

Floats = npt.NDArray[np.float64]

ABSTRACT = "D3 (2026), abstract, in our words: aggregating over k independent advocates increases the expected score separation"


# -- K4 --


def power_separation(a: float, b: float, k: int) -> float:
    """D_k for scores with F = x^a and G = x^b on [0, 1]."""
    return k * (a - b) / ((k * a + 1) * (k * b + 1))


def _exact_power_separation(a: int, b: int, k: int) -> Fraction:
    """Integrate G^k - F^k exactly."""
    return integral01([0] * (k * b) + [1]) - integral01([0] * (k * a) + [1])


def _k4_conclusion(*, a: float, b: float) -> Iterator[Check]:
    for k in (1, 2, 3):
        yield at_most(
            f"D_{k} < D_{k + 1} for F = x^{a:g}, G = x^{b:g}", power_separation(a, b, k), power_separation(a, b, k + 1), strict=True
        )


def _k4_derive() -> Iterator[Check]:
    a, b, k = sympy.symbols("a b k", positive=True)
    d = k * (a - b) / ((k * a + 1) * (k * b + 1))
    rise = sympy.together(d.subs(k, k + 1) - d)
    common = (k * a + 1) * (k * b + 1) * ((k + 1) * a + 1) * ((k + 1) * b + 1)
    yield equal("D_k is the integral of x^kb - x^ka", 1 / (k * b + 1) - 1 / (k * a + 1), d)
    yield equal("D_{k+1} - D_k has the sign of (a-b)(1 - a b k (k+1))", rise * common, (a - b) * (1 - a * b * k * (k + 1)))
    for k_value, value in ((1, Fraction(1, 6)), (2, Fraction(2, 15)), (3, Fraction(3, 28)), (5, Fraction(5, 66))):
        yield equal(f"D_{k_value} for a = 2, b = 1", _exact_power_separation(2, 1, k_value), value)
        yield equal("by the formula", d.subs({a: 2, b: 1, k: k_value}), sympy.Rational(value.numerator, value.denominator))


def _k4_witness() -> Iterator[Check]:
    for k in (1, 2, 5):
        yield near(f"a = 2, b = 1: D_{k} by quadrature", separation(stats.beta(2, 1), stats.beta(1, 1), k), power_separation(2, 1, k), 1e-9)
    yield at_most(
        "low scores, a b k (k+1) < 1: separation does grow (a = .6, b = .3)",
        power_separation(0.6, 0.3, 1),
        power_separation(0.6, 0.3, 2),
        strict=True,
    )


def _k4_counterexample() -> Iterator[Counterexample]:
    for k in (1, 2):
        exact = _exact_power_separation(2, 1, k + 1) - _exact_power_separation(2, 1, k)
        by_quadrature = separation(stats.beta(2, 1), stats.beta(1, 1), k + 1) - separation(stats.beta(2, 1), stats.beta(1, 1), k)
        label = f"rise D_{k + 1} - D_{k} for F = x^2, G = x (first-order dominance), independent advocates"
        yield Counterexample(label, 0.0, math.inf, {"exact integral": float(exact), "quadrature": by_quadrature})


def _k4_law(*, a: float, b: float, k: int) -> Iterator[Check]:
    yield near("D_k is a difference of two means", power_separation(a, b, k), 1 / (k * b + 1) - 1 / (k * a + 1), 1e-12)
    rise = power_separation(a, b, k + 1) - power_separation(a, b, k)
    sign = (a - b) * (1 - a * b * k * (k + 1))
    yield at_most("the rise has the sign of (a-b)(1 - a b k (k+1))", 0.0, rise * sign, 1e-15)


K4 = Claim(
    id="K4",
    title="More advocates, more separation",
    statement=(
        "Aggregating over k independent advocates increases the expected score separation. Not for bounded scores near their ceiling: "
        "for F = x^a and G = x^b on [0, 1], a > b, D_k = k(a-b)/((ka+1)(kb+1)) grows from k to k+1 iff a b k (k+1) < 1. With a = 2, b = "
        "1 it falls from the start: 1/6, 2/15, 3/28."
    ),
    latex=r"D_{k+1} > D_k \quad\text{against}\quad D_{k+1} > D_k \iff ab\,k(k+1) < 1 \quad (F = x^a,\ G = x^b,\ a > b)",
    source=f"{ABSTRACT}; its exact assumptions were not available. Counterexample: ours",
    derive=_k4_derive,
    witness=_k4_witness,
    domain={"a": Reals(0.05, 6.0), "b": Reals(0.05, 6.0), "k": Integers(1, 30)},
    law=_k4_law,
    world={"a": 0.3, "b": 0.2},
    assumptions=(Assumption("low scores", "scores lie far from the ceiling: a b k (k+1) < 1", {"a": 2.0, "b": 1.0}, stated=False),),
    conclusion=_k4_conclusion,
    counterexample=_k4_counterexample,
)


# -- K5 --

_SHAPES: dict[str, Law] = {
    "normal": stats.norm(),
    "uniform": stats.uniform(-1, 2),
    "exponential": stats.expon(-1),
    "Gumbel": stats.gumbel_r(-float(np.euler_gamma)),
}
"""Shapes with mean 0; the uniform one is bounded by 1."""


def location_scale_separation(gap: float, scale_better: float, scale_worse: float, k: int, shape: str = "normal") -> float:
    """D_k = gap + (scale_better - scale_worse) e_k."""
    return gap + (scale_better - scale_worse) * expected_maximum(_SHAPES[shape], k)


def reversal(gap: float, scale_better: float, scale_worse: float, shape: str = "normal", most: int = 10_000) -> int | None:
    """Smallest k up to ``most`` with D_k < 0, or None; expected maxima grow with k, so bisection finds it."""
    if location_scale_separation(gap, scale_better, scale_worse, most, shape) >= 0:
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if location_scale_separation(gap, scale_better, scale_worse, middle, shape) < 0 else (middle, high)
    return high


def _k5_conclusion(*, shape_worse: str, copies: bool) -> Iterator[Check]:
    better, worse = Scaled(_SHAPES["normal"], 0.5, 1.0), Scaled(_SHAPES[shape_worse], 0.0, 1.5)
    for k in (2, 4):
        found = separation(better, worse, 1 if copies else k)
        yield near(f"D_{k} of the two sides against Delta + (s_A - s_B) e_{k}", found, location_scale_separation(0.5, 1.0, 1.5, k), 1e-9)


def _exact_maximum(centre: Fraction, scale: Fraction, k: int) -> Fraction:
    """E[max of k draws] of centre + scale Z, Z uniform on {-2, 0, 1, 1}, by enumeration."""
    total = Fraction(0)
    total += sum(max(centre + scale * z for z in zs) for zs in product((-2, 0, 1, 1), repeat=k))
    return Fraction(total / 4**k)


def _k5_derive() -> Iterator[Check]:
    gap, better, worse, e = sympy.symbols("Delta s_A s_B e", real=True)
    yield equal("E max(m + s Z) = m + s e_k, so D_k =", (gap + better * e) - worse * e, gap + (better - worse) * e)
    for k in (1, 2, 3, 4):
        e_k = _exact_maximum(Fraction(0), Fraction(1), k)
        found = _exact_maximum(Fraction(3), Fraction(2), k) - _exact_maximum(Fraction(1), Fraction(5), k)
        yield equal(f"a four-point shape, enumerated: D_{k} against Delta + (s_A - s_B) e_{k}", found, 2 - 3 * e_k)
    yield equal("that shape's e_2, by hand", _exact_maximum(Fraction(0), Fraction(1), 2), Fraction(5, 8))
    root = sympy.solve(gap + (better - worse) * e, e)[0]
    yield equal("D_k changes sign at e_k = Delta/(s_B - s_A)", root, gap / (worse - better))


def _k5_witness() -> Iterator[Check]:
    exact = {2: 1 / math.sqrt(math.pi), 3: 1.5 / math.sqrt(math.pi), 4: 6 * math.atan(math.sqrt(2)) / math.pi**1.5}
    for k, value in exact.items():
        yield near(f"normal e_{k}, quadrature against closed form", expected_maximum(_SHAPES["normal"], k), value, 1e-10)
    for k, figure in ((1, "0.500"), (2, "0.218"), (3, "0.077"), (4, "-0.0147")):
        yield shows(f"Delta = .5, scales 1 and 1.5: D_{k}", location_scale_separation(0.5, 1.0, 1.5, k), figure)
    better, worse = Scaled(_SHAPES["normal"], 0.5, 1.0), Scaled(_SHAPES["normal"], 0.0, 1.5)
    for k, figure in ((1, "0.609"), (2, "0.562"), (3, "0.529"), (4, "0.5025"), (5, "0.4809"), (30, "0.282")):
        yield shows(f"P(better wins) with {k} advocates", chance_to_win(better, worse, k), figure)
    yield equal("normal shape: the ranking by expected score reverses at k =", reversal(0.5, 1.0, 1.5), 4)
    yield equal("uniform shape bounded by 1: it never does (Delta/(s_B - s_A) = 1)", reversal(0.5, 1.0, 1.5, "uniform"), None)
    yield equal("uniform shape with Delta = .2: at k =", reversal(0.2, 1.0, 1.5, "uniform"), 3)


def _k5_law(*, gap: float, scale_better: float, scale_worse: float, k: int, shape: str) -> Iterator[Check]:
    better, worse = Scaled(_SHAPES[shape], gap, scale_better), Scaled(_SHAPES[shape], 0.0, scale_worse)
    formula = location_scale_separation(gap, scale_better, scale_worse, k, shape)
    yield near("D_k against the formula", separation(better, worse, k), formula, 1e-8)
    rise = location_scale_separation(gap, scale_better, scale_worse, k + 1, shape) - formula
    yield at_most("it moves with the sign of s_A - s_B", 0.0, rise * (scale_better - scale_worse), 1e-12)


def _k5_plot(axes: Axes) -> None:
    k = np.arange(1, 31)
    axes.plot(
        k, [location_scale_separation(0.5, 1.0, 1.5, int(i)) for i in k], color="tab:red", marker=".", label="expected separation D_k"
    )
    better, worse = Scaled(_SHAPES["normal"], 0.5, 1.0), Scaled(_SHAPES["normal"], 0.0, 1.5)
    axes.axhline(0, color="grey", lw=0.6)
    axes.set(xlabel="advocates a side, k", ylabel="expected separation", title="K5: a noisier worse answer overtakes (scales 1 and 1.5)")
    twin = axes.twinx()
    twin.plot(
        k, [chance_to_win(better, worse, int(i)) for i in k], color="tab:blue", marker=".", label="P(better answer wins) (right axis)"
    )
    twin.set(ylabel="P(better wins)", ylim=(0.2, 0.7))
    axes.legend(loc="upper right")
    twin.legend(loc="lower left")


K5 = Claim(
    id="K5",
    title="Separation in a location-scale family",
    statement=(
        "With scores m_A + s_A Z and m_B + s_B Z of one shape, D_k = Delta + (s_A - s_B) e_k: it grows iff s_A > s_B, is constant if "
        "they are equal, and for s_B > s_A reverses at the first k with e_k > Delta/(s_B - s_A), where there is one (a bounded shape may "
        "have none)."
    ),
    latex=r"D_k = \Delta + (s_A - s_B)\, e_k, \qquad e_k = \mathrm{E}\max_{j \le k} Z_j",
    source="Ours",
    derive=_k5_derive,
    witness=_k5_witness,
    domain={
        "gap": Reals(0.0, 2.0),
        "scale_better": Reals(0.2, 2.0),
        "scale_worse": Reals(0.2, 2.0),
        "k": Integers(1, 40),
        "shape": Choice(tuple(_SHAPES)),
    },
    law=_k5_law,
    world={"shape_worse": "normal", "copies": False},
    assumptions=(
        Assumption("one shape", "both answers' scores have the same shape", {"shape_worse": "exponential"}),
        Assumption("independent", "the advocates of a side score independently", {"copies": True}),
    ),
    conclusion=_k5_conclusion,
    plot=_k5_plot,
)


# -- K9 --


class _Capped:
    """A law whose scores are cut at a ceiling."""

    def __init__(self, law: Law, ceiling: float) -> None:
        self.law, self.ceiling = law, ceiling

    def cdf(self, x: Floats) -> Floats:
        return np.where(x >= self.ceiling, 1.0, self.law.cdf(x))

    def ppf(self, q: Floats) -> Floats:
        return np.minimum(self.law.ppf(q), self.ceiling)

    def isf(self, q: Floats) -> Floats:
        return np.minimum(self.law.isf(q), self.ceiling)


_SCORES: dict[str, Law] = {
    "gamma": stats.gamma(3),
    "exponential": stats.expon(),
    "lognormal": stats.lognorm(0.5),
    "negative": stats.uniform(-3, 3),
}


def _k9_conclusion(*, scores: str, ceiling: float, gain: float) -> Iterator[Check]:
    worse = _SCORES[scores]
    better = Scaled(worse, 0.0, gain)
    d = [separation(_Capped(better, ceiling), _Capped(worse, ceiling), k) for k in (1, 3, 10, 100)]
    yield at_most("the better answer is better to begin with: 0 < D_1", 0.0, d[0], strict=True)
    for first, second in pairwise(d):
        yield at_most("separation grows along k = 1, 3, 10, 100", first, second, strict=True)


def _k9_derive() -> Iterator[Check]:
    c, m, m2 = sympy.symbols("c m_k m_{k+1}", positive=True)
    yield equal("multiplicative gain, X = c Y: D_k = (c-1) E max Y", c * m - m, (c - 1) * m)
    yield equal("so D_{k+1} - D_k = (c-1)(rise of E max Y), positive for c > 1", (c - 1) * m2 - (c - 1) * m, (c - 1) * (m2 - m))
    a, b, k = sympy.symbols("a b k", positive=True)
    d = k * (a - b) / ((k * a + 1) * (k * b + 1))
    yield equal(
        "low scores, F = x^a, G = x^b: equal D_k and D_{k+1} where a b k (k+1) = 1",
        sympy.together(d.subs(k, k + 1) - d).subs(a, 1 / (b * k * (k + 1))),
        0,
    )
    power = sympy.Symbol("C", positive=True)  # c^alpha: Frechet F = G^C, a Lehmann alternative
    yield equal("Frechet: P(win) = integral of u^k d(u^(C k)) = C/(1+C), free of k", power * k / (power * k + k), power / (1 + power))
    falling = [shifted_exponential_win(Fraction(1, 2), n) for n in (1, 2, 3, 4)]
    yield equal("Pareto I with c^-alpha = 1/2: P(win) at k = 1", falling[0], Fraction(3, 4))
    yield equal("and it falls with k", all(x > y for x, y in pairwise(falling)), True)


def _k9_witness() -> Iterator[Check]:
    capped, worse_capped = _Capped(Scaled(stats.gamma(3), 0, 1.3), 5.0), _Capped(stats.gamma(3), 5.0)
    integral = gauss(lambda x: worse_capped.cdf(x) ** 4 - capped.cdf(x) ** 4, 0.0, 1.0, 3.0, 5.0, 6.0)
    yield near(
        "scores capped at 5: D_4 by quantiles against the integral of G^4 - F^4", separation(capped, worse_capped, 4), integral, 1e-5
    )
    for k in (1, 5):
        yield near(
            f"gamma scores times 1.3: D_{k} by quadrature",
            separation(Scaled(stats.gamma(3), 0, 1.3), stats.gamma(3), k),
            0.3 * expected_maximum(stats.gamma(3), k),
            1e-9,
        )
        frechet = chance_to_win(Scaled(stats.invweibull(2.0), 0, 1.5), stats.invweibull(2.0), k)
        yield near(f"Frechet, alpha 2, gain 1.5: P(win) with {k} advocates", frechet, 2.25 / 3.25, 1e-7)
        pareto = chance_to_win(Scaled(stats.pareto(3.0), 0, 2 ** (1 / 3)), stats.pareto(3.0), k)
        yield near(
            f"Pareto I, c^alpha = 2: P(win) with {k} advocates, quadrature against exact integral",
            pareto,
            float(shifted_exponential_win(Fraction(1, 2), k)),
            1e-7,
        )
    low = [separation(stats.beta(1, 9), stats.beta(0.5, 9.5), k) for k in (1, 3)]
    yield shows("Beta(1,9) against Beta(.5,9.5), far from the ceiling: D_1", low[0], "0.050")
    yield shows("and D_3", low[1], "0.0746")
    yield at_most(
        "better answer more dispersed (normal, scales 1.5 and 1): D_5 > D_1",
        location_scale_separation(0.5, 1.5, 1.0, 1),
        location_scale_separation(0.5, 1.5, 1.0, 5),
        strict=True,
    )
    win = [chance_to_win(Scaled(stats.norm(), 0.5, 1.5), stats.norm(), k) for k in (1, 30)]
    yield at_most("there P(win) rises as well, k = 1 to 30", win[0], win[1], strict=True)


def _k9_law(*, gain: float, shape: float, k: int) -> Iterator[Check]:
    worse = stats.gamma(shape)
    better = Scaled(worse, 0.0, gain)
    yield at_most(
        "D_k < D_{k+1} for gamma scores times a gain", separation(better, worse, k), separation(better, worse, k + 1), strict=True
    )
    tail = gain**shape
    frechet = chance_to_win(Scaled(stats.invweibull(shape), 0, gain), stats.invweibull(shape), k)
    yield near("Frechet: P(win) is the same for every k", frechet, tail / (1 + tail), 1e-6)


K9 = Claim(
    id="K9",
    title="When more advocates do separate",
    statement=(
        "For non-negative uncapped scores the separation grows with k if the better answer's scores are a multiple c > 1 of the worse "
        "one's; it also grows where the better answer is more dispersed (K5) and for power laws far from the ceiling (K4). P(better "
        "wins) need not follow: constant for Frechet scores, falling for Pareto I."
    ),
    latex=(
        r"X = cY',\ c > 1,\ Y' \ge 0:\quad D_k = (c - 1)\,\mathrm{E}\max_{j \le k} Y_j \ \uparrow, \qquad "
        r"P_{\text{Fr\'echet}}(\text{win}) = \frac{c^\alpha}{1 + c^\alpha}"
    ),
    source="Ours: conditions under which D3's separation claim is true",
    derive=_k9_derive,
    witness=_k9_witness,
    domain={"gain": Reals(1.05, 3.0), "shape": Reals(1.5, 6.0), "k": Integers(1, 50)},
    law=_k9_law,
    world={"scores": "gamma", "ceiling": math.inf, "gain": 1.3},
    assumptions=(
        Assumption("uncapped", "there is no ceiling", {"ceiling": 5.0}),
        Assumption("non-negative", "scores are not negative", {"scores": "negative"}),
        Assumption("gain above 1", "the better answer's scores are the larger multiple", {"gain": 0.8}),
    ),
    conclusion=_k9_conclusion,
)

CLAIMS = (K4, K5, K9)
