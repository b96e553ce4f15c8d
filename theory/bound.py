r"""The best possible stopping rule, and how far a rule is from it.

A stopping rule sees a *history* and nothing else:

* the chains: how many, the size of their largest cluster, whether it is the only one of that size;
* every panel so far: the sizes of its clusters, the size of the candidate's cluster, and whether one single largest cluster leads it and
  the panel before.

It never sees which answer is right. After each round in which the protocol may stop it declares consensus or goes on; in the last round
declaring only chooses the kind of vote. Everything else (gate, tier, first answers, response rule, confidences, decision) is the
protocol's, and a declared consensus is decided as the protocol decides confirmed stability.

Let b be the joint probability of a history and of what it hides: the panel's state (who is right), the question's (p, w) where moves
depend on it, and whether the target hit. One round maps it to the children's b, so difficulty is integrated out exactly, by Bayes. With
:math:`V(b)` the set of (expected further debate calls, P(right)) that randomised rules can reach,

.. math::
    V(b) = \mathrm{conv}\Bigl( \{(0,\ b \cdot right)\} \cup \bigl((N |b|, 0) + \textstyle\sum_{children} V(b')\bigr) \Bigr).

Only the upper left boundary of V matters: a concave chain of edges. A Minkowski sum of such chains merges their edges by slope, a union
keeps the hull. So the whole frontier, for all budgets at once, comes out of one backward pass.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..model import FixedRounds, ParameterError, Population, Protocol, StableConsensus, Tier
from ..model.exact import ExactLaw
from ..model.exact.law import Start
from ..model.exact.panel import LOST, MARK_MISCONCEPTION, MARK_RIGHT, panel
from ..model.tables import plain

__all__ = ["Frontier", "History", "HistoryTree", "consensus_rule", "history_tree", "protocol_frontier", "regret", "stopping_frontier"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_HISTORIES = 200_000
_ROUNDING = 1e-12
"""P(right) per debate call below which a gain is rounding error."""

Panel = tuple[tuple[int, ...], int]
"""What a rule sees of a panel: cluster sizes descending, and the size of the candidate's cluster."""


@dataclass(frozen=True)
class Frontier:
    """Upper boundary of what stopping rules can reach: a concave chain.

    Parameters
    ----------
    calls : ndarray of float, shape (V,)
        Expected debate calls a question at the vertices, ascending.
    accuracy : ndarray of float, shape (V,)
        P(right) at the vertices, ascending.
    mass : float
        Share of the questions that the frontier is about.
    """

    calls: Floats
    accuracy: Floats
    mass: float = 1.0

    def accuracy_at(self, calls: float) -> float:
        """Largest P(right) of any rule, randomised ones included, of at most that many expected debate calls.

        Raises
        ------
        ParameterError
            If no rule is that cheap.
        """
        if calls < self.calls[0] - 1e-9:
            raise ParameterError("calls", calls, f"at least {self.calls[0]:g} debate calls a question")
        return float(np.interp(calls, self.calls, self.accuracy))

    def regret(self, calls: float, accuracy: float) -> float:
        """How much accuracy the best rule of the same expected debate calls adds; not negative for a rule on the same histories."""
        return self.accuracy_at(calls) - accuracy

    def to_json(self) -> dict[str, object]:
        """Vertices as plain lists."""
        return {"debate_calls": self.calls.tolist(), "accuracy": self.accuracy.tolist(), "mass": self.mass}


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


# -- concave chains --

Chain = tuple[float, float, Floats, Floats]
"""Start (calls, right), then edges (calls, right) by falling slope."""


def _sum_of(chains: Sequence[Chain]) -> Chain:
    """Minkowski sum: starts add, edges merge by slope."""
    calls = math.fsum(c[0] for c in chains)
    right = math.fsum(c[1] for c in chains)
    d_calls = np.concatenate([c[2] for c in chains]) if chains else np.zeros(0)
    d_right = np.concatenate([c[3] for c in chains]) if chains else np.zeros(0)
    order = np.argsort(-d_right / d_calls, kind="stable") if len(d_calls) else np.zeros(0, dtype=np.int64)
    return calls, right, d_calls[order], d_right[order]


def _hull_with_stop(stop: float, going_on: Chain) -> Chain:
    """Concave hull of the point (0, stop) and a chain to its right: the stop sees the chain under the steepest angle at one vertex."""
    calls, right, d_calls, d_right = going_on
    vertex_calls = calls + np.concatenate([[0.0], np.cumsum(d_calls)])
    vertex_right = right + np.concatenate([[0.0], np.cumsum(d_right)])
    slopes = (vertex_right - stop) / vertex_calls
    best = int(np.argmax(slopes))
    if slopes[best] <= _ROUNDING:
        return 0.0, stop, np.zeros(0), np.zeros(0)
    edge_calls = np.concatenate([[vertex_calls[best]], d_calls[best:]])
    return 0.0, stop, edge_calls, np.concatenate([[vertex_right[best] - stop], d_right[best:]])


