"""Calibration of judge logs: counts against counting by hand, parameters of drawn logs, jurors, what a log cannot tell."""

from __future__ import annotations

import csv
import itertools
import json
import math
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from judgelog import write_judge_log, write_score_log

from adjourn.experiments.calibrate.judge_jury import split_jurors
from adjourn.experiments.calibrate.judges import JudgeCalibration, calibrate_judges
from adjourn.experiments.logs import read_log
from adjourn.model import InputError
from adjourn.model.judging import Debate, JudgingPopulation, simulate_exact

PUBLISHED = {"gpt4": 0.69, "gpt35": 0.69, "claude": 0.55, "bard": 0.37, "vicuna-13b": 0.37}
HEADER = ("item_id", "judge", "order", "round", "verdict", "label")


def calibrated(path: Path, draws: int = 60) -> JudgeCalibration:
    return calibrate_judges(read_log(path), draws=draws)


def write_rows(path: Path, rows: list[tuple[object, ...]], header: tuple[str, ...] = HEADER) -> Path:
    with path.open("w", newline="", encoding="utf-8") as handle:
        csv.writer(handle).writerows([header, *rows])
    return path


# --- what the log says by itself ---


def by_hand(path: Path) -> dict[str, float]:
    """Swap consistency, accuracies, panels and correlations, item by item, with nothing of the project."""
    value = {"A": 1, "tie": 0, "B": -1}
    said: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    label: dict[str, int] = {}
    with path.open(newline="", encoding="utf-8") as handle:
        for row in csv.DictReader(handle):
            said[row["item_id"], row["judge"], row["order"]].append(value[row["verdict"]])
            label[row["item_id"]] = value[row["label"]]
    judges = sorted({judge for _, judge, _ in said})
    decided = [item for item in label if label[item]]

    def credit(item: str, vote: float) -> float:
        return float(1 + np.sign(vote) * label[item]) / 2

    def one_call(item: str, judge: str, order: str) -> list[float]:
        return [credit(item, x) for x in said[item, judge, order]]

    def one_call_in_each_order(item: str, *panel: str) -> list[float]:
        """Credits over every way to draw one call of each judge in each order."""
        sums = [[x + y for x in said[item, judge, "AB"] for y in said[item, judge, "BA"]] for judge in panel]
        return [credit(item, sum(drawn)) for drawn in itertools.product(*sums)]

    def correlation(credits: Callable[[str, str], list[float]]) -> float:
        """Mean correlation of two judges' credits, each drawn on its own given the item."""
        mean = np.array([[np.mean(credits(i, judge)) for judge in judges] for i in decided])
        square = np.array([[np.mean(np.square(credits(i, judge))) for judge in judges] for i in decided])
        sd = np.sqrt(square.mean(axis=0) - mean.mean(axis=0) ** 2)
        covariance = np.cov(mean.T, bias=True) / np.outer(sd, sd)
        return float(covariance[np.triu_indices(len(judges), 1)].mean())

    found: dict[str, float] = {}
    for judge in judges:
        calls = {item: (said[item, judge, "AB"], said[item, judge, "BA"]) for item in label}
        found[f"swap.{judge}"] = float(np.mean([np.mean([x == y for x in a for y in b]) for a, b in calls.values()]))
        each = [np.mean([np.mean(one_call(i, judge, order)) for order in ("AB", "BA")]) for i in decided]
        both = [np.mean(one_call_in_each_order(i, judge)) for i in decided]
        found[f"one_order.{judge}"], found[f"averaged.{judge}"] = float(np.mean(each)), float(np.mean(both))
        found[f"gain.{judge}"] = float(np.mean(both) - np.mean(each))
    for size in range(1, len(judges) + 1):
        panels = itertools.combinations(judges, size)
        found[f"panel.{size}"] = float(np.mean([np.mean(one_call_in_each_order(i, *panel)) for panel in panels for i in decided]))
    found["correlation.averaged"] = correlation(one_call_in_each_order)
    orders = [correlation(lambda item, judge, order=order: one_call(item, judge, order)) for order in ("AB", "BA")]
    found["correlation.one_order"] = float(np.mean(orders))
    return found


def test_figures_of_a_log_are_those_counted_by_hand(tmp_path: Path) -> None:
    path = write_judge_log(tmp_path / "log.csv", {"a": 0.6, "b": 0.9, "c": 1.2}, items=150, shared=0.5, shift=0.3, band=0.2, repeats=2)
    fit = calibrated(path, draws=0)
    for key, value in by_hand(path).items():
        assert fit.intervals[key].mean == pytest.approx(value, abs=1e-12), key


