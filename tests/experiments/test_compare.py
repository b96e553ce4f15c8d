"""Paired differences: counted rightly, exact where they can be, and at equal cost where asked."""

import itertools
import json

import numpy as np
import pytest

from adjourn.experiments.compare import Comparison, compare, find_cases
from adjourn.experiments.pairing import classes_of, joint_task
from adjourn.experiments.saved import load_result
from adjourn.experiments.thinning import thin_exact
from adjourn.model import InterruptedRunError, OutcomeSpace, ParameterError
from adjourn.model.outcomes import Costs
from adjourn.model.reference import trajectories

PANEL = "uaad:tiers.high.agents=9"  # beyond the exact law


def test_joint_counts_are_those_of_the_reference_engine():
    cases = find_cases(["uaad", "fixed_mad"])
    classes = classes_of(cases[0]), classes_of(cases[1])
    (table,) = (task := joint_task(cases, classes, [(0, 1)], seed=3)).tables(task.count(10, 410))
    expected = np.zeros_like(table)
    spaces = [OutcomeSpace(case.protocol) for case in cases]
    runs = [trajectories(case.protocol, case.population, range(10, 410), 3) for case in cases]
    for pair in zip(*runs, strict=True):
        expected[tuple(c.of_outcome[s.index(t.outcome)] for c, s, t in zip(classes, spaces, pair, strict=True))] += 1
    assert (table == expected).all()


def test_classes_keep_what_an_outcome_earns_and_costs():
    (case, _) = find_cases(["adaptive_consistency", "cot"])
    classes, space = classes_of(case), OutcomeSpace(case.protocol)
    costs = Costs(space, case.population)
    sampled = space.coordinates[0] > 0
    assert (classes.credit[classes.of_outcome][sampled & (space.coordinates[2] == 0)] == space.coordinates[-1][sampled]).all()
    assert (classes.costs["calls"][classes.of_outcome][sampled] == costs.calls[sampled]).all()


def test_difference_of_means_is_exact_and_the_sample_agrees_with_it():
    result = compare(find_cases(["uaad", "fixed_mad", "cot_sc:n=9"]), samples=300_000)
    assert [(d.first, d.second) for d in result.differences] == list(itertools.combinations(["uaad", "fixed_mad", "cot_sc:n=9"], 2))
    for difference in result.differences:
        assert difference.accuracy.is_exact
        assert abs(difference.sampled.mean - difference.accuracy.mean) < 4 * difference.sampled.half_width / 1.96
        assert all(cost.is_exact for cost in difference.costs.values())
    assert any("are exact" in note for note in result.notes)


def test_sampled_difference_agrees_with_the_discordant_shares():
    (difference,) = compare(find_cases(["uaad", "fixed_mad"]), samples=50_000).differences
    assert difference.sampled.mean == pytest.approx(difference.only_first.mean - difference.only_second.mean, abs=1e-12)


def test_pairing_narrows_the_interval():
    (difference,) = compare(find_cases(["uaad", "uaad_no_entropy"]), samples=50_000).differences
    unpaired = 1.96 * (2 * 0.82 * 0.18 / 50_000) ** 0.5
    assert difference.sampled.half_width < unpaired / 4


def test_a_protocol_beyond_the_exact_law_is_sampled_and_said_so():
    result = compare(find_cases([PANEL, "cot_sc"]), samples=20_000, equal_cost="tokens")
    (difference,) = result.differences
    assert difference.accuracy == difference.sampled
    assert not difference.costs["calls"].is_exact
    assert not difference.equal_cost.accuracy.is_exact
    assert any("out of reach" in note and PANEL in note for note in result.notes)
    assert [p["engine"] for p in result.protocols] == ["mc", "exact"]


# --- equal cost ---------------------------------------------------------------------------------------------------------


def test_thinning_by_hand():
    """9 calls against 5, with single chains of 1 call: half of the questions each."""
    thinned = thin_exact((9, 5, 1), (0.9, 0.8, 0.6))
    assert (thinned.which, thinned.share.mean) == (0, 0.5)
    assert thinned.difference.mean == pytest.approx(0.5 * 0.9 + 0.5 * 0.6 - 0.8)


def test_thinning_works_from_either_side():
    there, back = thin_exact((9, 5, 1), (0.9, 0.8, 0.6)), thin_exact((5, 9, 1), (0.8, 0.9, 0.6))
    assert (there.which, back.which) == (0, 1)
    assert there.difference.mean == pytest.approx(-back.difference.mean)


def test_equal_costs_thin_nothing():
    assert thin_exact((5, 5, 1), (0.9, 0.8, 0.6)).share.mean == 1
    assert thin_exact((1, 1, 1), (0.6, 0.6, 0.6)).share.mean == 1


def test_against_a_single_chain_nothing_is_left_of_the_dearer_one():
    (difference,) = compare(find_cases(["cot_sc", "cot"]), samples=1000, equal_cost="calls").differences
    assert difference.equal_cost.share.mean == 0
    assert difference.equal_cost.accuracy.mean == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("by", ["calls", "tokens", "usd"])
def test_sampled_thinning_lies_within_four_standard_errors_of_the_exact_one(by, monkeypatch):
    cases = find_cases(["uaad", "fixed_mad"])
    (known,) = compare(cases, samples=1000, equal_cost=by).differences
    monkeypatch.setattr("adjourn.experiments.compare._exact_or_none", lambda case: None)
    (sampled,) = compare(cases, samples=100_000, equal_cost=by).differences
    for exact, estimate in (
        (known.equal_cost.share, sampled.equal_cost.share),
        (known.equal_cost.accuracy, sampled.equal_cost.accuracy),
    ):
        assert exact.is_exact
        assert abs(estimate.mean - exact.mean) < 4 * estimate.half_width / 1.96


