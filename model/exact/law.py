r"""The exact law of an outcome, by enumeration and quadrature: no sampling error.

For each tier let :math:`v_0` be the probabilities of (opening, tier, hit) summed over openings and over the question's law
(Gauss-Jacobi, exact because everything is a polynomial in p and in w), on the states of the panel. Rounds are

.. math:: v_r = v_{r-1} P, \qquad \text{split by the earlier dominant count } k' \text{ to apply the stop table } [k', k],

and what stops in round r is read off by the decision's P(right | state). With iota = 0 and no fresh weight P does not depend on (p, w)
and the question's law is summed out first; otherwise each node has its own P.

All that does not depend on the stopping rule (openings, tiers, transition matrices, decisions) is made once and kept by an
:class:`ExactLaw`; a rule acts only through its tables of booleans, so rules with equal tables have the same law, bit for bit, and are
evaluated once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..difficulty import question_law
from ..outcomes import REASONS, OutcomeSpace, Pricing, last_round, summarise
from ..population import Population
from ..protocol import Protocol
from ..result import Result
from ..scheduling import ConfidenceGate, OracleGate, Tier, UncertaintyGate
from ..stopping import RoundStop, StableConsensus, StopReason
from .chains import RIGHT, Openings, openings
from .panel import Panel, panel, transition
from .plurality import add_votes
from .risk import tier_law
from .votes import decision_right

__all__ = ["ExactLaw", "Start", "evaluate", "simulate"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

_CONFIDENT = REASONS.index(StopReason.CONFIDENT)
_CONSENSUS = REASONS.index(StopReason.CONSENSUS)
_ROUND_LIMIT = REASONS.index(StopReason.ROUND_LIMIT)
_TOKEN_BUDGET = REASONS.index(StopReason.TOKEN_BUDGET)

_BLOCK = 2_000_000
"""Entries of a table over questions that are held at once."""
_KEPT_BYTES = 2**28
"""Memory for the transition matrices of one tier, by node of the question's law; what does not fit is made anew for every rule."""


@dataclass(frozen=True, eq=False)
class Start:
    """One tier's panels before any response.

    Attributes
    ----------
    openings : Openings
        Classes of chains and first panels.
    mass : dict of (chains drawn, hit) to (ndarray of int, shape (E',), ndarray, shape (E', nodes))
        Rows of the openings, and their probability by node of the question's law (one node where they are summed).
    moves : callable
        (node, focused) to the pair of transition matrices.
    """

    tier: Tier
    panel: Panel
    openings: Openings
    mass: dict[tuple[int, int], tuple[Ints, Floats]]
    moves: Callable[[int, bool], tuple[Floats, Floats]]


