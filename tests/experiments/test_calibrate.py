"""Calibration as a whole: degenerate logs, early stopping, tokens and confidence, intervals, and the population file."""

import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pilotlog import COLUMNS, answer_rows, debate_rows, write_csv

from adjourn.experiments.calibrate import Calibration, calibrate
from adjourn.experiments.calibrate.first_answers import is_informative
from adjourn.experiments.logs import ReasoningLog, read_log
from adjourn.model import BetaDifficulty, Copying, FileFormatError, FixedShare, Population, load_population
from adjourn.model.cost import Tokens

Rows = list[tuple[object, ...]]
Fit = Callable[..., Calibration]


@pytest.fixture
def fit(tmp_path: Path) -> Fit:
    def run(rows: Rows, columns: tuple[str, ...] = COLUMNS, draws: int = 20, **options: object) -> Calibration:
        log = read_log(write_csv(tmp_path / "pilot.csv", rows, columns))
        assert isinstance(log, ReasoningLog)
        return calibrate(log, draws=draws, **options)  # type: ignore[arg-type]

    return run


def warned(fit: Calibration, words: str) -> bool:
    return any(words in note for note in fit.warnings)


def test_a_log_that_is_all_right_is_valid_and_says_what_it_cannot_tell(fit: Fit) -> None:
    found = fit(answer_rows([(5, [])] * 20))
    assert found.population.difficulty.mean() == 1.0
    accuracy = found.intervals["accuracy"]
    assert accuracy.high == 1.0
    assert 0.8 < accuracy.low < 0.9  # Wilson's interval of 20 in 20 begins at .839
    assert warned(found, "All answers are right")
    assert "misconception" in found.population.borrowed


def test_a_log_that_is_all_wrong_is_valid_and_says_what_it_cannot_tell(fit: Fit) -> None:
    found = fit(answer_rows([(0, [3, 1])] * 20))
    assert found.population.difficulty.mean() == 0.0
    assert found.intervals["accuracy"].high > 0.1
    assert warned(found, "All answers are wrong")
    assert "misconception" not in found.population.borrowed


def test_one_answer_a_question_tells_the_mean_and_borrows_the_spread(fit: Fit) -> None:
    found = fit(answer_rows([(1, [])] * 30 + [(0, [1])] * 10))
    assert found.population.difficulty.mean() == pytest.approx(0.75)
    borrowed = load_population("gsm8k-gpt35").difficulty
    assert isinstance(borrowed, BetaDifficulty)
    assert isinstance(found.population.difficulty, BetaDifficulty)
    assert found.population.difficulty.a + found.population.difficulty.b == pytest.approx(borrowed.a + borrowed.b)
    assert {"difficulty", "misconception", "response", "signals", "tokens", "confidence"} <= set(found.population.borrowed)
    assert warned(found, "it tells the mean accuracy only")


@pytest.mark.parametrize("counts", [[(1, [])], [(0, [1])], [(2, [1])], [(1, [2]), (3, [])], [(0, [1, 1])] * 3])
def test_a_handful_of_questions_is_valid_and_called_few(fit: Fit, counts: list[tuple[int, list[int]]]) -> None:
    found = fit(answer_rows(counts))
    assert warned(found, "questions are few")
    assert 0 <= found.population.difficulty.mean() <= 1


def test_a_log_of_abstentions_alone_is_valid(fit: Fit) -> None:
    found = fit(answer_rows([(0, [])] * 8, silent=3))
    assert found.population.difficulty.mean() == 0.0
    assert warned(found, "24 of 24 independent answers (100.0 %) are missing")


def test_abstentions_agree_with_nobody_and_their_effect_on_votes_is_told(fit: Fit) -> None:
    found = fit(answer_rows([(2, [1])] * 30 + [(1, [2])] * 10, silent=4))
    assert found.first.largest.max() == 2
    assert found.first.size.tolist() == [7] * 40
    assert warned(found, "Were they left out of a vote")


