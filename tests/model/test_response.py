"""Response rules: each against its formula, and what the formulas imply."""

import math
from dataclasses import replace

import numpy as np
import pytest
from enumeration import MISCONCEPTION, RIGHT, move_law
from hypothesis import given
from hypothesis import strategies as st
from strategies import response_rules

from adjourn.model import Copying, Follower, Logit, ParameterError
from adjourn.model.exact.panel import move_probabilities
from adjourn.model.response import RULES


class Law:
    def __init__(self, response):
        self.response = response


def moves(rule, sizes, p=0.6, w=0.5, focused=False):
    """P(an agent of cluster o moves to a), targets (right, misconception, fresh stray, strays...), by the exact engine's table."""
    sizes = np.array([sizes])
    return move_probabilities(sizes, rule, int(sizes.sum()), p, w, focused)[0]


@pytest.mark.parametrize("focused", [False, True])
@given(rule=response_rules(), sizes=st.lists(st.integers(0, 2), min_size=5, max_size=5).filter(lambda s: sum(s) - s[2] >= 1))
def test_every_move_has_the_probability_of_its_formula(focused, rule, sizes):
    sizes[2] = 0
    labels = [RIGHT, MISCONCEPTION, None, "s3", "s4"]
    answers = tuple(label for label, n in zip(labels, sizes, strict=True) for _ in range(n))
    p, w = 0.55, 0.35
    fresh = {RIGHT: p, MISCONCEPTION: (1 - p) * w, "new": (1 - p) * (1 - w)}
    table = moves(rule, sizes, p, w, focused)
    for own, n in enumerate(sizes):
        if n:
            law = move_law(Law(rule), answers, answers.index(labels[own]), fresh, focused)
            expected = [law.get(label, 0) for label in (RIGHT, MISCONCEPTION, "new", "s3", "s4")]
            np.testing.assert_allclose(table[own], expected, atol=1e-12)
            assert sum(expected) == pytest.approx(1)


def test_copying_is_a_share_of_powers():
    # One right peer against two wrong ones: theta 2, sigma 1/2, truth's factor 3.
    rule = Copying(theta=2, sigma=0.5, lam=math.log(3))
    right_weight, wrong_weight = 3 * 1**2, (0.5 + 1) ** 2
    assert moves(rule, [1, 2, 0])[1, 0] == pytest.approx(right_weight / (right_weight + wrong_weight))


def test_logit_is_an_exponential_of_utilities():
    rule = Logit(lam_self=0.3, lam_peer=0.7, lam_truth=0.2)
    right, wrong = math.exp(0.7 + 0.2), math.exp(0.3 + 0.7)
    assert moves(rule, [1, 2, 0])[1, 0] == pytest.approx(right / (right + wrong))


def test_logit_may_leave_everything_that_is_present():
    rule = Logit(lam_self=0, lam_peer=0, lam_truth=0, lam_fresh=0)
    law = moves(rule, [1, 1, 0], p=0.5, w=0.5)[1]
    assert law[:3] == pytest.approx([(1 + 0.5) / 3, (1 + 0.25) / 3, 0.25 / 3])


@pytest.mark.parametrize(
    ("sizes", "leaves"), [([2, 1, 0], 0.3), ([1, 1, 0], 0.3), ([2, 2, 0], 0.3), ([1, 2, 0, 1], 0.0), ([1, 1, 0, 1], 0.0)]
)
def test_a_follower_adopts_a_strict_majority_of_peers_only(sizes, leaves):
    # An agent on the misconception: 2 of 2, 1 of 1, 2 of 3 peers are right; then 1 of 3; then 1 of 2 (no strict majority).
    table = moves(Follower(adopt=0.3), sizes)
    assert table[1, 0] == pytest.approx(leaves)
    assert table[1, 1] == pytest.approx(1 - leaves)


@pytest.mark.parametrize("rule", [Copying(sigma=0), Logit(), Follower()], ids=lambda rule: rule.rule)
def test_an_agent_without_peers_keeps_its_answer(rule):
    assert moves(rule, [0, 1, 0])[1, 1] == 1


def test_an_agent_whose_peers_all_agree_with_it_keeps_its_answer():
    for rule in (Copying(), Logit(), Follower()):
        assert moves(rule, [0, 4, 0])[1, 1] == 1


def test_a_renewal_comes_before_a_lapse_and_a_lapse_before_the_rule():
    rule = Follower(adopt=0, iota=0.2, phi=0.5)
    law = moves(rule, [2, 1, 0], p=0.6, w=0.5)[0]
    assert law[0] == pytest.approx(0.2 * 0.6 + 0.8 * 0.5)
    assert law[1] == pytest.approx(0.2 * 0.4 * 0.5 + 0.8 * 0.5)


