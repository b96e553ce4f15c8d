"""Thresholds on shares are rationals, compared in integers."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.model import ParameterError
from adjourn.model.thresholds import as_fraction, largest_change, smallest_count


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("5/6", Fraction(5, 6)),
        ("0.8", Fraction(4, 5)),
        (" .05 ", Fraction(1, 20)),
        (0.8, Fraction(4, 5)),
        (0.05, Fraction(1, 20)),
        (5 / 6, Fraction(5, 6)),
        (2 / 3, Fraction(2, 3)),
        (1, Fraction(1)),
        (Fraction(1, 3), Fraction(1, 3)),
        (Decimal("0.62"), Fraction(31, 50)),
        (np.float64(0.35), Fraction(7, 20)),
        (np.int64(0), Fraction(0)),
        ("1e-3", Fraction(1, 1000)),
        ("0.3333", Fraction(3333, 10000)),
    ],
)
def test_thresholds_are_read_as_the_rational_that_is_meant(given, read):
    assert as_fraction(given, "tau_c") == read


@pytest.mark.parametrize(
    "bad",
    ["", "x", "1/0", "nan", "inf", "-0.1", "1.0001", "7/6", math.nan, math.inf, -1, 2, True, None, [], "1e-999999999", "1" * 100, "0.5e"],
)
def test_what_is_no_threshold_is_refused_by_name(bad):
    with pytest.raises(ParameterError, match=r"tau_c = .* is not possible: allowed is a number from 0 to 1"):
        as_fraction(bad, "tau_c")


@given(st.integers(1, 64), st.integers(0, 64), st.fractions(0, 1, max_denominator=1000))
def test_integer_comparison_is_the_comparison_of_shares(agents, count, threshold):
    count = min(count, agents)
    assert (count >= smallest_count(threshold, agents)) == (Fraction(count, agents) >= threshold)
    assert (count <= largest_change(threshold, agents)) == (Fraction(count, agents) <= threshold)


@given(st.integers(1, 64), st.integers(0, 64))
def test_a_share_written_as_a_float_reaches_its_own_threshold(agents, count):
    count = min(count, agents)
    assert smallest_count(as_fraction(count / agents, "tau_c"), agents) == count
    assert largest_change(as_fraction(count / agents, "epsilon"), agents) == count


@given(st.integers(0, 10**6))
def test_a_decimal_float_means_what_is_written(millionths):
    assert as_fraction(millionths / 10**6, "epsilon") == Fraction(millionths, 10**6)
