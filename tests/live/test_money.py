"""Sums of money are integers and never round a cap away."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.live.money import PICO, Rate, picodollars, usd
from adjourn.model import ParameterError, Price


def test_a_call_costs_what_hand_arithmetic_says():
    rate = Rate.of(Price("m", 0.15, 0.60))
    assert rate.cost(1000, 200) == 270 * PICO // 10**6
    assert usd(rate.cost(1_000_000, 1_000_000)) == 0.75


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.decimals(0, 1000, places=4), st.decimals(0, 1000, places=4))
def test_a_cost_is_exact_to_a_picodollar_and_rounded_up(prompt, completion, price_in, price_out):
    exact = (Fraction(price_in) * prompt + Fraction(price_out) * completion) / 10**6
    cost = Rate.of(Price("m", float(price_in), float(price_out))).cost(prompt, completion)
    assert 0 <= cost - exact * PICO < 1


def test_a_cap_is_read_as_the_decimal_that_it_is():
    assert picodollars(0.1) == PICO // 10
    assert picodollars("1e-13") == 0


@pytest.mark.parametrize("value", [-1, "nan", "inf", 1e7, "much"])
def test_a_cap_that_is_no_amount_is_refused(value):
    with pytest.raises(ParameterError, match="cap_usd"):
        picodollars(value)
