"""What a log of judges says by itself, against enumeration of every way to draw one call of each judge in each order."""

from __future__ import annotations

import csv
import itertools

import numpy as np
import pytest

from adjourn.experiments.calibrate.judge_facts import JudgeFacts
from adjourn.experiments.logs import read_log

JUDGES = ("ann", "bob", "eve")
SIDES = {"A": 1, "tie": 0, "B": -1}


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory):
    """Random verdicts: up to three calls in each order, some orders and some judges missing; and the log that holds them."""
    rng = np.random.default_rng(5)
    labels = {f"i{k}": str(rng.choice(["A", "B", "tie"])) for k in range(40)}
    calls = {
        (item, judge, order): [str(side) for side in rng.choice(list(SIDES), size=rng.integers(0, 4))]
        for item, judge, order in itertools.product(labels, JUDGES, ("AB", "BA"))
    }
    path = tmp_path_factory.mktemp("log") / "calls.csv"
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["item_id", "judge", "order", "verdict", "label"])
        for (item, judge, order), said in calls.items():
            writer.writerows([item, judge, order, verdict, labels[item]] for verdict in said)
    return labels, calls, JudgeFacts.of(read_log(path))


def credit(total: float, label: str) -> float:
    return 0.5 if total == 0 else float((total > 0) == (SIDES[label] > 0))


def expected(labels, calls, panel, item):
    """Mean credit over every draw; None where a judge of the panel did not judge or the label is a tie."""
    held = [[calls[item, judge, order] for order in ("AB", "BA") if calls[item, judge, order]] for judge in panel]
    if labels[item] == "tie" or not all(held):
        return None
    draws = itertools.product(*(itertools.product(*orders) for orders in held))
    return np.mean([credit(sum(np.mean([SIDES[v] for v in judge]) for judge in draw), labels[item]) for draw in draws])


def test_panels_are_means_over_every_draw_of_one_call_in_each_order(calls) -> None:
    labels, said, facts = calls
    for size in (1, 2, 3):
        for row, item in enumerate(facts.log.items):
            each = [expected(labels, said, panel, item) for panel in itertools.combinations(JUDGES, size)]
            known = [value for value in each if value is not None]
            if known:
                assert facts.panels[row, size - 1] == pytest.approx(np.mean(known), abs=1e-12)
            else:
                assert np.isnan(facts.panels[row, size - 1])


def test_both_orders_averaged_needs_both(calls) -> None:
    labels, said, facts = calls
    for (row, item), (column, judge) in itertools.product(enumerate(facts.log.items), enumerate(facts.log.judges)):
        if labels[item] == "tie" or not (said[item, judge, "AB"] and said[item, judge, "BA"]):
            assert np.isnan(facts.averaged[row, column])
        else:
            assert facts.averaged[row, column] == pytest.approx(expected(labels, said, [judge], item), abs=1e-12)


def test_the_correlation_of_being_right_is_that_of_single_draws(calls) -> None:
    """Against draws: one call of each judge in each order, item by item."""
    labels, said, facts = calls
    whole = np.flatnonzero(np.all(np.isfinite(facts.averaged), axis=1))
    rng = np.random.default_rng(9)
    drawn = []
    for _ in range(4000):
        for row in whole:
            item = facts.log.items[row]
            votes = [[SIDES[str(rng.choice(said[item, judge, order]))] for order in ("AB", "BA")] for judge in facts.log.judges]
            drawn.append([credit(sum(vote), labels[item]) for vote in votes])
        if len(drawn) > 60_000:
            break
    sampled = np.corrcoef(np.array(drawn).T)
    exact = facts.correlations(np.ones(len(facts.log.items)), averaged=True)
    assert np.abs(sampled - exact).max() < 0.02
    assert np.diag(exact) == pytest.approx(1.0)
