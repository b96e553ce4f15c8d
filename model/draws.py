r"""Which counter answers which random question.

Every random number of a simulation is a pure function of (seed, question, purpose, slot), by the counter-based generator
Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011): key = the 64-bit
seed, counter = (question low word, question high word, purpose, slot // 4); the four 32-bit words of a block serve the slots
4b .. 4b+3. Purposes that occur once a question share the blocks of one counter word, each with a slot of its own. There is no
state and no stream: the draw of agent j in round r of question i is the same whichever protocol, engine, thread, chunk or
machine asks for it, so two protocols run on the same seed share their questions (common random numbers) without any
bookkeeping.

A word x becomes the uniform number :math:`u = (x + 1/2) 2^{-32}`, exact in double precision and never 0 or 1.

Other laws come by inverse transform. A quantile function is tabulated on cells that halve towards both ends of (0, 1)
(:class:`QuantileTable`), so that its tails are as good as its middle; the reference engine and the compiled kernels read the
same table with the same arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from .errors import ParameterError
from .quadrature import beta_quantile

__all__ = [
    "AGENT_STRIDE",
    "CELLS_PER_OCTAVE",
    "FIRST_REPEATED",
    "OCTAVES",
    "Purpose",
    "QuantileTable",
    "agent_slot",
    "beta_table",
    "normal_table",
    "philox4x32",
    "split_seed",
    "table_cell",
    "uniform",
]

_MASK = 0xFFFFFFFF
_MULTIPLIER_0 = 0xD2511F53
_MULTIPLIER_1 = 0xCD9E8D57
_WEYL_0 = 0x9E3779B9
_WEYL_1 = 0xBB67AE85
_ROUNDS = 10

AGENT_STRIDE = 4096
"""Slots of one round: agent j of round r reads slot r * AGENT_STRIDE + j."""


class Purpose(IntEnum):
    """What a random number decides. The numbers are part of the file format: never reuse one.

    Numbers below ``FIRST_REPEATED`` occur once a question: they are the slots of counter word 0. The others are counter words,
    each with slots of its own.
    """

    DIFFICULTY = 0
    MISCONCEPTION = 1
    CANDIDATE_TIE = 2
    FAULTY_STEP = 3
    FAULT_SHOWS = 4
    TARGET_STEP = 5
    DECISION_TIE = 6

    ANSWER = 16  # slot = index of the independent sample (a chain, or a fresh first answer)
    SIGNAL = 17  # slot = 2 step for the entropy h, 2 step + 1 for the contradiction d
    RENEWAL = 18  # slot = agent_slot(round, agent): does the agent draw a fresh answer (iota)?
    RENEWED_ANSWER = 19
    LAPSE = 20  # does a right agent fall for the misconception (phi)?
    MOVE = 21  # which of the answers present does the response rule choose?
    CONFIDENCE = 22  # slot = agent_slot(round, agent); round 0 and agent 0 for a single chain

    ITEM = 32  # judging: the item's own numbers; slots are those of judging.sampling.Latent
    JUDGE = 33  # slot = judging.sampling.judge_slot: a judge's own bias on the item, its position shift, whether it is undecided
    GAP = 34  # slot = the call's (judging.sampling.call_slot), times 12 for the criteria of a rubric
    GAP_TIE = 35  # does a zero-inflated gap vanish?
    ARGUMENT = 36  # slot = one an advocate of a call: how good its argument is
    JUROR = 37  # a juror's own noise
    CALL_ORDER = 38  # which answer a call shows first, where that is random
    JUROR_ORDER = 39  # the same for a juror
    PARSE = 40  # can the judge's scores be read?


FIRST_REPEATED = 16
"""Smallest purpose that has slots of its own."""


def split_seed(seed: object) -> tuple[int, int]:
    """Split a 64-bit seed into the two words of a Philox key.

    Raises
    ------
    ParameterError
        If the seed is no integer from 0 to 2**64 - 1.
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= int(seed) < 2**64:
        raise ParameterError("seed", seed, "an integer from 0 to 2**64 - 1")
    return int(seed) & _MASK, int(seed) >> 32


