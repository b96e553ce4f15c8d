"""Monte Carlo runs of judging protocols: the driver, checkpoints and clusters of reasoning debates, with a kernel of their own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..model.draws import split_seed
from ..model.judging import JudgingPopulation, JudgingProtocol, JudgingTally, summarise_judging
from ..model.judging.agreement import agreement
from ..model.judging.outcomes import outcome_shape
from ..model.outcomes import Pricing
from ..model.result import Result
from .backends import Where
from .checkpoint import Checkpoint
from .driver import Progress, Run, State, most_questions
from .judging_encoding import JudgingEncoding, encode_judging
from .run import Counts, fingerprint_of, writable

__all__ = ["JudgingJob", "JudgingPaths", "simulate_judging"]

_NO_PATHS = np.zeros((3, 0), dtype=np.int64)


class JudgingPaths(NamedTuple):
    """What became of each item of a range; arrays of one entry an item.

    Attributes
    ----------
    outcome : ndarray of int
        Point of the outcome lattice.
    same, fresh : ndarray of int
        Verdict when the answers change places, with the same and with fresh noise.
    """

    outcome: Counts
    same: Counts
    fresh: Counts


@dataclass(frozen=True, eq=False)
class JudgingJob:
    """A judging protocol on a population with a seed, as numbers.

    Parameters
    ----------
    encoding : JudgingEncoding
        What the kernel reads.
    seed : int
        64-bit key.
    """

    encoding: JudgingEncoding
    seed: int

    @classmethod
    def of(cls, protocol: JudgingProtocol, population: JudgingPopulation, seed: int) -> JudgingJob:
        """Lay out a job.

        Raises
        ------
        ParameterError
            If the seed is no 64-bit integer.
        """
        split_seed(seed)
        return cls(encode_judging(protocol, population), int(seed))

    def __reduce__(self) -> tuple[type[JudgingJob], tuple[JudgingEncoding, int]]:
        return JudgingJob, (self.encoding, self.seed)

    @property
    def size(self) -> int:
        """Points of the outcome lattice, and two counts of verdicts that stay."""
        return int(np.prod(self.encoding.shape)) + 2

    @cached_property
    def _arguments(self) -> tuple[JudgingEncoding, np.uint32, np.uint32]:
        low, high = split_seed(self.seed)
        return JudgingEncoding(*(writable(value) for value in self.encoding)), np.uint32(low), np.uint32(high)

    def room(self) -> Any:
        """Allocate working memory for one thread."""
        from .judging_kernel import make_judging_room

        return make_judging_room(self.encoding)

    def count(self, lo: int, hi: int, room: Any = None) -> Counts:
        """Count the outcomes of items lo .. hi - 1; shape (size,)."""
        counts = np.zeros(self.size, dtype=np.int64)
        self._play(lo, hi, counts, _NO_PATHS, room)
        return counts

    def trace(self, lo: int, hi: int, room: Any = None) -> JudgingPaths:
        """Paths of items lo .. hi - 1, one by one."""
        paths = np.zeros((3, hi - lo), dtype=np.int64)
        self._play(lo, hi, np.zeros(self.size, dtype=np.int64), paths, room)
        return JudgingPaths(*paths)

    def outcomes(self, lo: int, hi: int, room: Any = None) -> Counts:
        """Lattice point of each item lo .. hi - 1."""
        return self.trace(lo, hi, room).outcome

    def _play(self, lo: int, hi: int, counts: Counts, paths: Counts, room: Any) -> None:
        from .jit import ready  # these import numba, which takes a second
        from .judging_kernel import judge_range

        encoding, k0, k1 = self._arguments
        room = room or self.room()
        ready(judge_range, encoding, room, k0, k1, 0, 0, counts, _NO_PATHS)
        judge_range(encoding, room, k0, k1, lo, hi - lo, counts, paths)

    def fingerprint(self) -> str:
        """Hash of the encoding and the seed."""
        return fingerprint_of(self.encoding, self.seed, b"judging ")


def simulate_judging(
    protocol: JudgingProtocol,
    population: JudgingPopulation,
    *,
    samples: int | None = None,
    seed: int = 0,
    precision: float | None = None,
    threads: int | None = None,
    chunk: int | None = None,
    checkpoint: str | Path | None = None,
    scheduler: str | None = None,
    local_cluster: int | None = None,
    pool: Any = None,
    progress: Progress | None = None,
    pricing: Pricing | None = None,
) -> Result:
    """Simulate items 0, 1, 2, ... by the compiled engine; parameters, guarantees and errors as of :func:`.driver.simulate`.

    Parameters
    ----------
    protocol, population
        What to run.
    samples, seed, precision, threads, chunk, checkpoint, scheduler, local_cluster, pool, progress, pricing
        As of :func:`.driver.simulate`, with items for questions.
    """
    most = most_questions(samples, precision)
    job = JudgingJob.of(protocol, population, seed)

    def half_width(state: State) -> float:
        accuracy, _ = agreement(_masses(protocol, state).sum(axis=(2, 3)), population.ties, state.done)
        return math.inf if accuracy is None else accuracy.half_width

    def result(state: State, *notes: str) -> Result:
        tally = JudgingTally(_masses(protocol, state), int(state.counts[-2]), int(state.counts[-1]))
        return summarise_judging(protocol, population, tally, engine="mc", samples=state.done, seed=seed, pricing=pricing, notes=notes)

    about = {"protocol": protocol.name, "population": population.name}
    run = Run(job, None if checkpoint is None else Checkpoint(Path(checkpoint), job, about), progress, chunk)
    return run.result(most, Where(threads, scheduler, local_cluster, pool), precision, half_width, result, "items")


def _masses(protocol: JudgingProtocol, state: State) -> Counts:
    return state.counts[:-2].reshape(outcome_shape(protocol))
