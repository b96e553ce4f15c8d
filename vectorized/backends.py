"""Where ranges of questions run: threads of this process, anything with a ``.map``, or Dask workers.

All give the same counts in the same order, so a run cannot tell them apart. Pieces are taken from the iterator only as they are needed,
a few ahead of the workers, so that neither the pieces nor their results pile up.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

from ..model.checks import require_count
from ..model.errors import ParameterError
from .run import Counts, Task

__all__ = ["Backend", "Pool", "Threads", "Where", "Worked", "cores", "in_order", "work"]


class Worked(NamedTuple):
    """Counts of questions lo .. hi - 1, and how long they took a worker (s)."""

    lo: int
    hi: int
    counts: Counts
    seconds: float


class Backend(Protocol):
    """Runs the pieces of a task and gives their counts in order.

    Attributes
    ----------
    workers : int
        How many pieces run at once.
    piece_seconds : float
        How long a piece should take: short enough for Ctrl-C and progress, long enough to hide the cost of sending it.
    """

    workers: int
    piece_seconds: float

    def run(self, task: Task, pieces: Iterable[tuple[int, int]]) -> Iterator[Worked]:
        """Run pieces (lo, hi) of a task; yields their counts in the order of the pieces."""
        ...

    def close(self) -> None:
        """Give up what is still running."""
        ...


def work(task: Task, lo: int, hi: int, room: Any = None) -> Worked:
    """Run one piece."""
    start = time.perf_counter()
    counts = task.count(lo, hi, room)
    return Worked(lo, hi, counts, time.perf_counter() - start)


def in_order(submit: Callable[[int, int], Any], pieces: Iterable[tuple[int, int]], ahead: int) -> Iterator[Any]:
    """Results of futures in the order of the pieces, with at most ``ahead`` of them under way."""
    waiting: deque[Any] = deque()
    try:
        for lo, hi in pieces:
            waiting.append(submit(lo, hi))
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Threads:
    """Threads of this process; the kernels run without Python's lock."""

    piece_seconds = 0.05

    def __init__(self, count: int) -> None:
        self.workers = count
        self._executor = ThreadPoolExecutor(count, thread_name_prefix="adjourn")
        self._room = threading.local()

    def run(self, task: Task, pieces: Iterable[tuple[int, int]]) -> Iterator[Worked]:
        """Run pieces; see :class:`Backend`."""
        return in_order(lambda lo, hi: self._executor.submit(self._work, task, lo, hi), pieces, 2 * self.workers)

    def _work(self, task: Task, lo: int, hi: int) -> Worked:
        if getattr(self._room, "task", None) is not task:
            self._room.task, self._room.room = task, task.room()
        return work(task, lo, hi, self._room.room)

    def close(self) -> None:
        """Drop what has not begun and wait for the rest (a fraction of a second)."""
        self._executor.shutdown(wait=True, cancel_futures=True)


class Pool:
    """Anything with a ``.map`` that keeps order: ``multiprocessing.Pool``, an executor, MPI pools.

    Parameters
    ----------
    pool
        The object; it is the caller's to close.
    """

    piece_seconds = 0.5

    def __init__(self, pool: Any) -> None:
        self._map = pool.map
        self.workers = 2 * cores()  # a pool does not say how many it has

    def run(self, task: Task, pieces: Iterable[tuple[int, int]]) -> Iterator[Worked]:
        """Run pieces; see :class:`Backend`."""
        batch: list[tuple[Task, int, int]] = []
        for lo, hi in pieces:
            batch.append((task, lo, hi))
            if len(batch) == self.workers:
                yield from self._map(_work_of, batch)
                batch = []
        if batch:
            yield from self._map(_work_of, batch)

    def close(self) -> None:
        """Nothing to do."""


def _work_of(piece: tuple[Task, int, int]) -> Worked:
    return work(*piece)


class Where(NamedTuple):
    """Where to run; at most one of the four.

    Attributes
    ----------
    threads : int or None
        Threads of this process.
    scheduler : str or None
        Address of a Dask scheduler.
    local_cluster : int or None
        Number of Dask worker processes to start on this machine.
    pool : object or None
        Anything with a ``.map``.
    """

    threads: int | None = None
    scheduler: str | None = None
    local_cluster: int | None = None
    pool: Any = None

    def start(self, task: Task) -> Backend:
        """Start what is asked for; threads on all processors by default.

        Parameters
        ----------
        task : Task
            What will run; its kernel is made ready here, where Ctrl-C is heard, and local workers then find it in the cache.

        Raises
        ------
        ParameterError
            If two places are named, or a number is out of range.
        InputError
            If Dask is missing or its scheduler does not answer.
        """
        given = [name for name, value in self._asdict().items() if value is not None]
        if len(given) > 1:
            allowed = f"one of {', '.join(self._fields)} at a time"
            raise ParameterError(given[1], getattr(self, given[1]), allowed, f"Leave out {given[0]} or {given[1]}.")
        if self.scheduler is not None:
            from .cluster import dask_scheduler

            return dask_scheduler(self.scheduler)
        for name in ("threads", "local_cluster"):
            if getattr(self, name) is not None:
                require_count(name, getattr(self, name), 1, 1024)
        task.count(0, 0)
        if self.pool is not None:
            return Pool(self.pool)
        if self.local_cluster is not None:
            from .cluster import dask_local

            return dask_local(self.local_cluster)
        return Threads(self.threads or cores())
