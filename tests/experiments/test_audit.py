"""Audits: the published figures' conflicts, kappa's bounds by two ways, and files that are refused."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.experiments.audit import audit_data
from adjourn.experiments.feasibility import Debate
from adjourn.experiments.figures import kappa_bounds, largest_class, mcnemar_best_case
from adjourn.experiments.printed import Reported
from adjourn.experiments.saved import load_result
from adjourn.model import FileFormatError

TIERS = [
    {"name": "low", "agents": 1, "rounds": 1},
    {"name": "medium", "agents": 3, "rounds": 1},
    {"name": "high", "agents": 6, "rounds": 3},
]
FIGURES = {"calls": "7.6", "calls_without_stop": "11.4", "depth": "1.67"}


def uaad(**changes):
    debate = {"tiers": TIERS, "overhead": ["none", "chains + 1"], "first_stop": [1, 2], "reported": FIGURES, **changes}
    return audit_data({"debate": debate})


@pytest.fixture(scope="module")
def published():
    return {(s.overhead, s.first_stop): s for s in uaad().scenarios}


def test_the_published_figures_conflict_in_every_reading(published):
    assert not any(s.feasible for s in published.values())


def test_minimal_conflicts_are_those_that_each_reading_needs(published):
    three = ("calls", "calls_without_stop", "depth")
    assert published["none", 1].conflicts == (three,)
    assert published["none", 2].conflicts == (("calls", "calls_without_stop"),)
    assert published["chains + 1", 1].conflicts == (("calls", "depth"),)
    assert set(published["chains + 1", 2].conflicts) == {("calls", "calls_without_stop"), ("calls", "depth")}


def test_calls_and_depth_leave_less_than_one_call_for_the_chains_and_the_synthesiser(published):
    (needed,) = published["chains + 1", 1].overhead_needed
    assert Fraction(needed) == Fraction("0.9975")


def test_what_the_pairs_allow_is_the_known_list_of_chains(published):
    allowed = {a.figures: a for a in published["chains + 1", 1].allowances}
    calls = allowed["calls", "calls_without_stop"]
    assert calls.chains == (0, 1, 2, 3, 4)
    depths = [calls.by_chains[m]["depth"].numbers()[1] for m in ("0", "2", "4")]
    assert depths == pytest.approx([1.483, 1.248, 1.013], abs=5e-4)
    assert allowed["calls_without_stop", "depth"].chains == (0, 1, 2, 3)


def test_panels_of_mixed_sizes_relax_it_only_with_stops_after_round_one():
    # From the published triple: panels of 4 to 6 leave 1.60 calls besides, panels of 3 to 6 leave 2.76.
    for sizes, most in (([4, 6], 1.60), ([3, 6], 2.76)):
        tiers = [*TIERS[:2], {"name": "high", "agents": sizes, "rounds": 3}]
        found = audit_data({"debate": {"tiers": tiers, "overhead": "chains", "first_stop": [1, 2], "reported": FIGURES}})
        early, late = found.scenarios
        assert early.feasible
        assert early.allowances[0].ranges["overhead"].numbers()[1] == pytest.approx(most, abs=0.005)
        assert not late.feasible


def test_figures_that_a_debate_really_has_are_feasible_and_no_other_conflict_is_claimed():
    # 50 % low, 30 % medium, 20 % high of which half stop after round 2: 0.5 + 0.9 + 0.2 * 6 * 2.5 = 4.4 calls.
    found = uaad(
        reported={"calls": "4.4", "calls_without_stop": "5.0", "depth": "1.30", "mass.high": "0.20"}, first_stop=2, overhead="none"
    )
    assert found.scenarios[0].feasible
    assert found.scenarios[0].conflicts == ()


@given(st.lists(st.integers(0, 20), min_size=5, max_size=5).filter(any))
def test_averages_of_any_real_mixture_are_never_called_impossible(counts):
    total = sum(counts)
    low, medium, *high = (Fraction(c, total) for c in counts)
    calls = low + 3 * medium + 6 * sum(r * x for r, x in zip((1, 2, 3), high, strict=True))
    no_stop = low + 3 * medium + 18 * sum(high)
    depth = low + medium + sum(r * x for r, x in zip((1, 2, 3), high, strict=True))
    printed = {name: f"{float(value):.2f}" for name, value in (("calls", calls), ("calls_without_stop", no_stop), ("depth", depth))}
    debate = Debate.read({"tiers": TIERS, "reported": printed}, "test")
    assert next(debate.scenarios()).feasible


def test_the_reported_kappa_needs_a_largest_class_of_72_per_cent():
    finding = audit_data({"agreement": [{"agreement": "86.3", "kappa": "0.60"}]}).findings[0]
    assert finding.values["largest_class_at_least"] == pytest.approx(0.7204, abs=5e-5)
    assert finding.values["largest_class_at_least_within_rounding"] == pytest.approx(0.715, abs=5e-4)
    assert finding.values["largest_class_at_most_two_classes"] == pytest.approx(0.857, abs=5e-4)
    assert finding.values["chance_agreement"] == pytest.approx(0.6575)
    assert finding.values["kappa_if_balanced"] == pytest.approx(0.726)


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_no_table_of_labels_and_verdicts_beats_the_bound_on_the_largest_class(classes):
    # Random joint tables with agreement a: their own kappa must respect largest_class, for any number of classes.
    rng = np.random.default_rng(classes)
    tightest = 1.0
    for _ in range(4000):
        off = rng.dirichlet(np.full(classes * (classes - 1), 0.3)) if classes > 1 else np.zeros(0)
        agreement = rng.uniform(0.55, 0.98)
        table = np.zeros((classes, classes))
        table[~np.eye(classes, dtype=bool)] = (1 - agreement) * off
        table[np.diag_indices(classes)] = agreement * rng.dirichlet(np.full(classes, 0.5))
        human, judge = table.sum(axis=1), table.sum(axis=0)
        chance = float(human @ judge)
        if chance <= 0.5:
            continue
        smallest, _ = largest_class(agreement, (agreement - chance) / (1 - chance))
        assert human.max() >= smallest - 1e-9
        tightest = min(tightest, human.max() - smallest)
    assert tightest < 0.02


def test_balanced_labels_force_kappa():
    low, high = kappa_bounds(0.863, 0.5)
    assert low == high == pytest.approx(0.726)


def test_labels_that_contradict_kappa_are_found():
    finding = audit_data({"agreement": [{"agreement": "86.3", "kappa": "0.60", "labels": ["0.615", "0.385"]}]}).findings[0]
    assert not finding.possible
    assert finding.values["kappa_given_labels_low"] == pytest.approx(0.69, abs=0.005)
    assert finding.values["kappa_given_labels_high"] == pytest.approx(0.73, abs=0.005)


def test_a_share_that_no_count_gives_is_impossible():
    findings = audit_data({"share": [{"value": "86.3", "n": 80}, {"value": "86.3", "n": 300}]}).findings
    assert [f.possible for f in findings] == [True, True]
    assert not audit_data({"share": [{"value": "86.3", "n": 30}]}).findings[0].possible


def test_changes_must_follow_from_their_figures():
    entry = {"from": "18.0", "to": "7.6"}
    assert audit_data({"change": [{**entry, "change": "-57.8"}]}).findings[0].possible
    assert not audit_data({"change": [{**entry, "change": "-60.0"}]}).findings[0].possible


def test_best_case_mcnemar_of_the_four_published_differences():
    assert [mcnemar_best_case(d) for d in (3, 5, 3, 4)] == [0.25, 0.0625, 0.25, 0.125]
    assert mcnemar_best_case(0) == 1.0


def test_a_figure_is_the_box_that_rounds_to_it():
    figure = Reported.read("0.60", "kappa", "test")
    assert (figure.low, figure.high) == (Fraction("0.595"), Fraction("0.605"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "nothing to audit"),
        ({"debates": {}}, "unknown entry 'debates'"),
        ({"debate": {"tiers": TIERS, "reported": {}}}, "no figure"),
        ({"debate": {"tiers": TIERS, "reported": {"call": "3"}}}, "unknown figure 'call'"),
        ({"debate": {"tiers": TIERS, "reported": {"calls": "many"}}}, "no figure"),
        ({"debate": {"tiers": TIERS, "reported": {"calls": "3"}, "overhead": "M"}}, "overhead"),
        ({"debate": {"tiers": [{"name": "x", "agents": 0, "rounds": 1}], "reported": {"calls": "3"}}}, "agents"),
        ({"share": [{"value": "120", "n": 100}]}, "no share"),
        ({"share": {"value": "20"}}, "list of tables"),
        ({"agreement": [{"agreement": "80", "kappa": "1.2"}]}, "kappa"),
        ({"change": [{"from": "0", "to": "1", "change": "3"}]}, "positive"),
    ],
)
def test_what_is_no_audit_file_is_refused_with_its_reason(data, words):
    with pytest.raises(FileFormatError, match=words):
        audit_data(data, "figures.toml")


def test_the_shipped_examples_run_and_load_back(cli, tmp_path):
    saved = tmp_path / "audit.json"
    shown = cli("audit", "uaad", "--out", saved)
    assert shown.exit_code == 0
    assert "conflict: {calls, depth}" in shown.stdout
    loaded = load_result(saved)
    assert not loaded.possible
    assert loaded.to_frame().num_rows == len(loaded.to_records())
    assert cli("audit", "d3").stdout.count("72.0%") == 1


def test_a_syntax_error_is_named_with_the_file(cli, tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text("[debate\n")
    shown = cli("audit", path)
    assert shown.exit_code == 2
    assert "bad.toml" in shown.stderr
