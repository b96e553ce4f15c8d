"""The advice of ``plan`` on logs of judges: worlds that the test knows, and the published log of five judges."""

from __future__ import annotations

import csv
import itertools
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from judgelog import write_judge_log

from adjourn.experiments.advice import Plan
from adjourn.experiments.choosing import Request
from adjourn.experiments.families import price_of
from adjourn.experiments.judging_designs import judging_menu
from adjourn.experiments.pilots import plan_from_log, read_any_log
from adjourn.model import BudgetRefusedError
from adjourn.model.judging import Debate, Judge, JudgingPopulation, simulate_exact
from adjourn.model.judging.protocols import read_judging_protocol


def plan(path: Path, prices: Path | None = None, **wanted: object) -> Plan:
    request = Request(**{"items": 1000, "budget_usd": 50.0, "draws": 20, **wanted})  # type: ignore[arg-type]
    return plan_from_log(read_any_log(path, []), request, lambda model: price_of(prices, None, model))


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three equally good judges that err on their own."""
    return write_judge_log(tmp_path_factory.mktemp("log") / "three.csv", {"ann": 0.8, "bob": 0.8, "eve": 0.8}, items=300)


@pytest.fixture(scope="module")
def advice(three: Path) -> Plan:
    return plan(three)


def test_judges_that_err_on_their_own_are_asked_together(advice: Plan) -> None:
    assert advice.family == "judging"
    assert len(advice.recommendation.design.judges) == 3
    assert advice.recommendation.p_over_budget <= 0.05


def test_judges_that_err_together_are_not(tmp_path: Path) -> None:
    log = write_judge_log(tmp_path / "same.csv", {"ann": 0.8, "bob": 0.8, "eve": 0.8}, items=300, shared=1.0, noise=0.01, band=0.0)
    assert plan(log).recommendation.design.kind == "one judge"


def test_both_orders_are_asked_where_position_matters_and_only_there(tmp_path: Path) -> None:
    shifted = plan(write_judge_log(tmp_path / "shift.csv", {"ann": 0.3}, items=300, shift=0.6))
    steady = plan(write_judge_log(tmp_path / "steady.csv", {"ann": 0.3}, items=300, noise=0.01))
    assert "both orders" in shifted.recommendation.design.name
    assert "one order" in steady.recommendation.design.name


def test_intervals_have_width_and_hold_the_estimate(advice: Plan) -> None:
    for outlook in advice.outlooks:
        assert outlook.accuracy.low <= outlook.accuracy.mean <= outlook.accuracy.high
        assert 0.01 < outlook.accuracy.high - outlook.accuracy.low < 0.2


def test_wins_are_shares_of_the_draws(advice: Plan) -> None:
    assert sum(o.wins for o in advice.outlooks) == pytest.approx(1.0)
    assert sum(advice.wins_by_kind().values()) == pytest.approx(1.0)


def test_the_interval_of_one_judge_is_that_of_a_share_of_so_many_items(advice: Plan) -> None:
    """Against theory: a judge's accuracy over 300 items has about the binomial standard error."""
    one = next(o for o in advice.outlooks if o.design.name == "panel(ann; one order)")
    binomial = 2 * 1.96 * np.sqrt(one.accuracy.mean * (1 - one.accuracy.mean) / 300)
    assert 0.5 * binomial < one.accuracy.high - one.accuracy.low < 1.5 * binomial


def test_a_small_budget_buys_one_judge_and_less_is_refused(three: Path) -> None:
    cheapest = plan(three).outlooks[0]
    poor = plan(three, budget_usd=1.2 * cheapest.usd_mean)
    assert poor.recommendation.design.kind == "one judge"
    with pytest.raises(BudgetRefusedError, match="Give at least"):
        plan(three, budget_usd=0.5 * cheapest.usd_mean)


def test_a_log_of_one_order_offers_one_order_only(tmp_path: Path) -> None:
    log = write_judge_log(tmp_path / "one.csv", {"ann": 0.5, "bob": 0.5}, orders=("AB",))
    assert not any("both orders" in o.design.name for o in plan(log).outlooks)


