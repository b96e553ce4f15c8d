r"""What a stable or repeated gap says about the verdict (claims C7 and C8).

A stopping rule that looks at changes of the gap, :math:`|\delta_r - \delta_{r-1}| < \epsilon`, sees contrasts of the rounds; a decision
on their mean sees the mean. For exchangeable Gaussian rounds the two are independent. Where they are not, the numbers come from integrals
whose inner one is closed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import sympy
from scipy.special import betainc, betaln, ndtr
from scipy.stats import laplace, norm
from scipy.stats import t as student

from .claim import Assumption, Check, Claim, Integers, Reals, at_most, equal, near, shows
from .numerics import gauss

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CLAIMS", "stable_and_right"]

Floats = npt.NDArray[np.float64]
Function = Callable[[Floats], Floats]


# -- C7 --


@dataclass(frozen=True)
class Round:
    """Law of one round's gap: density, distribution function, and edges between which the density is smooth."""

    density: Function
    cdf: Function
    edges: tuple[float, ...]


def gaussian_round(gap: float, sd: float) -> Round:
    """Return the law of a normal gap."""
    edges = tuple(gap + sd * z for z in (-10.0, -4.0, -1.0, 1.0, 4.0, 10.0))
    return Round(lambda x: np.asarray(norm.pdf(x, gap, sd)), lambda x: np.asarray(ndtr((x - gap) / sd)), edges)


def beta_round(gap: float, concentration: float) -> Round:
    """Gap 2 g - 1 with g ~ Beta of mean (1 + gap)/2."""
    a, b = concentration * (1 + gap) / 2, concentration * (1 - gap) / 2

    def density(x: Floats) -> Floats:
        g = (1 + x) / 2
        return np.asarray(np.exp((a - 1) * np.log(g) + (b - 1) * np.log1p(-g) - betaln(a, b)) / 2)

    return Round(density, lambda x: np.asarray(betainc(a, b, np.clip((1 + x) / 2, 0, 1))), (-1.0, -0.9, -0.5, 0.5, 0.9, 1.0))


def _stable_interval(x: Floats, epsilon: float, signed: bool) -> list[tuple[Floats, Floats]]:
    """Second gaps that count as stable after a first gap x."""
    if signed:
        return [(x - epsilon, x + epsilon)]
    size = np.abs(x)
    return [(np.maximum(size - epsilon, 0.0), size + epsilon), (-size - epsilon, np.minimum(epsilon - size, 0.0))]


def stable_and_right(rounds: tuple[Round, ...], epsilon: float, decision: str, *, signed: bool) -> tuple[float, float]:
    """Two rounds of an item that is one of several equally likely kinds: P(right | stable) and P(right).

    Parameters
    ----------
    rounds : tuple of Round
        Law of a round, by kind of item.
    epsilon : float
        Stable means a change below this.
    decision : {"mean", "last"}
        What the verdict is taken from.
    signed : bool
        Whether the change is one of gaps, or of absolute gaps.
    """
    stable = stable_right = right = 0.0
    for one in rounds:
        inner_edges = [e for k in (0.0, epsilon, epsilon / 2, 1 - epsilon) for e in (-k, k) if one.edges[0] < e < one.edges[-1]]
        pieces = sorted({*one.edges, *inner_edges})

        def mass(x: Floats, low: Floats, high: Floats, above: Floats | float, one: Round = one) -> Floats:
            return np.asarray(one.density(x) * (one.cdf(np.maximum(high, above)) - one.cdf(np.maximum(low, above))))

        def stays(x: Floats, only_right: bool, mass: Callable[..., Floats] = mass) -> Floats:
            above = _threshold(x, decision) if only_right else np.full_like(x, -np.inf)
            return np.asarray(sum(mass(x, low, high, above) for low, high in _stable_interval(x, epsilon, signed)))

        stable += gauss(lambda x, f=stays: f(x, False), *pieces)  # type: ignore[misc]
        stable_right += gauss(lambda x, f=stays: f(x, True), *pieces)  # type: ignore[misc]
        right += gauss(lambda x, f=mass: f(x, _threshold(x, decision), np.full_like(x, np.inf), -np.inf), *pieces)  # type: ignore[misc]
    return stable_right / stable, right / len(rounds)


def _threshold(x: Floats, decision: str) -> Floats:
    """Return what the second gap must exceed for a right verdict."""
    return -x if decision == "mean" else np.zeros_like(x)


