r"""How sure the fit is: a bootstrap of questions.

Questions are drawn with replacement, with all that belongs to them (answers, moves); the families chosen on the whole log are fitted
again to each draw, and intervals are the 2.5 and 97.5 percentiles over draws. They hold the uncertainty of the questions, not that of
the choice of a family. Where all answers are right (or wrong) every draw says the same; then the accuracy's interval is Wilson's, with
the question as the unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...model.population import Population
from ...model.result import Estimate, share
from .calibration import Calibration
from .laws import Law
from .plurality import predicted

__all__ = ["with_intervals"]

Floats = npt.NDArray[np.float64]


def with_intervals(bare: Calibration, advance: Callable[[int], None]) -> Calibration:
    """Add intervals, and to the population what a file of it should remember of the fit.

    Parameters
    ----------
    bare : Calibration
        The fit; ``draws`` and ``seed`` say how to bootstrap. With no draws intervals are infinite.
    advance : callable
        Told each finished draw.
    """
    point = _figures(bare, np.ones(bare.questions), bare.population)
    generator = np.random.Generator(np.random.Philox(bare.seed))
    drawn: dict[str, list[float]] = {key: [] for key in point}
    for _ in range(bare.draws):
        index = generator.integers(0, bare.questions, bare.questions)
        figures = _figures(bare, np.bincount(index, minlength=bare.questions).astype(np.float64), bare.refit(index))
        for key, value in figures.items():
            drawn[key].append(value)
        advance(1)
    intervals = {key: _interval(value, drawn[key]) for key, value in point.items()}
    if bare.first.accuracy in (0.0, 1.0):
        whole = share(int(bare.first.accuracy) * len(bare.first), len(bare.first))
        intervals.update({key: whole for key in intervals if key == "accuracy" or "plurality" in key})
    return replace(bare, intervals=intervals, population=replace(bare.population, fit=_remembered(bare, intervals)))


def _interval(value: float, drawn: list[float]) -> Estimate:
    finite = np.array([x for x in drawn if np.isfinite(x)])
    if len(finite) == 0:
        return Estimate(value, -np.inf, np.inf)
    low, high = np.quantile(finite, [0.025, 0.975])
    return Estimate(value, float(low), float(high))


def _figures(bare: Calibration, weight: Floats, population: Population) -> dict[str, float]:
    """Figures that get an interval, under a weight of each question."""
    law = Law(population.difficulty, population.misconception)
    p, _, mass = law.nodes(2)
    mean = float(p @ mass)
    spread = mean * (1 - mean)
    figures = {
        "accuracy": mean,
        "coincidence": law.coincidence(),
        "intra_class_correlation": float(mass @ (p - mean) ** 2) / spread if spread > 1e-12 else np.nan,
    }
    used = weight[bare.first.question]
    for n, shares in zip(bare.choice.sizes, bare.own, strict=True):
        held = np.isfinite(shares) & (used > 0)
        figures[f"plurality_{n}"] = predicted(n, law)
        figures[f"own_plurality_{n}"] = float(used[held] @ shares[held] / used[held].sum()) if held.any() else np.nan
    if bare.response:
        for key in bare.response.chosen.free:
            figures[f"response_{key}"] = float(getattr(population.response, key))
    return figures


def _remembered(bare: Calibration, intervals: dict[str, Estimate]) -> dict[str, Any]:
    finite = {k: v for k, v in intervals.items() if np.isfinite([v.mean, v.low, v.high]).all()}
    table: dict[str, Any] = {
        "questions": len(bare.first),
        "answers": int(bare.first.size.sum()),
        "family": bare.choice.chosen.family.name,
        "reason": bare.choice.reason,
        "largest_plurality_miss": max(abs(miss) for miss in bare.choice.chosen.misses),
        "bootstrap_draws": bare.draws,
        "seed": bare.seed,
        "warnings": list(bare.warnings),
        "intervals": {key: [value.mean, value.low, value.high] for key, value in finite.items()},
    }
    if bare.plain:
        table["plain_beta"] = {"a": bare.plain.a.mean, "b": bare.plain.b.mean, "mean": bare.plain.mean, "own_mean": bare.plain.own_mean}
    if bare.response:
        table["response"] = {
            "moves": len(bare.response.moves),
            "order": bare.response.order.order,
            "log_likelihood": bare.response.chosen.log_likelihood,
            "mean_miss": bare.response.mean_miss,
            "worst_miss": abs(bare.response.worst.miss),
        }
    if bare.debate:
        value = bare.debate.difference
        table["debate_minus_vote"] = [value.mean, value.low, value.high]
    return table
