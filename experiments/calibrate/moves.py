r"""Moves: what an agent saw, and what it answered next.

A move of agent i in round r is read with its information set: its own answer of round r - 1, and each peer's answer that it could
see. In *simultaneous* rounds these are the peers' answers of round r - 1. In *sequential* rounds agent i has seen the new answers
of the agents before it and the old answers of those after it (a peer that is not asked in round r shows its old answer in both).

A question's panel is taken to be agents without gaps in their numbers, up to the highest that speaks (where agents have names: all
that speak). Round 0 may hold more independent samples than there are agents, so in simultaneous rounds only who speaks in a later
round is of the panel. A move is left out, and counted, where anything it needs is missing: its own old or new answer, a peer's
answer, or peers. Stopping early decides which moves exist, by answers that the agents had already seen; given its information set a
move's law is the same whether or not the debate was allowed to go on. So the likelihood of the moves that exist needs no correction
(a raw mean over them would).

Answers are compared as clusters: all right answers are one. Of a wrong answer it is not known whether it is the question's
misconception; the probability :math:`\pi` of that follows from the first answers: the largest wrong cluster of two or more is (shared
equally among equals), else each of W different wrong answers is with probability w / (1 - w + W w). What is left of 1 then falls on the
wrong answers that come up later, by the same formula.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..logs.columns import MISSING, ReasoningLog
from .laws import Kinds, Law, posterior

__all__ = ["Moves", "Order", "gather"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Order = Literal["simultaneous", "sequential"]

RIGHT = -2
NEW_RIGHT, NEW_WRONG = -1, -2
"""Outcomes of a move to an answer that nobody showed."""


@dataclass(frozen=True)
class Moves:
    """Different moves with their information sets, and which question each occurrence belongs to.

    Attributes
    ----------
    agents : ndarray of int, shape (kinds,)
        Panel size N.
    peers : ndarray of int, shape (kinds, clusters)
        Number of peers that hold each answer; -1 where there is no such answer. The agent's own answer is cluster 0.
    right : ndarray of bool, shape (kinds, clusters)
        Whether the answer is right.
    suspicion : ndarray of float, shape (kinds, clusters)
        Probability that the answer is the question's misconception.
    p, trap : ndarray of float, shape (kinds,)
        Posterior means of p and of (1 - p) w for the question.
    outcome : ndarray of int, shape (kinds,)
        Cluster that the agent moved to, ``NEW_RIGHT`` or ``NEW_WRONG``.
    kind, question : ndarray of int, shape (moves,)
        Kind and question of each occurrence.
    place : tuple of tuple of int, length (moves)
        Question, round and agent of each occurrence, to match moves between orders.
    left_out : dict of str to int
        Moves that could not be used, by reason.
    """

    agents: Ints
    peers: Ints
    right: npt.NDArray[np.bool_]
    suspicion: Floats
    p: Floats
    trap: Floats
    outcome: Ints
    kind: Ints
    question: Ints
    place: tuple[tuple[int, int, int], ...]
    left_out: dict[str, int]

    def __len__(self) -> int:
        return len(self.kind)

    def counts(self, weight: Floats, keep: npt.NDArray[np.bool_] | None = None) -> Floats:
        """Weight of each kind, from a weight of each question of the log; of some moves only where ``keep`` says so."""
        each = weight[self.question] if keep is None else weight[self.question] * keep
        return np.bincount(self.kind, weights=each, minlength=len(self.agents)).astype(np.float64)

    @property
    def next_right(self) -> npt.NDArray[np.bool_]:
        """Whether each kind's next answer is right; shape (kinds,)."""
        held = np.take_along_axis(self.right, np.maximum(self.outcome, 0)[:, None], axis=1)[:, 0]
        return np.where(self.outcome >= 0, held, self.outcome == NEW_RIGHT)

    @property
    def right_peers(self) -> Ints:
        """Number of peers that showed a right answer; shape (kinds,)."""
        return np.asarray(np.where(self.right, np.maximum(self.peers, 0), 0).sum(axis=1))


_NOBODY = -1

Debate = dict[int, dict[int, int]]
"""Round to agent to cluster label."""


def gather(log: ReasoningLog, law: Law, order: Order) -> Moves:
    """Gather the moves of a log under an order of speaking.

    Parameters
    ----------
    log : ReasoningLog
        The log.
    law : Law
        Gives each question's posterior p and (1 - p) w.
    order : {"simultaneous", "sequential"}
        What agents could see.
    """
    left_out: Counter[str] = Counter()
    states: list[tuple[float, ...]] = []
    places: list[tuple[int, int, int]] = []
    debates = [debate if len(debate) > 1 else {} for debate in _debates(log)]
    width = max((len(_panel(d, log, order)) for d in debates if d), default=1)
    beliefs = _beliefs(debates, law)
    for question, debate in enumerate(debates):
        panel = _panel(debate, log, order)
        for round_ in sorted(debate)[1:]:
            for agent, answer in sorted(debate[round_].items()):
                seen = _information(debate, round_, agent, panel, order, answer)
                if isinstance(seen, str):
                    left_out[seen] += 1
                    continue
                states.append(_encode(seen, answer, beliefs[question], width))
                places.append((question, round_, agent))
    return _pack(states, places, width, dict(left_out))


def _debates(log: ReasoningLog) -> list[Debate]:
    debates: list[Debate] = [{} for _ in log.questions]
    label = np.where(log.right, RIGHT, log.answer)
    for question, round_, agent, answer in zip(log.question.tolist(), log.round.tolist(), log.agent.tolist(), label.tolist(), strict=True):
        debates[question].setdefault(round_, {})[agent] = answer
    return debates