@given(st.floats(0, 3), st.floats(0, 2), st.floats(-2, 2), st.integers(0, 2))
def test_copying_does_not_change_when_peers_and_stubbornness_are_scaled(theta, sigma, lam, right):
    # An agent that sees k of 2 peers right at N = 3 moves like one that sees 5k of 10 at N = 11, with sigma scaled alike.
    small = Copying(theta=theta, sigma=sigma, lam=lam).weights(3)
    large = Copying(theta=theta, sigma=5 * sigma, lam=lam).weights(11)

    def chance(table, peers, k):
        right_weight, wrong_weight = table[0, k, 1], table[1, peers - k, 0]
        total = right_weight + wrong_weight
        return right_weight / total if total else 0.0

    assert chance(small, 2, right) == pytest.approx(chance(large, 10, 5 * right), abs=1e-12)


@pytest.mark.parametrize("theta", [0.5, 1.0, 1.45])
@pytest.mark.parametrize("lam", [0.0, 0.7])
def test_copying_from_three_agents_to_six_keeps_moves_that_see_the_same_shares(theta, lam):
    # All counts doubled, one's own included (N = 3: self + 2 peers; N = 6: two on the own answer): shares of weights are alike.
    rule = Copying(theta=theta, sigma=1.0, lam=lam)
    np.testing.assert_allclose(moves(rule, [1, 2, 0])[1], moves(rule, [2, 4, 0])[1], atol=1e-15)
    np.testing.assert_allclose(moves(rule, [1, 1, 0, 1])[0], moves(rule, [2, 2, 0, 2])[0], atol=1e-15)


@pytest.mark.parametrize("agents", range(2, 8))
def test_the_voter_model_keeps_the_expected_right_share(agents):
    rule = Copying(theta=1, sigma=1, lam=0)
    for right in range(agents + 1):
        sizes = [right, agents - right, 0]
        table = moves(rule, sizes)
        expected = sum(n * row[0] for n, row in zip(sizes, table, strict=True) if n)
        assert expected == pytest.approx(right)


def test_defaults_meet_the_published_move_table_within_three_points():
    # 7,635 moves of three agents: P(wrong -> right) with 1, 2 right of 3 is .456, .921; P(right -> wrong) .846, .360; leaving a wrong
    # majority .45. Two wrong agents may agree or not; the table does not say.
    rule = Copying()
    for wrong in ([1, 2, 0], [1, 1, 0, 1]):
        assert moves(rule, wrong)[1, 0] == pytest.approx(0.456, abs=0.03)
        assert 1 - moves(rule, wrong)[0, 0] == pytest.approx(0.846, abs=0.03)
    assert moves(rule, [2, 1, 0])[1, 0] == pytest.approx(0.921, abs=0.03)
    assert moves(rule, [2, 1, 0])[0, 1] == pytest.approx(0.360, abs=0.03)
    assert moves(rule, [1, 2, 0])[1, 0] == pytest.approx(0.45, abs=0.03)


def test_focus_multiplies_the_right_answers_weight_alone():
    plain, focused = Copying(lam_focus=0.9).weights(4), Copying(lam_focus=0.9).weights(4, focused=True)
    np.testing.assert_allclose(focused[:, :, 1], plain[:, :, 1] * math.exp(0.9))
    np.testing.assert_array_equal(focused[:, :, 0], plain[:, :, 0])


def test_utilities_beyond_double_precision_are_refused():
    with pytest.raises(ParameterError, match="lam_peer"):
        Logit(lam_peer=20).weights(64)


@pytest.mark.parametrize("cls", RULES.values())
@pytest.mark.parametrize("field", ["iota", "phi", "lam_focus"])
@pytest.mark.parametrize("bad", [-21, math.nan, "0.1", None, True])
def test_shared_events_are_checked_in_every_rule(cls, field, bad):
    with pytest.raises(ParameterError, match=field):
        cls(**{field: bad})


@pytest.mark.parametrize(
    ("rule", "bad"),
    [
        (Copying(), {"theta": -1}),
        (Copying(), {"sigma": -0.1}),
        (Copying(), {"lam": 30}),
        (Logit(), {"lam_fresh": 30}),
        (Follower(), {"adopt": 2}),
    ],
)
def test_parameters_out_of_range_are_refused(rule, bad):
    with pytest.raises(ParameterError, match=next(iter(bad))):
        replace(rule, **bad)
