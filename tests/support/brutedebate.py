"""Debates of three agents by brute force: every answer, every tie and every move, and what a stopping rule would have seen.

Shares no code with the bound but the response weights. Answers are labels: "R" right, "W" the misconception, ("S", i) the strays.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from itertools import product

from adjourn.model import Population, Protocol

AGENTS = 3
History = tuple[object, ...]
State = tuple[tuple[Hashable, ...], Hashable]
"""Answers of the panel and the candidate's answer."""


def openings(protocol: Protocol, p: float, w: float) -> Iterator[tuple[History, State, float]]:
    """First panels with what is seen of them and their probability."""
    chances = {"R": p, "W": (1 - p) * w, "S": (1 - p) * (1 - w)}
    for kinds in product(chances, repeat=AGENTS):
        labels = tuple((kind, i) if kind == "S" else kind for i, kind in enumerate(kinds))
        probability = 1.0
        for kind in kinds:
            probability *= chances[kind]
        counts = Counter(labels)
        top = max(counts.values())
        leaders = [label for label, n in counts.items() if n == top]
        for candidate in leaders:
            chains = (protocol.chains, top if protocol.chains else 0, len(leaders) == 1 if protocol.chains else None)
            yield (chains, view(labels, candidate)), (labels, candidate), probability / len(leaders)


def view(labels: tuple[Hashable, ...], candidate: Hashable) -> tuple[tuple[int, ...], int]:
    """Cluster sizes, and the candidate's."""
    counts = Counter(labels)
    return tuple(sorted(counts.values(), reverse=True)), counts[candidate]


def leader(labels: tuple[Hashable, ...]) -> Hashable | None:
    """The single largest cluster, or None."""
    (first, n), *rest = Counter(labels).most_common()
    return None if rest and rest[0][1] == n else first


def moves(population: Population, labels: tuple[Hashable, ...]) -> Iterator[tuple[tuple[Hashable, ...], float]]:
    """All next panels with their probability."""
    table, counts = population.response.weights(AGENTS), Counter(labels)
    options = []
    for own in labels:
        weights = {a: float(table[int(a == own), n - (a == own), int(a == "R")]) for a, n in counts.items()}
        total = sum(weights.values())
        options.append([(a, x / total) for a, x in weights.items() if x])
    for path in product(*options):
        probability = 1.0
        for _, x in path:
            probability *= x
        yield tuple(a for a, _ in path), probability


def plurality_right(labels: tuple[Hashable, ...], candidate: Hashable) -> float:
    """P(plurality right): a tie goes to the candidate where it is tied, else to a fair draw."""
    counts = Counter(labels)
    tied = [a for a, n in counts.items() if n == max(counts.values())]
    return float(candidate == "R") if candidate in tied else ("R" in tied) / len(tied)


def histories(protocol: Protocol, population: Population) -> list[dict[History, tuple[float, float]]]:
    """For each round: what a rule has seen, to (probability, probability and plurality right)."""
    difficulty, share = population.difficulty, population.misconception
    alive: dict[History, dict[State, float]] = defaultdict(lambda: defaultdict(float))
    for p, weight in zip(difficulty.p, difficulty.weight, strict=True):
        for seen, state, probability in openings(protocol, p, share.w):
            alive[seen][state] += weight * probability
    rounds = [alive]
    last = protocol.tiers[0].rounds
    for _ in range(last - (0 if protocol.chains else 1)):
        following: dict[History, dict[State, float]] = defaultdict(lambda: defaultdict(float))
        for seen, states in rounds[-1].items():
            for (labels, candidate), mass in states.items():
                for after, probability in moves(population, labels):
                    steady = leader(labels) is not None and leader(labels) == leader(after)
                    following[*seen, (view(after, candidate), steady)][after, candidate] += mass * probability
        rounds.append(following)
    return [
        {seen: (sum(states.values()), sum(m * plurality_right(*state) for state, m in states.items())) for seen, states in level.items()}
        for level in rounds
    ]
