r"""Philox4x32-10 for the kernels (Salmon, Moraes, Dror and Shaw 2011); the counters are those of :mod:`adjourn.model.draws`.

Ten rounds on a counter of four 32-bit words, with two multipliers M and two Weyl constants W added to the key after each round:

.. math:: (c_0, c_1, c_2, c_3) \mapsto (hi(M_1 c_2) \oplus c_1 \oplus k_0,\ lo(M_1 c_2),\ hi(M_0 c_0) \oplus c_3 \oplus k_1,\ lo(M_0 c_0)).

Blocks are made many at a time, in loops without branches that the compiler turns into vector instructions: one lane a question
(:func:`fill_tile`) or one lane a block of the same question (:func:`fill_question`).
"""

from __future__ import annotations

import numpy as np

from .encoding import Integers
from .jit import called, helper
from .tile import COLUMNS, TILE, Words

__all__ = ["fill_question", "fill_tile", "philox4x32"]

_M0 = np.uint64(0xD2511F53)
_M1 = np.uint64(0xCD9E8D57)
_W0 = np.uint32(0x9E3779B9)
_W1 = np.uint32(0xBB67AE85)
_HIGH = np.uint64(32)


@helper
def philox4x32(
    c0: np.uint32, c1: np.uint32, c2: np.uint32, c3: np.uint32, k0: np.uint32, k1: np.uint32
) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    """One block: four 32-bit words; all arguments are uint32."""
    for _ in range(10):
        product_0 = _M0 * np.uint64(c0)
        product_1 = _M1 * np.uint64(c2)
        c0, c1, c2, c3 = (
            np.uint32(product_1 >> _HIGH) ^ c1 ^ k0,
            np.uint32(product_1),
            np.uint32(product_0 >> _HIGH) ^ c3 ^ k1,
            np.uint32(product_0),
        )
        k0 = np.uint32(k0 + _W0)
        k1 = np.uint32(k1 + _W1)
    return c0, c1, c2, c3


@called
def fill_tile(words: Words, offset: int, first: int, place: int, block: int, k0: np.uint32, k1: np.uint32) -> None:
    """Block ``block`` of counter word ``place`` for the TILE questions from ``first``, into four rows of ``words`` from ``offset``."""
    rows = words[offset : offset + 4 * TILE]
    for i in range(TILE):
        question = np.uint64(first + i)
        x0, x1, x2, x3 = philox4x32(np.uint32(question), np.uint32(question >> _HIGH), np.uint32(place), np.uint32(block), k0, k1)
        rows[i] = x0
        rows[TILE + i] = x1
        rows[2 * TILE + i] = x2
        rows[3 * TILE + i] = x3


@called
def fill_question(
    lanes: Words, offset: int, question: int, place: int, blocks: Integers, start: int, count: int, k0: np.uint32, k1: np.uint32
) -> None:
    """Blocks blocks[start .. start + count - 1] of one question, into four rows of ``lanes`` from ``offset``."""
    rows = lanes[offset : offset + 4 * COLUMNS]
    numbers = blocks[start : start + count]
    low = np.uint32(np.uint64(question))
    high = np.uint32(np.uint64(question) >> _HIGH)
    for i in range(count):
        x0, x1, x2, x3 = philox4x32(low, high, np.uint32(place), np.uint32(numbers[i]), k0, k1)
        rows[i] = x0
        rows[COLUMNS + i] = x1
        rows[2 * COLUMNS + i] = x2
        rows[3 * COLUMNS + i] = x3
