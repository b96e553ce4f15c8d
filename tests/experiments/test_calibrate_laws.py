"""Laws of difficulty and misconception: likelihoods, fits against other optimisers, and the choice of a family."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pilotlog import answer_rows, write_csv
from scipy.optimize import minimize

from adjourn.experiments.calibrate.choice import choose
from adjourn.experiments.calibrate.first_answers import FirstAnswers, first_answers
from adjourn.experiments.calibrate.laws import (
    Kinds,
    Law,
    fit_difficulty,
    fit_joint,
    fit_share,
    log_counts,
    log_joint,
    log_largest,
    log_right,
    posterior,
)
from adjourn.experiments.calibrate.mixture import maximise, sine_grid
from adjourn.experiments.calibrate.scoring import maximise_in_box
from adjourn.experiments.logs import ReasoningLog, read_log
from adjourn.model import BetaDifficulty, BetaShare, FixedShare, MixtureDifficulty

Counts = list[tuple[int, list[int]]]


def gathered(tmp_path: Path, counts: Counts) -> FirstAnswers:
    log = read_log(write_csv(tmp_path / "log.csv", answer_rows(counts)))
    assert isinstance(log, ReasoningLog)
    return first_answers(log)


def drawn(law: Law, questions: int, size: int, seed: int) -> Counts:
    """Right answers and wrong clusters of questions drawn from a law with nodes."""
    rng = np.random.default_rng(seed)
    p, w, weight = law.nodes(40)
    counts = []
    for node in rng.choice(len(p), size=questions, p=weight / weight.sum()):
        right = int(rng.binomial(size, p[node]))
        shared = int(rng.binomial(size - right, w[node]))
        counts.append((right, [shared] * (shared > 0) + [1] * (size - right - shared)))
    return counts


def all_kinds(n: int) -> Kinds:
    """Every possible (k, M) of n answers."""
    pairs = [(k, m) for k in range(n + 1) for m in range(min(n - k, 1), n - k + 1)]
    k, m = np.array(pairs).T
    return Kinds(np.full(len(pairs), n), k, m, np.arange(len(pairs)))


laws = st.builds(
    Law,
    st.builds(BetaDifficulty, st.floats(0.05, 20), st.floats(0.05, 20), st.floats(0, 0.4), st.floats(0, 0.4)),
    st.one_of(st.builds(FixedShare, st.floats(0, 1)), st.builds(BetaShare, st.floats(0.05, 20), st.floats(0.05, 20))),
)


@given(laws, st.integers(1, 12))
def test_probabilities_of_right_count_and_largest_wrong_cluster_sum_to_one(law: Law, n: int) -> None:
    assert np.exp(log_joint(law, all_kinds(n))).sum() == pytest.approx(1.0, abs=1e-9)


@given(laws, st.integers(1, 8))
def test_closed_forms_agree_with_quadrature_over_nodes(law: Law, n: int) -> None:
    p, w, weight = law.nodes(2 * n)
    nodes = Law(MixtureDifficulty(tuple(np.clip(p, 0, 1)), tuple(weight / weight.sum()), tuple(np.clip(w, 0, 1))), None)
    kinds = all_kinds(n)
    assert np.exp(log_joint(law, kinds)) == pytest.approx(np.exp(log_joint(nodes, kinds)), abs=1e-9)


def test_two_different_repeated_wrong_answers_do_not_make_a_question_impossible(tmp_path: Path) -> None:
    kinds = Kinds.of(gathered(tmp_path, [(2, [3, 2, 2])] * 6 + [(5, [2])] * 3))
    assert np.isfinite(log_joint(Law(BetaDifficulty(1, 1), FixedShare(0.5)), kinds)).all()


def test_largest_cluster_by_hand() -> None:
    kinds = Kinds(np.array([3, 3, 3]), np.array([0, 0, 0]), np.array([1, 2, 3]), np.arange(3))
    assert np.exp(log_largest(FixedShare(0.5), kinds)) == pytest.approx([1 / 8 + 3 / 8, 3 / 8, 1 / 8])


def test_mass_points_hold_the_ends() -> None:
    law = BetaDifficulty(2, 2, mass_zero=0.25, mass_one=0.5)
    chance = np.exp(log_counts(law, np.array([0, 1, 2]), np.full(3, 2)))
    inner = np.array([0.3, 0.4, 0.3]) * 0.25
    assert chance == pytest.approx([inner[0] + 0.25, inner[1], inner[2] + 0.5])


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(2, 20), st.floats(0, 1)), min_size=3, max_size=12), st.integers(0, 10**6))
def test_the_beta_fit_is_no_worse_than_a_general_optimiser(answers: list[tuple[int, float]], seed: int) -> None:
    """Where all questions look alike the best shapes are infinite; there a fit may stop a fifth of a log unit short."""
    size = np.array([n for n, _ in answers])
    right = np.array([round(share * n) for n, share in answers])
    counts = np.random.default_rng(seed).integers(2, 6, len(size)).astype(float)
    kinds = Kinds(size, right, np.minimum(size - right, 1), np.arange(len(size)))
    if right.sum() in (0, size.sum()):
        return
    law = fit_difficulty("beta", kinds, counts)

    def loss(x: np.ndarray) -> float:
        return -float(counts @ log_right(BetaDifficulty(*np.exp(x).tolist()), kinds))

    starts = ([0, 0], [3, 3], [-3, -3], [2, -2])
    rival = min((minimize(loss, s, method="L-BFGS-B", bounds=[(math.log(0.0011), math.log(399))] * 2) for s in starts), key=lambda r: r.fun)
    allowed = 2e-3 if max(rival.x) < math.log(100) else 0.2
    assert counts @ log_right(law, kinds) > -rival.fun - allowed


def test_scoring_finds_the_maximum_of_a_known_likelihood_and_stops_at_a_bound() -> None:
    counts = np.array([30.0, 70.0])
    inside, _ = maximise_in_box(lambda x: np.log([x[0], 1 - x[0]]), counts, [0.9], [(0.01, 0.99)])
    assert inside[0] == pytest.approx(0.3, abs=1e-5)
    at_bound, _ = maximise_in_box(lambda x: np.log([x[0], 1 - x[0]]), counts, [0.9], [(0.5, 0.99)])
    assert at_bound[0] == 0.5


@given(st.integers(0, 10**6))
def test_the_mixture_reaches_the_maximum_by_its_optimality_condition(seed: int) -> None:
    """Lindsay's bound: the largest gradient is at most the gap asked for, at every grid point."""
    rng = np.random.default_rng(seed)
    grid = sine_grid(41)
    right = rng.integers(0, 11, 8)
    likelihood = grid ** right[:, None] * (1 - grid) ** (10 - right[:, None])
    likelihood /= likelihood.max(axis=1, keepdims=True)
    counts = rng.integers(1, 9, 8).astype(float)
    weight = maximise(likelihood, counts, (41,), gap=1e-4)
    gradient = (counts / (likelihood @ weight)) @ likelihood - counts.sum()
    assert gradient.max() < 2e-4
    warm = maximise(likelihood, counts, (41,), start=weight, gap=1e-4)
    assert counts @ np.log(likelihood @ warm) == pytest.approx(counts @ np.log(likelihood @ weight), abs=1e-3)


