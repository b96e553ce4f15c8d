r"""Ranges of questions: the pure function that every driver, thread, process and machine calls.

A :class:`Job` is a plan with a seed. :func:`count_range` turns questions lo .. hi - 1 of a job into integer counts on the outcome
lattice. It depends on nothing else, so

.. math:: counts(0, n) = \sum_k counts(lo_k, hi_k)

for every partition of the questions, in every order, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..model.draws import split_seed
from ..model.outcomes import OutcomeSpace
from ..model.population import DEFAULT_POPULATION, Population, load_population
from ..model.protocol import Protocol
from .plan import Plan, make_plan
from .tile import Tile, make_tile

__all__ = ["Job", "Paths", "count_range", "trace_range", "warm_up"]

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Job:
    """A protocol on a population with a seed, as numbers.

    Parameters
    ----------
    plan : Plan
        What the kernels read.
    seed : int
        64-bit key.
    size : int
        Number of points of the outcome lattice.
    """

    plan: Plan
    seed: int
    size: int

    @classmethod
    def of(cls, protocol: Protocol, population: Population, seed: int) -> Job:
        """Lay out a job.

        Raises
        ------
        ParameterError
            If the seed is no 64-bit integer.
        """
        split_seed(seed)
        return cls(make_plan(protocol, population), int(seed), OutcomeSpace(protocol).size)

    def __reduce__(self) -> tuple[type[Job], tuple[Plan, int, int]]:
        return Job, (self.plan, self.seed, self.size)

    @cached_property
    def arguments(self) -> tuple[Plan, np.uint32, np.uint32]:
        """Plan and key as the kernels take them; arrays that travelled between processes may be read-only, and are copied."""
        low, high = split_seed(self.seed)
        return Plan(*(_writable(value) for value in self.plan)), np.uint32(low), np.uint32(high)

    def tile(self) -> Tile:
        """Allocate working memory for one thread."""
        return make_tile(self.plan)


def _writable(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) and not value.flags.writeable else value


class Paths(NamedTuple):
    """What became of each question of a range; arrays of one entry a question.

    Attributes
    ----------
    outcome : ndarray of int
        Point of the outcome lattice.
    candidate, answer : ndarray of int
        Labels of the candidate and of the final answer, as the reference engine numbers them.
    """

    outcome: Counts
    candidate: Counts
    answer: Counts


def count_range(job: Job, lo: int, hi: int, tile: Tile | None = None) -> Counts:
    """Count the outcomes of questions lo .. hi - 1; shape (size,).

    Parameters
    ----------
    job : Job
        What to run.
    lo, hi : int
        Range of questions.
    tile : Tile, optional
        Working memory to use again.
    """
    counts = np.zeros(job.size, dtype=np.int64)
    _play(job, lo, hi, counts, np.zeros((3, 0), dtype=np.int64), tile)
    return counts


def trace_range(job: Job, lo: int, hi: int, tile: Tile | None = None) -> Paths:
    """Paths of questions lo .. hi - 1, one by one; parameters as for :func:`count_range`."""
    paths = np.zeros((3, hi - lo), dtype=np.int64)
    _play(job, lo, hi, np.zeros(job.size, dtype=np.int64), paths, tile)
    return Paths(*paths)


def _play(job: Job, lo: int, hi: int, counts: Counts, paths: Counts, tile: Tile | None) -> None:
    from .jit import ready  # these import numba, which takes a second
    from .kernel import play_range

    plan, k0, k1 = job.arguments
    room = tile or job.tile()
    ready(play_range, plan, room, k0, k1, 0, 0, counts, np.zeros((3, 0), dtype=np.int64))
    play_range(plan, room, k0, k1, lo, hi - lo, counts, paths)


def warm_up() -> None:
    """Compile the kernel, or load it from the cache."""
    count_range(Job.of(Protocol(name="warm-up", chains=1), load_population(DEFAULT_POPULATION), 0), 0, 0)
