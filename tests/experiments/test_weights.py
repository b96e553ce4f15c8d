"""Weights: on synthetic logs the weights that made them come back; calibration error by hand; files that are refused."""

import csv

import numpy as np
import pytest

from adjourn.experiments.plots import plot_reliability
from adjourn.experiments.saved import load_result
from adjourn.experiments.weights import (
    StepLog,
    concordance,
    expected_calibration_error,
    fit_weights,
    least_squares,
    read_steps,
)
from adjourn.model import FileFormatError, InputError, ParameterError


def synthetic(weights, questions=3000, steps=6, seed=0):
    """Steps whose risk is exactly calibrated under the given weights."""
    rng = np.random.default_rng(seed)
    shape = (questions, steps)
    h, d = rng.beta(1.2, 2.5, shape), rng.beta(0.8, 2.0, shape)
    q = np.repeat(rng.choice([0.0, 0.2, 0.4, 0.6, 0.8], questions)[:, None], steps, axis=1)
    signals = np.stack([h, q, d], axis=2).reshape(-1, 3)
    faulty = rng.random(len(signals)) < signals @ np.array(weights)
    return StepLog("synthetic", np.repeat(np.arange(questions), steps), signals, faulty)


@pytest.mark.parametrize("weights", [(0.45, 0.35, 0.20), (0.2, 0.2, 0.6), (0.7, 0.0, 0.3)])
def test_the_weights_that_made_a_log_are_recovered(weights):
    fit = fit_weights(synthetic(weights), seed=1)
    found = [e.mean for e in fit.weights.values()]
    assert found == pytest.approx(weights, abs=0.05)
    assert sum(found) == pytest.approx(1)
    for estimate, truth in zip(fit.weights.values(), weights, strict=True):
        assert estimate.low - 0.02 <= truth <= estimate.high + 0.02
    assert fit.ece["fitted"].mean < 0.03


def test_wrong_weights_are_worse_calibrated_on_the_held_out_half():
    fit = fit_weights(synthetic((0.1, 0.1, 0.8)), seed=2)
    assert fit.ece["fitted"].mean < fit.ece["published"].mean
    assert fit.concordance["fitted"] > fit.concordance["published"]


def test_thresholds_order_the_tiers_by_fault_rate_on_the_held_out_half():
    fit = fit_weights(synthetic((0.45, 0.35, 0.20)), seed=3)
    tiers = fit.tiers["fitted"]
    assert tiers.low < tiers.high
    assert sum(tiers.shares) == pytest.approx(1)
    rates = [e.mean for e in tiers.faulty]
    assert rates == sorted(rates)


def test_a_renamed_column_that_is_none_of_ours_is_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"--map = 'entropy=e'.*question_id, step, h, q, d, faulty"):
        read_steps(tmp_path / "steps.csv", {"entropy": "e"})


def test_calibration_error_by_hand():
    risk, faulty = np.array([0.1, 0.1, 0.9, 0.9]), np.array([0.0, 1.0, 1.0, 1.0])
    assert expected_calibration_error(risk, faulty, bins=2) == pytest.approx(0.5 * 0.4 + 0.5 * 0.1)
    assert expected_calibration_error(np.array([0.0, 1.0]), np.array([0.0, 1.0])) == 0


def test_concordance_by_hand():
    assert concordance(np.array([0.1, 0.5, 0.5, 0.9]), np.array([False, True, False, True])) == pytest.approx((1 + 0.5 + 1 + 1) / 4)


def test_least_squares_stays_on_the_simplex_and_is_never_beaten_there():
    rng = np.random.default_rng(0)
    x, y = rng.random((200, 3)), rng.random(200)
    best = least_squares(x, y)
    assert (best >= 0).all()
    assert best.sum() == pytest.approx(1)
    loss = np.mean((y - x @ best) ** 2)
    for w in rng.dirichlet(np.ones(3), 500):
        assert np.mean((y - x @ w) ** 2) >= loss - 1e-12


def write(path, log, rows):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["question_id", "step", "h", "q", "d", "faulty"])
        for i in range(rows):
            writer.writerow([log.question[i], i, *log.signals[i], int(log.faulty[i])])


def test_the_command_reads_a_log_and_saves_a_fit_that_loads_back(cli, tmp_path):
    path = tmp_path / "steps.csv"
    write(path, synthetic((0.45, 0.35, 0.20), questions=300), 1800)
    shown = cli("calibrate-weights", path, "--out", tmp_path / "w.json")
    assert shown.exit_code == 0
    assert "--set weight_h=" in shown.stdout
    again = load_result(tmp_path / "w.json")
    assert again.to_frame("pyarrow").num_rows == len(again.to_records()) == 20
    assert plot_reliability(again.curves()).get_ylabel()


def test_same_seed_same_fit():
    log = synthetic((0.45, 0.35, 0.20), questions=200)
    assert fit_weights(log, 5) == fit_weights(log, 5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("question_id,step,h,q,d\n1,1,0,0,0\n", "needs faulty"),
        ("question_id,step,h,q,d,faulty\n", "no rows"),
        ("question_id,step,h,q,d,faulty\n1,1,1.5,0,0,1\n", "range"),
        ("question_id,step,h,q,d,faulty\n1,1,,0,0,1\n", "missing"),
        ("question_id,step,h,q,d,faulty\n1,1,x,0,0,1\n", "no number"),
    ],
)
def test_files_that_are_no_step_logs_are_refused(tmp_path, text, words):
    path = tmp_path / "steps.csv"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=words):
        read_steps(path)


def test_logs_that_cannot_tell_are_refused():
    log = synthetic((0.45, 0.35, 0.20), questions=10)
    with pytest.raises(InputError, match="at least 40"):
        fit_weights(log)
    clean = synthetic((0.45, 0.35, 0.20), questions=60)
    with pytest.raises(InputError, match="no faulty"):
        fit_weights(StepLog("x", clean.question, clean.signals, np.zeros_like(clean.faulty)))
