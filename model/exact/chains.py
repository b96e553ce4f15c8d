r"""The law of the chains, of the candidate and of the first answers, free of every parameter.

A chain is right (R), on the misconception (W) or a stray (S, distinct from all others). The probability of a sequence with i, j, s of
them is :math:`p^i ((1-p) w)^j ((1-p)(1-w))^s`, so all that is needed are *numbers of sequences*: how many sequences, weighted by the
fair draw of ties, lead to the same candidate, dominant count and first panel. They are counted once, by extending sequences one chain at a
time and merging those that agree in counts and in the first N symbols (only those can become first answers).

An :class:`Opening` is one such class of sequences: exponents (i, j, s), chains drawn, candidate kind, dominant count, panel state and the
logarithm of its number.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from ..errors import ParameterError
from ..scheduling import Tier
from ..stopping import AdaptiveConsistency, SamplingStop, Window
from .panel import LOST, MARK_MISCONCEPTION, MARK_RIGHT, panel

__all__ = ["MISCONCEPTION", "RIGHT", "STRAY", "Openings", "openings"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

RIGHT, MISCONCEPTION, STRAY = 0, 1, 2
MOST_EXACT_CHAINS, MOST_INHERITED_CHAINS = 200, 64
"""Most chains whose sequences are counted: without and with panels that start from them."""
_MARKS = {RIGHT: MARK_RIGHT, MISCONCEPTION: MARK_MISCONCEPTION}

Counts = tuple[int, int, int]
Prefix = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Openings:
    """Classes of openings; arrays of shape (E,).

    Attributes
    ----------
    right, misconception, stray : ndarray of int
        Exponents: all answers drawn before the first response, chains and fresh first answers together.
    chains : ndarray of int
        Chains drawn.
    kind : ndarray of int
        Candidate: 0 right, 1 misconception, 2 stray.
    dominant : ndarray of int
        Largest count among the chains (0 without chains).
    state : ndarray of int
        State of the first panel; 0 where there is no panel.
    stopped : ndarray of bool
        Whether a sampling stop ended the sampling.
    sole : ndarray of bool
        Whether the candidate alone has the largest count among the chains (told apart for inherited answers only).
    log_number : ndarray of float
        Logarithm of the weighted number of sequences.
    """

    right: Ints
    misconception: Ints
    stray: Ints
    chains: Ints
    kind: Ints
    dominant: Ints
    state: Ints
    stopped: npt.NDArray[np.bool_]
    sole: npt.NDArray[np.bool_]
    log_number: Floats

    @property
    def degree(self) -> int:
        """Degree of the polynomials in p and in w."""
        return int((self.right + self.misconception + self.stray).max())

    def probabilities(self, p: Floats, w: Floats) -> Floats:
        """P(opening | p, w); shape (E, nodes)."""
        i, j, s = (x[:, None].astype(float) for x in (self.right, self.misconception, self.stray))
        q = 1.0 - p
        logs = xlogy(i, p) + xlogy(j, q * w) + xlogy(s, q * (1.0 - w))
        return np.asarray(np.exp(self.log_number[:, None] + logs))


_Key = tuple[int, int, int, int, int, int, int, bool, bool]


@lru_cache(maxsize=512)
def openings(chains: int, stop: SamplingStop | None, initial: str, tier: Tier | None) -> Openings:
    """Count the openings of a protocol for one tier.

    Parameters
    ----------
    chains : int
        M, the most chains.
    stop : SamplingStop or None
        May end sampling.
    initial : {"chains", "fresh", "restated"}
        Where first answers come from.
    tier : Tier or None
        Its number of agents matters; None where there is no debate.

    Raises
    ------
    ParameterError
        If there are more chains than can be counted in a few seconds.
    """
    agents = tier.agents if tier else 0
    prefix = agents if initial == "chains" else 0
    most = MOST_INHERITED_CHAINS if prefix else MOST_EXACT_CHAINS
    if chains > most:
        raise ParameterError("chains", chains, f"at most {most} for the exact law of this protocol", "Use --engine mc for more.")
    found: dict[_Key, Fraction] = defaultdict(Fraction)
    for (drawn, first, counts, stopped), number in _sequences(chains, stop, prefix).items():
        for key, value in _panels(drawn, first, counts, stopped, agents, initial):
            found[key] += number * value
    columns = np.array([key[:7] for key in found], dtype=np.int64).reshape(len(found), 7)
    return Openings(
        right=columns[:, 0],
        misconception=columns[:, 1],
        stray=columns[:, 2],
        chains=columns[:, 3],
        kind=columns[:, 4],
        dominant=columns[:, 5],
        state=columns[:, 6],
        stopped=np.array([key[7] for key in found]),
        sole=np.array([key[8] for key in found]),
        log_number=np.array([math.log(value.numerator) - math.log(value.denominator) for value in found.values()]),
    )


_Sequence = tuple[int, Prefix, Counts, bool]


def _sequences(chains: int, stop: SamplingStop | None, prefix: int) -> dict[_Sequence, int]:
    """Count the sequences by (chains drawn, first symbols, counts, stopped early)."""
    ended: dict[_Sequence, int] = defaultdict(int)
    alive: dict[tuple[Prefix, Counts, int], int] = {((), (0, 0, 0), _BLOCK_START): 1}
    for drawn in range(1, chains + 1):
        following: dict[tuple[Prefix, Counts, int], int] = defaultdict(int)
        for (first, counts, block), number in alive.items():
            for symbol in (RIGHT, MISCONCEPTION, STRAY):
                grown = tuple(n + (k == symbol) for k, n in enumerate(counts))
                grown_first = _extend_prefix(first, symbol, prefix)
                grown_block = _extend_block(block, symbol)
                if drawn < chains and _ends(stop, drawn, grown, grown_block):
                    ended[drawn, grown_first, grown, True] += number  # type: ignore[index]
                else:
                    if isinstance(stop, Window) and drawn % stop.window == 0:
                        grown_block = _BLOCK_START
                    following[grown_first, grown, grown_block if isinstance(stop, Window) else _BLOCK_START] += number  # type: ignore[index]
        alive = following
    for (first, counts, _), number in alive.items():
        ended[chains, first, counts, False] += number
    return ended


def _extend_prefix(first: Prefix, symbol: int, prefix: int) -> Prefix:
    """First symbols with one more. A full prefix is held as a panel by agents who are alike: only which is its last still matters."""
    if len(first) == prefix:
        return first
    return (*first, symbol) if len(first) + 1 < prefix else (*sorted(first), symbol)


_BLOCK_START, _ONE_STRAY, _MIXED = -1, STRAY, 3


def _extend_block(block: int, symbol: int) -> int:
    """Unanimity of a window's block: start, all right, all misconception, one stray only, or mixed."""
    if block == _BLOCK_START:
        return symbol
    return block if block == symbol and symbol != STRAY else _MIXED


