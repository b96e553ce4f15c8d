"""Philox4x32-10, the counters, and the quantile tables."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import betaincinv

from adjourn.model import ParameterError
from adjourn.model.draws import (
    AGENT_STRIDE,
    FIRST_REPEATED,
    Purpose,
    QuantileTable,
    agent_slot,
    beta_table,
    cell_edges,
    philox4x32,
    split_seed,
    uniform,
)
from adjourn.model.quadrature import beta_quantile, tanh_sinh

# Known answers of the Random123 distribution (tests/kat_vectors, "philox4x32 10"): counter, key, output.
KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text):
    return tuple(int(word, 16) for word in text.split())


@pytest.mark.parametrize(("counter", "key", "output"), KNOWN_ANSWERS)
def test_philox_gives_the_published_answers(counter, key, output):
    assert philox4x32(words(counter), words(key)) == words(output)


def test_a_uniform_number_is_the_word_of_its_counter():
    seed, question = 0x299F31D0A4093822, 0x85A308D3243F6A88
    block = philox4x32((0x243F6A88, 0x85A308D3, Purpose.MOVE, 7), (0xA4093822, 0x299F31D0))
    assert [uniform(seed, question, Purpose.MOVE, 28 + k) for k in range(4)] == [(word + 0.5) / 2**32 for word in block]


def test_draws_that_occur_once_are_slots_of_counter_word_0():
    blocks = [philox4x32((9, 0, 0, b), (5, 0)) for b in range(2)]
    for purpose in (p for p in Purpose if p < FIRST_REPEATED):
        assert uniform(5, 9, purpose, 0) == (blocks[purpose // 4][purpose % 4] + 0.5) / 2**32


def test_no_two_purposes_share_a_counter():
    used = set()
    for purpose in Purpose:
        slots = range(1) if purpose < FIRST_REPEATED else range(0, 8 * AGENT_STRIDE, 509)
        for slot in slots:
            place = (0, purpose) if purpose < FIRST_REPEATED else (purpose, slot)
            assert place not in used
            used.add(place)


def test_agents_of_different_rounds_have_slots_of_their_own():
    slots = [agent_slot(r, j) for r, j in product(range(65), range(65))]
    assert len(set(slots)) == len(slots)


@pytest.mark.parametrize("bad", [-1, 2**64, 1.0, True, "1", None])
def test_a_seed_is_a_64_bit_integer(bad):
    with pytest.raises(ParameterError, match="seed"):
        split_seed(bad)


def test_seeds_at_the_ends_are_taken():
    assert split_seed(0) == (0, 0)
    assert split_seed(2**64 - 1) == (2**32 - 1, 2**32 - 1)
    assert split_seed(np.uint64(2**40)) == (0, 2**8)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.sampled_from(list(Purpose)), st.integers(0, 2**20))
def test_uniform_numbers_lie_strictly_between_0_and_1_and_are_repeatable(seed, question, purpose, slot):
    u = uniform(seed, question, purpose, slot)
    assert 0 < u < 1
    assert uniform(seed, question, purpose, slot) == u


def draws(purpose, slots, questions=4000, seed=11):
    return np.array([[uniform(seed, i, purpose, slot) for slot in slots] for i in range(questions)])


def test_uniform_numbers_are_uniform_and_uncorrelated_over_questions_slots_and_purposes():
    # 15 Kolmogorov-Smirnov tests at 1e-4 and 105 correlations within 4.5 standard errors: false alarms in about 0.2 % of seeds.
    columns = np.hstack([draws(Purpose.ANSWER, range(6)), draws(Purpose.MOVE, range(4096, 4101)), draws(Purpose.DIFFICULTY, [0])])
    columns = np.hstack(
        [columns, draws(Purpose.MISCONCEPTION, [0]), draws(Purpose.DIFFICULTY, [0], seed=12), np.roll(columns[:, :1], 1, 0)]
    )
    assert all(stats.kstest(column, "uniform").pvalue > 1e-4 for column in columns.T)
    off_diagonal = np.corrcoef(columns.T)[np.triu_indices(columns.shape[1], 1)]
    assert np.abs(off_diagonal).max() < 4.5 / math.sqrt(len(columns))


SHAPES = [
    (0.07, 0.88),
    (0.684, 0.199),
    (0.31, 0.51),
    (0.28, 0.15),
    (0.23, 1.44),
    (0.59, 0.1),
    (0.05, 0.05),
    (2, 1),
    (1, 1),
    (2, 8),
    (50, 30),
]


def table_points():
    """Middles and edges of all cells, from both ends, where uniform numbers can fall."""
    edges = cell_edges()
    t = np.concatenate([edges[1:-1], (edges[1:] + edges[:-1]) / 2])
    u = np.concatenate([t, 1 - t])
    return u[(u > 2.0**-33) & (u < 1 - 2.0**-33)]


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_quantile_table_is_within_2e_5_of_the_quantile_except_in_the_last_cell_of_each_end(a, b):
    u = table_points()
    u = u[np.minimum(u, 1 - u) >= 2.0**-21]
    exact = np.where(u < 0.5, betaincinv(a, b, u), 1 - betaincinv(b, a, 1 - u))
    table = beta_table(a, b)
    assert max(abs(table(float(x)) - q) for x, q in zip(u, exact, strict=True)) < 2.5e-5


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_moments_of_the_tabulated_law_are_those_of_the_beta_law_within_2e_6(a, b):
    width, table = np.diff(cell_edges()), beta_table(a, b)

    def mean(values):
        return ((values[:-1] + values[1:]) / 2) @ width

    def mean_square(values):
        return ((values[:-1] ** 2 + values[:-1] * values[1:] + values[1:] ** 2) / 3) @ width

    assert mean(table.lower) + mean(table.upper) == pytest.approx(a / (a + b), abs=2e-6)
    assert mean_square(table.lower) + mean_square(table.upper) == pytest.approx(a * (a + 1) / (a + b) / (a + b + 1), abs=2e-6)


@given(st.floats(0.02, 50), st.floats(0.02, 50), st.floats(2.0**-33, 1 - 2.0**-33), st.floats(2.0**-33, 1 - 2.0**-33))
def test_quantile_tables_are_monotone_and_stay_within_0_and_1(a, b, u, v):
    table = beta_table(round(a, 1) + 0.02, round(b, 1) + 0.02)
    low, high = sorted((u, v))
    assert 0 <= table(low) <= table(high) <= 1


def test_a_table_of_the_identity_is_the_identity():
    table = QuantileTable.of(lambda t: t, lambda t: 1 - t)
    for u in (2.0**-33, 1e-7, 0.1, 0.25, 0.5, 0.75, 0.999, 1 - 2.0**-33):
        assert table(u) == pytest.approx(u, abs=1e-15)


def test_tanh_sinh_integrates_singular_ends():
    node, weight = tanh_sinh()
    assert weight.sum() == pytest.approx(1, abs=1e-14)
    assert weight @ node**-0.5 == pytest.approx(2, abs=1e-9)
    assert weight @ -np.log(node) == pytest.approx(1, abs=1e-12)


@given(st.floats(0.1, 40), st.floats(0.1, 40))
def test_beta_quantile_is_a_number_at_every_node_and_inverts_the_distribution_function(a, b):
    node, _ = tanh_sinh()
    x = beta_quantile(a, b, node)
    assert np.isfinite(x).all()
    assert (np.diff(x) >= 0).all()
    inner = (node > 1e-9) & (x < 0.9)
    np.testing.assert_allclose(stats.beta.cdf(x[inner], a, b), node[inner], rtol=1e-8)


def test_beta_quantile_has_no_hole_where_scipy_has_one():
    v = np.array([3.8e-21, 9.6e-20, 1.9e-18, 3.2e-17])
    a, b = 1.0490631789560902, 0.9509368210439098
    x = beta_quantile(a, b, v)
    np.testing.assert_allclose(stats.beta.cdf(x, a, b), v, rtol=1e-8)
