"""The reference engine and the exact law agree on protocols and populations that Hypothesis draws.

For every pair and every quantity (mean of a function of the outcome) the standardised difference z = (simulated - exact) / standard error
is taken with the exact law's own variance. Each |z| must stay below 4.5, and the sum of z^2 - 1 over all pairs, divided by its exact
standard deviation

    sqrt(sum Var(z^2)),  Var(z^2) = 2 + (mu_4 / sigma^4 - 3) / n,

is one pooled test for each quantity. Its false-alarm rate is 1e-4 (normal approximation; 200 pairs), and a wrong parameter must fail it.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from strategies import populations, protocols

from adjourn.model import (
    AdaptiveConsistency,
    BetaDifficulty,
    Copying,
    FixedRounds,
    Logit,
    OracleGate,
    OutcomeSpace,
    StableConsensus,
    StopReason,
    Window,
)
from adjourn.model.exact import evaluate
from adjourn.model.outcomes import REASONS
from adjourn.model.reference import trajectories

PAIRS = 200
QUESTIONS = 500
SEED = 2026
FALSE_ALARM = 1e-4
LIMIT = -ndtri(FALSE_ALARM)

QUANTITIES = {
    "accuracy": lambda c: c["right"],
    "candidate accuracy": lambda c: c["candidate"],
    "final and candidate right": lambda c: c["right"] * c["candidate"],
    "chains": lambda c: c["chains"],
    "rounds": lambda c: c["rounds"],
    "first tier": lambda c: c["tier"] == 1,
    "last tier": lambda c: c["tier"] == c["tier"].max(),
    "consensus": lambda c: c["reason"] == REASONS.index(StopReason.CONSENSUS),
    "sampling stop": lambda c: c["reason"] == REASONS.index(StopReason.SAMPLING_STOP),
}


def consensus_rules():
    """Rules that fire often, so that what they do shows."""
    shares = st.sampled_from(["1/3", "1/2", "2/3", "5/6", "1"])
    return st.builds(
        StableConsensus, shares, st.sampled_from(["0", "1/6", "1/3", "1"]), st.booleans(), st.sampled_from(["agents", "chains", "none"])
    )


def long_debates():
    """Debates of two and more rounds under such rules."""
    debates = protocols(oracle=True).filter(lambda p: p.most_rounds >= 2 and p.most_agents >= 2)
    return st.tuples(debates, st.one_of(consensus_rules(), consensus_rules(), st.just(FixedRounds()))).map(
        lambda drawn: replace(drawn[0], round_stop=drawn[1])
    )


def early_samplers():
    """Protocols whose sampling ends early often."""
    stops = st.sampled_from([AdaptiveConsistency("0.8"), AdaptiveConsistency("0.9"), Window(2), Window(3)])
    return st.tuples(protocols().filter(lambda p: p.chains >= 3), stops).map(lambda drawn: replace(drawn[0], sampling_stop=drawn[1]))


def possible(pair):
    """The oracle router is defined for copied answers only."""
    protocol, population = pair
    if not isinstance(protocol.gate, OracleGate):
        return pair
    response = replace(population.response, iota=0.0)
    if isinstance(response, Logit):
        response = replace(response, lam_fresh=None)
    return protocol, replace(population, response=response)


def draw(strategy, number):
    """One random value: the last of three that Hypothesis generates from a seed of its own."""
    drawn = []

    @seed(number)
    @settings(max_examples=3, phases=[Phase.generate], database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def collect(value):
        drawn.append(value)

    collect()
    return drawn[-1]


@cache
def pairs():
    kinds = [protocols(oracle=True), long_debates(), early_samplers()]
    return [possible(draw(st.tuples(kinds[number % 3], populations()), number)) for number in range(PAIRS)]


@cache
def simulated():
    """Counts on the outcome lattice, pair by pair."""
    counts = []
    for number, (protocol, population) in enumerate(pairs()):
        space = OutcomeSpace(protocol)
        table = np.zeros(space.size)
        for trajectory in trajectories(protocol, population, range(QUESTIONS), SEED + number):
            table[space.index(trajectory.outcome)] += 1
        counts.append(table)
    return counts


@cache
def exact_masses():
    """The exact law on the outcome lattice, pair by pair."""
    return [evaluate(protocol, population).ravel() for protocol, population in pairs()]


def standardised(masses):
    """z and the variance of z^2 of every pair that has a law, by quantity; a certainty that is missed has an infinite z."""
    found = {name: [] for name in QUANTITIES}
    for (protocol, _), counts, law in zip(pairs(), simulated(), masses, strict=True):
        if law is None:
            continue
        names = ("chains", "tier", "rounds", "reason", "candidate", "right")
        coordinates = dict(zip(names, OutcomeSpace(protocol).coordinates, strict=True))
        for name, function in QUANTITIES.items():
            values = np.asarray(function(coordinates), dtype=float)
            mean, seen = law @ values, counts @ values / QUESTIONS
            variance, fourth = law @ (values - mean) ** 2, law @ (values - mean) ** 4
            if variance >= 1e-9:
                z = (seen - mean) / np.sqrt(variance / QUESTIONS)
                found[name].append((z, 2 + (fourth / variance**2 - 3) / QUESTIONS))
            elif abs(seen - mean) > 1e-6:
                found[name].append((np.inf, 2.0))
    return {name: np.array(values).reshape(-1, 2) for name, values in found.items()}


def pooled(values):
    """Sum of z^2 - 1 in its own standard deviations."""
    z, spread = values.T
    return (z**2 - 1).sum() / np.sqrt(spread.sum())


@cache
def agreement():
    return standardised(exact_masses())


@pytest.mark.parametrize("name", QUANTITIES)
def test_each_pair_agrees_within_four_and_a_half_standard_errors(name):
    # Some 1,500 comparisons: any false alarm at all has a chance of about 1 %.
    assert np.abs(agreement()[name][:, 0]).max() < 4.5


@pytest.mark.parametrize("name", QUANTITIES)
def test_all_pairs_together_agree(name):
    values = agreement()[name]
    assert len(values) >= 15
    assert pooled(values) < LIMIT


def test_most_drawn_pairs_have_an_accuracy_to_compare():
    assert len(pairs()) == PAIRS
    assert len(agreement()["accuracy"]) > 0.8 * PAIRS


def test_nothing_happens_that_the_exact_law_calls_impossible():
    for masses, counts in zip(exact_masses(), simulated(), strict=True):
        assert not (counts[masses < 1e-13] > 0).any()


def harder(population):
    """The wrong difficulty: wrong answers are a little more likely."""
    law = population.difficulty
    if isinstance(law, BetaDifficulty):
        return replace(population, difficulty=replace(law, b=1.3 * law.b))
    return replace(population, difficulty=replace(law, p=tuple(0.94 * p for p in law.p)))


def credulous(population):
    """The wrong response rule: truth has a smaller advantage."""
    return replace(population, response=replace(population.response, lam=population.response.lam - 0.7))


def is_copying_debate(protocol, population):
    return bool(protocol.tiers) and isinstance(population.response, Copying) and not isinstance(protocol.gate, OracleGate)


@pytest.mark.parametrize(
    ("change", "concerns"),
    [(harder, lambda protocol, population: not isinstance(protocol.gate, OracleGate)), (credulous, is_copying_debate)],
    ids=["difficulty", "response"],
)
def test_a_wrong_parameter_fails_the_pooled_test(change, concerns):
    masses = [
        evaluate(protocol, change(population)).ravel() if concerns(protocol, population) else None for protocol, population in pairs()
    ]
    right = [law if wrong is not None else None for law, wrong in zip(exact_masses(), masses, strict=True)]
    assert pooled(standardised(right)["accuracy"]) < LIMIT < pooled(standardised(masses)["accuracy"])
