"""One pair of answers judged by real models, behind the judging engine's source.

The rules are the model's: :func:`adjourn.model.judging.run_judging` decides who is asked, when it stops and who wins; this source turns
what it asks for into calls, and replies into gaps and votes. A reply that cannot be read is asked for once more; if that cannot be read
either, there is no gap (NaN) or no vote.

Gaps are scaled as the model has them: a debate's judge gives six scores of 1 to 20 a side, and a gap is the difference over 114 points; a
panel or a discussion gives grades of 1 to 10, and a gap is the difference over 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..model.draws import Purpose, uniform
from ..model.judging import Debate, Discussion, JudgingPopulation, JudgingProtocol, JudgingTrajectory, run_judging
from ..model.judging.agreement import LABELS, VERDICTS
from ..model.judging.gaps import RUBRIC_POINTS
from ..model.judging.sampling import call_slot
from . import prompts, verdicts
from .campaign import Finished
from .client import Call, Client
from .questions import LONGEST_QUESTION, Item
from .reading import Message
from .text import one_line

__all__ = ["LiveJudgingSource", "judge_work_on"]

T = TypeVar("T")

_LONGEST = {"advocate": 200, "aggregator": 350, "judge": 500, "juror": 200, "agent": 300}
"""Completion tokens that a role needs; the endpoint's limit holds where it is lower."""

_AGGREGATE: Mapping[str, Callable[[Sequence[int]], float]] = {
    "merge": lambda sums: float(sums[0]),
    "mean": lambda sums: math.fsum(sums) / len(sums),
    "max": lambda sums: float(max(sums)),
    "sum": lambda sums: float(sum(sums)),
}


@dataclass
class _Round:
    """Arguments of sides A and B in one round, and what the judge said."""

    arguments: tuple[list[str], list[str]]
    judge: str = ""

    def shown(self, a_first: bool) -> tuple[Sequence[str], Sequence[str], str]:
        one, other = self.arguments
        return (one, other, self.judge) if a_first else (other, one, self.judge)


@dataclass
class _Book:
    """What was asked and answered, for the audit trail."""

    gaps: dict[str, float | None] = field(default_factory=dict)
    votes: dict[str, int] = field(default_factory=dict)
    fair: dict[str, float] = field(default_factory=dict)
    by_role: dict[str, list[int]] = field(default_factory=dict)
    unread: int = 0
    log: list[dict[str, Any]] = field(default_factory=list)

    def paid(self, role: str, message: Message, cost: int) -> None:
        sums = self.by_role.setdefault(role, [0, 0, 0, 0])
        for place, value in enumerate((1, message.prompt_tokens, message.completion_tokens, cost)):
            sums[place] += value


