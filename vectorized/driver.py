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
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..model.checks import require_count, require_range
from ..model.errors import InputError, InterruptedRunError, ParameterError
from ..model.outcomes import OutcomeSpace, Pricing, summarise
from ..model.population import Population
from ..model.protocol import Protocol
from ..model.result import Result, share
from .backends import Backend, Where
from .checkpoint import Checkpoint
from .run import Counts, Job, Task

__all__ = ["Interrupted", "Run", "State", "next_look", "simulate"]

DEFAULT_SAMPLES = 1_000_000
MOST_SAMPLES = 10**15
MOST_FOR_PRECISION = 10**11
FIRST_LOOK = 8192
_FIRST_PIECE = 4096
_MOST_PIECE = 2**24
_SAVE_SECONDS = 2.0

Progress = Callable[[int], None]


class State(NamedTuple):
    """Counts of questions 0 .. done - 1; replaced as a whole, so that an interrupt finds either the old or the new one."""

    counts: Counts
    done: int


class Interrupted(Exception):
    """Ctrl-C; ``state`` is what was done."""

    def __init__(self, state: State) -> None:
        super().__init__(f"interrupted after {state.done:,} questions")
        self.state = state


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
    """Next number of questions at which a run may find that it has done enough."""
    octave = (done // FIRST_LOOK).bit_length() - 1
    step = FIRST_LOOK << max(octave - 3, 0)
    return (done // step + 1) * step


def most_questions(samples: int | None, precision: float | None) -> int:
    """Check how much is asked for, and say how many questions that is at most.

    Raises
    ------
    ParameterError
        If the number or the half-width lies outside its range.
    """
    if samples is not None:
        require_count("samples", samples, 1, MOST_SAMPLES)
    if precision is not None:
        require_range("precision", precision, 1e-6, 0.5)
    return samples or (DEFAULT_SAMPLES if precision is None else MOST_FOR_PRECISION)


class Run:
    """One run: where it stands, what it saves and whom it tells.

    Parameters
    ----------
    task : Task
        What to count.
    checkpoint : Checkpoint, optional
        File to save to and to resume from.
    progress : callable, optional
        Told the number of questions done since the last time.
    chunk : int, optional
        Questions of a piece; chosen by their time by default.
    """

    def __init__(
        self, task: Task, checkpoint: Checkpoint | None = None, progress: Progress | None = None, chunk: int | None = None
    ) -> None:
        if chunk is not None:
            require_count("chunk", chunk, 1, _MOST_PIECE)
        self.task = task
        self._checkpoint = checkpoint
        self._progress = progress
        self._chunk = chunk
        self._saved = time.monotonic()
        self.state = State(np.zeros(task.size, dtype=np.int64), 0) if checkpoint is None else State(*checkpoint.load())

    def upto(self, most: int, where: Where, enough: Callable[[State], bool] | None = None) -> State:
        """Count up to ``most`` questions, or to the first look that finds it enough.

        Raises
        ------
        Interrupted
            On Ctrl-C, after the checkpoint is saved.
        InputError
            If the checkpoint cannot be written, or another run holds it.
        """

        def ended() -> bool:
            state = self.state
            looks = enough is not None and state.done > 0 and next_look(state.done - 1) == state.done
            return state.done >= most or (looks and enough is not None and enough(state))

        try:
            self._tell(self.state.done)
            if not ended():
                self._save()  # a file that cannot be written is found out before the work, not after
                self._work(most, where.start(self.task), ended, looks=enough is not None)
                self._save()
        except KeyboardInterrupt:
            self._save()
            raise Interrupted(self.state) from None
        except Exception:  # a lost cluster: what was done is kept, and the error is the caller's
            with suppress(InputError):
                self._save()
            raise
        finally:
            if self._checkpoint is not None:
                self._checkpoint.release()
        return self.state

    def result(
        self,
        most: int,
        where: Where,
        precision: float | None,
        half_width: Callable[[State], float],
        summary: Callable[..., Result],
        units: str = "questions",
    ) -> Result:
        """Run to the end, or to a precision, and sum up.

        Parameters
        ----------
        most : int
            Number of questions; with a precision the most.
        where : Where
            What runs them.
        precision : float or None
            Half-width to reach.
        half_width : callable
            Half-width of a state.
        summary : callable
            (state, further notes) to a result.
        units : str
            What is counted, in words.

        Raises
        ------
        ParameterError
            If the checkpoint holds more than ``most`` already.
        InterruptedRunError
            On Ctrl-C; ``partial`` is the result of what was done, None if nothing was.
        """
        kept = self._checkpoint.path if self._checkpoint is not None else None
        if self.state.done > most:
            raise ParameterError("samples", most, f"at least {self.state.done} (what {kept} holds already)")

        def precise(state: State) -> bool:
            return precision is None or half_width(state) <= precision

        try:
            state = self.upto(most, where, None if precision is None else precise)
        except Interrupted as stop:
            where_kept = f"; {kept} holds them" if kept is not None else ""
            partial = summary(stop.state, f"{stop} of at most {most:,}") if stop.state.done else None
            raise InterruptedRunError(f"{stop}{where_kept}.", partial) from None
        if not precise(state):
            return summary(state, f"the precision of {precision:g} was not reached within {most:,} {units}")
        return summary(state)

    def _work(self, most: int, backend: Backend, ended: Callable[[], bool], looks: bool) -> None:
        pieces = _Pieces(self._chunk, backend.piece_seconds)
        try:
            while not ended():
                goal = min(most, next_look(self.state.done)) if looks else most
                for worked in backend.run(self.task, pieces.cut(self.state.done, goal)):
                    self.state = State(self.state.counts + worked.counts, worked.hi)
                    pieces.took(worked.hi - worked.lo, worked.seconds)
                    self._tell(worked.hi - worked.lo)
                    self._save(patience=_SAVE_SECONDS)
        finally:
            backend.close()

    def _save(self, patience: float = 0.0) -> None:
        """Write the checkpoint if the last one is older than ``patience`` (s)."""
        if self._checkpoint is not None and time.monotonic() - self._saved >= patience:
            self._checkpoint.save(*self.state)
            self._saved = time.monotonic()

    def _tell(self, questions: int) -> None:
        if self._progress is not None and questions > 0:
            self._progress(questions)


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
    most = most_questions(samples, precision)
    job = Job.of(protocol, population, seed)
    right = OutcomeSpace(protocol).coordinates[-1] == 1

    def half_width(state: State) -> float:
        return share(int(state.counts[right].sum()), state.done).half_width

    def result(state: State, *notes: str) -> Result:
        return summarise(protocol, population, state.counts, engine="mc", samples=state.done, seed=seed, pricing=pricing, notes=notes)

    about = {"protocol": protocol.name, "population": population.name}
    run = Run(job, None if checkpoint is None else Checkpoint(Path(checkpoint), job, about), progress, chunk)
    return run.result(most, Where(threads, scheduler, local_cluster, pool), precision, half_width, result)