def test_judges_that_the_price_list_names_have_their_own_price(three: Path, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    row = "[models.{}]\nprompt_usd_per_million = {}\ncompletion_usd_per_million = {}\n"
    rows = row.format("ann", 1000, 1000) + row.format("bob", 1, 1) + row.format("eve", 1, 1)
    prices.write_text('as_of = "2026-01-01"\nsource = "made up"\ncurrency = "USD"\ndefault_model = "bob"\n' + rows, encoding="utf-8")
    advice = plan(three, prices)
    usd = {o.design.name: o.usd_per_question for o in advice.outlooks}
    assert usd["panel(ann; one order)"] == pytest.approx(1000 * usd["panel(bob; one order)"])
    assert "ann" not in advice.recommendation.design.judges or advice.recommendation.usd_mean <= 50
    assert not any(note.startswith("Prices:") for note in advice.notes)


def test_debates_count_with_their_worst_and_say_so(advice: Plan) -> None:
    debates = [o for o in advice.outlooks if isinstance(o.design.protocol, Debate)]
    assert debates
    assert all(o.robust_accuracy <= o.accuracy.mean for o in debates)
    assert all("arguments and jurors" in o.design.rests_on() for o in debates)
    assert advice.conditional.parameter == "bias_factor"
    accuracies = [row["accuracy"] for row in advice.conditional.rows]
    assert accuracies == sorted(accuracies)


def test_of_many_judges_the_menu_takes_singles_pairs_and_the_best() -> None:
    names = [f"j{k}" for k in range(8)]
    population = JudgingPopulation(name="many", judges=tuple(Judge(name=name) for name in names))
    panels = {design.judges for design in judging_menu(population) if design.judges}
    assert {len(panel) for panel in panels} == set(range(1, 9))
    assert tuple(names[:5]) in panels
    assert sum(len(panel) == 2 for panel in panels) == 28


def test_scores_are_averaged_only_of_judges_that_the_pilot_saw_scoring() -> None:
    population = JudgingPopulation(name="two", judges=(Judge(name="ann"), Judge(name="bob")))
    averaged = {d.name for d in judging_menu(population, scoring=["bob"]) if "scores averaged" in d.name}
    assert averaged == {
        "panel(bob; both orders, scores averaged)",
        "panel(bob; one order, 3 calls each, scores averaged)",
        "panel(bob; both orders, 3 calls each, scores averaged)",
    }
    assert not any("scores" in d.name for d in judging_menu(population))


def test_the_same_seed_gives_the_same_plan_and_another_the_same_estimates(three: Path, advice: Plan) -> None:
    assert plan(three).to_json() == advice.to_json()
    other = {o.design.name: o for o in plan(three, seed=1).outlooks}
    assert all(other[o.design.name].accuracy.mean == o.accuracy.mean for o in advice.outlooks)
    assert any(other[o.design.name].accuracy.low != o.accuracy.low for o in advice.outlooks)


def test_the_recommended_protocol_runs_again_from_the_json(cli, three: Path) -> None:
    code, out, _ = cli("plan", "--pilot", three, "--items", "1000", "--budget-usd", "50", "--draws", "20", "--json")
    assert code == 0
    told = json.loads(out)
    protocol = read_judging_protocol(told["recommendation"]["protocol"])
    population = JudgingPopulation.from_dict(told["provenance"]["population"])
    again = simulate_exact(protocol, population).mean("accuracy").mean
    assert again == pytest.approx(told["recommendation"]["accuracy"]["mean"], abs=1e-6)


def test_the_words_the_picture_and_the_page_speak_of_items_and_panels(cli, three: Path, tmp_path: Path) -> None:
    picture, saved, page = tmp_path / "frontier.png", tmp_path / "plan.json", tmp_path / "page.html"
    words = ("--items", "1000", "--budget-usd", "50", "--draws", "20", "--plot", picture, "--out", saved)
    code, out, _ = cli("plan", "--pilot", three, *words)
    assert code == 0
    assert out.startswith("Run panel(")
    assert "Panels by size" in out
    assert "question" not in out
    assert picture.stat().st_size > 5000
    assert cli("report", saved, "--out", page).exit_code == 0
    text = page.read_text(encoding="utf-8")
    for said in ("How to judge 1,000 items", "US$ an item", "Panels of the pilot's judges by size", "bias that arguments leave"):
        assert said.replace("'", "&#x27;") in text or said in text


# --- the published log ---


def log_accuracy_by_size(path: Path) -> dict[int, float]:
    """Accuracy of panels by size from the rows alone: mean over subsets, both orders averaged, ties half a credit.

    Every call is a vote of -1, 0 or 1; repeats and the two orders of a judge are averaged, judges of a panel vote with equal weight.
    """
    votes: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    labels: dict[str, str] = {}
    side = {"A": 1, "B": -1, "tie": 0}
    with path.open(encoding="utf-8") as handle:
        for row in csv.DictReader(handle):
            votes[row["item_id"], row["judge"]][row["order"]].append(side[row["verdict"]])
            labels[row["item_id"]] = row["label"]
    judges = sorted({judge for _, judge in votes})
    found = {}
    for size in range(1, len(judges) + 1):
        scores = []
        for panel in itertools.combinations(judges, size):
            for item, label in labels.items():
                if label != "tie" and all(len(votes[item, judge]) == 2 for judge in panel):
                    total = sum(np.mean([np.mean(calls) for calls in votes[item, judge].values()]) for judge in panel)
                    scores.append(0.5 if abs(total) < 1e-9 else float((total > 0) == (side[label] > 0)))
        found[size] = float(np.mean(scores))
    return found


def test_the_published_judges_get_a_panel_and_its_sizes_are_predicted_within_three_points(cli, shared_dir: Path) -> None:
    pilot = shared_dir / "pilots" / "judges-prd.csv"
    code, out, _ = cli("plan", "--pilot", pilot, "--items", "2000", "--budget-usd", "20", "--draws", "20", "--json")
    assert code == 0
    told = json.loads(out)
    assert told["recommendation"]["design"].startswith("panel(")
    assert told["p_over_budget"] <= 0.05
    own = log_accuracy_by_size(pilot)
    assert [row["size"] for row in told["panels"]] == [1, 2, 3, 4, 5]
    for row in told["panels"]:
        assert abs(row["predicted"] - own[row["size"]]) < 0.03
        assert abs(row["log"] - own[row["size"]]) < 0.005
