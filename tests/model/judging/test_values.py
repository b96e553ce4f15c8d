"""Presets, files, settings and costs of judging."""

from dataclasses import replace

import pytest
from hypothesis import given
from judging_strategies import judging_populations, judging_protocols

from adjourn.model import FileFormatError, InputError, ParameterError, Pricing, load_prices
from adjourn.model.judging import (
    BetaGap,
    Debate,
    GaussianGap,
    Judge,
    JudgingPopulation,
    Panel,
    RubricGap,
    ZeroInflatedBetaGap,
    apply_judging_settings,
    judging_population_names,
    judging_protocol_names,
    judging_valid_keys,
    load_judging_population,
    load_judging_protocol,
    simulate_exact,
    simulate_reference,
)
from adjourn.model.judging.cost import JudgingCosts, debate_round_tokens
from adjourn.model.judging.protocols import protocol_dict, read_judging_protocol
from adjourn.model.judging.weights import panel_weights
from adjourn.model.tables import parse_toml

PUBLISHED = {"single_judge", "self_consistent_judge", "mec_bpc", "chateval", "prd", "more", "samre"}


def test_every_preset_loads_and_names_its_source():
    assert set(judging_protocol_names()) >= PUBLISHED
    assert set(judging_population_names()) >= {"mtbench-gpt4", "prd-vicuna80"}
    assert all(load_judging_protocol(name).source for name in judging_protocol_names())
    assert all("FITTED" in load_judging_population(name).source for name in judging_population_names())


@given(judging_protocols(long=True))
def test_protocols_survive_a_round_trip(protocol):
    assert read_judging_protocol(protocol_dict(protocol)) == protocol


@given(judging_populations())
def test_populations_survive_a_round_trip_through_toml(population):
    assert JudgingPopulation.from_dict(parse_toml("x", population.to_toml())) == replace(population, borrowed={})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"judges": []}, "no judges"),
        ({"oops": 1}, "oops"),
        ({"judges": [{"name": "a", "sigma_b": -1}]}, "sigma_b"),
        ({"judges": [{"name": "a", "gap": {"law": "cauchy"}}]}, "gap.law"),
        ({"judges": [{"name": "a"}, {"name": "a"}]}, "different names"),
        ({"jury": {"rho": 2}}, "rho"),
        ({"jury": {"wisdom": 2}}, "wisdom"),
        ({"ties": "never"}, "ties"),
    ],
)
def test_bad_populations_are_refused_by_name(change, said):
    data = load_judging_population("mtbench-gpt4").to_dict() | change
    with pytest.raises(FileFormatError, match=said):
        JudgingPopulation.from_dict(data, "mine.toml")


def test_unknown_names_list_the_known_ones():
    with pytest.raises(InputError, match="samre"):
        load_judging_protocol("nobody")
    with pytest.raises(InputError, match="mtbench-gpt4"):
        load_judging_population("nowhere")


# --- settings ---


def test_unknown_and_meaningless_keys_list_the_valid_ones():
    protocol, population = load_judging_protocol("single_judge"), load_judging_population("mtbench-gpt4")
    for key in ("jurors", "gain", "nonsense"):
        with pytest.raises(ParameterError, match="rho_judges"):
            apply_judging_settings(protocol, population, {key: "1"})
    with pytest.raises(ParameterError, match="epsilon"):
        apply_judging_settings(load_judging_protocol("samre_sign"), population, {"epsilon": "0.1"})


def test_settings_reach_what_they_name():
    protocol, population = apply_judging_settings(
        load_judging_protocol("samre"),
        load_judging_population("mtbench-gpt4"),
        {
            "advocates": "2",
            "jurors": "3",
            "rho_jury": "0.4",
            "nu": "50",
            "position": "0.1",
            "gain": "0.2",
            "epsilon": "0.1",
            "ties": "half",
        },
    )
    assert (protocol.advocates, protocol.jurors, protocol.stop.epsilon) == (2, 3, 0.1)
    assert population.jury.rho_personas == 0.4
    assert population.jury.rho == load_judging_population("mtbench-gpt4").jury.rho
    assert (population.jury.position, population.judges[0].position) == (0.1, 0.1)
    assert population.judges[0].gap.nu == 50
    assert population.debate.gain == 0.2
    assert population.ties == "half"


