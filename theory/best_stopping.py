r"""How far a threshold rule is from the best stopping rule (claim U14); the bound itself is in :mod:`.bound`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ..model import (
    Copying,
    FixedShare,
    MixtureDifficulty,
    Population,
    Protocol,
    StableConsensus,
    Tier,
    load_population,
    load_protocol,
    population_names,
)
from ..model.exact import ExactLaw
from .bound import Frontier, HistoryTree, history_tree, regret
from .claim import Assumption, Check, Claim, Integers, Reals, at_most, equal, near, shows
from .histories import History, consensus_rule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CLAIMS", "regrets"]

PUBLISHED = StableConsensus()


def _debate(agents: int, rounds: int, *, chains: int = 5, vote: str = "plurality") -> Protocol:
    """One tier for all questions; agents inherit the chains, or answer afresh where there are none."""
    initial = "chains" if chains else "fresh"
    return Protocol(name="debate", chains=chains, tiers=(Tier("all", agents, rounds),), initial=initial, round_stop=PUBLISHED, vote=vote)


def _population(name: str, lam: float) -> Population:
    return replace(load_population(name), response=Copying(theta=1.45, sigma=0.53, lam=lam))


def _tree(agents: int, rounds: int, population: Population, *, chains: int = 5, vote: str = "plurality") -> HistoryTree:
    return history_tree(_debate(agents, rounds, chains=chains, vote=vote), population, "all")


def regrets(lam: float) -> dict[str, float]:
    """Regret of StableConsensus(.80, .05), six agents and three rounds from five chains, plurality, over the shipped populations.

    Parameters
    ----------
    lam : float
        Truth's advantage; conformity and stubbornness are those of the hand fit (1.45, .53).
    """
    found = {}
    for name in population_names():
        tree = _tree(6, 3, _population(name, lam))
        found[name] = tree.frontier().regret(*tree.evaluate(*consensus_rule(PUBLISHED, tree.tier)))
    return found


def _clairvoyant(agents: int, rounds: int, population: Population) -> tuple[float, float]:
    """Return calls and accuracy of stopping as soon as the vote is certain to be right, which no rule can see."""
    law = ExactLaw(_debate(agents, rounds), population)
    start, (plain, _) = law.starts[0], law.decisions[0]
    (rows, mass), both = start.mass[5, 0], start.moves(0, False)[0]
    alive = np.bincount(start.openings.state[rows], mass[:, 0], len(start.panel)).astype(float)
    calls = right = 0.0
    for r in range(1, rounds + 1):
        alive = alive @ both
        ends = np.ones(len(alive), dtype=bool) if r == rounds else plain == 1.0
        calls += agents * r * float(alive[ends].sum())
        right += float(alive[ends] @ plain[ends])
        alive = np.where(ends, 0.0, alive)
    return calls, right


def _u14_conclusion(*, sees_truth: bool, vote: str) -> Iterator[Check]:
    population = _population("gsm8k-gpt35", 0.55)
    frontier = _tree(3, 3, population, vote="weighted_after_stability").frontier()
    if sees_truth:
        calls, accuracy = _clairvoyant(3, 3, population)
    else:
        calls, accuracy = _tree(3, 3, population, vote=vote).evaluate(lambda node: 1.0)
    yield at_most(
        f"accuracy of a rule at {calls:.3f} debate calls, against the frontier there", accuracy, frontier.accuracy_at(calls), 1e-12
    )


# -- a case in fractions: three voters with stubbornness 1, one wrong answer, p = 1/4 or 3/4 --


def _exact_paths() -> Iterator[tuple[tuple[int, bool], tuple[int, bool], Fraction, Fraction, Fraction]]:
    """Two panels as a rule sees them (dominant count, candidate leads), P(path), P(path and right now), P(path and right a round later).

    Fresh answers, then an agent keeps or adopts an answer in proportion to its holders, itself included: next counts are Binomial(3, n/3).
    """
    for hard, first in product((True, False), range(4)):
        p = Fraction(1, 4) if hard else Fraction(3, 4)
        start = Fraction(1, 2) * math.comb(3, first) * p**first * (1 - p) ** (3 - first)
        candidate_right = first >= 2
        for second in range(4):
            here = start * _binomial(second, Fraction(first, 3))
            ahead = sum((_binomial(third, Fraction(second, 3)) for third in (2, 3)), Fraction(0))
            seen_first = (max(first, 3 - first), True)
            seen_second = (max(second, 3 - second), (second >= 2) == candidate_right)
            yield seen_first, seen_second, here, here * (second >= 2), here * ahead


def _binomial(k: int, p: Fraction) -> Fraction:
    return math.comb(3, k) * p**k * (1 - p) ** (3 - k)


def _exact_histories() -> dict[tuple[object, ...], tuple[Fraction, Fraction, Fraction]]:
    table: dict[tuple[object, ...], tuple[Fraction, Fraction, Fraction]] = {}
    for first, second, mass, now, later in _exact_paths():
        old = table.get((first, second), (Fraction(0),) * 3)
        table[first, second] = (old[0] + mass, old[1] + now, old[2] + later)
    return {key: value for key, value in table.items() if value[0] > 0}


def _exact_rules(histories: dict[tuple[object, ...], tuple[Fraction, Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """Debate calls and P(right) of every rule."""
    rules = []
    for stops in product((False, True), repeat=len(histories)):
        calls = sum((mass * (6 if stop else 9) for stop, (mass, _, _) in zip(stops, histories.values(), strict=True)), Fraction(0))
        right = sum((now if stop else later for stop, (_, now, later) in zip(stops, histories.values(), strict=True)), Fraction(0))
        rules.append((calls, right))
    return rules


def _small_population() -> Population:
    """Return the same case for the tree."""
    difficulty = MixtureDifficulty((0.25, 0.75), (0.5, 0.5))
    return Population(
        name="two kinds", difficulty=difficulty, misconception=FixedShare(1.0), response=Copying(theta=1.0, sigma=1.0, lam=0.0)
    )


def _u14_derive() -> Iterator[Check]:
    histories = _exact_histories()
    yield equal("probabilities of the histories sum to", sum(mass for mass, _, _ in histories.values()), Fraction(1))
    rules = _exact_rules(histories)
    for price in (Fraction(0), Fraction(1, 200), Fraction(1, 100), Fraction(1, 30)):
        best = max(right - price * calls for calls, right in rules)
        backward = sum((max(now - price * 6 * mass, later - price * 9 * mass) for mass, now, later in histories.values()), Fraction(0))
        yield equal(f"price {price} a call: best of all {len(rules)} rules against backward induction", best, backward)


def _support(frontier: Frontier, price: float) -> float:
    """Largest P(right) - price * debate calls on a frontier."""
    return float(np.max(frontier.accuracy - price * frontier.calls))


def _value_by_induction(tree: HistoryTree, price: float) -> float:
    """P(right) - price * debate calls of the rule that backward induction at that price chooses."""
    declared = tree.optimum(price)
    calls, accuracy = tree.evaluate(lambda node: float(declared[id(node)]))
    return accuracy - price * calls


def _u14_witness() -> Iterator[Check]:
    rules = _exact_rules(_exact_histories())
    frontier = _tree(3, 3, _small_population(), chains=0).frontier()
    for price in (Fraction(0), Fraction(1, 100), Fraction(1, 30)):
        of_all = max(right - price * calls for calls, right in rules)
        yield near(
            f"price {price}: the frontier of the tree against all rules in fractions",
            _support(frontier, float(price)),
            float(of_all),
            1e-12,
        )
    small = _tree(3, 4, _population("math-gpt35", 0.55))
    frontier = small.frontier()
    for cost in (1e-5, 0.002, 0.006, 0.02):
        yield near(
            f"price {cost:g} a call: frontier against backward induction, three agents, four rounds",
            _support(frontier, cost),
            _value_by_induction(small, cost),
            1e-12,
        )
    slopes = np.diff(frontier.accuracy) / np.diff(frontier.calls)
    yield at_most("the frontier is concave: largest rise of its slope", float(np.diff(slopes).max()), 1e-9)
    for vote, same_leader in (("plurality", False), ("weighted_after_stability", True)):
        population, rule = _population("math-gpt35", 0.55), StableConsensus(tau_c="2/3", epsilon="1/3", same_leader=same_leader)
        tree = _tree(6, 3, population, vote=vote)
        masses = ExactLaw(_debate(6, 3, vote=vote), population).masses(rule)
        calls, accuracy = tree.evaluate(*consensus_rule(rule, tree.tier))
        yield near(
            f"{vote}: debate calls of a consensus rule on the tree against the exact law",
            calls,
            float(6 * masses.sum(axis=(0, 1, 3, 4, 5)) @ np.arange(4)),
            1e-9,
        )
        yield near("and its accuracy", accuracy, float(masses[..., 1].sum()), 1e-9)
    for lam, name, figure in ((0.55, "gsm8k-gpt35", "0.0003"), (0.0, "math-gpt35", "0.015")):
        found = regrets(lam)
        yield shows(f"regret of (.80, .05), advantage of truth {lam:g}, on {name}", found[name], figure)
        middle = sorted(found.values())[len(found) // 2]
        yield at_most("smallest over the shipped populations", 0.0, min(found.values()), 1e-12)
        low, high = (0.0, 0.001) if lam else (0.005, 0.02)
        yield at_most(f"median {middle:.5f}, largest {max(found.values()):.5f}: the median is at least", low, middle)
        yield at_most("and at most", middle, high)
    yield at_most(
        "regret of UAAD as published on gsm8k-gpt35, over all questions (few reach the high tier)",
        regret(load_protocol("uaad"), _population("gsm8k-gpt35", 0.55)),
        1e-4,
    )


def _u14_law(*, seed: int, stop: float) -> Iterator[Check]:
    tree = _tree(3, 3, _small_population(), chains=0)
    rng = np.random.default_rng(seed)
    chosen = {id(node): float(rng.random() < stop) if rng.random() < 0.5 else float(rng.random()) for node in tree.decisions()}

    def rule(node: History) -> float:
        return chosen[id(node)]

    calls, accuracy = tree.evaluate(rule)
    yield at_most("a random rule against the frontier at its calls", accuracy, tree.frontier().accuracy_at(calls), 1e-12)


def _u14_plot(axes: Axes) -> None:
    for lam, colour in ((0.55, "tab:blue"), (0.0, "tab:orange")):
        tree = _tree(6, 3, _population("math-gpt35", lam))
        frontier = tree.frontier()
        axes.plot(frontier.calls, frontier.accuracy, color=colour, label=f"best stopping rules, advantage of truth {lam:g}")
        axes.plot([frontier.calls[-1], 18], [frontier.accuracy[-1]] * 2, ":", color=colour)
        axes.plot(*tree.evaluate(*consensus_rule(PUBLISHED, tree.tier)), "*", ms=12, color=colour, label="tau_c = .80, epsilon = .05")
    axes.set(xlabel="expected debate calls a question", ylabel="accuracy", title="U14: math-gpt35, six agents, up to three rounds (exact)")
    axes.legend()


U14 = Claim(
    id="U14",
    title="The best stopping rule",
    statement=(
        "No stopping rule that sees cluster sizes, the candidate's cluster and whether the leader stayed, round by round, lies above the "
        "frontier of the dynamic programme, decision rule and confidences held fixed, randomised rules included. Six agents, three "
        "rounds: at equal expected calls (.80, .05) loses about .0003 of accuracy with truth's advantage .55 (median over the shipped "
        "populations, .0001 to .002) and about .009 without (.001 to .021)."
    ),
    latex=r"V(b) = \mathrm{conv}\Bigl(\{(0, b \cdot \text{right})\} \cup \bigl((N|b|, 0) + \textstyle\sum_{b'} V(b')\bigr)\Bigr)",
    source="Ours; the rule (.80, .05) is UAAD's",
    derive=_u14_derive,
    witness=_u14_witness,
    domain={"seed": Integers(0, 10**6), "stop": Reals(0.0, 1.0)},
    law=_u14_law,
    world={"sees_truth": False, "vote": "weighted_after_stability"},
    assumptions=(
        Assumption("information", "the rule sees no more than the named histories", {"sees_truth": True}),
        Assumption("decision", "the vote is the protocol's", {"vote": "plurality"}),
    ),
    conclusion=_u14_conclusion,
    plot=_u14_plot,
)

CLAIMS = (U14,)
