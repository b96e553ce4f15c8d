"""The advice of ``plan``, on a pilot that needs no log."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from adjourn.experiments.advice import Plan
from adjourn.experiments.choosing import Request, choose
from adjourn.experiments.designs import menu
from adjourn.experiments.families import price_of
from adjourn.experiments.plan import ReasoningPilot, make_plan
from adjourn.model import (
    BetaDifficulty,
    BudgetRefusedError,
    Copying,
    FixedShare,
    ParameterError,
    Population,
    load_population,
)
from adjourn.model.exact import ExactLaw


def _pilot(population: Population, spread: float = 0.05) -> ReasoningPilot:
    def resample(rng: np.random.Generator) -> Population:
        law = population.difficulty
        assert isinstance(law, BetaDifficulty)
        return replace(population, difficulty=BetaDifficulty(law.a * rng.lognormal(0, spread), law.b * rng.lognormal(0, spread)))

    return ReasoningPilot("made up", 200, population, resample)


def _plan(population: Population, **wanted: object) -> Plan:
    request = Request(**{"items": 1000, "budget_usd": 10.0, "draws": 20, **wanted})  # type: ignore[arg-type]
    return make_plan(_pilot(population), request, price_of(None, None, ""))


@pytest.fixture(scope="module")
def plain() -> Plan:
    return _plan(load_population("gsm8k-gpt35"))


def test_the_recommendation_is_affordable_and_every_cheaper_design_is_less_accurate(plain: Plan) -> None:
    best = plain.recommendation
    assert best.p_over_budget <= plain.request.risk
    cheaper = [o for o in plain.outlooks if o.usd_per_question < best.usd_per_question]
    assert all(o.robust_accuracy < best.robust_accuracy for o in cheaper)


def test_the_frontier_rises_in_money_and_in_accuracy(plain: Plan) -> None:
    money = [o.usd_per_question for o in plain.frontier]
    accuracy = [o.robust_accuracy for o in plain.frontier]
    assert money == sorted(money)
    assert all(a < b for a, b in pairwise(accuracy))


def test_wins_are_shares_of_the_draws(plain: Plan) -> None:
    assert sum(o.wins for o in plain.outlooks) == pytest.approx(1.0)


def test_the_same_seed_gives_the_same_plan() -> None:
    population = load_population("gsm8k-gpt35")
    assert _plan(population).to_json() == _plan(population).to_json()


def test_another_seed_changes_the_intervals_only_slightly_and_the_point_estimate_not_at_all() -> None:
    population = load_population("gsm8k-gpt35")
    a, b = _plan(population), _plan(population, seed=1)
    first, second = ({o.design.name: o for o in plan.outlooks} for plan in (a, b))
    assert all(first[name].accuracy.mean == second[name].accuracy.mean for name in first)
    assert any(first[name].accuracy.low != second[name].accuracy.low for name in first)


def test_more_money_never_lowers_the_expected_accuracy() -> None:
    population = load_population("math-gpt35")
    accuracy = [_plan(population, budget_usd=b).recommendation.robust_accuracy for b in (2.0, 10.0, 100.0)]
    assert accuracy[0] <= accuracy[1] + 0.002
    assert accuracy[1] <= accuracy[2] + 0.002


def test_a_budget_below_the_cheapest_design_is_refused_and_the_message_names_one_that_would_do() -> None:
    with pytest.raises(BudgetRefusedError, match="Give at least"):
        _plan(load_population("gsm8k-gpt35"), budget_usd=0.01)


def test_a_target_in_reach_is_met_by_the_cheapest_design_that_reaches_it() -> None:
    plan = _plan(load_population("gsm8k-gpt35"), target_accuracy=0.80)
    assert plan.target_met
    assert plan.recommendation.robust_accuracy >= 0.80
    cheaper = [o for o in plan.outlooks if o.usd_per_question < plan.recommendation.usd_per_question and o.p_over_budget <= 0.05]
    assert all(o.robust_accuracy < 0.80 for o in cheaper)


def test_a_target_out_of_reach_is_said_to_be_missed() -> None:
    assert _plan(load_population("math-gpt35"), target_accuracy=0.99).target_met is False


def test_debate_wins_where_truth_has_a_large_advantage_and_voting_where_it_has_none() -> None:
    base = replace(load_population("gsm8k-gpt35"), borrowed={})
    persuasive = replace(base, response=Copying(lam=3.0))
    voter = replace(base, response=Copying(theta=1.0, sigma=0.0, lam=0.0))
    assert _plan(persuasive, budget_usd=100.0).recommendation.design.debates
    assert not _plan(voter, budget_usd=100.0).recommendation.design.debates


def test_borrowed_responses_widen_the_interval_of_debates_only() -> None:
    fitted = replace(load_population("gsm8k-gpt35"), borrowed={})
    widths = []
    for population in (fitted, load_population("gsm8k-gpt35")):
        by_name = {o.design.name: o.accuracy.half_width for o in _plan(population).outlooks}
        widths.append((by_name["debate(agents=3, rounds=2)"], by_name["cot_sc(n=5)"]))
    assert widths[1][0] > widths[0][0]
    assert widths[1][1] == pytest.approx(widths[0][1], rel=0.5)


def test_every_design_of_the_menu_has_its_own_law_and_its_own_name() -> None:
    population = Population(name="x", difficulty=BetaDifficulty(0.7, 0.6), misconception=FixedShare(0.5))
    designs = menu(population)
    assert len({d.name for d in designs}) == len(designs)
    laws = {ExactLaw(d.protocol, population).masses().tobytes() + str(d.protocol.to_dict()["tiers"]).encode() for d in designs}
    assert len(laws) == len(designs)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("items", 0),
        ("items", 2.5),
        ("budget_usd", 0.0),
        ("budget_usd", float("nan")),
        ("budget_usd", -1.0),
        ("target_accuracy", 1.1),
        ("risk", -0.1),
        ("draws", 1),
    ],
)
def test_requests_out_of_range_are_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(ParameterError, match="--" + field.split("_")[0]):
        Request(**{"items": 10, "budget_usd": 1.0, field: value})  # type: ignore[arg-type]


def _chosen(accuracy: list[list[float]], usd: list[float], affordable: list[bool], **wanted: float) -> int:
    request = Request(**{"items": 10, "budget_usd": 1.0, "tolerance": 0.01, **wanted})  # type: ignore[arg-type]
    return choose(np.array(accuracy), np.array(usd), np.array(affordable), request)[0]


def test_the_cheapest_of_nearly_equal_designs_is_chosen() -> None:
    assert _chosen([[0.80, 0.805, 0.70]], [1.0, 5.0, 0.1], [True, True, True]) == 0
    assert _chosen([[0.80, 0.805, 0.70]], [1.0, 5.0, 0.1], [False, True, True]) == 1


def test_money_is_not_spent_on_a_gain_that_the_draws_leave_in_doubt() -> None:
    doubtful = [[0.80, 0.83], [0.80, 0.90], [0.80, 0.79], [0.80, 0.78], [0.80, 0.85]]
    sure = [[0.80, 0.83], [0.80, 0.90], [0.80, 0.81], [0.80, 0.82], [0.80, 0.85]]
    assert _chosen(doubtful, [1.0, 5.0], [True, True]) == 0
    assert _chosen(sure, [1.0, 5.0], [True, True]) == 1


def test_a_doubtful_dear_design_does_not_hide_a_sure_one_in_between() -> None:
    accuracy = [[0.70, 0.75, 0.80], [0.70, 0.75, 0.90], [0.70, 0.75, 0.60], [0.70, 0.75, 0.60]]
    assert _chosen(accuracy, [1.0, 2.0, 9.0], [True, True, True]) == 1