class ExactLaw:
    """The exact law of a protocol on a population.

    Parameters
    ----------
    protocol : Protocol
        The policy; tiers of up to 8 agents.
    population : Population
        The law of questions.

    Raises
    ------
    ParameterError
        If a tier is too large for the exact law.

    Notes
    -----
    ``masses(round_stop=...)`` evaluates another stopping rule on what is already prepared; ``evaluations`` counts how many distinct
    rules were worked out.
    """

    def __init__(self, protocol: Protocol, population: Population) -> None:
        self.protocol = protocol
        self.population = population
        self.space = OutcomeSpace(protocol)
        self.evaluations = 0
        self._known: dict[tuple[object, ...], Floats] = {}

    # -- everything that does not depend on the stopping rule

    @cached_property
    def _moves_with_question(self) -> bool:
        """Whether transition matrices depend on (p, w)."""
        rule = self.population.response
        return rule.iota > 0 or rule.fresh_weight > 0

    @cached_property
    def _with_hits(self) -> bool:
        return self.population.response.lam_focus != 0 and self.protocol.target != "none"

    @cached_property
    def tier_openings(self) -> list[Openings]:
        """Laws of the first answers, by tier."""
        p = self.protocol
        return [openings(p.chains, p.sampling_stop, p.initial, tier) for tier in p.tiers]

    @cached_property
    def _nodes(self) -> tuple[Floats, Floats, Floats]:
        """Nodes (p, w) and weights of the question's law."""
        degree = max((o.degree for o in self.tier_openings), default=0)
        if self._moves_with_question:
            degree += max((t.agents * t.rounds for t in self.protocol.tiers), default=0)
        if isinstance(self.protocol.gate, OracleGate):
            from .oracle import oracle_router

            return oracle_router(self.protocol, self.population).question_law(degree)
        return question_law(self.population.difficulty, self.population.misconception, max(degree, 1))

    @cached_property
    def starts(self) -> list[Start]:
        """What each tier's debates start from."""
        return [self._start(t) for t in range(len(self.protocol.tiers))]

    def _start(self, t: int) -> Start:
        tier, opening = self.protocol.tiers[t], self.tier_openings[t]
        space = panel(tier.agents)
        mass: dict[tuple[int, int], tuple[Ints, Floats]] = {}
        for hit, chance in enumerate(self._tier_given_opening(t, opening)):
            if not np.any(chance):
                continue
            entry = self._opening_masses(opening, chance)
            for drawn in np.unique(opening.chains):
                rows = np.flatnonzero(opening.chains == drawn)
                mass[int(drawn), hit] = rows, entry[rows]
        return Start(tier, space, opening, mass, self._move_matrices(space))

    def _opening_masses(self, opening: Openings, chance: Floats) -> Floats:
        """P(opening) times ``chance``, by node of the question's law, summed over the nodes where moves do not depend on them."""
        p, w, weight = self._nodes
        if self._moves_with_question:
            return np.asarray(opening.probabilities(p, w) * weight * chance)
        total = np.zeros((len(opening.kind), 1))
        for block in np.array_split(np.arange(len(p)), len(opening.kind) * len(p) // _BLOCK + 1):
            given = chance if chance.shape[1] == 1 else chance[:, block]
            total[:, 0] += (opening.probabilities(p[block], w[block]) * given) @ weight[block]
        return total

    def _move_matrices(self, space: Panel) -> Callable[[int, bool], tuple[Floats, Floats]]:
        rule = self.population.response
        p, w, _ = self._nodes
        kept: dict[tuple[int, bool], tuple[Floats, Floats]] = {}

        def moves(node: int, focused: bool) -> tuple[Floats, Floats]:
            key = (node if self._moves_with_question else 0, focused and self._with_hits)
            if key in kept:
                return kept[key]
            question = (float(p[node]), float(w[node])) if self._moves_with_question else (0.0, 0.0)
            found = transition(space.agents, rule, *question, key[1])
            if (len(kept) + 1) * (found[0].nbytes + found[1].nbytes) <= _KEPT_BYTES:
                kept[key] = found
            return found

        return moves

    def _tier_given_opening(self, t: int, opening: Openings) -> tuple[Floats, Floats]:
        """P(tier t, no hit) and P(tier t, hit), by opening and node; shapes that broadcast to (E, nodes)."""
        gate, count = self.protocol.gate, len(opening.kind)
        if isinstance(gate, UncertaintyGate):
            return self._risk_table(t, opening)
        if isinstance(gate, ConfidenceGate):
            law = self.population.confidence
            below = np.where(opening.kind == RIGHT, law.below(gate.threshold, True), law.below(gate.threshold, False))
            chosen = below[:, None]
        elif isinstance(gate, OracleGate):
            from .oracle import oracle_router

            router = oracle_router(self.protocol, self.population)
            p, w, _ = self._nodes
            chosen = np.broadcast_to((router.tiers(p, w) == t).astype(float), (count, len(p)))
        else:
            chosen = np.ones((count, 1))
        if not self._with_hits:
            return chosen, np.zeros((count, 1))
        if self.protocol.target == "uniform":
            hit = np.where(opening.kind == RIGHT, 0.0, 1.0 / self.population.signals.steps)[:, None]
            return chosen * (1 - hit), chosen * hit
        default = tier_law(
            UncertaintyGate((), *_default_weights()), self.population.signals, self.protocol.chains, "riskiest", with_hits=True
        )
        hits = default[opening.kind, opening.dominant, 0, 1][:, None]
        return chosen * (1 - hits), chosen * hits

    def _risk_table(self, t: int, opening: Openings) -> tuple[Floats, Floats]:
        gate = self.protocol.gate
        assert isinstance(gate, UncertaintyGate)
        no_hit, hit = np.zeros((len(opening.kind), 1)), np.zeros((len(opening.kind), 1))
        for drawn in np.unique(opening.chains):
            rows = opening.chains == drawn
            table = tier_law(gate, self.population.signals, int(drawn), self.protocol.target, with_hits=self._with_hits)
            chosen = table[opening.kind[rows], opening.dominant[rows], t]
            no_hit[rows, 0], hit[rows, 0] = chosen[:, 0], chosen[:, 1]
        return no_hit, hit

    @cached_property
    def decisions(self) -> list[tuple[Floats, Floats]]:
        """P(right | state) of each tier: plain end, and end after stable consensus."""
        found = []
        for start in self.starts:
            plain = decision_right(start.panel.agents, self.population.confidence if self.protocol.vote == "weighted" else None)
            weighted = plain if self.protocol.vote == "plurality" else decision_right(start.panel.agents, self.population.confidence)
            found.append((plain, weighted))
        return found

    def right_shares(self, t: int) -> list[float]:
        """Return the expected share of right agents in tier ``t`` after each round, as if nothing stopped the debate early.

        Returns
        -------
        list of float
            Round 0 first for inherited answers, else round 1; given that the question goes to the tier. Under the voter model (theta = 1,
            lam = iota = phi = 0) all entries are equal: the share is a martingale.
        """
        start = self.starts[t]
        rounds = start.tier.rounds if self.protocol.inherits else start.tier.rounds - 1
        shares = np.zeros(rounds + 1)
        total = 0.0
        for (_, hit), (rows, mass) in start.mass.items():
            for node in range(mass.shape[1]):
                alive = np.asarray(np.bincount(start.openings.state[rows], mass[:, node], len(start.panel)), dtype=np.float64)
                total += float(alive.sum())
                for r in range(rounds + 1):
                    shares[r] += float(alive @ start.panel.right_share)
                    alive = alive @ start.moves(node, bool(hit))[0]
        return [float(value) for value in shares / total] if total > 0 else []

    # -- one stopping rule

    def signature(self, rule: RoundStop) -> tuple[object, ...]:
        """Return what a rule amounts to on this protocol's tiers; equal signatures have the same law."""
        if not isinstance(rule, StableConsensus):
            probe = replace(self.protocol, round_stop=rule)
            return ("limit", *(last_round(probe, self.population, tier) for tier in self.protocol.tiers))
        parts: list[object] = ["stable", rule.same_leader]
        for tier in self.protocol.tiers:
            parts.append(rule.table(tier.agents).tobytes())
            if self.protocol.inherits:
                by_chains = rule.first_share == "chains"
                tables = [rule.table(tier.agents, drawn).tobytes() for drawn in range(1, self.protocol.chains + 1)] if by_chains else []
                parts.append((rule.first_share == "none", *tables))
        return tuple(parts)

    def masses(self, round_stop: RoundStop | None = None) -> Floats:
        """Probabilities on the outcome lattice.

        Parameters
        ----------
        round_stop : RoundStop, optional
            Instead of the protocol's own rule.

        Returns
        -------
        ndarray, shape ``OutcomeSpace(protocol).shape``
        """
        rule = self.protocol.round_stop if round_stop is None else round_stop
        key = self.signature(rule)
        if key not in self._known:
            self.evaluations += 1
            self._known[key] = self._evaluate(rule)
        return self._known[key]

    def _evaluate(self, rule: RoundStop) -> Floats:
        masses = np.zeros(self.space.shape)
        if not self.protocol.tiers:
            add_votes(masses, self.protocol, self.population)
            return masses
        if isinstance(self.protocol.gate, ConfidenceGate):
            self._add_confident(masses)
        for t, start in enumerate(self.starts):
            for (drawn, hit), (rows, mass) in start.mass.items():
                for node in range(mass.shape[1]):
                    self._add_debate(masses[drawn, t + 1], t, rows, mass[:, node], start.moves(node, bool(hit)), rule)
        return masses

    def right_by_opening(self, t: int) -> Floats:
        """P(final answer right | opening, tier ``t``) where moves do not depend on the question; shape (E,)."""
        no_hit, hit = self._tier_given_opening(t, self.tier_openings[t])
        right = (chance[:, 0] * self._right_given_hit(t, focused) for focused, chance in enumerate((no_hit, hit)))
        return np.asarray(sum(right) / (no_hit + hit)[:, 0])

    def _right_given_hit(self, t: int, focused: int) -> Floats:
        start, rule = self.starts[t], self.protocol.round_stop
        space, opening, (both, same) = start.panel, start.openings, start.moves(0, bool(focused))
        plain, weighted = self.decisions[t]
        limit, _ = last_round(self.protocol, self.population, start.tier)
        value = plain
        for _ in range(limit, 1, -1):
            stopped = np.zeros_like(value)
            if isinstance(rule, StableConsensus):
                fires = rule.table(space.agents)[space.dominant[:, None], space.dominant[None, :]]
                stopped = ((same if rule.same_leader else both) * fires) @ (weighted - value)
            value = both @ value + stopped
        if not self.protocol.inherits:
            return np.asarray(value[opening.state])
        found = (both @ value)[opening.state]
        if isinstance(rule, StableConsensus):
            for drawn in np.unique(opening.chains):
                rows = np.flatnonzero(opening.chains == drawn)
                found[rows] += _first_stops(rule, space, opening, rows, (both, same)) @ (weighted - value)
        return np.asarray(found)

    def _add_confident(self, masses: Floats) -> None:
        gate = self.protocol.gate
        assert isinstance(gate, ConfidenceGate)
        p = self.population.difficulty.mean()
        for right, mass in ((1, p), (0, 1 - p)):
            masses[1, 0, 0, _CONFIDENT, right, right] = mass * (1 - self.population.confidence.below(gate.threshold, bool(right)))

    def _add_debate(self, out: Floats, t: int, rows: Ints, mass: Floats, moves: tuple[Floats, Floats], rule: RoundStop) -> None:
        """Run tier ``t`` from some openings; ``rows`` and ``mass`` have shape (E',), ``out`` is (rounds + 1, reasons, 2, 2)."""
        protocol, start = self.protocol, self.starts[t]
        space = start.panel
        plain, weighted = self.decisions[t]
        limit, by_budget = last_round(replace(protocol, round_stop=rule), self.population, start.tier)
        alive = np.asarray(np.bincount(start.openings.state[rows], mass, len(space)), dtype=float)
        for r in range(1 if protocol.inherits else 2, limit + 1):
            reached = alive @ moves[0]
            if isinstance(rule, StableConsensus):
                if r == 1:
                    stopped = mass @ _first_stops(rule, space, start.openings, rows, moves)
                else:
                    stopped = _later_stops(rule, space, alive, moves)
                _record(out[r, _CONSENSUS], space, stopped, weighted)
                reached = reached - stopped
            alive = reached
        _record(out[limit, _TOKEN_BUDGET if by_budget else _ROUND_LIMIT], space, alive, plain)


def _default_weights() -> tuple[float, float, float]:
    gate = UncertaintyGate()
    return gate.weight_h, gate.weight_q, gate.weight_d


def _later_stops(rule: StableConsensus, space: Panel, alive: Floats, moves: tuple[Floats, Floats]) -> Floats:
    """Mass that stops after a round whose predecessor was a panel; shapes (S,)."""
    both, same = moves
    rows = np.zeros((space.agents + 1, len(space)))
    rows[space.dominant, np.arange(len(space))] = alive
    fires: Bools = rule.table(space.agents)[:, space.dominant]
    return np.asarray(np.where(fires, rows @ (same if rule.same_leader else both), 0.0).sum(axis=0))


def _first_stops(rule: StableConsensus, space: Panel, opening: Openings, rows: Ints, moves: tuple[Floats, Floats]) -> Floats:
    """P(next state, stop after round 1) of inherited answers, by opening; all rows have drawn the same chains; shape (E', S)."""
    both, same = moves
    state = opening.state[rows]
    if rule.first_share == "none":
        return np.zeros((len(rows), len(space)))
    if rule.first_share == "agents":
        fires: Bools = rule.table(space.agents)[space.dominant[state]][:, space.dominant]
        return np.asarray((same if rule.same_leader else both)[state] * fires)
    fires = rule.table(space.agents, int(opening.chains[rows[0]]))[opening.dominant[rows]][:, space.dominant]
    if rule.same_leader:
        # The chains' single leader is the candidate, so the panel's must be the candidate, too.
        fires = fires & opening.sole[rows, None] & space.candidate_leads[None, :]
    return np.asarray(both[state] * fires)


def _record(out: Floats, space: Panel, ended: Floats, right: Floats) -> None:
    """Add ended mass to ``out[candidate right, right]``."""
    for candidate in (0, 1):
        part = np.where(space.candidate_right == bool(candidate), ended, 0.0)
        hit = float(part @ right)
        out[candidate, 1] += hit
        out[candidate, 0] += float(part.sum()) - hit


def evaluate(protocol: Protocol, population: Population) -> Floats:
    """Probabilities on the outcome lattice; shape ``OutcomeSpace(protocol).shape``."""
    return ExactLaw(protocol, population).masses()


def simulate(protocol: Protocol, population: Population, pricing: Pricing | None = None) -> Result:
    """Return the exact law of a protocol on a population as a result.

    Parameters
    ----------
    protocol : Protocol
        The policy; tiers of up to 8 agents.
    population : Population
        Where questions come from.
    pricing : Pricing, optional
        Adds money.

    Returns
    -------
    Result
        Every estimate with ``low == mean == high``.

    Raises
    ------
    ParameterError
        If a tier is too large for the exact law.
    """
    law = ExactLaw(protocol, population)
    masses = law.masses()
    if not math.isclose(float(masses.sum()), 1.0, abs_tol=1e-9):
        raise ArithmeticError(f"the exact law sums to {masses.sum()!r}, not to 1")
    result = summarise(protocol, population, masses, engine="exact", pricing=pricing)
    by_round = {tier.name: law.right_shares(t) for t, tier in enumerate(protocol.tiers)}
    return replace(result, by_round={"right_share": by_round} if by_round else {})
