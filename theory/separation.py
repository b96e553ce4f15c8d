r"""Separation by k advocates a side (claims K1 to K3).

Scores of the better answer's advocates are :math:`X_1, \dots, X_k \sim F`, of the worse one's :math:`Y_1, \dots, Y_k \sim G`; an
aggregate T makes one score of k. The expected separation is :math:`D_k = \mathrm{E} T(X) - \mathrm{E} T(Y)`; T is the maximum unless said
otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import sympy
from scipy import stats

from .claim import Assumption, Check, Choice, Claim, Integers, Reals, at_most, equal, near, shows
from .numerics import Law, chance_to_win, gauss, separation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CLAIMS"]

Floats = npt.NDArray[np.float64]
Discrete = Mapping[int, Fraction]

_BETTER: Discrete = {1: Fraction(1, 6), 3: Fraction(1, 2), 4: Fraction(1, 3)}
_WORSE: Discrete = {0: Fraction(1, 4), 2: Fraction(1, 4), 4: Fraction(1, 2)}


def _joint(law: Discrete, k: int, *, copies: bool) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Scores of k advocates with their probability: independent, or k copies of one."""
    if copies:
        yield from (((x,) * k, mass) for x, mass in law.items())
        return
    for scores in product(law, repeat=k):
        yield scores, math.prod((law[x] for x in scores), start=Fraction(1))


def _mean_aggregate(law: Discrete, k: int, aggregate: Callable[[Sequence[int]], float | Fraction], *, copies: bool = False) -> Fraction:
    return sum((mass * Fraction(aggregate(scores)) for scores, mass in _joint(law, k, copies=copies)), Fraction(0))


def _cdf(law: Discrete, x: int) -> Fraction:
    return sum((mass for value, mass in law.items() if value <= x), Fraction(0))


# -- K1 --


def _by_distribution_functions(better: Discrete, worse: Discrete, k: int) -> Fraction:
    """Integral of G^k - F^k for laws on the integers."""
    values = range(min(*better, *worse), max(*better, *worse))
    return sum((_cdf(worse, x) ** k - _cdf(better, x) ** k for x in values), Fraction(0))


def _k1_conclusion(*, copies: bool) -> Iterator[Check]:
    for k in (1, 2, 3):
        enumerated = _mean_aggregate(_BETTER, k, max, copies=copies) - _mean_aggregate(_WORSE, k, max, copies=copies)
        yield equal(
            f"D_{k}, enumeration of all scores against the integral of G^k - F^k",
            enumerated,
            _by_distribution_functions(_BETTER, _WORSE, k),
        )


def _k1_derive() -> Iterator[Check]:
    f, g, k, a, x = sympy.symbols("F G k a x", positive=True)
    yield equal("D_{k+1} - D_k: the integrand", (g ** (k + 1) - f ** (k + 1)) - (g**k - f**k), f**k * (1 - f) - g**k * (1 - g))
    yield equal("powers F = x^a: E max by its density is 1 - integral of F^k", a * k / (a * k + 1), 1 - 1 / (a * k + 1))
    yield equal(
        "density of the maximum times x integrates to that", sympy.diff(a * k * x ** (a * k + 1) / (a * k + 1), x) / x ** (a * k), a * k
    )
    yield from _k1_conclusion(copies=False)
    copied = _mean_aggregate(_BETTER, 3, max, copies=True) - _mean_aggregate(_WORSE, 3, max, copies=True)
    yield equal(
        "three copies of one advocate separate like one", copied, _mean_aggregate(_BETTER, 1, max) - _mean_aggregate(_WORSE, 1, max)
    )


def _difference_of_powers(better: Law, worse: Law, k: int, x: Floats) -> Floats:
    return np.asarray(worse.cdf(x) ** k - better.cdf(x) ** k)


def _k1_witness() -> Iterator[Check]:
    better, worse = stats.beta(16, 4), stats.beta(15, 5)
    for k in (1, 3, 10):
        integral = gauss(partial(_difference_of_powers, better, worse, k), *np.linspace(0, 1, 11).tolist())
        yield near(
            f"Beta(16,4) against Beta(15,5), k = {k}: quantiles of the maximum against the integral",
            separation(better, worse, k),
            integral,
            1e-9,
        )


