r"""The reference engine: one question, step by step, written to be read beside the paper. It is the specification of record.

A debate is ``chains -> candidate -> signals -> tier -> first answers -> (round, stop?) ... -> decision``. The engine holds the rules
only; what is random it asks of an *answer source*: sampled from the model (:class:`SampledSource`), or recorded in a log, or a live
model. All sources use the same seam, so the decision taken on recorded answers is the decision that this engine takes.

Answers are hashable labels; equal labels mean the same answer. The sampled source uses 0 for the right answer, 1 for the shared
misconception and a number of its own for each stray.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol as Interface

import numpy as np
import numpy.typing as npt

from .deciding import leaders, winner
from .difficulty import draw_question
from .draws import AGENT_STRIDE, Purpose, agent_slot, beta_table, uniform
from .outcomes import Outcome, OutcomeSpace, Pricing, last_round, summarise
from .population import Population
from .protocol import MOST_CHAINS, Protocol
from .result import Result
from .scheduling import ConfidenceGate, OracleGate, Tier, UncertaintyGate
from .signals import variant_entropy
from .stopping import AdaptiveConsistency, StableConsensus, StopReason, Window

__all__ = ["MISCONCEPTION", "RIGHT", "AnswerSource", "SampledSource", "Trajectory", "run", "simulate", "trajectories"]

Answer = Hashable
RIGHT = 0
MISCONCEPTION = 1
_FIRST_STRAY = 2


class AnswerSource(Interface):
    """Where answers, signals and fair draws of one question come from."""

    @property
    def steps(self) -> int:
        """Number of steps of a solution."""
        ...

    def sample(self, index: int) -> Answer:
        """Independent answer number ``index`` (from 0)."""
        ...

    def signals(self, candidate: Answer) -> tuple[Sequence[float], Sequence[float]]:
        """Signals h(k) and d(k) of the candidate's steps."""
        ...

    def oracle_tier(self) -> int:
        """Best tier for this question (only a model knows it)."""
        ...

    def confidence(self, round_: int, agent: int, answer: Answer) -> int:
        """Stated confidence, 1 to 10."""
        ...

    def respond(self, round_: int, answers: Sequence[Answer], candidate: Answer, target: int | None) -> list[Answer]:
        """All agents' next answers, from the previous round's answers, the candidate and the targeted step."""
        ...

    def fair(self, purpose: Purpose) -> float:
        """Uniform number in (0, 1) for a tie or a uniform target."""
        ...

    def is_right(self, answer: Answer) -> bool:
        """Whether the answer is right."""
        ...


@dataclass(frozen=True)
class Trajectory:
    """Everything that happened to one question.

    Attributes
    ----------
    chains : tuple
        The chains drawn.
    candidate : answer
        The chains' plurality answer (of round 1 where there are no chains).
    risk : float or None
        U, where a gate looked at it.
    target : int or None
        Step (from 0) that the rebuttal is focused on.
    tier : Tier or None
        The debate held; None without one.
    rounds : tuple of tuple
        Answers after round 0 (inherited) or 1 (fresh), and so on.
    first_round : int
        Number of the first entry of ``rounds``: 0 or 1.
    stop_reason : StopReason
        Why it ended.
    answer : answer
        The decision.
    outcome : Outcome
        The point of the outcome lattice.
    """

    chains: tuple[Answer, ...]
    candidate: Answer
    risk: float | None
    target: int | None
    tier: Tier | None
    rounds: tuple[tuple[Answer, ...], ...]
    first_round: int
    stop_reason: StopReason
    answer: Answer
    outcome: Outcome


def _dominant(answers: Sequence[Answer]) -> int:
    return max(Counter(answers).values())


