r"""Questions and their chains: difficulty, independent answers, sampling stops, the candidate.

Answers are labels as in the reference engine: 0 right, 1 the misconception, 2 + slot a stray. The kernels keep an independent answer as
its kind (0 right, 1 misconception, 2 stray); its slot makes the label. With u uniform and :math:`m = p + (1 - p) w`,

.. math:: kind = [u \ge p] + [u \ge m].

All arithmetic is that of :mod:`adjourn.model.difficulty` and :mod:`adjourn.model.reference`, operation by operation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..model import draws
from ..model.draws import Purpose
from . import encoding as codes
from .encoding import Encoding, Floats
from .jit import helper
from .philox import fill_question
from .tile import ANSWERS, COLUMNS, LANES, MOVE, ONCE, RIGHT, SHARED, TILE, M, P, Tile, W

__all__ = ["classify", "draw_difficulty", "lookup", "plurality", "sample_until_stop", "uniform"]

STRAY = 2
DIFFICULTY = Purpose.DIFFICULTY.value
MISCONCEPTION = Purpose.MISCONCEPTION.value
CANDIDATE_TIE = Purpose.CANDIDATE_TIE.value
ANSWER = Purpose.ANSWER.value

_UNIT = 2.0**-32
_TAIL = 2.0 ** -(draws.OCTAVES + 1)
_FRACTION_BITS = 52 - (draws.CELLS_PER_OCTAVE.bit_length() - 1)
_FRACTION = (1 << _FRACTION_BITS) - 1
_FRACTION_UNIT = 2.0**-_FRACTION_BITS
_FIRST_CELL = (1023 - draws.OCTAVES - 1) * draws.CELLS_PER_OCTAVE - 1
_SMALLEST = 2.0**-33


def _bits_of(typing_context: Any, number: Any) -> Any:
    """Bit pattern of a double as an integer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


_bits: Any = intrinsic(_bits_of)


@helper
def uniform(word: np.uint32) -> float:
    """Uniform number in (0, 1) of a 32-bit word."""
    return (np.float64(word) + 0.5) * _UNIT


@helper
def lookup(table: Floats, u: float) -> float:
    """Quantile of u by a padded :class:`QuantileTable`; cell and fraction are read off the bits of the distance to the nearer end."""
    half = 0
    t = u
    if u >= 0.5:
        half = 1
        t = 1.0 - u
    if t < _TAIL:
        index = 0
        fraction = t / _TAIL
    else:
        bits: Any = _bits(t)
        index = (bits >> _FRACTION_BITS) - _FIRST_CELL
        fraction = np.float64(bits & _FRACTION) * _FRACTION_UNIT
    low = table[half, index]
    return low + fraction * (table[half, index + 1] - low)


@helper
def first_above(upto: Floats, u: float) -> int:
    """Index of the first cumulative weight above u; the last index if none is."""
    last = upto.shape[0] - 1
    index = 0
    while index < last and upto[index] <= u:
        index += 1
    return index


@helper
def _beta_difficulty(encoding: Encoding, u: float) -> float:
    if u < encoding.mass_zero:
        return 0.0
    if u >= 1.0 - encoding.mass_one:
        return 1.0
    if encoding.mass_zero > 0.0 or encoding.mass_one > 0.0:
        u = (u - encoding.mass_zero) / (1.0 - encoding.mass_zero - encoding.mass_one)
        u = min(max(u, _SMALLEST), 1.0 - _SMALLEST)
    return lookup(encoding.p_table, u)


@helper
def once(tile: Tile, purpose: int, i: int) -> float:
    """Uniform number of a purpose that occurs once a question."""
    return uniform(tile.words[ONCE + purpose * TILE + i])


@helper
def draw_difficulty(encoding: Encoding, tile: Tile) -> None:
    """Draw p, w and m of each question of a tile."""
    law = tile.numbers
    for i in range(TILE):
        u = once(tile, DIFFICULTY, i)
        point = 0
        if encoding.difficulty == codes.BETA:
            law[P + i] = _beta_difficulty(encoding, u)
        else:
            point = first_above(encoding.point_upto, u)
            law[P + i] = encoding.point_p[point]
        if encoding.share == codes.FIXED:
            law[W + i] = encoding.w_fixed
        elif encoding.share == codes.BETA:
            law[W + i] = lookup(encoding.w_table, once(tile, MISCONCEPTION, i))
        else:
            law[W + i] = encoding.point_w[point]
        law[M + i] = law[P + i] + (1.0 - law[P + i]) * law[W + i]


