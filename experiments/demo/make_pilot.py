"""Make the synthetic pilot that ships: run ``python -m adjourn.experiments.demo.make_pilot FILE``.

No model was asked: 150 questions come from a named population by the reference engine (seed 7), each with six independent answers (round
0) and two rounds of debate among the six
agents. Tokens of a call are drawn from the population's log-normal laws.
"""

from __future__ import annotations

import csv
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...model import BetaDifficulty, ConfidenceLaw, FixedRounds, FixedShare, Population, SampledSource, Tier, load_protocol, run
from ...model.reference import MISCONCEPTION, RIGHT

__all__ = ["POPULATION", "write_pilot"]

POPULATION = Population(
    name="synthetic-demo",
    difficulty=BetaDifficulty(0.8, 0.45),
    misconception=FixedShare(0.5),
    confidence=ConfidenceLaw(
        right=(0.0, 0.0, 0.01, 0.02, 0.04, 0.06, 0.10, 0.22, 0.33, 0.22), wrong=(0.0, 0.01, 0.03, 0.06, 0.09, 0.12, 0.17, 0.22, 0.20, 0.10)
    ),
    source="made up for the demonstration",
)
QUESTIONS = 150
AGENTS = 6
ROUNDS = 2
SEED = 7


def _label(question: int, answer: int) -> str:
    if answer == RIGHT:
        return str(100 + question)
    return str(900 + question) if answer == MISCONCEPTION else f"{question}.{answer}"


def write_pilot(path: Path, questions: int = QUESTIONS) -> None:
    """Write the pilot as CSV in the documented columns."""
    protocol = replace(
        load_protocol("uaad_no_stop"),
        chains=AGENTS,
        gate=None,
        target="none",
        tiers=(Tier("all", AGENTS, ROUNDS),),
        round_stop=FixedRounds(),
    )
    rng = np.random.default_rng(SEED)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["question_id", "round", "agent", "answer", "correct", "confidence", "prompt_tokens", "completion_tokens", "model"])
        for question in range(questions):
            source = SampledSource(POPULATION, SEED, question)
            trajectory = run(protocol, POPULATION, source)
            for round_, answers in enumerate(trajectory.rounds):
                for agent, answer in enumerate(trajectory.chains if round_ == 0 else answers):
                    stated = source.confidence(round_ + 100, agent, answer)
                    prompt, completion = _tokens(rng, round_)
                    row = [
                        f"demo-{question:03d}",
                        round_,
                        agent,
                        _label(question, int(str(answer))),
                        int(answer == RIGHT),
                        stated,
                        prompt,
                        completion,
                        "example",
                    ]
                    writer.writerow(row)


def _tokens(rng: np.random.Generator, round_: int) -> tuple[int, int]:
    tokens = POPULATION.tokens
    mean, sd = (tokens.solver, tokens.solver_sd) if round_ == 0 else (tokens.debater, tokens.debater_sd)
    spread = math.log1p((sd / mean) ** 2)
    completion = rng.lognormal(math.log(mean) - spread / 2, math.sqrt(spread))
    prompt = tokens.question if round_ == 0 else tokens.debate_prompt("transcript", round_, AGENTS, True)
    return round(prompt), min(max(1, round(float(completion))), tokens.max_completion)


if __name__ == "__main__":
    write_pilot(Path(sys.argv[1]))
