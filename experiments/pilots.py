"""From a pilot log on disk to what ``plan`` needs: the fit, and the fit to a resample of its questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..model import InputError, Population
from .calibrate import Calibration, calibrate
from .logs import JudgeLog, ReasoningLog, read_log, read_mapping
from .plan import Pilot

__all__ = ["fitted_pilot", "read_any_log", "read_pilot"]


def read_any_log(path: Path, column_map: Sequence[str]) -> ReasoningLog | JudgeLog:
    """Read a log of either family; ``column_map`` holds ours=theirs texts."""
    return read_log(path, read_mapping(column_map))


def read_pilot(path: Path, column_map: Sequence[str]) -> Pilot:
    """Read and fit a log of reasoning debates.

    Raises
    ------
    InputError
        If the file is no such log.
    """
    log = read_any_log(path, column_map)
    if not isinstance(log, ReasoningLog):
        raise InputError(f"{path} is a log of judges; this needs answers to questions (question_id, round, agent, answer, correct).")
    return fitted_pilot(calibrate(log, draws=0))


def fitted_pilot(calibration: Calibration) -> Pilot:
    """Make a pilot of a fit; its intervals are not used, the plan bootstraps for itself."""

    def resample(rng: np.random.Generator) -> Population:
        return calibration.refit(rng.integers(0, calibration.questions, calibration.questions))

    return Pilot(
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
