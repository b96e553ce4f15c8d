"""Many questions under one cap: resumed, shared between processes, and stopped cleanly.

A question is worked on by the process that holds its claim. When a process dies, its claim is free again, and whoever takes it finds the
answers that were already given in the ledger. A question has an outcome when everything of it is done; a question with an outcome is
never looked at again.
"""

from __future__ import annotations

import time
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
    summary = Summary()
    waiting = dict(enumerate(questions))
    seen: set[str] = set()
    running: dict[Future[Finished], int] = {}
    with ThreadPoolExecutor(client.endpoint.concurrency, thread_name_prefix="question") as pool:
        try:
            while waiting or running:
                seen = _drop_finished(waiting, seen, ledger, client, advance)
                _start(waiting, running, pool, work, ledger, client, summary)
                if not running:
                    if summary.stopped or not waiting:
                        break
                    time.sleep(_POLL_SECONDS)  # all that is left is in the hands of other processes
                    continue
                done, _ = wait(running, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
                for future in done:
                    index = running.pop(future)
                    _end(future, index, questions[index], ledger, client, summary)
        except BaseException:
            client.cancel()
            raise
    summary.done = len(ledger.finished(client.run_id))
    return summary


def _drop_finished(waiting: dict[int, Any], seen: set[str], ledger: Ledger, client: Client, advance: Callable[[int], None]) -> set[str]:
    finished = ledger.finished(client.run_id)
    for index in [index for index, question in waiting.items() if question.question_id in finished]:
        del waiting[index]
    advance(len(finished - seen))
    return finished


def _start(
    waiting: dict[int, Any],
    running: dict[Future[Finished], int],
    pool: ThreadPoolExecutor,
    work: Callable[[Any, int], Finished],
    ledger: Ledger,
    client: Client,
    summary: Summary,
) -> None:
    for index in list(waiting):
        if summary.stopped or len(running) >= client.endpoint.concurrency:
            return
        question = waiting[index]
        if not ledger.claim(client.run_id, index):
            continue
        if question.question_id in ledger.finished(client.run_id):  # done by another process since we looked
            ledger.release(client.run_id, index)
            continue
        del waiting[index]
        running[pool.submit(work, question, index)] = index


def _end(future: Future[Finished], index: int, question: Any, ledger: Ledger, client: Client, summary: Summary) -> None:
    try:
        finished = future.result()
        ledger.finish(client.run_id, question.question_id, finished.answer, finished.correct, finished.audit)
        summary.here += 1
    except CallFailedError as error:
        summary.failed[question.question_id] = str(error)
    except AdjournError as error:
        client.cancel()
        summary.stopped = summary.stopped or error
    finally:
        ledger.release(client.run_id, index)