def test_the_published_log_gives_its_swap_consistencies_gains_and_correlations(shared_dir: Path) -> None:
    path = shared_dir / "pilots" / "judges-prd.csv"
    fit = calibrated(path, draws=40)
    for key, value in by_hand(path).items():
        assert fit.intervals[key].mean == pytest.approx(value, abs=1e-12), key
    for name, value in PUBLISHED.items():
        assert fit.intervals[f"swap.{name}"].mean == pytest.approx(value, abs=0.02)
        assert fit.predicted[f"swap.{name}"] == pytest.approx(fit.intervals[f"swap.{name}"].mean, abs=0.02)
    for name in ("gpt4", "gpt35"):
        assert fit.intervals[f"gain.{name}"].low > 0
    assert fit.intervals["correlation.one_order"].mean == pytest.approx(0.23, abs=0.01)
    assert fit.intervals["correlation.averaged"].mean == pytest.approx(0.40, abs=0.01)
    for size in range(1, 6):
        assert fit.predicted[f"panel.{size}"] == pytest.approx(fit.intervals[f"panel.{size}"].mean, abs=0.03)


# --- parameters ---


def test_parameters_of_drawn_judges_lie_within_their_intervals(tmp_path: Path) -> None:
    """Six parameters of two judges; 95 % intervals widened by half, so that a right fit fails once in a thousand logs."""
    path = write_judge_log(
        tmp_path / "log.csv", {"a": 0.7, "b": 1.1}, items=500, shared=0.6, shift=0.3, noise=0.4, band=0.15, repeats=2, seed=4
    )
    fit = calibrated(path, draws=100)
    for name, bias in (("a", 0.7), ("b", 1.1)):
        for key, true in (("sigma_b", bias), ("position", 0.3), ("noise", 0.4), ("tie", 0.15)):
            at = fit.intervals[f"{key}.{name}"]
            assert at.mean - 1.5 * (at.mean - at.low) <= true <= at.mean + 1.5 * (at.high - at.mean), (key, name)
    a, b = (fit.population.judge(name).loading for name in "ab")
    assert a * b == pytest.approx(0.6, abs=0.2)


@pytest.mark.parametrize("points", [5, 10])
def test_whole_scores_tie_as_often_as_the_fit_predicts(tmp_path: Path, points: int) -> None:
    fit = calibrated(write_score_log(tmp_path / "scores.csv", {"ann": 0.5}, points=points), draws=60)
    for fact in ("ties", "swap", "one_order", "averaged"):
        counted, half = fit.intervals[f"{fact}.ann"], 0.02  # the world's scores are clipped and rounded twice, the law's gap once
        assert counted.low - half < fit.predicted[f"{fact}.ann"] < counted.high + half, fact


def test_biases_that_oppose_each_other_are_found(tmp_path: Path) -> None:
    """Two judges whose biases are each other's opposite: equal starting values would stay at a saddle, with no correlation."""
    rng = np.random.default_rng(2)
    truth, bias = rng.normal(size=300), 0.8 * rng.normal(size=300)
    rows: list[tuple[object, ...]] = []
    for i, (x, b) in enumerate(zip(truth, bias, strict=True)):
        for judge, sign in (("a", 1), ("b", -1)):
            for order in ("AB", "BA"):
                seen = x + sign * b + 0.3 * rng.normal()
                rows.append((i, judge, order, 0, "A" if seen > 0 else "B", "A" if x > 0 else "B"))
    fit = calibrated(write_rows(tmp_path / "log.csv", rows), draws=0)
    first, second = fit.population.judges
    assert first.loading * second.loading < -0.6


# --- jurors ---


def write_debates(path: Path, jurors: int, items: int = 400, sensitivity: float = 0.9, rho: float = 0.3) -> Path:
    rng = np.random.default_rng(5)
    rows: list[tuple[object, ...]] = []
    for i in range(items):
        x = rng.normal()
        seen, shared = x + 0.8 * rng.normal(), math.sqrt(rho) * rng.normal()
        label = "A" if x > 0 else "B"
        rows += [(i, "judge", "AB", 1, "A" if seen + 0.4 * rng.normal() > 0 else "B", label) for _ in range(3)]
        for j in range(jurors):
            lean = sensitivity * seen + shared + math.sqrt(1 - rho) * rng.normal()
            rows.append((i, f"juror {j + 1}", "AB", 1, "A" if lean > 0 else "B", label))
    return write_rows(path, rows)


def test_jurors_are_no_judges_and_give_the_jurys_law(tmp_path: Path) -> None:
    fit = calibrated(write_debates(tmp_path / "log.csv", 5))
    assert [judge.name for judge in fit.population.judges] == ["judge"]
    jury = fit.population.jury
    assert (jury.sensitivity, jury.rho) == (fit.intervals["jury.sensitivity"].mean, fit.intervals["jury.rho"].mean)
    assert fit.intervals["jury.sensitivity"].low <= 0.9 <= fit.intervals["jury.sensitivity"].high
    assert fit.intervals["jury.rho"].low <= 0.3 <= fit.intervals["jury.rho"].high
    assert "jury" not in fit.population.borrowed
    assert "2000 votes of 5 jurors are told apart" in " ".join(fit.report)
    told = json.loads(json.dumps(fit.to_json(), allow_nan=False))
    assert (told["jury"]["jurors"], told["jury"]["votes"]) == (5, 2000)
    assert set(told["judges"]) == {"judge"}


