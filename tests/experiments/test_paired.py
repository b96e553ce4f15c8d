"""Statistics of paired differences against brute force and against scipy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from adjourn.experiments.paired import influence_interval, mcnemar, paired_mean, tango

COUNTS = st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 60)).filter(lambda c: sum(c) > 0)


def score(first, second, n, delta):
    """Tango's statistic with the second kind's probability from a direct search of the likelihood."""
    low, high = max(0.0, -delta), (1 - delta) / 2

    def loss(q):
        terms = ((first, q + delta), (second, q), (n - first - second, 1 - 2 * q - delta))
        return -sum(count * math.log(max(p, 1e-300)) for count, p in terms if count)

    q = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x
    return (first - second - n * delta) / math.sqrt(n * (2 * q + delta * (1 - delta)))


@given(COUNTS)
def test_ends_of_the_interval_are_where_the_score_is_at_its_limit(counts):
    first, second, same = counts
    n = first + second + same
    interval = tango(first, second, n)
    assert interval.mean == (first - second) / n
    assert -1 <= interval.low <= interval.mean <= interval.high <= 1
    for end, limit in ((interval.low, 1.96), (interval.high, -1.96)):
        if abs(end) < 1 - 1e-6:
            assert score(first, second, n, end) == pytest.approx(limit, abs=0.01)


@given(COUNTS)
def test_changing_places_mirrors_the_interval(counts):
    first, second, same = counts
    n = first + second + same
    there, back = tango(first, second, n), tango(second, first, n)
    assert there.low == pytest.approx(-back.high, abs=1e-9)
    assert there.high == pytest.approx(-back.low, abs=1e-9)


def test_no_discordant_question_leaves_an_interval_and_not_a_point():
    interval = tango(0, 0, 100)
    assert interval.low == pytest.approx(-interval.high)
    assert 0.03 < interval.high < 0.04  # z^2 / (n + z^2)


@pytest.mark.parametrize(("first", "second", "n"), [(0.05, 0.02, 200), (0.01, 0.01, 500), (0.3, 0.1, 60)])
def test_the_interval_covers_at_the_stated_rate(first, second, n):
    """2000 draws: the share lies within 4 standard errors (.0195) of .95."""
    draws = np.random.default_rng(7).multinomial(n, [first, second, 1 - first - second], size=2000)
    intervals = [tango(int(a), int(b), n) for a, b, _ in draws]
    assert np.mean([i.low <= first - second <= i.high for i in intervals]) == pytest.approx(0.95, abs=0.0195)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_exact_binomial_test(first, second):
    from scipy.stats import binomtest

    expected = binomtest(first, first + second).pvalue if first + second else 1.0
    assert mcnemar(first, second) == pytest.approx(expected, rel=1e-9)


def test_paired_mean_by_hand():
    """Differences 1, 1, 0, -2: mean 0, variance 2, standard error sqrt(2 / 4)."""
    estimate = paired_mean(np.array([[2, 1], [1, 0]]), np.array([[1, 0], [-2, 99]]))
    assert estimate.mean == 0
    assert estimate.half_width == pytest.approx(1.959964 * math.sqrt(2 / 4))


def test_integers_are_summed_exactly_where_floats_would_not_be():
    estimate = paired_mean(np.array([2**61, 1]), np.array([3, 7]))
    assert estimate.mean == (3 * 2**61 + 7) / (2**61 + 1)


def test_influence_of_a_mean_gives_its_own_interval():
    counts, values = np.array([30, 50, 20]), np.array([0.0, 1.0, 3.0])
    mean = float(counts @ values) / 100
    estimate = influence_interval(counts, mean, values - mean)
    assert estimate.half_width == pytest.approx(1.959964 * math.sqrt(counts @ (values - mean) ** 2 / 100 / 100))
