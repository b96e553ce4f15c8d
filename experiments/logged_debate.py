"""The debate that a log itself followed: read off its rounds and stops, and what is compared with its prediction.

How often the debate's own comparison of answers saw an agreement that the log shows is fitted on training questions: a debate compares
texts in its own way, and a log that is graded afterwards in another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..model import ParameterError, Population
from .calibrate import Calibration
from .calibrate.first_answers import FirstAnswers
from .calibrate.moves import RIGHT
from .logs import ReasoningLog
from .logs.columns import MISSING
from .within import DebateLaw, SequentialDebate, debate_law, shipped_debates

__all__ = ["OWN", "Quantity", "debate_quantities", "own_debate"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

OWN = "own debate"
"""Name that all quantities of the log's debate begin with."""


@dataclass(frozen=True)
class Quantity:
    """What is predicted (from a population and the training questions) and what is compared with it: one number a question.

    Attributes
    ----------
    name, unit : str
        What it is.
    actual : ndarray, shape (questions,)
        Of each question.
    predict : callable
        From a population and the training questions to the mean.
    """

    name: str
    unit: str
    actual: Floats
    predict: Callable[[Population, Ints], float]


def own_debate(log: ReasoningLog, fit: Calibration, name: str | None) -> tuple[SequentialDebate | None, list[str]]:
    """Find the debate that the log itself followed: named, or read off its rounds and stops.

    Parameters
    ----------
    log : ReasoningLog
        The log.
    fit : Calibration
        Its fit; the order of speaking is taken from it.
    name : str or None
        Preset that the debate followed; None reads it off the log.

    Returns
    -------
    debate : SequentialDebate or None
        None where the log has one round, or panels that are too large.
    notes : list of str
        How it was found.

    Raises
    ------
    ParameterError
        If there is no preset of that name.
    """
    presets = shipped_debates()
    if name is not None:
        if name not in presets:
            raise ParameterError("--debate", name, "one of " + ", ".join(presets))
        return presets[name], [f"The log is compared with the preset {name}."]
    if len(log.rounds) < 2 or fit.response is None:
        return None, []
    ends = _ends(log)
    agents = _regular(log, log.rounds[0])
    if not 2 <= agents <= 5 or len(log.rounds) > 4:
        return None, [
            f"The log's own debate ({agents} agents, {len(log.rounds)} rounds) is larger than what is enumerated here; it is not compared."
        ]
    needed = _needed(log, ends, agents)
    kept = _usual(log, log.rounds[-1]) if len(log.rounds) > 2 else agents
    found = SequentialDebate(
        name="own",
        agents=agents,
        rounds=len(log.rounds),
        needed=needed,
        kept=min(max(kept, 2), agents),
        order=fit.response.order.order,
    )
    for preset in presets.values():
        if replace(found, name=preset.name, source=preset.source) == preset:
            found = preset
    rule = f"ends at {needed} equal answers" if needed <= agents else "never ends early"
    words = f"{agents} agents, {found.rounds} rounds, {found.order}, {rule}, {found.kept} agents after round 2 ({found.name})"
    return found, [
        f"The log's own debate: {words}.",
        "Fitted on each training half, for rounds 1 and 2: how often the debate's own comparison of answers saw an agreement that "
        "the log shows, and how often a round without one ended the debate (which pair is kept after round 2 is not modelled).",
    ]


def _ends(log: ReasoningLog) -> Ints:
    """Last round of each question."""
    ends = np.zeros(len(log.questions), dtype=np.int64)
    np.maximum.at(ends, log.question, log.round)
    return ends


def _answers(log: ReasoningLog, round_: int) -> dict[int, list[int]]:
    """Labels of each question's answers in a round, by agent: right answers are one label, abstentions their own."""
    found: dict[int, list[int]] = {}
    rows = np.flatnonzero(log.round == round_)
    for row in rows[np.argsort(log.agent[rows], kind="stable")].tolist():
        label = RIGHT if log.right[row] else int(log.answer[row])
        found.setdefault(int(log.question[row]), []).append(-10 - row if label == MISSING else label)
    return found


def _regular(log: ReasoningLog, round_: int) -> int:
    """Count the agents that answer at least a twentieth of the questions of a round."""
    rows = log.round == round_
    counts = np.bincount(log.agent[rows], minlength=len(log.agents))
    return int((counts >= 0.05 * len(np.unique(log.question[rows]))).sum())