def _panel(debate: Debate, log: ReasoningLog, order: Order) -> tuple[int, ...]:
    """Codes of the agents of a question; a gap in their numbers stands as one agent that never speaks."""
    counted = [answers for round_, answers in debate.items() if round_ > 0 or order == "sequential"]
    seen = {agent for answers in counted for agent in answers}
    if not seen or not log.numbered:
        return tuple(sorted(seen))
    highest = max(seen)
    is_gap = int(log.agents[highest]) - int(log.agents[0]) != highest
    return (*range(highest + 1), *((_NOBODY,) if is_gap else ()))


def _information(debate: Debate, round_: int, agent: int, panel: tuple[int, ...], order: Order, answer: int) -> list[int] | str:
    """Answers that an agent saw, its own first; or why the move cannot be used."""
    before, now = debate.get(round_ - 1, {}), debate[round_]
    if answer == MISSING:
        return "the agent gave no answer"
    if agent not in before:
        return "the agent's own last answer is not in the log"
    if before[agent] == MISSING:
        return "the agent had no answer before"
    seen = [before[agent]]
    for peer in panel:
        if peer == agent:
            continue
        spoken = now if order == "sequential" and peer < agent and peer in now else before
        if peer not in spoken:
            return "a peer's answer is not in the log"
        if spoken[peer] == MISSING:
            return "a peer had no answer"
        seen.append(spoken[peer])
    return seen if len(seen) > 1 else "the agent had no peers"


@dataclass(frozen=True)
class _Belief:
    p: float
    trap: float
    suspicion: dict[int, float]


def _beliefs(debates: list[Debate], law: Law) -> list[_Belief]:
    """Posterior p and (1 - p) w of each question, and which wrong answers may be its misconception, from all its first answers."""
    firsts = [list(debate[min(debate)].values()) if debate else [RIGHT] for debate in debates]
    wrong = [Counter(a for a in answers if a not in (RIGHT, MISSING)) for answers in firsts]
    size = np.array([len(answers) for answers in firsts])
    right = np.array([answers.count(RIGHT) for answers in firsts])
    largest = np.array([max(c.values(), default=0) for c in wrong])
    stacked, index = np.unique(np.stack([size, right, np.where((largest == 0) & (right < size), 1, largest)]), axis=1, return_inverse=True)
    kinds = Kinds(stacked[0], stacked[1], stacked[2], index.ravel())
    p, trap = posterior(law, kinds)
    beliefs = []
    for debate, clusters, kind in zip(debates, wrong, kinds.of_question.tolist(), strict=True):
        share = float(trap[kind] / max(1.0 - p[kind], 1e-12))
        later = {a for answers in debate.values() for a in answers.values()} - {RIGHT, MISSING, *clusters}
        beliefs.append(_Belief(float(p[kind]), float(trap[kind]), _suspicion(clusters, later, share)))
    return beliefs


def _suspicion(clusters: Counter[int], later: set[int], w: float) -> dict[int, float]:
    """Probability that each wrong answer is the misconception, from first answers and from what came up later."""
    top = max(clusters.values(), default=0)
    if top > 1:
        leaders = [answer for answer, count in clusters.items() if count == top]
        return dict.fromkeys(leaders, 1.0 / len(leaders))
    among_first = w / max(1.0 - w + len(clusters) * w, 1e-12)
    left = max(1.0 - len(clusters) * among_first, 0.0)
    among_later = left * w / max(1.0 - w + len(later) * w, 1e-12)
    return {**dict.fromkeys(clusters, among_first), **dict.fromkeys(later, among_later)}


def _encode(seen: list[int], answer: int, belief: _Belief, width: int) -> tuple[float, ...]:
    """One row: N, outcome, p, trap, then for each cluster its peers, right mark and suspicion; own first, then right, then by size."""
    own, counts = seen[0], Counter(seen[1:])
    others = sorted(((a == RIGHT, n, round(belief.suspicion.get(a, 0.0), 6), a) for a, n in counts.items() if a != own), reverse=True)
    clusters = [(own == RIGHT, counts[own], round(belief.suspicion.get(own, 0.0), 6), own), *others]
    labels = [c[3] for c in clusters]
    outcome = labels.index(answer) if answer in labels else (NEW_RIGHT if answer == RIGHT else NEW_WRONG)
    row: list[float] = [len(seen), outcome, round(belief.p, 9), round(belief.trap, 9)]
    for right, n, suspicion, _ in clusters:
        row += [n, right, suspicion]
    return (*row, *[-1.0, 0.0, 0.0] * (width - len(clusters)))


def _pack(states: list[tuple[float, ...]], places: list[tuple[int, int, int]], width: int, left_out: dict[str, int]) -> Moves:
    table = np.array(states, dtype=float).reshape(-1, 4 + 3 * width)
    kinds, index = np.unique(table, axis=0, return_inverse=True)
    clusters = kinds[:, 4:].reshape(len(kinds), width, 3)
    return Moves(
        agents=kinds[:, 0].astype(np.int64),
        peers=clusters[:, :, 0].astype(np.int64),
        right=clusters[:, :, 1] > 0,
        suspicion=clusters[:, :, 2],
        p=kinds[:, 2],
        trap=kinds[:, 3],
        outcome=kinds[:, 1].astype(np.int64),
        kind=index.ravel(),
        question=np.array([place[0] for place in places], dtype=np.int64),
        place=tuple(places),
        left_out=left_out,
    )
