r"""Stopping on the signs of successive gaps (claim C9).

Signs are independent, right with chance p = 1 - q > 1/2; either answer may be the better one. :math:`S_t` is the lead of one sign over
the other. Given the path up to t the better answer is the leading one with probability

.. math:: \pi(|S_t|), \qquad \pi(n) = \frac{1}{1 + (q/p)^n},

whatever else happened. Because :math:`\mathrm{E} S_T = (p - q)\,\mathrm{E} T` (Wald), every rule with finite :math:`\mathrm{E} T` has

.. math:: (\mathrm{E} T, P(\text{right})) = \sum_n P(|S_T| = n)\,\Bigl(\tfrac{n (2 \pi(n) - 1)}{p - q}, \pi(n)\Bigr),

a mixture of the points of the rules "stop at a lead of n". No rule lies above their chords, and a rule that only ever stops at leads n
and n + 1 lies on one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import sympy

from .claim import Assumption, Check, Claim, Integers, Reals, at_most, equal, near, shows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CLAIMS", "curtailed_majority_of_three", "lead_by", "two_equal_signs"]

Point = tuple[float, float]
"""Expected rounds and P(right)."""


def two_equal_signs(p: float) -> Point:
    """Stop at the first two equal signs in a row (the 2024 rule), without a cap on rounds."""
    base = 1 - p + p**2
    return (2 + p - p**2) / base, p**2 * (2 - p) / base


def lead_by(n: int, p: float) -> Point:
    """Stop when one sign leads by n."""
    if n == 0:
        return 0.0, 0.5
    right = 1 / (1 + ((1 - p) / p) ** n)
    return (n * (2 * right - 1) / (2 * p - 1) if p != 0.5 else float(n * n)), right


def curtailed_majority_of_three(p: float) -> Point:
    """Best of three, stopped when two agree."""
    return 2 + 2 * p * (1 - p), p**2 * (3 - 2 * p)


def _two_equal_by_enumeration(p: float, repeat: float, horizon: int) -> Point:
    """Follow the last sign; with chance ``repeat`` a sign copies the one before it. The cap decides by the last sign."""
    last = np.array([1 - p, p])  # P(running, last sign wrong or right)
    expected = right = 0.0
    for t in range(2, horizon + 1):
        fresh = (1 - repeat) * np.array([1 - p, p])
        same = last * (fresh + repeat)
        last = last[::-1] * fresh
        ends = t == horizon
        right += same[1] + (last[1] if ends else 0.0)
        expected += t * (same.sum() + (last.sum() if ends else 0.0))
    return expected, right


def best_value(chances: tuple[tuple[float, float], ...], price: float, horizon: int) -> float:
    """Largest P(right) - price * E[rounds] of any rule of at most ``horizon`` rounds.

    Dynamic programming over (rounds, signs for one answer), weighted by the probability of one such path.

    Parameters
    ----------
    chances : tuple of (p, probability)
        Law of the item's chance p; one entry where it is known.
    price : float
        What a round costs.
    horizon : int
        Most rounds.
    """
    heads = np.arange(horizon + 1)
    value = np.zeros(0)
    for t in range(horizon, -1, -1):
        h = heads[: t + 1]
        first = np.sum([w * p**h * (1 - p) ** (t - h) for p, w in chances], axis=0)
        second = first[::-1]
        stop = np.maximum(first, second) / 2
        value = stop if t == horizon else np.maximum(stop, value[1:] + value[:-1] - price * (first + second) / 2)
    return float(value[0])


def hull_value(chances: tuple[tuple[float, float], ...], price: float, most: int = 60) -> float:
    """Largest value of the lead-by-n rules and their mixtures at a price."""
    return max(sum(w * (lead_by(n, p)[1] - price * lead_by(n, p)[0]) for p, w in chances) for n in range(most))


def _c9_conclusion(*, chances: tuple[tuple[float, float], ...], repeat: float, horizon: int) -> Iterator[Check]:
    p = sum(p * w for p, w in chances)
    expected, right = _two_equal_by_enumeration(p, repeat, horizon)
    yield near("two equal signs in a row: P(right) against the formula", right, two_equal_signs(p)[1], 1e-9)
    yield near("and E[rounds]", expected, two_equal_signs(p)[0], 1e-9)
    for price in (0.01, 0.03, 0.06):
        yield at_most(
            f"best rule at {price:g} a round, against lead-by-n", best_value(chances, price, 80), hull_value(chances, price), 1e-9
        )


def _c9_derive() -> Iterator[Check]:
    p = sympy.Symbol("p", positive=True)
    q = 1 - p
    a, b = sympy.symbols("a b")
    chance = sympy.solve([a - (p + q * b), b - p * a], [a, b])  # P(right | last sign right), P(right | last sign wrong)
    right = sympy.cancel(p * chance[a] + q * chance[b])
    yield equal("two equal signs: P(right) from its linear equations", right, p**2 * (2 - p) / (1 - p + p**2))
    more = sympy.solve([a - (1 + q * b), b - (1 + p * a)], [a, b])
    rounds = sympy.cancel(1 + p * more[a] + q * more[b])
    yield equal("and E[T]", rounds, (2 + p - p**2) / (1 - p + p**2))
    lead = [(n * (2 * pi - 1) / (p - q), pi) for n in range(4) for pi in (1 / (1 + (q / p) ** n),)]
    yield equal("lead-by-2: P(right) = p^2/(p^2+q^2)", lead[2][1], p**2 / (p**2 + q**2))
    yield equal("lead-by-2: E[T] = 2/(1 - 2pq)", lead[2][0], 2 / (1 - 2 * p * q))
    x = sympy.Symbol("x")
    walk = sympy.solve(p * x**2 - x + q, x)  # of the gambler's ruin: x^S is a martingale
    yield equal("(q/p)^S is a martingale", sympy.prod(walk), q / p)
    for label, point in (("two equal signs", (rounds, right)), ("curtailed best of three", (2 + 2 * p * q, p**2 * (3 - 2 * p)))):
        cross = (point[1] - lead[1][1]) * (lead[2][0] - lead[1][0]) - (lead[2][1] - lead[1][1]) * (point[0] - lead[1][0])
        yield equal(f"{label} lies exactly on the chord of lead-by-1 and lead-by-2", cross, 0)
    n = sympy.Symbol("n", positive=True)
    pi = sympy.Symbol("pi", positive=True)
    yield equal(
        "E|S_T| given a lead of n at stopping is n (2 pi - 1) in expectation of the right sign", n * pi - n * (1 - pi), n * (2 * pi - 1)
    )


def _c9_witness() -> Iterator[Check]:
    for label, point, rounds, right in (
        ("two equal signs", two_equal_signs(0.7), "2.797", "0.8063"),
        ("curtailed best of three", curtailed_majority_of_three(0.7), "2.42", "0.784"),
        ("lead-by-2", lead_by(2, 0.7), "3.448", "0.845"),
    ):
        yield shows(f"{label} at p = .7: E[T]", point[0], rounds)
        yield shows(f"{label} at p = .7: P(right)", point[1], right)
    by_enumeration = _two_equal_by_enumeration(0.7, 0.0, 400)
    yield near("two equal signs by enumeration: P(right)", by_enumeration[1], two_equal_signs(0.7)[1], 1e-12)
    yield near("two equal signs by enumeration: E[T]", by_enumeration[0], two_equal_signs(0.7)[0], 1e-12)
    capped = _two_equal_by_enumeration(0.7, 0.0, 3)
    yield near("capped at three rounds it is the curtailed best of three: P(right)", capped[1], curtailed_majority_of_three(0.7)[1], 1e-12)
    yield near("and E[T]", capped[0], curtailed_majority_of_three(0.7)[0], 1e-12)
    copied = _two_equal_by_enumeration(0.7, 1.0, 50)
    yield near("signs that always copy the first: P(right)", copied[1], 0.7, 1e-12)
    yield near("signs that always copy the first: E[T]", copied[0], 2.0, 1e-12)
    for p in (0.6, 0.8):
        for price in (0.02, 0.05):
            yield near(
                f"p = {p:g}, {price:g} a round: dynamic programming against the hull",
                best_value(((p, 1.0),), price, 200),
                hull_value(((p, 1.0),), price),
                1e-9,
            )
    yield near("if an item's signs are all right or all wrong, two equal signs gain nothing over one", _mixed_two_equal(0.7), 0.7, 1e-12)


def _mixed_two_equal(mean: float) -> float:
    """P(right) of two equal signs where an item's chance is 1 with probability ``mean``, else 0."""
    return sum(weight * _two_equal_by_enumeration(p, 0.0, 50)[1] for p, weight in ((1.0, mean), (0.0, 1 - mean)))