_KINDS: dict[str, tuple[Round, ...]] = {
    "gaussian": (gaussian_round(0.5, 1.0),),
    "beta": (beta_round(0.3, 6.0),),
    "mixed": (gaussian_round(0.5, 0.5), gaussian_round(0.5, 2.0)),
}


def _c7_conclusion(*, rounds: str, decision: str, signed: bool) -> Iterator[Check]:
    given_stable, anyway = stable_and_right(_KINDS[rounds], 0.4, decision, signed=signed)
    yield near(f"P(right | stable) against P(right), {rounds} rounds, verdict on the {decision}", given_stable, anyway, 1e-9)


def _c7_derive() -> Iterator[Check]:
    for r in range(2, 6):
        shared, noise = sympy.symbols("c s", positive=True)
        covariance = shared * sympy.ones(r, r) + noise * sympy.eye(r)
        mean = sympy.ones(r, 1) / r
        for i, j in pairwise(range(r)):
            contrast = sympy.zeros(r, 1)
            contrast[i], contrast[j] = 1, -1
            yield equal(f"{r} exchangeable rounds: Cov(delta_{i + 1} - delta_{j + 1}, mean)", (contrast.T * covariance * mean)[0], 0)
    first, second = sympy.symbols("s_1 s_2", positive=True)
    unequal = (sympy.Matrix([[1, -1]]) * sympy.diag(first, second) * sympy.ones(2, 1) / 2)[0]
    yield equal("unequal variances s_1, s_2: the covariance is (s_1 - s_2)/2", unequal, (first - second) / 2)
    last = (sympy.Matrix([[1, -1]]) * sympy.diag(first, first) * sympy.Matrix([0, 1]))[0]
    yield equal("and with the last round alone it is minus the noise variance", last, -first)


def _stopped_at_three(gap: float, epsilon: float) -> float:
    """P(mean > 0 | first stable at round 3), normal rounds: integrate over d = delta_1 - delta_2 and s = delta_1 + delta_2."""

    def given_d(d: float, only_right: bool) -> float:
        def inner(s: Floats) -> Floats:
            y = (s - d) / 2
            above = -s if only_right else np.full_like(s, -np.inf)
            third = ndtr(np.maximum(y + epsilon, above) - gap) - ndtr(np.maximum(y - epsilon, above) - gap)
            return np.asarray(norm.pdf(s, 2 * gap, math.sqrt(2)) * third)

        pieces = sorted({2 * gap - 13, 2 * gap - 3, 2 * gap + 3, 2 * gap + 13, (d - 2 * epsilon) / 3, (d + 2 * epsilon) / 3})
        return gauss(inner, *pieces, nodes=40)

    def outer(only_right: bool) -> float:
        def f(ds: Floats) -> Floats:
            return np.asarray(norm.pdf(ds, 0, math.sqrt(2)) * [given_d(float(d), only_right) for d in ds])

        return gauss(f, -10.0, -3.0, -epsilon, nodes=30) + gauss(f, epsilon, 3.0, 10.0, nodes=30)

    return outer(True) / outer(False)


def _on_grid(rounds: tuple[Round, ...], epsilon: float, decision: str, *, signed: bool, points: int = 1600) -> tuple[float, float]:
    """Use the midpoint rule on a square grid of both gaps."""
    totals = np.zeros(3)
    for one in rounds:
        edges = np.linspace(one.edges[0], one.edges[-1], points + 1)
        x = (edges[:-1] + edges[1:]) / 2
        first, second = x[:, None], x[None, :]
        mass = np.diff(one.cdf(edges))[:, None] * np.diff(one.cdf(edges))[None, :]
        moved = np.abs(first - second) if signed else np.abs(np.abs(first) - np.abs(second))
        right = (first + second > 0) if decision == "mean" else (second > 0) & (first == first)
        totals += [mass[moved < epsilon].sum(), mass[(moved < epsilon) & right].sum(), mass[right].sum()]
    return float(totals[1] / totals[0]), float(totals[2] / len(rounds))


