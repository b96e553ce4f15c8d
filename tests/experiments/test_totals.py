"""Money for many questions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from adjourn.experiments.totals import Total, mixture_cdf, mixture_quantile
from adjourn.model.outcomes import Money


def _money() -> Money:
    return Money(np.array([0.7, 0.3]), np.array([0.001, 0.006]), np.array([1e-7, 9e-6]), worst=0.05)


def _sample_totals(money: Money, items: int, runs: int) -> np.ndarray:
    rng = np.random.default_rng(20261130)
    path = rng.choice(2, p=money.weight, size=(runs, items))
    mean, variance = money.mean[path], money.variance[path]
    spread = np.log1p(variance / mean**2)
    return np.exp(rng.normal(np.log(mean) - spread / 2, np.sqrt(spread))).sum(axis=1)


def test_moments_of_a_total_are_those_of_independent_lognormal_mixtures() -> None:
    money = _money()
    total = Total.of(money, 50)
    mean = 0.7 * 0.001 + 0.3 * 0.006
    second = 0.7 * (1e-6 + 1e-7) + 0.3 * (36e-6 + 9e-6)
    assert total.mean == pytest.approx(50 * mean, rel=1e-12)
    assert total.variance == pytest.approx(50 * (second - mean**2), rel=1e-12)
    assert total.worst == pytest.approx(2.5)


@pytest.mark.parametrize("items", [10, 100, 2000])
@pytest.mark.parametrize("level", [0.05, 0.5, 0.95, 0.99])
def test_quantiles_of_a_total_hold_in_simulation(items: int, level: float) -> None:
    """Tolerance: .02 in probability covers 4.5 standard errors of 8,000 runs and the stated approximation at ten questions."""
    total = Total.of(_money(), items)
    simulated = _sample_totals(_money(), items, 8000 if items < 1000 else 2000)
    assert abs(float((simulated <= total.quantile(level)).mean()) - level) < 0.02


def test_a_total_without_variance_is_a_step() -> None:
    total = Total.of(Money(np.ones(1), np.array([0.01]), np.zeros(1), worst=0.01), 100)
    assert total.cdf(0.999) == 0.0
    assert total.cdf(1.0 + 1e-9) == 1.0
    assert total.quantile(0.95) == pytest.approx(1.0)


def test_no_total_passes_its_worst_case() -> None:
    total = Total.of(_money(), 3)
    assert total.cdf(total.worst) == 1.0


def test_a_mixture_averages_probabilities_not_quantiles() -> None:
    low, high = Total(1.0, 0.01, 0.0, 9.0), Total(2.0, 0.01, 0.0, 9.0)
    assert mixture_cdf([low, high], 1.5) == pytest.approx(0.5, abs=1e-5)
    assert mixture_quantile([low, high], 0.25) == pytest.approx(1.0, abs=1e-4)


def test_skewed_totals_keep_their_probability_below_the_support() -> None:
    total = Total(1.0, 1.0, 2.0, math.inf)
    assert total.cdf(-1e-12) == 0.0
    assert total.cdf(1.0) == pytest.approx(1 - math.exp(-1), abs=1e-9)


def test_money_that_never_varies_has_no_variance_left_by_rounding() -> None:
    money = Money(np.array([1.0]), np.array([0.1]), np.array([1e-18]), worst=0.1)
    total = Total.of(money, 1000)
    assert total.variance == 0
    assert total.quantile(0.95) == pytest.approx(100.0)
