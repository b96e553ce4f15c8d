"""The three engines of judging agree, on presets and on protocols and populations that Hypothesis draws.

Reference and Monte Carlo: item by item, the same outcome and the same verdicts when the places change, with the same and with fresh noise.

Monte Carlo and exact: for every pair and quantity the standardised difference z = (simulated - exact) / standard error is taken with the
exact law's own variance. Each |z| must stay below 4.5, and sum (z^2 - 1) / sqrt(2 n) is one pooled test for each quantity, with a
false-alarm rate of 1e-4 (normal approximation); a wrong parameter must fail it. Every pair has a key of its own: pairs that shared one
would share their numbers.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from judging_strategies import judging_populations, judging_protocols
from scipy.special import ndtri

from adjourn.model import InputError
from adjourn.model.judging import (
    Debate,
    Panel,
    SignAgreement,
    evaluate_judging,
    judging_population_names,
    judging_protocol_names,
    load_judging_population,
    load_judging_protocol,
)
from adjourn.model.judging.outcomes import outcome_shape
from adjourn.model.judging.reference import judging_trajectories
from adjourn.vectorized.judging import JudgingJob

PAIRS = 90
ITEMS = 20_000
FALSE_ALARM = 1e-4
LIMIT = -float(ndtri(FALSE_ALARM))


def assert_the_same(protocol, population, items, key):
    traced = JudgingJob.of(protocol, population, key).trace(0, items)
    shape = outcome_shape(protocol)
    for item, (once, swapped, again) in enumerate(judging_trajectories(protocol, population, range(items), key)):
        seen = np.unravel_index(traced.outcome[item], shape)
        assert tuple(int(x) for x in seen) == once.outcome.index
        assert (traced.same[item], traced.fresh[item]) == (swapped.outcome.verdict, again.outcome.verdict)


@pytest.mark.parametrize("population", judging_population_names())
@pytest.mark.parametrize("name", judging_protocol_names())
def test_reference_and_monte_carlo_judge_every_preset_alike(name, population):
    assert_the_same(load_judging_protocol(name), load_judging_population(population), 500, 11)


@pytest.mark.slow
@pytest.mark.parametrize("name", judging_protocol_names())
def test_reference_and_monte_carlo_judge_every_preset_alike_thousands_of_times(name):
    assert_the_same(load_judging_protocol(name), load_judging_population("mtbench-gpt4"), 3000, 2**63 + 5)


@seed(1)
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate], database=None)
@given(judging_protocols(long=True), judging_populations())
def test_reference_and_monte_carlo_judge_whatever_is_drawn_alike(protocol, population):
    assert_the_same(protocol, population, 25, 3)


def quantities(protocol, masses):
    """Means of functions of the outcome, as weights on the lattice."""
    label, verdict, rounds, reason = np.indices(outcome_shape(protocol))
    return {
        "right": (label == verdict).astype(float),
        "wrong": ((label + verdict == 2) & (label != 1)).astype(float),
        "verdict A": (verdict == 0).astype(float),
        "tied verdict": (verdict == 1).astype(float),
        "label A": (label == 0).astype(float),
        "rounds": rounds.astype(float),
        "first reason": (reason == reason[masses > 0].min()).astype(float),
    }


def standardised(mean, variance, counted, items):
    return (counted / items - mean) / np.sqrt(variance / items)


def differences(protocol, population, truth, key, items=ITEMS):
    """z of every quantity that varies and is common enough for a normal approximation."""
    counts = JudgingJob.of(protocol, population, key).count(0, items)
    masses, drawn = truth.masses, counts[:-2].reshape(truth.masses.shape)
    found = {}
    for name, value in quantities(protocol, masses).items():
        mean = float((masses * value).sum())
        variance = float((masses * value**2).sum()) - mean**2
        if variance * items > 25:
            found[name] = standardised(mean, variance, float((drawn * value).sum()), items)
    for name, share, count in (("same", truth.same, counts[-2]), ("fresh", truth.fresh, counts[-1])):
        if share is not None and share * (1 - share) * items > 25:
            found[name] = standardised(share, share * (1 - share), float(count), items)
    return found


@cache
def drawn_pairs():
    pairs = []

    @seed(20)
    @settings(max_examples=PAIRS, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate], database=None)
    @given(judging_protocols(), judging_populations())
    def draw(protocol, population):
        if any((protocol, population) == (p, q) for p, q, _ in pairs):
            return  # the same pair twice is no new evidence
        try:
            pairs.append((protocol, population, evaluate_judging(protocol, population)))
        except InputError:
            assert isinstance(protocol, Debate) or protocol.agents > 4

    draw()
    return pairs


def pooled(results):
    names = sorted({name for result in results for name in result})
    return {name: np.array([result[name] for result in results if name in result]) for name in names}


def test_monte_carlo_and_exact_agree_on_whatever_is_drawn():
    pairs = drawn_pairs()
    assert len(pairs) > 0.6 * PAIRS
    for name, z in pooled([differences(*pair, key) for key, pair in enumerate(pairs)]).items():
        assert np.abs(z).max() < 4.5, name
        assert len(z) < 5 or (z**2 - 1).sum() / np.sqrt(2 * len(z)) < LIMIT, name


SWAPPED = {
    "one judge": (Panel(name="p"), "prd-vicuna80"),
    "a coin for the order": (Panel(name="p", order="random"), "prd-vicuna80"),
    "three votes": (Panel(name="p", samples=3), "prd-vicuna80"),
    "both orders": (Panel(name="p", order="both"), "prd-vicuna80"),
    "scores of both orders": (load_judging_protocol("mec_bpc"), "prd-vicuna80"),
    "three judges": (Panel(name="p", judges=3, order="both"), "prd-vicuna80"),
    "agents": (load_judging_protocol("chateval"), "prd-vicuna80"),
    "five jurors": (load_judging_protocol("more"), "mtbench-gpt4"),
    "four jurors": (replace(load_judging_protocol("more"), jurors=4), "mtbench-gpt4"),
    "the sum of five rounds": (Debate(name="d", rounds=5), "mtbench-gpt4"),
    "two equal signs": (Debate(name="d", rounds=5, stop=SignAgreement(2), decision="last"), "mtbench-gpt4"),
}


@pytest.mark.parametrize("case", SWAPPED)
def test_swap_consistency_with_the_same_noise_is_what_monte_carlo_counts(case):
    protocol, population = SWAPPED[case][0], load_judging_population(SWAPPED[case][1])
    truth = evaluate_judging(protocol, population)
    counts = JudgingJob.of(protocol, population, 17).count(0, 60_000)
    for share, count in ((truth.same, counts[-2]), (truth.fresh, counts[-1])):
        assert abs(standardised(share, max(share * (1 - share), 1e-6), count, 60_000)) < 4.5


def test_the_pooled_test_fails_for_a_wrong_parameter():
    """The control: items of a 5 % wider spread, counted against the law of the right one."""
    wrong = []
    for key, (protocol, population, truth) in enumerate(drawn_pairs()):
        wider = replace(population, items=replace(population.items, sigma_x=1.05 * population.items.sigma_x))
        wrong.append(differences(protocol, wider, truth, key))
    z = pooled(wrong)["wrong"]
    assert (z**2 - 1).sum() / np.sqrt(2 * len(z)) > LIMIT


def test_probabilities_of_whatever_is_drawn_are_probabilities():
    for _, _, truth in drawn_pairs():
        assert truth.masses.min() >= -1e-12
        assert truth.masses.sum() == pytest.approx(1.0, abs=1e-9)
        for share in (truth.same, truth.fresh):
            assert share is None or -1e-9 <= share <= 1 + 1e-9
