"""What a stopping rule may see: the histories of a tier's debates, with their probabilities; :mod:`.bound` says how they are used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..model import ParameterError, StableConsensus, Tier
from ..model.exact import ExactLaw
from ..model.exact.law import Start
from ..model.exact.panel import LOST, MARK_MISCONCEPTION, MARK_RIGHT, panel

__all__ = ["MOST_HISTORIES", "History", "LastRule", "Leaf", "Panel", "Rule", "consensus_rule", "grow"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_HISTORIES = 200_000

Panel = tuple[tuple[int, ...], int]
"""What a rule sees of a panel: cluster sizes descending, and the size of the candidate's cluster."""


@dataclass(frozen=True, eq=False)
class History:
    """One node: everything seen up to a round.

    Attributes
    ----------
    round : int
        Rounds held so far.
    chains : tuple of (int, int, bool)
        Chains drawn, size of their largest cluster, whether it is the only one of that size.
    panels : tuple of Panel
        The panels seen, the first one included.
    steady : tuple of bool
        For each panel after the first, whether one single largest cluster leads it and the one before.
    probability : float
        Of the history.
    stop : float
        P(history, and the decision after a declared consensus is right).
    children : list of History
        Histories one round longer; empty before the last round.
    last : tuple of Leaf
        Before the last round: what the last round may show.
    """

    round: int
    chains: tuple[int, int, bool]
    panels: tuple[Panel, ...]
    steady: tuple[bool, ...]
    probability: float
    stop: float
    children: tuple[History, ...] = ()
    last: tuple[Leaf, ...] = ()


@dataclass(frozen=True)
class Leaf:
    """What the last round shows: panel, leader, and P(shown and right) when consensus is declared and when it is not."""

    panel: Panel
    steady: bool
    declared: float
    plain: float


Rule = Callable[[History], float]
"""Probability of declaring consensus at a history; asked of decision nodes only."""
LastRule = Callable[[History, Leaf], float]
"""The same for the last round."""


@lru_cache(maxsize=16)
def _views(agents: int) -> tuple[list[Panel], Ints]:
    """Return what can be seen of a panel, and which of it each state shows; (views, shape (S,))."""
    seen: dict[Panel, int] = {}
    shown = []
    for right, misc, strays, mark in panel(agents).states:
        sizes = tuple(sorted((n for n in (right, misc, *strays) if n), reverse=True))
        candidate = {MARK_RIGHT: right, MARK_MISCONCEPTION: misc, LOST: 0}.get(mark, mark)
        shown.append(seen.setdefault((sizes, candidate), len(seen)))
    return list(seen), np.array(shown, dtype=np.int64)


@dataclass(frozen=True)
class _Seen:
    """What has been seen on the way to a history."""

    round: int
    chains: tuple[int, int, bool]
    panels: tuple[Panel, ...]
    steady: tuple[bool, ...]

    def then(self, view: Panel, steady: bool) -> _Seen:
        """One round longer."""
        return _Seen(self.round + 1, self.chains, (*self.panels, view), (*self.steady, steady))