@helper
def kind_of(word: np.uint32, p: float, m: float) -> int:
    """Kind of an independent answer."""
    u = uniform(word)
    return int(u >= p) + int(u >= m)


@helper
def classify(tile: Tile, slot: int) -> None:
    """Kinds of the independent answers of one slot, for a tile."""
    words = tile.words[ANSWERS + (slot & 3) * TILE : ANSWERS + ((slot & 3) + 1) * TILE]
    kinds = tile.kinds[slot * TILE : (slot + 1) * TILE]
    for i in range(TILE):
        kinds[i] = np.uint8(kind_of(words[i], tile.numbers[P + i], tile.numbers[M + i]))


@helper
def count_kinds(tile: Tile, chains: int) -> None:
    """How many of the chains of each question are right, and on the misconception."""
    for i in range(TILE):
        tile.integers[RIGHT + i] = 0
        tile.integers[SHARED + i] = 0
    for slot in range(chains):
        kinds = tile.kinds[slot * TILE : (slot + 1) * TILE]
        for i in range(TILE):
            tile.integers[RIGHT + i] += kinds[i] == 0
            tile.integers[SHARED + i] += kinds[i] == 1


@helper
def _ends(encoding: Encoding, tile: Tile, i: int, drawn: int, right: int, shared: int) -> bool:
    """Whether the sampling stop ends it after ``drawn`` chains."""
    if encoding.sampling == codes.ADAPTIVE:
        strays = drawn - right - shared
        high, low = max(right, shared), min(right, shared)
        if high == 0:
            return encoding.sure_at[min(strays - 1, 1)] <= 1
        return high >= encoding.sure_at[max(low, min(strays, 1))]
    if drawn % encoding.window != 0:
        return False
    kind = tile.kinds[(drawn - 1) * TILE + i]
    for slot in range(drawn - encoding.window, drawn - 1):
        if tile.kinds[slot * TILE + i] != kind:
            return False
    return kind < STRAY or encoding.window == 1


@helper
def sample_until_stop(encoding: Encoding, tile: Tile, i: int, question: int, k0: np.uint32, k1: np.uint32) -> int:
    """Draw chains of one question until the sampling stop ends it; returns their number."""
    right, shared, drawn = 0, 0, 0
    while drawn < encoding.chains:
        if drawn % (4 * LANES) == 0:
            fill_question(tile.lanes, MOVE, question, ANSWER, tile.blocks[-1], drawn >> 2, LANES, k0, k1)
        word = tile.lanes[MOVE + (drawn & 3) * COLUMNS + (drawn >> 2) % LANES]
        kind = kind_of(word, tile.numbers[P + i], tile.numbers[M + i])
        tile.kinds[drawn * TILE + i] = np.uint8(kind)
        right += kind == 0
        shared += kind == 1
        drawn += 1
        if drawn < encoding.chains and _ends(encoding, tile, i, drawn, right, shared):
            break
    tile.integers[RIGHT + i] = right
    tile.integers[SHARED + i] = shared
    return drawn


@helper
def sampled(tile: Tile, i: int, slot: int) -> int:
    """Label of the independent answer of a slot."""
    kind = int(np.int64(tile.kinds[slot * TILE + i]))  # int() alone would keep the byte
    return kind if kind < STRAY else STRAY + slot


@helper
def position_of(tile: Tile, i: int, answer: int) -> int:
    """First chain that gives an answer."""
    if answer >= STRAY:
        return answer - STRAY
    slot = 0
    while tile.kinds[slot * TILE + i] != answer:
        slot += 1
    return slot


@helper
def plurality(tile: Tile, i: int, drawn: int) -> int:
    """Most frequent answer of the chains; ties by a fair draw among the leaders in order of first appearance."""
    right, shared = tile.integers[RIGHT + i], tile.integers[SHARED + i]
    strays = drawn - right - shared
    if right > shared and (right > 1 or strays == 0):
        return 0
    if shared > right and (shared > 1 or strays == 0):
        return 1
    if drawn == 1:
        return sampled(tile, i, 0)
    tie = once(tile, CANDIDATE_TIE, i)
    if right == shared and right > 1:
        first = 0 if position_of(tile, i, 0) < position_of(tile, i, 1) else 1
        return first if int(tie * 2) == 0 else 1 - first
    return sampled(tile, i, int(tie * drawn))  # every answer came once