def test_a_mixture_keeps_the_mean_of_the_log(tmp_path: Path) -> None:
    first = gathered(tmp_path, drawn(Law(BetaDifficulty(0.4, 0.2), FixedShare(0.6)), 150, 8, seed=1))
    kinds = Kinds.of(first)
    law = fit_difficulty("mixture", kinds, kinds.counts(np.ones(len(first))))
    assert law.mean() == pytest.approx(first.accuracy, abs=5e-4)


def test_a_joint_mixture_recovers_two_points(tmp_path: Path) -> None:
    truth = Law(MixtureDifficulty((0.2, 0.9), (0.4, 0.6), (0.9, 0.1)), None)
    first = gathered(tmp_path, drawn(truth, 600, 16, seed=2))
    kinds = Kinds.of(first)
    law = fit_joint(kinds, kinds.counts(np.ones(len(first))))
    p, w, weight = law.nodes(0)
    hard = p < 0.55
    assert weight[hard].sum() == pytest.approx(0.4, abs=0.06)
    assert np.average(w[hard], weights=weight[hard]) == pytest.approx(0.9, abs=0.03)
    assert np.average(p[hard], weights=weight[hard]) == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize(("share", "family"), [(FixedShare(0.7), "fixed"), (BetaShare(2.0, 1.0), "beta")])
def test_the_law_of_the_misconception_is_recovered(tmp_path: Path, share: FixedShare | BetaShare, family: str) -> None:
    first = gathered(tmp_path, drawn(Law(BetaDifficulty(1, 1.5), share), 800, 12, seed=3))
    kinds = Kinds.of(first)
    fitted = fit_share(family, kinds, kinds.counts(np.ones(len(first))))
    assert fitted.coincidence() == pytest.approx(share.coincidence(), abs=0.03)


def test_the_posterior_of_a_question_is_bayes_rule() -> None:
    law = Law(BetaDifficulty(2.0, 3.0), FixedShare(0.25))
    p, trap = posterior(law, Kinds(np.array([4]), np.array([3]), np.array([1]), np.array([0])))
    assert p[0] == pytest.approx((2 + 3) / (5 + 4), abs=1e-5)
    assert trap[0] == pytest.approx(0.25 * (1 - p[0]), abs=1e-5)


def test_a_simple_truth_is_given_a_simple_family_and_a_joint_truth_a_joint_one(tmp_path: Path) -> None:
    simple = choose(gathered(tmp_path, drawn(Law(BetaDifficulty(1.0, 0.6), FixedShare(0.5)), 400, 8, seed=4)))
    assert simple.chosen.family.name == "p: beta, w: fixed"
    truth = Law(MixtureDifficulty((0.15, 0.5, 0.95), (0.3, 0.3, 0.4), (0.95, 0.1, 0.3)), None)
    joint = choose(gathered(tmp_path, drawn(truth, 400, 16, seed=5)))
    assert joint.chosen.family.w == "joint"


@pytest.mark.parametrize("seed", range(4))
def test_the_chosen_law_meets_the_logs_own_plurality_accuracy_where_four_distractors_compete(tmp_path: Path, seed: int) -> None:
    """Multiple choice breaks the model's one misconception a question; the choice is by what users need all the same."""
    rng = np.random.default_rng(seed)
    counts = []
    for _ in range(200):
        right, *wrong = rng.multinomial(16, rng.dirichlet([1.2, 0.4, 0.3, 0.2])).tolist()
        counts.append((right, [c for c in wrong if c]))
    choice = choose(gathered(tmp_path, counts))
    assert max(abs(miss) for miss in choice.chosen.misses) < 0.015
