r"""The kernel: questions by the tile, from counters to points of the outcome lattice.

A tile of questions is drawn first, in loops without branches over all its questions: the numbers that every question reads (difficulty,
chains, signals), p and w, the kinds of the chains' answers. Then each question is played: candidate, tier, debate, decision; what only
some questions read is drawn there.

:func:`play_range` counts outcomes: a pure function of (encoding, key, first, count) that adds integers to ``counts``, so neither the size
of the ranges, nor their order, nor the thread, process or machine that runs them can change a bit of the sum.
"""

from __future__ import annotations

import numpy as np

from ..model.draws import Purpose
from ..model.outcomes import REASONS
from ..model.protocol import TARGETS
from ..model.stopping import StopReason
from . import encoding as codes
from .debate import hold_debate
from .encoding import Encoding, Integers
from .gate import faulty_step, highest_signals, oracle_tier, riskiest, tier_by_risk, visible_fault
from .jit import entry, helper
from .philox import fill_tile
from .question import classify, count_kinds, draw_difficulty, first_above, once, plurality, sample_until_stop, uniform
from .tile import ANSWERS, ONCE, RIGHT, SHARED, SIGNALS, TILE, Tile, Words

__all__ = ["play_range"]

SAMPLE_LIMIT = REASONS.index(StopReason.SAMPLE_LIMIT)
SAMPLING_STOP = REASONS.index(StopReason.SAMPLING_STOP)
CONFIDENT = REASONS.index(StopReason.CONFIDENT)
RISKIEST = TARGETS.index("riskiest")

_DIFFICULTY = Purpose.DIFFICULTY.value
_MISCONCEPTION = Purpose.MISCONCEPTION.value
_ANSWER = Purpose.ANSWER.value
_SIGNAL = Purpose.SIGNAL.value
_CONFIDENCE = Purpose.CONFIDENCE.value
_TARGET_STEP = Purpose.TARGET_STEP.value


@helper
def draw_tile(encoding: Encoding, tile: Tile, first: int, latent: Words, start: int, k0: np.uint32, k1: np.uint32) -> None:
    """Draw what every question of a tile reads; ``latent`` may bring the words of p and w."""
    fill_tile(tile.words, ONCE, first, 0, 0, k0, k1)
    for i in range(min(TILE, latent.shape[1] - start)):
        tile.words[ONCE + _DIFFICULTY * TILE + i] = latent[0, start + i]
        tile.words[ONCE + _MISCONCEPTION * TILE + i] = latent[1, start + i]
    if encoding.gate != codes.NO_DEBATE:
        fill_tile(tile.words, ONCE + 4 * TILE, first, 0, 1, k0, k1)
    draw_difficulty(encoding, tile)
    begin = 0 if encoding.sampling == codes.NO_STOP else encoding.chains
    for slot in range(begin, encoding.samples):
        if slot == begin or slot & 3 == 0:
            fill_tile(tile.words, ANSWERS, first, _ANSWER, slot >> 2, k0, k1)
        classify(tile, slot)
    if encoding.sampling == codes.NO_STOP:
        count_kinds(tile, encoding.chains)
    if encoding.gate == codes.UNCERTAINTY or (encoding.focus_matters and encoding.target == RISKIEST):
        for block in range((encoding.steps + 1) >> 1):
            fill_tile(tile.words, SIGNALS + 4 * TILE * block, first, _SIGNAL, block, k0, k1)
        highest_signals(encoding, tile)
    if encoding.gate == codes.CONFIDENCE:
        fill_tile(tile.words, ANSWERS, first, _CONFIDENCE, 0, k0, k1)