class HistoryTree:
    """All histories of one tier's debates, with their probabilities.

    Parameters
    ----------
    roots : tuple of History
        First panels.
    tier : Tier
        N agents, at most R rounds.
    first_decision : int
        First round after which the protocol may stop.
    size : int
        Number of decision nodes.
    """

    def __init__(self, roots: tuple[History, ...], tier: Tier, first_decision: int, size: int) -> None:
        self.roots = roots
        self.tier = tier
        self.first_decision = first_decision
        self.size = size

    @property
    def mass(self) -> float:
        """P(a question debates in this tier)."""
        return math.fsum(root.probability for root in self.roots)

    def decisions(self) -> Iterator[History]:
        """Histories after which a rule may declare consensus, except those of the last round."""
        stack = list(self.roots)
        while stack:
            node = stack.pop()
            stack.extend(node.children)
            if node.round >= self.first_decision:
                yield node

    def frontier(self) -> Frontier:
        """Upper boundary over all randomised rules, given that a question debates in this tier."""
        calls, right, d_calls, d_right = self.chain()
        mass = self.mass
        return Frontier(_vertices(calls, d_calls) / mass, _vertices(right, d_right) / mass, mass)

    def chain(self) -> Chain:
        """Return it as a chain of unconditional debate calls and P(right), for sums over tiers."""
        base = self.tier.agents * self.roots[0].round if self.roots else 0
        total = _sum_of([self._chain_of(root) for root in self.roots])
        return total[0] + base * self.mass, *total[1:]

    def _chain_of(self, node: History) -> Chain:
        if node.round == self.tier.rounds:
            return 0.0, node.stop, np.zeros(0), np.zeros(0)
        if node.last:
            ahead: Chain = 0.0, math.fsum(max(leaf.declared, leaf.plain) for leaf in node.last), np.zeros(0), np.zeros(0)
        else:
            ahead = _sum_of([self._chain_of(child) for child in node.children])
        going_on = (ahead[0] + self.tier.agents * node.probability, *ahead[1:])
        return _hull_with_stop(node.stop, going_on) if node.round >= self.first_decision else going_on

    def evaluate(self, rule: Rule, last: LastRule | None = None) -> tuple[float, float]:
        """Return expected debate calls and P(right) of a rule, given that a question debates in this tier.

        Parameters
        ----------
        rule : callable
            History to the probability of declaring consensus there.
        last : callable, optional
            The same for the last round; by default whichever vote is right more often there.
        """
        found = [self._value(root, rule, last) for root in self.roots]
        base = self.tier.agents * (self.roots[0].round if self.roots else 0)
        mass = self.mass
        return base + math.fsum(c for c, _ in found) / mass, math.fsum(a for _, a in found) / mass

    def _value(self, node: History, rule: Rule, last: LastRule | None) -> tuple[float, float]:
        if node.round == self.tier.rounds:
            return 0.0, node.stop
        declare = rule(node) if node.round >= self.first_decision else 0.0
        if declare == 1.0:
            return 0.0, node.stop
        calls = self.tier.agents * node.probability
        if node.last:
            right = math.fsum(_leaf_value(node, leaf, last) for leaf in node.last)
        else:
            below = [self._value(child, rule, last) for child in node.children]
            calls += math.fsum(c for c, _ in below)
            right = math.fsum(a for _, a in below)
        return (1 - declare) * calls, declare * node.stop + (1 - declare) * right

    def optimum(self, price: float) -> dict[int, bool]:
        """Decisions of the rule that maximises P(right) - price * debate calls.

        Parameters
        ----------
        price : float
            What a debate call costs, in units of P(right).

        Returns
        -------
        dict of int to bool
            ``id`` of a decision node to whether consensus is declared there.
        """
        declared: dict[int, bool] = {}

        def worth(node: History) -> float:
            if node.round == self.tier.rounds:
                return node.stop
            if node.last:
                ahead = math.fsum(max(leaf.declared, leaf.plain) for leaf in node.last)
            else:
                ahead = math.fsum(worth(child) for child in node.children)
            ahead -= price * self.tier.agents * node.probability
            if node.round < self.first_decision:
                return ahead
            declared[id(node)] = node.stop >= ahead
            return max(node.stop, ahead)

        for root in self.roots:
            worth(root)
        return declared