def _c7_witness() -> Iterator[Check]:
    given, anyway = stable_and_right(_KINDS["gaussian"], 0.4, "mean", signed=True)
    yield near("P(right) of two Gaussian rounds, integral against closed form", anyway, float(ndtr(0.5 * math.sqrt(2))), 1e-10)
    yield near("Gaussian, signed, mean: P(right | stable) equals P(right)", given, anyway, 1e-10)
    yield near(
        "stopped at round 3: P(right | first stable at 3) equals P(right) of three rounds",
        _stopped_at_three(0.5, 0.4),
        float(ndtr(0.5 * math.sqrt(3))),
        1e-8,
    )
    for label, rounds, decision, signed in (
        ("verdict on the last round", "gaussian", "last", True),
        ("Beta gaps", "beta", "mean", True),
        ("items of different noise", "mixed", "mean", True),
        ("absolute gaps", "gaussian", "mean", False),
    ):
        given, anyway = stable_and_right(_KINDS[rounds], 0.4, decision, signed=signed)
        on_grid = _on_grid(_KINDS[rounds], 0.4, decision, signed=signed)
        yield near(f"{label}: P(right | stable) against a grid", given, on_grid[0], 2e-3)
        yield near(f"{label}: P(right) against a grid", anyway, on_grid[1], 2e-3)
        yield at_most(
            f"{label}: P(right | stable) = {given:.4f} differs from P(right) = {anyway:.4f} by more than .005",
            0.005,
            abs(given - anyway),
            strict=True,
        )


def _c7_law(*, gap: float, sd: float, epsilon: float) -> Iterator[Check]:
    given, anyway = stable_and_right((gaussian_round(gap, sd),), epsilon, "mean", signed=True)
    yield near("P(right | stable) equals P(right)", given, anyway, 1e-7)


def _c7_plot(axes: Axes) -> None:
    cases = [("all assumptions", "gaussian", "mean", True), ("last round", "gaussian", "last", True), ("Beta gaps", "beta", "mean", True)]
    cases += [("mixed noise", "mixed", "mean", True), ("absolute gaps", "gaussian", "mean", False)]
    values = [stable_and_right(_KINDS[r], 0.4, d, signed=s) for _, r, d, s in cases]
    place = np.arange(len(cases))
    axes.bar(place - 0.2, [v[1] for v in values], 0.4, label="P(right)")
    axes.bar(place + 0.2, [v[0] for v in values], 0.4, label="P(right | stable)")
    axes.set_xticks(place, [c[0] for c in cases])
    axes.set(ylabel="probability", ylim=(0.5, 1.0), title="C7: does a stable gap say anything? (two rounds)")
    axes.legend()


C7 = Claim(
    id="C7",
    title="Stopping on a stable signed gap is independent of being right",
    statement=(
        "When rounds are exchangeable Gaussian with equal variances and the verdict is the sign of their mean, stopping because the "
        "signed gap has stabilised is independent of the verdict being right, compared at the same round. It is informative for verdicts "
        "on the last round, Beta gaps, items of different noise, and absolute gaps."
    ),
    latex=(
        r"\mathrm{Cov}(\delta_i - \delta_j, \bar\delta) = 0 \ \Rightarrow\ P(\bar\delta > 0 \mid |\delta_r - \delta_{r-1}| < "
        r"\epsilon) = P(\bar\delta > 0)"
    ),
    source="Ours, on D3's budgeted stopping (stop when the score difference has stabilised)",
    derive=_c7_derive,
    witness=_c7_witness,
    domain={"gap": Reals(0.05, 1.5), "sd": Reals(0.3, 3.0), "epsilon": Reals(0.05, 1.0)},
    law=_c7_law,
    world={"rounds": "gaussian", "decision": "mean", "signed": True},
    assumptions=(
        Assumption("mean decides", "the verdict is the sign of the mean gap", {"decision": "last"}),
        Assumption("gaussian", "gaps are Gaussian", {"rounds": "beta"}),
        Assumption("equal variances", "all items have the same noise", {"rounds": "mixed"}),
        Assumption("signed", "the rule looks at signed gaps", {"signed": False}),
    ),
    conclusion=_c7_conclusion,
    plot=_c7_plot,
    remark="The true difference may vary between items in any way: given the item the argument is the same.",
)


# -- C8 --

_NOISE: dict[str, dict[int, Fraction]] = {
    "symmetric": {-2: Fraction(1, 10), -1: Fraction(2, 10), 0: Fraction(4, 10), 1: Fraction(2, 10), 2: Fraction(1, 10)},
    "skewed": {-1: Fraction(6, 10), 0: Fraction(1, 10), 2: Fraction(3, 10)},
}
"""Laws of noise with mean 0 on the integers."""


def _law_of_size(gap: int, noise: dict[int, Fraction], absolute: bool) -> dict[int, Fraction]:
    law: dict[int, Fraction] = {}
    for e, mass in noise.items():
        seen = abs(gap + e) if absolute else gap + e
        law[seen] = law.get(seen, Fraction(0)) + mass
    return law


