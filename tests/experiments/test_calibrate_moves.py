"""Moves and response rules: what agents saw, by hand; and rules recovered from logs whose rule is known."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pilotlog import debate_rows, sequential_rows, write_csv

from adjourn.experiments.calibrate import Calibration, calibrate
from adjourn.experiments.calibrate.laws import Law
from adjourn.experiments.calibrate.moves import NEW_RIGHT, NEW_WRONG, Moves, Order, gather
from adjourn.experiments.calibrate.rules import fit_rules, log_probability, next_right_probability
from adjourn.experiments.logs import ReasoningLog, read_log
from adjourn.model import BetaDifficulty, Copying, FixedShare, Follower, Logit, Population, StableConsensus
from adjourn.model.response import ResponseRule

LAW = Law(BetaDifficulty(1.0, 1.0), FixedShare(0.5))


def read(path: Path) -> ReasoningLog:
    log = read_log(path)
    assert isinstance(log, ReasoningLog)
    return log


def moves_of(tmp_path: Path, rows: list[tuple[object, ...]], order: Order = "simultaneous") -> Moves:
    return gather(read(write_csv(tmp_path / "log.csv", rows)), LAW, order)


def said(*answers: str, round_: int, question: str = "q", agents: tuple[int, ...] | None = None) -> list[tuple[object, ...]]:
    """One round's rows; answers that begin with r are right."""
    return [
        (question, round_, agent, answer, int(answer.startswith("r")))
        for agent, answer in zip(agents or range(len(answers)), answers, strict=True)
    ]


def seen(moves: Moves) -> dict[tuple[int, int], tuple[tuple[int, bool], ...]]:
    """By (round, agent): number of peers and right mark of each answer shown, the agent's own first."""
    table = {}
    for (_, round_, agent), kind in zip(moves.place, moves.kind, strict=True):
        shown = moves.peers[kind] >= 0
        table[round_, agent] = tuple(zip(moves.peers[kind][shown].tolist(), moves.right[kind][shown].tolist(), strict=True))
    return table


def test_simultaneous_agents_see_the_previous_round(tmp_path: Path) -> None:
    moves = moves_of(tmp_path, said("r", "a", "a", round_=1) + said("a", "r", "a", round_=2))
    assert seen(moves) == {(2, 0): ((0, True), (2, False)), (2, 1): ((1, False), (1, True)), (2, 2): ((1, False), (1, True))}
    assert moves.outcome[moves.kind].tolist() == [1, 1, 0]


def test_sequential_agents_see_the_new_answers_of_those_before_them(tmp_path: Path) -> None:
    moves = moves_of(tmp_path, said("r", "a", "a", round_=1) + said("a", "r", "b", round_=2), "sequential")
    assert seen(moves) == {(2, 0): ((0, True), (2, False)), (2, 1): ((2, False),), (2, 2): ((1, False), (1, True))}
    assert moves.outcome[moves.kind].tolist() == [1, NEW_RIGHT, NEW_WRONG]


def test_right_answers_are_one_cluster_however_they_are_spelt(tmp_path: Path) -> None:
    moves = moves_of(tmp_path, said("r1", "r2", "a", round_=1) + said("r3", "r1", "r2", round_=2))
    assert seen(moves)[2, 0] == ((1, True), (1, False))
    assert moves.next_right.all()


def test_moves_without_their_information_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = said("r", "a", "b", round_=1, question="gap", agents=(0, 1, 3)) + said("r", "a", "a", round_=2, question="gap", agents=(0, 1, 3))
    rows += said("r", "", "b", round_=1, question="silent") + said("r", "a", "", round_=2, question="silent")
    rows += said("r", "a", round_=1, question="late") + said("r", "a", "b", round_=2, question="late")
    rows += said("r", round_=1, question="alone") + said("r", round_=2, question="alone")
    rows += said("r", "a", "b", "c", round_=1, question="whole") + said("r", "r", "r", "r", round_=2, question="whole")
    moves = moves_of(tmp_path, rows)
    assert moves.left_out == {
        "a peer's answer is not in the log": 3 + 2,
        "a peer had no answer": 1,
        "the agent had no answer before": 1,
        "the agent gave no answer": 1,
        "the agent's own last answer is not in the log": 1,
        "the agent had no peers": 1,
    }
    assert len(moves) == 4


def test_independent_samples_beyond_the_panel_are_no_peers(tmp_path: Path) -> None:
    moves = moves_of(tmp_path, said("r", "a", "b", "b", "b", round_=0) + said("r", "r", round_=1))
    assert seen(moves) == {(1, 0): ((0, True), (1, False)), (1, 1): ((0, False), (1, True))}


