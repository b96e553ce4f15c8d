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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..model import FixedRounds, ParameterError, Population, Protocol, Tier
from ..model.exact import ExactLaw
from ..model.tables import plain
from .histories import MOST_HISTORIES, History, LastRule, Leaf, Rule, grow

__all__ = ["Frontier", "HistoryTree", "history_tree", "protocol_frontier", "regret", "stopping_frontier"]

Floats = npt.NDArray[np.float64]

_ROUNDING = 1e-12
"""P(right) per debate call below which a gain is rounding error."""


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
    tier = law.protocol.tiers[t]
    roots, size = grow(law, t, most)
    if not roots:
        raise ParameterError("tier", tier.name, "a tier that some question reaches")
    return HistoryTree(roots, tier, 1 if law.protocol.inherits else 2, size)


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
