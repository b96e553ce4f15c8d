"""Accuracy and kappa under the three ways of counting ties; what a reported pair implies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.model import ParameterError
from adjourn.model.judging import class_shares
from adjourn.model.judging.agreement import TIES, agreement

TABLE = np.array([[30, 6, 4, 0], [5, 9, 6, 0], [8, 2, 30, 0]])


def test_ties_are_counted_in_the_three_usual_ways():
    n = int(TABLE.sum())
    assert agreement(TABLE, "decisive", n)[0].mean == pytest.approx((30 + 30 + (6 + 2) / 2) / 80)
    assert agreement(TABLE, "half", n)[0].mean == pytest.approx((30 + 9 + 30 + (6 + 5 + 6 + 2) / 2) / 100)
    assert agreement(TABLE, "three_class", n)[0].mean == pytest.approx(69 / 100)


def test_three_class_kappa_is_cohens():
    p = TABLE[:, :3] / 100
    chance = p.sum(axis=1) @ p.sum(axis=0)
    assert agreement(TABLE, "three_class", 100)[1].mean == pytest.approx((0.69 - chance) / (1 - chance))


def test_linearly_weighted_kappa_for_half_credits():
    p, w = TABLE[:, :3] / 100, 1 - np.abs(np.subtract.outer(np.arange(3), np.arange(3))) / 2
    a, chance = (w * p).sum(), p.sum(axis=1) @ w @ p.sum(axis=0)
    assert agreement(TABLE, "half", 100)[1].mean == pytest.approx((a - chance) / (1 - chance))


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4), st.floats(0, 1))
def test_kappa_is_twice_accuracy_less_one_for_balanced_labels_whatever_the_judge_does(shares, missing):
    a, tie_a, b, tie_b = shares
    rows = np.array([[a, tie_a, 1.0, missing], [0, 0, 0, 0], [b, tie_b, 1.0, missing]])
    rows[0] /= 2 * rows[0].sum()
    rows[2] /= 2 * rows[2].sum()
    accuracy, kappa = agreement(rows, "decisive", None)
    assert kappa.mean == pytest.approx(2 * accuracy.mean - 1, abs=1e-12)


@pytest.mark.parametrize("ties", TIES)
def test_intervals_cover_at_their_rate(ties):
    """600 tables of 400 items: the 95 % intervals of accuracy and kappa miss in 5 % (false-alarm rate of this test below 1e-5)."""
    rng = np.random.default_rng(3)
    p = TABLE[:, :3].ravel() / 100
    table = np.zeros((3, 4))
    table[:, :3] = p.reshape(3, 3)
    truth = agreement(table, ties, None)
    missed = np.zeros(2)
    for _ in range(600):
        drawn = np.zeros((3, 4), dtype=np.int64)
        drawn[:, :3] = rng.multinomial(400, p).reshape(3, 3)
        for k, estimate in enumerate(agreement(drawn, ties, 400)):
            missed[k] += not estimate.low <= truth[k].mean <= estimate.high
    assert np.all(missed / 600 < 0.09)
    assert np.all(missed / 600 > 0.015)


def test_kappa_does_not_exist_where_every_label_and_verdict_is_the_same():
    table = np.zeros((3, 4), dtype=np.int64)
    table[0, 0] = 10
    accuracy, kappa = agreement(table, "decisive", 10)
    assert (accuracy.mean, kappa) == (1.0, None)
    table[0, 0], table[1, 1] = 0, 10
    assert agreement(table, "decisive", 10) == (None, None)


def test_the_reported_pair_needs_a_largest_class_of_72_percent():
    shares = class_shares(0.863, 0.60)
    assert shares.easy == pytest.approx(0.6575)
    assert shares.smallest == pytest.approx(0.7204, abs=5e-5)
    assert shares.largest == pytest.approx(0.857, abs=5e-4)
    rounded = [class_shares(a, k).smallest for a in (0.8625, 0.8635) for k in (0.595, 0.605)]
    assert min(rounded) == pytest.approx(0.715, abs=5e-4)


@given(st.floats(0.5, 0.99), st.floats(0.01, 0.99), st.floats(0, 1))
def test_no_two_class_table_lies_outside_the_implied_range(q, m, mixture):
    high = min(q, m) + min(1 - q, 1 - m)
    low = abs(1 - q - m)
    a = low + mixture * (high - low)
    chance = q * m + (1 - q) * (1 - m)
    kappa = (a - chance) / (1 - chance)
    if a < 1 - 1e-9 and kappa > -1:
        implied = class_shares(a, kappa)
        assert implied.smallest - 1e-9 <= q <= implied.largest + 1e-9


def test_a_pair_that_no_table_has_is_refused():
    with pytest.raises(ParameterError, match="kappa"):
        class_shares(0.9, -0.9)


@pytest.mark.parametrize(
    ("human", "judge", "side"), [(0.989999994635582, 0.989999994635582, 0), (0.7, 0.6, 0), (0.7, 0.6, 1), (0.9, 0.9, 1)]
)
def test_pairs_at_the_ends_of_what_is_attainable_are_not_refused(human: float, judge: float, side: int) -> None:
    """Side 0: as little agreement as the two margins allow; side 1: as much."""
    accuracy = (abs(human + judge - 1), 1 - abs(human - judge))[side] - (1e-3 if human == judge and side else 0)
    chance = human * judge + (1 - human) * (1 - judge)
    implied = class_shares(accuracy, (accuracy - chance) / (1 - chance))
    assert implied.smallest - 1e-4 <= human <= implied.largest + 1e-4
