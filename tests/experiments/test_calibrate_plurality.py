"""Plurality accuracy, predicted by a law and taken from a log, against enumeration and against the exact law of the model."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pilotlog import answer_rows, write_csv

from adjourn.experiments.calibrate.first_answers import FirstAnswers, first_answers
from adjourn.experiments.calibrate.laws import Law
from adjourn.experiments.calibrate.plurality import curve_sizes, own_accuracy, own_shares, predicted
from adjourn.experiments.logs import ReasoningLog, read_log
from adjourn.model import BetaDifficulty, BetaShare, FixedShare, MixtureDifficulty


def one_question(right: int, clusters: list[int], silent: int = 0) -> FirstAnswers:
    wrong = tuple(sorted(clusters, reverse=True)) + (1,) * silent
    size = right + sum(wrong)
    column = [np.array([x]) for x in (0, size, right, max(wrong, default=0), silent)]
    return FirstAnswers(0, *column, clusters=(wrong,))


def enumerated(right: int, clusters: list[int], silent: int, n: int, abstentions_vote: bool) -> float:
    answers = ["right"] * right + [f"w{c}" for c, size in enumerate(clusters) for _ in range(size)]
    answers += [f"silent{k}" for k in range(silent)]
    total, subsets = 0.0, 0
    for subset in combinations(answers, n):
        votes = [a for a in subset if abstentions_vote or not a.startswith("silent")]
        counts = {a: votes.count(a) for a in votes}
        top = max(counts.values(), default=0)
        total += (counts.get("right", 0) == top) / sum(c == top for c in counts.values()) if top else 0.0
        subsets += 1
    return total / subsets


@given(st.integers(0, 4), st.lists(st.integers(1, 3), max_size=3), st.integers(0, 2), st.booleans(), st.data())
def test_a_logs_own_accuracy_is_the_mean_over_all_subsets_with_fair_ties(
    right: int, clusters: list[int], silent: int, votes: bool, data: st.DataObject
) -> None:
    size = right + sum(clusters) + silent
    if size == 0:
        return
    n = data.draw(st.integers(1, size))
    share = own_shares(one_question(right, clusters, silent), n, abstentions_vote=votes)[0]
    assert share == pytest.approx(enumerated(right, clusters, silent, n, votes), abs=1e-12)


@pytest.mark.parametrize(
    ("right", "clusters", "n", "expected"),
    [(2, [1, 1], 4, 1.0), (2, [2], 4, 0.5), (1, [1, 1], 3, 1 / 3), (0, [1], 1, 0.0), (1, [2, 2], 5, 0.0), (2, [2, 2], 6, 1 / 3)],
)
def test_whole_questions_are_decided_by_hand(right: int, clusters: list[int], n: int, expected: float) -> None:
    assert own_accuracy(one_question(right, clusters), n) == pytest.approx(expected)


def test_uniform_difficulty_of_mean_two_thirds_and_one_wrong_answer_gives_seven_tenths_of_three() -> None:
    law = Law(BetaDifficulty(2.0, 1.0), FixedShare(1.0))
    assert predicted(3, law) == pytest.approx(0.7, abs=1e-12)
    assert predicted(1, law) == pytest.approx(2 / 3, abs=1e-12)


@given(st.floats(0.05, 5), st.floats(0.05, 5), st.floats(0, 1), st.integers(1, 9))
def test_products_in_closed_form_agree_with_quadrature_over_nodes(a: float, b: float, w: float, n: int) -> None:
    for share in (FixedShare(w), BetaShare(a, b)):
        law = Law(BetaDifficulty(a, b, 0.1, 0.05), share)
        p, at_w, weight = law.nodes(2 * n)
        nodes = MixtureDifficulty(tuple(np.clip(p, 0, 1)), tuple(weight / weight.sum()), tuple(np.clip(at_w, 0, 1)))
        assert predicted(n, law) == pytest.approx(predicted(n, Law(nodes, None)), abs=1e-9)


@given(st.integers(0, 2**31), st.integers(1, 7))
def test_a_law_predicts_the_mean_of_what_its_own_logs_say(seed: int, n: int) -> None:
    """Every draw of all answers to many questions: the unbiased estimate meets the prediction within 4.5 standard errors (7e-6 each)."""
    rng = np.random.default_rng(seed)
    p, w = rng.random(2)
    shares = []
    for _ in range(400):
        kinds = rng.choice(3, size=9, p=[p, (1 - p) * w, (1 - p) * (1 - w)])
        clusters = [int((kinds == 1).sum())] * bool((kinds == 1).any()) + [1] * int((kinds == 2).sum())
        shares.append(own_shares(one_question(int((kinds == 0).sum()), clusters), n)[0])
    error = max(float(np.std(shares)) / 20, 0.002)
    assert abs(np.mean(shares) - predicted(n, Law(MixtureDifficulty((p,), (1.0,)), FixedShare(w)))) < 4.5 * error


def test_the_curve_ends_at_the_number_of_answers_that_half_of_the_questions_hold(tmp_path: Path) -> None:
    log = read_log(write_csv(tmp_path / "log.csv", answer_rows([(3, [2])] * 4 + [(2, [1])] * 3)))
    assert isinstance(log, ReasoningLog)
    first = first_answers(log)
    assert curve_sizes(first) == (1, 3, 5)
    assert np.isnan(own_shares(first, 5)).sum() == 3