def _k1_law(*, a: float, b: float, c: float, k: int) -> Iterator[Check]:
    better = _normalised({0: a, 1: b, 3: c})
    worse = _normalised({0: c, 2: a, 3: b})
    yield equal("both laws sum to one", (sum(better.values()), sum(worse.values())), (Fraction(1), Fraction(1)))
    enumerated = _mean_aggregate(better, k, max) - _mean_aggregate(worse, k, max)
    yield equal("D_k by enumeration against the integral", enumerated, _by_distribution_functions(better, worse, k))


def _normalised(weights: Mapping[int, float]) -> Discrete:
    exact = {x: Fraction(w).limit_denominator(1000) for x, w in weights.items()}
    total = sum(exact.values())
    return {x: w / total for x, w in exact.items()}


K1 = Claim(
    id="K1",
    title="Separation as an integral",
    statement="For independent advocates with finite means and the maximum as aggregate, D_k is the integral of G^k - F^k.",
    latex=r"D_k = \int \bigl(G(x)^k - F(x)^k\bigr)\,dx, \qquad D_{k+1} - D_k = \int \bigl(F^k(1-F) - G^k(1-G)\bigr)\,dx",
    source="Ours (order statistics)",
    derive=_k1_derive,
    witness=_k1_witness,
    domain={"a": Reals(0.05, 1.0), "b": Reals(0.05, 1.0), "c": Reals(0.05, 1.0), "k": Integers(1, 5)},
    law=_k1_law,
    world={"copies": False},
    assumptions=(Assumption("independent", "the advocates of a side score independently", {"copies": True}),),
    conclusion=_k1_conclusion,
)


# -- K2 --

_TRIPLES: tuple[tuple[tuple[int, int, int], Fraction], ...] = (
    ((0, 0, 5), Fraction(1, 10)),
    ((1, 4, 4), Fraction(3, 10)),
    ((2, 2, 2), Fraction(2, 10)),
    ((3, 7, 1), Fraction(4, 10)),
)
"""A joint law of three scores with dependence of no special kind."""


def softmax_mean(scores: Sequence[float]) -> float:
    """Mean of the scores with weights proportional to exp(score)."""
    weights = [math.exp(x) for x in scores]
    return sum(x * w for x, w in zip(scores, weights, strict=True)) / sum(weights)


_AGGREGATES: dict[str, Callable[[Sequence[float]], float]] = {
    "max": max,
    "mean": lambda scores: sum(scores) / len(scores),
    "median": median,
    "softmax": softmax_mean,
    "sum": sum,
    "clipped": lambda scores: min(max(scores), 6.0),
}


def _shifted_separation(aggregate: str, gap: float, spread: float) -> float:
    """E T(gap + X) - E T(spread * X) over the dependent triples."""
    t = _AGGREGATES[aggregate]
    return sum(float(mass) * (t([gap + x for x in scores]) - t([spread * x for x in scores])) for scores, mass in _TRIPLES)


def _k2_conclusion(*, aggregates: tuple[str, ...], spread: float) -> Iterator[Check]:
    for aggregate in aggregates:
        yield near(f"separation of the {aggregate} under a shift by 2", _shifted_separation(aggregate, 2.0, spread), 2.0, 1e-12)


def _k2_derive() -> Iterator[Check]:
    x = sympy.symbols("x1:4", real=True)
    e = sympy.symbols("e1:4", positive=True)  # exp(x_i)
    c, big = sympy.symbols("c C", positive=True)  # shift and exp(shift)
    mean = sum(x) / 3
    yield equal("mean: T(x + c) - T(x)", sum(xi + c for xi in x) / 3 - mean, c)
    soft = sum(xi * ei for xi, ei in zip(x, e, strict=True)) / sum(e)
    moved = sum((xi + c) * ei * big for xi, ei in zip(x, e, strict=True)) / sum(ei * big for ei in e)
    yield equal("softmax-weighted mean: T(x + c) - T(x)", moved - soft, c)
    for aggregate in (max, median):
        for scores, _ in _TRIPLES:
            yield equal(f"{aggregate.__name__}{scores} moves by the shift", aggregate([s + 3 for s in scores]) - aggregate(scores), 3)
    for aggregate in (max, median):
        exact = sum(mass * (Fraction(aggregate([s + 2 for s in scores])) - Fraction(aggregate(scores))) for scores, mass in _TRIPLES)
        yield equal(f"separation of the {aggregate.__name__} under dependence, shift 2", exact, Fraction(2))