def _vertices(start: float, steps: Floats) -> Floats:
    return start + np.concatenate([[0.0], np.cumsum(steps)])


def _leaf_value(node: History, leaf: Leaf, last: LastRule | None) -> float:
    if last is None:
        return max(leaf.declared, leaf.plain)
    share = last(node, leaf)
    return share * leaf.declared + (1 - share) * leaf.plain


# -- building the tree --


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


def history_tree(protocol: Protocol, population: Population, tier: str | Tier, *, most: int = MOST_HISTORIES) -> HistoryTree:
    """Grow the tree of a tier's histories.

    Parameters
    ----------
    protocol, population
        Whose debates; the protocol's own stopping rule plays no part.
    tier : str or Tier
        One of the protocol's tiers, or its name.
    most : int
        Refuse to grow more decision nodes than this.

    Raises
    ------
    ParameterError
        If the protocol has no such tier, no question reaches it, or it is too large.
    """
    names = [t.name for t in protocol.tiers]
    name = tier.name if isinstance(tier, Tier) else tier
    if name not in names:
        raise ParameterError("tier", name, "one of " + (", ".join(names) or "none: the protocol has no debate"))
    return _tree(ExactLaw(protocol, population), names.index(name), most)


def _tree(law: ExactLaw, t: int, most: int) -> HistoryTree:
    builder = _Builder(law, t, most)
    roots = builder.roots()
    if not roots:
        raise ParameterError("tier", builder.tier.name, "a tier that some question reaches")
    return HistoryTree(roots, builder.tier, builder.first_decision, builder.size)


def stopping_frontier(protocol: Protocol, population: Population, tier: str | Tier) -> Frontier:
    """Best stopping rules of one tier: (expected debate calls, accuracy), given that a question debates there.

    Parameters
    ----------
    protocol, population
        Whose debates. Gate, first answers, response rule, confidences and decision are theirs; only the stopping rule is free.
    tier : str or Tier
        One of the protocol's tiers, or its name.

    Returns
    -------
    Frontier

    Raises
    ------
    ParameterError
        If the protocol has no such tier, no question reaches it, or it is too large.

    Notes
    -----
    Cost: one tree of histories, below a second for six agents and three rounds; ten times that with each further round, and more where
    moves depend on the question (iota > 0).
    """
    return history_tree(protocol, population, tier).frontier()


def protocol_frontier(protocol: Protocol, population: Population) -> Frontier:
    """Best stopping rules of a whole protocol: (expected debate calls, accuracy) over all questions, those without debate included.

    Tiers are combined so that the last accuracy gained costs the same in each: a Minkowski sum of their frontiers. The last few are
    kept, since the frontier is the same for all stopping rules of a sweep.

    Raises
    ------
    ParameterError
        If the protocol has no debate, or a tier is too large.
    """
    if not protocol.tiers:
        raise ParameterError("tiers", (), "a protocol with debate", "Without debate there is nothing to stop.")
    free = replace(protocol, round_stop=FixedRounds())
    key = json.dumps(plain([free.to_dict(), population.to_dict()]), sort_keys=True)
    if key not in _KNOWN:
        while len(_KNOWN) >= _KEEP:
            del _KNOWN[next(iter(_KNOWN))]
        _KNOWN[key] = _protocol_frontier(free, population)
    return _KNOWN[key]


_KEEP = 64
_KNOWN: dict[str, Frontier] = {}


def _protocol_frontier(protocol: Protocol, population: Population) -> Frontier:
    law = ExactLaw(protocol, population)
    masses = law.masses()
    chains: list[Chain] = [(0.0, float(masses[:, 0, ..., 1].sum()), np.zeros(0), np.zeros(0))]
    for t in range(len(protocol.tiers)):
        if float(masses[:, t + 1].sum()) > 0:
            chains.append(_tree(law, t, MOST_HISTORIES).chain())
    calls, right, d_calls, d_right = _sum_of(chains)
    return Frontier(_vertices(calls, d_calls), _vertices(right, d_right))


def regret(protocol: Protocol, population: Population) -> float:
    """Accuracy that the best stopping rule of the same expected debate calls adds to the protocol's own rule, over all questions.

    Raises
    ------
    ParameterError
        If the protocol has no debate, or a tier is too large.
    """
    masses = ExactLaw(protocol, population).masses()
    agents = np.array([0, *(t.agents for t in protocol.tiers)])
    by_tier_and_round = masses.sum(axis=(0, 3, 4, 5))
    calls = float((by_tier_and_round * agents[:, None] * np.arange(masses.shape[2])[None, :]).sum())
    return protocol_frontier(protocol, population).regret(calls, float(masses[..., 1].sum()))


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