def test_intervals_of_sampled_thinning_have_the_width_of_the_spread(monkeypatch):
    """60 runs: the root mean square of standardised errors is 1 within 4 of its standard errors (1 / sqrt(120))."""
    cases = find_cases(["adaptive_consistency", "uaad"])
    (known,) = compare(cases, samples=1000, equal_cost="calls").differences
    monkeypatch.setattr("adjourn.experiments.compare._exact_or_none", lambda case: None)
    z = []
    for seed in range(60):
        result = compare(cases, samples=2000, seed=seed, equal_cost="calls", precision=None, threads=1)
        found = result.differences[0].equal_cost.accuracy
        z.append((found.mean - known.equal_cost.accuracy.mean) / (found.half_width / 1.96))
    assert np.sqrt(np.mean(np.square(z))) == pytest.approx(1, abs=4 / 120**0.5)


# --- options ------------------------------------------------------------------------------------------------------------


def test_settings_of_one_protocol_are_its_name_and_its_own():
    result = compare(find_cases(["uaad:tau_c=2/3,epsilon=1", "uaad"]), samples=1000)
    assert [p["protocol"] for p in result.protocols] == ["uaad:tau_c=2/3,epsilon=1", "uaad"]
    assert result.protocols[0]["provenance"]["protocol"]["round_stop"]["tau_c"] == "2/3"


def test_shared_settings_go_where_they_mean_something():
    cases = find_cases(["uaad", "cot_sc"], settings={"tau_c": "1", "n": "7"})
    assert str(cases[0].protocol.round_stop.tau_c) == "1"
    assert cases[1].protocol.chains == 7


@pytest.mark.parametrize(
    ("protocols", "settings", "field"),
    [
        (["uaad"], {}, "protocols"),
        (["uaad", "uaad"], {}, "protocols"),
        (["uaad", "single_judge"], {}, "protocols"),
        (["uaad", "uaad:a=2"], {}, "population"),
        (["uaad", "cot_sc"], {"nonsense": "1"}, "nonsense"),
        (["cot_sc", "cot_sc:tau_c=0.5"], {}, "tau_c"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(protocols, settings, field):
    with pytest.raises(ParameterError, match=field):
        compare(find_cases(protocols, settings=settings), samples=10)


@pytest.mark.parametrize(("option", "value"), [("equal_cost", "time"), ("samples", 0), ("precision", 0.0)])
def test_an_impossible_option_is_refused_by_name(option, value):
    with pytest.raises(ParameterError, match=option):
        compare(find_cases(["uaad", "cot"]), **{"samples": 10, option: value})


def test_precision_holds_for_every_difference():
    result = compare(find_cases(["uaad", "fixed_mad", "cot"]), samples=10**7, precision=0.004)
    assert all(d.sampled.half_width <= 0.004 for d in result.differences)
    assert result.samples < 10**7


def test_threads_do_not_change_a_bit():
    cases = find_cases(["uaad", "fixed_mad"])
    assert compare(cases, samples=30_000, threads=1).to_json() == compare(cases, samples=30_000, threads=2).to_json()


def test_an_interrupt_leaves_the_comparison_of_a_prefix():
    def stop(steps):
        raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError) as caught:
        compare(find_cases(["uaad", "cot"]), samples=10**9, progress=stop)
    assert isinstance(caught.value.partial, Comparison)
    assert 0 < caught.value.partial.samples < 10**9


def test_judging_protocols_are_compared_on_the_same_items():
    result = compare(find_cases(["more", "single_judge"]), samples=50_000, equal_cost="calls")
    (difference,) = result.differences
    assert difference.accuracy.is_exact
    assert abs(difference.sampled.mean - difference.accuracy.mean) < 4 * difference.sampled.half_width / 1.96
    assert difference.equal_cost.otherwise == "single_judge"


# --- command line -------------------------------------------------------------------------------------------------------


def test_command_prints_one_json_object_that_loads_back(cli, tmp_path):
    out = tmp_path / "comparison.json"
    done = cli("compare", "uaad", "fixed_mad", "--samples", 2000, "--equal-cost", "calls", "--json", "--out", out)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(out.read_text())
    loaded = load_result(out)
    assert isinstance(loaded, Comparison)
    assert loaded.to_json() == json.loads(done.stdout)
    assert {row["quantity"] for row in loaded.to_records()} >= {"accuracy", "calls", "usd", "accuracy_at_equal_calls"}


def test_command_shows_what_is_exact_and_what_is_sampled(cli):
    done = cli("compare", "uaad", "cot_sc", "--samples", 2000, "--equal-cost", "tokens")
    assert done.exit_code == 0
    for words in ("uaad minus cot_sc", "exact", "accuracy, sampled", "drawn at random", "McNemar"):
        assert words in done.stdout


@pytest.mark.parametrize(
    "arguments", [["uaad"], ["uaad", "nobody"], ["uaad", "cot", "--equal-cost", "time"], ["uaad", "cot", "--set", "x=1"]]
)
def test_command_refuses_bad_input_with_2(cli, arguments):
    done = cli("compare", *arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_warmup_says_where_the_kernels_are(cli):
    done = cli("warmup", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["folder"]
