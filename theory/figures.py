r"""What the reported averages of UAAD allow (claims U10 to U12).

Masses :math:`p_L, p_M` of the low and medium tier (1 and 3 agents, one round) and :math:`x_{N, r}` of high-tier debates of N agents that
stop after round :math:`r \le 3`; c counts the calls besides debate calls: M + 1, or less where the +1 or the chains are not counted. Then

.. math::
    c + p_L + 3 p_M + \sum N r\, x = 7.6, \qquad c + p_L + 3 p_M + \sum 3 N x = 11.4, \qquad p_L + p_M + \sum r\, x = 1.67,

calls, calls without the consensus stop, and depth, each within half a unit of its last digit. All is linear, so what is impossible has a
certificate (:mod:`.certified`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import sympy
from scipy.stats import binomtest

from .certified import Row, certify_infeasible, certify_maximum, least_violation, minimum
from .claim import Assumption, Check, Claim, Counterexample, Integers, Reals, at_most, equal, near, shows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CLAIMS", "mcnemar", "reported_rows"]

CALLS, NO_STOP, DEPTH = Fraction("7.6"), Fraction("11.4"), Fraction("1.67")
_HALF = {"calls": Fraction(1, 20), "no stop": Fraction(1, 20), "depth": Fraction(1, 200)}
_ROUNDS = 3


def reported_rows(
    figures: Sequence[str] = ("calls", "no stop", "depth"),
    *,
    sizes: Sequence[int] = (6,),
    first_stop: int = 1,
    overhead: Fraction | None = None,
    boxes: bool = True,
) -> list[Row]:
    """Constraints that the reported figures put on tier masses and stops.

    Parameters
    ----------
    figures : sequence of {"calls", "no stop", "depth"}
        Which of the three figures must hold.
    sizes : sequence of int
        Panel sizes of the high tier.
    first_stop : int
        First round after which a high-tier debate may stop.
    overhead : Fraction, optional
        Calls besides debate calls (M + 1); free and non-negative if not given.
    boxes : bool
        Whether a figure stands for everything that rounds to it.
    """
    one = Fraction(1)
    stops = [(n, r) for n in sizes for r in range(first_stop, _ROUNDS + 1)]
    fixed: dict[str, Fraction] = {"c": one, "low": one, "medium": 3 * one}
    terms = {
        "calls": {**fixed, **{f"x{n}.{r}": Fraction(n * r) for n, r in stops}},
        "no stop": {**fixed, **{f"x{n}.{r}": Fraction(_ROUNDS * n) for n, r in stops}},
        "depth": {"low": one, "medium": one, **{f"x{n}.{r}": Fraction(r) for n, r in stops}},
    }
    values = {"calls": CALLS, "no stop": NO_STOP, "depth": DEPTH}
    rows = [Row({"low": one, "medium": one, **{f"x{n}.{r}": one for n, r in stops}}, one, one)]
    for figure in figures:
        half = _HALF[figure] if boxes else Fraction(0)
        rows.append(Row(terms[figure], values[figure] - half, values[figure] + half))
    if overhead is not None:
        rows.append(Row({"c": one}, overhead, overhead))
    return rows


def _largest(figures: Sequence[str], objective: dict[str, Fraction], **options: object) -> Fraction | None:
    return certify_maximum(reported_rows(figures, **options), objective)  # type: ignore[arg-type]


_OVERHEAD = {"c": Fraction(1)}


def _depth_terms() -> dict[str, Fraction]:
    return {"low": Fraction(1), "medium": Fraction(1), **{f"x6.{r}": Fraction(r) for r in range(1, _ROUNDS + 1)}}


# -- U10 --


def _u10_conclusion(*, sizes: tuple[int, ...], first_stop: int) -> Iterator[Check]:
    violation, _ = least_violation(reported_rows(sizes=sizes, first_stop=first_stop))
    yield at_most("least total violation of 7.6, 11.4 and 1.67, rounding allowed for", violation, 1e-9)


def _u10_derive() -> Iterator[Check]:
    for boxes in (False, True):
        proof = certify_infeasible(reported_rows(boxes=boxes))
        label = "with rounding boxes" if boxes else "as printed"
        yield equal(f"all three, panels of six, any M >= 0, {label}: proved impossible", proof is not None, True)
    c, low, medium, high, rho = sympy.symbols("c p_L p_M p_H rho")
    difference = (c + low + 3 * medium + 18 * high) - (c + low + 3 * medium + 6 * rho * high)
    yield equal("the two call figures differ by 6 p_H (3 - rho)", difference, 6 * high * (3 - rho))
    mass = Fraction(19, 30) + DEPTH - 1  # p_H (3 - rho) = 3.8/6 and p_H (rho - 1) = .67 add to 2 p_H
    yield equal("together with depth that is a high-tier mass of", mass / 2, Fraction(391, 600))
    rounds = (DEPTH - 1) / (mass / 2) + 1
    yield at_most("with", Fraction(202, 100), rounds)
    yield at_most("to", rounds, Fraction(203, 100))
    yield at_most("rounds there, which alone cost more than 7.6 calls", CALLS, 6 * rounds * mass / 2, strict=True)
    yield equal("{7.6, 1.67}: largest M + 1", _largest(("calls", "depth"), _OVERHEAD), Fraction(9975, 10000))
    yield equal(
        "{7.6, 11.4}, no stop before round 2: any M + 1 >= 0 is impossible", _largest(("calls", "no stop"), _OVERHEAD, first_stop=2), None
    )
    for m, depth in ((0, "1.483"), (2, "1.25"), (4, "1.013")):
        found = _largest(("calls", "no stop"), _depth_terms(), overhead=Fraction(m + 1))
        yield shows(f"{{7.6, 11.4}} with round-1 stops, M = {m}: largest depth", float(found if found is not None else math.nan), depth)
    yield equal(
        "{7.6, 11.4} with round-1 stops: M = 5 is impossible", _largest(("calls", "no stop"), _depth_terms(), overhead=Fraction(6)), None
    )
    both = _largest(("no stop", "depth"), _OVERHEAD)
    yield equal("{11.4, 1.67}: largest whole M", math.floor(both or -1) - 1, 3)
    for sizes, most in (((4, 5, 6), "1.60"), ((3, 4, 5, 6), "2.76")):
        found = _largest(("calls", "no stop", "depth"), _OVERHEAD, sizes=sizes)
        yield shows(f"panels of {sizes[0]} to 6 with round-1 stops: largest M + 1", float(found if found is not None else math.nan), most)
        yield equal("with stops from round 2 on", _largest(("calls", "no stop", "depth"), _OVERHEAD, sizes=sizes, first_stop=2), None)


def _least_calls(no_stop: Fraction, depth: Fraction) -> Fraction:
    """Least calls that a no-stop figure B and a depth D leave, by hand, panels of six.

    From B: c + p_L + 3 p_M = B - 18 p_H; from D: rho p_H = D - 1 + p_H. So calls = B + 6 (D - 1) - 12 p_H, and c + p_L + 3 p_M >= 1 - p_H
    gives 17 p_H <= B - 1.
    """
    return no_stop + 6 * (depth - 1) - 12 * (no_stop - 1) / 17


def _least_calls_by_programme(*, boxes: bool) -> float:
    return minimum(reported_rows(("no stop", "depth"), boxes=boxes), reported_rows(("calls",))[1].terms)


def _u10_witness() -> Iterator[Check]:
    yield near(
        "least calls left by 11.4 and 1.67, by hand against a linear programme",
        float(_least_calls(NO_STOP, DEPTH)),
        _least_calls_by_programme(boxes=False),
        1e-9,
    )
    corners = [
        _least_calls(b, d)
        for b in (NO_STOP - _HALF["no stop"], NO_STOP + _HALF["no stop"])
        for d in (DEPTH - _HALF["depth"], DEPTH + _HALF["depth"])
    ]
    yield near("the same over the rounding boxes", float(min(corners)), _least_calls_by_programme(boxes=True), 1e-9)
    yield shows("which is", float(min(corners)), "8.03")
    for pair in combinations(("calls", "no stop", "depth"), 2):
        violation, _ = least_violation(reported_rows(pair))
        yield at_most(f"{pair[0]} and {pair[1]} alone can hold when nothing besides debate calls is counted: violation", violation, 1e-9)
    violation, _ = least_violation(reported_rows())
    yield shows("least total violation of all three, beyond rounding", violation, "0.064")


def _u10_counterexample() -> Iterator[Counterexample]:
    by_hand = min(
        _least_calls(b, d)
        for b in (NO_STOP - _HALF["no stop"], NO_STOP + _HALF["no stop"])
        for d in (DEPTH - _HALF["depth"], DEPTH + _HALF["depth"])
    )
    ways = {"by hand, in fractions": float(by_hand), "linear programme": _least_calls_by_programme(boxes=True)}
    yield Counterexample("least calls that 11.4 and 1.67 leave, any M >= 0, rounding allowed for", 0.0, float(CALLS + _HALF["calls"]), ways)
    proof = certify_infeasible(reported_rows())
    violation, _ = least_violation(reported_rows())
    ways = {"certificate in fractions": float(proof) if proof is not None else 0.0, "linear programme": violation}
    yield Counterexample("total violation of the three figures that cannot be avoided", 0.0, 0.0, ways)


def _u10_law(*, chains: int, low: float, medium: float, first: float, second: float) -> Iterator[Check]:
    p_low, p_medium = low, (1 - low) * medium
    high = 1 - p_low - p_medium
    shares = first, (1 - first) * second, (1 - first) * (1 - second)
    rho = sum(r * s for r, s in zip((1, 2, 3), shares, strict=True))
    base = chains + 1 + p_low + 3 * p_medium
    calls, no_stop, depth = base + 6 * rho * high, base + 18 * high, p_low + p_medium + rho * high
    off = max(abs(calls - 7.6) / 0.05, abs(no_stop - 11.4) / 0.05, abs(depth - 1.67) / 0.005)
    yield at_most("a random configuration misses some figure by more than its rounding", 1.0, off, strict=True)
    yield near("and obeys 6 p_H (3 - rho) = calls saved", no_stop - calls, 6 * high * (3 - rho), 1e-9)


U10 = Claim(
    id="U10",
    title="The reported averages hold together",
    statement=(
        "Mean calls 7.6, calls without the consensus stop 11.4 and depth 1.67 describe one system. They cannot, for any M >= 0, with "
        "high-tier panels of six, also within rounding. Already {7.6, 1.67} conflict once the +1 is counted (M + 1 <= .9975), and {7.6, "
        "11.4} if a stop is first possible at round 2; with round-1 stops the latter allow M <= 4 and depth up to 1.483, 1.25, 1.013 at "
        "M = 0, 2, 4; {11.4, 1.67} allow M <= 3. Mixed panels with round-1 stops relax it (4 to 6: M + 1 <= 1.60; 3 to 6: 2.76); with "
        "stops from round 2 they do not."
    ),
    latex=r"\exists M \ge 0,\ p, x \ge 0: \quad \text{calls} = 7.6,\ \text{calls without stop} = 11.4,\ \text{depth} = 1.67",
    source="Figures: UAAD (2026). That they describe one system is how they are read; the certificate: ours",
    derive=_u10_derive,
    witness=_u10_witness,
    domain={
        "chains": Integers(0, 10),
        "low": Reals(0.0, 1.0),
        "medium": Reals(0.0, 1.0),
        "first": Reals(0.0, 1.0),
        "second": Reals(0.0, 1.0),
    },
    law=_u10_law,
    world={"sizes": (3, 4, 5, 6), "first_stop": 1},
    assumptions=(
        Assumption("smaller panels", "high-tier panels may have fewer than six agents", {"sizes": (6,)}, stated=False),
        Assumption("round-1 stops", "a debate may stop after its first round", {"first_stop": 2}, stated=False),
    ),
    conclusion=_u10_conclusion,
    counterexample=_u10_counterexample,
)


# -- U11 --


def saved_share(first_stop: int, rounds: int) -> Fraction:
    """Largest share of the no-stop debate calls that a rule saves which first fires at ``first_stop``: (R - r0)/R."""
    return Fraction(rounds - first_stop, rounds)


def _saved(stops: Sequence[float], low: float, medium: float, overhead: float, prices: Sequence[float]) -> tuple[float, float]:
    """Return the saved share of debate calls, and of all calls.

    ``stops`` are masses of high-tier debates by stopping round, ``prices`` what a round costs.
    """
    upto = [sum(prices[:r]) for r in range(1, len(prices) + 1)]
    high = sum(stops)
    debate = low + 3 * medium + 6 * high * upto[-1]
    saved = 6 * sum(x * (upto[-1] - u) for x, u in zip(stops, upto, strict=True))
    return saved / debate, saved / (debate + overhead)


def _u11_conclusion(*, first_stop: int, prices: tuple[float, ...]) -> Iterator[Check]:
    for low, overhead in ((0.0, 0.0), (0.3, 6.0)):
        stops = [0.0] * 3
        stops[first_stop - 1] = 1.0 - low
        of_debate, of_all = _saved(stops, low, 0.0, overhead, prices)
        yield at_most("share of debate calls saved by a rule that first fires at round 2", of_debate, float(saved_share(2, 3)), 1e-12)
        yield at_most("share of all calls saved", of_all, float(saved_share(2, 3)), 1e-12)


def _u11_derive() -> Iterator[Check]:
    n, r, r0, rounds, other = sympy.symbols("N r r_0 R c", positive=True)
    share = (n * rounds - n * r) / (n * rounds)
    yield equal("one debate saves 1 - r/R of its debate calls", share, 1 - r / rounds)
    yield equal("at most (R - r0)/R, at r = r0", share.subs(r, r0), (rounds - r0) / rounds)
    yield equal("R = 3, r0 = 2", saved_share(2, 3), Fraction(1, 3))
    yield equal("11.4 to 7.6 is of all calls exactly", (NO_STOP - CALLS) / NO_STOP, Fraction(1, 3))
    all_calls = n * (rounds - r0) / (other + n * rounds)
    yield equal(
        "with c other calls the share of all calls falls short of (R - r0)/R by",
        (rounds - r0) / rounds - all_calls,
        other * (rounds - r0) / (rounds * (other + n * rounds)),
    )
    none = _largest(
        ("calls", "no stop"), {"low": Fraction(1), "medium": Fraction(1), "c": Fraction(1)}, first_stop=2, sizes=(1, 2, 3, 4, 5, 6)
    )
    yield at_most(
        "so at r0 = 2 nothing may be left for chains, synthesiser and smaller tiers: their calls, within rounding",
        none if none is not None else Fraction(1),
        Fraction(1, 4),
    )


def _u11_witness() -> Iterator[Check]:
    yield near("all questions stopped at round 2 of 3", _saved([0.0, 1.0, 0.0], 0.0, 0.0, 0.0, (1, 1, 1))[0], 1 / 3, 1e-12)
    yield near("half of them", _saved([0.0, 0.5, 0.5], 0.0, 0.0, 0.0, (1, 1, 1))[0], 1 / 6, 1e-12)
    yield near("with five chains and the synthesiser, of all calls", _saved([0.0, 1.0, 0.0], 0.0, 0.0, 6.0, (1, 1, 1))[1], 6 / 24, 1e-12)
    yield equal("five rounds, first stop at 3", saved_share(3, 5), Fraction(2, 5))
    by_hand = 6 * 0.25 / (0.3 + 3 * 0.2 + 18 * 0.5)  # a quarter of the questions saves one round of six
    yield near("three tiers, a quarter stopped at round 2: by hand", _saved([0.0, 0.25, 0.25], 0.3, 0.2, 2.0, (1, 1, 1))[0], by_hand, 1e-12)


def _u11_law(*, second: float, low: float, medium: float, overhead: float) -> Iterator[Check]:
    p_medium = (1 - low) * medium
    high = 1 - low - p_medium
    of_debate, of_all = _saved([0.0, high * second, high * (1 - second)], low, p_medium, overhead, (1, 1, 1))
    yield at_most("share of debate calls saved", of_debate, 1 / 3, 1e-12)
    yield at_most("share of all calls is at most that", of_all, of_debate, 1e-12)


U11 = Claim(
    id="U11",
    title="What a late stop can save",
    statement=(
        "A rule that first fires at round r0 of R saves at most (R - r0)/R of the no-stop debate calls: a third at R = 3, r0 = 2. The "
        "reported 11.4 to 7.6 is exactly a third of all calls, so no call would be left for chains, synthesiser or smaller tiers."
    ),
    latex=r"\frac{\text{calls saved}}{\text{debate calls without stop}} \le \frac{R - r_0}{R}",
    source="Ours; figures: UAAD (2026)",
    derive=_u11_derive,
    witness=_u11_witness,
    domain={"second": Reals(0.0, 1.0), "low": Reals(0.0, 0.95), "medium": Reals(0.0, 0.95), "overhead": Reals(0.0, 20.0)},
    law=_u11_law,
    world={"first_stop": 2, "prices": (1.0, 1.0, 1.0)},
    assumptions=(
        Assumption("late first stop", "no debate stops before round r0", {"first_stop": 1}, by_definition=True),
        Assumption(
            "equal rounds",
            "every round costs the same; in tokens later rounds of full transcripts cost more",
            {"prices": (1.0, 2.0, 3.0)},
            by_definition=True,
        ),
    ),
    conclusion=_u11_conclusion,
)


# -- U12 --


def mcnemar(gained: int, lost: int) -> Fraction:
    """Two-sided exact McNemar p value: min(1, 2 P(Bin(gained + lost, 1/2) <= min))."""
    n, low = gained + lost, min(gained, lost)
    return min(Fraction(1), Fraction(2 * sum(math.comb(n, k) for k in range(low + 1)), 2**n))


_GAINS = {"GSM8K": 3, "MATH": 5, "CommonsenseQA": 3, "HotpotQA": 4}
"""Reported gains of UAAD over Fixed MAD, questions of 100."""


def _u12_conclusion(*, questions: int) -> Iterator[Check]:
    for name, points in _GAINS.items():
        gained = points * questions // 100
        yield at_most(
            f"{name}, +{points} points of {questions}: 5 % is below the best-case p value", 0.05, float(mcnemar(gained, 0)), strict=True
        )


def _u12_derive() -> Iterator[Check]:
    for name, value in (
        ("GSM8K", Fraction(1, 4)),
        ("MATH", Fraction(1, 16)),
        ("CommonsenseQA", Fraction(1, 4)),
        ("HotpotQA", Fraction(1, 8)),
    ):
        yield equal(f"{name}, +{_GAINS[name]}, nothing lost", mcnemar(_GAINS[name], 0), value)
    for gain in (3, 4, 5):
        values = [mcnemar(gain + lost, lost) for lost in range(6)]
        yield equal(f"+{gain}: losses that are made good raise the p value", all(a < b for a, b in pairwise(values)), True)
    yield equal(
        "six gained and none lost is the least that reaches 5 %",
        (mcnemar(5, 0) > Fraction(1, 20), mcnemar(6, 0) < Fraction(1, 20)),
        (True, True),
    )


def _u12_witness() -> Iterator[Check]:
    for gained, lost in ((3, 0), (5, 0), (4, 0), (15, 0), (30, 15), (35, 20)):
        by_scipy = float(binomtest(gained, gained + lost, 0.5).pvalue)
        yield near(f"{gained} gained, {lost} lost: fractions against scipy's binomial test", float(mcnemar(gained, lost)), by_scipy, 1e-12)
    yield shows("pooled +15: 30 gained, 15 lost", float(mcnemar(30, 15)), "0.036")
    yield shows("pooled +15: 35 gained, 20 lost", float(mcnemar(35, 20)), "0.058")


def _u12_law(*, gain: int, lost: int) -> Iterator[Check]:
    yield at_most("no losses are the best case", mcnemar(gain, 0), mcnemar(gain + lost, lost))
    yield near(
        "fractions against scipy", float(mcnemar(gain + lost, lost)), float(binomtest(gain + lost, gain + 2 * lost, 0.5).pvalue), 1e-12
    )


def _u12_plot(axes: Axes) -> None:
    lost = list(range(21))
    for gain in (3, 4, 5):
        axes.plot(lost, [float(mcnemar(gain + x, x)) for x in lost], marker=".", label=f"net gain {gain}")
    axes.axhline(0.05, color="grey", ls="--", lw=0.8, label="5 %")
    axes.set(xlabel="questions lost (of 100)", ylabel="two-sided exact p value", title="U12: reported gains of 3 to 5 questions in 100")
    axes.legend()


U12 = Claim(
    id="U12",
    title="Gains of three to five questions in a hundred",
    statement=(
        "With 100 paired questions, reported gains of 3, 5, 3 and 4 have two-sided exact McNemar p values of at least .25, .0625, .25 "
        "and .125: that is the best case, in which no question is lost."
    ),
    latex=r"p_{\text{best}} = 2^{1 - g}: \quad \tfrac14,\ \tfrac1{16},\ \tfrac14,\ \tfrac18 \quad (g = 3, 5, 3, 4)",
    source="Gains: UAAD (2026), 100-question subsets. p values: ours",
    derive=_u12_derive,
    witness=_u12_witness,
    domain={"gain": Integers(1, 20), "lost": Integers(0, 40)},
    law=_u12_law,
    world={"questions": 100},
    assumptions=(Assumption("hundred questions", "the gains are on 100 questions a set", {"questions": 300}, by_definition=True),),
    conclusion=_u12_conclusion,
    plot=_u12_plot,
)

CLAIMS = (U10, U11, U12)
