"""One question asked of a real model, behind the reference engine's answer source.

The rules are the model's: :func:`adjourn.model.reference.run` samples, routes, stops and votes; this source turns what it asks for into
calls, and answers into labels. It knows only which samples the engine is certain to ask for, so that they go out at once and none is
bought in vain.

Everything that the engine was told goes into the audit trail, from which :class:`~.replay.RecordedSource` answers the same questions again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..model.deciding import Abstention
from ..model.draws import Purpose, agent_slot, uniform
from ..model.errors import InputError
from ..model.population import Population
from ..model.protocol import Protocol
from ..model.reference import Trajectory, first_answers, run
from ..model.stopping import Window
from . import prompts
from .answers import Clusters, Reading, Similarity, token_overlap
from .campaign import Finished
from .client import Call, Client
from .questions import LONGEST_QUESTION, Question
from .reading import Message
from .scorers import rules
from .steps import DEFAULT_VOCABULARY, Contradiction, StepSignals, segment, signals
from .text import clean

__all__ = ["LiveSource", "Methods", "ask", "work_on"]

_NEUTRAL = 5
"""Confidence of a vote where no agent of the panel states one: all weigh the same."""


@dataclass(frozen=True)
class Methods:
    """What a run measures by other means than calls of the protocol.

    Parameters
    ----------
    contradiction : callable
        From (client, question id) to a scorer of pairs of statements.
    similarity : Similarity
        Compares answers that no rule decides, and wordings of steps.
    vocabulary : int
        Tokens of the model's vocabulary, for the upper bound of the entropy.
    names : mapping of str to str
        How the ledger calls them.
    """

    contradiction: Callable[[Client, str], Contradiction] = field(default=lambda client, where: rules)
    similarity: Similarity = token_overlap
    vocabulary: int = DEFAULT_VOCABULARY
    names: dict[str, Any] = field(default_factory=lambda: {"contradiction": "rules", "similarity": "token_overlap"})


class LiveSource:
    """Answers of one question from a real model.

    Parameters
    ----------
    protocol : Protocol
        What is run.
    question : Question
        What is asked.
    index : int
        Number of the question in its file: with ``seed``, the counter of fair draws.
    client : Client
        Makes the calls.
    methods : Methods
        Scorers.
    seed : int
        Key of the fair draws.
    """

    def __init__(self, protocol: Protocol, question: Question, index: int, client: Client, methods: Methods, seed: int) -> None:
        self.protocol = protocol
        self.question = question
        self._index = index
        self._client = client
        self._methods = methods
        self._seed = seed
        self._clusters = Clusters(str(question.kind), question.options, methods.similarity)
        if question.gold_label:
            self._clusters.labels.append(question.gold_label)
        self._samples: dict[int, tuple[Reading, Message]] = {}
        self._said: dict[tuple[int, int], tuple[Reading, Message | None]] = {}
        self._candidate: int | None = None
        self._signals: StepSignals | None = None
        self._fair: dict[str, float] = {}
        self._votes: dict[str, int] = {}

    # --- what the engine asks ------------------------------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """Number of steps of the candidate's solution."""
        return len(self._candidate_steps())

    def _candidate_steps(self) -> tuple[str, ...]:
        """Segment the candidate's solution; of the first chain, while the engine has not named the candidate."""
        if self._signals is not None:
            return self._signals.steps
        text = self._samples[self._candidate or 0][1].text if self._samples else ""
        return tuple(clean(text[start:end]).strip() for start, end in segment(text))

    def sample(self, index: int) -> Hashable:
        """Independent answer number ``index``."""
        if index not in self._samples:
            self._fetch(index, self._certain(index))
        return self._samples[index][0].label

    def _certain(self, index: int) -> int:
        """First index after ``index`` that the engine may not ask for."""
        protocol = self.protocol
        if index < protocol.chains:
            if protocol.sampling_stop is None:
                return protocol.chains
            block = protocol.sampling_stop.window if isinstance(protocol.sampling_stop, Window) else 1
            return min(protocol.chains, (index // block + 1) * block)
        ends = sorted(self._first_index + tier.agents for tier in protocol.tiers)
        return next(end for end in ends if end > index)

    @property
    def _first_index(self) -> int:
        """Index of the sample that agent 0 of a fresh panel gives (a restating agent 0 gives none)."""
        return self.protocol.chains if self.protocol.initial == "fresh" else 0

    def _fetch(self, start: int, end: int) -> None:
        restating = self.protocol.initial == "restated" and start >= self.protocol.chains
        calls = [self._solver_call(index) for index in range(start, end)]
        if restating:
            own = self._samples[0][0]
            text, options = self.question.text, self.question.options
            calls.append(self._call("r1/a0", "debater", prompts.restate(text, options, LONGEST_QUESTION, own.text), agent_slot(1, 0)))
        messages = self._client.ask_all(calls)
        for index, call, message in zip(range(start, end), calls, messages, strict=False):
            self._samples[index] = (self._clusters.read(call.key, message.text), message)
            if index >= self.protocol.chains:
                self._said[1, index - self._first_index] = self._samples[index]
        if restating:
            # The protocol takes agent 1 to restate its answer: whatever the text says, the answer stands.
            chain = self._samples[0][0]
            said = self._clusters.read(calls[-1].key, messages[-1].text)
            self._said[1, 0] = (Reading(chain.label, chain.answer, said.confidence, said.text), messages[-1])

    def signals(self, candidate: Hashable) -> tuple[Sequence[float], Sequence[float]]:
        """Signals of the candidate's steps, from log-probabilities (or wordings) and contradictions."""
        chains = [self._samples[index] for index in range(len(self._samples)) if index < self.protocol.chains]
        self._candidate = [reading.label for reading, _ in chains].index(candidate)
        self._signals = signals(
            [message.text for _, message in chains],
            self._candidate,
            chains[self._candidate][1].tokens,
            self._methods.contradiction(self._client, self.question.question_id),
            self._methods.similarity,
            vocabulary=self._methods.vocabulary,
        )
        return self._signals.h, self._signals.d

    def oracle_tier(self) -> int:
        """Refuse: only a model knows it."""
        raise InputError("only a model knows the best tier of a question.")

    def confidence(self, round_: int, agent: int, answer: Hashable) -> int:
        """Stated confidence.

        Where an agent states none, a gate takes it for unsure (1: debate), and a vote weighs it like the mean of those that do.
        """
        if round_ == 0:
            stated = self._samples[0][0].confidence
            value = 1 if stated is None else stated
        else:
            stated = self._said[round_, agent][0].confidence
            value = self._mean_confidence(round_) if stated is None else stated
        self._votes[f"{round_}/{agent}"] = value
        return value

    def _mean_confidence(self, round_: int) -> int:
        stated = [r.confidence for (of, _), (r, _) in self._said.items() if of == round_ and r.confidence is not None]
        return round(sum(stated) / len(stated)) if stated else _NEUTRAL

    def respond(self, round_: int, answers: Sequence[Hashable], candidate: Hashable, target: int | None) -> list[Hashable]:
        """All agents' next answers, asked at once."""
        if round_ == 1 and self.protocol.inherits:
            self._inherit(len(answers), candidate)
        calls = [self._debate_call(round_, agent, answers, candidate, target) for agent in range(len(answers))]
        for agent, (call, message) in enumerate(zip(calls, self._client.ask_all(calls), strict=True)):
            self._said[round_, agent] = (self._clusters.read(call.key, message.text), message)
        return [self._said[round_, agent][0].label for agent in range(len(answers))]

    def _inherit(self, agents: int, candidate: Hashable) -> None:
        """Give each agent the chain that the engine gives it (the engine's own rule, on the chains' numbers)."""
        labels = [self._samples[index][0].label for index in sorted(self._samples) if index < self.protocol.chains]
        self._candidate = labels.index(candidate)
        for agent, index in enumerate(first_answers(self.protocol, self, range(len(labels)), self._candidate, agents)):
            assert isinstance(index, int)
            self._said[0, agent] = (self._samples[index][0], None)

    def fair(self, purpose: Purpose) -> float:
        """Uniform number in (0, 1), the same whenever this question is run with this seed."""
        value = uniform(self._seed, self._index, purpose, 0)
        self._fair[purpose.name] = value
        return value

    def is_right(self, answer: Hashable) -> bool:
        """Whether the answer is the known right one (False where nobody knows it; the ledger then holds no grade)."""
        return bool(self.question.gold_label) and answer == self.question.gold_label

    # --- calls ----------------------------------------------------------------------------------------------------------------------

    def _call(self, key: str, role: str, messages: prompts.Messages, slot: int) -> Call:
        seed = int(uniform(self._seed, self._index, Purpose.ANSWER, slot) * 2**31)
        return Call(key=f"{self.question.question_id}/{key}", role=role, messages=messages, seed=seed)

    def _solver_call(self, index: int) -> Call:
        messages = prompts.solve(self.question.text, self.question.options, LONGEST_QUESTION)
        if index < self.protocol.chains:
            return self._call(f"chain/{index}", "solver", messages, index)
        agent = index - self._first_index
        return self._call(f"r1/a{agent}", "debater", messages, agent_slot(1, agent))

    def _debate_call(self, round_: int, agent: int, answers: Sequence[Hashable], candidate: Hashable, target: int | None) -> Call:
        context = self._local(agent, answers, candidate, target) if self.protocol.prompts == "local" else self._transcript(round_, agent)
        messages = prompts.debate(agent, self.question.text, self.question.options, LONGEST_QUESTION, context)
        return self._call(f"r{round_}/a{agent}", "debater", messages, agent_slot(round_, agent))

    def _transcript(self, round_: int, agent: int) -> str:
        first = 0 if self.protocol.inherits else 1
        agents = 1 + max(j for r, j in self._said if r == round_ - 1)
        earlier = [[self._said[r, j][0].text for j in range(agents)] for r in range(first, round_)]
        return prompts.transcript_context(earlier, agent, first)

    def _local(self, agent: int, answers: Sequence[Hashable], candidate: Hashable, target: int | None) -> str:
        before, step = self._steps_at(target)
        counts = Counter(_shown(answer) for answer in answers)
        tally = "\n".join(f"{answer} ({count} of {len(answers)})" for answer, count in counts.most_common())
        return prompts.local_context(_shown(answers[agent]), _shown(candidate), before, step, self._evidence(target), tally)

    def _steps_at(self, target: int | None) -> tuple[str, str]:
        if target is None:
            return "", ""
        steps = self._candidate_steps()
        risky = min(target, len(steps) - 1)
        return (steps[risky - 1] if risky else ""), steps[risky]

    def _evidence(self, target: int | None) -> str:
        if target is None or self._signals is None:
            return ""
        return f"entropy {self._signals.h[target]:.2f}, contradiction {self._signals.d[target]:.2f} (0 none, 1 most)"

    def synthesise(self, answer: Hashable, held: int) -> Message:
        """Ask for the final wording of the decided answer."""
        said = [r for (round_, _), (r, _) in self._said.items() if round_ == held and r.label == answer]
        text, options = self.question.text, self.question.options
        messages = prompts.synthesise(text, options, LONGEST_QUESTION, _shown(answer), said[0].text if said else "")
        return self._client.ask(self._call("synthesis", "synthesiser", messages, agent_slot(held + 1, 0)))

    # --- audit ----------------------------------------------------------------------------------------------------------------------

    def audit(self, trajectory: Trajectory, synthesis: Message | None) -> dict[str, Any]:
        """Everything that the decision came from: why this tier, which step, why it stopped."""
        found = self._signals
        last = [] if synthesis is None else [synthesis]
        said = [message for _, message in self._said.values() if message is not None]
        chains = [self._samples[index][1] for index in range(len(trajectory.chains))]
        return {
            "by_role": {role: self._usage(messages) for role, messages in (("solver", chains), ("debater", said), ("synthesiser", last))},
            "gold": self.question.gold_label,
            "chains": [_row(*self._samples[index]) for index in range(len(trajectory.chains))],
            "first_round": trajectory.first_round,
            "said": {f"{r}/{j}": _row(reading, message) for (r, j), (reading, message) in sorted(self._said.items()) if r > 0},
            "agents": trajectory.tier.agents if trajectory.tier else 0,
            "candidate": _label(trajectory.candidate),
            "steps": self.steps,
            "signals": None if found is None else {**vars(found)},
            "risk": trajectory.risk,
            "target": trajectory.target,
            "tier": trajectory.tier.name if trajectory.tier else None,
            "rounds_held": trajectory.outcome.rounds,
            "stop_reason": str(trajectory.stop_reason),
            "fair": self._fair,
            "confidence": self._votes,
            "answer": _label(trajectory.answer),
            "synthesis": None if synthesis is None else _row(self._clusters.read("synthesis", synthesis.text), synthesis),
        }

    def _usage(self, messages: Sequence[Message]) -> list[int]:
        """Add up calls, prompt tokens, completion tokens and picodollars."""
        return [
            len(messages),
            sum(message.prompt_tokens for message in messages),
            sum(message.completion_tokens for message in messages),
            sum(self._client.cost_of(message) for message in messages),
        ]


def _label(label: Hashable) -> Any:
    return {"abstained": label.where} if isinstance(label, Abstention) else label


def _shown(label: Hashable) -> str:
    return "(no answer)" if isinstance(label, Abstention) else str(label)


def _row(reading: Reading, message: Message | None) -> dict[str, Any]:
    row: dict[str, Any] = {"label": _label(reading.label), "answer": reading.answer, "confidence": reading.confidence}
    if message is not None:
        row |= {"prompt_tokens": message.prompt_tokens, "completion_tokens": message.completion_tokens, "model": message.model}
    return row


def ask(
    protocol: Protocol, population: Population, question: Question, index: int, client: Client, methods: Methods, seed: int
) -> tuple[Trajectory, dict[str, Any]]:
    """Run a protocol on one question with a real model.

    Parameters
    ----------
    protocol, population
        What is run; of the population only tokens are used.
    question : Question
        What is asked.
    index : int
        Number of the question in its file.
    client : Client
        Makes the calls.
    methods : Methods
        Scorers.
    seed : int
        Key of the fair draws.

    Returns
    -------
    Trajectory, dict
        The decision, and its audit trail.
    """
    source = LiveSource(protocol, question, index, client, methods, seed)
    trajectory = run(protocol, population, source)
    synthesis = None
    if protocol.synthesiser and trajectory.tier is not None:
        synthesis = source.synthesise(trajectory.answer, trajectory.outcome.rounds)
    return trajectory, source.audit(trajectory, synthesis)


def work_on(protocol: Protocol, population: Population, client: Client, methods: Methods, seed: int) -> Callable[[Question, int], Finished]:
    """Give what a campaign does with a question.

    Parameters are those of :func:`ask`.
    """

    def work(question: Question, index: int) -> Finished:
        trajectory, audit = ask(protocol, population, question, index, client, methods, seed)
        answer = None if isinstance(trajectory.answer, Abstention) else str(trajectory.answer)
        correct = trajectory.outcome.right if question.gold_label else None
        return Finished(answer, correct, audit)

    return work
