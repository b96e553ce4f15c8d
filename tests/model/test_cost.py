"""Tokens, prices and the law of the money."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.model import (
    FileFormatError,
    InputError,
    OutcomeSpace,
    ParameterError,
    Price,
    PriceList,
    Pricing,
    Protocol,
    Tier,
    TokenBudget,
    Tokens,
    load_population,
    load_prices,
    load_protocol,
    protocol_names,
)
from adjourn.model.exact import evaluate
from adjourn.model.exact import simulate as exact
from adjourn.model.outcomes import Costs, Money

PRICE = Price("m", 0.5, 1.5)
PRICES = PriceList("list", "2026-01-01", "a test", "m", {"m": PRICE})
GSM8K = load_population("gsm8k-gpt35")
MEASURED = Tokens(question=106, overhead=155, solver=128, debater=74)


# --- prompts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("round_", "tokens"), [(1, 106), (2, 645), (3, 1022)])
def test_transcript_prompts_reproduce_the_measured_debates(round_, tokens):
    assert MEASURED.debate_prompt("transcript", round_, 3, inherited=False) == tokens


def test_inherited_answers_stand_in_the_first_transcript():
    assert MEASURED.debate_prompt("transcript", 1, 3, inherited=True) == 645
    assert MEASURED.debate_prompt("transcript", 2, 3, inherited=True) == 1022


def test_local_prompts_do_not_grow():
    tokens = Tokens(question=100, local_context=250)
    assert {tokens.debate_prompt("local", r, n, True) for r in (1, 2, 5) for n in (1, 3, 6)} == {350}
    assert tokens.debate_prompt("local", 1, 6, inherited=False) == 100


def test_an_answer_is_never_longer_than_the_endpoint_allows():
    short = Tokens(solver=500, debater=500, synthesiser=500, max_completion=20)
    law = replace(GSM8K, tokens=short)
    result = exact(load_protocol("uaad"), law, Pricing(PRICE, PRICES))
    assert result.completion_tokens.mean == pytest.approx(20 * result.calls.mean)
    assert result.usd.mean <= result.quantiles["usd"]["max"]


def costs_by_hand(protocol, tokens, outcome):
    """Calls, prompt and completion tokens of a path, call by call."""
    calls = [("solver", tokens.question, tokens.solver)] * outcome.chains
    if outcome.tier >= 0:
        tier = protocol.tiers[outcome.tier]
        transcript = tokens.question
        if protocol.initial == "chains":
            transcript += tier.agents * tokens.solver + tokens.overhead
        for round_ in range(1, outcome.rounds + 1):
            first = round_ == 1 and protocol.initial != "chains"
            prompt = tokens.question + tokens.local_context if protocol.prompts == "local" and not first else transcript
            answer = tokens.solver if first else tokens.debater
            calls += [("debater", prompt, answer)] * tier.agents
            transcript += tier.agents * answer + tokens.overhead
        if protocol.synthesiser:
            prompt = tokens.question + tokens.local_context if protocol.prompts == "local" else transcript
            calls.append(("synthesiser", prompt, tokens.synthesiser))
    return calls


@pytest.mark.parametrize("name", [*protocol_names(), "inherited transcript", "fresh local"])
def test_every_path_costs_what_its_calls_cost(name):
    uaad = load_protocol("uaad")
    special = {"inherited transcript": replace(uaad, prompts="transcript"), "fresh local": replace(uaad, initial="fresh")}
    protocol = special.get(name) or load_protocol(name)
    tokens = GSM8K.tokens
    space = OutcomeSpace(protocol)
    masses = evaluate(protocol, GSM8K).ravel()
    costs = Costs(space, GSM8K)
    for index in np.flatnonzero(masses > 0):
        outcome = space.outcome(int(index))
        calls = costs_by_hand(protocol, tokens, outcome)
        assert costs.calls[index] == len(calls)
        assert costs.debate_calls[index] == sum(role == "debater" for role, _, _ in calls)
        assert costs.prompt_tokens[index] == pytest.approx(sum(prompt for _, prompt, _ in calls))
        assert costs.completion_tokens[index] == pytest.approx(sum(answer for _, _, answer in calls))
        assert costs.worst_completion[index] == len(calls) * tokens.max_completion
        assert costs.worst_prompt[index] >= costs.prompt_tokens[index] - 1e-9
        for role, parts in costs.by_role.items():
            assert parts[0][index] == sum(r == role for r, _, _ in calls)


def test_depth_counts_what_waits_for_each_other():
    def depth(name, **changes):
        return exact(replace(load_protocol(name), **changes), GSM8K).depth.mean

    assert depth("cot_sc") == 1
    assert depth("fixed_mad") == pytest.approx(3)
    adaptive = exact(load_protocol("adaptive_consistency"), GSM8K)
    assert adaptive.depth.mean == pytest.approx(adaptive.calls.mean)


def test_a_token_budget_ends_debates_at_the_round_that_reaches_it():
    protocol = replace(load_protocol("fixed_mad"), round_stop=TokenBudget(6 * (106 + 150) + 1))
    result = exact(protocol, GSM8K)
    assert result.depth.mean == pytest.approx(2)
    assert result.shares["stop_reasons"].keys() == {"token_budget"}


# --- money ---------------------------------------------------------------------------------------------------------------


def lognormal(rng, mean, sd, size):
    s2 = math.log1p((sd / mean) ** 2)
    return rng.lognormal(math.log(mean) - s2 / 2, math.sqrt(s2), size)


@pytest.mark.parametrize("name", ["cot_sc", "uaad", "down", "adaptive_consistency"])
def test_law_of_the_money_agrees_with_simulated_calls(name):
    # Mean and variance of 200,000 questions within 4.5 standard errors; p50 and p95 within 1 % (sums of log-normals are nearly
    # log-normal).
    protocol, tokens = load_protocol(name), GSM8K.tokens
    space, masses = OutcomeSpace(protocol), evaluate(protocol, GSM8K).ravel()
    costs = Costs(space, GSM8K)
    money = Money.of(costs, masses, PRICE)
    rng, samples = np.random.default_rng(5), 200_000
    usd = []
    for index, count in zip(np.flatnonzero(masses > 0), rng.multinomial(samples, masses[masses > 0] / masses.sum()), strict=True):
        total = np.full(count, costs.prompt_tokens[index] * PRICE.prompt_usd_per_million)
        for role, _, answer in costs_by_hand(protocol, tokens, space.outcome(int(index))):
            first = role == "debater" and answer == tokens.solver and not protocol.inherits
            sd = tokens.solver_sd if first else getattr(tokens, f"{role}_sd")
            total += lognormal(rng, answer, sd, count) * PRICE.completion_usd_per_million
        usd.append(total / 1e6)
    usd = np.concatenate(usd)
    assert abs(usd.mean() - money.expected) < 4.5 * usd.std() / math.sqrt(samples)
    spread = math.sqrt(((usd - usd.mean()) ** 2).var() / samples)
    assert abs(usd.var() - money.total_variance) < 4.5 * spread
    for level in (0.5, 0.95):
        assert money.quantile(level) == pytest.approx(np.quantile(usd, level), rel=0.01)
    assert usd.max() <= money.worst


def test_third_moment_of_the_money_is_that_of_its_law():
    money = Money.of(Costs(OutcomeSpace(load_protocol("uaad")), GSM8K), evaluate(load_protocol("uaad"), GSM8K).ravel(), PRICE)
    mean, variance, third = money.central_moments()
    grid = np.linspace(0, 20 * mean, 400_001)
    density = np.diff([money.cdf(float(x)) for x in grid[::40]])
    middle = (grid[::40][1:] + grid[::40][:-1]) / 2
    assert density @ middle == pytest.approx(mean, rel=1e-3)
    assert density @ (middle - mean) ** 2 == pytest.approx(variance, rel=1e-3)
    assert density @ (middle - mean) ** 3 == pytest.approx(third, rel=1e-2)


@given(st.floats(0.001, 0.999))
def test_a_quantile_is_the_inverse_of_the_distribution_function(level):
    money = Money.of(Costs(OutcomeSpace(load_protocol("uaad")), GSM8K), evaluate(load_protocol("uaad"), GSM8K).ravel(), PRICE)
    x = money.quantile(level)
    assert 0 <= x <= money.worst
    assert money.cdf(x) == pytest.approx(level, abs=1e-6)


def test_calls_without_spread_cost_the_same_for_certain():
    tokens = replace(GSM8K.tokens, solver_sd=0, debater_sd=0, synthesiser_sd=0)
    result = exact(load_protocol("fixed_mad"), replace(GSM8K, tokens=tokens), Pricing(PRICE, PRICES))
    assert result.quantiles["usd"]["p50"] == pytest.approx(result.usd.mean, rel=1e-9)
    assert result.quantiles["usd"]["p95"] == pytest.approx(result.usd.mean, rel=1e-9)


def test_a_free_model_costs_nothing():
    free = Price("free", 0, 0)
    result = exact(load_protocol("uaad"), GSM8K, Pricing(free, PRICES))
    assert result.usd.mean == 0
    assert result.quantiles["usd"] == {"p50": 0, "p95": 0, "max": 0}


def test_no_quantile_exceeds_the_worst_case():
    wild = replace(GSM8K.tokens, solver=1000, solver_sd=5000, max_completion=1024)
    result = exact(load_protocol("cot"), replace(GSM8K, tokens=wild), Pricing(PRICE, PRICES))
    assert result.quantiles["usd"]["p95"] <= result.quantiles["usd"]["max"]


# --- price lists ---------------------------------------------------------------------------------------------------------

GOOD = {
    "as_of": '"2026-11-01"',
    "source": '"our contract"',
    "currency": '"USD"',
    "models": '\n[models."big"]\nprompt_usd_per_million = 2\ncompletion_usd_per_million = 8.5\n',
}


def price_file(folder, **changes):
    parts = {**GOOD, **changes}
    models = parts.pop("models")
    path = folder / "prices.toml"
    path.write_text("".join(f"{k} = {v}\n" for k, v in parts.items() if v is not None) + (models or ""))
    return path


def test_shipped_list_is_dated_and_sourced():
    listed = load_prices()
    assert listed.as_of
    assert listed.source
    assert listed.of(None).model == listed.default_model
    assert listed.of("gpt-3.5-turbo").usd(1e6, 1e6) == pytest.approx(2.0)


def test_a_users_list_is_read(tmp_path):
    listed = load_prices(price_file(tmp_path))
    assert listed.of("big") == Price("big", 2.0, 8.5)
    assert listed.of("") == listed.of(None) == listed.of("big")
    assert listed.as_of == "2026-11-01"


def test_a_toml_date_is_a_date(tmp_path):
    assert load_prices(price_file(tmp_path, as_of="2026-11-01")).as_of == "2026-11-01"


def test_an_unknown_price_is_an_error_never_zero(tmp_path):
    with pytest.raises(InputError, match=r'no price for model "other" .* unknown price is not zero'):
        load_prices(price_file(tmp_path)).of("other")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"as_of": None}, "need a date"),
        ({"as_of": '"yesterday"'}, "need a date"),
        ({"as_of": "2026"}, "need a date"),
        ({"source": None}, "no source"),
        ({"source": '""'}, "no source"),
        ({"source": "5"}, "no source"),
        ({"currency": '"EUR"'}, "USD"),
        ({"currency": None}, "USD"),
        ({"models": None}, "no model"),
        ({"models": "models = 5\n"}, "no model"),
        ({"models": "[models.big]\nprompt_usd_per_million = 2\n"}, "completion_usd_per_million"),
        ({"models": "[models.big]\nprompt_usd_per_million = -1\ncompletion_usd_per_million = 1\n"}, "0 to 100000"),
        ({"models": "[models.big]\nprompt_usd_per_million = nan\ncompletion_usd_per_million = 1\n"}, "0 to 100000"),
        ({"models": "[models.big]\nprompt_usd_per_million = inf\ncompletion_usd_per_million = 1\n"}, "0 to 100000"),
        ({"models": '[models.big]\nprompt_usd_per_million = "2"\ncompletion_usd_per_million = 1\n'}, "0 to 100000"),
        ({"models": "[models.big]\nprompt_usd_per_million = true\ncompletion_usd_per_million = 1\n"}, "0 to 100000"),
        ({"models": "[models]\nbig = 5\n"}, "models.big"),
        ({"default_model": '"none"'}, "default_model"),
        ({"default_model": "[1]"}, "default_model"),
        ({"as_of": '"2026-11-01'}, "no valid TOML"),
    ],
)
def test_a_price_list_that_is_none_is_refused_with_its_name(tmp_path, changes, problem):
    with pytest.raises(FileFormatError, match=r"prices\.toml") as refusal:
        load_prices(price_file(tmp_path, **changes))
    assert problem in str(refusal.value)


@pytest.mark.parametrize(
    "bad",
    [{"question": -1}, {"solver": math.nan}, {"debater_sd": math.inf}, {"max_completion": 0}, {"max_completion": 1.5}, {"solver": "1"}],
)
def test_impossible_tokens_are_refused(bad):
    with pytest.raises(ParameterError, match=next(iter(bad))):
        Tokens(**bad)


def test_a_path_without_calls_of_a_role_has_none():
    protocol = Protocol(name="p", chains=2, tiers=(Tier("all", 2, 1),))
    costs = Costs(OutcomeSpace(protocol), GSM8K)
    assert not costs.by_role["synthesiser"][0].any()
