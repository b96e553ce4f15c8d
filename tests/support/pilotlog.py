"""Logs made by the reference engine, whose truth is therefore known."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from adjourn.model import FixedRounds, Population, Protocol, Tier
from adjourn.model.reference import RIGHT, trajectories

COLUMNS = ("question_id", "round", "agent", "answer", "correct")


def debate(agents: int, rounds: int) -> Protocol:
    """A debate of fixed length whose first round is fresh, independent answers."""
    return Protocol(
        name="debate", chains=0, tiers=(Tier("only", agents, rounds),), initial="fresh", round_stop=FixedRounds(), vote="plurality"
    )


def debate_rows(population: Population, questions: int, agents: int, rounds: int, seed: int = 0) -> list[tuple[object, ...]]:
    """Rows of a log of such debates."""
    rows: list[tuple[object, ...]] = []
    for index, path in enumerate(trajectories(debate(agents, rounds), population, range(questions), seed)):
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
