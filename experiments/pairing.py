"""What a comparison counts: classes of outcomes, and joint tables of several protocols on the same questions.

Outcomes that earn the same and cost the same are one class; a joint table of two protocols then has some hundreds of cells, whatever
the lattices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..model import OutcomeSpace, ParameterError, Protocol
from ..model.judging.agreement import credits
from ..model.judging.cost import JudgingCosts
from ..model.judging.outcomes import outcome_shape
from ..model.outcomes import Costs
from ..vectorized.judging import JudgingJob
from ..vectorized.run import Job, Joint
from .families import Case

__all__ = ["Classes", "classes_of", "joint_task"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_MOST_CELLS = 2**24


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of a protocol's outcomes.

    Attributes
    ----------
    of_outcome : ndarray of int
        Class of every lattice point.
    credit : ndarray of float
        What a class earns: 1 right, 0 wrong, 1/2 for a tie that counts half.
    counted : ndarray of bool
        Whether a class counts towards accuracy (items with a tied label may not).
    costs : mapping of str to ndarray
        Calls, debate calls, depth, prompt and completion tokens, and US dollars where priced.
    """

    of_outcome: Ints
    credit: Floats
    counted: npt.NDArray[np.bool_]
    costs: Mapping[str, npt.NDArray[Any]]


def classes_of(case: Case) -> Classes:
    """Sort the outcomes of a case."""
    columns = _reasoning_columns(case) if isinstance(case.protocol, Protocol) else _judging_columns(case)
    table = np.stack([np.asarray(column, dtype=np.float64) for column in columns.values()], axis=1)
    _, first, of_outcome = np.unique(table, axis=0, return_index=True, return_inverse=True)
    held = {name: np.asarray(column)[first] for name, column in columns.items()}
    return Classes(of_outcome.ravel().astype(np.int64), held.pop("credit").astype(float), held.pop("counted") > 0, held)


def _reasoning_columns(case: Case) -> dict[str, npt.NDArray[Any]]:
    space = OutcomeSpace(case.protocol)
    costs = Costs(space, case.population)
    chains, tier, rounds, _, _, right = space.coordinates
    limits = np.array([0, *(t.rounds for t in case.protocol.tiers)])
    possible = (rounds <= limits[tier]) & ((tier == 0) | (rounds > 0))
    if case.protocol.sampling_stop is None:
        possible &= chains == case.protocol.chains
    columns = {
        "credit": right,
        "counted": np.ones_like(right),
        "calls": costs.calls,
        "debate_calls": costs.debate_calls,
        "depth": costs.depth,
        "prompt_tokens": costs.prompt_tokens,
        "completion_tokens": costs.completion_tokens,
    }
    if case.pricing is not None:
        columns["usd"] = costs.usd(case.pricing.price)
    return {name: np.where(possible, column, 0) for name, column in columns.items()}  # the impossible makes one class


def _judging_columns(case: Case) -> dict[str, npt.NDArray[Any]]:
    shape = outcome_shape(case.protocol)
    label, verdict, rounds, _ = (axis.ravel() for axis in np.indices(shape))
    weight, counted = credits(case.population.ties)
    costs = JudgingCosts(case.protocol, case.population)
    columns = {
        "credit": weight[label, verdict],
        "counted": counted[label],
        "calls": costs.calls[rounds],
        "debate_calls": costs.debate_calls[rounds],
        "depth": rounds,
        "prompt_tokens": costs.prompt_tokens[rounds],
        "completion_tokens": costs.completion_tokens[rounds],
    }
    if case.pricing is not None:
        columns["usd"] = costs.usd(case.pricing)[rounds]
    return columns


def joint_task(cases: Sequence[Case], classes: Sequence[Classes], groups: Sequence[tuple[int, ...]], seed: int) -> Joint:
    """Lay out the joint count of cases on the same questions.

    Raises
    ------
    ParameterError
        If the joint tables would be too large to keep.
    """
    jobs = [(Job if isinstance(case.protocol, Protocol) else JudgingJob).of(case.protocol, case.population, seed) for case in cases]
    joint = Joint(tuple(jobs), tuple(c.of_outcome for c in classes), tuple(groups))
    if joint.size > _MOST_CELLS:
        remedy = "Compare fewer protocols at a time, or ones with fewer chains or rounds."
        raise ParameterError("joint outcomes", joint.size, f"at most {_MOST_CELLS} cells", remedy)
    return joint
