r"""Ranges of questions: the pure function that every driver, thread, process and machine calls.

A :class:`Job` is an encoding with a seed. Its :meth:`Job.count` turns questions lo .. hi - 1 into integer counts on the outcome lattice. It
depends on nothing else, so

.. math:: counts(0, n) = \sum_k counts(lo_k, hi_k)

for every partition of the questions, in every order, bit for bit. A :class:`Joint` counts what several jobs do on the *same* questions.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..model.draws import split_seed
from ..model.outcomes import OutcomeSpace
from ..model.population import DEFAULT_POPULATION, Population, load_population
from ..model.protocol import Protocol as Policy
from .encoding import Encoding, encode
from .tile import Tile, Words, make_tile

__all__ = ["Counts", "Job", "Joint", "Paths", "Task", "Traced", "warm_up"]

Counts = npt.NDArray[np.int64]


class Task(Protocol):
    """What a driver runs: a pure function from ranges of questions to integer counts.

    Attributes
    ----------
    seed : int
        64-bit key.
    size : int
        Number of counts.
    """

    @property
    def seed(self) -> int: ...  # noqa: D102

    @property
    def size(self) -> int: ...  # noqa: D102

    def room(self) -> Any:
        """Working memory for one thread."""
        ...

    def count(self, lo: int, hi: int, room: Any = None) -> Counts:
        """Count questions lo .. hi - 1; shape (size,)."""
        ...

    def fingerprint(self) -> str:
        """Hash of all numbers that the counts depend on."""
        ...


class Traced(Protocol):
    """What can tell the outcome of every single question, such as a :class:`Job`."""

    @property
    def seed(self) -> int: ...  # noqa: D102

    def room(self) -> Any:
        """Working memory for one thread."""
        ...

    def outcomes(self, lo: int, hi: int, room: Any = None) -> Counts:
        """Lattice point of each question lo .. hi - 1."""
        ...

    def fingerprint(self) -> str:
        """Hash of all numbers that the outcomes depend on."""
        ...


class Paths(NamedTuple):
    """What became of each question of a range; arrays of one entry a question.

    Attributes
    ----------
    outcome : ndarray of int
        Point of the outcome lattice.
    candidate, answer : ndarray of int
        Labels of the candidate and of the final answer, as the reference engine numbers them.
    right, shared : ndarray of int
        How many of the independent answers that every question reads (``encoding.samples``) are right, and on the misconception;
        meaningless where a sampling stop decides how many are read.
    """

    outcome: Counts
    candidate: Counts
    answer: Counts
    right: Counts
    shared: Counts


_AT_ONCE = 2**16
_NO_PATHS = np.zeros((5, 0), dtype=np.int64)
_NO_LATENT = np.zeros((2, 0), dtype=np.uint32)


@dataclass(frozen=True, eq=False)
class Job:
    """A protocol on a population with a seed, as numbers.

    Parameters
    ----------
    encoding : Encoding
        What the kernels read.
    seed : int
        64-bit key.
    size : int
        Number of points of the outcome lattice.
    """

    encoding: Encoding
    seed: int
    size: int

    @classmethod
    def of(cls, protocol: Policy, population: Population, seed: int) -> Job:
        """Lay out a job.

        Raises
        ------
        ParameterError
            If the seed is no 64-bit integer.
        """
        split_seed(seed)
        return cls(encode(protocol, population), int(seed), OutcomeSpace(protocol).size)

    def __reduce__(self) -> tuple[type[Job], tuple[Encoding, int, int]]:
        return Job, (self.encoding, self.seed, self.size)

    @cached_property
    def _arguments(self) -> tuple[Encoding, np.uint32, np.uint32]:
        """Encoding and key as the kernels take them; arrays that travelled between processes may be read-only, and are copied."""
        low, high = split_seed(self.seed)
        return Encoding(*(writable(value) for value in self.encoding)), np.uint32(low), np.uint32(high)

    def room(self) -> Tile:
        """Allocate working memory for one thread."""
        return make_tile(self.encoding)

    def count(self, lo: int, hi: int, room: Tile | None = None) -> Counts:
        """Count the outcomes of questions lo .. hi - 1; shape (size,).

        Parameters
        ----------
        lo, hi : int
            Range of questions.
        room : Tile, optional
            Working memory to use again.
        """
        counts = np.zeros(self.size, dtype=np.int64)
        self._play(lo, hi, counts, _NO_PATHS, room)
        return counts

    def trace(self, lo: int, hi: int, room: Tile | None = None, latent: Words | None = None) -> Paths:
        """Paths of questions lo .. hi - 1, one by one; parameters as for :meth:`count`.

        Parameters
        ----------
        latent : ndarray of uint32, shape (2, hi - lo), optional
            Words that difficulty and misconception are drawn from instead of their own.
        """
        paths = np.zeros((5, hi - lo), dtype=np.int64)
        self._play(lo, hi, np.zeros(self.size, dtype=np.int64), paths, room, latent)
        return Paths(*paths)

    def outcomes(self, lo: int, hi: int, room: Tile | None = None) -> Counts:
        """Lattice point of each question lo .. hi - 1; parameters as for :meth:`count`."""
        return self.trace(lo, hi, room).outcome

    def _play(self, lo: int, hi: int, counts: Counts, paths: Counts, room: Tile | None, latent: Words | None = None) -> None:
        from .jit import ready  # these import numba, which takes a second
        from .kernel import play_range

        encoding, k0, k1 = self._arguments
        tile = room or self.room()
        words = _NO_LATENT if latent is None else np.ascontiguousarray(latent, dtype=np.uint32)
        ready(play_range, encoding, tile, k0, k1, 0, 0, counts, _NO_PATHS, _NO_LATENT)
        play_range(encoding, tile, k0, k1, lo, hi - lo, counts, paths, words)

    def fingerprint(self) -> str:
        """Hash of the encoding and the seed."""
        return fingerprint_of(self.encoding, self.seed)


def fingerprint_of(encoding: Any, seed: int, family: bytes = b"") -> str:
    """Hash of all numbers of an encoding (a named tuple) and the seed."""
    digest = hashlib.sha256(family)
    for name, value in zip(encoding._fields, encoding, strict=True):
        array = np.ascontiguousarray(value)
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    digest.update(f"seed {seed}".encode())
    return digest.hexdigest()


def writable(value: Any) -> Any:
    """Return the value, or a copy where it is an array that may not be written to (numba compiles for one kind of array)."""
    return value.copy() if isinstance(value, np.ndarray) and not value.flags.writeable else value


@dataclass(frozen=True, eq=False)
class Joint:
    """Several jobs on the same questions, counted together.

    Each job's lattice points are sorted into classes; for each group of jobs the counts form a table over the product of their classes,
    and the tables stand one after the other.

    Parameters
    ----------
    jobs : tuple of Traced
        All with the same seed and the same question's law.
    classes : tuple of ndarray of int
        Class of every lattice point of each job.
    groups : tuple of tuple of int
        Indices of the jobs that each table crosses.
    """

    jobs: tuple[Traced, ...]
    classes: tuple[Counts, ...]
    groups: tuple[tuple[int, ...], ...]

    @property
    def seed(self) -> int:
        """64-bit key."""
        return self.jobs[0].seed

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of each group's table."""
        return tuple(tuple(int(self.classes[j].max()) + 1 for j in group) for group in self.groups)

    @property
    def size(self) -> int:
        """Cells of all tables."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    def tables(self, counts: Counts) -> list[Counts]:
        """Cut counts into the groups' tables."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])
        return [part.reshape(shape) for part, shape in zip(np.split(counts, ends[:-1]), self.shapes, strict=True)]

    def room(self) -> list[Any]:
        """Working memory for one thread."""
        return [job.room() for job in self.jobs]

    def count(self, lo: int, hi: int, room: list[Any] | None = None) -> Counts:
        """Count questions lo .. hi - 1 into the tables, a bounded number of them at a time."""
        rooms = room or self.room()
        total = np.zeros(self.size, dtype=np.int64)
        for start in range(lo, hi, _AT_ONCE) or (lo,):  # an empty range still makes the kernel ready
            total += self._count(start, min(hi, start + _AT_ONCE), rooms)
        return total

    def _count(self, lo: int, hi: int, rooms: list[Any]) -> Counts:
        held = [classes[job.outcomes(lo, hi, room)] for job, classes, room in zip(self.jobs, self.classes, rooms, strict=True)]
        parts = []
        for group, shape in zip(self.groups, self.shapes, strict=True):
            cells = np.ravel_multi_index([held[j] for j in group], shape)
            parts.append(np.bincount(cells, minlength=int(np.prod(shape))))
        return np.concatenate(parts)

    def fingerprint(self) -> str:
        """Hash of the jobs."""
        return hashlib.sha256("".join(job.fingerprint() for job in self.jobs).encode()).hexdigest()


def warm_up() -> None:
    """Compile the kernels of both families, or load them from the cache."""
    from ..model.judging import DEFAULT_JUDGING_POPULATION, load_judging_population, load_judging_protocol
    from .judging import JudgingJob

    Job.of(Policy(name="warm-up", chains=1), load_population(DEFAULT_POPULATION), 0).count(0, 0)
    JudgingJob.of(load_judging_protocol("single_judge"), load_judging_population(DEFAULT_JUDGING_POPULATION), 0).count(0, 0)
