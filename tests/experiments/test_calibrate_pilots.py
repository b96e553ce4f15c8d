"""Calibration on published logs: the figures that are known of them."""

from pathlib import Path

import pytest

from adjourn.experiments.calibrate import Calibration, calibrate
from adjourn.experiments.logs import ReasoningLog, read_log
from adjourn.model import load_protocol
from adjourn.model.exact import simulate
from adjourn.model.settings import apply_settings


def fitted(shared_dir: Path, name: str, draws: int = 20) -> Calibration:
    log = read_log(shared_dir / "pilots" / f"{name}.csv")
    assert isinstance(log, ReasoningLog)
    return calibrate(log, draws=draws)


@pytest.fixture(scope="module")
def tense(shared_dir: Path) -> Calibration:
    return fitted(shared_dir, "tense-codex-16")


@pytest.fixture(scope="module")
def trivia(shared_dir: Path) -> Calibration:
    return fitted(shared_dir, "triviaqa-llama13b-20")


@pytest.fixture(scope="module")
def debates(shared_dir: Path) -> Calibration:
    return fitted(shared_dir, "math-gpt35-debate", draws=10)


@pytest.mark.parametrize(("name", "a", "b"), [("tense", 0.472, 0.135), ("trivia", 0.619, 0.554)])
def test_the_plain_beta_fit_is_the_known_one_and_is_said_to_understate_the_mean(
    name: str, a: float, b: float, request: pytest.FixtureRequest
) -> None:
    plain = request.getfixturevalue(name).plain
    assert plain.a.mean == pytest.approx(a, rel=0.01)
    assert plain.b.mean == pytest.approx(b, rel=0.01)
    assert plain.a.low < a < plain.a.high
    assert plain.own_mean - plain.mean == pytest.approx(0.02, abs=0.002)
    assert "understates the mean by 2.0 points" in plain.words


@pytest.mark.parametrize(("name", "sizes"), [("tense", {1, 3, 5, 16}), ("trivia", {1, 3, 5, 10, 20})])
def test_the_chosen_law_meets_the_logs_own_plurality_accuracy_within_a_point_and_a_half(
    name: str, sizes: set[int], request: pytest.FixtureRequest
) -> None:
    choice = request.getfixturevalue(name).choice
    assert sizes <= set(choice.sizes)
    assert max(abs(miss) for miss in choice.chosen.misses) < 0.015
    fixed = next(score for score in choice.scores if score.family.name == "p: beta, w: fixed")
    assert max(abs(miss) for miss in fixed.misses) > 0.015


def test_the_logs_own_accuracies_are_the_published_ones(tense: Calibration, trivia: Calibration) -> None:
    assert tense.choice.own[0] == pytest.approx(0.798, abs=5e-4)
    assert trivia.choice.own[0] == pytest.approx(0.548, abs=5e-4)
    assert trivia.choice.own[-1] == pytest.approx(0.747, abs=2e-3)


def test_the_exact_law_of_self_consistency_on_the_fitted_population_is_the_predicted_curve(tense: Calibration) -> None:
    for n in (1, 3, 5):
        protocol, population = apply_settings(load_protocol("cot_sc"), tense.population, {"n": str(n)})
        accuracy = simulate(protocol, population).means["accuracy"]
        assert accuracy is not None
        assert accuracy.mean == pytest.approx(tense.intervals[f"plurality_{n}"].mean, abs=1e-9)


def test_debates_that_stopped_early_are_fitted_on_the_agents_that_are_not_selected(debates: Calibration) -> None:
    assert debates.first.prefix == ("0", "1", "2")
    assert (len(debates.first), debates.first.left_out) == (4438, 362)
    assert debates.plain is not None
    assert debates.plain.a.mean == pytest.approx(0.314, abs=0.005)
    assert debates.plain.b.mean == pytest.approx(0.508, abs=0.005)


def test_rounds_of_those_debates_are_sequential_and_unusable_moves_are_counted(debates: Calibration) -> None:
    response = debates.response
    assert response is not None
    assert response.order.order == "sequential"
    assert response.order.advantage > 1000
    assert sum(response.moves.left_out.values()) + len(response.moves) == (debates.log.round > 1).sum()
    assert response.moves.left_out["a peer's answer is not in the log"] > 1000
    assert response.mean_miss < 0.03


def test_those_debates_lost_to_a_vote_on_their_first_answers(debates: Calibration) -> None:
    value = debates.debate
    assert value is not None
    assert value.difference.mean == pytest.approx(-0.017, abs=0.002)
    assert value.difference.half_width == pytest.approx(1.96 * 0.004, abs=0.001)
    assert value.difference.high < 0