def _best_worst_error(gap: int, noise: dict[int, Fraction], absolute: bool) -> Fraction:
    """Average error of the best rule on one observation when either answer is better by ``gap``: (1 - total variation) / 2."""
    plus, minus = _law_of_size(gap, noise, absolute), _law_of_size(-gap, noise, absolute)
    overlap = sum((min(plus.get(x, Fraction(0)), minus.get(x, Fraction(0))) for x in plus.keys() | minus.keys()), Fraction(0))
    return overlap / 2


def _c8_conclusion(*, noise: str, absolute: bool) -> Iterator[Check]:
    yield equal("error of the best rule, difference 1", _best_worst_error(1, _NOISE[noise], absolute), Fraction(1, 2))


def _c8_derive() -> Iterator[Check]:
    for gap in (1, 2, 3):
        plus, minus = (_law_of_size(s * gap, _NOISE["symmetric"], True) for s in (1, -1))
        yield equal(f"law of |delta| under +{gap} and -{gap}", tuple(sorted(plus.items())), tuple(sorted(minus.items())))
    yield equal(
        "the noise laws have mean 0", tuple(sum(e * m for e, m in law.items()) for law in _NOISE.values()), (Fraction(0), Fraction(0))
    )
    accept = sympy.Symbol("alpha")  # P(rule names the first answer), the same under both signs
    yield equal("so a rule's two error probabilities sum to 1", (1 - accept) + accept, 1)
    z = sympy.Symbol("z", positive=True)
    primitive = -sympy.exp(-(z**2) / 2)
    yield equal(
        "E|noise| of a normal is sigma sqrt(2/pi): primitive of z exp(-z^2/2)", sympy.diff(primitive, z), z * sympy.exp(-(z**2) / 2)
    )


def _c8_witness() -> Iterator[Check]:
    for name, law in (("normal", norm), ("t with 3 degrees", student(3)), ("Laplace", laplace)):
        x = np.linspace(0, 8, 161)
        plus, minus = (law.pdf(x - s) + law.pdf(x + s) for s in (0.7, -0.7))
        yield near(
            f"densities of |delta| under +.7 and -.7, {name} noise: largest difference", float(np.abs(plus - minus).max()), 0.0, 1e-14
        )
    size = 2 * gauss(lambda z: z * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi), 0.0, 3.0, 12.0)
    yield shows("E|delta| at Delta = 0, in standard deviations", size, "0.798")
    signed = 1 - float(norm.cdf(0.7))
    yield at_most("the signed gap does tell: its error at Delta = .7 sigma", signed, 0.5, strict=True)
    yield shows("skewed noise: error of the best rule on |delta|", float(_best_worst_error(1, _NOISE["skewed"], True)), "0.05")


def _c8_law(*, gap: int, a: float, b: float, c: float) -> Iterator[Check]:
    total = Fraction(a) * 2 + Fraction(b) * 2 + Fraction(c)
    noise = {-2: Fraction(a) / total, 2: Fraction(a) / total, -1: Fraction(b) / total, 1: Fraction(b) / total, 0: Fraction(c) / total}
    yield equal("any symmetric noise: error of the best rule", _best_worst_error(gap, noise, True), Fraction(1, 2))


C8 = Claim(
    id="C8",
    title="The absolute gap names no winner",
    statement=(
        "With symmetric noise |delta| has the same law whether the first answer is better by Delta or worse by Delta, so every rule "
        "based on |delta| alone errs at least half of the time in one of the two cases; and E|delta| is .798 sigma, not 0, between equal "
        "answers."
    ),
    latex=r"|\Delta + e| \stackrel{d}{=} |{-\Delta} + e| \ \Rightarrow\ P_{+\Delta}(\text{err}) + P_{-\Delta}(\text{err}) = 1",
    source="Ours, on the published code, whose convergence test looks at |s_1 - s_2|",
    derive=_c8_derive,
    witness=_c8_witness,
    domain={"gap": Integers(1, 5), "a": Reals(0.0, 1.0), "b": Reals(0.0, 1.0), "c": Reals(0.1, 1.0)},
    law=_c8_law,
    world={"noise": "symmetric", "absolute": True},
    assumptions=(
        Assumption("symmetric noise", "noise is symmetric about 0", {"noise": "skewed"}),
        Assumption("absolute", "only |delta| is looked at", {"absolute": False}),
    ),
    conclusion=_c8_conclusion,
)

CLAIMS = (C7, C8)
