"""From a pilot log on disk to a plan: the log of either family, its fit, the fit to a resample of its questions, the advice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ..model import Population, Pricing
from .advice import Plan
from .calibrate import Calibration, calibrate
from .calibrate.judges import calibrate_judges
from .choosing import Request
from .logs import JudgeLog, ReasoningLog, read_log, read_mapping, read_reasoning
from .plan import ReasoningPilot, make_plan
from .plan_judging import plan_judging

__all__ = ["fitted_pilot", "plan_from_log", "read_any_log", "read_pilot"]


def read_any_log(path: Path, column_map: Sequence[str]) -> ReasoningLog | JudgeLog:
    """Read a log of either family; ``column_map`` holds ours=theirs texts."""
    return read_log(path, read_mapping(column_map))


def plan_from_log(
    log: ReasoningLog | JudgeLog,
    request: Request,
    pricing: Callable[[str], Pricing],
    advance: Callable[[int], None] = lambda steps: None,
) -> Plan:
    """Fit a log of either family and make a plan from it.

    Parameters
    ----------
    log : ReasoningLog or JudgeLog
        The pilot.
    request : Request
        Items, budget, target.
    pricing : callable
        (model that the log's answers are of, "" if unknown) to the price of the calls.
    advance : callable
        Called with 1 after each draw.

    Raises
    ------
    BudgetRefusedError
        If not even the cheapest design is affordable.
    """
    if isinstance(log, JudgeLog):
        judged = calibrate_judges(log, draws=0)
        return plan_judging(judged, request, pricing(judged.population.model), advance)
    fitted = fitted_pilot(calibrate(log, draws=0))
    return make_plan(fitted, request, pricing(fitted.population.model), advance)


def read_pilot(path: Path) -> ReasoningPilot:
    """Read and fit a log of reasoning debates.

    Raises
    ------
    InputError
        If the file is no such log.
    """
    return fitted_pilot(calibrate(read_reasoning(path), draws=0))


def fitted_pilot(calibration: Calibration) -> ReasoningPilot:
    """Make a pilot of a fit; its intervals are not used, the plan bootstraps for itself."""

    def resample(rng: np.random.Generator) -> Population:
        return calibration.refit(rng.integers(0, calibration.questions, calibration.questions))

    return ReasoningPilot(
        name=str(calibration.log.path),
        questions=calibration.questions,
        population=calibration.population,
        resample=resample,
        answers=int(calibration.first.size.max()),
        notes=_findings(calibration) + calibration.warnings,
    )


def _findings(calibration: Calibration) -> tuple[str, ...]:
    """Say what a reader of a plan must know of the fit."""
    notes = []
    chosen = calibration.choice.chosen
    notes.append(
        f"The pilot's law ({chosen.family.name}) meets its own plurality accuracy within {100 * max(map(abs, chosen.misses)):.1f} points."
    )
    debate = calibration.debate
    if debate is not None:
        gap = debate.difference
        notes.append(
            f"In the pilot itself, debate minus vote on the same first answers was {100 * gap.mean:+.1f} points "
            f"[{100 * gap.low:+.1f}, {100 * gap.high:+.1f}]."
        )
    return tuple(notes)
