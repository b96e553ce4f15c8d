"""The oracle router takes the best tier for every question, and its law is integrated between the switches."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from adjourn.model import (
    BetaDifficulty,
    BetaShare,
    Copying,
    FixedShare,
    Logit,
    MixtureDifficulty,
    OracleGate,
    OutcomeSpace,
    ParameterError,
    Population,
    Protocol,
    Signals,
    StableConsensus,
    Tier,
    load_protocol,
)
from adjourn.model.exact import evaluate
from adjourn.model.exact import simulate as exact
from adjourn.model.exact.oracle import oracle_router

ROUTER = load_protocol("oracle_router")
SMALL = Protocol(
    name="small",
    chains=3,
    gate=OracleGate(),
    tiers=(Tier("low", 1, 1), Tier("medium", 3, 1), Tier("high", 4, 2)),
    round_stop=StableConsensus("2/3", "1/3", True, "chains"),
    vote="weighted_after_stability",
)


HARD = BetaDifficulty(0.7, 0.5)
HALF = FixedShare(0.5)
RULE = Copying(theta=1.45, sigma=0.53, lam=0.55)


def population(difficulty=HARD, share=HALF, response=RULE, **changes):
    return Population(name="x", difficulty=difficulty, misconception=share, response=response, **changes)


def one_tier(protocol, tier, law, p, w):
    """P(right) of a question in one tier, by an exact law of its own."""
    point = replace(law, difficulty=MixtureDifficulty((p,), (1.0,), (w,)), misconception=None)
    return exact(replace(protocol, gate=None, tiers=(tier,)), point).accuracy.mean


@settings(max_examples=25)
@given(st.floats(0, 1), st.floats(0, 1))
def test_router_knows_each_tiers_probability_of_a_right_answer(p, w):
    router = oracle_router(SMALL, population())
    expected = [one_tier(SMALL, tier, population(), p, w) for tier in SMALL.tiers]
    np.testing.assert_allclose(router.right(p, w), expected, atol=1e-11)
    best = max(expected)
    assert expected[router.tier(p, w)] >= best - 1e-11


@pytest.mark.parametrize("target", ["uniform", "riskiest"])
def test_router_counts_the_debates_whose_target_is_the_faulty_step(target):
    law = population(response=Copying(lam_focus=2.0), signals=Signals(steps=3))
    protocol = replace(SMALL, target=target)
    expected = [one_tier(protocol, tier, law, 0.4, 0.6) for tier in protocol.tiers]
    np.testing.assert_allclose(oracle_router(protocol, law).right(0.4, 0.6), expected, atol=1e-11)


def test_router_takes_the_first_of_equal_tiers():
    router = oracle_router(SMALL, population())
    assert router.tier(0.0, 0.5) == 0
    assert router.tier(1.0, 0.5) == 0


def test_choices_for_many_questions_are_those_for_each():
    router = oracle_router(ROUTER, population())
    p, w = np.random.default_rng(1).random((2, 50))
    assert router.tiers(p, w).tolist() == [router.tier(a, b) for a, b in zip(p, w, strict=True)]


def test_accuracy_is_the_integral_of_the_best_tiers_probability():
    law = population()
    router = oracle_router(ROUTER, law)
    density = stats.beta(0.7, 0.5)
    points = [float(density.cdf(p)) for p in router.switches(0.5)]
    expected = integrate.quad(lambda u: router.right(density.ppf(u), 0.5).max(), 0, 1, points=points, limit=400, epsabs=1e-11)[0]
    assert exact(ROUTER, law).accuracy.mean == pytest.approx(expected, abs=1e-9)


def test_tier_masses_are_the_beta_masses_between_the_switches():
    law = population()
    router = oracle_router(ROUTER, law)
    edges = [0.0, *router.switches(0.5), 1.0]
    masses = dict.fromkeys((tier.name for tier in ROUTER.tiers), 0.0)
    for low, high in pairwise(edges):
        name = ROUTER.tiers[router.tier((low + high) / 2, 0.5)].name
        masses[name] += stats.beta(0.7, 0.5).cdf(high) - stats.beta(0.7, 0.5).cdf(low)
    found = {name: estimate.mean for name, estimate in exact(ROUTER, law).shares["tiers"].items()}
    assert found == pytest.approx(masses, abs=1e-7)  # slivers beside a switch tie within rounding


@pytest.mark.parametrize(
    "difficulty",
    [BetaDifficulty(0.7, 0.5), BetaDifficulty(0.7, 0.5, 0.1, 0.2), MixtureDifficulty((0.2, 0.6, 0.9), (0.3, 0.3, 0.4))],
    ids=["beta", "beta with masses", "mixture"],
)
def test_law_under_a_beta_law_of_w_agrees_with_a_fine_sum_over_w(difficulty):
    # Midpoint sum over 2,000 quantiles of w: its error where choices jump is about 1 / 2000 of the jump.
    law = population(difficulty, BetaShare(2.0, 1.0))
    router = oracle_router(SMALL, law)
    quantiles = stats.beta(2, 1).ppf((np.arange(2000) + 0.5) / 2000)
    p, weight = difficulty.nodes(300)
    choice = np.array([router.tiers(p, w) for w in quantiles])
    right = np.array([router.right(p, w).max(axis=0) for w in quantiles])
    result = exact(SMALL, law)
    assert result.accuracy.mean == pytest.approx(right.mean(axis=0) @ weight, abs=2e-6)
    for t, tier in enumerate(SMALL.tiers):
        assert result.shares["tiers"][tier.name].mean == pytest.approx((choice == t).mean(axis=0) @ weight, abs=4e-3)


@pytest.mark.parametrize("share", [FixedShare(0.3), BetaShare(1.5, 0.8)])
def test_no_single_tier_beats_the_oracle(share):
    law = population(share=share)
    oracle = exact(ROUTER, law).accuracy.mean
    for tier in ROUTER.tiers:
        assert exact(replace(ROUTER, gate=None, tiers=(tier,)), law).accuracy.mean <= oracle + 1e-9


def test_law_of_the_oracle_sums_to_one_with_many_chains():
    protocol = replace(ROUTER, chains=9)
    masses = evaluate(protocol, population(share=BetaShare(2.0, 1.0)))
    assert masses.shape == OutcomeSpace(protocol).shape
    assert masses.sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("response", [Copying(iota=0.1), Logit(lam_fresh=0.5)])
def test_router_is_refused_where_moves_depend_on_the_question(response):
    with pytest.raises(ParameterError, match="oracle router"):
        exact(ROUTER, population(response=response))
