"""Predicted totals are the exact law's; where a run falls in them is a percentile of that law."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from adjourn.experiments.after_run import Actual, Prediction, actual_of, compare
from adjourn.experiments.families import judging_case, reasoning_case
from adjourn.model import SampledSource, reference


def actual(prediction, **totals):
    laws = {**prediction.laws, **prediction.stop_laws()}
    means = {name: law.mean if law.unit in ("tokens", "US$") else round(law.mean) for name, law in laws.items()}
    return Actual(prediction.items, prediction.items, {**means, **totals}, {"solver": (prediction.items, 1, 1)})


def test_one_chain_a_question_makes_as_many_calls_as_questions():
    law = Prediction(reasoning_case("cot"), 37).laws["calls"]
    assert (law.mean, law.quantile(0.025), law.quantile(0.975), law.worst) == (37, 37, 37, 37)
    assert [law.percentile(x) for x in (36, 37, 38)] == pytest.approx([0, 50, 100], abs=1e-9)


def test_right_answers_are_binomial():
    prediction = Prediction(reasoning_case("cot", settings={"a": "2", "b": "1"}), 30)
    law = prediction.laws["right"]
    assert law.mean == pytest.approx(20)
    assert law.percentile(20) == pytest.approx(100 * (binom.cdf(19, 30, 2 / 3) + binom.pmf(20, 30, 2 / 3) / 2))


def test_the_law_of_a_gated_total_is_a_binomial_of_debates():
    case = reasoning_case("down")
    prediction = Prediction(case, 9)
    share = case.exact().shares["tiers"]["debate"].mean
    law = prediction.laws["calls"]
    for debates in range(10):
        assert law.at_most(9 + 6 * debates) == pytest.approx(binom.cdf(debates, 9, share), abs=1e-9)
        assert law.below(9 + 6 * debates) == pytest.approx(binom.cdf(debates - 1, 9, share), abs=1e-9)


def test_percentiles_of_simulated_runs_are_spread_over_the_whole_range():
    # 200 runs of 25 questions by the reference engine: each decile of the percentile holds about a tenth (false alarm below 1e-4).
    case = reasoning_case("adaptive_consistency", settings={"chains": "12"})
    law = Prediction(case, 25).laws["calls"]
    percentiles = []
    for start in range(0, 5000, 25):
        chains = [
            len(reference.draw_chains(case.protocol, SampledSource(case.population, 3, question))[0])
            for question in range(start, start + 25)
        ]
        percentiles.append(law.percentile(sum(chains)))
    counts, _ = np.histogram(percentiles, bins=10, range=(0, 100))
    assert ((counts - 20) ** 2 / 20).sum() < 38


def test_a_control_with_a_wrong_population_does_not_pass_that_test():
    case = reasoning_case("adaptive_consistency", settings={"chains": "12"})
    law = Prediction(reasoning_case("adaptive_consistency", settings={"chains": "12", "a": "2", "b": "1"}), 25).laws["calls"]
    percentiles = []
    for start in range(0, 2500, 25):
        chains = [
            len(reference.draw_chains(case.protocol, SampledSource(case.population, 3, question))[0])
            for question in range(start, start + 25)
        ]
        percentiles.append(law.percentile(sum(chains)))
    counts, _ = np.histogram(percentiles, bins=10, range=(0, 100))
    assert ((counts - 10) ** 2 / 10).sum() > 38


@pytest.mark.parametrize("name", ["cot", "cot_sc", "esc", "fixed_mad", "down", "uaad", "uaad_no_stop"])
def test_totals_agree_with_the_exact_law_of_one_question(name):
    case = reasoning_case(name)
    prediction, one = Prediction(case, 12), case.exact()
    for quantity in ("calls", "debate_calls", "prompt_tokens", "completion_tokens", "usd"):
        assert prediction.laws[quantity].mean == pytest.approx(12 * one.mean(quantity).mean)
    stops = prediction.stop_laws()
    for reason, mass in one.shares["stop_reasons"].items():
        assert stops[f"stopped: {reason}"].mean == pytest.approx(12 * mass.mean)
    assert math.fsum(law.mean for key, law in stops.items() if key.startswith("stopped")) == pytest.approx(12)


@pytest.mark.parametrize("name", ["single_judge", "mec_bpc", "chateval", "more", "samre"])
def test_totals_of_judging_agree_with_the_exact_law_of_one_item(name):
    case = judging_case(name)
    prediction, one = Prediction(case, 12), case.exact()
    for quantity in ("calls", "debate_calls", "rounds", "prompt_tokens", "completion_tokens", "usd"):
        assert prediction.laws[quantity].mean == pytest.approx(12 * one.mean(quantity).mean)
    assert prediction.laws["usd"].worst == pytest.approx(12 * one.quantiles["usd"]["max"])
    assert prediction.accuracy == one.mean("accuracy_three_class").mean


def test_what_lies_in_its_range_needs_no_reason_and_a_miss_has_one():
    prediction = Prediction(reasoning_case("uaad"), 40)
    rows = compare(prediction, actual(prediction))
    assert all(row["inside"] for row in rows)
    assert {row["why"] for row in rows} == {""}
    missed = {row["quantity"]: row for row in compare(prediction, actual(prediction, calls=960, usd=5.0, right=2)) if not row["inside"]}
    assert set(missed) == {"calls", "usd", "right"}
    assert all(row["why"] for row in missed.values())
    assert missed["calls"]["percentile"] > 99.99
    assert missed["right"]["percentile"] < 0.01


def test_a_miss_of_the_money_names_the_role_whose_tokens_differ_most():
    prediction = Prediction(reasoning_case("cot"), 10)
    found = Actual(10, 10, {"calls": 10, "prompt_tokens": 1060, "completion_tokens": 9000, "usd": 1.0}, {"solver": (10, 1060, 9000)})
    why = {row["quantity"]: row["why"] for row in compare(prediction, found)}
    assert why["usd"] == why["completion_tokens"] == "solver: 900.0 completion tokens a call, predicted 150.0"
    assert why["prompt_tokens"] == ""


def test_accuracy_is_not_compared_where_some_questions_have_no_known_answer():
    prediction = Prediction(reasoning_case("cot"), 10)
    partly = Actual(10, 9, {"right": 3, "calls": 10, "prompt_tokens": 10, "completion_tokens": 10, "usd": 0.0}, {"solver": (10, 10, 10)})
    assert "right" not in {row["quantity"] for row in compare(prediction, partly)}


def test_audit_trails_are_added_up():
    audit = {"by_role": {"solver": [5, 50, 25, 7], "debater": [3, 60, 9, 11]}, "rounds_held": 1, "stop_reason": "consensus"}
    judged = {"by_role": {"advocate": [2, 20, 6, 1], "judge": [1, 9, 3, 1], "juror": [5, 5, 5, 5]}, "rounds_held": 2, "stop_reason": "lead"}
    first = actual_of([{"audit": audit, "correct": True}, {"audit": audit, "correct": None}])
    assert (first.items, first.graded, first.totals["right"]) == (2, 1, 1)
    assert first.totals["calls"] == 16
    assert first.totals["debate_calls"] == 6
    assert first.totals["usd"] == 36e-12
    assert first.totals["ended after round 1"] == 2
    assert actual_of([{"audit": judged, "correct": False}]).totals["debate_calls"] == 3