def _c9_law(*, p: float, n: int, price: float) -> Iterator[Check]:
    (t0, r0), (t1, r1), (t2, r2) = (lead_by(m, p) for m in (n, n + 1, n + 2))
    yield at_most("lead-by-n points are concave", (r2 - r1) * (t1 - t0), (r1 - r0) * (t2 - t1), 1e-12)
    yield at_most("no rule of 40 rounds beats them", best_value(((p, 1.0),), price, 40), hull_value(((p, 1.0),), price), 1e-9)


def _c9_plot(axes: Axes) -> None:
    leads = [lead_by(n, 0.7) for n in range(1, 6)]
    axes.plot(*zip(*leads, strict=True), "o-", label="stop at a lead of n, and mixtures")
    axes.plot(*two_equal_signs(0.7), "s", label="two equal signs in a row")
    axes.plot(*curtailed_majority_of_three(0.7), "^", label="best of three, curtailed")
    fixed = [(n, sum(math.comb(n, k) * 0.7**k * 0.3 ** (n - k) for k in range(n // 2 + 1, n + 1))) for n in (1, 3, 5, 7, 9)]
    axes.plot(*zip(*fixed, strict=True), "x", color="grey", label="fixed number of rounds")
    axes.set(xlabel="expected rounds", ylabel="P(right)", title="C9: no rule beats the lead-by-n chords (p = .7)")
    axes.legend()


C9 = Claim(
    id="C9",
    title="Two equal signs in a row",
    statement=(
        "With independent signs of known chance p, stopping at two equal signs in a row (uncapped) is right with probability "
        "p^2(2-p)/(1-p+p^2) after (2+p-p^2)/(1-p+p^2) rounds on average. No rule beats the chords of the lead-by-n rules; two equal "
        "signs and the curtailed best of three lie exactly on one."
    ),
    latex=(
        r"P = \frac{p^2(2-p)}{1-p+p^2}, \quad \mathrm{E}T = \frac{2+p-p^2}{1-p+p^2}, \quad (\mathrm{E}T, P)_{\text{any rule}} \in "
        r"\mathrm{conv}\Bigl\{\Bigl(\tfrac{n(2\pi_n-1)}{p-q}, \pi_n\Bigr)\Bigr\}"
    ),
    source="Rule: the 2024 version of D3 (averaging the scores aside). Formulas and the bound: ours, after Wald",
    derive=_c9_derive,
    witness=_c9_witness,
    domain={"p": Reals(0.52, 0.98), "n": Integers(0, 8), "price": Reals(0.003, 0.2)},
    law=_c9_law,
    world={"chances": ((0.7, 1.0),), "repeat": 0.0, "horizon": 400},
    assumptions=(
        Assumption("known chance", "p is the same, known number for every item", {"chances": ((0.5, 0.5), (0.9, 0.5))}),
        Assumption("independent signs", "signs are independent given p", {"repeat": 0.4}),
        Assumption("uncapped", "there is no limit of rounds", {"horizon": 4}),
    ),
    conclusion=_c9_conclusion,
    plot=_c9_plot,
)

CLAIMS = (C9,)