def test_the_largest_repeated_wrong_answer_is_the_misconception_and_single_ones_share_the_suspicion(tmp_path: Path) -> None:
    moves = moves_of(tmp_path, said("a", "a", "b", round_=1) + said("a", "a", "b", round_=2))
    by_agent = {agent: moves.suspicion[kind, 0] for (_, _, agent), kind in zip(moves.place, moves.kind, strict=True)}
    assert by_agent == {0: 1.0, 1: 1.0, 2: 0.0}
    single = moves_of(tmp_path, said("r", "a", "b", round_=1) + said("r", "a", "b", round_=2))
    w = 0.5
    assert single.suspicion[single.suspicion > 0] == pytest.approx(w / (1 - w + 2 * w), abs=1e-6)


RULES: tuple[ResponseRule, ...] = (
    Copying(theta=1.6, sigma=0.8, lam=0.7, iota=0.1, phi=0.05),
    Logit(lam_self=1.0, lam_peer=0.8, lam_truth=0.4, lam_fresh=-0.5),
    Follower(adopt=0.4, iota=0.1),
)


@pytest.mark.parametrize("rule", RULES)
def test_the_probabilities_of_all_outcomes_of_a_move_sum_to_one(tmp_path: Path, rule: ResponseRule) -> None:
    rows = said("r", "a", "b", "a", round_=1) + said("a", "r", "c", "r", round_=2) + said("d", "d", "d", "d", round_=3)
    rows += said("a", "b", "c", "d", round_=1, question="p") + said("r", "r", "r", "r", round_=2, question="p")
    moves = moves_of(tmp_path, rows)
    width = moves.peers.shape[1]
    outcomes = [NEW_RIGHT, NEW_WRONG, *range(width)]
    chances = []
    for outcome in outcomes:
        asked = replace(moves, outcome=np.full(len(moves.agents), outcome))
        shown = (outcome < 0) | (moves.peers[:, max(outcome, 0)] >= 0)
        chances.append(np.where(shown, np.exp(log_probability(rule, asked)), 0.0))
    assert sum(chances) == pytest.approx(np.ones(len(moves.agents)), abs=1e-12)
    right = chances[0] + sum(np.where(moves.right[:, o], chances[o + 2], 0.0) for o in range(width))
    assert next_right_probability(rule, moves) == pytest.approx(right, abs=1e-12)


def test_the_probability_of_a_move_is_that_of_the_rule_by_hand(tmp_path: Path) -> None:
    moves = moves_of(tmp_path, said("r", "a", "a", round_=1) + said("a", "a", "a", round_=2))
    rule = Copying(theta=2.0, sigma=0.5, lam=math.log(3.0), phi=0.1)
    leaver = moves.kind[0]
    by_rule = 2.0**2 / (2.0**2 + 3 * 0.5**2)
    assert math.exp(log_probability(rule, moves)[leaver]) == pytest.approx(0.1 * 1.0 + 0.9 * by_rule)


POPULATION = Population(name="truth", difficulty=BetaDifficulty(1.2, 0.8), misconception=FixedShare(0.6))
CASES: dict[str, tuple[ResponseRule, dict[str, float]]] = {
    "copying": (RULES[0], {"theta": 1.6, "sigma": 0.8, "lam": 0.7, "iota": 0.1, "phi": 0.05}),
    "voter model": (Copying(theta=1.0, sigma=1.0, lam=0.0), {"theta": 1.0, "sigma": 1.0, "lam": 0.0}),
    "logit": (RULES[1], {"lam_self": 1.0, "lam_peer": 0.8, "lam_truth": 0.4, "lam_fresh": -0.5}),
    "follower": (RULES[2], {"adopt": 0.4, "iota": 0.1}),
}


@pytest.fixture(scope="module")
def fits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Calibration]:
    folder = tmp_path_factory.mktemp("debates")
    found = {}
    for name, (rule, _) in CASES.items():
        rows = debate_rows(replace(POPULATION, response=rule), 500, 4, 3, seed=3)
        found[name] = calibrate(read(write_csv(folder / "log.csv", rows)), draws=60)
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_known_rule_is_chosen_and_its_parameters_lie_in_their_intervals(fits: dict[str, Calibration], name: str) -> None:
    """Seventeen 95 % intervals with a fixed seed; widened by half, each would miss its truth about once in 300."""
    rule, truth = CASES[name]
    fit = fits[name]
    assert fit.response is not None
    assert type(fit.response.chosen.rule) is type(rule)
    assert fit.response.order.order == "simultaneous"
    assert fit.response.worst.excess < 0.03
    assert fit.response.mean_miss < 0.02
    for key, value in truth.items():
        interval = fit.intervals[f"response_{key}"]
        middle, half = (interval.low + interval.high) / 2, (interval.high - interval.low) / 2
        assert abs(value - middle) < 1.5 * half, key


