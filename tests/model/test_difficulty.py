"""The law of (p, w): quadrature against closed forms, quantiles, coincidence."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import betaln

from adjourn.model import BetaDifficulty, BetaShare, FixedShare, MixtureDifficulty, ParameterError
from adjourn.model.difficulty import beta_nodes, draw_question, question_law

SHAPES = [(0.07, 0.88), (0.684, 0.199), (2.0, 1.0), (0.01, 0.02), (30.0, 40.0), (0.001, 5.0), (1000.0, 2000.0), (1e4, 1e4), (1e-3, 1e-3)]


def moment(a, b, right, wrong):
    """E[p^right (1 - p)^wrong] under Beta(a, b)."""
    return math.exp(betaln(a + right, b + wrong) - betaln(a, b))


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize("degree", [1, 5, 23, 64])
def test_nodes_integrate_polynomials_of_their_degree_exactly(a, b, degree):
    p, weight = BetaDifficulty(a, b).nodes(degree)
    assert weight.sum() == pytest.approx(1, abs=1e-13)
    assert p.min() >= 0
    assert p.max() <= 1
    for right in range(0, degree + 1, max(1, degree // 5)):
        assert weight @ (p**right * (1 - p) ** (degree - right)) == pytest.approx(moment(a, b, right, degree - right), rel=1e-8, abs=1e-13)


@given(st.floats(0.05, 20), st.floats(0.05, 20), st.integers(1, 30))
def test_numbers_of_right_answers_are_beta_binomial(a, b, n):
    p, weight = BetaDifficulty(a, b).nodes(n)
    k = np.arange(n + 1)
    found = (stats.binom.pmf(k[:, None], n, p[None, :]) * weight).sum(axis=1)
    np.testing.assert_allclose(found, stats.betabinom.pmf(k, n, a, b), atol=1e-11)


@pytest.mark.parametrize("n", [1, 3, 40, 4096])
@pytest.mark.parametrize(("a", "b"), [(0.07, 0.88), (0.684, 0.199), (2.0, 1.0), (1e-3, 1e-3), (1e4, 1e4), (1e4, 1e-3)])
def test_number_right_is_beta_binomial_with_what_the_masses_add(a, b, n):
    law = BetaDifficulty(a, b, 0.1, 0.2).number_right(n)
    expected = 0.7 * stats.betabinom(n, a, b).pmf(np.arange(n + 1))
    expected[0] += 0.1
    expected[n] += 0.2
    np.testing.assert_allclose(law, expected, atol=2e-9)
    assert law.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("n", [1, 3, 40])
def test_number_right_of_a_mixture_is_the_mixture_of_binomials(n):
    law = MixtureDifficulty((0.0, 0.3, 1.0), (0.2, 0.5, 0.3))
    i = np.arange(n + 1)
    expected = np.stack([stats.binom(n, p).pmf(i) for p in law.p])
    np.testing.assert_allclose(law.number_right_by_point(n), expected, atol=1e-14)
    np.testing.assert_allclose(law.number_right(n), np.array(law.weight) @ expected, atol=1e-14)


def test_point_masses_are_questions_that_are_never_or_always_right():
    law = BetaDifficulty(2, 3, 0.1, 0.25)
    p, weight = law.nodes(6)
    assert weight[p == 0] == pytest.approx([0.1])
    assert weight[p == 1] == pytest.approx([0.25])
    assert weight @ p == pytest.approx(law.mean()) == pytest.approx(0.25 + 0.65 * 0.4)
    assert weight @ p**6 == pytest.approx(0.25 + 0.65 * moment(2, 3, 6, 0))


def test_all_mass_may_be_at_the_ends():
    p, weight = BetaDifficulty(1, 1, 0.3, 0.7).nodes(4)
    assert weight @ p**2 == pytest.approx(0.7)


def test_quantiles_of_a_law_with_masses_jump_over_them():
    law = BetaDifficulty(2, 3, 0.1, 0.25)
    assert law.at(0.05) == 0
    assert law.at(0.9) == 1
    assert law.at(0.1 + 0.65 * 0.3) == pytest.approx(stats.beta(2, 3).ppf(0.3), abs=1e-5)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_quantiles_with_masses_stay_within_0_and_1(zero, one, word):
    zero, one = zero / 2, one / 2
    assert 0 <= BetaDifficulty(0.5, 0.5, zero, one).at((word + 0.5) / 2**32) <= 1


def test_mixture_quantiles_pick_the_points_by_weight():
    law = MixtureDifficulty((0.1, 0.5, 0.9), (0.25, 0.25, 0.5), (0, 0.5, 1))
    assert [law.at(u) for u in (0.1, 0.2499, 0.25, 0.4, 0.5, 0.99)] == [0.1, 0.1, 0.5, 0.5, 0.9, 0.9]
    assert law.mean() == pytest.approx(0.6)


@pytest.mark.parametrize("share", [FixedShare(0.3), BetaShare(2, 3)])
def test_coincidence_is_the_mean_square_of_w(share):
    w, weight = share.nodes(2)
    assert weight @ w**2 == pytest.approx(share.coincidence())


def test_question_law_is_the_product_of_independent_laws():
    p, w, weight = question_law(BetaDifficulty(2, 3), BetaShare(1, 4), 4)
    assert weight @ (p**4 * w**3) == pytest.approx(moment(2, 3, 4, 0) * moment(1, 4, 3, 0))


def test_question_law_of_a_joint_mixture_keeps_the_pairs():
    p, w, weight = question_law(MixtureDifficulty((0.2, 0.8), (0.4, 0.6), (0.9, 0.1)), None, 9)
    assert list(zip(p, w, weight, strict=True)) == [(0.2, 0.9, 0.4), (0.8, 0.1, 0.6)]


@pytest.mark.parametrize(
    ("difficulty", "share"),
    [
        (BetaDifficulty(0.684, 0.199), BetaShare(1, 2)),
        (BetaDifficulty(0.07, 0.88, 0.1, 0.1), FixedShare(0.5)),
        (MixtureDifficulty((0.2, 0.8), (0.4, 0.6), (0.9, 0.1)), None),
    ],
)
def test_drawn_questions_have_the_laws_moments(difficulty, share):
    # Five means of 4,000 draws within 4.5 standard errors: a false alarm in 3e-5 of seeds.
    drawn = np.array([draw_question(difficulty, share, 3, i) for i in range(4000)])
    p, w, weight = question_law(difficulty, share, 6)
    for function in (lambda p, w: p, lambda p, w: p**2, lambda p, w: w, lambda p, w: w**2, lambda p, w: p * w):
        values, mean = function(*drawn.T), weight @ function(p, w)
        variance = weight @ function(p, w) ** 2 - mean**2
        assert abs(values.mean() - mean) <= 4.5 * math.sqrt(max(variance, 0) / 4000) + 1e-6


def test_beta_nodes_are_made_once():
    assert beta_nodes(0.3, 0.4, 7)[0] is beta_nodes(0.3, 0.4, 7)[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: BetaDifficulty(0, 1),
        lambda: BetaDifficulty(1, math.nan),
        lambda: BetaDifficulty(1, 1e5),
        lambda: BetaDifficulty("1", 1),
        lambda: BetaDifficulty(True, 1),
        lambda: BetaDifficulty(1, 1, 0.7, 0.7),
        lambda: BetaDifficulty(1, 1, -0.1),
        lambda: MixtureDifficulty((), ()),
        lambda: MixtureDifficulty((0.5,), (0.9,)),
        lambda: MixtureDifficulty((0.5, 1.1), (0.5, 0.5)),
        lambda: MixtureDifficulty((0.5,), (0.5, 0.5)),
        lambda: MixtureDifficulty((0.5, 0.6), (0.5, 0.5), (0.1,)),
        lambda: MixtureDifficulty((0.5, 0.6), (-0.5, 1.5)),
        lambda: FixedShare(1.5),
        lambda: FixedShare(math.inf),
        lambda: BetaShare(0, 1),
    ],
)
def test_what_is_no_law_is_refused(make):
    with pytest.raises(ParameterError):
        make()
