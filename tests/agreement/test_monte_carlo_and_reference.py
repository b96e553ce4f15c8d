"""The compiled engine and the reference engine, trajectory by trajectory: the same seed, the same answers."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import populations, protocols

from adjourn.model import OutcomeSpace, load_population, load_protocol, protocol_names
from adjourn.model.reference import trajectories
from adjourn.vectorized.run import Job

FAR = 2**40 - 17  # questions whose index needs both words of the counter


def reference_paths(protocol, population, questions, seed):
    space = OutcomeSpace(protocol)
    runs = list(trajectories(protocol, population, questions, seed))
    return [[space.index(t.outcome) for t in runs], [t.candidate for t in runs], [t.answer for t in runs]]


def differing(protocol, population, lo, hi, seed):
    """Questions whose outcome, candidate or answer differ between the engines."""
    paths = Job.of(protocol, population, seed).trace(lo, hi)
    expected = np.array(reference_paths(protocol, population, range(lo, hi), seed))
    return np.flatnonzero((np.array(paths[:3]) != expected).any(axis=0)) + lo


@pytest.mark.parametrize("name", protocol_names())
def test_preset_is_equal_on_ten_thousand_questions(name):
    assert differing(load_protocol(name), load_population("gsm8k-gpt35"), 0, 10_000, seed=20).size == 0


@pytest.mark.parametrize("population", ["math-gpt35", "triviaqa-llama13b", "game24-gpt4", "strategyqa-gpt35"])
def test_uaad_is_equal_on_every_kind_of_population(population):
    assert differing(load_protocol("uaad"), load_population(population), FAR, FAR + 1000, seed=2**64 - 1).size == 0


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(protocols(), populations(), st.integers(0, 2**64 - 1), st.sampled_from([0, 255, FAR]))
def test_drawn_protocols_are_equal_on_drawn_populations(protocol, population, seed, first):
    assert differing(protocol, population, first, first + 40, seed).size == 0


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(
    protocols(oracle=True).filter(lambda p: type(p.gate).__name__ == "OracleGate"),
    populations().filter(lambda q: q.response.iota == 0 and q.response.fresh_weight == 0),
)
def test_drawn_oracle_routers_are_equal(protocol, population):
    assert differing(protocol, population, 0, 25, seed=5).size == 0


def test_large_panels_and_many_chains_are_equal():
    uaad = load_protocol("uaad").to_dict()
    uaad |= {
        "chains": 70,
        "vote": "weighted",
        "tiers": [{"name": n, "agents": a, "rounds": 9} for n, a in (("a", 13), ("b", 40), ("c", 64))],
    }
    large = type(load_protocol("uaad")).from_dict(uaad)
    assert differing(large, load_population("math-gpt35"), 0, 300, seed=1).size == 0


def test_counts_are_the_paths_counted():
    protocol = load_protocol("uaad")
    job = Job.of(protocol, load_population("math-gpt35"), 4)
    paths = job.trace(100, 1123)
    assert (job.count(100, 1123) == np.bincount(paths.outcome, minlength=job.size)).all()


def test_another_seed_is_found_to_differ():
    """The control: this comparison can fail."""
    protocol, population = load_protocol("uaad"), load_population("gsm8k-gpt35")
    paths = Job.of(protocol, population, 1).trace(0, 1000)
    expected = np.array(reference_paths(protocol, population, range(1000), 2))
    assert (np.array(paths[:3]) != expected).any(axis=0).sum() > 300