def _usual(log: ReasoningLog, round_: int) -> int:
    """Most usual number of answers in a round."""
    return Counter(len(a) for a in _answers(log, round_).values()).most_common(1)[0][0]


def _needed(log: ReasoningLog, ends: Ints, agents: int) -> int:
    """Find the number of equal answers whose presence best tells the questions that end in the first round; agents + 1 for none."""
    first = _answers(log, log.rounds[0])
    ended = {q: bool(ends[q] == log.rounds[0]) for q in first}
    if not any(ended.values()):
        return agents + 1
    top = {q: max(Counter(a).values()) for q, a in first.items()}
    return max(range(2, agents + 2), key=lambda k: sum((top[q] >= k) == ended[q] for q in first))


def debate_quantities(log: ReasoningLog, first: FirstAnswers, debate: SequentialDebate) -> list[Quantity]:
    """Where the log's debates ended, their calls, and their last answers."""
    by_round = {r: _answers(log, r) for r in log.rounds}
    ends = _ends(log)
    position = {r: k + 1 for k, r in enumerate(log.rounds)}
    ended = np.array([position[int(ends[q])] for q in first.question])
    calls = np.array([_calls(debate, by_round, int(ends[q]), position, int(q)) for q in first.question], dtype=float)
    accuracy = np.array([_plurality_right(by_round[int(ends[q])][int(q)]) for q in first.question])
    checks = np.array(
        [
            [_checked(debate, by_round[r].get(int(q), []), int(e) - k) for k, r in enumerate(log.rounds[:2], start=1)]
            for q, e in zip(first.question, ended, strict=True)
        ]
    )
    laws: dict[bytes, DebateLaw] = {}

    def law(population: Population, train: Ints) -> DebateLaw:
        key = train.tobytes()
        if key not in laws:
            laws.clear()
            laws[key] = debate_law(_with_rates(debate, checks[train].sum(axis=0)), population)
        return laws[key]

    def ends_in(r: int) -> Callable[[Population, Ints], float]:
        return lambda population, train: law(population, train).stop_rounds[r - 1]

    found = [Quantity(f"{OWN} ends in round {r}", "share", (ended == r).astype(float), ends_in(r)) for r in range(1, debate.rounds + 1)]
    found.append(Quantity(OWN, "calls", calls, lambda population, train: law(population, train).calls))
    found.append(Quantity(OWN, "accuracy", accuracy, lambda population, train: law(population, train).accuracy))
    return found


def _checked(debate: SequentialDebate, labels: Sequence[int], ends_later: int) -> list[int]:
    """Count the checks of one round and their stops: agreements before the last agent, agreements at the last, whole rounds without.

    ``ends_later`` is 0 where the debate ended in this round, negative where it never came to it.
    """
    row = [0] * 6
    if ends_later < 0:
        return row
    agreed = [seen for seen in range(debate.needed, len(labels) + 1) if max(Counter(labels[:seen]).values()) >= debate.needed]
    for seen in agreed:
        kind = 1 if seen >= debate.agents else 0
        row[2 * kind] += 1
        row[2 * kind + 1] += ends_later == 0 and seen == len(labels)
    if not agreed:
        row[4] += 1
        row[5] += ends_later == 0
    return row


def _with_rates(debate: SequentialDebate, checks: Ints) -> SequentialDebate:
    """Fit how often the debate's own comparison of answers saw what the log shows, from the training half; shape of ``checks`` (2, 6)."""
    rates = []
    for early, early_stops, full, full_stops, none, none_stops in checks.tolist():
        rates.append((early_stops / early if early else 1.0, full_stops / full if full else 1.0, none_stops / none if none else 0.0))
    return replace(debate, rates=tuple(rates), pair_ends=False)


def _calls(
    debate: SequentialDebate, by_round: Mapping[int, Mapping[int, list[int]]], end: int, position: Mapping[int, int], question: int
) -> int:
    """Answers asked for: whole panels before the last round, and of the last round those up to the agreement."""
    last = position[end]
    before = debate.agents * min(last - 1, 2) + debate.kept * max(last - 3, 0)
    panel = debate.agents if last <= 2 else debate.kept
    held = by_round[end][question]
    if last == 1:
        return min(len(held), panel)
    agreed = max(Counter(held).values()) >= debate.needed
    return before + (min(len(held), panel) if agreed and last == 2 else panel)


def _plurality_right(labels: Sequence[int]) -> float:
    counts = Counter(labels)
    tied = [label for label, n in counts.items() if n == max(counts.values())]
    return (RIGHT in tied) / len(tied)
