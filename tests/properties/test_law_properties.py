"""What must hold for every protocol and population: checked on drawn pairs, small ones against brute-force enumeration."""

from dataclasses import replace

import numpy as np
import pytest
from enumeration import flat_law
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import populations, protocols, response_rules

from adjourn.model import (
    BetaDifficulty,
    ConfidenceLaw,
    Copying,
    FixedShare,
    MixtureDifficulty,
    OutcomeSpace,
    Population,
    Signals,
    StableConsensus,
    StopReason,
    Tier,
    summarise,
)
from adjourn.model.exact import ExactLaw, evaluate
from adjourn.model.outcomes import REASONS, Costs

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def small(protocol):
    """The same policy with at most three agents, two rounds and four chains."""
    tiers = tuple(Tier(t.name, (t.agents - 1) % 3 + 1, min(t.rounds, 2)) for t in protocol.tiers)
    return replace(protocol, tiers=tiers, chains=min(protocol.chains, 4))


@st.composite
def small_populations(draw):
    """Two kinds of questions, each with its own p and w; two values of confidence."""
    share = st.integers(0, 20).map(lambda k: k / 20)
    points = tuple(draw(st.tuples(share, share)))
    law = ConfidenceLaw((0, 0, 0, 0, 0, 0, 0.3, 0, 0.7, 0), (0, 0, 0, 0, 0.6, 0, 0.4, 0, 0, 0))
    return Population(
        name="drawn",
        difficulty=MixtureDifficulty(points, (0.4, 0.6), tuple(draw(st.tuples(share, share)))),
        misconception=None,
        response=draw(response_rules()),
        confidence=law,
        signals=Signals(steps=draw(st.integers(1, 4)), mode="black-box", auroc_h=0.6),
    )


@settings(max_examples=150, suppress_health_check=SLOW)
@given(protocols().map(small), small_populations())
def test_exact_law_is_the_enumeration_of_all_sequences(protocol, population):
    np.testing.assert_allclose(evaluate(protocol, population).ravel(), flat_law(protocol, population), atol=1e-11)


@settings(max_examples=80, suppress_health_check=SLOW)
@given(protocols(), populations())
def test_the_law_is_a_probability_on_outcomes_that_can_happen(protocol, population):
    space = OutcomeSpace(protocol)
    masses = evaluate(protocol, population)
    assert masses.shape == space.shape
    assert masses.min() >= -1e-15
    assert masses.sum() == pytest.approx(1, abs=1e-10)
    for index in np.flatnonzero(masses > 1e-12):
        outcome = space.outcome(int(index))
        assert 1 <= outcome.chains <= protocol.chains or not protocol.chains
        assert (outcome.tier == -1) == (outcome.rounds == 0)
        if outcome.tier >= 0:
            assert outcome.rounds <= protocol.tiers[outcome.tier].rounds
        else:
            assert outcome.right == outcome.candidate_right


@settings(max_examples=60, suppress_health_check=SLOW)
@given(protocols(), populations())
def test_the_debate_does_not_change_what_came_before_it(protocol, population):
    """Chains and candidate have one law, whatever the tiers, the rules and the vote."""
    if not protocol.chains:
        return
    before = replace(protocol, gate=None, tiers=(), initial="chains", target="none")
    with_debate, without = (evaluate(p, population).sum(axis=(1, 2, 3, 5)) for p in (protocol, before))
    np.testing.assert_allclose(with_debate, without, atol=1e-10)


@settings(max_examples=60, suppress_health_check=SLOW)
@given(protocols(), populations())
def test_stopping_never_holds_more_rounds_than_not_stopping(protocol, population):
    engine = ExactLaw(protocol, population)
    rounds = np.arange(protocol.most_rounds + 1)
    free = engine.masses(StableConsensus(1, 0)).sum(axis=(0, 1, 3, 4, 5)) @ rounds
    eager = engine.masses(StableConsensus(0, 1)).sum(axis=(0, 1, 3, 4, 5)) @ rounds
    assert eager <= free + 1e-9


@settings(max_examples=60, suppress_health_check=SLOW)
@given(protocols(), populations(), st.booleans())
def test_certain_questions_end_certainly(protocol, population, right):
    rule = replace(population.response, phi=0.0)
    law = replace(population, difficulty=MixtureDifficulty((float(right),), (1.0,)), misconception=FixedShare(1.0), response=rule)
    accuracy = evaluate(protocol, law)[..., 1].sum()
    assert accuracy == pytest.approx(float(right), abs=1e-9)


@settings(max_examples=40, suppress_health_check=SLOW)
@given(protocols(), populations())
def test_a_mixture_of_populations_has_the_mixture_of_their_laws(protocol, population):
    first, second = BetaDifficulty(0.7, 0.4), BetaDifficulty(2, 5)
    base = replace(population, difficulty=first, misconception=FixedShare(0.4), response=replace(population.response, iota=0.0))
    if base.response.fresh_weight:
        base = replace(base, response=Copying())
    nodes = [law.nodes(80) for law in (first, second)]
    p = tuple(np.concatenate([n[0] for n in nodes]).tolist())
    weight = np.concatenate([0.3 * nodes[0][1], 0.7 * nodes[1][1]])
    both = replace(base, difficulty=MixtureDifficulty(p, tuple((weight / weight.sum()).tolist())))
    parts = [evaluate(protocol, replace(base, difficulty=law)) for law in (first, second)]
    np.testing.assert_allclose(evaluate(protocol, both), 0.3 * parts[0] + 0.7 * parts[1], atol=1e-9)


@settings(max_examples=60, suppress_health_check=SLOW)
@given(protocols(), populations())
def test_money_calls_and_tokens_of_every_outcome_are_consistent(protocol, population):
    space = OutcomeSpace(protocol)
    costs = Costs(space, population)
    held = evaluate(protocol, population).ravel() > 0
    roles = [sum(part[i] for part in costs.by_role.values()) for i in range(3)]
    assert (roles[0] == costs.calls)[held].all()
    np.testing.assert_allclose(roles[1][held], costs.prompt_tokens[held])
    np.testing.assert_allclose(roles[2][held], costs.completion_tokens[held])
    assert (costs.calls >= costs.debate_calls)[held].all()
    assert (costs.worst_prompt >= costs.prompt_tokens - 1e-9)[held].all()
    assert (costs.worst_completion >= costs.completion_tokens - 1e-9)[held].all()
    result = summarise(protocol, population, evaluate(protocol, population), engine="exact")
    assert result.calls.mean <= result.quantiles["calls"]["max"] + 1e-9


@settings(max_examples=60, suppress_health_check=SLOW)
@given(protocols(), populations())
def test_a_reason_to_stop_is_one_that_the_protocol_has(protocol, population):
    masses = evaluate(protocol, population).sum(axis=(0, 1, 2, 4, 5))
    found = {REASONS[i] for i in np.flatnonzero(masses > 1e-12)}
    possible = set()
    if not protocol.tiers:
        possible = {StopReason.SAMPLE_LIMIT} | ({StopReason.SAMPLING_STOP} if protocol.sampling_stop else set())
    else:
        possible = {StopReason.ROUND_LIMIT, StopReason.CONFIDENT, StopReason.TOKEN_BUDGET}
        if isinstance(protocol.round_stop, StableConsensus):
            possible = {StopReason.ROUND_LIMIT, StopReason.CONFIDENT, StopReason.CONSENSUS}
    assert found <= possible
