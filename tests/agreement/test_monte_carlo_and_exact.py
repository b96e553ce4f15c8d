r"""The compiled engine and the exact law on drawn pairs: within 4 standard errors, cell by cell of the outcome lattice.

A count of a cell of probability q in n questions has standard error :math:`\sqrt{n q (1 - q)}`. Cells of fewer than 25 expected counts
are pooled with each other. Under equality a normal deviate exceeds 4 in size with probability 6.3e-5; with at most 40 cells and
marginals a pair, and 60 pairs, some pair would fail with probability below 15 %, once: the draws are fixed, so what passes passes
always. Cells that the exact law holds impossible must stay empty.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from strategies import populations, protocols

from adjourn.model import BetaDifficulty, OutcomeSpace, ParameterError, load_population, load_protocol, protocol_names
from adjourn.model.exact import evaluate
from adjourn.model.outcomes import Costs
from adjourn.vectorized.run import Job

SAMPLES = 200_000
POOLED = 25


def deviations(protocol, population, law=None, seed=11, samples=SAMPLES):
    """Standardised differences of the lattice cells and of mean accuracy and calls; NaN-free, pooled where rare."""
    counts = Job.of(protocol, population, seed).count(0, samples)
    probability = np.clip(evaluate(protocol, population if law is None else law).ravel(), 0, None)
    assert probability.sum() == pytest.approx(1, abs=1e-9)
    if law is None:
        assert counts[probability < 1e-14].sum() == 0
    rare = probability * samples < POOLED
    cells = np.append(probability[~rare], probability[rare].sum())
    found = np.append(counts[~rare], counts[rare].sum())
    space = OutcomeSpace(protocol)
    values = {"accuracy": space.coordinates[-1], "calls": Costs(space, population).calls}
    z = [standardised(found, samples * cells, samples * cells * (1 - cells))]
    for value in values.values():
        mean = probability @ value
        variance = max(probability @ (value - mean) ** 2, 0.0)
        z.append(standardised(np.array([counts @ value]), samples * mean, samples * variance))
    return np.concatenate([np.atleast_1d(part) for part in z])


def standardised(found, expected, variance):
    difference = np.abs(found - expected)
    spread = np.sqrt(np.maximum(variance, 0.0))
    # what hardly varies may differ by the rounding of the law, and a pooled cell by a few rare events
    return np.where(difference <= 4, 0.0, difference / np.maximum(spread, 1e-9))


@pytest.mark.parametrize("name", protocol_names())
def test_presets_lie_within_four_standard_errors(name):
    assert deviations(load_protocol(name), load_population("math-gpt35")).max() < 4


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(protocols(), populations())
def test_drawn_pairs_lie_within_four_standard_errors(protocol, population):
    assert deviations(protocol, population).max() < 4


@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(protocols(oracle=True).filter(lambda p: type(p.gate).__name__ == "OracleGate"), populations())
def test_drawn_oracle_routers_lie_within_four_standard_errors(protocol, population):
    assume(population.response.iota == 0 and population.response.fresh_weight == 0)
    assert deviations(protocol, population).max() < 4


WRONG = {
    "another difficulty": lambda q: replace(q, difficulty=BetaDifficulty(q.difficulty.a * 1.03, q.difficulty.b)),
    "another conformity": lambda q: replace(q, response=replace(q.response, theta=q.response.theta + 0.5)),
    "another visibility": lambda q: replace(q, signals=replace(q.signals, visibility=0.6)),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_law_that_is_a_little_wrong_is_found_out(change):
    """The control: the same comparison against the law of a slightly different population fails."""
    uaad, population = load_protocol("uaad"), load_population("math-gpt35")
    assert deviations(uaad, population, samples=2_000_000).max() < 4
    assert deviations(uaad, population, change(population), samples=2_000_000).max() > 4


def test_an_oracle_router_on_renewals_is_refused_by_both():
    population = load_population("math-gpt35")
    renewing = replace(population, response=replace(population.response, iota=0.1))
    for engine in (lambda: Job.of(load_protocol("oracle_router"), renewing, 0), lambda: evaluate(load_protocol("oracle_router"), renewing)):
        with pytest.raises(ParameterError, match="iota"):
            engine()
