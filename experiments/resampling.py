r"""Replay of adaptive sampling on logged answers, exactly: the mean over all orders in which a question's answers could have come.

A question's m logged answers are exchangeable, so a protocol that draws answers one by one and may stop early is replayed by drawing
without replacement. What it has seen is a count for each cluster of equal answers; the law of the counts is built draw by draw,

.. math:: P(\text{next from cluster } i) = \frac{c_i - d_i}{m - \sum_j d_j},

and clusters of one size with one count are alike and merged. No sampling, hence no sampling error: accuracy and calls are the expectations
given the log.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..model import AdaptiveConsistency, ParameterError, Protocol, Window
from ..model.stopping import SamplingStop

__all__ = ["Replay", "replay"]


@dataclass(frozen=True)
class Replay:
    """What a protocol does on one question's logged answers, on average over their orders.

    Parameters
    ----------
    accuracy : float
        P(the decision is right).
    calls : float
        Expected answers drawn.
    stopped : float
        P(the stop came before the last answer).
    """

    accuracy: float
    calls: float
    stopped: float


_Entry = tuple[int, int, bool, bool]
"""A cluster: its size, how many of it are drawn, whether it is right, whether the current block holds only it."""
_START, _ONE, _MIXED = 0, 1, 2


def replay(protocol: Protocol, right: int, wrong: Sequence[int]) -> Replay:
    """Replay a protocol without debate on one question.

    Parameters
    ----------
    protocol : Protocol
        Its chains beyond the logged answers are cut off.
    right : int
        Number of right answers logged.
    wrong : sequence of int
        Sizes of the clusters of equal wrong answers.

    Raises
    ------
    ParameterError
        If the protocol debates: other agents' replies to an order that never happened are in no log.
    """
    if protocol.tiers:
        raise ParameterError(
            "protocol", protocol.name, "one without debate", "Debates are replayed in the order in which the log holds them."
        )
    return _replay(protocol.sampling_stop, min(protocol.chains, right + sum(wrong)), right, tuple(sorted(wrong, reverse=True)))


@lru_cache(maxsize=65536)
def _replay(stop: SamplingStop | None, chains: int, right: int, wrong: tuple[int, ...]) -> Replay:
    entries = [(c, 0, False, False) for c in wrong] + ([(right, 0, True, False)] if right else [])
    total = right + sum(wrong)
    alive: dict[tuple[tuple[_Entry, ...], int], float] = {(tuple(sorted(entries)), _START): 1.0}
    accuracy = calls = stopped = 0.0
    for drawn in range(1, chains + 1):
        following: dict[tuple[tuple[_Entry, ...], int], float] = defaultdict(float)
        for (clusters, block), mass in alive.items():
            for entry, alike in Counter(clusters).items():
                size, held, *_ = entry
                if held == size:
                    continue
                probability = mass * alike * (size - held) / (total - drawn + 1)
                grown, now = _draw(clusters, entry, block)
                if drawn < chains and _ends(stop, drawn, grown, now):
                    accuracy += probability * _right(grown)
                    calls += probability * drawn
                    stopped += probability
                    continue
                if not isinstance(stop, Window) or drawn % stop.window == 0:
                    grown, now = _new_block(grown), _START
                following[grown, now] += probability
        alive = following
    for (clusters, _), mass in alive.items():
        accuracy += mass * _right(clusters)
        calls += mass * chains
    return Replay(accuracy, calls, stopped)


def _draw(clusters: tuple[_Entry, ...], entry: _Entry, block: int) -> tuple[tuple[_Entry, ...], int]:
    size, held, is_right, marked = entry
    rest = list(clusters)
    rest.remove(entry)
    now = _ONE if block == _START or (block == _ONE and marked) else _MIXED
    rest.append((size, held + 1, is_right, now == _ONE))
    if now == _MIXED:
        rest = [(s, h, r, False) for s, h, r, _ in rest]
    return tuple(sorted(rest)), now


def _new_block(clusters: tuple[_Entry, ...]) -> tuple[_Entry, ...]:
    return tuple(sorted((s, h, r, False) for s, h, r, _ in clusters))


def _ends(stop: SamplingStop | None, drawn: int, clusters: tuple[_Entry, ...], block: int) -> bool:
    if isinstance(stop, AdaptiveConsistency):
        counts = sorted((h for _, h, _, _ in clusters), reverse=True)
        return stop.sure(counts[0], counts[1] if len(counts) > 1 else 0)
    return isinstance(stop, Window) and drawn % stop.window == 0 and block == _ONE


def _right(clusters: tuple[_Entry, ...]) -> float:
    """P(plurality right), fair ties."""
    top = max(h for _, h, _, _ in clusters)
    tied = [r for _, h, r, _ in clusters if h == top]
    return sum(tied) / len(tied)
