"""Stopping rules: their tables, and the published formulas behind them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from adjourn.model import (
    AdaptiveConsistency,
    FixedShare,
    MixtureDifficulty,
    ParameterError,
    Population,
    Protocol,
    StableConsensus,
    TokenBudget,
    Window,
)
from adjourn.model.exact import simulate as exact


def pairs(table):
    return {(int(a), int(b)) for a, b in zip(*np.nonzero(table), strict=True)}


def test_published_rule_fires_on_three_of_three_twice_and_on_five_or_six_of_six_twice():
    rule = StableConsensus("0.80", "0.05")
    assert pairs(rule.table(3)) == {(3, 3)}
    assert pairs(rule.table(6)) == {(5, 5), (6, 6)}


def test_a_wide_epsilon_forgets_the_earlier_share():
    assert pairs(StableConsensus("0.8", 1).table(6)) == {(k, m) for k in range(1, 7) for m in (5, 6)}


def test_fast_convergence_waits_a_round():
    assert not StableConsensus("0.8", "0.05").table(6)[3, 6]


def test_a_panel_of_one_has_no_consensus():
    assert not StableConsensus(0, 1).table(1).any()


def test_chains_share_of_five_against_six_agents():
    assert pairs(StableConsensus("0.8", "0.05").table(6, 5)) == {(4, 5), (5, 6)}


@given(st.integers(2, 12), st.integers(1, 12), st.fractions(0, 1, max_denominator=60), st.fractions(0, 1, max_denominator=60))
def test_table_compares_shares_exactly(agents, before, tau, epsilon):
    table = StableConsensus(tau, epsilon).table(agents, before)
    for k0 in range(1, before + 1):
        for k in range(1, agents + 1):
            share, earlier = Fraction(k, agents), Fraction(k0, before)
            assert table[k0, k] == (share >= tau and abs(share - earlier) <= epsilon)
    assert not table[0].any()
    assert not table[:, 0].any()


@pytest.mark.parametrize("level", ["0.6", "0.95", "0.99"])
def test_adaptive_consistency_is_the_beta_tail(level):
    rule = AdaptiveConsistency(level)
    for v1 in range(15):
        for v2 in range(v1 + 1):
            tail = stats.beta(v1 + 1, v2 + 1).sf(0.5)
            assert abs(tail - float(level)) > 1e-9
            assert rule.sure(v1, v2) == (tail > float(level))


def test_adaptive_consistency_meets_its_level_exactly():
    # P(Beta(2, 1) > 1/2) = 3/4.
    assert AdaptiveConsistency("3/4").sure(1, 0)
    assert not AdaptiveConsistency("0.7500001").sure(1, 0)
    assert not AdaptiveConsistency(1).sure(400, 0)


def test_adaptive_table_lists_all_pairs():
    rule = AdaptiveConsistency()
    assert pairs(rule.table(6)) == {(a, b) for a in range(7) for b in range(7) if rule.sure(a, b)}
    assert rule.sure(4, 0)
    assert not rule.sure(3, 0)


@pytest.mark.parametrize("window", [1, 2, 3, 5])
@pytest.mark.parametrize(("p", "w"), [(0.6, 0.5), (0.3, 1.0), (0.9, 0.0)])
def test_windows_draw_the_published_expected_number_of_samples(window, p, w):
    # E[n] = w (sum_i i pi (1 - pi)^(i - 1) + K (1 - pi)^(K - 1)), i below K, pi = sum_a p_a^w (ESC).
    blocks = 4
    same = p**window + ((1 - p) * w) ** window + ((1 - p) * (1 - w) if window == 1 else 0)
    expected = window * (sum(i * same * (1 - same) ** (i - 1) for i in range(1, blocks)) + blocks * (1 - same) ** (blocks - 1))
    law = Population(name="x", difficulty=MixtureDifficulty((p,), (1.0,)), misconception=FixedShare(w))
    result = exact(Protocol(name="esc", chains=window * blocks, sampling_stop=Window(window)), law)
    assert result.calls.mean == pytest.approx(expected, abs=1e-12)
    assert result.depth.mean == pytest.approx(expected / window, abs=1e-12)


def test_token_budget_stops_after_the_round_that_reaches_it():
    def tokens(round_):
        return {1: 100.0, 2: 50.0, 3: 50.0}[round_]

    assert TokenBudget(100).last_round(tokens, 3) == (1, True)
    assert TokenBudget(101).last_round(tokens, 3) == (2, True)
    assert TokenBudget(200).last_round(tokens, 3) == (3, True)
    assert TokenBudget(201).last_round(tokens, 3) == (3, False)


@pytest.mark.parametrize(
    "make",
    [
        lambda: StableConsensus(1.1),
        lambda: StableConsensus(epsilon=-0.1),
        lambda: StableConsensus("x"),
        lambda: StableConsensus(first_share="all"),
        lambda: AdaptiveConsistency(1.5),
        lambda: AdaptiveConsistency(math.nan),
        lambda: Window(0),
        lambda: Window(65),
        lambda: Window(2.0),
        lambda: TokenBudget(0),
        lambda: TokenBudget(10**10),
    ],
)
def test_impossible_rules_are_refused(make):
    with pytest.raises(ParameterError):
        make()