def _k2_witness() -> Iterator[Check]:
    for k in (1, 3, 10):
        yield near(f"normal scores shifted by .5, maximum of {k}", separation(stats.norm(0.5), stats.norm(), k), 0.5, 1e-10)
        yield near(f"Gumbel scores shifted by .5, maximum of {k}", separation(stats.gumbel_r(0.5), stats.gumbel_r(), k), 0.5, 1e-9)
    yield near("the sum only counts advocates: shift 2, three advocates", _shifted_separation("sum", 2.0, 1.0), 6.0, 1e-12)


def _k2_law(*, gap: float, aggregate: str) -> Iterator[Check]:
    yield near(f"separation of the {aggregate}", _shifted_separation(aggregate, gap, 1.0), gap, 1e-10)


K2 = Claim(
    id="K2",
    title="No separation to be gained in a shift model",
    statement=(
        "If the better answer's scores are jointly distributed as the worse one's plus Delta, with any dependence between advocates, "
        "every shift-equivariant aggregate (maximum, mean, median, softmax-weighted mean) has D_k = Delta for every k."
    ),
    latex=r"(X_1, \dots, X_k) \stackrel{d}{=} (Y_1, \dots, Y_k) + \Delta,\ T(x + c) = T(x) + c \ \Rightarrow\ D_k = \Delta",
    source="Ours",
    derive=_k2_derive,
    witness=_k2_witness,
    domain={"gap": Reals(0.0, 5.0), "aggregate": Choice(("max", "mean", "median", "softmax"))},
    law=_k2_law,
    world={"aggregates": ("max", "mean", "median", "softmax"), "spread": 1.0},
    assumptions=(
        Assumption("shift model", "the two sides differ by a shift only", {"spread": 1.5}),
        Assumption("equivariant", "the aggregate moves with a shift of all scores", {"aggregates": ("sum", "clipped")}),
    ),
    conclusion=_k2_conclusion,
)


# -- K3 --


def _ceiling_separation(k: int, aggregate: str, ceiling: float, *, copies: bool) -> float:
    """D_k of scores x^2 and ceiling * y on [0, 1] (F = x^2, G = y)."""
    worth = 1 if copies or aggregate == "mean" else k
    return 2 * worth / (2 * worth + 1) - ceiling * worth / (worth + 1)


def _expected_absolute_gap(better: Law, worse: Law, k: float) -> float:
    """E|max X - max Y| on [0, 1]: integral of F^k (1 - G^k) + G^k (1 - F^k)."""

    def integrand(x: Floats) -> Floats:
        f, g = better.cdf(x) ** k, worse.cdf(x) ** k
        return np.asarray(f * (1 - g) + g * (1 - f))

    return gauss(integrand, *np.concatenate([np.linspace(0, 0.9, 10), 1 - np.geomspace(0.05, 1e-6, 12), [1.0]]).tolist())


def _k3_conclusion(*, aggregate: str, ceiling: float, copies: bool) -> Iterator[Check]:
    yield at_most("|D_k| with a million advocates", abs(_ceiling_separation(10**6, aggregate, ceiling, copies=copies)), 1e-5)


def _k3_derive() -> Iterator[Check]:
    a, b, k = sympy.symbols("a b k", positive=True)
    gap = 1 / (k * a + 1) + 1 / (k * b + 1) - 2 / (k * (a + b) + 1)  # integral of x^ka (1 - x^kb) + x^kb (1 - x^ka)
    d = 1 / (k * b + 1) - 1 / (k * a + 1)
    yield equal("powers: D_k = k (a-b) / ((ka+1)(kb+1))", d, k * (a - b) / ((k * a + 1) * (k * b + 1)))
    inverse = sympy.Symbol("t", positive=True)  # 1/k
    yield equal("D_k tends to 0: its value at 1/k = 0", sympy.cancel(d.subs(k, 1 / inverse)).subs(inverse, 0), 0)
    yield equal("the expected absolute gap tends to 0", sympy.cancel(gap.subs(k, 1 / inverse)).subs(inverse, 0), 0)
    m, ta, tb, eps, tail = sympy.symbols("M T_A T_B epsilon F", positive=True)
    yield equal(
        "any gap is at most the two distances to the ceiling: (M-T_A) + (M-T_B) - (T_A-T_B) = 2 (M-T_A)",
        (m - ta) + (m - tb) - (ta - tb),
        2 * (m - ta),
    )
    yield equal(
        "E[M - max] <= epsilon + M F(M-epsilon)^k, which tends to epsilon: the term at F^k = 0", (eps + m * tail).subs(tail, 0), eps
    )


