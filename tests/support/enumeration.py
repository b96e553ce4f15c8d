"""The law of one question by brute force: every sequence of answers, every tie and every move, one by one.

It shares no code with the exact engine but the parameter classes and (where a gate looks at step risk) the law of the tier, which has
tests of its own. It is slow: three agents, two rounds and four chains are its size.

Answers are labels: ``"right"``, ``"misconception"`` and a tuple for each stray.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from fractions import Fraction
from itertools import product

from adjourn.model import (
    AdaptiveConsistency,
    ConfidenceGate,
    ConfidenceLaw,
    Copying,
    FixedRounds,
    Follower,
    Logit,
    Outcome,
    OutcomeSpace,
    Population,
    Protocol,
    StableConsensus,
    StopReason,
    Tier,
    TokenBudget,
    UncertaintyGate,
    Window,
)
from adjourn.model.exact.panel import LOST, MARK_MISCONCEPTION, MARK_RIGHT, State
from adjourn.model.exact.risk import tier_law

RIGHT, MISCONCEPTION = "right", "misconception"
Answer = Hashable
Answers = tuple[Answer, ...]
Law = dict[Outcome, float]


def enumerate_law(protocol: Protocol, population: Population) -> Law:
    """Outcome to probability, for a population whose difficulty is a mixture of points with a w each."""
    law: Law = defaultdict(float)
    difficulty = population.difficulty
    for p, weight, w in zip(difficulty.p, difficulty.weight, difficulty.w, strict=True):
        for outcome, mass in _Question(protocol, population, p, w).law().items():
            law[outcome] += weight * mass
    return law


def flat_law(protocol: Protocol, population: Population) -> list[float]:
    """:func:`enumerate_law` on the outcome lattice."""
    space = OutcomeSpace(protocol)
    law = [0.0] * space.size
    for outcome, mass in enumerate_law(protocol, population).items():
        law[space.index(outcome)] += mass
    return law


def largest(answers: Answers) -> list[Answer]:
    counts = Counter(answers)
    return [a for a in counts if counts[a] == max(counts.values())]


def leads_for_sure(v1: int, v2: int, level: Fraction) -> bool:
    """P(Beta(v1 + 1, v2 + 1) > 1/2) >= level, by integrating x^v1 (1 - x)^v2 term by term in rationals."""

    def integral(low: Fraction) -> Fraction:
        return sum((Fraction(math.comb(v2, k) * (-1) ** k, v1 + k + 1) * (1 - low ** (v1 + k + 1)) for k in range(v2 + 1)), Fraction(0))

    return integral(Fraction(1, 2)) >= level * integral(Fraction(0))


def move_law(population: Population, answers: Answers, agent: int, fresh: dict[Answer, float], focused: bool) -> dict[Answer, float]:
    """P(next answer of an agent), written from the formulas of the response rules."""
    rule, own, count = population.response, answers[agent], len(answers)
    peers = Counter(a for k, a in enumerate(answers) if k != agent)
    present = set(answers)
    weights: dict[Answer, float] = {}
    new = 0.0
    for a in present:
        truth = a == RIGHT
        if isinstance(rule, Copying):
            holders = rule.sigma * (a == own) + peers[a]
            weights[a] = (math.exp(rule.lam) if truth else 1.0) * (holders**rule.theta if holders > 0 else 0.0)
        elif isinstance(rule, Logit):
            weights[a] = math.exp(rule.lam_self * (a == own) + rule.lam_peer * peers[a] + rule.lam_truth * truth)
            new = 0.0 if rule.lam_fresh is None else math.exp(rule.lam_fresh)
        else:
            assert isinstance(rule, Follower)
            majority = peers[a] > (count - 1) / 2
            weights[a] = (1 - rule.adopt) if a == own else (rule.adopt if majority else 0.0)
        if truth and focused:
            weights[a] *= math.exp(rule.lam_focus)
    total = sum(weights.values()) + new
    law: dict[Answer, float] = defaultdict(float)
    if count == 1 or total == 0:
        law[own] = 1.0
    else:
        for a, weight in weights.items():
            law[a] += weight / total
        for a, mass in fresh.items():
            law[a] += new / total * mass
    if own == RIGHT:
        law = defaultdict(float, {a: mass * (1 - rule.phi) for a, mass in law.items()})
        law[MISCONCEPTION] += rule.phi
    law = defaultdict(float, {a: mass * (1 - rule.iota) for a, mass in law.items()})
    for a, mass in fresh.items():
        law[a] += rule.iota * mass
    return {a: mass for a, mass in law.items() if mass > 0}


class Chains:
    """Sequences of independent answers to a question, and what agents hold first."""

    def __init__(self, protocol: Protocol, p: float, w: float) -> None:
        self.protocol, self.p, self.w = protocol, p, w

    def answer_law(self, label: Hashable) -> dict[Answer, float]:
        law = {RIGHT: self.p, MISCONCEPTION: (1 - self.p) * self.w, ("stray", label): (1 - self.p) * (1 - self.w)}
        return {a: mass for a, mass in law.items() if mass > 0}

    def chains(self, drawn: Answers, mass: float) -> Iterator[tuple[Answers, bool, float]]:
        most = self.protocol.chains
        if len(drawn) == most:
            yield drawn, False, mass
        elif drawn and self.sampling_ends(drawn):
            yield drawn, True, mass
        else:
            for answer, share in self.answer_law(len(drawn)).items():
                yield from self.chains((*drawn, answer), mass * share)

    def sampling_ends(self, drawn: Answers) -> bool:
        stop = self.protocol.sampling_stop
        if isinstance(stop, AdaptiveConsistency):
            counts = [*sorted(Counter(drawn).values(), reverse=True), 0]
            return leads_for_sure(counts[0], counts[1], Fraction(stop.level))
        if isinstance(stop, Window):
            return len(drawn) % stop.window == 0 and len(set(drawn[-stop.window :])) == 1
        return False

    def first_answers(self, chains: Answers, candidate: Answer, agents: int) -> Iterator[tuple[Answers, float]]:
        protocol = self.protocol
        if protocol.initial == "chains":
            rest = list(chains)
            rest.remove(candidate)
            order = [candidate, *rest]
            yield tuple(order[k % len(order)] for k in range(agents)), 1.0
            return
        fixed = (candidate,) if protocol.initial == "restated" else ()
        laws = [self.answer_law(("first", k)).items() for k in range(agents - len(fixed))]
        for choice in product(*laws):
            yield (*fixed, *(a for a, _ in choice)), math.prod(mass for _, mass in choice)


class _Question(Chains):
    def __init__(self, protocol: Protocol, population: Population, p: float, w: float) -> None:
        super().__init__(protocol, p, w)
        self.population = population
        self.rounds: dict[tuple[Answers, bool], list[tuple[Answers, float]]] = {}
        self.votes: dict[tuple[Answers, Answer, bool], float] = {}

    def law(self) -> Law:
        found: Law = defaultdict(float)
        for chains, early, mass in self.chains((), 1.0):
            tied = largest(chains) if chains else [None]
            for candidate in tied:
                self.route(found, chains, early, candidate, mass / len(tied))
        return found

    def route(self, found: Law, chains: Answers, early: bool, candidate: Answer, mass: float) -> None:
        right = candidate == RIGHT
        if not self.protocol.tiers:
            reason = StopReason.SAMPLING_STOP if early else StopReason.SAMPLE_LIMIT
            found[Outcome(len(chains), -1, 0, reason, right, right)] += mass
            return
        for tier, hit, share in self.tiers(chains, candidate):
            if tier is None:
                found[Outcome(len(chains), -1, 0, StopReason.CONFIDENT, right, right)] += mass * share
            elif share > 0:
                self.debate(found, chains, candidate, tier, hit, mass * share)

    def tiers(self, chains: Answers, candidate: Answer) -> Iterator[tuple[int | None, bool, float]]:
        """(tier, target hits the faulty step, probability)."""
        protocol, population = self.protocol, self.population
        gate, steps = protocol.gate, population.signals.steps
        kind = {RIGHT: 0, MISCONCEPTION: 1}.get(candidate, 2)
        dominant = max(Counter(chains).values(), default=0)
        if isinstance(gate, UncertaintyGate):
            table = tier_law(gate, population.signals, len(chains), protocol.target, with_hits=True)[kind, dominant]
            for tier in range(len(protocol.tiers)):
                for hit in (0, 1):
                    yield tier, bool(hit), float(table[tier, hit])
            return
        hit = 0.0
        if protocol.target == "uniform" and kind != 0:
            hit = 1 / steps
        if protocol.target == "riskiest":
            hit = float(tier_law(UncertaintyGate(()), population.signals, len(chains), "riskiest", with_hits=True)[kind, dominant, 0, 1])
        debate = 1.0
        if isinstance(gate, ConfidenceGate):
            law = population.confidence.right if kind == 0 else population.confidence.wrong
            debate = sum(law[: gate.threshold - 1])
            yield None, False, 1 - debate
        yield 0, False, debate * (1 - hit)
        yield 0, True, debate * hit

    def debate(self, found: Law, chains: Answers, candidate: Answer, t: int, hit: bool, mass: float) -> None:
        protocol, tier = self.protocol, self.protocol.tiers[t]
        limit, by_budget = self.limit(tier)
        alive: dict[tuple[Answers, Answer], float] = defaultdict(float)
        for answers, share in self.first_answers(chains, candidate, tier.agents):
            marks = [candidate] if chains else largest(answers)
            for mark in marks:
                alive[(answers, mark) if protocol.initial == "chains" else _renamed(answers, mark)] += mass * share / len(marks)
        for round_ in range(1 if protocol.initial == "chains" else 2, limit + 1):
            following: dict[tuple[Answers, Answer], float] = defaultdict(float)
            for (before, mark), share in alive.items():
                focused = hit and mark != RIGHT
                for after, moved in self.round(before, focused):
                    if self.stops(chains, before, after, round_, tier.agents):
                        self.end(found, (len(chains), t, round_, StopReason.CONSENSUS), after, mark, True, share * moved)
                    else:
                        following[_renamed(after, mark)] += share * moved
            alive = following
        for (answers, mark), share in alive.items():
            reason = StopReason.TOKEN_BUDGET if by_budget else StopReason.ROUND_LIMIT
            self.end(found, (len(chains), t, limit, reason), answers, mark, False, share)

    def limit(self, tier: Tier) -> tuple[int, bool]:
        """Last round, and whether the budget ends it; token counts written out."""
        stop, tokens = self.protocol.round_stop, self.population.tokens
        if not isinstance(stop, TokenBudget):
            return tier.rounds, False
        inherited = self.protocol.initial == "chains"
        spent, transcript = 0.0, tokens.question
        if inherited:
            transcript += tier.agents * tokens.solver + tokens.overhead
        for round_ in range(1, tier.rounds + 1):
            opening = round_ == 1 and not inherited
            prompt = tokens.question + tokens.local_context if self.protocol.prompts == "local" and not opening else transcript
            completion = tokens.solver if opening else tokens.debater
            spent += tier.agents * (prompt + completion)
            transcript += tier.agents * completion + tokens.overhead
            if spent >= stop.tokens:
                return round_, True
        return tier.rounds, False

    def round(self, before: Answers, focused: bool) -> list[tuple[Answers, float]]:
        """Next answers of all agents, sorted (agents are alike), with their probability."""
        if (before, focused) not in self.rounds:
            laws = [
                move_law(self.population, before, agent, self.answer_law(("fresh", agent)), focused).items() for agent in range(len(before))
            ]
            merged: dict[Answers, float] = defaultdict(float)
            for choice in product(*laws):
                new = sorted((a for a, _ in choice), key=repr)
                names = {a: ("new", k) for k, a in enumerate(a for a in new if a not in before and a != MISCONCEPTION and a != RIGHT)}
                merged[tuple(names.get(a, a) for a in new)] += math.prod(mass for _, mass in choice)
            self.rounds[before, focused] = list(merged.items())
        return self.rounds[before, focused]

    def stops(self, chains: Answers, before: Answers, after: Answers, round_: int, agents: int) -> bool:
        rule = self.protocol.round_stop
        if isinstance(rule, (FixedRounds, TokenBudget)) or agents == 1:
            return False
        assert isinstance(rule, StableConsensus)
        if self.protocol.initial == "chains" and round_ == 1:
            if rule.first_share == "none":
                return False
            if rule.first_share == "chains":
                before = chains
        share = Fraction(max(Counter(after).values()), len(after))
        earlier = Fraction(max(Counter(before).values()), len(before))
        fires = share >= rule.tau_c and abs(share - earlier) <= rule.epsilon
        if rule.same_leader:
            fires = fires and len(largest(after)) == 1 and largest(before) == largest(after)
        return fires

    def end(self, found: Law, how: tuple[int, int, int, StopReason], answers: Answers, mark: Answer, stable: bool, mass: float) -> None:
        vote = self.protocol.vote
        weighted = vote == "weighted" or (vote == "weighted_after_stability" and stable)
        answers, mark = _renamed(answers, mark)
        if (answers, mark, weighted) not in self.votes:
            self.votes[answers, mark, weighted] = right_wins(answers, mark, self.population.confidence if weighted else None)
        right = self.votes[answers, mark, weighted]
        found[Outcome(*how, mark == RIGHT, True)] += mass * right
        found[Outcome(*how, mark == RIGHT, False)] += mass * (1 - right)


def right_wins(answers: Answers, candidate: Answer, confidence: ConfidenceLaw | None) -> float:
    """P(the vote is right), by every combination of stated confidences."""
    laws = []
    for answer in answers:
        law = [(1, 1.0)]
        if confidence is not None:
            law = [(v, m) for v, m in enumerate(confidence.right if answer == RIGHT else confidence.wrong, start=1) if m > 0]
        laws.append(law)
    total = 0.0
    for stated in product(*laws):
        votes: Counter[Answer] = Counter()
        for answer, (value, _) in zip(answers, stated, strict=True):
            votes[answer] += value
        tied = [a for a in votes if votes[a] == max(votes.values())]
        mass = math.prod(m for _, m in stated)
        if candidate in tied:
            total += mass * (candidate == RIGHT)
        else:
            total += mass * (RIGHT in tied) / len(tied)
    return total


def panel_of(state: State) -> tuple[Answers, Answer]:
    """Answers of a panel in a state of the exact engine, and the candidate."""
    right, misc, strays, mark = state
    answers: list[Answer] = [RIGHT] * right + [MISCONCEPTION] * misc
    for index, size in enumerate(strays):
        answers += [("stray", index)] * size
    candidate = {MARK_RIGHT: RIGHT, MARK_MISCONCEPTION: MISCONCEPTION, LOST: "lost"}.get(mark)
    return tuple(answers), candidate or ("stray", strays.index(mark))


def state_of(answers: Answers, candidate: Answer) -> State:
    """State of the exact engine that a panel is in."""
    counts = Counter(answers)
    strays = tuple(sorted((n for a, n in counts.items() if a not in (RIGHT, MISCONCEPTION)), reverse=True))
    mark = {RIGHT: MARK_RIGHT, MISCONCEPTION: MARK_MISCONCEPTION}.get(candidate, counts.get(candidate, LOST))
    return counts[RIGHT], counts[MISCONCEPTION], strays, mark


def _renamed(answers: Answers, mark: Answer) -> tuple[Answers, Answer]:
    """Agents in a fixed order, strays by size, so that equal situations meet."""
    counts = Counter(answers)
    strays = sorted((a for a in counts if a not in (RIGHT, MISCONCEPTION)), key=lambda a: (-counts[a], a != mark))
    names: dict[Answer, Answer] = {a: ("held", k) for k, a in enumerate(strays)}
    names.update({RIGHT: RIGHT, MISCONCEPTION: MISCONCEPTION})
    return tuple(sorted((names[a] for a in answers), key=repr)), names.get(mark, "lost")
