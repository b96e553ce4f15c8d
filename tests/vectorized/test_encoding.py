"""What an encoding decides before the first question: quantile look-ups, screens, sampling thresholds, panels that stay unanimous."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import populations, protocols, signals

from adjourn.model import (
    AdaptiveConsistency,
    FixedRounds,
    Population,
    Protocol,
    StableConsensus,
    TokenBudget,
    UncertaintyGate,
    load_population,
    load_protocol,
)
from adjourn.model.difficulty import BetaDifficulty, FixedShare
from adjourn.model.draws import beta_table
from adjourn.model.outcomes import REASONS
from adjourn.model.reference import SampledSource
from adjourn.vectorized import encoding as codes
from adjourn.vectorized.encoding import encode
from adjourn.vectorized.jit import entry
from adjourn.vectorized.question import lookup

UNIFORMS = st.one_of(
    st.integers(0, 2**32 - 1).map(lambda word: (word + 0.5) * 2.0**-32),
    st.integers(-60, -1).map(lambda k: 2.0**k),
    st.integers(-52, -1).map(lambda k: 1 - 2.0**k),
)


@entry
def looked_up(table, u):
    return lookup(table, u)


@given(UNIFORMS, st.sampled_from([(0.684, 0.199), (2.0, 8.0), (0.001, 50.0), (1.0, 1.0)]))
def test_lookup_is_the_quantile_table_bit_by_bit(u, shapes):
    table = beta_table(*shapes)
    padded = np.ascontiguousarray([np.append(half, half[-1]) for half in (table.lower, table.upper)])
    assert looked_up(padded, u) == table(u)


@settings(max_examples=60)
@given(
    signals(),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_screen_bounds_the_weighted_signals(law, weight_h, weight_d, word_h, word_d, faulty):
    """Both ends of a step's screen enclose its score as the reference engine computes it; without a fault the top does too."""
    population = Population(name="x", difficulty=BetaDifficulty(1, 1), misconception=FixedShare(0.5), signals=law)
    protocol = Protocol(name="x", chains=1, gate=UncertaintyGate((0.5,), weight_h, 0.0, weight_d), tiers=load_protocol("uaad").tiers[:2])
    encoding = encode(protocol, population)
    score = weight_h * entropy(law, word_h, faulty) + weight_d * beta_table(*law.shapes_d(faulty))(uniform(word_d))
    shift, cells = 32 - codes.SCREEN_BITS, 2**codes.SCREEN_BITS
    first = 2 * cells * faulty
    both = int(encoding.screen[first + (word_h >> shift)] + encoding.screen[first + cells + (word_d >> shift)])
    assert (both >> 32) * codes.SCREEN_UNIT <= score <= (both & 0xFFFFFFFF) * codes.SCREEN_UNIT
    if not faulty:
        top = int(encoding.screen_top[word_h >> shift] + encoding.screen_top[cells + (word_d >> shift)])
        assert score <= top * codes.SCREEN_UNIT
        assert top >= both & 0xFFFFFFFF


def uniform(word):
    return (word + 0.5) * 2.0**-32


def entropy(law, word, faulty):
    source = SampledSource.__new__(SampledSource)
    source.population = Population(name="x", difficulty=BetaDifficulty(1, 1), misconception=FixedShare(0.5), signals=law)
    source.seed = source.question = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("adjourn.model.reference.uniform", lambda *_: uniform(word))
        return source._entropy(0, faulty)


@given(st.integers(50, 100), st.integers(2, 40))
def test_sampling_thresholds_are_the_rule(percent, most):
    stop = AdaptiveConsistency(percent / 100)
    encoding = encode(Protocol(name="x", chains=most, sampling_stop=stop), load_population("gsm8k-gpt35"))
    for second in range(most + 1):
        for first in range(second, most + 1 - second):
            assert (first >= encoding.sure_at[second]) == stop.sure(first, second)


@pytest.mark.parametrize(
    ("stop", "rounds", "reasons"),
    [
        (StableConsensus(), (1, 1, 1), ("round_limit", "consensus", "consensus")),
        (StableConsensus(first_share="none"), (1, 1, 2), ("round_limit", "round_limit", "consensus")),
        (FixedRounds(), (1, 1, 3), ("round_limit", "round_limit", "round_limit")),
        (TokenBudget(1), (1, 1, 1), ("token_budget", "token_budget", "token_budget")),
    ],
)
def test_unanimous_panels_of_uaad_settle_where_they_must(stop, rounds, reasons):
    """One agent has no consensus; several stop by it at the first round that has a share to compare with."""
    encoding = encode(replace(load_protocol("uaad"), round_stop=stop), load_population("gsm8k-gpt35"))
    assert tuple(encoding.settled_rounds) == rounds
    assert tuple(str(REASONS[reason]) for reason in encoding.settled_reason) == reasons


@settings(max_examples=40)
@given(protocols(), populations())
def test_every_plan_has_the_same_types(protocol, population):
    """One compiled kernel serves all: no field may change its type, its number of dimensions or its layout."""
    expected = encode(load_protocol("uaad"), load_population("gsm8k-gpt35"))
    for name, value, model in zip(expected._fields, encode(protocol, population), expected, strict=True):
        assert type(value) is type(model), name
        if isinstance(model, np.ndarray):
            assert (value.dtype, value.ndim) == (model.dtype, model.ndim), name
            assert value.flags.c_contiguous, name
            assert value.flags.writeable, name