def run(protocol: Protocol, population: Population, source: AnswerSource) -> Trajectory:
    """Run a protocol on one question.

    Parameters
    ----------
    protocol : Protocol
        The policy.
    population : Population
        Gives the confidence law's and the tokens' parameters (a token budget needs them); answers come from ``source`` alone.
    source : AnswerSource
        Answers, signals and fair draws.

    Returns
    -------
    Trajectory
    """
    chains, sampling_ended = draw_chains(protocol, source)
    candidate: Answer = _plurality(chains, source) if chains else None
    tier_index, risk, target = _route(protocol, source, chains, candidate)
    if tier_index is None:
        reason = StopReason.CONFIDENT if isinstance(protocol.gate, ConfidenceGate) else StopReason.SAMPLE_LIMIT
        if sampling_ended:
            reason = StopReason.SAMPLING_STOP
        right = source.is_right(candidate)
        outcome = Outcome(len(chains), -1, 0, reason, right, right)
        return Trajectory(tuple(chains), candidate, risk, None, None, (), 0, reason, candidate, outcome)

    tier = protocol.tiers[tier_index]
    answers = first_answers(protocol, source, chains, candidate, tier.agents)
    if not chains:
        candidate = _plurality(answers, source)
    rounds = [tuple(answers)]
    held = 0 if protocol.inherits else 1
    limit, by_budget = last_round(protocol, population, tier)
    stable = False
    while not stable and held < limit:
        held += 1
        answers = source.respond(held, answers, candidate, target)
        rounds.append(tuple(answers))
        stable = _is_stable(protocol, tier, chains, rounds, held)
    reason = StopReason.CONSENSUS if stable else (StopReason.TOKEN_BUDGET if by_budget else StopReason.ROUND_LIMIT)
    answer = _decide(protocol, source, answers, candidate, held, stable)
    outcome = Outcome(len(chains), tier_index, held, reason, source.is_right(candidate), source.is_right(answer))
    return Trajectory(tuple(chains), candidate, risk, target, tier, tuple(rounds), 0 if protocol.inherits else 1, reason, answer, outcome)


def draw_chains(protocol: Protocol, source: AnswerSource) -> tuple[list[Answer], bool]:
    """Sample the chains; the second value says whether a sampling stop ended it before the last."""
    chains: list[Answer] = []
    while len(chains) < protocol.chains:
        chains.append(source.sample(len(chains)))
        if len(chains) < protocol.chains and _sampling_ends(protocol, chains):
            return chains, True
    return chains, False


def _sampling_ends(protocol: Protocol, chains: Sequence[Answer]) -> bool:
    stop = protocol.sampling_stop
    if isinstance(stop, AdaptiveConsistency):
        counts = [count for _, count in Counter(chains).most_common(2)]
        return stop.sure(counts[0], counts[1] if len(counts) > 1 else 0)
    if isinstance(stop, Window):
        return len(chains) % stop.window == 0 and len(set(chains[-stop.window :])) == 1
    return False


def _plurality(answers: Sequence[Answer], source: AnswerSource) -> Answer:
    tied = leaders(Counter(answers))
    return tied[0] if len(tied) == 1 else tied[int(source.fair(Purpose.CANDIDATE_TIE) * len(tied))]


def _route(
    protocol: Protocol, source: AnswerSource, chains: Sequence[Answer], candidate: Answer
) -> tuple[int | None, float | None, int | None]:
    """Tier index (None: no debate), risk U and target step."""
    gate = protocol.gate
    if not protocol.tiers:
        return None, None, None
    risk, target = None, None
    if isinstance(gate, UncertaintyGate) or protocol.target == "riskiest":
        weights = gate if isinstance(gate, UncertaintyGate) else UncertaintyGate()
        h, d = source.signals(candidate)
        scores = [weights.weight_h * h_k + weights.weight_d * d_k for h_k, d_k in zip(h, d, strict=True)]
        risk = max(scores) + weights.weight_q * ((len(chains) - _dominant(chains)) / len(chains))
        target = scores.index(max(scores))
    if protocol.target == "uniform":
        target = int(source.fair(Purpose.TARGET_STEP) * source.steps)
    if protocol.target == "none":
        target = None
    if isinstance(gate, UncertaintyGate):
        assert risk is not None
        return sum(bound <= risk for bound in gate.bounds), risk, target
    if isinstance(gate, OracleGate):
        return source.oracle_tier(), risk, target
    if isinstance(gate, ConfidenceGate):
        debates = source.confidence(0, 0, candidate) < gate.threshold
        return (0 if debates else None), risk, target
    return 0, risk, target


