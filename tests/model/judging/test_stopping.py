"""Stopping rules of judging debates, and the faults of the released code that are reproduced on purpose."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.model import ParameterError
from adjourn.model.judging import (
    BetaGap,
    Debate,
    GapStable,
    GaussianGap,
    Judge,
    JudgingPopulation,
    JudgingStopReason,
    LeadBy,
    ReleasedCode,
    SignAgreement,
    TokenBudget,
    evaluate_judging,
    simulate_exact,
)
from adjourn.model.judging.outcomes import JUDGING_REASONS

FLIPS = [(60, 50), (50, 60), (60, 50)]


def signed(scores):
    return [(a - b) / 114 for a, b in scores]


@pytest.mark.parametrize("epsilon", [3.0, 5.0])
def test_a_winner_that_flips_every_round_converges_in_the_released_code(epsilon):
    assert ReleasedCode(epsilon).converged(FLIPS)
    assert not GapStable(epsilon / 114, window=3, min_rounds=3).fires(signed(FLIPS))
    assert GapStable(epsilon / 114, window=3, min_rounds=3, signed=False).fires(signed(FLIPS))


def test_nothing_stops_before_round_three_in_the_released_code():
    assert not ReleasedCode().converged(FLIPS[:2])
    assert not ReleasedCode().converged([(60, 60)] * 2)
    population = JudgingPopulation(name="p", judges=(Judge(gap=BetaGap(500.0, 0.2)),))
    protocol = Debate(name="d", rounds=5, stop=ReleasedCode(30.0), jurors=1)
    rounds = evaluate_judging(protocol, population).masses.sum(axis=(0, 1, 3))
    assert rounds[:3].sum() == 0
    assert rounds[3] > 0.3


def test_three_failed_parses_converge_in_the_released_code_and_nowhere_else():
    assert ReleasedCode().converged([None, None, None])
    assert ReleasedCode().fires([math.nan] * 3)
    assert not GapStable().fires([math.nan] * 3)
    assert not SignAgreement().fires([math.nan] * 3)
    assert not LeadBy(1).fires([math.nan] * 3)


def test_failed_parses_end_debates_of_the_released_code():
    population = JudgingPopulation(name="p", judges=(Judge(gap=BetaGap(5.0)),))
    plain = Debate(name="d", rounds=4, stop=ReleasedCode(1.0), jurors=1)
    failing = Debate(name="d", rounds=4, stop=ReleasedCode(1.0, parse_failure=0.6), jurors=1)
    at = JUDGING_REASONS.index(JudgingStopReason.RELEASED_CODE)
    assert evaluate_judging(failing, population).masses[..., at].sum() > 0.6**3
    assert evaluate_judging(plain, population).masses[..., at].sum() < 0.1


def test_the_released_codes_token_budget_never_binds():
    population = JudgingPopulation(name="p", judges=(Judge(gap=BetaGap(10.0, 0.3)),))
    long = Debate(name="d", rounds=5, stop=ReleasedCode(0.001, max_tokens=1), jurors=1)
    result = simulate_exact(long, population)
    assert result.mean("rounds").mean == pytest.approx(5.0, abs=1e-3)
    assert "token_budget" not in result.shares["stop_reasons"]
    honest = simulate_exact(Debate(name="d", rounds=5, stop=TokenBudget(1), jurors=1), population)
    assert honest.shares["stop_reasons"]["token_budget"].mean == pytest.approx(1.0, abs=1e-12)
    assert honest.mean("rounds").mean == pytest.approx(1.0, abs=1e-12)


def test_steadily_growing_sizes_do_not_converge_in_the_released_code():
    assert not ReleasedCode(5.0).converged([(60, 60), (61, 60), (62, 60)])
    assert ReleasedCode(5.0).converged([(60, 60), (62, 60), (61, 60)])
    assert ReleasedCode(5.0).converged([(61, 60)] * 3)


@given(st.lists(st.sampled_from([-0.3, -0.01, 0.0, 0.01, 0.3]), min_size=1, max_size=6))
def test_rules_agree_with_their_words(gaps):
    assert GapStable(0.05).fires(gaps) == (len(gaps) >= 2 and abs(gaps[-1] - gaps[-2]) <= 0.05 + 1e-9)
    signs = [int(np.sign(gap)) for gap in gaps]
    assert SignAgreement(2).fires(gaps) == (len(gaps) >= 2 and signs[-1] == signs[-2] != 0)
    assert LeadBy(2).fires(gaps) == (abs(sum(signs)) >= 2)


@pytest.mark.parametrize("p", [0.55, 0.7, 0.9])
def test_two_equal_signs_in_a_row_by_enumeration(p):
    right = steps = 0.0
    for path in itertools.product([1, -1], repeat=18):
        held = next((r for r in range(2, 19) if SignAgreement(2).fires(path[:r])), 18)
        weight = p ** path.count(1) * (1 - p) ** path.count(-1)
        steps += weight * held
        right += weight * (path[held - 1] > 0)
    assert right == pytest.approx(p**2 * (2 - p) / (1 - p + p**2), abs=1e-5)
    assert steps == pytest.approx((2 + p - p**2) / (1 - p + p**2), abs=1e-4)


@pytest.mark.parametrize("make", [lambda: GapStable(-1), lambda: GapStable(window=1), lambda: SignAgreement(0), lambda: LeadBy(0)])
def test_impossible_rules_are_refused(make):
    with pytest.raises(ParameterError):
        make()


def test_a_gaussian_gap_can_be_used_with_every_rule():
    population = JudgingPopulation(name="p", judges=(Judge(gap=GaussianGap(0.4)),))
    for stop in (GapStable(0.1), GapStable(0.1, signed=False), SignAgreement(3), LeadBy(2), ReleasedCode(20.0)):
        masses = evaluate_judging(Debate(name="d", rounds=4, stop=stop, jurors=3), population).masses
        assert masses.sum() == pytest.approx(1.0, abs=1e-9)