@helper
def choose_tier(encoding: Encoding, tile: Tile, i: int, drawn: int, candidate: int) -> int:
    """Tier of a question; -1 without a debate."""
    if encoding.gate == codes.NO_DEBATE:
        return -1
    if encoding.gate == codes.UNCERTAINTY:
        dominant = max(tile.integers[RIGHT + i], tile.integers[SHARED + i], 1)
        disagreement = encoding.weight_q * ((drawn - dominant) / drawn)
        return tier_by_risk(encoding, tile, i, visible_fault(encoding, tile, i, candidate), disagreement)
    if encoding.gate == codes.ORACLE:
        return oracle_tier(encoding, tile, i)
    if encoding.gate == codes.CONFIDENCE:
        confidence = 1 + first_above(encoding.confidence_upto[int(candidate == 0)], uniform(tile.words[ANSWERS + i]))
        return 0 if confidence < encoding.threshold else -1
    return 0


@helper
def is_focused(encoding: Encoding, tile: Tile, i: int, candidate: int) -> int:
    """1 if the rebuttal is focused on the step where a wrong candidate has its error, and that matters."""
    if not encoding.focus_matters or candidate == 0:
        return 0
    if encoding.target == RISKIEST:
        target = riskiest(encoding, tile, i, visible_fault(encoding, tile, i, candidate))[1]
    else:
        target = int(once(tile, _TARGET_STEP, i) * encoding.steps)
    return int(target == faulty_step(encoding, tile, i))


@helper
def play(encoding: Encoding, tile: Tile, i: int, question: int, k0: np.uint32, k1: np.uint32) -> tuple[int, int, int]:
    """One question of a tile: candidate, answer and point of the outcome lattice."""
    drawn, candidate = encoding.chains, -1
    if encoding.sampling != codes.NO_STOP:
        drawn = sample_until_stop(encoding, tile, i, question, k0, k1)
    if drawn > 0:
        candidate = plurality(tile, i, drawn)
    tier = choose_tier(encoding, tile, i, drawn, candidate)
    if tier >= 0:
        focused = is_focused(encoding, tile, i, candidate)
        candidate, answer, rounds, reason = hold_debate(encoding, tile, i, question, tier, focused, drawn, candidate, k0, k1)
    else:
        answer, rounds, reason = candidate, 0, CONFIDENT if encoding.gate == codes.CONFIDENCE else SAMPLE_LIMIT
        if drawn < encoding.chains:
            reason = SAMPLING_STOP
    index = (drawn * encoding.shape[1] + tier + 1) * encoding.shape[2] + rounds
    index = ((index * encoding.shape[3] + reason) * 2 + int(candidate == 0)) * 2 + int(answer == 0)
    return candidate, answer, index


@entry
def play_range(
    encoding: Encoding, tile: Tile, k0: np.uint32, k1: np.uint32, first: int, count: int, counts: Integers, paths: Integers, latent: Words
) -> None:
    """Play questions first .. first + count - 1.

    Parameters
    ----------
    encoding : Encoding
        What to run.
    tile : Tile
        Working memory of this thread.
    k0, k1 : uint32
        Key.
    first, count : int
        Range of questions.
    counts : ndarray of int64, shape (lattice size,)
        Outcomes are added to it.
    paths : ndarray of int64, shape (5, count) or (5, 0)
        Zeros; gets lattice point, candidate and answer of each question, and how many of its first ``encoding.samples`` independent answers
        are right and on the misconception (without a sampling stop), where it has room.
    latent : ndarray of uint32, shape (2, count) or (2, 0)
        Words that difficulty and misconception are drawn from instead of their own (quasi-random points).
    """
    wanted = paths.shape[1] > 0
    for start in range(0, count, TILE):
        draw_tile(encoding, tile, first + start, latent, start, k0, k1)
        for i in range(min(TILE, count - start)):
            candidate, answer, index = play(encoding, tile, i, first + start + i, k0, k1)
            counts[index] += 1
            if wanted:
                paths[0, start + i] = index
                paths[1, start + i] = candidate
                paths[2, start + i] = answer
                for slot in range(encoding.samples):
                    kind = tile.kinds[slot * TILE + i]
                    paths[3, start + i] += kind == 0
                    paths[4, start + i] += kind == 1