def first_answers(protocol: Protocol, source: AnswerSource, chains: Sequence[Answer], candidate: Answer, agents: int) -> list[Answer]:
    """Answers that the agents hold before they respond to each other.

    Inherited: the candidate's chain (the first that gives the candidate's answer), then the other chains by index, cycling when there
    are more agents than chains.
    """
    if protocol.initial == "chains":
        first = list(chains).index(candidate)
        order = [chains[first], *chains[:first], *chains[first + 1 :]]
        return [order[agent % len(order)] for agent in range(agents)]
    if protocol.initial == "restated":
        return [candidate, *(source.sample(agent) for agent in range(1, agents))]
    return [source.sample(protocol.chains + agent) for agent in range(agents)]


def _is_stable(protocol: Protocol, tier: Tier, chains: Sequence[Answer], rounds: Sequence[tuple[Answer, ...]], held: int) -> bool:
    rule = protocol.round_stop
    if not isinstance(rule, StableConsensus):
        return False
    before, now = rounds[-2], rounds[-1]
    from_round_0 = protocol.inherits and held == 1
    if from_round_0 and rule.first_share == "none":
        return False
    if from_round_0 and rule.first_share == "chains":
        before = tuple(chains)
        fires = rule.table(tier.agents, len(chains))[_dominant(before), _dominant(now)]
    else:
        fires = rule.table(tier.agents)[_dominant(before), _dominant(now)]
    if fires and rule.same_leader:
        old, new = leaders(Counter(before)), leaders(Counter(now))
        return len(old) == len(new) == 1 and old == new
    return bool(fires)


def _decide(protocol: Protocol, source: AnswerSource, answers: Sequence[Answer], candidate: Answer, held: int, stable: bool) -> Answer:
    weighted = protocol.vote == "weighted" or (protocol.vote == "weighted_after_stability" and stable)
    votes: dict[Answer, int] = {}
    for agent, answer in enumerate(answers):
        votes[answer] = votes.get(answer, 0) + (source.confidence(held, agent, answer) if weighted else 1)
    if len(leaders(votes)) == 1:
        return leaders(votes)[0]
    return winner(votes, candidate, source.fair(Purpose.DECISION_TIE))