def test_control_a_wrong_rule_is_refused_by_its_interval_and_its_likelihood(fits: dict[str, Calibration]) -> None:
    voter = fits["voter model"]
    interval = voter.intervals["response_theta"]
    assert not interval.low < 1.6 < interval.high
    assert voter.response is not None
    moves = voter.response.moves
    counts = moves.counts(np.ones(voter.questions))
    wrong = float(counts @ np.maximum(log_probability(Copying(theta=1.6, sigma=0.8, lam=0.7), moves), -30.0))
    assert voter.response.chosen.log_likelihood - wrong > 20


def test_a_follower_rules_out_moves_to_a_minority(fits: dict[str, Calibration]) -> None:
    response = fits["voter model"].response
    assert response is not None
    follower = next(f for f in response.fits if isinstance(f.rule, Follower))
    assert follower.impossible > 0
    assert follower.aic == math.inf


def test_debates_of_agents_that_speak_in_turn_are_recognised_and_the_rule_recovered(tmp_path: Path) -> None:
    rule = Copying(theta=1.6, sigma=0.8, lam=0.5)
    log = read(write_csv(tmp_path / "log.csv", sequential_rows(replace(POPULATION, response=rule), 300, 4, 3, seed=5)))
    fit = calibrate(log, draws=0, rule="copying")
    assert fit.response is not None
    assert fit.response.order.order == "sequential"
    assert fit.response.order.advantage > 20
    found = fit.response.chosen.parameters()
    assert found["theta"] == pytest.approx(1.6, abs=0.25)
    assert found["sigma"] == pytest.approx(0.8, abs=0.2)
    assert found["lam"] == pytest.approx(0.5, abs=0.3)
    asked = calibrate(log, draws=0, order="simultaneous")
    assert asked.response is not None
    assert asked.response.order.order == "simultaneous"
    assert asked.response.order.asked


def test_stopping_early_does_not_bias_the_rule(tmp_path: Path) -> None:
    rule = Copying(theta=1.6, sigma=0.8, lam=0.7)
    rows = debate_rows(replace(POPULATION, response=rule), 900, 4, 4, seed=8, stop=StableConsensus("3/4", 1))
    fit = calibrate(read(write_csv(tmp_path / "log.csv", rows)), draws=60)
    assert fit.response is not None
    assert len({row[1] for row in rows}) > 2
    for key, value in {"theta": 1.6, "sigma": 0.8, "lam": 0.7}.items():
        interval = fit.intervals[f"response_{key}"]
        half = (interval.high - interval.low) / 2
        assert abs(value - interval.mean) < 1.5 * half


def test_debate_minus_vote_is_the_paired_difference_by_hand(tmp_path: Path) -> None:
    rows = said("r", "a", "b", round_=1, question="1") + said("r", "r", "b", round_=2, question="1")  # vote 1/3, decision 1
    rows += said("r", "r", "b", round_=1, question="2")  # ended at once: 1 and 1
    rows += said("r", "a", "a", round_=1, question="3") + said("r", "a", "a", round_=2, question="3")  # 0 and 0
    rows += said("r", "", "", round_=1, question="4") + said("a", "", "", round_=2, question="4")  # abstentions cast no vote: 1 and 0
    value = calibrate(read(write_csv(tmp_path / "log.csv", rows)), draws=0).debate
    assert value is not None
    assert value.difference.mean == pytest.approx((2 / 3 + 0 + 0 - 1) / 4)
    assert value.vote.mean == pytest.approx((1 / 3 + 1 + 0 + 1) / 4)
    assert value.difference_debated.mean == pytest.approx((2 / 3 + 0 - 1) / 3)
    assert (value.questions, value.debated) == (4, 3)


def test_fitting_under_weights_equals_fitting_rows_written_so_often(fits: dict[str, Calibration], tmp_path: Path) -> None:
    fit = fits["copying"]
    assert fit.response is not None
    moves = fit.response.moves
    weight = np.ones(fit.questions)
    doubled = fit_rules(moves, 2 * moves.counts(weight))
    assert doubled[0].log_likelihood == pytest.approx(2 * fit.response.fits[0].log_likelihood, rel=1e-5)
    again = fit.refit(np.arange(fit.questions))
    assert again.response.weights(4) == pytest.approx(fit.population.response.weights(4), rel=2e-2)
