r"""A biased judge, correlated rounds, and debates that widen the gap (claims C4 to C6).

:math:`\delta_r = \Delta + b + u + e_r`: true difference, the judge's bias for this item, an error shared by all rounds, and the round's
own noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import sympy
from scipy.special import ndtr

from .claim import Assumption, Check, Claim, Counterexample, Integers, Reals, at_most, equal, near, shows
from .numerics import gauss

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CLAIMS", "effective_number", "gaussian_floor"]

Floats = npt.NDArray[np.float64]

MEASURED_RATIO = 0.55
"""Delta / sigma of one round in public SAMRE data: 29 % of its first rounds rank wrongly."""
MEASURED_CORRELATION = 0.816
"""Correlation of rounds 1 and 2, oriented by the label; it holds the true differences too, so it is an upper bound."""


def _normal(z: Floats) -> Floats:
    return np.asarray(np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))


# -- C4 --


def gaussian_floor(sd_difference: float, sd_bias: float, sd_noise: float = 0.0, rounds: float = math.inf) -> float:
    r"""P(mis-ranking) over items, :math:`\frac1\pi \arctan(\sqrt{\sigma_b^2 + s^2/R} / \sigma_\Delta)`.

    Parameters
    ----------
    sd_difference, sd_bias, sd_noise : float
        Standard deviations over items of the true difference and of the bias, and of one round's noise.
    rounds : float
        R; infinite for the floor.
    """
    return math.atan(math.sqrt(sd_bias**2 + sd_noise**2 / rounds) / sd_difference) / math.pi


def _floor_by_quadrature(sd_difference: float, sd_error: float) -> float:
    """2 * integral over Delta > 0 of its density times P(error < -Delta)."""
    ratio = sd_difference / sd_error
    return 2 * gauss(lambda z: _normal(z) * ndtr(-ratio * z), 0.0, 0.5, 1.5, 4.0, 9.0)


def _c4_conclusion(*, sd_bias: float, rounds: float) -> Iterator[Check]:
    yield at_most("P(mis-ranking) late in the debate", gaussian_floor(1.0, sd_bias, 1.0, rounds), 1e-3)


def _c4_derive() -> Iterator[Check]:
    s, v, x = sympy.symbols("sigma v x", positive=True)
    correlation = s / sympy.sqrt(s**2 + v)  # of Delta and of the judge's mean, whose error has variance v
    yield equal("tan^2 of arccos(correlation) is v / sigma^2", (1 - correlation**2) / correlation**2, v / s**2)
    angle = sympy.atan(x)
    yield equal(
        "the wedge {z1 > 0, z2 < -z1/x} has angle arctan(x): same derivative as pi/2 - arctan(1/x)",
        sympy.diff(angle, x),
        -sympy.diff(sympy.atan(1 / x), x),
    )
    yield equal("and the same value at x = 1", sympy.atan(1), sympy.pi / 2 - sympy.atan(sympy.Integer(1)))
    yield equal("equal spreads of bias and difference: one item in four is ranked wrongly", sympy.atan(1) / sympy.pi, sympy.Rational(1, 4))
    gap, bias, mean = sympy.symbols("Delta b m", real=True)
    yield equal("the mean of R rounds tends to Delta + b, whose sign decides", sympy.solve(mean - gap - bias, mean)[0], gap + bias)


def _c4_witness() -> Iterator[Check]:
    for ratio, figure in ((0.3, "0.0928"), (1.0, "0.25"), (2.0, "0.3524")):
        yield shows(f"floor for sigma_b/sigma_Delta = {ratio:g}", gaussian_floor(1.0, ratio), figure)
        yield near("the same by quadrature", gaussian_floor(1.0, ratio), _floor_by_quadrature(1.0, ratio), 1e-10)
    yield shows("86.3 % right in the limit needs sigma_b/sigma_Delta of at most", math.tan(0.137 * math.pi), "0.459")
    yield near(
        "five rounds with noise, formula against quadrature",
        gaussian_floor(2.0, 0.7, 1.5, 5),
        _floor_by_quadrature(2.0, math.sqrt(0.49 + 0.45)),
        1e-10,
    )
    for shift, limit in ((-0.2, 1.0), (-0.1, 0.0)):
        wrong = float(ndtr(-(0.15 + shift) / (1.0 / math.sqrt(1e6))))
        yield near(f"Delta = .15 and bias {shift:g}: after a million rounds P(mis-ranking) is 1{{Delta + b < 0}}", wrong, limit, 1e-12)


def _c4_counterexample() -> Iterator[Counterexample]:
    for ratio in (0.3, 1.0, 2.0):
        ways = {"arctangent": gaussian_floor(1.0, ratio), "quadrature": _floor_by_quadrature(1.0, ratio)}
        yield Counterexample(f"P(mis-ranking) as R grows, sigma_b/sigma_Delta = {ratio:g}", 0.0, 0.0, ways)


def _c4_law(*, ratio: float, noise: float, rounds: int) -> Iterator[Check]:
    now = gaussian_floor(1.0, ratio, noise, rounds)
    yield near("formula against quadrature", now, _floor_by_quadrature(1.0, math.sqrt(ratio**2 + noise**2 / rounds)), 1e-9)
    yield at_most("no number of rounds gets below the floor", gaussian_floor(1.0, ratio), now)


def _c4_plot(axes: Axes) -> None:
    rounds = np.arange(1, 41)
    for ratio in (0.0, 0.3, 1.0, 2.0):
        axes.plot(rounds, [gaussian_floor(1.0, ratio, 1.0, float(r)) for r in rounds], label=f"bias / difference = {ratio:g}")
        axes.axhline(gaussian_floor(1.0, ratio), color="grey", lw=0.6, ls=":")
    axes.set(xlabel="rounds R", ylabel="P(worse answer first)", ylim=(0, 0.45), title="C4: more rounds do not remove a judge's bias")
    axes.legend()


C4 = Claim(
    id="C4",
    title="Mis-ranking vanishes, whatever the judge's bias",
    statement=(
        "As rounds grow the probability of mis-ranking vanishes. Not for a judge with a bias b that persists over the rounds of an item: "
        "the limit is 1 if Delta + b < 0 and 0 if Delta + b > 0, and over items with Gaussian difference and bias the floor is "
        "arctan(sigma_b/sigma_Delta)/pi."
    ),
    latex=(
        r"\lim_{R \to \infty} P(\text{mis-ranking}) = 0 \qquad\text{against}\qquad \tfrac1\pi \arctan\bigl(\sqrt{\sigma_b^2 + "
        r"s^2/R}\,/\,\sigma_\Delta\bigr) \to \tfrac1\pi \arctan(\sigma_b/\sigma_\Delta)"
    ),
    source=(
        "D3 (2026), abstract, in our words and read without an assumption on the judge; its exact assumptions were not available. "
        "Floor: ours"
    ),
    derive=_c4_derive,
    witness=_c4_witness,
    domain={"ratio": Reals(0.05, 3.0), "noise": Reals(0.1, 3.0), "rounds": Integers(1, 50)},
    law=_c4_law,
    world={"sd_bias": 0.0, "rounds": 1e7},
    assumptions=(
        Assumption("unbiased judge", "the judge's expected gap is the true difference for every item", {"sd_bias": 1.0}, stated=False),
    ),
    conclusion=_c4_conclusion,
    counterexample=_c4_counterexample,
    plot=_c4_plot,
)


# -- C5 --


def effective_number(rounds: float, correlation: float) -> float:
    r"""Independent rounds that R equally correlated ones are worth: :math:`R / (1 + (R - 1) \rho)`, at most :math:`1/\rho`."""
    if math.isinf(rounds):
        return math.inf if correlation == 0 else 1 / correlation
    return rounds / (1 + (rounds - 1) * correlation)


def _correlated_error(ratio: float, rounds: float, correlation: float) -> float:
    """P(mean of R rounds < 0) for Delta/sigma = ratio."""
    return float(ndtr(-ratio * math.sqrt(effective_number(rounds, correlation))))


def _correlated_error_by_quadrature(ratio: float, rounds: int, correlation: float) -> float:
    """Condition on the part u that all rounds share, and get the same."""
    own = math.sqrt((1 - correlation) / rounds)
    return gauss(lambda u: _normal(u) * ndtr(-(ratio + math.sqrt(correlation) * u) / own), *np.linspace(-9.0, 9.0, 13).tolist())


def _mean_variance(rounds: int, correlation: float, law: str) -> float:
    """Variance of the mean of R unit-variance rounds: equal correlation, or one that decays as rho^|i-j|."""
    i = np.arange(rounds)
    apart = np.abs(i[:, None] - i[None, :])
    matrix = np.where(apart == 0, 1.0, correlation if law == "exchangeable" else correlation ** apart.astype(float))
    return float(matrix.mean())


def _c5_conclusion(*, law: str, correlation: float) -> Iterator[Check]:
    bound = 1 / MEASURED_CORRELATION
    for rounds in (5, 50, 500):
        yield at_most(
            f"independent rounds that {rounds} rounds are worth, against 1/rho", 1 / _mean_variance(rounds, correlation, law), bound, 1e-9
        )


def _c5_derive() -> Iterator[Check]:
    r, rho, variance = sympy.symbols("R rho sigma2", positive=True)
    mean_variance = (r * variance + r * (r - 1) * rho * variance) / r**2
    yield equal("variance of the mean of R equally correlated rounds", mean_variance, variance * (rho + (1 - rho) / r))
    effective = variance / mean_variance
    yield equal("effective number of rounds", effective, r / (1 + (r - 1) * rho))
    yield equal("its distance to 1/rho is positive", 1 / rho - effective, (1 - rho) / (rho * (1 + (r - 1) * rho)))
    yield equal(
        "counting R rounds as independent overstates precision at R = 5, rho = .816 by", 1 + 4 * Fraction(816, 1000), Fraction(4264, 1000)
    )


def _c5_witness() -> Iterator[Check]:
    for rounds, figure in ((1.0, "0.2912"), (5.0, "0.2757"), (math.inf, "0.2713")):
        yield shows(
            f"error after {rounds:g} rounds, Delta/sigma .55, rho .816",
            _correlated_error(MEASURED_RATIO, rounds, MEASURED_CORRELATION),
            figure,
        )
    for rounds in (2, 5):
        by_quadrature = _correlated_error_by_quadrature(MEASURED_RATIO, rounds, MEASURED_CORRELATION)
        yield near(
            f"error after {rounds} rounds by quadrature",
            _correlated_error(MEASURED_RATIO, rounds, MEASURED_CORRELATION),
            by_quadrature,
            1e-10,
        )
        yield near(
            "effective number from the correlation matrix",
            1 / _mean_variance(rounds, 0.816, "exchangeable"),
            effective_number(rounds, 0.816),
            1e-12,
        )
    yield shows("five rounds at rho = .816 are worth", effective_number(5, MEASURED_CORRELATION), "1.17")
    yield shows("and any number at most", effective_number(math.inf, MEASURED_CORRELATION), "1.23")


def _c5_law(*, rounds: int, correlation: float) -> Iterator[Check]:
    worth = effective_number(rounds, correlation)
    yield near("formula against the correlation matrix", 1 / _mean_variance(rounds, correlation, "exchangeable"), worth, 1e-9)
    yield at_most("at most 1/rho", worth, 1 / correlation)
    yield at_most("and at most R", worth, rounds)


def _c5_plot(axes: Axes) -> None:
    rounds = np.arange(1, 31)
    for correlation in (0.0, 0.3, 0.816):
        axes.plot(rounds, [_correlated_error(MEASURED_RATIO, float(r), correlation) for r in rounds], label=f"correlation {correlation:g}")
    axes.set(xlabel="rounds R", ylabel="P(worse answer first)", ylim=(0, 0.32), title="C5: correlated rounds, gap .55 standard deviations")
    axes.legend()


C5 = Claim(
    id="C5",
    title="Correlated rounds are worth few",
    statement=(
        "R rounds whose judge errors share the correlation rho are worth R/(1 + (R-1) rho) independent ones, never more than 1/rho; "
        "mis-ranking tends to Phi(-Delta/(sigma sqrt(rho))), not to zero."
    ),
    latex=(
        r"\mathrm{Var}(\bar\delta_R) = \sigma^2\Bigl(\rho + \tfrac{1-\rho}{R}\Bigr), \qquad R_{\mathrm{eff}} = \frac{R}{1 + "
        r"(R-1)\rho} \le \frac1\rho"
    ),
    source="Ours (Kish's design effect); correlation .816 from public SAMRE data, an upper bound for the correlation of errors",
    derive=_c5_derive,
    witness=_c5_witness,
    domain={"rounds": Integers(1, 60), "correlation": Reals(0.01, 1.0)},
    law=_c5_law,
    world={"law": "exchangeable", "correlation": MEASURED_CORRELATION},
    assumptions=(
        Assumption(
            "shared error",
            "all pairs of rounds are equally correlated; a correlation that decays with distance leaves no floor",
            {"law": "decaying"},
        ),
        Assumption("correlation", "the correlation is rho; without it every round counts fully", {"correlation": 0.0}),
    ),
    conclusion=_c5_conclusion,
    plot=_c5_plot,
)


# -- C6 --


def _moments(gain: float, ratio: float, rounds: int, *, repeated: bool) -> tuple[float, float]:
    """Mean and standard deviation of delta_R (noise of one round 1): closed forms of the linear recursion."""
    grown = gain ** (rounds - 1)
    mean = ratio * ((gain**rounds - 1) / (gain - 1) if repeated else grown)
    return mean, math.sqrt((gain ** (2 * rounds) - 1) / (gain**2 - 1))


def _gain_error(gain: float, ratio: float, rounds: int, *, repeated: bool) -> float:
    mean, sd = _moments(gain, ratio, rounds, repeated=repeated)
    return float(ndtr(-mean / sd))


def _gain_limit(gain: float, ratio: float) -> float:
    return float(ndtr(-ratio * math.sqrt(gain**2 - 1) / gain))


def _folded(mean: Floats | float, sd: float) -> Floats:
    """E|X| of a normal X."""
    z = np.asarray(mean) / sd
    return np.asarray(sd * math.sqrt(2 / math.pi) * np.exp(-(z**2) / 2) + np.asarray(mean) * (1 - 2 * ndtr(-z)))


def _gain_error_by_propagation(gain: float, ratio: float, rounds: int, *, repeated: bool) -> tuple[float, float]:
    """P(delta_R < 0) and E|delta_R| by carrying the density of what rounds 2, ..., R add to delta_R / gain^(R-1) on a grid.

    Round r adds noise of standard deviation gain^-(r-1); convolutions are done in the frequency domain. Round 1 is integrated in closed
    form.
    """
    points, reach = 2**13, 40.0
    grid = (np.arange(points, dtype=np.float64) - points // 2) * (2 * reach / points)
    frequency = 2 * np.pi * np.fft.fftfreq(points, 2 * reach / points)
    spectrum = np.ones(points, dtype=complex)
    for r in range(2, rounds + 1):
        scale = gain ** -(r - 1)
        spectrum = spectrum * np.exp(-((frequency * scale) ** 2) / 2 - 1j * frequency * (ratio * scale if repeated else 0.0))
    added = np.asarray(np.fft.fftshift(np.fft.ifft(spectrum).real), dtype=np.float64)
    return float(added @ ndtr(-(ratio + grid))), float(added @ _folded(ratio + grid, 1.0)) * gain ** (rounds - 1)


def _c6_conclusion(*, repeated: bool) -> Iterator[Check]:
    first, last = (_gain_error(1.2, MEASURED_RATIO, rounds, repeated=repeated) for rounds in (1, 12))
    yield at_most("error after 12 rounds of gain 1.2, against round 1", last, first)


def _c6_derive() -> Iterator[Check]:
    g, d, s = sympy.symbols("phi Delta sigma", positive=True)
    mean_once, mean_again, variance = d, d, s**2
    for r in range(2, 6):
        mean_once, mean_again, variance = g * mean_once, g * mean_again + d, g**2 * variance + s**2
        yield equal(f"round {r}: variance", variance, s**2 * (g ** (2 * r) - 1) / (g**2 - 1))
        yield equal(f"round {r}: mean, difference entering once", mean_once, g ** (r - 1) * d)
        yield equal(f"round {r}: mean, difference entering each round", mean_again, d * (g**r - 1) / (g - 1))
    x = sympy.Symbol("x", positive=True)  # phi^-R, which tends to 0 for phi > 1
    once = d**2 * (g**2 - 1) / (s**2 * (g**2 - (g * x) ** 2))  # squared signal-to-noise ratio with phi^R = 1/x
    again = d**2 * (1 - x) ** 2 * (g**2 - 1) / (s**2 * (g - 1) ** 2 * (1 - x**2))
    yield equal("limit once: (Delta/sigma)^2 (phi^2-1)/phi^2, below the first round's", once.subs(x, 0), (d / s) ** 2 * (g**2 - 1) / g**2)
    yield equal("the loss against one round", (d / s) ** 2 - once.subs(x, 0), (d / s) ** 2 / g**2)
    yield equal(
        "limit each round: (Delta/sigma)^2 (phi+1)/(phi-1), above the first round's", again.subs(x, 0), (d / s) ** 2 * (g + 1) / (g - 1)
    )


def _c6_witness() -> Iterator[Check]:
    yield shows("error of one round, Delta/sigma = .55", _gain_error(1.2, MEASURED_RATIO, 1, repeated=False), "0.2912")
    for gain, figure in ((1.05, "0.4334"), (1.2, "0.3806"), (1.5, "0.3409"), (2.0, "0.3169")):
        yield shows(f"limit of the error for gain {gain:g}", _gain_limit(gain, MEASURED_RATIO), figure)
    for repeated in (False, True):
        for rounds in (3, 10):
            error, size = _gain_error_by_propagation(1.2, MEASURED_RATIO, rounds, repeated=repeated)
            mean, sd = _moments(1.2, MEASURED_RATIO, rounds, repeated=repeated)
            how = "each round" if repeated else "once"
            yield near(
                f"error after {rounds} rounds, difference entering {how}, against density propagation",
                _gain_error(1.2, 0.55, rounds, repeated=repeated),
                error,
                1e-8,
            )
            yield near("expected absolute gap likewise", float(_folded(mean, sd)), size, 1e-7)
    yield at_most(
        "the expected absolute gap grows without bound: gain 1.2, 30 rounds, against 100 times round 1",
        100.0,
        _moments(1.2, 0.55, 30, repeated=False)[1],
    )
    mean, sd = _moments(1.2, MEASURED_RATIO, 30, repeated=False)
    clipped = gauss(
        lambda x: _normal((x - mean) / sd) / sd * np.minimum(np.abs(x), 1.0), mean - 9 * sd, -1.0, 0.0, 1.0, mean + 9 * sd, nodes=400
    )
    yield at_most("clipped to [-1, 1] the expected absolute gap stays below 1, however long the debate", clipped, 1.0, strict=True)
    yield at_most("and comes near it", 0.99, clipped)


def _c6_counterexample() -> Iterator[Counterexample]:
    before = _gain_error(1.2, MEASURED_RATIO, 1, repeated=False)
    propagated = (
        _gain_error_by_propagation(1.2, MEASURED_RATIO, 60, repeated=False)[0]
        - _gain_error_by_propagation(1.2, MEASURED_RATIO, 1, repeated=False)[0]
    )
    ways = {"closed form (limit)": _gain_limit(1.2, MEASURED_RATIO) - before, "density propagation (60 rounds)": propagated}
    yield Counterexample("rise of the error while the gap widens, gain 1.2, Delta/sigma = .55 (.2912 to .3806)", -math.inf, 0.0, ways, 1e-8)


def _c6_law(*, gain: float, ratio: float, rounds: int) -> Iterator[Check]:
    now, later = (_gain_error(gain, ratio, r, repeated=False) for r in (rounds, rounds + 1))
    yield at_most("difference entering once: the error rises with every round", now, later, 1e-12)
    yield at_most("and stays below its limit", later, _gain_limit(gain, ratio), 1e-12)
    yield at_most(
        "the spread grows", _moments(gain, ratio, rounds, repeated=False)[1], _moments(gain, ratio, rounds + 1, repeated=False)[1]
    )
    now, later = (_gain_error(gain, ratio, r, repeated=True) for r in (rounds, rounds + 1))
    yield at_most("difference entering each round: the error falls", later, now, 1e-12)


def _c6_plot(axes: Axes) -> None:
    rounds = np.arange(1, 16)
    for repeated, label in ((False, "difference enters once"), (True, "difference enters each round")):
        axes.plot(
            rounds, [_gain_error(1.2, MEASURED_RATIO, int(r), repeated=repeated) for r in rounds], marker="o", label=f"error, {label}"
        )
    size = [_moments(1.2, MEASURED_RATIO, int(r), repeated=False)[1] for r in rounds]
    axes.set(xlabel="round", ylabel="P(worse answer first)", ylim=(0, 0.5), title="C6: the gap widens, the verdict gets worse (gain 1.2)")
    twin = axes.twinx()
    twin.plot(rounds, size, color="grey", ls=":", label="spread of the gap (right axis)")
    twin.set_ylabel("standard deviation of the gap")
    axes.legend(loc="upper left")
    twin.legend(loc="center right")


C6 = Claim(
    id="C6",
    title="Diverging scores mean a better verdict",
    statement=(
        "A debate that drives the scores apart makes the verdict more reliable. Not when the true difference enters once and each round "
        "multiplies the last gap by phi > 1: separation grows without bound and the error rises to Phi(-(Delta/sigma) "
        "sqrt(phi^2-1)/phi). If the difference enters again each round, the error falls."
    ),
    latex=(
        r"\delta_r = \phi\,\delta_{r-1} + e_r,\ \phi > 1: \quad \mathrm{E}|\delta_r| \to \infty,\quad P(\delta_r < 0) \uparrow "
        r"\Phi\Bigl(-\tfrac{\Delta}{\sigma}\tfrac{\sqrt{\phi^2-1}}{\phi}\Bigr) > \Phi\Bigl(-\tfrac{\Delta}{\sigma}\Bigr)"
    ),
    source="Ours; the released judge prompt shows earlier scores and asks for more divergent ones in later rounds",
    derive=_c6_derive,
    witness=_c6_witness,
    domain={"gain": Reals(1.01, 3.0), "ratio": Reals(0.05, 2.0), "rounds": Integers(1, 12)},
    law=_c6_law,
    world={"repeated": True},
    assumptions=(Assumption("fresh difference", "the true difference enters every round again", {"repeated": False}, stated=False),),
    conclusion=_c6_conclusion,
    counterexample=_c6_counterexample,
    plot=_c6_plot,
)

CLAIMS = (C4, C5, C6)