def test_the_jurys_law_gives_back_what_was_counted(tmp_path: Path) -> None:
    """The exact law of one juror on the fitted population, and pairs of jurors drawn from it."""
    fit = calibrated(write_debates(tmp_path / "log.csv", 5), draws=0)
    population, jury = fit.population, fit.population.jury
    one = simulate_exact(Debate(name="d", jurors=1), population).mean("accuracy").mean
    assert one == pytest.approx(fit.intervals["jury.accuracy"].mean, abs=1e-3)
    rng, n = np.random.default_rng(6), 400_000
    seen = population.items.mean_x + rng.normal(size=n) + population.judges[0].sigma_b * rng.normal(size=n)
    shared = jury.sensitivity * seen + math.sqrt(jury.rho) * rng.normal(size=n)
    first, second = (shared + math.sqrt(1 - jury.rho) * rng.normal(size=n) > 0 for _ in range(2))
    assert np.mean(first == second) == pytest.approx(fit.intervals["jury.agreement"].mean, abs=4e-3)


def test_one_juror_says_nothing_of_their_correlation(tmp_path: Path) -> None:
    fit = calibrated(write_debates(tmp_path / "log.csv", 1), draws=0)
    assert fit.population.jury.rho == JudgingPopulation(name="p").jury.rho
    assert "no two jurors" in fit.population.borrowed["jury"]
    assert json.loads(json.dumps(fit.to_json(), allow_nan=False))["jury"]["agreement"]["mean"] is None


def test_a_log_of_jurors_alone_has_them_as_its_judges(tmp_path: Path) -> None:
    path = write_judge_log(tmp_path / "log.csv", {"juror 1": 0.5, "juror 2": 0.5}, items=60)
    log, votes = split_jurors(read_log(path))
    assert (log.judges, votes) == (("juror 1", "juror 2"), None)


# --- what a log cannot tell ---


def test_one_order_says_nothing_of_the_position_and_the_json_holds_no_nan(tmp_path: Path) -> None:
    fit = calibrated(write_judge_log(tmp_path / "log.csv", {"a": 0.5, "b": 0.8}, items=80, orders=("AB",), shift=0.5))
    assert all((judge.position, judge.position_sd) == (0, 0) for judge in fit.population.judges)
    assert any("Position shift cannot be told for a, b" in warning for warning in fit.warnings)
    told = json.loads(json.dumps(fit.to_json(), allow_nan=False))
    assert told["between_judge_correlation"]["pairs"][0]["both_orders"] is None


def test_judges_who_share_no_item_are_fitted_apart(tmp_path: Path) -> None:
    whole = write_judge_log(tmp_path / "whole.csv", {"a": 0.5, "b": 0.8}, items=120, band=0.1)
    with whole.open(newline="", encoding="utf-8") as handle:
        rows = [row for row in csv.DictReader(handle) if (int(row["item_id"][1:]) % 2 == 0) == (row["judge"] == "a")]
    path = write_rows(tmp_path / "log.csv", [tuple(row.values()) for row in rows], tuple(rows[0]))
    fit = calibrated(path)
    json.dumps(fit.to_json(), allow_nan=False)
    assert {judge.name for judge in fit.population.judges} == {"a", "b"}


def test_a_judge_without_a_verdict_is_named(tmp_path: Path) -> None:
    rows: list[tuple[object, ...]] = [(i, "a", "AB", 0, "A" if i % 3 else "B", "AB"[i % 2]) for i in range(30)]
    rows += [(i, "silent", "AB", 0, "", "AB"[i % 2]) for i in range(30)]
    with pytest.raises(InputError, match="silent"):
        calibrated(write_rows(tmp_path / "log.csv", rows))


def test_labels_that_are_all_ties_cannot_be_calibrated(tmp_path: Path) -> None:
    rows: list[tuple[object, ...]] = [(i, "a", "AB", 0, "AB"[i % 2], "tie") for i in range(30)]
    with pytest.raises(InputError, match="decided label"):
        calibrated(write_rows(tmp_path / "log.csv", rows))


def test_a_log_with_one_label_only_is_no_calibration_of_accuracy(tmp_path: Path) -> None:
    rows: list[tuple[object, ...]] = [(i, "a", "AB", 0, "A" if i % 4 else "B", "A") for i in range(60)]
    fit = calibrated(write_rows(tmp_path / "log.csv", rows))
    assert not fit.population.calibrated
    assert any("No item is labelled B" in warning for warning in fit.warnings)


def test_short_verdicts_of_a_log_do_not_cut_a_debates_arguments_short(tmp_path: Path) -> None:
    header = ("item_id", "judge", "order", "verdict", "label", "prompt_tokens", "completion_tokens")
    rows = [(f"i{k}", "ann", order, "AB"[k % 2], "AB"[k % 3 == 0], 300, 20) for k in range(12) for order in ("AB", "BA")]
    tokens = calibrated(write_rows(tmp_path / "short.csv", rows, header), draws=0).population.tokens
    assert tokens.verdict == 20
    assert tokens.max_completion >= max(tokens.advocate, tokens.judge, tokens.juror)