def philox4x32(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """One block of Philox4x32-10: four 32-bit words from a 128-bit counter and a 64-bit key."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(_ROUNDS):
        product_0 = _MULTIPLIER_0 * c0
        product_1 = _MULTIPLIER_1 * c2
        c0, c1, c2, c3 = (product_1 >> 32) ^ c1 ^ k0, product_1 & _MASK, (product_0 >> 32) ^ c3 ^ k1, product_0 & _MASK
        k0 = (k0 + _WEYL_0) & _MASK
        k1 = (k1 + _WEYL_1) & _MASK
    return c0, c1, c2, c3


@lru_cache(maxsize=4096)
def _block(seed: int, question: int, purpose: int, block: int) -> tuple[int, int, int, int]:
    return philox4x32((question & _MASK, question >> 32, purpose, block), split_seed(seed))


def uniform(seed: int, question: int, purpose: int, slot: int) -> float:
    """Return the uniform number in (0, 1) that answers (seed, question, purpose, slot); slot 0 where it occurs once a question."""
    if purpose < FIRST_REPEATED:
        purpose, slot = 0, purpose
    return (_block(seed, question, purpose, slot >> 2)[slot & 3] + 0.5) * 2.0**-32


def agent_slot(round_: int, agent: int) -> int:
    """Slot of an agent's draw in a round (both counted from 0)."""
    return round_ * AGENT_STRIDE + agent


OCTAVES = 20
CELLS_PER_OCTAVE = 256
_TAIL = 2.0 ** -(OCTAVES + 1)


@dataclass(frozen=True, eq=False)
class QuantileTable:
    r"""A quantile function Q on (0, 1), linear within cells that halve towards both ends.

    The distance t = min(u, 1 - u) to the nearer end lies in octave k, :math:`2^{-k-1} \le t < 2^{-k}`; each octave k = 1 ..
    ``OCTAVES`` has ``CELLS_PER_OCTAVE`` equal cells, and below :math:`2^{-OCTAVES-1}` there is one last cell.

    Attributes
    ----------
    lower : ndarray of float, shape (OCTAVES * CELLS_PER_OCTAVE + 2,)
        ``lower[0]`` = Q(0); then Q at the cell edges t, ascending, up to t = 1/2.
    upper : ndarray of float, same shape
        Q(1 - t) at the same t.
    """

    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]

    @classmethod
    def of(
        cls,
        quantile: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]],
        quantile_from_top: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]],
    ) -> QuantileTable:
        """Tabulate Q by ``quantile(t)`` and ``quantile_from_top(t)`` = Q(1 - t), both vectorised and finite on [0, 1/2]."""
        edges = cell_edges()
        return cls(quantile(edges), quantile_from_top(edges))

    def __call__(self, u: float) -> float:
        """Q(u), u in (0, 1)."""
        if u < 0.5:
            table, t = self.lower, u
        else:
            table, t = self.upper, 1.0 - u
        index, fraction = table_cell(t)
        low = float(table[index])
        return low + fraction * (float(table[min(index + 1, len(table) - 1)]) - low)


def table_cell(t: float) -> tuple[int, float]:
    """Cell of the distance t in (0, 1/2] to the nearer end of (0, 1), and the place within it from 0 to 1."""
    if t < _TAIL:
        return 0, t / _TAIL
    mantissa, exponent = math.frexp(t)
    position = (mantissa - 0.5) * (2 * CELLS_PER_OCTAVE)
    cell = int(position)
    return 1 + (OCTAVES + exponent) * CELLS_PER_OCTAVE + cell, position - cell


@lru_cache(maxsize=1)
def cell_edges() -> npt.NDArray[np.float64]:
    """Return the distances t from an end at which tables hold their values, ascending from 0 to 1/2."""
    steps = 0.5 + np.arange(CELLS_PER_OCTAVE) / (2 * CELLS_PER_OCTAVE)
    octaves = [math.ldexp(1.0, -k) * steps for k in range(OCTAVES, 0, -1)]
    return np.concatenate([[0.0], *octaves, [0.5]])


@lru_cache(maxsize=256)
def beta_table(a: float, b: float) -> QuantileTable:
    """Quantile table of the Beta(a, b) law."""
    return QuantileTable.of(lambda t: beta_quantile(a, b, t), lambda t: 1.0 - beta_quantile(b, a, t))


@lru_cache(maxsize=1)
def normal_table() -> QuantileTable:
    """Quantile table of the standard normal law; its ends stand at the quantiles of 2**-33 and 1 - 2**-33."""
    quantiles = ndtri(np.maximum(cell_edges(), 2.0**-33))
    return QuantileTable(quantiles, -quantiles)
