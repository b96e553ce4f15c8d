"""Judge logs drawn with nothing but NumPy from a world that the tests know: true differences, biases, shifts, noise, coarse scores."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

__all__ = ["write_judge_log", "write_score_log"]


def _side(value: float, band: float) -> str:
    return "tie" if abs(value) <= band else ("A" if value > 0 else "B")


def write_judge_log(
    path: Path,
    judges: Mapping[str, float],
    *,
    items: int = 200,
    shared: float = 0.0,
    shift: float = 0.0,
    noise: float = 0.3,
    band: float = 0.05,
    orders: Sequence[str] = ("AB", "BA"),
    repeats: int = 1,
    seed: int = 0,
) -> Path:
    """Write verdicts of judges.

    Parameters
    ----------
    path : Path
        Where to.
    judges : mapping
        Name to the standard deviation of the judge's bias on an item, in units of the true difference's.
    items, repeats : int
        Items, and calls of each judge, item and order.
    shared : float
        Correlation of the judges' biases.
    shift : float
        Preference for the answer shown first.
    noise : float
        Standard deviation of a call.
    band : float
        Half width of the judges' band of ties; the label's is .4 of it.
    orders : sequence of {"AB", "BA"}
        Orders asked.
    seed : int
        Of the draws.
    """
    rng = np.random.default_rng(seed)
    truth, common = rng.normal(size=items), rng.normal(size=items)
    biases = {name: sd * (np.sqrt(shared) * common + np.sqrt(1 - shared) * rng.normal(size=items)) for name, sd in judges.items()}
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["item_id", "judge", "order", "verdict", "label"])
        for i in range(items):
            for name, bias in biases.items():
                for order in orders:
                    for _ in range(repeats):
                        seen = truth[i] + bias[i] + (shift if order == "AB" else -shift) + noise * rng.normal()
                        writer.writerow([f"i{i}", name, order, _side(seen, band), _side(truth[i], 0.4 * band)])
    return path


def write_score_log(
    path: Path, judges: Mapping[str, float], *, items: int = 300, points: int = 10, noise: float = 0.4, seed: int = 0
) -> Path:
    """Write whole scores from 1 to ``points`` in both orders; other parameters as of :func:`write_judge_log`.

    A score is a level common to both answers, plus or minus half of what the judge sees, rounded: equal scores are often.
    """
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=items)
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["item_id", "judge", "order", "score_a", "score_b", "label"])
        for name, sd in judges.items():
            bias = sd * rng.normal(size=items)
            for i in range(items):
                for order in ("AB", "BA"):
                    seen = truth[i] + bias[i] + noise * rng.normal()
                    level = points / 2 + points / 10 * rng.normal()
                    scores = [int(np.clip(round(level + side * points / 10 * seen), 1, points)) for side in (1, -1)]
                    writer.writerow([f"i{i}", name, order, *scores, _side(truth[i], 0.02)])
    return path
