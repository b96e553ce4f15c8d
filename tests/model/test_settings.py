"""Every parameter by its name: each key reaches its parameter and changes what comes out; others are refused with the valid ones."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.model import (
    BetaDifficulty,
    FixedShare,
    Follower,
    Logit,
    MixtureDifficulty,
    ParameterError,
    Population,
    Signals,
    TokenBudget,
    load_population,
    load_protocol,
    protocol_names,
)
from adjourn.model.exact import simulate as exact
from adjourn.model.settings import apply_settings, as_count, as_number, as_switch, valid_keys

LAW = load_population("math-gpt35")

# Key: a value, what must be set beside it so that it matters, and where it is found afterwards.
UAAD = {
    "a": ("0.9", {}, lambda p, q: q.difficulty.a),
    "b": ("0.9", {}, lambda p, q: q.difficulty.b),
    "w": ("0.9", {}, lambda p, q: q.misconception.w),
    "steps": ("9", {}, lambda p, q: q.signals.steps),
    "mean_h": ("0.3", {}, lambda p, q: q.signals.mean_h),
    "concentration_h": ("20", {}, lambda p, q: q.signals.concentration_h),
    "mean_d": ("0.3", {}, lambda p, q: q.signals.mean_d),
    "concentration_d": ("20", {}, lambda p, q: q.signals.concentration_d),
    "auroc_h": ("0.6", {}, lambda p, q: q.signals.auroc_h),
    "auroc_d": ("0.6", {}, lambda p, q: q.signals.auroc_d),
    "visibility": ("0.9", {}, lambda p, q: q.signals.visibility),
    "mode": ("black-box", {"auroc_h": "0.6"}, lambda p, q: q.signals.mode),
    "variants": ("7", {"mode": "black-box", "auroc_h": "0.6"}, lambda p, q: q.signals.variants),
    "agreement": ("0.7", {"mode": "black-box", "auroc_h": "0.6"}, lambda p, q: q.signals.agreement),
    "theta": ("1.9", {}, lambda p, q: q.response.theta),
    "sigma": ("1.9", {}, lambda p, q: q.response.sigma),
    "lam": ("1.9", {}, lambda p, q: q.response.lam),
    "iota": ("0.2", {}, lambda p, q: q.response.iota),
    "phi": ("0.2", {}, lambda p, q: q.response.phi),
    "lam_focus": ("1.5", {}, lambda p, q: q.response.lam_focus),
    "adopt": ("0.6", {"rule": "follower"}, lambda p, q: q.response.adopt),
    "lam_self": ("1.5", {"rule": "logit"}, lambda p, q: q.response.lam_self),
    "lam_peer": ("1.5", {"rule": "logit"}, lambda p, q: q.response.lam_peer),
    "lam_truth": ("1.5", {"rule": "logit"}, lambda p, q: q.response.lam_truth),
    "lam_fresh": ("1.5", {"rule": "logit"}, lambda p, q: q.response.lam_fresh),
    "rule": ("follower", {}, lambda p, q: q.response.rule),
    "chains": ("4", {}, lambda p, q: p.chains),
    "tau_low": ("0.2", {}, lambda p, q: p.gate.bounds[0]),
    "tau_high": ("0.5", {}, lambda p, q: p.gate.bounds[1]),
    "weight_h": ("0.6", {}, lambda p, q: p.gate.weight_h),
    "weight_q": ("0.6", {}, lambda p, q: p.gate.weight_q),
    "weight_d": ("0.6", {}, lambda p, q: p.gate.weight_d),
    "tiers.low.agents": ("2", {}, lambda p, q: p.tiers[0].agents),
    "tiers.low.rounds": ("2", {}, lambda p, q: p.tiers[0].rounds),
    "tiers.medium.agents": ("4", {}, lambda p, q: p.tiers[1].agents),
    "tiers.medium.rounds": ("2", {}, lambda p, q: p.tiers[1].rounds),
    "tiers.high.agents": ("5", {"tau_high": "0.5"}, lambda p, q: p.tiers[2].agents),
    "tiers.high.rounds": ("2", {"tau_high": "0.5"}, lambda p, q: p.tiers[2].rounds),
    "tau_c": ("0.5", {"tau_high": "0.5"}, lambda p, q: p.round_stop.tau_c),
    "epsilon": ("0.5", {"tau_high": "0.5"}, lambda p, q: p.round_stop.epsilon),
    "same_leader": ("true", {"tau_high": "0.5", "tau_c": "0.5", "epsilon": "1"}, lambda p, q: p.round_stop.same_leader),
    "first_share": ("none", {"tau_high": "0.5", "tau_c": "0.5", "epsilon": "1"}, lambda p, q: p.round_stop.first_share),
    "vote": ("weighted", {"tau_high": "0.5"}, lambda p, q: p.vote),
    "target": ("uniform", {"lam_focus": "1"}, lambda p, q: p.target),
    "initial": ("fresh", {"tau_high": "0.5"}, lambda p, q: p.initial),
}
OTHERS = {
    ("cot_sc", "n"): ("7", {}, lambda p, q: p.chains),
    ("cot_sc", "chains"): ("7", {}, lambda p, q: p.chains),
    ("adaptive_consistency", "level"): ("0.8", {}, lambda p, q: p.sampling_stop.level),
    ("adaptive_consistency", "n"): ("9", {}, lambda p, q: p.chains),
    ("esc", "window"): ("3", {}, lambda p, q: p.sampling_stop.window),
    ("down", "threshold"): ("9", {}, lambda p, q: p.gate.threshold),
    ("fixed_mad", "agents"): ("4", {}, lambda p, q: p.tiers[0].agents),
    ("fixed_mad", "rounds"): ("2", {}, lambda p, q: p.tiers[0].rounds),
    ("fixed_mad", "chains"): ("5", {"initial": "chains"}, lambda p, q: p.chains),
    ("fixed_mad", "target"): ("uniform", {"lam_focus": "1"}, lambda p, q: p.target),
    ("fixed_mad", "steps"): ("2", {"target": "uniform", "lam_focus": "1"}, lambda p, q: q.signals.steps),
    ("down", "agents"): ("5", {}, lambda p, q: p.tiers[0].agents),
    ("down", "rounds"): ("3", {}, lambda p, q: p.tiers[0].rounds),
    ("oracle_router", "tiers.high.agents"): ("5", {}, lambda p, q: p.tiers[2].agents),
}
ALONE_IMPOSSIBLE = [("fixed_mad", "chains"), ("fixed_mad", "target")]
"""Keys without which the settings beside them cannot be."""
CASES = {**{("uaad", key): case for key, case in UAAD.items()}, **OTHERS}


def means(protocol, population):
    result = exact(protocol, population).to_json()
    return {key: value for key, value in result.items() if key not in ("provenance", "notes", "protocol", "population")}


@pytest.mark.parametrize(("name", "key"), CASES)
def test_every_key_reaches_its_parameter_and_changes_what_comes_out(name, key):
    value, beside, find = CASES[name, key]
    base = load_protocol(name)
    before = apply_settings(base, LAW, {} if (name, key) in ALONE_IMPOSSIBLE else beside)
    protocol, law = apply_settings(base, LAW, {**beside, key: value})
    found = find(protocol, law)
    assert str(found) == value or float(found) == pytest.approx(float(as_number(key, value) if value != "true" else 1))
    assert means(protocol, law) != means(*before)


def test_every_valid_key_of_the_published_protocol_is_covered_here():
    keys = set(valid_keys(load_protocol("uaad"), LAW))
    keys |= set(valid_keys(load_protocol("uaad"), LAW, {"rule": "logit"})) | set(
        valid_keys(load_protocol("uaad"), LAW, {"rule": "follower"})
    )
    keys |= set(valid_keys(load_protocol("uaad"), LAW, {"mode": "black-box"}))
    assert keys == set(UAAD)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("cot", "n"),
        ("cot", "tau_c"),
        ("cot", "theta"),
        ("cot", "steps"),
        ("cot_sc", "agents"),
        ("cot_sc", "rule"),
        ("cot_sc", "level"),
        ("fixed_mad", "tau_c"),
        ("fixed_mad", "n"),
        ("fixed_mad", "steps"),
        ("fixed_mad", "lam_focus"),
        ("fixed_mad", "tiers.all.agents"),
        ("down", "chains"),
        ("down", "initial"),
        ("uaad", "agents"),
        ("uaad", "n"),
        ("uaad", "threshold"),
        ("uaad", "variants"),
        ("uaad", "adopt"),
        ("uaad", "token_budget"),
        ("uaad_no_stop", "epsilon"),
        ("oracle_router", "tau_low"),
        ("oracle_router", "auroc_h"),
        ("uaad", "colour"),
        ("uaad", ""),
        ("uaad", "Theta"),
    ],
)
def test_a_key_that_means_nothing_is_refused_with_the_valid_ones(name, key):
    protocol = load_protocol(name)
    with pytest.raises(ParameterError) as refusal:
        apply_settings(protocol, LAW, {key: "1"})
    assert all(valid in str(refusal.value) for valid in valid_keys(protocol, LAW))


@pytest.mark.parametrize("name", protocol_names())
def test_setting_nothing_changes_nothing(name):
    assert apply_settings(load_protocol(name), LAW, {}) == (load_protocol(name), LAW)


@pytest.mark.parametrize(
    ("key", "bad"),
    [
        ("a", "x"),
        ("a", "nan"),
        ("a", "-1"),
        ("b", "inf"),
        ("b", "1e400"),
        ("w", "1.1"),
        ("steps", "2.5"),
        ("steps", "0"),
        ("steps", "9" * 400),
        ("auroc_h", "0.4"),
        ("auroc_h", "1"),
        ("mode", "grey"),
        ("theta", "fast"),
        ("theta", "1e9"),
        ("iota", "2"),
        ("rule", "voting"),
        ("chains", "0"),
        ("chains", "many"),
        ("chains", "99999"),
        ("tau_low", "0.9"),
        ("tau_c", "1.5"),
        ("epsilon", "nan"),
        ("same_leader", "maybe"),
        ("first_share", "some"),
        ("vote", "loud"),
        ("target", "me"),
        ("initial", "restated"),
        ("tiers.high.agents", "65"),
        ("weight_h", "-1"),
    ],
)
def test_a_value_out_of_range_is_refused(key, bad):
    with pytest.raises(ParameterError):
        apply_settings(load_protocol("uaad"), LAW, {key: bad})


def test_a_number_of_chains_has_one_name_at_a_time():
    with pytest.raises(ParameterError, match="only one of them"):
        apply_settings(load_protocol("cot_sc"), LAW, {"n": "3", "chains": "3"})


def test_a_or_b_replaces_the_law_of_difficulty_by_the_plain_beta():
    bumpy = replace(LAW, difficulty=BetaDifficulty(2, 3, 0.1, 0.2))
    assert apply_settings(load_protocol("cot"), bumpy, {"a": "5"})[1].difficulty == BetaDifficulty(5, 3)


def test_a_mixture_needs_both_a_and_b_and_a_joint_one_w_as_well():
    joint = Population(name="j", difficulty=MixtureDifficulty((0.2, 0.8), (0.5, 0.5), (0.1, 0.9)), misconception=None)
    cot = load_protocol("cot")
    with pytest.raises(ParameterError, match="give both a and b"):
        apply_settings(cot, joint, {"a": "1"})
    with pytest.raises(ParameterError, match="give w together with a and b"):
        apply_settings(cot, joint, {"a": "1", "b": "1"})
    assert apply_settings(cot, joint, {"a": "1", "b": "1", "w": "0.3"})[1].misconception == FixedShare(0.3)
    only_w = apply_settings(cot, joint, {"w": "0.3"})[1]
    assert only_w.difficulty == MixtureDifficulty((0.2, 0.8), (0.5, 0.5))
    assert only_w.misconception == FixedShare(0.3)


def test_a_new_rule_keeps_the_shared_events_and_takes_its_own_parameters():
    law = replace(LAW, response=replace(LAW.response, iota=0.1, phi=0.2, lam_focus=0.3))
    protocol = load_protocol("uaad")
    assert apply_settings(protocol, law, {"rule": "logit", "lam_peer": "1.5"})[1].response == Logit(
        lam_peer=1.5, iota=0.1, phi=0.2, lam_focus=0.3
    )
    assert apply_settings(protocol, law, {"rule": "follower"})[1].response == Follower(iota=0.1, phi=0.2, lam_focus=0.3)


def test_a_response_that_was_set_by_hand_says_so():
    for settings in ({"rule": "follower"}, {"theta": "2"}):
        assert apply_settings(load_protocol("uaad"), LAW, settings)[1].borrowed["response"] == "set by hand"


def test_a_whole_number_in_a_file_does_not_make_its_field_one_of_integers():
    law = replace(LAW, signals=Signals(concentration_h=10))
    assert apply_settings(load_protocol("uaad"), law, {"concentration_h": "12.5"})[1].signals.concentration_h == 12.5


def test_a_token_budget_is_set_where_there_is_one():
    protocol = replace(load_protocol("fixed_mad"), round_stop=TokenBudget(5000))
    assert apply_settings(protocol, LAW, {"token_budget": "7000"})[0].round_stop == TokenBudget(7000)


@given(st.integers(-(10**12), 10**12))
def test_counts_are_read_exactly(number):
    assert as_count("n", str(number)) == as_count("n", number) == number
    assert as_count("n", f"{number}.0") == number


@pytest.mark.parametrize("bad", ["1.5", "x", "nan", "inf", True, "", 10**400, "1e999"])
def test_what_is_no_count_is_refused(bad):
    with pytest.raises(ParameterError):
        as_count("n", bad)


def test_switches_are_words():
    assert [as_switch("x", v) for v in ("true", "yes", "1", True, "False", "no", "0", False)] == [True] * 4 + [False] * 4
    with pytest.raises(ParameterError):
        as_switch("x", "2")


def test_settings_of_the_grid_reach_the_integer_table():
    protocol, _ = apply_settings(load_protocol("uaad"), LAW, {"tau_c": "5/6", "epsilon": "1/6"})
    assert np.array_equal(protocol.round_stop.table(6), replace(protocol.round_stop, tau_c=0.83, epsilon=0.17).table(6))
