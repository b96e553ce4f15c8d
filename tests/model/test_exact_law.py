"""The exact law against brute-force enumeration of every sequence of answers, ties and moves (tests/support/enumeration.py)."""

from dataclasses import replace

import numpy as np
import pytest
from enumeration import flat_law

from adjourn.model import (
    AdaptiveConsistency,
    ConfidenceGate,
    ConfidenceLaw,
    Copying,
    FixedRounds,
    Follower,
    Logit,
    MixtureDifficulty,
    Population,
    Protocol,
    Signals,
    StableConsensus,
    Tier,
    TokenBudget,
    UncertaintyGate,
    Window,
    load_population,
    load_protocol,
)
from adjourn.model.exact import evaluate, simulate

TWO_VALUES = ConfidenceLaw((0, 0, 0, 0, 0, 0, 0.3, 0, 0.7, 0), (0, 0, 0, 0, 0.6, 0, 0.4, 0, 0, 0))
QUESTIONS = MixtureDifficulty((0.35, 0.8), (0.6, 0.4), (0.3, 0.9))
COPYING = Copying(theta=1.3, sigma=0.6, lam=0.4)

RULES = {
    "copying": COPYING,
    "voter": Copying(theta=1, sigma=1, lam=0),
    "theta 0, sigma 0": Copying(theta=0, sigma=0, lam=-0.5),
    "renewal": replace(COPYING, iota=0.2),
    "lapse": replace(COPYING, phi=0.3),
    "renewal and lapse": replace(COPYING, iota=0.2, phi=0.3),
    "focus": replace(COPYING, lam_focus=1.5),
    "logit": Logit(lam_self=0.4, lam_peer=0.8, lam_truth=0.5),
    "logit with fresh answers": Logit(lam_self=0.4, lam_peer=0.8, lam_truth=0.5, lam_fresh=0.6, iota=0.1, phi=0.2, lam_focus=-1),
    "follower": Follower(adopt=0.4),
    "follower, all options": Follower(adopt=0.4, iota=0.1, phi=0.2, lam_focus=1),
}


def population(rule=COPYING, **changes):
    values = {"name": "two points", "difficulty": QUESTIONS, "misconception": None, "response": rule, "confidence": TWO_VALUES}
    return Population(**{**values, **changes})


def agree(protocol, law):
    exact = evaluate(protocol, law).ravel()
    np.testing.assert_allclose(exact, flat_law(protocol, law), atol=1e-12)
    assert exact.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("agents", [2, 3])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_response_rule_agrees_with_enumeration(rule, agents):
    protocol = Protocol(
        name="p",
        chains=3,
        tiers=(Tier("all", agents, 2),),
        target="uniform",
        round_stop=StableConsensus("2/3", "1/3"),
        vote="weighted_after_stability",
    )
    agree(protocol, population(rule, signals=Signals(steps=3)))


STOPS = [
    StableConsensus(tau, epsilon, same, first)
    for tau, epsilon in (("0.8", "0.05"), ("2/3", "1/3"), ("0", "1"))
    for same in (False, True)
    for first in ("agents", "chains", "none")
] + [FixedRounds(), TokenBudget(1), TokenBudget(2500), TokenBudget(10**6)]


@pytest.mark.parametrize("sampling", [None, AdaptiveConsistency("0.8"), Window(2)], ids=["all", "adaptive", "window"])
@pytest.mark.parametrize("stop", STOPS, ids=str)
def test_every_round_stop_agrees_with_enumeration_when_sampling_may_end_early(stop, sampling):
    protocol = Protocol(
        name="p", chains=4, sampling_stop=sampling, tiers=(Tier("all", 3, 2),), round_stop=stop, vote="weighted_after_stability"
    )
    agree(protocol, population())


@pytest.mark.parametrize(
    "stop", [StableConsensus("2/3", "1/3"), StableConsensus("2/3", "1/3", True), FixedRounds(), TokenBudget(1)], ids=str
)
@pytest.mark.parametrize(("initial", "chains"), [("fresh", 0), ("fresh", 2), ("restated", 1), ("chains", 1), ("chains", 2), ("chains", 4)])
def test_every_kind_of_first_answers_agrees_with_enumeration(initial, chains, stop):
    protocol = Protocol(name="p", chains=chains, initial=initial, tiers=(Tier("all", 3, 2),), round_stop=stop, vote="weighted")
    agree(protocol, population())


@pytest.mark.parametrize("chains", [1, 2, 3])
def test_agents_cycle_through_fewer_chains_than_there_are_agents(chains):
    protocol = Protocol(name="p", chains=chains, tiers=(Tier("all", 5, 1),), round_stop=StableConsensus("0.6", "0.2", True, "chains"))
    agree(protocol, population())


@pytest.mark.parametrize("target", ["none", "uniform", "riskiest"])
def test_tiers_and_targets_agree_with_enumeration(target):
    protocol = Protocol(
        name="p",
        chains=3,
        gate=UncertaintyGate((0.3, 0.45)),
        tiers=(Tier("low", 1, 1), Tier("medium", 2, 1), Tier("high", 3, 2)),
        target=target,
        round_stop=StableConsensus("2/3", "1/3"),
        vote="weighted_after_stability",
        synthesiser=True,
    )
    agree(protocol, population(replace(COPYING, lam_focus=1.2)))


@pytest.mark.parametrize("threshold", [1, 6, 8, 11])
def test_the_confidence_gate_agrees_with_enumeration(threshold):
    protocol = Protocol(name="p", chains=1, initial="restated", gate=ConfidenceGate(threshold), tiers=(Tier("all", 3, 2),))
    agree(protocol, population())


@pytest.mark.parametrize("vote", ["plurality", "weighted", "weighted_after_stability"])
def test_every_vote_agrees_with_enumeration(vote):
    protocol = Protocol(
        name="p", chains=2, initial="fresh", tiers=(Tier("all", 4, 2),), round_stop=StableConsensus("0.5", "1/4"), vote=vote
    )
    agree(protocol, population())


@pytest.mark.parametrize(
    "sampling", [None, AdaptiveConsistency("0.9"), AdaptiveConsistency("3/4"), Window(1), Window(2), Window(3)], ids=str
)
@pytest.mark.parametrize("chains", [1, 2, 5, 6])
def test_votes_without_debate_agree_with_enumeration(chains, sampling):
    agree(Protocol(name="p", chains=chains, sampling_stop=sampling), population())


@pytest.mark.parametrize("name", ["fixed_mad", "uaad"])
def test_under_the_voter_model_the_right_share_of_every_tier_is_the_same_after_every_round(name: str) -> None:
    voter = replace(load_population("gsm8k-gpt35"), response=Copying(theta=1.0, sigma=0.0 if name == "fixed_mad" else 0.5, lam=0.0))
    shares = simulate(load_protocol(name), voter).by_round["right_share"]
    assert all(abs(value - tier[0]) < 1e-10 for tier in shares.values() for value in tier)
    moved = simulate(load_protocol(name), replace(voter, response=Copying(lam=0.5))).by_round["right_share"]
    assert any(abs(value - tier[0]) > 1e-3 for tier in moved.values() for value in tier)
