"""Many questions under one cap: resumed, shared between processes, and stopped cleanly.

A question is worked on by the process that holds its claim. When a process dies, its claim is free again, and whoever takes it finds the
answers that were already given in the ledger. A question has an outcome when everything of it is done; a question with an outcome is
never looked at again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from ..model.errors import AdjournError
from .client import Client
from .errors import CallFailedError
from .ledger import Ledger
from .questions import Item, Question

__all__ = ["Finished", "Summary", "campaign"]

_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Finished:
    """Outcome of a question.

    Parameters
    ----------
    answer : str or None
        The decision; None for an abstention.
    correct : bool or None
        Whether it is right; None where nobody knows.
    audit : dict
        The audit trail.
    """

    answer: str | None
    correct: bool | None
    audit: dict[str, Any]


@dataclass
class Summary:
    """How a campaign ended in this process.

    Parameters
    ----------
    done : int
        Questions that have an outcome, of all processes.
    here : int
        Of them, done here and now.
    failed : dict of str to str
        Questions that got no usable answer, with the reason.
    stopped : AdjournError or None
        What ended the campaign before its time.
    """

    done: int = 0
    here: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    stopped: AdjournError | None = None


def campaign(
    work: Callable[[Any, int], Finished],
    questions: Sequence[Question] | Sequence[Item],
    ledger: Ledger,
    client: Client,
    *,
    advance: Callable[[int], None] = lambda steps: None,
) -> Summary:
    """Run all questions that have no outcome yet.

    Parameters
    ----------
    work : callable
        From (question, index) to its outcome.
    questions : sequence
        What is asked, in the order of the file.
    ledger, client
        Of the run.
    advance : callable
        Told of each question that is done.

    Returns
    -------
    Summary
        Errors that concern one question, or that end the run, stand in it.
    """
    with ThreadPoolExecutor(client.endpoint.concurrency, thread_name_prefix="question") as pool:
        loop = _Loop(work, questions, ledger, client, advance, pool)
        try:
            loop.run()
        except BaseException:
            client.cancel()
            raise
    return loop.summary


class _Loop:
    """State of a campaign: what is to do, what others may be doing, what runs here."""

    def __init__(
        self,
        work: Callable[[Any, int], Finished],
        questions: Sequence[Question] | Sequence[Item],
        ledger: Ledger,
        client: Client,
        advance: Callable[[int], None],
        pool: ThreadPoolExecutor,
    ) -> None:
        self.work, self.questions, self.ledger, self.client, self.advance, self.pool = work, questions, ledger, client, advance, pool
        self.summary = Summary()
        self._to_do: deque[int] = deque(range(len(questions)))
        self._elsewhere: list[int] = []
        self._running: dict[Future[Finished], int] = {}
        self._finished: set[str] = set()
        self._last_row = 0

    def run(self) -> None:
        """Work until every question is done, or has failed here, or something ends the run."""
        while True:
            self._look()
            self._start()
            if self._running:
                done, _ = wait(self._running, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
                for future in done:
                    self._end(future, self._running.pop(future))
            elif self.summary.stopped or not (self._to_do or self._elsewhere):
                break
            elif not self._to_do:
                time.sleep(_POLL_SECONDS)  # all that is left is in the hands of other processes
                self._to_do.extend(self._elsewhere)
                self._elsewhere.clear()
        self._look()
        self.summary.done = len(self._finished)

    def _look(self) -> None:
        """Take note of outcomes, whichever process wrote them."""
        fresh, self._last_row = self.ledger.finished_since(self.client.run_id, self._last_row)
        self._finished.update(fresh)
        self.advance(len(fresh))

    def _start(self) -> None:
        while self._to_do and not self.summary.stopped and len(self._running) < self.client.endpoint.concurrency:
            index = self._to_do.popleft()
            question = self.questions[index]
            if question.question_id in self._finished:
                continue
            if not self.ledger.claim(self.client.run_id, index):
                self._elsewhere.append(index)
            elif self.ledger.is_finished(self.client.run_id, question.question_id):  # by another process, since we looked
                self.ledger.release(self.client.run_id, index)
            else:
                self._running[self.pool.submit(self.work, question, index)] = index

    def _end(self, future: Future[Finished], index: int) -> None:
        question_id = self.questions[index].question_id
        try:
            finished = future.result()
            self.ledger.finish(self.client.run_id, question_id, finished.answer, finished.correct, finished.audit)
            self.summary.here += 1
        except CallFailedError as error:
            self.summary.failed[question_id] = str(error)
        except AdjournError as error:
            self.client.cancel()
            self.summary.stopped = self.summary.stopped or error
        finally:
            self.ledger.release(self.client.run_id, index)