def _ends(stop: SamplingStop | None, drawn: int, counts: tuple[int, ...], block: int) -> bool:
    if isinstance(stop, AdaptiveConsistency):
        right, misc, strays = counts
        largest = sorted((right, misc, min(strays, 1), 1 if strays > 1 else 0), reverse=True)
        return stop.sure(largest[0], largest[1])
    if isinstance(stop, Window):
        return drawn % stop.window == 0 and block != _MIXED
    return False


def _candidates(counts: Counts) -> tuple[int, list[tuple[int, int]]]:
    """Largest count, and the kinds tied for it with how many answers of the kind are tied."""
    right, misc, strays = counts
    top = max(right, misc, min(strays, 1))
    tied = [(RIGHT, 1)] if right == top else []
    if misc == top:
        tied.append((MISCONCEPTION, 1))
    if strays and top == 1:
        tied.append((STRAY, strays))
    return top, tied


def _panels(drawn: int, first: Prefix, counts: Counts, stopped: bool, agents: int, initial: str) -> Iterator[tuple[_Key, Fraction]]:
    """First panels of a class of sequences, each with its weight."""
    if drawn == 0:
        yield from _fresh_only(agents)
        return
    top, tied = _candidates(counts)
    total = sum(number for _, number in tied)
    for kind, number in tied:
        if agents == 0:
            yield (*counts, drawn, kind, top, 0, stopped, False), Fraction(number, total)
        elif initial == "chains":
            for state, ways in _inherited(drawn, first, kind, number, agents):
                yield (*counts, drawn, kind, top, state, stopped, total == 1), Fraction(ways, total)
        else:
            fixed = 1 if initial == "restated" else 0
            for fresh, ways in _compositions(agents - fixed):
                state = _mixed_state(agents, fresh, kind, fixed)
                exponents = tuple(a + b for a, b in zip(counts, fresh, strict=True))
                yield (*exponents, drawn, kind, top, state, stopped, False), Fraction(number * ways, total)  # type: ignore[misc]


