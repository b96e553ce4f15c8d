"""The compiled generator against the published vectors and against the reference engine's draws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjourn.model.draws import philox4x32, split_seed
from adjourn.vectorized.jit import entry
from adjourn.vectorized.philox import fill_question, fill_tile
from adjourn.vectorized.philox import philox4x32 as compiled
from adjourn.vectorized.tile import COLUMNS, TILE

WORDS = st.integers(0, 2**32 - 1)

# Known-answer vectors of the Random123 distribution (kat_vectors, philox4x32 10): counter, key, words.
PUBLISHED = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@entry
def block(c0, c1, c2, c3, k0, k1, out):
    out[0], out[1], out[2], out[3] = compiled(c0, c1, c2, c3, k0, k1)


@entry
def tile(words, offset, first, place, block_number, k0, k1):
    fill_tile(words, offset, first, place, block_number, k0, k1)


@entry
def question(lanes, offset, number, place, blocks, start, count, k0, k1):
    fill_question(lanes, offset, number, place, blocks, start, count, k0, k1)


def words_of(counter, key):
    out = np.zeros(4, dtype=np.uint32)
    block(*(np.uint32(c) for c in (*counter, *key)), out)
    return tuple(int(word) for word in out)


@pytest.mark.parametrize(("counter", "key", "words"), PUBLISHED)
def test_both_generators_give_the_published_words(counter, key, words):
    assert words_of(counter, key) == words
    assert philox4x32(counter, key) == words


@given(st.tuples(WORDS, WORDS, WORDS, WORDS), st.tuples(WORDS, WORDS))
def test_compiled_block_is_the_reference_block(counter, key):
    assert words_of(counter, key) == philox4x32(counter, key)


@settings(max_examples=20)
@given(st.integers(0, 2**50), st.integers(0, 40), st.integers(0, 2**16), st.integers(0, 2**64 - 1))
def test_a_tile_holds_the_reference_blocks_of_its_questions(first, place, number, seed):
    key = split_seed(seed)
    words = np.zeros(6 * TILE, dtype=np.uint32)
    tile(words, TILE, first, place, number, *(np.uint32(k) for k in key))
    rows = words.reshape(6, TILE)
    assert not rows[[0, 5]].any()
    for i in (0, 1, TILE // 2, TILE - 1):
        q = first + i
        assert tuple(rows[1:5, i]) == philox4x32((q & 0xFFFFFFFF, q >> 32, place, number), key)


@settings(max_examples=20)
@given(st.integers(0, 2**50), st.lists(st.integers(0, 2**16), min_size=12, max_size=12), st.integers(0, 2**64 - 1))
def test_lanes_hold_the_reference_blocks_of_one_question(number, blocks, seed):
    key = split_seed(seed)
    lanes = np.zeros(5 * COLUMNS, dtype=np.uint32)
    question(lanes, COLUMNS, number, 21, np.array(blocks), 3, 8, *(np.uint32(k) for k in key))
    rows = lanes.reshape(5, COLUMNS)[1:]
    assert not rows[:, 8:].any()
    for column in range(8):
        assert tuple(rows[:, column]) == philox4x32((number & 0xFFFFFFFF, number >> 32, 21, blocks[3 + column]), key)
