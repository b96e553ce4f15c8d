r"""Runs of many questions: short launches from Python, for progress, Ctrl-C, a precision to reach and checkpoints.

The questions 0 .. n - 1 are counted piece by piece, always in order, whatever runs them (:mod:`.backends`): what is done is a prefix, and
its counts are those of any other run of the same job. The size of a piece follows the time that the last one took.

With a precision H the run ends at the first *look* where the 95 % half-width of accuracy (Wilson) is at most H. Looks stand at fixed
numbers of questions, 8,192 apart at first and later never more than an eighth of what is done, so that n is a function of (job, H)
alone. Looking several times makes the interval a little optimistic; with looks this rare after a large first one the effect is below
its last digit shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..model.checks import require_count, require_range
from ..model.errors import InterruptedRunError, ParameterError
from ..model.outcomes import OutcomeSpace, Pricing, summarise
from ..model.population import Population
from ..model.protocol import Protocol
from ..model.result import Result, share
from .backends import Backend, Pool, Threads, cores
from .checkpoint import Checkpoint
from .run import Counts, Job, warm_up

__all__ = ["simulate"]

DEFAULT_SAMPLES = 1_000_000
MOST_SAMPLES = 10**15
MOST_FOR_PRECISION = 10**11
FIRST_LOOK = 8192
_FIRST_PIECE = 4096
_MOST_PIECE = 2**24
_SAVE_SECONDS = 2.0


Progress = Callable[[int], None]


class _State(NamedTuple):
    """Counts of questions 0 .. done - 1; replaced as a whole, so that an interrupt finds either the old or the new one."""

    counts: Counts
    done: int


class _Pieces:
    """Cuts a range into pieces whose size follows the time that they take, unless it is fixed."""

    def __init__(self, fixed: int | None, seconds: float) -> None:
        self._size = fixed or _FIRST_PIECE
        self._fixed = fixed is not None
        self._seconds = seconds

    def cut(self, lo: int, hi: int) -> Iterator[tuple[int, int]]:
        while lo < hi:
            upto = min(hi, lo + self._size)
            yield lo, upto
            lo = upto

    def took(self, count: int, seconds: float) -> None:
        """Aim at pieces of the wanted length, at most four times the last."""
        if not self._fixed and seconds > 0:
            wanted = int(count * self._seconds / seconds)
            self._size = min(max(wanted, 1), 4 * self._size, _MOST_PIECE)


def next_look(done: int) -> int:
    """Next number of questions at which precision is looked at."""
    octave = (done // FIRST_LOOK).bit_length() - 1
    step = FIRST_LOOK << max(octave - 3, 0)
    return (done // step + 1) * step


class _Run:
    """One run: where it stands, what it saves and whom it tells."""

    def __init__(
        self, job: Job, right: npt.NDArray[np.bool_], checkpoint: Checkpoint | None, progress: Callable[[int], None] | None
    ) -> None:
        self.job = job
        self._right = right
        self._checkpoint = checkpoint
        self._progress = progress
        self._saved = time.monotonic()
        self.state = _State(np.zeros(job.size, dtype=np.int64), 0) if checkpoint is None else _State(*checkpoint.load())
        self._tell(self.state.done)

    def half_width(self) -> float:
        """95 % half-width of accuracy."""
        return share(int(self.state.counts[self._right].sum()), self.state.done).half_width

    def reached(self, precision: float | None) -> bool:
        """Whether a look is due at this number of questions, and finds the precision reached."""
        done = self.state.done
        return precision is not None and done > 0 and next_look(done - 1) == done and self.half_width() <= precision

    def upto(self, goal: int, backend: Backend, pieces: _Pieces) -> None:
        """Count questions up to ``goal``."""
        for worked in backend.run(self.job, pieces.cut(self.state.done, goal)):
            self.state = _State(self.state.counts + worked.counts, worked.hi)
            pieces.took(worked.hi - worked.lo, worked.seconds)
            self._tell(worked.hi - worked.lo)
            self.save(patience=_SAVE_SECONDS)

    def save(self, patience: float = 0.0) -> None:
        """Write the checkpoint if the last one is older than ``patience`` (s)."""
        if self._checkpoint is not None and time.monotonic() - self._saved >= patience:
            self._checkpoint.save(*self.state)
            self._saved = time.monotonic()

    def _tell(self, questions: int) -> None:
        if self._progress is not None and questions > 0:
            self._progress(questions)


def _backend(threads: int | None, scheduler: str | None, local_cluster: int | None, pool: Any) -> Backend:
    """Where to run; at most one place may be named."""
    named = {"threads": threads, "scheduler": scheduler, "local_cluster": local_cluster, "pool": pool}
    given = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise ParameterError(given[1], named[given[1]], f"one of {', '.join(named)} at a time", f"Leave out {given[0]} or {given[1]}.")
    if scheduler is not None:
        from .cluster import dask_scheduler

        return dask_scheduler(scheduler)
    for name, count in (("local_cluster", local_cluster), ("threads", threads)):
        if count is not None:
            require_count(name, count, 1, 1024)
    warm_up()  # here, where Ctrl-C is heard; local workers then find the kernel in the cache
    if pool is not None:
        return Pool(pool)
    if local_cluster is not None:
        from .cluster import dask_local

        return dask_local(local_cluster)
    return Threads(threads or cores())


def simulate(
    protocol: Protocol,
    population: Population,
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
    """Simulate questions 0, 1, 2, ... by the compiled engine.

    The result depends on the protocol, the population, the seed and the number of questions alone; it is the same, bit for bit, for all
    other options.

    Parameters
    ----------
    protocol, population
        What to run.
    samples : int, optional
        Number of questions, 1 to 10**15; 1,000,000 by default. With a precision: the most (10**11 by default).
    seed : int
        64-bit key.
    precision : float, optional
        Run until the 95 % half-width of accuracy is at most this, 0.000001 to 0.5.
    threads : int, optional
        Threads of this process; all processors by default.
    chunk : int, optional
        Questions of a launch; chosen by their time by default.
    checkpoint : path, optional
        File to save to and to resume from.
    scheduler : str, optional
        Address of a Dask scheduler.
    local_cluster : int, optional
        Number of Dask worker processes to start on this machine.
    pool : object, optional
        Anything with a ``.map(function, iterable)`` that keeps order.
    progress : callable, optional
        Told the number of questions done since the last time.
    pricing : Pricing, optional
        Adds money.

    Returns
    -------
    Result

    Raises
    ------
    ParameterError
        If an option lies outside its range.
    InputError
        If a checkpoint or a scheduler cannot be used.
    InterruptedRunError
        On Ctrl-C; ``partial`` is the result of what was done, None if nothing was.
    """
    if samples is not None:
        require_count("samples", samples, 1, MOST_SAMPLES)
    if precision is not None:
        require_range("precision", precision, 1e-6, 0.5)
    if chunk is not None:
        require_count("chunk", chunk, 1, _MOST_PIECE)
    most = samples or (DEFAULT_SAMPLES if precision is None else MOST_FOR_PRECISION)
    job = Job.of(protocol, population, seed)
    about = {"protocol": protocol.name, "population": population.name}
    right = OutcomeSpace(protocol).coordinates[-1] == 1
    run = _Run(job, right, None if checkpoint is None else Checkpoint(Path(checkpoint), job, about), progress)
    if run.state.done > most:
        raise ParameterError("samples", most, f"at least {run.state.done} (what {checkpoint} holds already)")

    def result(*notes: str) -> Result:
        counts, done = run.state
        return summarise(protocol, population, counts, engine="mc", samples=done, seed=seed, pricing=pricing, notes=notes)

    try:
        _count(run, most, precision, chunk, lambda: _backend(threads, scheduler, local_cluster, pool))
    except KeyboardInterrupt:
        run.save()
        done = run.state.done
        kept = f"; {checkpoint} holds them" if checkpoint is not None else ""
        text = f"interrupted after {done:,} questions{kept}."
        raise InterruptedRunError(text, result(f"interrupted after {done:,} of at most {most:,} questions") if done else None) from None
    if precision is not None and run.half_width() > precision:
        return result(f"the precision of {precision:g} was not reached within {most:,} questions")
    return result()


def _count(run: _Run, most: int, precision: float | None, chunk: int | None, start: Callable[[], Backend]) -> None:
    """Count up to ``most`` questions, or to the first look that finds the precision reached."""
    if run.state.done == most or run.reached(precision):
        return
    run.save()  # a file that cannot be written is found out before the work, not after
    backend = start()
    pieces = _Pieces(chunk, backend.piece_seconds)
    try:
        while run.state.done < most and not run.reached(precision):
            goal = most if precision is None else min(most, next_look(run.state.done))
            run.upto(goal, backend, pieces)
    finally:
        backend.close()
    run.save()