class LiveJudgingSource:
    """Gaps and votes on one item from real models.

    Parameters
    ----------
    protocol, population
        What is run; the population names the judges and their models.
    item : Item
        What is judged.
    index : int
        Number of the item in its file: with ``seed``, the counter of fair draws.
    client : Client
        Makes the calls.
    seed : int
        Key of the fair draws.
    """

    def __init__(self, protocol: JudgingProtocol, population: JudgingPopulation, item: Item, index: int, client: Client, seed: int) -> None:
        self.protocol = protocol
        self.population = population
        self.item = item
        self.book = _Book()
        self._index = index
        self._client = client
        self._seed = seed
        self._rounds: list[_Round] = []
        self._comments: list[str] = []

    # --- what the engine asks ------------------------------------------------------------------------------------------------------

    @property
    def swapped(self) -> bool:
        """Answers stand as they are in the file."""
        return False

    def label(self) -> int:
        """Human label (a tie where nobody knows it; the ledger then holds no grade)."""
        return LABELS.index(self.item.label or "tie")

    def fair(self, purpose: Purpose, slot: int) -> float:
        """Uniform number in (0, 1), the same whenever this item is run with this seed."""
        value = uniform(self._seed, self._index, purpose, slot)
        self.book.fair[f"{purpose.name}/{slot}"] = value
        return value

    def gap(self, judge: int, call: int, a_first: bool, previous: float) -> float:
        """Gap of a judge of a panel, or of a debate's judge after the advocates of that round have spoken."""
        if isinstance(self.protocol, Debate):
            gap = self._debate_gap(call, a_first)
        else:
            name = self.population.judges[judge].name
            _, gap = self._grade(f"judge/{judge}/{call}", "judge", judge, call, a_first, name, "", 0)
        self.book.gaps[f"{judge}/{call}"] = None if math.isnan(gap) else gap
        return gap

    def opinion(self, agent: int, turn: int, a_first: bool) -> float:
        """Gap of an agent of a discussion, who has heard everybody before it."""
        assert isinstance(self.protocol, Discussion)
        role = prompts.PERSONAS[agent % len(prompts.PERSONAS)] if self.protocol.roles == "diverse" else ""
        text, gap = self._grade(f"agent/{agent}/{turn}", "agent", 0, call_slot(0, agent, turn), a_first, f"agent {agent + 1}", role, turn)
        self._comments.append(verdicts.said(text, "comment"))
        self.book.gaps[f"{agent}/{turn}"] = None if math.isnan(gap) else gap
        return gap

    def vote(self, juror: int, arguments: int, a_first: bool) -> int:
        """Vote of a juror who reads the transcript."""
        assert isinstance(self.protocol, Debate)
        persona = prompts.PERSONAS[juror % len(prompts.PERSONAS)] if self.protocol.personas else ""
        shown, names = self._shown(a_first)
        transcript = prompts.transcript_of([r.shown(a_first) for r in self._rounds], names)
        messages = prompts.vote(self.item.question, shown, names, LONGEST_QUESTION, persona, transcript)
        call = self._call(f"juror/{juror}", "juror", messages, juror, verdicts.VOTE_SCHEMA)
        message, found = self._read(call, verdicts.vote)
        value = 0 if found is None else (found if a_first else -found)
        self.book.votes[str(juror)] = value
        self._log(f"juror {juror + 1}", a_first, len(self._rounds), message, verdict={1: "A", -1: "B", 0: ""}[value])
        return value

    # --- calls ----------------------------------------------------------------------------------------------------------------------

    def _shown(self, a_first: bool) -> tuple[tuple[str, str], tuple[str, str]]:
        answers = (self.item.answer_a, self.item.answer_b) if a_first else (self.item.answer_b, self.item.answer_a)
        return answers, prompts.side_names(self.protocol.anonymised, a_first)

    def _call(
        self, key: str, role: str, messages: prompts.Messages, slot: int, schema: Mapping[str, Any] | None = None, judge: int = 0
    ) -> Call:
        limit, model = _LONGEST[role], self.population.judges[judge].model
        seed = int(uniform(self._seed, self._index, Purpose.GAP, slot) * 2**31)
        full = f"{self.item.item_id}/{key}"
        return Call(key=full, role=role, messages=messages, seed=seed, max_tokens=limit, schema=schema, model=model)

    def _read(self, call: Call, read: Callable[[str], T | None]) -> tuple[Message, T | None]:
        """Ask, and once more where the reply cannot be read."""
        message = self._client.ask(call)
        self.book.paid(call.role, message, self._client.cost_of(message, call.model))
        found = read(message.text)
        if found is None:
            message = self._client.ask(call.again())
            self.book.paid(call.role, message, self._client.cost_of(message, call.model))
            found = read(message.text)
            self.book.unread += found is None
        return message, found

    def _grade(self, key: str, role: str, judge: int, slot: int, a_first: bool, name: str, persona: str, round_: int) -> tuple[str, float]:
        shown, names = self._shown(a_first)
        messages = prompts.grade(self.item.question, shown, names, LONGEST_QUESTION, persona, prompts.comments_of(self._comments))
        message, found = self._read(self._call(key, role, messages, slot, verdicts.GRADE_SCHEMA, judge), verdicts.grades)
        scores = None if found is None else (found if a_first else found[::-1])
        self._log(name, a_first, round_, message, scores)
        return message.text, math.nan if scores is None else (scores[0] - scores[1]) / verdicts.GRADE_POINTS

    def _debate_gap(self, call: int, a_first: bool) -> float:
        assert isinstance(self.protocol, Debate)
        self._rounds.append(_Round(self._arguments(call)))
        arguments = 1 if self.protocol.aggregator == "merge" else self.protocol.advocates
        shown, names = self._shown(a_first)
        transcript = prompts.transcript_of([r.shown(a_first) for r in self._rounds], names)
        messages = prompts.score(self.item.question, shown, names, LONGEST_QUESTION, transcript, arguments)
        one = self._call(f"judge/{call}", "judge", messages, call, verdicts.rubric_schema(arguments))
        message, found = self._read(one, lambda text: verdicts.rubric_sums(text, arguments))
        self._rounds[-1].judge = verdicts.said(message.text, "feedback")
        combine = _AGGREGATE[self.protocol.aggregator]
        sums = None if found is None else (combine(found[0]), combine(found[1]))
        scores = None if sums is None else (sums if a_first else sums[::-1])
        self._log(self.population.judges[0].name, a_first, call, message, scores)
        return math.nan if scores is None else (scores[0] - scores[1]) / RUBRIC_POINTS

    def _arguments(self, call: int) -> tuple[list[str], list[str]]:
        """Arguments of both sides in a round: all advocates at once, then the two merges where there are several."""
        assert isinstance(self.protocol, Debate)
        k = self.protocol.advocates
        shown, names = self._shown(True)
        transcript = prompts.transcript_of([r.shown(True) for r in self._rounds], names)
        calls = [self._advocate(call, side, place, shown, names, transcript) for side in (0, 1) for place in range(k)]
        texts = self._ask_all(calls)
        if not self.protocol.merges:
            return texts[:k], texts[k:]
        merges = [
            self._call(
                f"merge/{call}/{side}",
                "aggregator",
                prompts.merge(self.item.question, shown, names, LONGEST_QUESTION, side, texts[side * k : (side + 1) * k]),
                2 * call + side,
            )
            for side in (0, 1)
        ]
        merged = self._ask_all(merges)
        return merged[:1], merged[1:]

    def _advocate(self, call: int, side: int, place: int, shown: tuple[str, str], names: tuple[str, str], transcript: str) -> Call:
        messages = prompts.advocate(self.item.question, shown, names, LONGEST_QUESTION, side, transcript)
        return self._call(f"advocate/{call}/{side}/{place}", "advocate", messages, call_slot(side, place, call))

    def _ask_all(self, calls: Sequence[Call]) -> list[str]:
        messages = self._client.ask_all(calls)
        for call, message in zip(calls, messages, strict=True):
            self.book.paid(call.role, message, self._client.cost_of(message, call.model))
        return [message.text for message in messages]

    def _log(
        self, judge: str, a_first: bool, round_: int, message: Message, scores: Sequence[float] | None = None, verdict: str = ""
    ) -> None:
        if scores is not None:
            verdict = "tie" if scores[0] == scores[1] else ("A" if scores[0] > scores[1] else "B")
        self.book.log.append(
            {
                "item_id": one_line(self.item.item_id),
                "judge": judge,
                "order": "AB" if a_first else "BA",
                "round": round_,
                "score_a": "" if scores is None else scores[0],
                "score_b": "" if scores is None else scores[1],
                "verdict": verdict,
                "label": self.item.label,
                "prompt_tokens": message.prompt_tokens,
                "completion_tokens": message.completion_tokens,
            }
        )

    def audit(self, trajectory: JudgingTrajectory) -> dict[str, Any]:
        """Everything that the verdict came from."""
        return {
            **vars(self.book),
            "label": self.item.label,
            "verdict": VERDICTS[trajectory.outcome.verdict],
            "decided_by": trajectory.decided_by,
            "rounds_held": trajectory.outcome.rounds,
            "stop_reason": str(trajectory.stop_reason),
            "rounds": [{"a": r.arguments[0], "b": r.arguments[1], "judge": r.judge} for r in self._rounds],
            "comments": self._comments,
        }


def judge_work_on(protocol: JudgingProtocol, population: JudgingPopulation, client: Client, seed: int) -> Callable[[Item, int], Finished]:
    """Give what a campaign does with an item.

    Parameters are those of :class:`LiveJudgingSource`.
    """

    def work(item: Item, index: int) -> Finished:
        source = LiveJudgingSource(protocol, population, item, index, client, seed)
        trajectory = run_judging(protocol, population, source)
        verdict = VERDICTS[trajectory.outcome.verdict]
        correct = verdict == item.label if item.label else None
        return Finished(None if verdict == "none" else verdict, correct, source.audit(trajectory))

    return work