def _compositions(total: int) -> Iterator[tuple[Counts, int]]:
    """Yield counts (right, misconception, stray) of ``total`` independent answers, with their number of sequences."""
    for right in range(total + 1):
        for misc in range(total - right + 1):
            yield (right, misc, total - right - misc), math.comb(total, right) * math.comb(total - right, misc)


def _mixed_state(agents: int, fresh: Counts, kind: int, fixed: int) -> int:
    """State of fresh answers beside ``fixed`` (0 or 1) agents that restate the candidate."""
    right = fresh[0] + (fixed if kind == RIGHT else 0)
    misc = fresh[1] + (fixed if kind == MISCONCEPTION else 0)
    strays = fresh[2] + (fixed if kind == STRAY else 0)
    mark = _MARKS.get(kind, fixed if kind == STRAY else LOST)
    return panel(agents).index[right, misc, (1,) * strays, mark]


def _fresh_only(agents: int) -> Iterator[tuple[_Key, Fraction]]:
    """No chains: the candidate is the plurality of the first answers."""
    for counts, ways in _compositions(agents):
        _, tied = _candidates(counts)
        total = sum(number for _, number in tied)
        for kind, number in tied:
            mark = _MARKS.get(kind, 1)
            state = panel(agents).index[counts[0], counts[1], (1,) * counts[2], mark]
            yield (*counts, 0, kind, 0, state, False, False), Fraction(number * ways, total)


def _inherited(drawn: int, first: Prefix, kind: int, tied: int, agents: int) -> Iterator[tuple[int, int]]:
    """Panels that start from the chains: the candidate's chain, then the others by index, cycling.

    Yields
    ------
    state, ways : int
        Panel state, and how many of the tied answers of this kind lead to it.
    """
    known = list(first)
    if kind != STRAY:
        position = known.index(kind) if kind in known else len(known)
        yield _panel_state(drawn, known, position, kind, agents), 1
        return
    positions = [k for k, symbol in enumerate(known) if symbol == STRAY]
    for position in positions:
        yield _panel_state(drawn, known, position, kind, agents), 1
    if tied > len(positions):
        yield _panel_state(drawn, known, len(known), kind, agents), tied - len(positions)


def _panel_state(drawn: int, known: list[int], position: int, kind: int, agents: int) -> int:
    """State when the candidate's chain stands at ``position`` of the known first symbols (or beyond them)."""
    labels: list[tuple[int, int]] = [(symbol, k if symbol == STRAY else 0) for k, symbol in enumerate(known)]
    candidate = (kind, position if kind == STRAY else 0)
    rest = labels[:position] + labels[position + 1 :]
    order = [candidate, *rest][: max(drawn, 1)]
    held = [order[agent % drawn] for agent in range(agents)]
    strays: dict[tuple[int, int], int] = defaultdict(int)
    for label in held:
        if label[0] == STRAY:
            strays[label] += 1
    mark = _MARKS.get(kind, strays.get(candidate, LOST))
    sizes = tuple(sorted(strays.values(), reverse=True))
    return panel(agents).index[sum(x[0] == RIGHT for x in held), sum(x[0] == MISCONCEPTION for x in held), sizes, mark]
