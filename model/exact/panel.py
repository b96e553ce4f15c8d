r"""The states of a panel of N agents and how one round moves between them.

Given the question's (p, w) a state is (number right, number on the misconception, partition of the strays, the candidate's mark). The
mark says where the candidate's answer is: with the right answers, with the misconception, or on a stray cluster of size s >= 0 (0:
nobody holds it any more; a stray that is gone never returns). Labels of strays do not matter, so N = 6 has 321 states (75 without the
mark) and N = 7 has 531.

One round: all agents answer at once, independently given the state. Agents of one cluster are alike, so the new counts are a sum of
independent categorical choices. They are built up agent by agent on the lattice of count vectors over the targets (right,
misconception, fresh stray, the stray clusters): with :math:`F_t(c)` the probability of counts c after t agents and :math:`P_o(a)` the
move of an agent of cluster o,

.. math:: F_{t+1}(c + e_a) \mathrel{+}= F_t(c) P_{o(t)}(a).

Each agent that chose "fresh stray" becomes a singleton. Which state a count vector is does not depend on any parameter, so those tables
are made once for each N and kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..errors import ParameterError
from ..quadrature import frozen
from ..response import ResponseRule

__all__ = ["LOST", "MARK_MISCONCEPTION", "MARK_RIGHT", "MOST_EXACT_AGENTS", "Panel", "State", "panel", "transition"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_EXACT_AGENTS = 8
MARK_RIGHT = -1
MARK_MISCONCEPTION = -2
LOST = 0
"""Mark of a stray candidate that nobody holds; a mark s > 0 is a stray candidate held by s agents."""

State = tuple[int, int, tuple[int, ...], int]
"""(number right, number on the misconception, stray cluster sizes descending, mark)."""

_RIGHT, _MISCONCEPTION, _FRESH, _STRAYS = 0, 1, 2, 3


def partitions(total: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """Partitions of ``total`` as descending tuples."""
    if total == 0:
        yield ()
        return
    for first in range(min(total, largest or total), 0, -1):
        for rest in partitions(total - first, first):
            yield (first, *rest)


@dataclass(frozen=True, eq=False)
class _Group:
    """States with the same number of stray clusters, and their parameter-free tables.

    Attributes
    ----------
    sizes : ndarray of int, shape (S, A)
        Agents on each target (column 2, the fresh stray, is 0).
    own : ndarray of int, shape (S, N)
        Target that each agent holds now.
    cell : ndarray of int, shape (S * C,)
        Where each (state, count vector) belongs: from-state times number of states plus to-state, plus the square of the number of states
        where one single largest cluster leads before and after.
    """

    sizes: Ints
    own: Ints
    cell: Ints


@lru_cache(maxsize=128)
def _lattice(targets: int, agents: int) -> tuple[Ints, tuple[Ints, ...]]:
    """Count vectors of ``agents`` over ``targets``, and for t = 0 .. agents - 1 the index of c + e_a; shapes (C, A) and (C_t, A)."""
    level = [(0,) * targets]
    steps = []
    for _ in range(agents):
        following: dict[tuple[int, ...], int] = {}
        table = np.empty((len(level), targets), dtype=np.int64)
        for row, counts in enumerate(level):
            for a in range(targets):
                grown = (*counts[:a], counts[a] + 1, *counts[a + 1 :])
                table[row, a] = following.setdefault(grown, len(following))
        steps.append(table)
        level = list(following)
    return np.array(level, dtype=np.int64).reshape(len(level), targets), tuple(steps)


class Panel:
    """The state space of N agents.

    Parameters
    ----------
    agents : int
        N, 1 to 8.

    Attributes
    ----------
    states : list of State
        All states.
    index : dict of State to int
        Their indices.
    dominant : ndarray of int, shape (S,)
        Size of the largest cluster.
    candidate_right : ndarray of bool, shape (S,)
        Whether the mark is the right answer's.
    candidate_leads : ndarray of bool, shape (S,)
        Whether the marked answer is the single largest cluster.
    """

    def __init__(self, agents: int) -> None:
        self.agents = agents
        self.states: list[State] = list(_all_states(agents))
        self.index = {state: i for i, state in enumerate(self.states)}
        self.dominant = np.array([max(right, misc, *strays, 0) for right, misc, strays, _ in self.states], dtype=np.int64)
        self.candidate_right = np.array([mark == MARK_RIGHT for *_, mark in self.states])
        self.candidate_leads = np.array([_candidate_leads(state) for state in self.states])
        self._groups = tuple(self._group(k) for k in range(agents + 1))

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self.states)

    @property
    def right_share(self) -> Floats:
        """Share of agents that are right, by state; shape (S,)."""
        return np.array([right / self.agents for right, *_ in self.states])

    def _group(self, strays: int) -> _Group:
        members = [i for i, state in enumerate(self.states) if len(state[2]) == strays]
        sizes = np.array([[s[0], s[1], 0, *s[2]] for s in (self.states[i] for i in members)], dtype=np.int64)
        own = np.array([np.repeat(np.arange(sizes.shape[1]), row) for row in sizes], dtype=np.int64)
        counts, _ = _lattice(strays + _STRAYS, self.agents)
        mark_targets = [_mark_target(self.states[i]) for i in members]
        by_mark = {target: self._reached(counts, target) for target in set(mark_targets)}
        reached = np.array([by_mark[target] for target in mark_targets], dtype=np.int64)
        size, from_state = len(self), np.array(members, dtype=np.int64)
        cell = from_state[:, None] * size + reached + size * size * _same_leader(sizes, counts)
        return _Group(sizes, own, cell.ravel())

    def _reached(self, counts: Ints, mark_target: int | None) -> list[int]:
        reached = []
        for row in counts.tolist():
            held = [n for n in row[_STRAYS:] if n] + [1] * row[_FRESH]
            strays = tuple(sorted(held, reverse=True))
            mark = LOST if mark_target is None else row[mark_target]
            if mark_target == _RIGHT:
                mark = MARK_RIGHT
            elif mark_target == _MISCONCEPTION:
                mark = MARK_MISCONCEPTION
            reached.append(self.index[row[_RIGHT], row[_MISCONCEPTION], strays, mark])
        return reached

    def transition(self, rule: ResponseRule, p: float, w: float, *, focused: bool = False) -> tuple[Floats, Floats]:
        """Probabilities of one round.

        Parameters
        ----------
        rule : ResponseRule
            How agents answer next.
        p, w : float
            The question's law; they matter only where fresh answers are drawn (iota > 0 or a fresh weight).
        focused : bool
            Whether the target is the faulty step.

        Returns
        -------
        both : ndarray, shape (S, S)
            Transition matrix; rows sum to 1.
        same : ndarray, shape (S, S)
            The part of it where one single largest cluster leads before and after.
        """
        size = len(self)
        parts = np.zeros(2 * size * size)
        for group in self._groups:
            reached = self._counts_law(group, move_probabilities(group.sizes, rule, self.agents, p, w, focused))
            parts += np.bincount(group.cell, reached.ravel(), len(parts))
        other, same = parts.reshape(2, size, size)
        return other + same, same

    def _counts_law(self, group: _Group, moves: Floats) -> Floats:
        """Law of the count vectors; shape (states of the group, C)."""
        count, targets = group.sizes.shape
        _, steps = _lattice(targets, self.agents)
        rows = np.arange(count)
        law = np.ones((count, 1))
        for t, table in enumerate(steps):
            following = np.zeros((count, int(table.max()) + 1))
            probability = moves[rows, group.own[:, t]]
            for a in np.flatnonzero(probability.any(axis=0)):
                following[:, table[:, a]] += law * probability[:, a, None]
            law = following
        return law


def _all_states(agents: int) -> Iterator[State]:
    for right in range(agents, -1, -1):
        for misc in range(agents - right, -1, -1):
            for strays in partitions(agents - right - misc):
                for mark in (MARK_RIGHT, MARK_MISCONCEPTION, LOST, *sorted(set(strays))):
                    yield right, misc, strays, mark


def _candidate_leads(state: State) -> bool:
    right, misc, strays, mark = state
    held = {MARK_RIGHT: right, MARK_MISCONCEPTION: misc}.get(mark, mark)
    return held > 0 and [n for n in (right, misc, *strays) if n >= held] == [held]


def _mark_target(state: State) -> int | None:
    _, _, strays, mark = state
    if mark == MARK_RIGHT:
        return _RIGHT
    if mark == MARK_MISCONCEPTION:
        return _MISCONCEPTION
    return None if mark == LOST else _STRAYS + strays.index(mark)


def _same_leader(sizes: Ints, counts: Ints) -> npt.NDArray[np.bool_]:
    """Whether the single largest target is the same in ``sizes`` (S, A) and ``counts`` (C, A); a fresh stray leads nobody."""
    after = counts.copy()
    several_fresh = after[:, _FRESH] > 1
    after[:, _FRESH] = np.minimum(after[:, _FRESH], 1)

    def single_leader(rows: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
        top = rows.max(axis=1, keepdims=True)
        return rows.argmax(axis=1), (rows == top).sum(axis=1) == 1

    before_leader, before_single = single_leader(sizes)
    after_leader, after_single = single_leader(after)
    after_single &= (after_leader != _FRESH) & ~(several_fresh & (after.max(axis=1) == 1))
    return np.asarray((before_leader[:, None] == after_leader[None, :]) & before_single[:, None] & after_single[None, :])


def move_probabilities(sizes: Ints, rule: ResponseRule, agents: int, p: float, w: float, focused: bool) -> Floats:
    """P(an agent of cluster o chooses target a).

    Parameters
    ----------
    sizes : ndarray of int, shape (S, A)
        Agents on each target: right, misconception, fresh stray (0), stray clusters.
    rule, p, w, focused
        As in :meth:`Panel.transition`.
    agents : int
        N.

    Returns
    -------
    ndarray, shape (S, A, A)
        Entry [s, o, a]; rows of empty clusters are meaningless.
    """
    targets = sizes.shape[1]
    table = rule.weights(agents, focused)
    own = np.eye(targets, dtype=np.int64)
    peers = np.clip(sizes[:, None, :] - own[None, :, :], 0, agents - 1)
    right = (np.arange(targets) == _RIGHT).astype(np.int64)
    weight = table[own[None, :, :], peers, right[None, None, :]] * (sizes[:, None, :] > 0)
    total = weight.sum(axis=2, keepdims=True) + rule.fresh_weight
    keeps = np.zeros_like(weight) + own[None, :, :]
    fresh = np.zeros(targets)
    fresh[[_RIGHT, _MISCONCEPTION, _FRESH]] = p, (1 - p) * w, (1 - p) * (1 - w)
    with np.errstate(invalid="ignore", divide="ignore"):
        moves = (weight + rule.fresh_weight * fresh) / total
    moves = np.where(total > 0, moves, keeps) if agents > 1 else keeps
    if rule.phi > 0:
        moves[:, _RIGHT, :] *= 1 - rule.phi
        moves[:, _RIGHT, _MISCONCEPTION] += rule.phi
    return np.asarray((1 - rule.iota) * moves + rule.iota * fresh)


@lru_cache(maxsize=MOST_EXACT_AGENTS)
def panel(agents: int) -> Panel:
    """State space of N agents, made once.

    Raises
    ------
    ParameterError
        If N is larger than the exact law can hold.
    """
    if agents > MOST_EXACT_AGENTS:
        raise ParameterError("agents", agents, f"1 to {MOST_EXACT_AGENTS} for the exact law", "Use --engine mc for larger panels.")
    return Panel(agents)


@lru_cache(maxsize=32)
def transition(agents: int, rule: ResponseRule, p: float, w: float, focused: bool) -> tuple[Floats, Floats]:
    """:meth:`Panel.transition`, remembered: designs of equal size share their matrices."""
    both, same = panel(agents).transition(rule, p, w, focused=focused)
    return frozen(both), frozen(same)