def test_early_stopping_of_first_answers_is_seen_and_only_the_common_prefix_used(fit: Fit) -> None:
    agreed = [(f"a{q}", 1, agent, "x", 1) for q in range(60) for agent in range(3)]
    differed = [(f"b{q}", 1, agent, f"y{agent % 2}", int(agent % 2)) for q in range(60) for agent in range(5)]
    found = fit(agreed + differed)
    assert found.first.prefix == ("0", "1", "2")
    assert set(found.first.size) == {3}
    assert warned(found, "asking stopped early")


def test_answers_that_are_missing_at_random_are_all_used(fit: Fit) -> None:
    rng = np.random.default_rng(0)
    answers = [(f"q{q}", 0, agent, f"a{q % 5 > agent}", int(q % 5 > agent)) for q in range(80) for agent in rng.permutation(5)]
    kept = [row for row in answers if rng.random() < 0.9]
    found = fit(kept)
    assert not found.first.prefix
    assert int(found.first.size.sum()) == len(kept)


def test_the_false_alarm_rate_of_the_early_stopping_test_is_small() -> None:
    """200 logs of 100 questions with 3 or 6 answers whatever the agreement: .27 % nominal; more than 3 alarms have a chance of .3 %."""
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(200):
        present = np.ones((100, 6), dtype=bool)
        present[rng.random(100) < 0.5, 3:] = False
        shares = np.repeat(rng.choice([1 / 3, 2 / 3, 1.0], size=(100, 1)), 6, axis=1)
        alarms += is_informative(present, shares)
    assert alarms <= 3


def test_questions_that_have_agents_of_their_own_are_counted_by_place(fit: Fit) -> None:
    rows = [(f"q{q}", 0, f"run-{q}-{k}", "x" if k else "y", int(k > 0)) for q in range(40) for k in range(4)]
    found = fit(rows)
    assert set(found.first.size) == {4}
    assert found.first.accuracy == 0.75


@pytest.mark.parametrize("first_round", [0, 1])
def test_rounds_may_start_at_zero_or_one(fit: Fit, first_round: int) -> None:
    rows = [(q, round_ + first_round - 1, agent, answer, right) for q, round_, agent, answer, right in _debates()]
    found = fit(rows, draws=0)
    assert found.first.round == first_round
    assert found.response is not None
    assert len(found.response.moves) == 60 * 3


def _debates() -> Rows:
    population = Population(name="truth", difficulty=BetaDifficulty(1, 1), misconception=FixedShare(0.5), response=Copying())
    return debate_rows(population, 60, 3, 2, seed=1)


def test_with_one_round_the_response_rule_is_borrowed_and_the_report_says_what_that_does(fit: Fit) -> None:
    found = fit(answer_rows([(3, [2])] * 20 + [(5, [])] * 20))
    assert found.response is None
    assert found.debate is None
    assert found.population.response == Copying()
    assert "7,635" in found.population.borrowed["response"]
    assert warned(found, "Every figure of a design with debate rests on it")
    assert any("borrowed, not fitted" in text for text in found.report)


def test_tokens_and_confidence_are_taken_from_the_log_by_role_and_correctness(fit: Fit) -> None:
    columns = (*COLUMNS, "confidence", "prompt_tokens", "completion_tokens", "model")
    rows: Rows = []
    for q, round_, agent, answer, right in _debates():
        rows.append((q, round_, agent, answer, right, 9 if right else 4, 100 if round_ == 1 else 500, 30 if round_ == 1 else 20, "m-1"))
    found = fit(rows, columns, draws=0)
    tokens = found.population.tokens
    assert (tokens.question, tokens.solver, tokens.debater, tokens.local_context) == (100, 30, 20, 400)
    assert tokens.solver_sd == 0
    assert tokens.overhead == 500 - 100 - 3 * 30
    assert tokens.synthesiser == Tokens().synthesiser
    assert "synthesiser" in found.population.borrowed["tokens"]
    assert "solver," not in found.population.borrowed["tokens"]
    assert found.population.confidence.right[8] == 1.0
    assert found.population.confidence.wrong[3] == 1.0
    assert found.population.model == "m-1"


