"""Room for one tile of questions: a few flat arrays, with named offsets into them.

Few arrays mean few pointers, which a kernel keeps in registers; a fixed width means that an index costs a shift. Each thread has a tile
of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..model.draws import AGENT_STRIDE
from ..model.scheduling import MOST_AGENTS
from .encoding import Encoding

__all__ = ["TILE", "Tile", "make_tile"]

TILE = 256
"""Questions of a tile: what belongs to them stays in the first two levels of cache."""

LANES = 8
"""Least number of blocks of a question made in one go: the 64-bit lanes of the widest vectors."""

COLUMNS = max(LANES, MOST_AGENTS // 4)

# offsets into words: rows of one word a question
ONCE, ANSWERS, TOP_H, TOP_D, SIGNALS = 0, 8 * TILE, 12 * TILE, 13 * TILE, 14 * TILE
# offsets into lanes: four rows of COLUMNS words each, of one question
MOVE, RENEWAL, RENEWED, LAPSE = (4 * COLUMNS * which for which in range(4))
# offsets into numbers: the law of each question; by cluster, the weights of the panel being played; by tier, P(right)
P, W, M = (TILE * which for which in range(3))
OWN, OTHERS, TOTAL = (3 * TILE + MOST_AGENTS * which for which in range(3))
P_RIGHT = 3 * TILE + 3 * MOST_AGENTS
# offsets into integers: chains of each question that are right and on the misconception; the panel being played
RIGHT, SHARED = 0, TILE
PANEL, CLUSTER, ANSWER, SIZE = (2 * TILE + MOST_AGENTS * which for which in range(4))


Words = npt.NDArray[np.uint32]


class Tile(NamedTuple):
    """Working memory of a kernel."""

    words: Words
    lanes: Words
    numbers: npt.NDArray[np.float64]
    integers: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.uint8]  # rows of TILE, one an independent answer: 0 right, 1 misconception, 2 stray
    blocks: npt.NDArray[np.int64]  # (T + 1, ...): block numbers of each tier's rounds, one after the other; last row 0, 1, 2, ...


def make_tile(encoding: Encoding) -> Tile:
    """Allocate a tile for an encoding."""
    tiers = len(encoding.agents)
    per_round = (encoding.agents + 3) // 4
    length = max(int((per_round * encoding.limit).max()), encoding.samples // 4 + 1) + COLUMNS
    blocks = np.zeros((tiers + 1, length), dtype=np.int64)
    blocks[tiers] = np.arange(length)
    for t in range(tiers):
        numbers = np.arange(int(per_round[t] * encoding.limit[t]))
        blocks[t, : len(numbers)] = (1 + numbers // max(int(per_round[t]), 1)) * (AGENT_STRIDE // 4) + numbers % max(int(per_round[t]), 1)
    return Tile(
        words=np.zeros(SIGNALS + 4 * TILE * ((2 * encoding.steps + 3) // 4), dtype=np.uint32),
        lanes=np.zeros(LAPSE + 4 * COLUMNS, dtype=np.uint32),
        numbers=np.zeros(P_RIGHT + tiers, dtype=np.float64),
        integers=np.zeros(SIZE + MOST_AGENTS, dtype=np.int64),
        kinds=np.zeros(max(encoding.samples, 1) * TILE, dtype=np.uint8),
        blocks=blocks,
    )
