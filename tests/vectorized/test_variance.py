"""Variance reduction: unbiased, honest about its error, and at most a third of the plain samples for the same error."""

import numpy as np
import pytest

from adjourn.model import InputError, ParameterError, Protocol, load_population, load_protocol
from adjourn.model.exact import simulate as exact_simulate
from adjourn.vectorized import simulate
from adjourn.vectorized.run import Job
from adjourn.vectorized.variance import composition_law, estimate_accuracy

UAAD = load_protocol("uaad")
GSM8K = load_population("gsm8k-gpt35")
RUNS = 200
SAMPLES = 8192


def large_panel():
    return Protocol.from_dict(
        UAAD.to_dict() | {"name": "large", "tiers": [{"name": n, "agents": a, "rounds": 3} for n, a in (("a", 1), ("b", 3), ("c", 12))]}
    )


@pytest.fixture(scope="module")
def runs():
    """Estimates of 200 independent runs of each method."""
    found = {}
    for method in ("plain", "strata", "sobol", "both"):
        estimates = [estimate_accuracy(UAAD, GSM8K, samples=SAMPLES, seed=seed, method=method, threads=1) for seed in range(RUNS)]
        found[method] = np.array([(e.accuracy.mean, e.accuracy.half_width / 1.96) for e in estimates])
    return found


@pytest.mark.parametrize("method", ["strata", "both"])
def test_the_same_error_needs_at_most_a_third_of_the_plain_samples(runs, method):
    """By the spread of 200 runs each. At a true gain of 4.4 the ratio of variances falls below 3 with probability below .5 % (F law)."""
    assert runs["plain"][:, 0].var() / runs[method][:, 0].var() > 3


def test_sobol_points_alone_gain_less_than_strata(runs):
    gain = runs["plain"][:, 0].var() / runs["sobol"][:, 0].var()
    assert 1.5 < gain < runs["plain"][:, 0].var() / runs["strata"][:, 0].var()


@pytest.mark.parametrize("method", ["plain", "strata", "sobol", "both"])
def test_no_method_is_biased(runs, method):
    """The mean of 200 runs lies within 4 standard errors of the exact law."""
    values = runs[method][:, 0]
    known = exact_simulate(UAAD, GSM8K).accuracy.mean
    assert abs(values.mean() - known) < 4 * values.std() / RUNS**0.5


@pytest.mark.parametrize("method", ["strata", "sobol", "both"])
def test_the_claimed_error_is_the_spread_of_repeated_runs(runs, method):
    """Ratio of claimed to measured standard error within 4 of its own (1 / sqrt(2 * 200)); the t factor of 32 replicates is 4 %."""
    values, claimed = runs[method].T
    assert np.sqrt((claimed**2).mean()) / values.std() == pytest.approx(1.02, abs=4 / (2 * RUNS) ** 0.5)


def test_a_wrong_law_of_the_control_is_found_to_bias(monkeypatch):
    """The control of the test above: with another population's law of compositions the estimate is off."""
    other = composition_law(load_population("math-gpt35"), 5)
    monkeypatch.setattr("adjourn.vectorized.variance.composition_law", lambda *_: other)
    found = estimate_accuracy(UAAD, GSM8K, samples=2**16, method="strata").accuracy
    assert abs(found.mean - exact_simulate(UAAD, GSM8K).accuracy.mean) > 4 * found.half_width


@pytest.mark.parametrize("population", ["gsm8k-gpt35", "game24-gpt4", "strategyqa-gpt35"])
def test_composition_law_sums_to_one_and_has_the_known_means(population):
    law = composition_law(load_population(population), 6)
    right = np.arange(7) @ law.sum(axis=1)
    assert law.sum() == pytest.approx(1, abs=1e-12)
    assert right == pytest.approx(6 * load_population(population).difficulty.mean(), abs=1e-12)


def test_composition_law_is_that_of_the_compiled_answers():
    job = Job.of(UAAD, GSM8K, 0)
    paths = job.trace(0, 100_000)
    found = np.zeros((6, 6))
    np.add.at(found, (paths.right, paths.shared), 1)
    law = composition_law(GSM8K, 5)
    assert np.abs(found - 1e5 * law).max() < 4 * np.sqrt(1e5 * law.max())


def test_the_exact_law_is_used_where_it_answers_and_said_so():
    found = estimate_accuracy(UAAD, GSM8K)
    assert (found.method, found.samples, found.accuracy.is_exact) == ("exact", 0, True)
    assert "exact law" in found.note


def test_beyond_the_exact_law_strata_are_used_and_said_so():
    with pytest.raises(InputError):
        exact_simulate(large_panel(), GSM8K)
    found = estimate_accuracy(large_panel(), GSM8K, samples=2**15)
    plain = simulate(large_panel(), GSM8K, samples=2**15).accuracy
    assert found.method == "strata"
    assert "out of reach" in found.note
    assert found.accuracy.half_width < plain.half_width / 1.7
    assert abs(found.accuracy.mean - plain.mean) < 4 * plain.half_width


def test_threads_do_not_change_a_bit():
    for method in ("strata", "sobol", "both"):
        one, three = (estimate_accuracy(UAAD, GSM8K, samples=2**14, method=method, threads=n) for n in (1, 3))
        assert one == three


@pytest.mark.parametrize(
    ("protocol", "options", "field"),
    [
        ("uaad", {"method": "magic"}, "method"),
        ("uaad", {"samples": 1000}, "samples"),
        ("esc", {"method": "strata"}, "method"),
        ("adaptive_consistency", {"method": "both"}, "method"),
    ],
)
def test_what_does_not_apply_is_refused_by_name(protocol, options, field):
    with pytest.raises(ParameterError, match=f"^{field} = "):
        estimate_accuracy(load_protocol(protocol), GSM8K, **options)