@pytest.mark.parametrize(("scale", "value"), [(0.1, 9), (1.0, 9), (10.0, 9)])
def test_stated_confidence_is_put_on_the_integers_one_to_ten(fit: Fit, scale: float, value: int) -> None:
    rows = [(*row, value * scale) for row in answer_rows([(2, [2])] * 30)]
    law = fit(rows, (*COLUMNS, "confidence"), draws=0).population.confidence
    assert law.right[value - 1] == 1.0


def test_confidence_on_no_known_scale_is_an_error_with_its_line(fit: Fit) -> None:
    rows = [(*row, 50) for row in answer_rows([(2, [2])] * 3)]
    rows[4] = (*rows[4][:-1], 400)
    with pytest.raises(FileFormatError, match="line 6: confidence = 400"):
        fit(rows, (*COLUMNS, "confidence"))


def test_a_log_of_several_models_has_no_model_of_its_own(fit: Fit) -> None:
    rows = [(*row, f"m{index % 2}") for index, row in enumerate(answer_rows([(2, [2])] * 10))]
    found = fit(rows, (*COLUMNS, "model"), draws=0)
    assert found.population.model == ""
    assert warned(found, "mixes 2 models")


def test_intervals_over_repeated_logs_cover_the_truth(tmp_path: Path) -> None:
    """30 logs of 60 questions: at least 25 of the 95 % intervals hold the truth (fewer has a chance of .3 % at 95 %)."""
    truth = Population(name="truth", difficulty=BetaDifficulty(0.8, 0.5), misconception=FixedShare(0.5))
    covered = []
    for seed in range(30):
        log = read_log(write_csv(tmp_path / "log.csv", debate_rows(truth, 60, 5, 1, seed=seed)))
        assert isinstance(log, ReasoningLog)
        interval = calibrate(log, draws=40).intervals["accuracy"]
        covered.append(interval.low <= 0.8 / 1.3 <= interval.high)
    assert sum(covered) >= 25


def test_the_population_file_is_read_back_and_remembers_the_fit(fit: Fit) -> None:
    found = fit(_debates())
    read = Population.from_dict(tomllib.loads(found.population.to_toml()))
    assert replace(read, fit={}) == replace(found.population, fit={})
    assert read.fit["questions"] == 60
    assert read.fit["response"]["moves"] == 180
    assert len(read.fit["intervals"]["accuracy"]) == 3
    json.dumps(read.fit, allow_nan=False)


def test_the_same_seed_gives_the_same_fit_to_the_last_bit(fit: Fit) -> None:
    first, second = fit(_debates(), seed=7), fit(_debates(), seed=7)
    assert first.population == second.population
    assert first.to_json() == second.to_json()
    assert fit(_debates(), seed=8).intervals != first.intervals


def test_refitting_all_questions_once_gives_the_fit_and_a_resample_another(fit: Fit) -> None:
    found = fit(_debates(), draws=0)
    same = found.refit(np.arange(found.questions))
    assert same.difficulty.mean() == pytest.approx(found.population.difficulty.mean(), abs=1e-3)
    other = found.refit(np.zeros(50, dtype=np.int64))
    assert other.difficulty != found.population.difficulty
    assert other.tokens == found.population.tokens


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.integers(0, 6),
            st.integers(0, 3),
            st.sampled_from(["0", "1", "2", "5", "zoe"]),
            st.sampled_from(["a", "b", "c", ""]),
            st.booleans(),
        ),
        min_size=1,
        max_size=60,
        unique_by=lambda row: row[:3],
    )
)
def test_any_log_that_can_be_read_can_be_calibrated(tmp_path: Path, rows: Rows) -> None:
    log = read_log(write_csv(tmp_path / "any.csv", rows))
    assert isinstance(log, ReasoningLog)
    found = calibrate(log, draws=2)
    assert 0 <= found.population.difficulty.mean() <= 1
    assert Population.from_dict(tomllib.loads(found.population.to_toml())).difficulty == found.population.difficulty
    assert all(found.report)
    json.dumps(found.to_json()["population"]["difficulty"])
