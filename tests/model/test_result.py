"""Estimates, intervals, and the keys of a result that scripts rely on."""

import copy
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from strategies import protocols

from adjourn.model import Outcome, OutcomeSpace, Pricing, StopReason, load_population, load_prices, load_protocol, protocol_names, summarise
from adjourn.model.exact import simulate as exact
from adjourn.model.reference import simulate as reference
from adjourn.model.result import Estimate, from_moments, share

GSM8K = load_population("gsm8k-gpt35")
LISTED = load_prices()
PRICING = Pricing(LISTED.of(None), LISTED)

# Design, section 9.
KEYS = [
    "protocol",
    "population",
    "engine",
    "samples",
    "seed",
    "accuracy",
    "calls",
    "debate_calls",
    "depth",
    "prompt_tokens",
    "completion_tokens",
    "usd",
    "tiers",
    "stop_reasons",
    "right_to_wrong",
    "wrong_to_right",
    "provenance",
]
MEANS = ["accuracy", "calls", "debate_calls", "depth", "prompt_tokens", "completion_tokens", "usd"]


@given(st.integers(1, 10**6), st.data())
def test_shares_have_wilsons_interval(samples, data):
    count = data.draw(st.integers(0, samples))
    estimate = share(count, samples)
    low, high = stats.binomtest(count, samples).proportion_ci(0.95, method="wilson")
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-12)
    assert estimate.low <= estimate.mean == count / samples <= estimate.high


def test_wilsons_interval_by_hand():
    estimate = share(7, 10)
    assert (estimate.low, estimate.high) == pytest.approx((0.39677, 0.89221), abs=1e-5)
    assert share(0, 10).low == 0
    assert share(10, 10).high == 1
    assert share(0, 10).high > 0


@given(st.lists(st.integers(0, 100), min_size=2, max_size=50))
def test_means_have_the_normal_interval(values):
    estimate = from_moments(sum(values), sum(v * v for v in values), len(values))
    half = 1.959963984540054 * np.std(values, ddof=1) / math.sqrt(len(values))
    assert estimate.mean == pytest.approx(np.mean(values))
    assert estimate.half_width == pytest.approx(half, abs=1e-6)


def test_one_sample_knows_no_interval():
    assert from_moments(3, 9, 1).to_json() == {"mean": 3.0, "ci95": [None, None]}
    assert from_moments(0, 0, 0).to_json() == {"mean": None, "ci95": [None, None]}
    assert share(0, 0).to_json() == {"mean": None, "ci95": [0.0, 1.0]}


@pytest.mark.parametrize("name", protocol_names())
@pytest.mark.parametrize("engine", ["exact", "reference"])
def test_results_hold_the_documented_keys(name, engine):
    protocol = load_protocol(name)
    result = exact(protocol, GSM8K, PRICING) if engine == "exact" else reference(protocol, GSM8K, 40, 3, PRICING)
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert set(KEYS) <= set(data)
    assert (data["engine"], data["protocol"], data["population"]) == (engine, name, "gsm8k-gpt35")
    assert (data["samples"], data["seed"]) == ((None, None) if engine == "exact" else (40, 3))
    for key in MEANS:
        low, high = data[key]["ci95"]
        assert low <= data[key]["mean"] <= high
        assert engine != "exact" or low == high
    for key in ("tiers", "stop_reasons"):
        assert sum(data[key].values()) == pytest.approx(1)
        assert data[key].keys() == data[f"{key}_ci95"].keys()
    for key in ("right_to_wrong", "wrong_to_right"):
        assert (data[key] is None) == (not protocol.tiers)
    assert {"version", "engine", "seed", "samples", "protocol", "population", "prices"} <= set(data["provenance"])


def test_provenance_is_enough_to_run_again():
    from adjourn.model import Population, Protocol

    data = json.loads(json.dumps(reference(load_protocol("uaad"), GSM8K, 50, 9).to_json()))
    past = data["provenance"]
    protocol, population = Protocol.from_dict(past["protocol"]), Population.from_dict(past["population"])
    assert reference(protocol, population, past["samples"], past["seed"]).to_json() == data


def test_flips_are_conditional_on_the_candidate():
    protocol = load_protocol("fixed_mad")
    space = OutcomeSpace(protocol)
    counts = np.zeros(space.size, dtype=np.int64)
    for candidate, right, n in ((True, True, 60), (True, False, 20), (False, True, 5), (False, False, 15)):
        counts[space.index(Outcome(0, 0, 3, StopReason.ROUND_LIMIT, candidate, right))] = n
    result = summarise(protocol, GSM8K, counts, engine="reference", samples=100)
    assert result.accuracy.mean == 0.65
    assert result.right_to_wrong == share(20, 80)
    assert result.wrong_to_right == share(5, 20)
    assert result.candidate_accuracy == share(80, 100)


def test_flips_of_candidates_that_never_occur_do_not_exist():
    protocol = load_protocol("fixed_mad")
    space = OutcomeSpace(protocol)
    masses = np.zeros(space.shape)
    masses.ravel()[space.index(Outcome(0, 0, 3, StopReason.ROUND_LIMIT, True, True))] = 1.0
    result = summarise(protocol, GSM8K, masses, engine="exact")
    assert result.wrong_to_right is None
    assert result.to_json()["wrong_to_right"] is None
    assert result.right_to_wrong == Estimate(0.0, 0.0, 0.0)


@given(protocols(oracle=True))
def test_outcomes_and_indices_are_one_to_one(protocol):
    space = OutcomeSpace(protocol)
    step = max(1, space.size // 97)
    for index in range(0, space.size, step):
        assert space.index(space.outcome(index)) == index
    assert len(space.coordinates[0]) == space.size


def test_quantiles_of_calls_are_those_of_the_paths():
    result = reference(load_protocol("esc"), GSM8K, 300, 1)
    data = result.quantiles["calls"]
    assert 5 <= data["p50"] <= data["p95"] <= data["max"] == 40


def test_a_mean_is_an_attribute_and_a_missing_one_is_none():
    result = exact(load_protocol("cot"), GSM8K)
    assert result.accuracy is result.means["accuracy"]
    assert result.usd is None
    with pytest.raises(AttributeError):
        _ = result.accuraccy
    with pytest.raises(KeyError):
        result.mean("usd")


def test_results_can_be_copied_and_sent_to_other_processes():
    result = exact(load_protocol("uaad"), GSM8K, PRICING)
    assert pickle.loads(pickle.dumps(result)) == result
    assert copy.deepcopy(result).to_json() == result.to_json()


def test_records_are_rows_for_a_data_frame():
    rows = exact(load_protocol("uaad"), GSM8K).to_records()
    assert {"quantity", "name", "mean", "low", "high"} == set(rows[0])
    assert {row["name"] for row in rows if row["quantity"] == "tiers"} == {"low", "medium", "high"}


def test_notes_say_what_a_reader_must_know():
    notes = " ".join(exact(load_protocol("uaad"), load_population("csqa-gpt35")).notes)
    assert "not calibrated" in notes
    assert "conditional on AUROC" in notes
    assert "borrowed" in notes
    assert "changes nothing" in " ".join(exact(load_protocol("uaad_uniform_target"), GSM8K).notes)
    assert not exact(load_protocol("cot"), GSM8K).notes
