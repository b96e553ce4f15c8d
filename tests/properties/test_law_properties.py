"""What must hold for every protocol and population: checked on drawn pairs, small ones against brute-force enumeration."""

from dataclasses import replace

import numpy as np
from enumeration import flat_law
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import protocols, response_rules

from adjourn.model import (
    ConfidenceLaw,
    MixtureDifficulty,
    Population,
    Signals,
    Tier,
)
from adjourn.model.exact import evaluate

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
