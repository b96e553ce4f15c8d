r"""What copying does to a vote (claims U7 and U8).

An agent chooses answer a with probability proportional to :math:`T(a) (\sigma [own = a] + n(a))^\theta`, n(a) peers holding a, T(right)
= e^lambda. With theta = 1 and lambda = iota = phi = 0 this is the voter model: the expected number of agents on an answer does not change,

.. math:: \mathrm{E} n'(a) = n(a) \frac{\sigma + n(a) - 1}{\sigma + N - 1} + (N - n(a)) \frac{n(a)}{\sigma + N - 1} = n(a).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import sympy
from scipy.optimize import brentq
from scipy.stats import binom

from ..model import BetaDifficulty, Copying, FixedShare, MixtureDifficulty, Population, Protocol, Tier, load_population
from ..model import exact as exact_law
from ..model.exact import panel
from .claim import Assumption, Check, Claim, Reals, at_most, equal, near, shows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CLAIMS", "debate_boundary", "one_round_gain", "vote_after_rounds"]

Floats = npt.NDArray[np.float64]

HAND_FIT = Copying(theta=1.45, sigma=0.53, lam=0.55)
"""Hand fit to public moves of three agents."""
VOTER = Copying(theta=1.0, sigma=0.0, lam=0.0)


def _point(p: float, w: float, rule: Copying) -> Population:
    """Return a population of one kind of question."""
    return Population(name="point", difficulty=MixtureDifficulty((p,), (1.0,)), misconception=FixedShare(w), response=rule)


def _debate(agents: int, rounds: int) -> Protocol:
    """Fresh first answers (round 1), then rounds - 1 rounds of responses, then plurality."""
    return Protocol(name="debate", tiers=(Tier("all", agents, rounds),), initial="fresh", vote="plurality")


def _accuracy(agents: int, rounds: int, population: Population) -> float:
    return exact_law.simulate(_debate(agents, rounds), population).mean("accuracy").mean


# -- U7 --


def binary_round(rule: Copying, agents: int) -> Floats:
    """One round on the number right where all wrong answers are the same, from the response weights and phi; shape (N + 1, N + 1)."""
    table = rule.weights(agents)
    matrix = np.zeros((agents + 1, agents + 1))
    for right in range(agents + 1):
        wrong = agents - right
        keep, join = 0.0, 0.0
        if right:
            mine, theirs = table[1, right - 1, 1], table[0, wrong, 0]
            keep = (1 - rule.phi) * (mine / (mine + theirs) if mine + theirs else 1.0)
        if wrong:
            mine, theirs = table[1, wrong - 1, 0], table[0, right, 1]
            join = theirs / (mine + theirs) if mine + theirs else 0.0
        stay = binom.pmf(np.arange(right + 1), right, keep)
        come = binom.pmf(np.arange(wrong + 1), wrong, join)
        matrix[right] = np.convolve(stay, come)
    return matrix


def vote_after_rounds(rule: Copying, agents: int, p: float, rounds: int) -> list[float]:
    """P(plurality right), fair ties, of N independent answers and after 1 .. ``rounds`` rounds; all wrong answers are the same."""
    law = binom.pmf(np.arange(agents + 1), agents, p)
    count = np.arange(agents + 1)
    wins = np.where(2 * count > agents, 1.0, np.where(2 * count == agents, 0.5, 0.0))
    step = binary_round(rule, agents)
    found = [float(law @ wins)]
    for _ in range(rounds):
        law = law @ step
        found.append(float(law @ wins))
    return found


def _u7_conclusion(*, rule: Copying, agents: int, p: float) -> Iterator[Check]:
    step = binary_round(rule, agents)
    count = np.arange(agents + 1)
    yield near("expected number right after a round, largest change over states", float(np.abs(step @ count - count).max()), 0.0, 1e-12)
    late = np.linalg.matrix_power(step, 4096)
    yield near(
        "P(all right in the end) against the initial share, largest difference",
        float(np.abs(late[:, agents] - count / agents).max()),
        0.0,
        1e-9,
    )
    votes = vote_after_rounds(rule, agents, p, 12)
    yield at_most("the vote after each round against the round before: largest rise", float(np.max(np.diff(votes))), 1e-12)


def _exact_votes(rounds: int) -> list[Fraction]:
    """N = 3, sigma = 0, p = 7/10 in fractions: one right of three moves to Binomial(2, 1/2), two right to 1 + Binomial(2, 1/2)."""
    half = [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]
    p, q = Fraction(7, 10), Fraction(3, 10)
    law = [q**3, 3 * p * q**2, 3 * p**2 * q, p**3]
    found = [law[2] + law[3]]
    for _ in range(rounds):
        law = [
            law[0] + law[1] * half[0],
            law[1] * half[1] + law[2] * half[0],
            law[1] * half[2] + law[2] * half[1],
            law[2] * half[2] + law[3],
        ]
        found.append(law[2] + law[3])
    return found


def _u7_derive() -> Iterator[Check]:
    n, agents, sigma, p = sympy.symbols("n N sigma p", positive=True)
    stay, join = (sigma + n - 1) / (sigma + agents - 1), n / (sigma + agents - 1)
    yield equal("E[number on an answer after a round]", n * stay + (agents - n) * join, n)
    yield equal(
        "N = 2, sigma = 0: a lone holder leaves for certain, so a split pair swaps for ever", stay.subs({n: 1, agents: 2, sigma: 0}), 0
    )
    votes = _exact_votes(8)
    for r, value in enumerate((Fraction(784, 1000), Fraction(721, 1000))):
        yield equal(f"N = 3, p = .7: vote after {r} rounds", votes[r], value)
    q = 1 - p
    law = {1: 3 * p * q**2, 2: 3 * p**2 * q}
    yield equal(
        "N = 3: loss of the first round is (3/4) p q (p - q), positive iff p > 1/2",
        law[2] / 4 - law[1] / 4,
        sympy.Rational(3, 4) * p * q * (p - q),
    )
    yield equal("the votes fall at every round", all(a > b for a, b in pairwise(votes)), True)
    excess = [v - Fraction(7, 10) for v in votes]
    yield equal("towards p: the lead of two right over one right decays by 1/4 a round", excess[3] * 4, excess[2])


def _u7_witness() -> Iterator[Check]:
    votes = vote_after_rounds(VOTER, 3, 0.7, 30)
    for r, figure in ((0, "0.784"), (1, "0.721"), (2, "0.705"), (30, "0.700")):
        yield shows(f"voter model, N = 3, p = .7: vote after {r} rounds", votes[r], figure)
    population = _point(0.7, 1.0, VOTER)
    for r in (0, 1, 3):
        yield near(f"the same by the exact law, {r} rounds", _accuracy(3, r + 1, population), votes[r], 1e-12)
    yield near(
        "single answers do not change: mean share right after a round, six agents, all 321 states", _largest_drift(VOTER, 6), 0.0, 1e-12
    )
    yield near("nor with stubbornness .53", _largest_drift(Copying(theta=1.0, sigma=0.53, lam=0.0), 6), 0.0, 1e-12)
    beta = load_population("gsm8k-gpt35")
    voters = Population(name="voters", difficulty=beta.difficulty, misconception=beta.misconception, response=VOTER)
    spread = [_accuracy(6, rounds, voters) for rounds in (1, 2, 4)]
    yield at_most("on gsm8k-gpt35 (fitted), six voters: vote after one round is below the vote", spread[1], spread[0], strict=True)
    yield at_most("and after three rounds lower still", spread[2], spread[1], strict=True)
    yield at_most("but above a single answer", beta.difficulty.mean(), spread[2], strict=True)


def _largest_drift(rule: Copying, agents: int) -> float:
    space = panel(agents)
    both, _ = space.transition(rule, 0.5, 0.5)
    return float(np.abs(both @ space.right_share - space.right_share).max())


def _u7_law(*, p: float, sigma: float, agents: float) -> Iterator[Check]:
    yield from _u7_conclusion(rule=Copying(theta=1.0, sigma=sigma, lam=0.0), agents=3 + int(agents * 3.99), p=p)


def _u7_plot(axes: Axes) -> None:
    rounds = np.arange(0, 9)
    for agents, colour in ((3, "tab:blue"), (6, "tab:orange")):
        axes.plot(rounds, vote_after_rounds(VOTER, agents, 0.7, 8), "o-", color=colour, label=f"vote of {agents}, voter model")
        axes.plot(
            rounds,
            vote_after_rounds(Copying(theta=1.45, sigma=0.53, lam=0.0), agents, 0.7, 8),
            "s--",
            color=colour,
            label=f"vote of {agents}, conformity 1.45",
        )
    axes.axhline(0.7, color="grey", lw=1, label="single answer (voter model: at every round)")
    axes.set(xlabel="rounds of debate", ylabel="P(plurality right)", title="U7: debate takes from the vote (p = .7, no advantage of truth)")
    axes.legend()


U7 = Claim(
    id="U7",
    title="In the voter model debate only takes from the vote",
    statement=(
        "With proportional copying and no advantage for truth, expected shares do not change and an answer takes over with probability "
        "equal to its initial share. So debate adds nothing to a single answer, and the vote gets worse with every round wherever the "
        "majority is likelier right: N = 3, p = .7, sigma = 0: .784, .721, ..., .700."
    ),
    latex=r"\mathrm{E}[n'(a) \mid n] = n(a), \quad P(a\ \text{takes over}) = n(a)/N, \quad P(\text{plurality right after } r) \downarrow p",
    source="Martingale: the voter model (Clifford and Sudbury 1973); for debates Choi et al. (2025). The fall of the vote: ours",
    derive=_u7_derive,
    witness=_u7_witness,
    domain={"p": Reals(0.5, 0.99), "sigma": Reals(0.0, 3.0), "agents": Reals(0.0, 1.0)},
    law=_u7_law,
    world={"rule": VOTER, "agents": 3, "p": 0.7},
    assumptions=(
        Assumption("proportional copying", "theta = 1", {"rule": Copying(theta=1.45, sigma=0.53, lam=0.0)}),
        Assumption("no advantage for truth", "lambda = 0", {"rule": Copying(theta=1.0, sigma=0.0, lam=0.55)}),
        Assumption(
            "no lapses", "phi = 0: nobody falls for the misconception unasked", {"rule": Copying(theta=1.0, sigma=0.0, lam=0.0, phi=0.1)}
        ),
        Assumption("mixing", "N >= 3 or sigma > 0", {"agents": 2}),
        Assumption("majority likelier right", "p > 1/2 against one wrong answer", {"p": 0.3}),
    ),
    conclusion=_u7_conclusion,
    plot=_u7_plot,
)


# -- U8 --


def retention(rule: Copying) -> float:
    """M = a^2 + 2 a (1 - a) b: P(a two-to-one majority of three is a majority after a round), without advantage for truth."""
    a = (rule.sigma + 1) ** rule.theta / ((rule.sigma + 1) ** rule.theta + 1)
    b = 2**rule.theta / (2**rule.theta + rule.sigma**rule.theta)
    return float(a**2 + 2 * a * (1 - a) * b)


def one_round_gain(rule: Copying, p: float, w: float) -> float:
    """Gain of one round over voting for three agents: -(1 - m) 3 p q (p - q w^2)."""
    q = 1 - p
    return -(1 - retention(rule)) * 3 * p * q * (p - q * w**2)


def _enumerated_gain(rule: Copying, p: float, w: float) -> tuple[float, float]:
    """Return it by enumeration of three agents' answers before and after, and the gain of the mean agent.

    Labels: 0 right, 1 misconception, 2, 3, 4 the agents' own strays. A tie goes to the candidate (a leader of the first answers, drawn
    fairly) where it is tied, else to a fair draw.
    """
    chance = {0: p, 1: (1 - p) * w}
    gain_vote = gain_agent = 0.0
    for first in product((0, 1, None), repeat=3):
        held = [2 + agent if a is None else a for agent, a in enumerate(first)]
        weight = math.prod(chance.get(a, (1 - p) * (1 - w)) for a in held)
        before = _decision(held, held)
        after = sum(prob * _decision(held, later) for later, prob in _responses(rule, held))
        shares = sum(prob * later.count(0) for later, prob in _responses(rule, held))
        gain_vote += weight * (after - before)
        gain_agent += weight * (shares - held.count(0)) / 3
    return gain_vote, gain_agent


def _responses(rule: Copying, held: Sequence[int]) -> Iterator[tuple[tuple[int, ...], float]]:
    """All next answers of three agents with their probability."""
    table = rule.weights(3)
    moves = []
    for own in held:
        weights = {a: float(table[int(a == own), held.count(a) - (a == own), int(a == 0)]) for a in set(held)}
        total = sum(weights.values())
        moves.append([(a, weight / total) for a, weight in weights.items() if weight])
    for path in product(*moves):
        yield tuple(a for a, _ in path), math.prod(weight for _, weight in path)


def _decision(first: Sequence[int], now: Sequence[int]) -> float:
    """P(plurality right), ties to the candidate, a fair draw among the leaders of the first answers.

    Three agents tie only on three different answers, all of which the first panel held, so the candidate is always tied.
    """
    leaders = [a for a in set(first) if first.count(a) == max(map(first.count, first))]
    tied = [a for a in set(now) if now.count(a) == max(map(now.count, now))]
    return sum((candidate == 0) if candidate in tied else (0 in tied) for candidate in leaders) / len(leaders)


def debate_boundary(rule: Copying, w: float) -> float:
    """Difficulty p below which one round of three agents beats their vote; found on the enumeration."""
    return float(brentq(lambda p: _enumerated_gain(rule, p, w)[0], 1e-3, 1 - 1e-3, xtol=1e-10))


_U8_RULE = Copying(theta=1.45, sigma=0.53, lam=0.0)


def _u8_conclusion(*, rule: Copying, agents: int, rounds: int) -> Iterator[Check]:
    plain = Copying(theta=rule.theta, sigma=rule.sigma, lam=0.0)
    for p, w in ((0.7, 1.0), (0.4, 0.8), (0.25, 0.6)):
        population = _point(p, w, rule)
        gain = _accuracy(agents, rounds + 1, population) - _accuracy(agents, 1, population)
        yield near(f"gain over the vote at p = {p:g}, w = {w:g}, exact law against the formula", gain, one_round_gain(plain, p, w), 1e-10)


def _u8_derive() -> Iterator[Check]:
    p, w, a, b = sympy.symbols("p w a b", positive=True)
    q, m = 1 - p, a**2 + 2 * a * (1 - a) * b
    two_right, one_right = 3 * p**2 * q, 3 * p * q**2
    alike = w**2  # the two wrong answers coincide
    before = p**3 + two_right + one_right * (1 - alike) / 3
    after = p**3 + two_right * m + one_right * (alike * (1 - m) + (1 - alike) / 3)
    yield equal("P(at least two of {a, a, b}) = a^2 + 2a(1-a)b: b both ways", b * a**2 + (1 - b) * a**2 + b * 2 * a * (1 - a), m)
    yield equal("gain of one round over the vote", sympy.expand(after - before), sympy.expand(-(1 - m) * 3 * p * q * (p - q * w**2)))
    agent = two_right * (2 * a + b - 2) / 3 + one_right * alike * (2 - 2 * a - b) / 3
    yield equal("gain of the mean agent", sympy.expand(agent), sympy.expand((2 * a + b - 2) * p * q * (p - q * w**2)))
    yield equal("the boundary solves p = q w^2", sympy.solve(p - q * w**2, p)[0], w**2 / (1 + w**2))
    yield equal(
        "proportional copying, sigma = 0: a = 1/2, b = 1 give the mean agent nothing",
        (2 * a + b - 2).subs({a: sympy.Rational(1, 2), b: 1}),
        0,
    )


def _u8_witness() -> Iterator[Check]:
    for p, w in ((0.7, 1.0), (0.3, 0.9)):
        vote, agent = _enumerated_gain(_U8_RULE, p, w)
        yield near(f"p = {p:g}, w = {w:g}: enumeration against the formula", vote, one_round_gain(_U8_RULE, p, w), 1e-12)
        population = _point(p, w, _U8_RULE)
        yield near("the exact law against the enumeration", _accuracy(3, 2, population) - _accuracy(3, 1, population), vote, 1e-12)
        a, b = 1.53**1.45 / (1.53**1.45 + 1), 2**1.45 / (2**1.45 + 0.53**1.45)
        yield near("mean agent: enumeration against the formula", agent, (2 * a + b - 2) * p * (1 - p) * (p - (1 - p) * w**2), 1e-12)
    yield near("boundary without advantage for truth at w = .6", debate_boundary(_U8_RULE, 0.6), 0.36 / 1.36, 1e-8)
    for w, figure in ((1.0, "0.798"), (0.6, "0.731")):
        yield shows(f"theta 1.45, sigma .53, lambda .55: boundary at w = {w:g}", debate_boundary(HAND_FIT, w), figure)
        root = debate_boundary(HAND_FIT, w)
        population = _point(root, w, HAND_FIT)
        yield near("where the exact law's gain is zero", _accuracy(3, 2, population) - _accuracy(3, 1, population), 0.0, 1e-9)
    a, b, w = 0.684, 0.199, 0.621
    total = a + b
    p2q, pq2 = a * (a + 1) * b / (total * (total + 1) * (total + 2)), a * b * (b + 1) / (total * (total + 1) * (total + 2))
    expected = -(1 - retention(_U8_RULE)) * 3 * (p2q - w**2 * pq2)
    beta = Population(name="beta", difficulty=BetaDifficulty(a, b), misconception=FixedShare(w), response=_U8_RULE)
    yield near(
        "over a Beta population: expectation of the formula against the exact law",
        _accuracy(3, 2, beta) - _accuracy(3, 1, beta),
        expected,
        1e-12,
    )


def _u8_law(*, p: float, w: float, theta: float, sigma: float) -> Iterator[Check]:
    rule = Copying(theta=theta, sigma=sigma, lam=0.0)
    vote, agent = _enumerated_gain(rule, p, w)
    yield near("enumeration against the formula", vote, one_round_gain(rule, p, w), 1e-11)
    yield at_most("debate helps the vote only where p < q w^2", vote * (p - (1 - p) * w**2), 0.0, 1e-15)
    if theta >= 1:
        yield at_most("and conformity raises the mean agent where it does not", 0.0, agent * (p - (1 - p) * w**2), 1e-15)


def _u8_plot(axes: Axes) -> None:
    p = np.linspace(0.01, 0.99, 99)
    for w, colour in ((1.0, "tab:blue"), (0.6, "tab:orange")):
        for lam, style in ((0.0, "-"), (0.55, "--")):
            rule = Copying(theta=1.45, sigma=0.53, lam=lam)
            axes.plot(
                p, [_enumerated_gain(rule, float(x), w)[0] for x in p], style, color=colour, label=f"w = {w:g}, advantage of truth {lam:g}"
            )
    axes.axhline(0, color="grey", lw=0.8)
    axes.set(
        xlabel="P(single answer right), p", ylabel="gain of one round over voting", title="U8: where one round of debate helps three agents"
    )
    axes.legend()


U8 = Claim(
    id="U8",
    title="One round of copying, three agents",
    statement=(
        "Without advantage for truth one round changes the vote of three by -(1-m) 3pq (p - q w^2): debate helps only where the majority "
        "is likelier wrong, p < w^2/(1+w^2). What conformity raises is the mean agent, by (2a+b-2) pq (p - q w^2). An advantage for "
        "truth moves the boundary up (theta 1.45, sigma .53, lambda .55: to .798 at w = 1, .731 at w = .6)."
    ),
    latex=(
        r"\Delta_{\text{vote}} = -(1-m)\,3pq\,(p - q w^2), \quad m = a^2 + 2a(1-a)b,\ a = \tfrac{(\sigma+1)^\theta}{(\sigma+1)^\theta "
        r"+ 1},\ b = \tfrac{2^\theta}{2^\theta + \sigma^\theta}"
    ),
    source="Ours; response parameters are a hand fit to public logs of three agents",
    derive=_u8_derive,
    witness=_u8_witness,
    domain={"p": Reals(0.01, 0.99), "w": Reals(0.0, 1.0), "theta": Reals(0.2, 4.0), "sigma": Reals(0.05, 3.0)},
    law=_u8_law,
    world={"rule": _U8_RULE, "agents": 3, "rounds": 1},
    assumptions=(
        Assumption("no advantage for truth", "lambda = 0", {"rule": HAND_FIT}),
        Assumption("no renewal", "iota = 0", {"rule": Copying(theta=1.45, sigma=0.53, lam=0.0, iota=0.1)}),
        Assumption("no lapses", "phi = 0", {"rule": Copying(theta=1.45, sigma=0.53, lam=0.0, phi=0.1)}),
        Assumption("three agents", "N = 3", {"agents": 5}),
        Assumption("one round", "one round of responses", {"rounds": 2}),
    ),
    conclusion=_u8_conclusion,
    plot=_u8_plot,
)

CLAIMS = (U7, U8)
