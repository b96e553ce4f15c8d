r"""Juries, tie-breaks and kappa (claims J1 to J3)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import sympy
from scipy.optimize import brentq
from scipy.special import betainc, ndtr, ndtri
from scipy.stats import betabinom, binom

from .claim import Assumption, Check, Claim, Counterexample, Integers, Reals, at_most, equal, near, shows
from .numerics import gauss, integral01, polynomial_product

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CLAIMS", "class_share_bounds", "jury_limit", "majority"]

Floats = npt.NDArray[np.float64]

REPORTED_GAIN = 0.088
"""Reported gain of five jurors over one."""
BASES = (0.725, 0.775)
"""Accuracies of one juror that are assumed (not published)."""


# -- J1 --


def majority(jurors: int, accuracy: float, correlation: float, model: str = "beta-binomial") -> float:
    """P(the majority of an odd jury is right).

    Parameters
    ----------
    jurors : int
        Odd.
    accuracy : float
        Of one juror.
    correlation : float
        Intra-class correlation of being right (beta-binomial), or of the latent normal variables (one-factor probit).
    model : {"beta-binomial", "probit"}
        How jurors depend on each other.
    """
    need = jurors // 2
    if correlation == 0:
        return float(binom.sf(need, jurors, accuracy))
    if model == "beta-binomial":
        total = 1 / correlation - 1
        return float(betabinom.sf(need, jurors, accuracy * total, (1 - accuracy) * total))

    def given(f: Floats) -> Floats:
        chance = ndtr((ndtri(accuracy) + math.sqrt(correlation) * f) / math.sqrt(1 - correlation))
        return np.asarray(np.exp(-(f**2) / 2) / math.sqrt(2 * math.pi) * binom.sf(need, jurors, chance))

    return gauss(given, *np.linspace(-9.0, 9.0, 13).tolist())


def jury_limit(accuracy: float, correlation: float, model: str = "beta-binomial") -> float:
    """Accuracy of ever larger juries: P(an item's own chance exceeds 1/2)."""
    if correlation == 0:
        return float(accuracy > 0.5)
    if model == "beta-binomial":
        total = 1 / correlation - 1
        return float(1 - betainc(accuracy * total, (1 - accuracy) * total, 0.5))
    return float(ndtr(ndtri(accuracy) / math.sqrt(correlation)))


def fitted_correlation(accuracy: float, gain: float = REPORTED_GAIN, model: str = "beta-binomial") -> float:
    """Correlation at which five jurors gain ``gain`` over one."""
    return float(brentq(lambda c: majority(5, accuracy, c, model) - accuracy - gain, 1e-6, 0.9, xtol=1e-10))


def _j1_conclusion(*, correlation: float | None, base: float) -> Iterator[Check]:
    for model in ("beta-binomial", "probit"):
        fitted = fitted_correlation(base, model=model) if correlation is None else correlation
        yield at_most(f"{model}: limit of ever larger juries that gain 8.8 points with five", jury_limit(base, fitted, model), 0.9315)


def _j1_derive() -> Iterator[Check]:
    p, a, b = sympy.symbols("p a b", positive=True)
    yield equal(
        "mean and correlation of Beta(a, b): second moment - mean^2 over mean (1-mean)",
        (a * (a + 1) / ((a + b) * (a + b + 1)) - a**2 / (a + b) ** 2) / (a * b / (a + b) ** 2),
        1 / (a + b + 1),
    )
    for n in (1, 3, 5):
        here, more = (sum(sympy.binomial(m, k) * p**k * (1 - p) ** (m - k) for k in range(m // 2 + 1, m + 1)) for m in (n, n + 2))
        step = sympy.binomial(n, n // 2) * (p * (1 - p)) ** (n // 2 + 1) * (2 * p - 1)
        yield equal(f"independent jurors: majority of {n + 2} minus majority of {n}", sympy.expand(more - here), sympy.expand(step))
    beta_3_2 = polynomial_product([0, 0, 12], [1, -1])
    five = [Fraction(math.comb(5, k)) * integral01(polynomial_product(beta_3_2, [0] * k + [1], *[[1, -1]] * (5 - k))) for k in (3, 4, 5)]
    yield equal("Beta(3, 2), five jurors: majority by exact integration", sum(five), Fraction(9, 14))
    yield equal("Beta(3, 2): limit by exact integration", integral01(beta_3_2, Fraction(1, 2), 1), Fraction(11, 16))


def _j1_witness() -> Iterator[Check]:
    for base, figure in zip(BASES, ("0.868", "0.921"), strict=True):
        yield shows(f"five independent jurors at {base}", majority(5, base, 0.0), figure)
    figures = {"beta-binomial": (("0.13", "0.895"), ("0.15", "0.931")), "probit": (("0.23", "0.892"), ("0.27", "0.928"))}
    for model, printed in figures.items():
        for base, (correlation, limit) in zip(BASES, printed, strict=True):
            fitted = fitted_correlation(base, model=model)
            yield shows(f"{model}, one juror {base}: correlation that gives +8.8 points for five", fitted, correlation)
            yield shows("limit of ever larger juries", jury_limit(base, fitted, model), limit)
            yield near("a jury of 4001 is near it", majority(4001, base, fitted, model), jury_limit(base, fitted, model), 2e-3)
    yield near("Beta(3, 2), five jurors", majority(5, 0.6, 1 / 6), 9 / 14, 1e-10)
    yield near("Beta(3, 2), limit", jury_limit(0.6, 1 / 6), 11 / 16, 1e-10)


def _j1_law(*, accuracy: float, correlation: float) -> Iterator[Check]:
    for model in ("beta-binomial", "probit"):
        sizes = [majority(n, accuracy, correlation, model) for n in (1, 3, 5, 15)]
        yield near(f"{model}: one juror", sizes[0], accuracy, 1e-7)
        for small, large in pairwise(sizes):
            yield at_most(f"{model}: larger juries are no worse", small, large, 1e-9)
        yield at_most(f"{model}: and stay below the limit", sizes[-1], jury_limit(accuracy, correlation, model), 1e-9)


def _j1_plot(axes: Axes) -> None:
    sizes = np.arange(1, 42, 2)
    for base, colour in zip(BASES, ("tab:blue", "tab:orange"), strict=True):
        fitted = fitted_correlation(base)
        axes.plot(sizes, [majority(int(n), base, 0.0) for n in sizes], ":", color=colour, label=f"independent, one juror {base}")
        axes.plot(
            sizes,
            [majority(int(n), base, fitted) for n in sizes],
            color=colour,
            label=f"correlation {fitted:.2f} (fitted), one juror {base}",
        )
        axes.axhline(jury_limit(base, fitted), color=colour, lw=0.6, ls="--")
    axes.set(xlabel="jurors", ylabel="P(majority right)", title="J1: what more jurors can give")
    axes.legend()


J1 = Claim(
    id="J1",
    title="Limits of a jury",
    statement=(
        "A gain of 8.8 points from one to five jurors means correlated jurors: with one juror at .725 to .775 (assumed) it fits an "
        "intra-class correlation of .13 to .15 (beta-binomial) or .23 to .27 (one-factor probit), and ever larger juries then reach .895 "
        "to .931 or .892 to .928, not 1."
    ),
    latex=(
        r"\lim_{J \to \infty} P(\text{majority right}) = P(p > \tfrac12) = 1 - I_{1/2}(a, b) \quad\text{or}\quad "
        r"\Phi\bigl(\Phi^{-1}(m)/\sqrt\rho\bigr)"
    ),
    source="Gain: D3 (2026). Models, fits and limits: ours; the accuracy of one juror is assumed",
    derive=_j1_derive,
    witness=_j1_witness,
    domain={"accuracy": Reals(0.55, 0.95), "correlation": Reals(0.02, 0.6)},
    law=_j1_law,
    world={"correlation": None, "base": 0.775},
    assumptions=(
        Assumption("correlated", "jurors are correlated; independent ones would become infallible", {"correlation": 1e-4}),
        Assumption("base accuracy", "one juror is right .725 to .775 of the time", {"base": 0.88}),
    ),
    conclusion=_j1_conclusion,
    plot=_j1_plot,
)


# -- J2 --


def _jury_accuracy(jurors: int, accuracy: Fraction, judge: dict[str, Fraction], tie_break: str) -> Fraction:
    """P(verdict right) by enumeration of all votes; the judge's chance of being right depends on whether the jury ties."""
    total = Fraction(0)
    for votes in product((0, 1), repeat=jurors):
        chance = math.prod((accuracy if v else 1 - accuracy for v in votes), start=Fraction(1))
        lead = 2 * sum(votes) - jurors
        if lead:
            total += chance * (lead > 0)
            continue
        total += chance * (judge["tie"] if tie_break == "judge" else Fraction(1, 2))
    return total


def _tie(jurors: int, accuracy: Fraction) -> Fraction:
    if jurors % 2:
        return Fraction(0)
    return math.comb(jurors, jurors // 2) * (accuracy * (1 - accuracy)) ** (jurors // 2)


_GOOD = {"tie": Fraction(7, 10), "else": Fraction(7, 10)}
_BAD_ON_TIES = {"tie": Fraction(3, 10), "else": Fraction(8, 10)}
"""Chance that the judge is right, on ties of the jury and elsewhere."""


def _judge_accuracy(jurors: int, accuracy: Fraction, judge: dict[str, Fraction]) -> Fraction:
    tie = _tie(jurors, accuracy)
    return tie * judge["tie"] + (1 - tie) * judge["else"]


def _j2_conclusion(*, judge: dict[str, Fraction]) -> Iterator[Check]:
    gain = _jury_accuracy(4, Fraction(7, 10), judge, "judge") - _jury_accuracy(4, Fraction(7, 10), judge, "coin")
    yield at_most(
        "a judge who is right more than half of the time", Fraction(1, 2), _judge_accuracy(4, Fraction(7, 10), judge), strict=True
    )
    yield at_most("breaks ties at least as well as a coin: gain", Fraction(0), gain)


def _j2_derive() -> Iterator[Check]:
    tie, right, lead = sympy.symbols("t r m", positive=True)
    yield equal("gain over the coin", (lead + tie * right) - (lead + tie / 2), tie * (right - sympy.Rational(1, 2)))
    for jurors in (2, 4, 6):
        for judge in (_GOOD, _BAD_ON_TIES):
            gain = _jury_accuracy(jurors, Fraction(7, 10), judge, "judge") - _jury_accuracy(jurors, Fraction(7, 10), judge, "coin")
            yield equal(
                f"{jurors} jurors, enumerated: gain against P(tie) (P(judge right | tie) - 1/2)",
                gain,
                _tie(jurors, Fraction(7, 10)) * (judge["tie"] - Fraction(1, 2)),
            )
    for jurors in (1, 3, 5):
        judged, tossed = (_jury_accuracy(jurors, Fraction(7, 10), _BAD_ON_TIES, how) for how in ("judge", "coin"))
        yield equal(f"{jurors} jurors never tie", judged, tossed)
    coin = {"tie": Fraction(1, 2), "else": Fraction(1, 2)}
    yield equal(
        "an uninformative score equals the coin",
        _jury_accuracy(4, Fraction(3, 5), coin, "judge"),
        _jury_accuracy(4, Fraction(3, 5), coin, "coin"),
    )


def _j2_witness() -> Iterator[Check]:
    yield shows("four jurors at .7: P(tie)", float(_tie(4, Fraction(7, 10))), "0.2646")
    tossed = float(_jury_accuracy(4, Fraction(7, 10), _GOOD, "coin"))
    yield near("four jurors and a coin, from the binomial law", tossed, float(binom.sf(2, 4, 0.7) + binom.pmf(2, 4, 0.7) / 2), 1e-12)
    yield near("the same from the binomial law", float(binom.pmf(2, 4, 0.7)), float(_tie(4, Fraction(7, 10))), 1e-12)
    yield shows(
        "a judge right .3 on ties and .8 elsewhere is right overall", float(_judge_accuracy(4, Fraction(7, 10), _BAD_ON_TIES)), "0.668"
    )
    yield at_most(
        "and yet worse than a coin as a tie-break",
        _jury_accuracy(4, Fraction(7, 10), _BAD_ON_TIES, "judge"),
        _jury_accuracy(4, Fraction(7, 10), _BAD_ON_TIES, "coin"),
        strict=True,
    )


def _j2_counterexample() -> Iterator[Counterexample]:
    p = Fraction(7, 10)
    enumerated = _jury_accuracy(4, p, _BAD_ON_TIES, "judge") - _jury_accuracy(4, p, _BAD_ON_TIES, "coin")
    ways = {"enumeration of votes": float(enumerated), "binomial law": float(binom.pmf(2, 4, 0.7)) * (0.3 - 0.5)}
    yield Counterexample(
        "gain over a coin of a judge who is right .668 of the time but .3 on ties (four jurors at .7)", 0.0, math.inf, ways
    )


def _j2_law(*, jurors: int, accuracy: float, on_tie: float) -> Iterator[Check]:
    p, judge = Fraction(accuracy).limit_denominator(100), {"tie": Fraction(on_tie).limit_denominator(100), "else": Fraction(3, 4)}
    gain = _jury_accuracy(jurors, p, judge, "judge") - _jury_accuracy(jurors, p, judge, "coin")
    yield at_most("the gain has the sign of P(judge right | tie) - 1/2", Fraction(0), gain * (judge["tie"] - Fraction(1, 2)))


J2 = Claim(
    id="J2",
    title="A good judge is a good tie-break",
    statement=(
        "A judge who is right more than half of the time breaks a jury's ties better than a coin. What counts is P(judge right | tie) >= "
        "1/2, which P(judge right) does not give: items that split a jury are hard for the judge too. An uninformative score equals the "
        "coin, and odd juries never tie."
    ),
    latex=(
        r"P(\text{judge right}) > \tfrac12 \Rightarrow \text{gain} \ge 0 \quad\text{against}\quad \text{gain} = "
        r"P(\text{tie})\,\bigl(P(\text{judge right} \mid \text{tie}) - \tfrac12\bigr)"
    ),
    source="Rule (ties go to the judge's score): D3 (2026). Statement and counterexample: ours",
    derive=_j2_derive,
    witness=_j2_witness,
    domain={"jurors": Integers(1, 8), "accuracy": Reals(0.05, 0.95), "on_tie": Reals(0.0, 1.0)},
    law=_j2_law,
    world={"judge": _GOOD},
    assumptions=(
        Assumption(
            "right on ties", "the judge is right at least half of the time where the jury ties", {"judge": _BAD_ON_TIES}, stated=False
        ),
    ),
    conclusion=_j2_conclusion,
    counterexample=_j2_counterexample,
)


# -- J3 --


def chance_agreement(accuracy: float, kappa: float) -> float:
    """Return the expected agreement p_e that an accuracy and a kappa imply."""
    return (accuracy - kappa) / (1 - kappa)


def class_share_bounds(accuracy: float, kappa: float) -> tuple[float, float]:
    """Smallest and largest share of the largest of two classes that (accuracy, kappa) allow.

    With share q and disagreement d = 1 - accuracy the judge's share m of the class lies in [q - d, q + d]; p_e = q m + (1-q)(1-m) must be
    reached. The lower bound holds for any number of classes where p_e is at least 1/2: with h the second largest share,
    p_e <= q m + h (1 - m). If q < 1/2 then h <= q and p_e <= q < 1/2; so q >= 1/2, h <= 1 - q, and the value of two classes is the most.

    Raises
    ------
    ValueError
        If p_e is so small that every share from accuracy / 2 on reaches it.
    """
    expected = chance_agreement(accuracy, kappa)
    low, high = accuracy, 2 - accuracy
    return (low + math.sqrt(low**2 - 2 * (low - expected))) / 2, (high + math.sqrt(high**2 - 2 * (high - expected))) / 2


def kappa_of(table: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Accuracy, kappa and largest human share of a table (human class by judge's class)."""
    shares = table / table.sum()
    human, judge = shares.sum(axis=1), shares.sum(axis=0)
    accuracy, expected = float(np.trace(shares)), float(human @ judge)
    return accuracy, (accuracy - expected) / (1 - expected), float(human.max())


def _j3_conclusion(*, classes: int) -> Iterator[Check]:
    low, high = class_share_bounds(0.863, 0.60)
    table = _three_class_table() if classes == 3 else np.array([[0.72037, 0.0], [0.137, 0.14263]])
    accuracy, kappa, largest = kappa_of(table)
    yield near("a table with accuracy .863", accuracy, 0.863, 5e-4)
    yield near("and kappa .60", kappa, 0.60, 5e-3)
    yield at_most("has a largest class of at least the lower bound", low, largest, 5e-3)
    yield at_most("and at most the upper bound", largest, high, 5e-3)


def _three_class_table() -> npt.NDArray[np.float64]:
    """Judge moves .137 of the largest class to a third class that the humans never give: p_e = q (q - .137)."""
    q = (0.137 + math.sqrt(0.137**2 + 4 * chance_agreement(0.863, 0.60))) / 2
    table = np.zeros((12, 12))
    table[0, 0], table[0, 1] = q - 0.137, 0.137
    for c in range(2, 12):
        table[c, c] = (1 - q) / 10
    return table


def _j3_derive() -> Iterator[Check]:
    a, kappa, q, d = sympy.symbols("a kappa q d", positive=True)
    p_e = (a - kappa) / (1 - kappa)
    yield equal("p_e from kappa = (a - p_e)/(1 - p_e)", (a - p_e) / (1 - p_e), kappa)
    yield equal("(.863, .60): p_e", Fraction(863, 1000) - Fraction(6, 10), Fraction(6575, 10000) * Fraction(4, 10))
    for label, sign, centre in (("most", 1, 1 - d), ("least", -1, 1 + d)):
        m = q + sign * d
        yield equal(
            f"{label} p_e for class share q", sympy.expand(q * m + (1 - q) * (1 - m)), sympy.expand(2 * q**2 - 2 * centre * q + centre)
        )
    half = sympy.Rational(1, 2)
    yield equal("balanced binary labels: p_e = 1/2 whatever the judge does", half * q + half * (1 - q), half)
    yield equal("so kappa = 2a - 1", (a - half) / (1 - half), 2 * a - 1)
    m, h = sympy.symbols("m h", positive=True)
    most, two = q * m + h * (1 - m), q * m + (1 - q) * (1 - m)
    yield equal(
        "more classes: with the second largest share h <= 1 - q, p_e <= q m + h (1 - m), at most that of two classes",
        two - most,
        (1 - q - h) * (1 - m),
    )
    yield equal("and where q < 1/2, so that h <= q, p_e <= q: less than 1/2", q - most, (q - h) * (1 - m))


def _j3_witness() -> Iterator[Check]:
    low, high = class_share_bounds(0.863, 0.60)
    yield shows("(.863, .60) needs a largest class of at least", low, "0.720")
    yield shows("and, with two classes, at most", high, "0.857")
    yield shows("within rounding at least", min(class_share_bounds(a, k)[0] for a in (0.8625, 0.8635) for k in (0.595, 0.605)), "0.715")
    yield shows("the easy bound (p_e is at most the largest share)", chance_agreement(0.863, 0.60), "0.6575")
    yield shows("balanced labels would give kappa", 2 * 0.863 - 1, "0.726")
    tables = _extremes_by_enumeration(863, 1000)
    for label, table, bound in zip(("smallest", "largest"), tables, (low, high), strict=True):
        accuracy, kappa, largest = kappa_of(table)
        yield near(f"{label} share over all two-class tables of 1000 items", largest, bound, 2e-3)
        yield near("the accuracy of that table", accuracy, 0.863, 1e-12)
        yield near("and its kappa", kappa, 0.60, 5e-4)


def _extremes_by_enumeration(right: int, items: int) -> tuple[Floats, Floats]:
    """Two-class tables with that many right and kappa within .0005 of .60 whose largest human class is smallest and largest."""
    wrong = items - right
    true_first, missed = (part.ravel() for part in np.meshgrid(np.arange(right + 1), np.arange(wrong + 1), indexing="ij"))
    human = (true_first + missed) / items
    judge = (true_first + wrong - missed) / items
    expected = human * judge + (1 - human) * (1 - judge)
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = (right / items - expected) / (1 - expected)
    near_kappa = np.flatnonzero(np.abs(kappa - 0.60) < 0.0005)
    largest = np.maximum(human, 1 - human)[near_kappa]
    chosen = near_kappa[[int(largest.argmin()), int(largest.argmax())]]
    tables = [np.array([[true_first[i], missed[i]], [wrong - missed[i], right - true_first[i]]], dtype=float) for i in chosen]
    return tables[0], tables[1]


def _j3_law(*, a: float, b: float, c: float, d: float, e: float) -> Iterator[Check]:
    table = np.array([[a, d / 4, 0.01], [e / 4, b, 0.02], [0.03, d / 8, c]])
    accuracy, kappa, largest = kappa_of(table)
    expected = chance_agreement(accuracy, kappa)
    yield at_most("p_e is at most the largest share", expected, largest, 1e-12)
    if expected >= 0.5:
        yield at_most(
            "three classes: the lower bound holds where p_e is at least 1/2", class_share_bounds(accuracy, kappa)[0], largest, 1e-12
        )


J3 = Claim(
    id="J3",
    title="Kappa and accuracy fix the class shares",
    statement=(
        "An accuracy of 86.3 % with kappa .60 needs a largest human class of at least 72.0 % (71.5 % within rounding) and, with two "
        "classes, at most 85.7 %. The easy bound is 65.8 %. The lower bound holds for any number of classes where chance agreement is "
        "at least 1/2 (here .6575). Balanced binary labels would force kappa = 2a - 1 = .726."
    ),
    latex=(
        r"p_e = \frac{a - \kappa}{1 - \kappa}, \qquad \frac{a + \sqrt{a^2 - 2(a - p_e)}}{2} \le q_{\max} \le \frac{(2 - a) + \sqrt{(2 "
        r"- a)^2 - 2(2 - a - p_e)}}{2}"
    ),
    source="Figures: D3 (2026). Bounds: ours",
    derive=_j3_derive,
    witness=_j3_witness,
    domain={name: Reals(0.0, 1.0) for name in "abcde"},
    law=_j3_law,
    world={"classes": 2},
    assumptions=(
        Assumption(
            "two classes",
            "labels have two classes; the lower bound needs no such assumption (p_e is above 1/2 here), the upper one does",
            {"classes": 3},
        ),
    ),
    conclusion=_j3_conclusion,
)

CLAIMS = (J1, J2, J3)
