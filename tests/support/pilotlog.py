"""Logs made by the reference engine, whose truth is therefore known."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from adjourn.model import FixedRounds, Population, Protocol, SampledSource, Tier
from adjourn.model.reference import RIGHT, trajectories
from adjourn.model.stopping import RoundStop

COLUMNS = ("question_id", "round", "agent", "answer", "correct")


def debate_rows(
    population: Population, questions: int, agents: int, rounds: int, seed: int = 0, stop: RoundStop | None = None
) -> list[tuple[object, ...]]:
    """Rows of simultaneous debates whose first round is fresh, independent answers."""
    protocol = Protocol(name="debate", tiers=(Tier("only", agents, rounds),), initial="fresh", round_stop=stop or FixedRounds())
    rows: list[tuple[object, ...]] = []
    for index, path in enumerate(trajectories(protocol, population, range(questions), seed)):
        for round_, answers in enumerate(path.rounds, start=path.first_round):
            rows += [(f"q{index}", round_, agent, f"a{answer}", int(answer == RIGHT)) for agent, answer in enumerate(answers)]
    return rows


def write_csv(path: Path, rows: Iterable[Sequence[object]], columns: Sequence[str] = COLUMNS) -> Path:
    """Write rows under a header."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
    return path


def sequential_rows(population: Population, questions: int, agents: int, rounds: int, seed: int = 0) -> list[tuple[object, ...]]:
    """Rows of debates whose agents speak in turn: each sees the new answers of those before it and the old ones of those after it."""
    rng = np.random.default_rng(seed)
    table = population.response.weights(agents)
    rows: list[tuple[object, ...]] = []
    for index in range(questions):
        source = SampledSource(population, seed, index)
        held = [source.sample(agent) for agent in range(agents)]
        rows += [(f"q{index}", 1, agent, f"a{answer}", int(answer == RIGHT)) for agent, answer in enumerate(held)]
        for round_ in range(2, rounds + 1):
            for agent in range(agents):
                counts = Counter(held)
                weights = [table[int(a == held[agent]), n - (a == held[agent]), int(a == RIGHT)] for a, n in counts.items()]
                held[agent] = list(counts)[rng.choice(len(weights), p=np.array(weights) / sum(weights))]
                rows.append((f"q{index}", round_, agent, f"a{held[agent]}", int(held[agent] == RIGHT)))
    return rows


def answer_rows(counts: Iterable[tuple[int, Sequence[int]]], silent: int = 0) -> list[tuple[object, ...]]:
    """Rows of independent answers: of each question the number of right ones, the sizes of its wrong clusters, and abstentions."""
    rows: list[tuple[object, ...]] = []
    for index, (right, clusters) in enumerate(counts):
        answers = ["right"] * right + [f"wrong{c}" for c, size in enumerate(clusters) for _ in range(size)] + [""] * silent
        rows += [(f"q{index}", 0, agent, answer, int(answer == "right")) for agent, answer in enumerate(answers)]
    return rows