class SampledSource:
    """Answers of one question sampled from the model by counter-based draws.

    Parameters
    ----------
    population : Population
        The law.
    seed : int
        Key of the generator.
    question : int
        Index of the question.
    protocol : Protocol, optional
        Needed by the oracle gate only.
    """

    def __init__(self, population: Population, seed: int, question: int, protocol: Protocol | None = None) -> None:
        self.population = population
        self.seed = seed
        self.question = question
        self.protocol = protocol
        self.p, self.w = draw_question(population.difficulty, population.misconception, seed, question)

    @property
    def steps(self) -> int:
        """Number of steps of a solution."""
        return self.population.signals.steps

    def fair(self, purpose: Purpose) -> float:
        """Return the uniform number of a purpose that occurs once a question."""
        return uniform(self.seed, self.question, purpose, 0)

    def _answer(self, purpose: Purpose, slot: int, stray: int) -> int:
        u = uniform(self.seed, self.question, purpose, slot)
        if u < self.p:
            return RIGHT
        return MISCONCEPTION if u < self.p + (1.0 - self.p) * self.w else stray

    def sample(self, index: int) -> int:
        """Independent answer number ``index``."""
        return self._answer(Purpose.ANSWER, index, _FIRST_STRAY + index)

    def is_right(self, answer: Answer) -> bool:
        """Whether the label is the right answer's."""
        return answer == RIGHT

    @property
    def faulty_step(self) -> int:
        """Step J (from 0) where a wrong candidate has its error."""
        return int(self.fair(Purpose.FAULTY_STEP) * self.steps)

    def signals(self, candidate: Answer) -> tuple[list[float], list[float]]:
        """Signals of the candidate's steps."""
        law = self.population.signals
        shows = candidate != RIGHT and (candidate != MISCONCEPTION or self.fair(Purpose.FAULT_SHOWS) < law.visibility)
        faulty = self.faulty_step if shows else -1
        h = [self._entropy(k, k == faulty) for k in range(law.steps)]
        d = [self._contradiction(k, k == faulty) for k in range(law.steps)]
        return h, d

    def _entropy(self, step: int, faulty: bool) -> float:
        law = self.population.signals
        u = uniform(self.seed, self.question, Purpose.SIGNAL, 2 * step)
        if not law.black_box:
            return beta_table(*law.shapes_h(faulty))(u)
        upto = np.cumsum(law.variant_law(faulty))
        agreeing = min(int(np.searchsorted(upto, u, side="right")), law.variants)
        return float(variant_entropy(law.variants)[agreeing])

    def _contradiction(self, step: int, faulty: bool) -> float:
        u = uniform(self.seed, self.question, Purpose.SIGNAL, 2 * step + 1)
        return beta_table(*self.population.signals.shapes_d(faulty))(u)

    def oracle_tier(self) -> int:
        """Tier of highest exact P(right | p, w)."""
        from .exact.oracle import oracle_router

        assert self.protocol is not None
        return oracle_router(self.protocol, self.population).tier(self.p, self.w)

    def confidence(self, round_: int, agent: int, answer: Answer) -> int:
        """Stated confidence, from the law of right or of wrong answers."""
        u = uniform(self.seed, self.question, Purpose.CONFIDENCE, agent_slot(round_, agent))
        return self.population.confidence.at(u, answer == RIGHT)

    def respond(self, round_: int, answers: Sequence[Answer], candidate: Answer, target: int | None) -> list[Answer]:
        """All agents respond at once to the previous round's answers."""
        focused = target is not None and candidate != RIGHT and target == self.faulty_step
        counts = Counter(answers)
        table = self.population.response.weights(len(answers), focused)
        return [self._next(round_, agent, own, counts, table) for agent, own in enumerate(answers)]

    def _next(self, round_: int, agent: int, own: Answer, counts: Counter[Answer], table: npt.NDArray[np.float64]) -> Answer:
        rule = self.population.response
        slot = agent_slot(round_, agent)
        if rule.iota > 0 and uniform(self.seed, self.question, Purpose.RENEWAL, slot) < rule.iota:
            return self._renewed(slot)
        if own == RIGHT and rule.phi > 0 and uniform(self.seed, self.question, Purpose.LAPSE, slot) < rule.phi:
            return MISCONCEPTION
        weights = [float(table[int(a == own), n - (a == own), int(a == RIGHT)]) for a, n in counts.items()]
        *_, held = accumulate(weights)  # one addition after the other: sum() compensates from Python 3.12 on, and the kernels do not
        total = held + rule.fresh_weight
        if counts.total() == 1 or total == 0:
            return own
        threshold = uniform(self.seed, self.question, Purpose.MOVE, slot) * total
        upto = 0.0
        for answer, weight in zip(counts, weights, strict=True):
            upto += weight
            if threshold < upto:
                return answer
        return self._renewed(slot) if rule.fresh_weight > 0 else own

    def _renewed(self, slot: int) -> int:
        return self._answer(Purpose.RENEWED_ANSWER, slot, _FIRST_STRAY + MOST_CHAINS + AGENT_STRIDE + slot)


def trajectories(protocol: Protocol, population: Population, questions: range, seed: int = 0) -> Iterator[Trajectory]:
    """Run the sampled source over a range of questions, one trajectory each.

    Parameters
    ----------
    protocol, population
        What to run.
    questions : range
        Numbers of the questions.
    seed : int
        64-bit key.
    """
    for question in questions:
        yield run(protocol, population, SampledSource(population, seed, question, protocol))


def simulate(protocol: Protocol, population: Population, samples: int = 1000, seed: int = 0, pricing: Pricing | None = None) -> Result:
    """Simulate questions 0 .. samples - 1 and summarise them.

    Parameters
    ----------
    protocol, population
        What to run.
    samples : int
        Number of questions.
    seed : int
        64-bit key.
    pricing : Pricing, optional
        Adds money.
    """
    space = OutcomeSpace(protocol)
    counts = np.zeros(space.size, dtype=np.int64)
    for trajectory in trajectories(protocol, population, range(samples), seed):
        counts[space.index(trajectory.outcome)] += 1
    return summarise(protocol, population, counts, engine="reference", samples=samples, seed=seed, pricing=pricing)