def test_setting_the_position_replaces_its_spread_over_items():
    changed = apply_judging_settings(Panel(name="p"), load_judging_population("prd-vicuna80"), {"position": "0"})[1]
    assert (changed.judges[0].position, changed.judges[0].position_sd) == (0, 0)
    assert changed.judges[1].position_sd > 0  # this panel does not ask it
    kept = apply_judging_settings(Panel(name="p"), load_judging_population("prd-vicuna80"), {"position": "0", "position_sd": "0.2"})[1]
    assert kept.judges[0].position_sd == 0.2


@pytest.mark.parametrize("gap", [BetaGap(15.0, 0.5), GaussianGap(0.4)])
def test_the_round_correlation_splits_the_error_anew(gap):
    judge = Judge(sigma_b=0.9, gap=gap)
    population = JudgingPopulation(name="p", judges=(judge,))
    total = judge.sigma_b**2 + gap.error_variance
    alone = apply_judging_settings(Panel(name="p"), population, {"rho_round": "0.6"})[1].judges[0]
    assert alone.rho_round == pytest.approx(0.6)
    assert alone.sigma_b**2 + alone.gap.error_variance == pytest.approx(total)
    with_bias = apply_judging_settings(Panel(name="p"), population, {"rho_round": "0.6", "sigma_b": "1"})[1].judges[0]
    assert (with_bias.rho_round, with_bias.sigma_b) == (pytest.approx(0.6), 1)
    noise = "nu" if isinstance(gap, BetaGap) else "sd"
    with_noise = apply_judging_settings(Panel(name="p"), population, {"rho_round": "0.6", noise: "2"})[1].judges[0]
    assert with_noise.rho_round == pytest.approx(0.6)
    assert getattr(with_noise.gap, noise) == 2
    with pytest.raises(ParameterError, match="rho_round"):
        apply_judging_settings(Panel(name="p"), population, {"rho_round": "0.6", "sigma_b": "1", noise: "2"})


@given(judging_protocols(long=True), judging_populations())
def test_every_valid_key_can_be_set_to_what_it_is(protocol, population):
    for key in judging_valid_keys(protocol, population):
        if hasattr(protocol, key) and not isinstance(getattr(protocol, key), tuple):
            assert apply_judging_settings(protocol, population, {key: getattr(protocol, key)})[0] == protocol


@pytest.mark.parametrize("value", ["many", "2.5", "nan", "-1", "1e400", ""])
def test_values_that_cannot_be_meant_are_refused(value):
    with pytest.raises(ParameterError, match="jurors"):
        apply_judging_settings(load_judging_protocol("more"), load_judging_population("mtbench-gpt4"), {"jurors": value})


@pytest.mark.parametrize(
    ("protocol", "key", "value"),
    [("more", "rho_jury", "2"), ("chateval", "rho_roles", "7"), ("prd", "rho_judges", "-1"), ("samre", "rho_round", "0.9999")],
)
def test_a_value_out_of_range_is_refused_under_the_name_that_was_set(protocol, key, value):
    with pytest.raises(ParameterError, match=rf"^{key} = "):
        apply_judging_settings(load_judging_protocol(protocol), load_judging_population("mtbench-gpt4"), {key: value})


@pytest.mark.parametrize("protocol", ["mec_bpc", "chateval", "more"])
def test_shifts_that_spread_too_far_for_the_exact_law_are_refused_and_not_waited_for(protocol):
    policy, population = apply_judging_settings(
        load_judging_protocol(protocol), load_judging_population("mtbench-gpt4"), {"position_sd": "90"}
    )
    if protocol == "more":  # its own share of the shift is small, and an odd jury does not ask for the judge's score
        population = replace(population, anonymity=1.0)
    with pytest.raises(InputError, match=r"spreads so far over items.*--engine mc"):
        simulate_exact(policy, population)


@pytest.mark.parametrize(("gap", "changes"), [(RubricGap(), {"verbosity": "16"}), (ZeroInflatedBetaGap(), {"scale": "64"})])
def test_panels_too_fine_for_the_exact_law_are_refused_and_drawn_by_the_others(gap, changes):
    base = load_judging_population("mtbench-gpt4").with_judges(gap=gap)
    protocol, population = apply_judging_settings(load_judging_protocol("prd"), base, changes)
    with pytest.raises(InputError, match=r"judges' noise is so small.*--engine mc"):
        simulate_exact(protocol, population)
    assert simulate_reference(protocol, population, 5).mean("calls").mean == 10


# --- costs ---


