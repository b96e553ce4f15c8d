r"""Convergence of the score gap: what concentration gives, and what it does not (claims C1 to C3).

The judge scores both answers in every round; :math:`\delta_r \in [-1, 1]` is the gap, :math:`\Delta > 0` the true difference and
:math:`g_r = (1 + \delta_r)/2`, so :math:`E g_r = \mu = (1 + \Delta)/2` for an unbiased judge. With the prior Beta(a_0, a_0) the posterior
after R rounds is Beta(a_0 + S, a_0 + R - S), :math:`S = \sum g_r`: its mean ranks the worse answer first iff :math:`S \le R/2`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import sympy
from scipy.special import betainc, ndtr
from scipy.stats import binom

from .claim import Assumption, Check, Claim, Counterexample, Integers, Reals, at_most, equal, near, shows
from .numerics import gauss, integral01, polynomial_product

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CLAIMS", "hoeffding"]

Floats = npt.NDArray[np.float64]

MEASURED_GAP = Fraction(1765, 12000)
"""Mean absolute gap of public SAMRE data: 17.65 of 120 points."""
MEAN_ROUNDS = Fraction(271, 100)
"""Mean number of rounds that D3 reports."""


def hoeffding(rounds: float, gap: float) -> float:
    r"""Bound :math:`e^{-R \Delta^2 / 2}` on the probability of ranking the worse answer first."""
    return math.exp(-rounds * gap**2 / 2)


def kl(x: float, y: float) -> float:
    """Kullback-Leibler divergence of a coin with chance x from one with chance y, natural logarithms."""
    return x * math.log(x / y) + (1 - x) * math.log((1 - x) / (1 - y))


# -- C1 --


def _misranking(rounds: int, gap: float, bias: float, spread: float, copies: int, prior: tuple[int, int]) -> float:
    """P(posterior mean <= 1/2) when g_r = 1/2 + spread (B_r - 1/2), B_r a coin; ``copies`` consecutive rounds repeat one coin.

    The coin's chance gives E g_r = (1 + gap + bias) / 2. The posterior mean is at most 1/2 iff sum (g_r - 1/2) <= (b_0 - a_0) / 2.
    """
    chance = 0.5 + (gap + bias) / (2 * spread)
    coins = rounds // copies
    heads = Fraction(coins) / 2 + Fraction(prior[1] - prior[0]) / (2 * copies * Fraction(spread))
    return float(binom.cdf(math.floor(heads), coins, min(max(chance, 0.0), 1.0)))


def _c1_conclusion(*, rounds: int, gap: float, bias: float, spread: float, copies: int, prior: tuple[int, int]) -> Iterator[Check]:
    wrong = _misranking(rounds, gap, bias, spread, copies, prior)
    yield at_most(f"P(worse answer first) after {rounds} rounds, gap {gap:g}, against the bound", wrong, hoeffding(rounds, gap), 1e-12)


def _c1_derive() -> Iterator[Check]:
    h, mu, x, gap, n, s, a0 = sympy.symbols("h mu x Delta R S a_0", positive=True)
    cumulant_slope = x * mu / (1 - mu + mu * x)  # of log E e^{h B}, with x = e^h; d/dh = x d/dx
    yield equal(
        "second derivative of a coin's cumulant function is t (1 - t)",
        x * sympy.diff(cumulant_slope, x),
        cumulant_slope * (1 - cumulant_slope),
    )
    yield equal("and t (1 - t) = 1/4 - (t - 1/2)^2, hence at most 1/4", x * (1 - x), sympy.Rational(1, 4) - (x - sympy.Rational(1, 2)) ** 2)
    exponent = -h * gap / 2 + h**2 / 8  # per round: Chernoff at -h for the mean's shortfall Delta/2
    best = sympy.solve(sympy.diff(exponent, h), h)[0]
    yield equal("the exponent is stationary at h = 2 Delta", best, 2 * gap)
    yield equal("and is -Delta^2 / 2 there", exponent.subs(h, best), -(gap**2) / 2)
    yield equal("posterior mean - 1/2 has the sign of S - R/2", (a0 + s) / (2 * a0 + n) - sympy.Rational(1, 2), (s - n / 2) / (2 * a0 + n))
    for a, b in ((1, 1), (2, 5), (6, 3), (9, 9)):
        density = polynomial_product([0] * (a - 1) + [1], *[[1, -1]] * (b - 1))
        mass = integral01(density, 0, Fraction(1, 2)) / integral01(density)
        tail = Fraction(sum(math.comb(a + b - 1, k) for k in range(a, a + b)), 2 ** (a + b - 1))
        yield equal(f"posterior mass below 1/2 of Beta({a}, {b}), integral against binomial sum", mass, tail)
    u, v = sympy.symbols("u v", positive=True)
    mu_u, tilt = u**2 / (u**2 + v**2), u / (u + v)
    yield equal(
        "the mixed rate's optimum s: s^2/mu = (1-s)^2/(1-mu) at s = sqrt(mu)/(sqrt(mu)+sqrt(1-mu))",
        tilt**2 / mu_u,
        (1 - tilt) ** 2 / (1 - mu_u),
    )
    yield equal("there KL(s||mu) + KL(s||1/2) = log of one ratio", tilt**2 / (mu_u / 2), 2 * (u**2 + v**2) / (u + v) ** 2)
    yield equal(
        "KL(1/2||mu) = -log(4 mu (1-mu)) / 2: the product under the logarithm",
        (1 / (2 * mu)) * (1 / (2 * (1 - mu))),
        1 / (4 * mu * (1 - mu)),
    )


def _expected_mass_rate(mu: float) -> float:
    """Rate at which the expected posterior mass on the wrong side decays, for pure signs: min over s of KL(s||mu) + KL(s||1/2)."""
    return -2 * math.log(math.sqrt(mu / 2) + math.sqrt((1 - mu) / 2))


def _log_mass(heads: Floats, rounds: int) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(betainc(1 + heads, 1 + rounds - heads, 0.5)))


def _beta_moment(a: float, b: float, centre: float, power: int, x: Floats) -> Floats:
    """Density of Beta(a, b) times (x - centre)^power."""
    scale = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b))
    return np.asarray(scale * x ** (a - 1) * (1 - x) ** (b - 1) * (x - centre) ** power)


def _misranking_by_paths(rounds: int, gap: float, spread: float, copies: int, prior: tuple[int, int]) -> float:
    """Enumerate all paths of coins, through the posterior's two parameters."""
    chance = 0.5 + gap / (2 * spread)
    total = 0.0
    for path in product((0, 1), repeat=rounds // copies):
        seen = [0.5 + spread * (coin - 0.5) for coin in path for _ in range(copies)]
        a, b = prior[0] + sum(seen), prior[1] + sum(1 - g for g in seen)
        total += math.prod(chance if coin else 1 - chance for coin in path) * (a <= b)
    return total


def _c1_witness() -> Iterator[Check]:
    for rounds, spread, copies, prior in ((8, 1.0, 1, (1, 1)), (8, 2.0, 2, (1, 4)), (6, 1.0, 2, (3, 1))):
        by_paths = _misranking_by_paths(rounds, 0.3, spread, copies, prior)
        label = f"P(worse answer first), {rounds} rounds, spread {spread:g}, {copies} alike, prior {prior}, against all paths"
        yield near(label, _misranking(rounds, 0.3, 0.0, spread, copies, prior), by_paths, 1e-12)
    for a, b in ((3.2, 1.7), (12.5, 9.0)):
        by_quadrature = gauss(partial(_beta_moment, a, b, 0.0, 0), 0.0, 0.1, 0.3, 0.5)
        yield near(
            f"posterior mass below 1/2 of Beta({a:g}, {b:g}), incomplete beta against quadrature",
            float(betainc(a, b, 0.5)),
            by_quadrature,
            2e-5,
        )
    mu = float((1 + MEASURED_GAP) / 2)
    few, many = 20_000, 40_000
    prefactor = 0.5 * math.log(many / few)
    typical = [float(_log_mass(np.array(n * mu), n)) for n in (few, many)]
    yield shows("rate of the posterior mass along typical data, KL(mu||1/2) at mu = .5735", kl(mu, 0.5), "0.010856")
    yield near("the same from the incomplete beta function", (typical[0] - typical[1] - prefactor) / (many - few), kl(mu, 0.5), 1e-6)
    expected = []
    for n in (few, many):
        heads = np.arange(n + 1)
        expected.append(float(np.logaddexp.reduce(binom.logpmf(heads, n, mu) + np.maximum(_log_mass(heads.astype(float), n), -1e5))))
    yield near(
        "rate of the expected mass, exact sums against its formula",
        (expected[0] - expected[1] - prefactor) / (many - few),
        _expected_mass_rate(mu),
        1e-6,
    )
    yield shows("which is half the typical rate here", _expected_mass_rate(mu) / kl(mu, 0.5), "0.50")
    signs = [float(binom.logcdf(n // 2, n, mu)) for n in (few, many)]
    yield near("rate of the error of pure signs against KL(1/2||mu)", (signs[0] - signs[1] - prefactor) / (many - few), kl(0.5, mu), 2e-6)
    yield near("KL(1/2||mu) by its closed form", kl(0.5, mu), -0.5 * math.log(4 * mu * (1 - mu)), 1e-14)


def _c1_law(*, rounds: int, gap: float) -> Iterator[Check]:
    yield from _c1_conclusion(rounds=rounds, gap=gap, bias=0.0, spread=1.0, copies=1, prior=(1, 1))
    if gap < 0.999:
        yield at_most("Pinsker: Delta^2/2 <= KL(1/2||mu)", gap**2 / 2, kl(0.5, (1 + gap) / 2), 1e-12)


def _c1_plot(axes: Axes) -> None:
    rounds = np.arange(1, 101, 2)
    for gap, colour in ((0.147, "tab:blue"), (0.3, "tab:orange")):
        axes.plot(rounds, [hoeffding(int(r), gap) for r in rounds], "--", color=colour, label=f"bound, gap {gap}")
        axes.plot(rounds, [_misranking(int(r), gap, 0.0, 1.0, 1, (1, 1)) for r in rounds], color=colour, label=f"exact, signs, gap {gap}")
    axes.set(xlabel="rounds R", ylabel="P(worse answer first)", yscale="log", title="C1: bound and exact probability")
    axes.legend()


C1 = Claim(
    id="C1",
    title="Mis-ranking vanishes exponentially",
    statement=(
        "With independent, unbiased, bounded rounds and a symmetric prior, the probability that the posterior ranks the worse answer "
        "first is at most exp(-R Delta^2/2). The posterior mass on the wrong side is I_{1/2}(a_0 + S, a_0 + R - S); along typical data "
        "it decays at rate KL(mu || 1/2), its expectation more slowly, and for pure signs the error decays at rate KL(1/2 || mu)."
    ),
    latex=(
        r"P\bigl(\mathrm{E}[\mu \mid g_1, \dots, g_R] \le \tfrac12\bigr) \le e^{-R\Delta^2/2}, \qquad -\tfrac1R \ln I_{1/2}(R\mu, "
        r"R(1-\mu)) \to \mathrm{KL}(\mu \,\|\, \tfrac12)"
    ),
    source="Ours (Hoeffding 1963), as the most that D3's abstract can mean; the paper's own assumptions and constants were not available",
    derive=_c1_derive,
    witness=_c1_witness,
    domain={"rounds": Integers(1, 200), "gap": Reals(0.0, 1.0)},
    law=_c1_law,
    world={"rounds": 60, "gap": 0.3, "bias": 0.0, "spread": 1.0, "copies": 1, "prior": (1, 1)},
    assumptions=(
        Assumption("independent", "rounds are independent given the item", {"copies": 60}),
        Assumption("unbiased", "the expected gap is the true difference", {"bias": -0.6}),
        Assumption("bounded", "gaps lie in [-1, 1]", {"spread": 10.0}),
        Assumption("symmetric prior", "the prior favours neither answer", {"prior": (1, 41)}),
    ),
    conclusion=_c1_conclusion,
    plot=_c1_plot,
    remark="Gaps are mapped to [0, 1] by an affine map. A Beta law for the gap itself on [0, 1] would exclude mis-ranking by assumption.",
)


# -- C2 --


def squared_error(a: float, b: float, target: float) -> float:
    """E (g - target)^2 for g ~ Beta(a, b): variance and squared bias."""
    return a * b / ((a + b) ** 2 * (a + b + 1)) + (a / (a + b) - target) ** 2


def _c2_conclusion(*, growth: float, limit: float) -> Iterator[Check]:
    target, concentration = 0.5735, growth
    mean = target + limit
    yield at_most("E (g_r - mu)^2 late in the debate", squared_error(concentration * mean, concentration * (1 - mean), target), 1e-6)


def _c2_derive() -> Iterator[Check]:
    a, b, m, n, t = sympy.symbols("a b m n t", positive=True)
    first, second = a / (a + b), a * (a + 1) / ((a + b) * (a + b + 1))
    variance = a * b / ((a + b) ** 2 * (a + b + 1))
    yield equal("variance of Beta(a, b) from its moments", second - first**2, variance)
    yield equal("E (g - t)^2 = variance + (mean - t)^2", second - 2 * t * first + t**2, variance + (first - t) ** 2)
    yield equal(
        "with a = n m, b = n (1-m) the variance is m (1-m) / (n+1)", variance.subs({a: n * m, b: n * (1 - m)}), m * (1 - m) / (n + 1)
    )


def _c2_converse() -> Iterator[Check]:
    m, n, t = sympy.symbols("m n t", positive=True)
    variance = m * (1 - m) / (n + 1)
    total = variance + (m - t) ** 2
    yield equal("the bias is at most the error: error - bias^2 is the variance, >= 0", total - (m - t) ** 2, variance)
    yield equal(
        "the concentration is m (1-m) / variance - 1, so it must grow without bound when the error vanishes", m * (1 - m) / variance - 1, n
    )


def _c2_witness() -> Iterator[Check]:
    for a, b in ((2.5, 4.0), (40.0, 30.0)):
        value = gauss(partial(_beta_moment, a, b, 0.57, 2), 0.0, 0.2, 0.5, 0.8, 1.0)
        yield near(f"E (g - .57)^2 of Beta({a:g}, {b:g}), formula against quadrature", squared_error(a, b, 0.57), value, 1e-7)


def _c2_law(*, mean: float, concentration: float, target: float) -> Iterator[Check]:
    error = squared_error(mean * concentration, (1 - mean) * concentration, target)
    yield at_most("bias^2 <= error", (mean - target) ** 2, error, 1e-15)
    yield at_most(
        "m (1-m) <= error (n+1): a small error forces a large concentration", mean * (1 - mean), error * (concentration + 1), 1e-9
    )


C2 = Claim(
    id="C2",
    title="Concentration from concentrating parameters",
    statement=(
        "If the round-r gap is Beta(a_r, b_r) with a_r/(a_r + b_r) tending to the true value and a_r + b_r to infinity, the gap "
        "concentrates on the true value. True, and the same thing twice: the error vanishes only if the parameters do just that."
    ),
    latex=(
        r"\mathrm{E}(g_r - \mu)^2 = \frac{a_r b_r}{(a_r + b_r)^2 (a_r + b_r + 1)} + \Bigl(\frac{a_r}{a_r + b_r} - \mu\Bigr)^2 \to 0 "
        r"\iff \frac{a_r}{a_r + b_r} \to \mu,\ a_r + b_r \to \infty"
    ),
    source="Ours; any version of the concentration claim that assumes the Beta parameters to concentrate is of this kind (0 < mu < 1)",
    derive=_c2_derive,
    converse=_c2_converse,
    witness=_c2_witness,
    domain={"mean": Reals(0.05, 0.95), "concentration": Reals(0.5, 1000.0), "target": Reals(0.05, 0.95)},
    law=_c2_law,
    world={"growth": 1e6, "limit": 0.0},
    assumptions=(
        Assumption("concentration grows", "a_r + b_r grows without bound", {"growth": 20.0}),
        Assumption("mean converges", "a_r/(a_r + b_r) tends to the true value", {"limit": -0.2}),
    ),
    conclusion=_c2_conclusion,
)


# -- C3 --


def exp_of_minus(x: Fraction, terms: int = 60) -> tuple[Fraction, Fraction]:
    """Rational lower and upper bounds of exp(-x), x >= 0: 1 / (Taylor sum + remainder bound) and 1 / (Taylor sum)."""
    term, total = Fraction(1), Fraction(1)
    for n in range(1, terms):
        term = term * x / n
        total += term
    remainder = term * x / terms / (1 - x / (terms + 1))
    return 1 / (total + remainder), 1 / total


def rounds_needed(gap: float, level: float) -> int:
    """Smallest R with exp(-R gap^2 / 2) <= level."""
    return math.ceil(2 * math.log(1 / level) / gap**2)


def _gaussian_error(rounds: float, ratio: float) -> float:
    """P(mean of R independent Gaussian rounds < 0), ratio = Delta / sigma."""
    return float(ndtr(-ratio * math.sqrt(rounds)))


def _c3_derive() -> Iterator[Check]:
    rate = MEASURED_GAP**2 / 2
    low, high = exp_of_minus(MEAN_ROUNDS * rate)
    for x in (Fraction(1, 3), Fraction(5, 2)):
        coarse, fine = exp_of_minus(x, 8), exp_of_minus(x)
        yield equal(f"bounds of exp(-{x}) enclose it, with few terms and with many", coarse[0] <= fine[0] <= fine[1] <= coarse[1], True)
    yield at_most("the bound after 2.71 rounds is at least .9705", Fraction(9705, 10000), low)
    yield at_most("and at most .9715", high, Fraction(9715, 10000))
    yield at_most("276 rounds do not reach 5 %", Fraction(5, 100), exp_of_minus(276 * rate)[0], strict=True)
    yield at_most("277 rounds do", exp_of_minus(277 * rate)[1], Fraction(5, 100))
    yield at_most(
        "even the largest gap, 1, gives no 5 % in five rounds: exp(-5/2) > 2/25",
        Fraction(2, 25),
        exp_of_minus(Fraction(5, 2))[0],
        strict=True,
    )


def _c3_witness() -> Iterator[Check]:
    gap = float(MEASURED_GAP)
    yield shows("bound at the measured gap after 2.71 rounds", hoeffding(2.71, gap), "0.971")
    yield shows("bound after 5 rounds", hoeffding(5, gap), "0.947")
    few = exp_of_minus(Fraction(5, 2), 8)
    yield at_most("eight terms bound exp(-5/2) from below", float(few[0]), math.exp(-2.5))
    yield at_most("and from above", math.exp(-2.5), float(few[1]))
    yield equal("rounds that the bound needs for 5 %", rounds_needed(gap, 0.05), 277)
    yield shows("Gaussian rounds with Delta/sigma = .55: error after 9", _gaussian_error(9, 0.55), "0.0495")
    yield shows("and after 8", _gaussian_error(8, 0.55), "0.0599")
    yield equal("Gaussian rounds really needed for 5 %", next(r for r in range(1, 100) if _gaussian_error(r, 0.55) <= 0.05), 9)
    tail = gauss(lambda z: np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi), 0.55 * 3, 4.0, 9.0, 12.0)
    yield near("error after 9 rounds by quadrature", tail, _gaussian_error(9, 0.55), 1e-12)


def _c3_counterexample() -> Iterator[Counterexample]:
    low, high = exp_of_minus(5 * MEASURED_GAP**2 / 2)
    ways = {"rational Taylor bounds": float((low + high) / 2), "exponential function": hoeffding(5, float(MEASURED_GAP))}
    yield Counterexample("error that the bound still allows after 5 rounds at a gap of 17.65/120", 0.0, 0.05, ways, 1e-12)
    low, high = exp_of_minus(Fraction(5, 2))
    yield Counterexample(
        "and at the largest possible gap, 1",
        0.0,
        0.05,
        {"rational Taylor bounds": float((low + high) / 2), "exponential function": hoeffding(5, 1.0)},
        1e-12,
    )


def _c3_law(*, gap: float, rounds: int) -> Iterator[Check]:
    yield at_most("no gap in [0, 1] and no R <= 5 bring the bound below 8 %", 0.08, hoeffding(rounds, gap), strict=True)


C3 = Claim(
    id="C3",
    title="The bound explains debates of a few rounds",
    statement=(
        "Concentration explains the reliability of debates as they are run: within five rounds the bound exp(-R Delta^2/2) falls below "
        "5 %. It does not: at the measured gap it is .971 after 2.71 rounds and needs 277 rounds for 5 %, and no gap whatever brings it "
        "below 8 % by R = 5."
    ),
    latex=r"\min_{R \le 5} e^{-R\Delta^2/2} \le 0.05 \quad (0 \le \Delta \le 1)",
    source=(
        "Ours, on the reading that the asymptotic claim accounts for debates of 2.71 rounds on average (rounds: D3; gap: public SAMRE "
        "data of 282 pairs)"
    ),
    derive=_c3_derive,
    witness=_c3_witness,
    domain={"gap": Reals(0.0, 1.0), "rounds": Integers(1, 5)},
    law=_c3_law,
    counterexample=_c3_counterexample,
    remark="The bound is loose, too: independent Gaussian rounds with Delta/sigma = .55 reach 5 % after 9 rounds.",
)

CLAIMS = (C1, C2, C3)