def _k3_witness() -> Iterator[Check]:
    better, worse = stats.beta(16, 4), stats.beta(15, 5)
    three = _ceiling_separation(3, "max", 0.9, copies=False)
    yield near("scores x^2 and .9 y, k = 3: 6/7 - .9 * 3/4", three, 6 / 7 - 0.9 * 3 / 4, 1e-12)
    for k, figure in ((1, "0.0500"), (3, "0.0431"), (10, "0.0358"), (100, "0.0248")):
        yield shows(f"Beta(16,4) against Beta(15,5): D_{k}", separation(better, worse, k), figure)
    for k, figure in ((1, "0.654"), (3, "0.711"), (10, "0.773"), (100, "0.867")):
        yield shows(f"while P(better wins) with {k} advocates is", chance_to_win(better, worse, k), figure)
    gaps = [_expected_absolute_gap(better, worse, k) for k in (1, 10, 1000, 10**6, 10**12)]
    yield at_most("the expected absolute gap falls too, from k = 1 to 10^12", gaps[-1], 0.01 * gaps[0])
    yield equal("at every step", all(x > y for x, y in pairwise(gaps)), True)
    yield near(
        "powers x^2 and x, k = 3: expected absolute gap by quadrature",
        _expected_absolute_gap(stats.beta(2, 1), stats.beta(1, 1), 3),
        1 / 7 + 1 / 4 - 2 / 10,
        1e-10,
    )


def _k3_law(*, a: float, b: float, k: int) -> Iterator[Check]:
    gap = 1 / (k * a + 1) + 1 / (k * b + 1) - 2 / (k * (a + b) + 1)
    yield at_most("|D_k| <= E|gap_k|", abs(k * (a - b) / ((k * a + 1) * (k * b + 1))), gap, 1e-12)
    yield at_most("E|gap_k| <= sum of the distances to the ceiling", gap, 1 / (k * a + 1) + 1 / (k * b + 1))


def _k3_plot(axes: Axes) -> None:
    better, worse = stats.beta(16, 4), stats.beta(15, 5)
    k = np.unique(np.geomspace(1, 100, 25).astype(int))
    axes.plot(k, [separation(better, worse, int(i)) for i in k], color="tab:red", marker=".", label="expected separation D_k")
    axes.set(
        xlabel="advocates a side, k",
        ylabel="expected separation",
        xscale="log",
        ylim=(0, 0.055),
        title="K3: separation falls while accuracy rises, Beta(16, 4) against Beta(15, 5)",
    )
    twin = axes.twinx()
    twin.plot(
        k, [chance_to_win(better, worse, int(i)) for i in k], color="tab:blue", marker=".", label="P(better answer wins) (right axis)"
    )
    twin.set(ylabel="P(better wins)", ylim=(0.5, 0.9))
    axes.legend(loc="lower left", bbox_to_anchor=(0, 0.12))
    twin.legend(loc="lower right")


K3 = Claim(
    id="K3",
    title="A ceiling closes every gap",
    statement=(
        "If advocates are independent, both answers' scores can come arbitrarily near the same ceiling, and the aggregate is at least "
        "the maximum, then D_k and the expected absolute gap tend to 0 as k grows; so wherever D_1 > 0, some k has D_k < D_1."
    ),
    latex=(
        r"T \ge \max_j X_j,\ \operatorname{ess\,sup} F = \operatorname{ess\,sup} G = M \ \Rightarrow\ D_k \to 0,\ \mathrm{E}|T(X) - "
        r"T(Y)| \to 0"
    ),
    source="Ours; the aggregation property (at least the maximum) is the 2024 version's own assumption",
    derive=_k3_derive,
    witness=_k3_witness,
    domain={"a": Reals(0.1, 20.0), "b": Reals(0.1, 20.0), "k": Integers(1, 1000)},
    law=_k3_law,
    world={"aggregate": "max", "ceiling": 1.0, "copies": False},
    assumptions=(
        Assumption("independent", "the advocates of a side score independently", {"copies": True}),
        Assumption("common ceiling", "both supports reach the same ceiling", {"ceiling": 0.9}),
        Assumption("at least the maximum", "the aggregate is at least the best advocate's score", {"aggregate": "mean"}),
    ),
    conclusion=_k3_conclusion,
    plot=_k3_plot,
)

CLAIMS = (K1, K2, K3)