def test_calls_of_the_published_protocols():
    population = load_judging_population("mtbench-gpt4")
    calls = {
        name: simulate_exact(load_judging_protocol(name), population).mean("calls").mean for name in ("single_judge", "mec_bpc", "prd")
    }
    assert calls == {"single_judge": 1, "mec_bpc": pytest.approx(6), "prd": pytest.approx(10)}
    more = JudgingCosts(load_judging_protocol("more"), population)
    assert more.calls[1] == 6 + 2 + 1 + 5
    samre = JudgingCosts(load_judging_protocol("samre"), population)
    assert list(samre.calls) == [0, 8, 11, 14, 17, 20]
    assert list(samre.debate_calls) == [0, 3, 6, 9, 12, 15]


def test_prompts_grow_with_the_transcript():
    population = load_judging_population("mtbench-gpt4")
    t, protocol = population.tokens, load_judging_protocol("samre")
    assert debate_round_tokens(protocol, population, 1) == 3 * t.prompt + 2 * t.advocate + 2 * t.advocate + t.judge
    second = 3 * t.prompt + 2 * (2 * t.advocate + t.judge) + 4 * t.advocate + t.judge + 2 * t.advocate + t.judge
    assert debate_round_tokens(protocol, population, 2) == second
    costs = JudgingCosts(protocol, population)
    roles = costs.by_role()
    assert sum(calls for calls, _, _ in roles.values()) == pytest.approx(costs.calls)
    assert roles["juror"][1][3] == 5 * (t.prompt + 3 * (2 * t.advocate + t.judge))


def test_money_needs_a_price_of_every_judge_that_names_a_model():
    prices = load_prices()
    mine = replace(prices, name="mine.toml")
    population = JudgingPopulation(name="p", judges=(Judge(name="a", model="gpt-4-turbo"), Judge(name="b", model="unheard-of")))
    one = simulate_exact(Panel(name="p"), population, Pricing(mine.of(None), mine))
    tokens = population.tokens
    assert one.mean("usd").mean == pytest.approx((tokens.prompt * 10 + tokens.verdict * 30) / 1e6)
    with pytest.raises(InputError, match="unheard-of"):
        simulate_exact(Panel(name="p", judges=2), population, Pricing(mine.of(None), mine))


def test_worst_cases_bound_what_is_expected():
    population, prices = load_judging_population("mtbench-gpt4"), load_prices()
    pricing = Pricing(prices.of(None), prices)
    for name in judging_protocol_names():
        costs = JudgingCosts(load_judging_protocol(name), population)
        assert (costs.usd(pricing)[1:] < costs.usd_worst(pricing)[1:]).all()


# --- weights ---


def test_equal_judges_get_equal_weights_and_better_ones_more():
    alike = JudgingPopulation(name="p", judges=tuple(Judge(name=f"j{k}") for k in range(3)))
    panel = Panel(name="p", judges=3, weights="learnt")
    assert len(set(panel_weights(panel, alike))) == 1
    mixed = replace(alike, judges=(*alike.judges[:2], Judge(name="bad", sigma_b=3.0)))
    good, _, bad = panel_weights(panel, mixed)
    assert good > bad > 0


def test_a_panel_needs_its_judges():
    with pytest.raises(ParameterError, match="judges"):
        simulate_exact(Panel(name="p", judges=2), JudgingPopulation(name="p"))
    with pytest.raises(ParameterError, match="nobody"):
        simulate_exact(Panel(name="p", judges=("nobody",)), JudgingPopulation(name="p"))
    with pytest.raises(ParameterError, match="combine"):
        Panel(name="p", judges=2, combine="score")


def test_debates_refuse_the_impossible():
    for change in ({"advocates": 0}, {"rounds": 0}, {"jurors": -1}, {"aggregator": "median"}, {"order": "both"}, {"decision": "first"}):
        with pytest.raises(ParameterError):
            Debate(name="d", **change)


def test_no_completion_is_expected_to_be_longer_than_the_endpoint_allows() -> None:
    population = load_judging_population("mtbench-gpt4")
    short = replace(population, tokens=replace(population.tokens, max_completion=40))
    for name in judging_protocol_names():
        costs = JudgingCosts(load_judging_protocol(name), short)
        assert (costs.completion_tokens <= 40 * costs.calls).all()
        assert costs.completion_tokens[-1] == 40 * costs.calls[-1]  # every role's mean is above 40