class _Builder:
    """Grows the tree of one tier.

    A belief has shape (components, states of the last panel's view): a component is a node of the question's law (one where moves do not
    depend on it) with or without a hit.
    """

    def __init__(self, law: ExactLaw, t: int, most: int) -> None:
        self.start: Start = law.starts[t]
        self.tier = self.start.tier
        self.inherits = law.protocol.inherits
        self.first_decision = 1 if self.inherits else 2
        self.undeclared, self.declared = law.decisions[t]
        self.views, shown = _views(self.tier.agents)
        self.members = [np.flatnonzero(shown == v) for v in range(len(self.views))]
        self.one_hot = np.eye(len(self.views))[shown]
        self.most = most
        self.size = 0
        self.components = sorted({(node, hit) for (_, hit), (_, mass) in self.start.mass.items() for node in range(mass.shape[1])})
        moves = [self.start.moves(node, bool(hit)) for node, hit in self.components]
        self.moves = {True: np.array([same for _, same in moves]), False: np.array([both - same for both, same in moves])}
        # Rows (component, state) to P(next view), and to P(next view and right) under either vote.
        ends = np.stack([self.one_hot, self.one_hot * self.declared[:, None], self.one_hot * self.undeclared[:, None]])
        self.leaf_moves = {flag: np.einsum("cst,etv->csev", m, ends, optimize=True) for flag, m in self.moves.items()}

    def roots(self) -> tuple[History, ...]:
        """Grow everything."""
        found = []
        held = 0 if self.inherits else 1
        for chains, belief in sorted(self._beliefs().items()):
            for view, members in enumerate(self.members):
                part = belief[:, members]
                if part.any():
                    found.append(self._grow(_Seen(held, chains, (self.views[view],), ()), view, part))
        return tuple(found)

    def _beliefs(self) -> dict[tuple[int, int, bool], Floats]:
        """Joint probability of the component and the first panel's state, by what is seen of the chains; shape (components, S)."""
        opening, size = self.start.openings, len(self.start.panel)
        place = {component: i for i, component in enumerate(self.components)}
        found: dict[tuple[int, int, bool], Floats] = {}
        for (drawn, hit), (rows, mass) in self.start.mass.items():
            where = [place[node, hit] for node in range(mass.shape[1])]
            for row, by_node in zip(rows, mass, strict=True):
                key = (drawn, int(opening.dominant[row]), bool(opening.sole[row]))
                belief = found.setdefault(key, np.zeros((len(self.components), size)))
                belief[where, opening.state[row]] += by_node
        return found

    def _grow(self, seen: _Seen, view: int, belief: Floats) -> History:
        self.size += 1
        if self.size > self.most:
            raise ParameterError(
                "rounds", self.tier.rounds, f"debates of at most {self.most} histories for the bound", "Lower rounds or agents of the tier."
            )
        members = self.members[view]
        by_state = belief.sum(axis=0)
        probability = float(by_state.sum())
        if seen.round == self.tier.rounds:  # no round is left, and none was declarable: the plain vote
            return History(*_fields(seen), probability, float(by_state @ self.undeclared[members]))
        stop = float(by_state @ self.declared[members])
        if seen.round + 1 == self.tier.rounds:
            return History(*_fields(seen), probability, stop, last=self._leaves(members, belief))
        children = []
        for flag, moves in self.moves.items():
            reached = (belief[:, None, :] @ moves[:, members])[:, 0]
            for next_view, next_members in enumerate(self.members):
                part = reached[:, next_members]
                if part.any():
                    children.append(self._grow(seen.then(self.views[next_view], flag), next_view, part))
        return History(*_fields(seen), probability, stop, children=tuple(children))

    def _leaves(self, members: Ints, belief: Floats) -> tuple[Leaf, ...]:
        leaves = []
        for flag, moves in self.leaf_moves.items():
            present, declared, plain = (belief.reshape(-1) @ moves[:, members].reshape(belief.size, -1)).reshape(3, -1)
            leaves += [Leaf(self.views[v], flag, float(declared[v]), float(plain[v])) for v in np.flatnonzero(present)]
        return tuple(leaves)


def _fields(seen: _Seen) -> tuple[int, tuple[int, int, bool], tuple[Panel, ...], tuple[bool, ...]]:
    return seen.round, seen.chains, seen.panels, seen.steady


def grow(law: ExactLaw, t: int, most: int) -> tuple[tuple[History, ...], int]:
    """Grow the histories of a tier.

    Parameters
    ----------
    law : ExactLaw
        Of the protocol on the population.
    t : int
        Index of the tier.
    most : int
        Refuse to grow more histories than this.

    Returns
    -------
    roots : tuple of History
        First panels; empty if no question reaches the tier.
    size : int
        Number of histories, those of the last round not counted.
    """
    builder = _Builder(law, t, most)
    return builder.roots(), builder.size


def consensus_rule(rule: StableConsensus, tier: Tier) -> tuple[Rule, LastRule]:
    """Express a consensus rule on histories, for :meth:`HistoryTree.evaluate`."""
    table = rule.table(tier.agents)

    def fires(chains: tuple[int, int, bool], panels: tuple[Panel, ...], steady: bool, round_: int, inherits: bool) -> bool:
        now = panels[-1][0][0]
        if inherits and round_ == 1:
            if rule.first_share == "none":
                return False
            if rule.first_share == "chains":
                drawn, dominant, sole = chains
                sizes, candidate = panels[-1]
                leads = sizes.count(candidate) == 1 and sizes[0] == candidate
                return bool(rule.table(tier.agents, drawn)[dominant, now]) and (not rule.same_leader or (sole and leads))
        return bool(table[panels[-2][0][0], now]) and (not rule.same_leader or steady)

    def declare(node: History) -> float:
        inherits = len(node.panels) == node.round + 1
        return float(fires(node.chains, node.panels, node.steady[-1], node.round, inherits))

    def declare_last(node: History, leaf: Leaf) -> float:
        inherits = len(node.panels) == node.round + 1
        return float(fires(node.chains, (*node.panels, leaf.panel), leaf.steady, node.round + 1, inherits))

    return declare, declare_last
