r"""Gates: from chains and signals to a tier.

The risk is :math:`U = \max_k (w_h h(k) + w_d d(k)) + w_q q` and the tier is the number of bounds at most U. Signals are screened first
(see :mod:`.encoding`); they are evaluated, as in the reference engine, only where the screen leaves the tier open or where the riskiest
step itself matters.
"""

from __future__ import annotations

import numpy as np

from ..model.draws import Purpose
from . import encoding as codes
from .encoding import Encoding, Floats
from .jit import called, helper
from .question import first_above, lookup, once, uniform
from .tile import P_RIGHT, SIGNALS, TILE, TOP_D, TOP_H, P, Tile, W

__all__ = ["faulty_step", "highest_signals", "oracle_tier", "riskiest", "tier_by_risk", "visible_fault"]

FAULTY_STEP = Purpose.FAULTY_STEP.value
FAULT_SHOWS = Purpose.FAULT_SHOWS.value

_SHIFT = np.uint32(32 - codes.SCREEN_BITS)
_CELLS = 1 << codes.SCREEN_BITS
_FAULTY = 2 * _CELLS
_HIGH = (1 << 32) - 1
_ORACLE_TIE = 1e-12


@helper
def faulty_step(encoding: Encoding, tile: Tile, i: int) -> int:
    """Step of the error of a wrong candidate."""
    return int(once(tile, FAULTY_STEP, i) * encoding.steps)


@helper
def visible_fault(encoding: Encoding, tile: Tile, i: int, candidate: int) -> int:
    """Step whose signals are those of a faulty step; -1 if none shows."""
    if candidate == 0:
        return -1
    if candidate == 1 and not once(tile, FAULT_SHOWS, i) < encoding.visibility:
        return -1
    return faulty_step(encoding, tile, i)


@helper
def highest_signals(encoding: Encoding, tile: Tile) -> None:
    """Find the largest word of h, and of d, over the steps of each question of a tile."""
    top = tile.words[TOP_H : TOP_H + 2 * TILE]
    for i in range(2 * TILE):
        top[i] = tile.words[SIGNALS + i]
    for step in range(1, encoding.steps):
        row = tile.words[SIGNALS + 2 * step * TILE : SIGNALS + 2 * (step + 1) * TILE]
        for i in range(2 * TILE):
            top[i] = max(top[i], row[i])


@helper
def _score(encoding: Encoding, tile: Tile, i: int, step: int, faulty: int) -> float:
    """Weighted signals of a step, without its share of q."""
    row = SIGNALS + 2 * step * TILE + i
    u = uniform(tile.words[row])
    if encoding.black_box:
        h = encoding.variants_entropy[first_above(encoding.variants_upto[faulty], u)]
    else:
        h = lookup(encoding.h_table[faulty], u)
    d = lookup(encoding.d_table[faulty], uniform(tile.words[row + TILE]))
    return encoding.weight_h * h + encoding.weight_d * d


@called
def riskiest(encoding: Encoding, tile: Tile, i: int, fault: int) -> tuple[float, int]:
    """Highest score over the steps, and the first step that has it."""
    top, where = -1.0, -1
    for step in range(encoding.steps):
        score = _score(encoding, tile, i, step, int(step == fault))
        if score > top:
            top, where = score, step
    return top, where


@helper
def _bounds_at_most(bounds: Floats, risk: float) -> int:
    tier = 0
    for bound in bounds:
        tier += bound <= risk
    return tier


@helper
def tier_by_risk(encoding: Encoding, tile: Tile, i: int, fault: int, disagreement: float) -> int:
    """Tier of a question; ``disagreement`` is weight_q q."""
    if fault < 0:  # the highest h and the highest d, whichever steps they belong to, bound the score of every clean step
        top = encoding.screen_top[tile.words[TOP_H + i] >> _SHIFT] + encoding.screen_top[_CELLS + np.int64(tile.words[TOP_D + i] >> _SHIFT)]
        lowest = _bounds_at_most(encoding.bounds, disagreement)
        if lowest == _bounds_at_most(encoding.bounds, top * codes.SCREEN_UNIT + disagreement):
            return lowest
    both, high = 0, 0
    for step in range(encoding.steps):
        row = np.uintp(SIGNALS + 2 * step * TILE + i)  # unsigned indices need no test for counting from the end
        table = np.uintp(_FAULTY if step == fault else 0)
        h = encoding.screen[table + (tile.words[row] >> _SHIFT)]
        d = encoding.screen[table + np.uintp(_CELLS) + (tile.words[row + np.uintp(TILE)] >> _SHIFT)]
        both = max(both, h + d)
        high = max(high, (h + d) & _HIGH)
    tier = _bounds_at_most(encoding.bounds, (both >> 32) * codes.SCREEN_UNIT + disagreement)
    if tier == _bounds_at_most(encoding.bounds, high * codes.SCREEN_UNIT + disagreement):
        return tier
    return _bounds_at_most(encoding.bounds, riskiest(encoding, tile, i, fault)[0] + disagreement)


@helper
def _power(x: float, exponent: int) -> float:
    value = 1.0
    for _ in range(exponent):
        value *= x
    return value


@called
def oracle_tier(encoding: Encoding, tile: Tile, i: int) -> int:
    """Cheapest tier within rounding of the highest P(right | p, w)."""
    p, w = tile.numbers[P + i], tile.numbers[W + i]
    best = 0.0
    for t in range(encoding.oracle_coefficients.shape[0]):
        total = 0.0
        for e in range(encoding.oracle_exponents.shape[0]):
            right = _power(p, encoding.oracle_exponents[e, 0])
            shared = _power((1 - p) * w, encoding.oracle_exponents[e, 1])
            stray = _power((1 - p) * (1 - w), encoding.oracle_exponents[e, 2])
            total += encoding.oracle_coefficients[t, e] * (right * shared * stray)
        tile.numbers[P_RIGHT + t] = total
        best = max(best, total)
    tier = 0
    while tile.numbers[P_RIGHT + tier] < best - _ORACLE_TIE:
        tier += 1
    return tier
