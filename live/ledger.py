r"""The ledger of real runs: every attempt is paid for before it is sent, and nothing that was answered is lost.

One SQLite file (WAL, ``synchronous = FULL``) with strict, append-only tables:

===============  ===============================================================================================
``runs``         what was run: protocol, population, model, endpoint, price, settings, and the plan made before it
``attempts``     one row for each HTTP attempt, committed **before** it is sent, with the worst case of its cost
``settlements``  how an attempt ended and what it cost; an attempt without one dangles and stays charged in full
``charges``      the journal of the sum: each reservation and each settlement with the total after it
``messages``     the answers, one for each call, written in the same transaction as their settlement
``outcomes``     one row for each question that is done, with its audit trail
===============  ===============================================================================================

With c the running total, an attempt whose worst case is x is refused unless c + x <= cap. The check, the row and the new total are one
transaction under a write lock, so two processes on one ledger share one cap, whatever is killed at whatever moment. A settlement adds
(actual - x). A ledger's cap is on everything that was ever charged to it.

A process that works on a question holds a lock on one byte of a side file; the kernel frees it when the process dies, however it dies. A
ballast file keeps room on the disk for the answers that are on their way when it fills up.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from . import schema
from .errors import CapReachedError, LedgerError, LedgerFullError
from .money import usd
from .reading import LedgerReader, Message

__all__ = ["BALLAST_BYTES", "Ledger", "Reservation", "Settlement"]

BALLAST_BYTES = 16 * 2**20
_NO_ROOM = "{}: the disk is full or failing; nothing more was sent. Make room, then --resume."


@dataclass(frozen=True)
class Reservation:
    """An attempt that may be sent.

    Parameters
    ----------
    attempt_id : int
        Its row.
    number : int
        Which attempt of its call it is, from 1, over all processes.
    worst : int
        Picodollars that are charged until it is settled.
    """

    attempt_id: int
    number: int
    worst: int


@dataclass(frozen=True, kw_only=True)
class Settlement:
    """How an attempt ended.

    Parameters
    ----------
    state : {"answered", "refused", "failed"}
        An answer came; the endpoint refused before it worked; or it went wrong, so that it may have been billed.
    cost : int or None
        Picodollars; None where nobody knows, and then the reservation stays charged in full.
    status : int or None
        HTTP status.
    prompt_tokens, completion_tokens : int or None
        Usage, where reported.
    error : str
        What went wrong, in words ("" for an answer).
    message : Message or None
        The answer.
    """

    state: str
    cost: int | None
    status: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: str = ""
    message: Message | None = None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Ledger(LedgerReader):
    """A ledger to write to; safe to share between threads, and to open in several processes at once.

    Parameters
    ----------
    path : str or Path
        The file; made if it is not there (its folder must be).
    ballast_bytes : int
        Room that is kept on the disk for answers on their way.

    Raises
    ------
    LedgerError
        If the file cannot be opened.
    FileFormatError
        If it is no ledger of this version.
    LedgerFullError
        If there is no room for the ballast.
    """

    def __init__(self, path: str | Path, ballast_bytes: int = BALLAST_BYTES) -> None:
        self._ballast_bytes = ballast_bytes
        self._full = False
        self._claims = -1
        super().__init__(path)
        self._claims = os.open(self._side("claims"), os.O_RDWR | os.O_CREAT, 0o600)
        self._make_ballast()

    def _side(self, what: str) -> Path:
        return self.path.with_name(f"{self.path.name}-{what}")

    def _require_file(self) -> None:
        if not self.path.exists():
            # The answers of a run are the user's own: readable by nobody else.
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600))

    def _prepare(self, connection: sqlite3.Connection) -> None:
        schema.enter_wal(connection)
        connection.execute("PRAGMA synchronous = FULL")
        schema.make_tables(connection)

    def _make_ballast(self) -> None:
        descriptor = os.open(self._side("ballast"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if self._ballast_bytes:
                os.posix_fallocate(descriptor, 0, self._ballast_bytes)
        except OSError as error:
            self._side("ballast").unlink(missing_ok=True)
            raise LedgerFullError(
                f"no room of {self._ballast_bytes} bytes beside {self.path} ({error.strerror}); nothing was sent. Make room."
            ) from None
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Close the files; claims are given up."""
        super().close()
        if self._claims >= 0:
            os.close(self._claims)
            self._claims = -1

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        """Begin a transaction under the write lock, commit at the end."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    # --- runs -----------------------------------------------------------------------------------------------------------------------

    def start_run(
        self, run_id: str, family: str, protocol: Mapping[str, Any], model: str, settings: Mapping[str, Any], plan: Mapping[str, Any]
    ) -> bool:
        """Enter a run; true if it was new. The plan of an earlier start of the same run is kept."""
        values = (run_id, _now(), family, json.dumps(protocol), model, json.dumps(settings), json.dumps(plan))
        try:
            with self._write() as connection:
                return connection.execute("INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", values).rowcount == 1
        except sqlite3.DatabaseError as error:
            raise self._failure(error) from None

    # --- money ----------------------------------------------------------------------------------------------------------------------

    @staticmethod
    def _charge(connection: sqlite3.Connection, attempt_id: int, delta: int, total: int) -> None:
        connection.execute("INSERT INTO charges (attempt_id, delta, total) VALUES (?, ?, ?)", (attempt_id, delta, total + delta))

    @staticmethod
    def _total(connection: sqlite3.Connection) -> int:
        row = connection.execute("SELECT total FROM charges ORDER BY seq DESC LIMIT 1").fetchone()
        return int(row[0]) if row else 0

    def reserve(
        self, run_id: str, call_key: str, role: str, *, worst: int, prompt_bound: int, completion_bound: int, cap: int
    ) -> Reservation:
        """Charge the worst case of an attempt, before it is sent.

        Raises
        ------
        CapReachedError
            If that would pass the cap: nothing is written and nothing may be sent.
        LedgerFullError
            If the disk is full: likewise.
        """
        if self._full:
            raise LedgerFullError(_NO_ROOM.format(self.path))
        try:
            with self._write() as connection:
                total = self._total(connection)
                if total + worst > cap:
                    raise CapReachedError(
                        f"the cap of {usd(cap):.6f} USD holds: {usd(total):.6f} USD are charged to {self.path}, and the worst case of "
                        f"the next attempt, {usd(worst):.6f} USD, would pass it; it was not sent. Raise --cap-usd and --resume, or lower "
                        "--max-tokens."
                    )
                number = 1 + int(
                    connection.execute("SELECT count(*) FROM attempts WHERE run_id = ? AND call_key = ?", (run_id, call_key)).fetchone()[0]
                )
                row = (run_id, call_key, number, role, worst, prompt_bound, completion_bound, os.getpid(), _now())
                attempt_id = connection.execute(
                    "INSERT INTO attempts (run_id, call_key, number, role, reserved, prompt_bound, completion_bound, process, started)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    row,
                ).lastrowid
                assert attempt_id is not None
                self._charge(connection, attempt_id, worst, total)
        except sqlite3.DatabaseError as error:
            raise self._failure(error) from None
        return Reservation(attempt_id, number, worst)

    def settle(self, run_id: str, call_key: str, reservation: Reservation, settlement: Settlement) -> None:
        """Write how an attempt ended, what it cost and what was answered, in one transaction; the first settlement of an attempt stands.

        Raises
        ------
        LedgerFullError
            If there is no room even without the ballast. The reservation stays charged; the call is asked again.
        """
        try:
            self._settle(run_id, call_key, reservation, settlement)
        except sqlite3.DatabaseError as error:
            if not _is_full(error):
                raise self._failure(error) from None
            self._full = True
            self._side("ballast").unlink(missing_ok=True)
            try:
                self._settle(run_id, call_key, reservation, settlement)
            except sqlite3.DatabaseError as again:
                raise self._failure(again) from None

    def _settle(self, run_id: str, call_key: str, reservation: Reservation, settlement: Settlement) -> None:
        cost = reservation.worst if settlement.cost is None else settlement.cost
        row = (
            reservation.attempt_id, settlement.state, cost, int(settlement.cost is not None), settlement.status,
            settlement.prompt_tokens, settlement.completion_tokens, settlement.error, _now(),
        )  # fmt: skip
        with self._write() as connection:
            written = connection.execute("INSERT OR IGNORE INTO settlements VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row).rowcount
            if not written:
                return
            self._charge(connection, reservation.attempt_id, cost - reservation.worst, self._total(connection))
            if settlement.message is not None:
                message = settlement.message
                connection.execute(
                    "INSERT OR IGNORE INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        run_id,
                        call_key,
                        reservation.attempt_id,
                        _storable(message.text),
                        json.dumps(message.tokens),
                        _storable(message.finish_reason),
                        _storable(message.model),
                        message.prompt_tokens,
                        message.completion_tokens,
                    ),
                )

    def _failure(self, error: sqlite3.DatabaseError) -> LedgerError:
        if _is_full(error):
            self._full = True
            return LedgerFullError(_NO_ROOM.format(self.path))
        return LedgerError(f"{self.path}: the ledger cannot be written ({error}); nothing more was sent.")

    # --- answers --------------------------------------------------------------------------------------------------------------------

    def finish(self, run_id: str, question_id: str, answer: str | None, correct: bool | None, audit: Mapping[str, Any]) -> None:
        """Write the outcome of a question; the first one stands."""
        row = (
            run_id,
            question_id,
            None if answer is None else _storable(answer),
            None if correct is None else int(correct),
            json.dumps(audit),
            _now(),
        )
        try:
            with self._write() as connection:
                connection.execute("INSERT OR IGNORE INTO outcomes VALUES (?, ?, ?, ?, ?, ?)", row)
        except sqlite3.DatabaseError as error:
            raise self._failure(error) from None

    # --- claims ---------------------------------------------------------------------------------------------------------------------

    def claim(self, run_id: str, index: int) -> bool:
        """Take a question for this process; false while another process has it."""
        try:
            fcntl.lockf(self._claims, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _claim_byte(run_id, index))
        except (BlockingIOError, PermissionError):
            return False
        return True

    def release(self, run_id: str, index: int) -> None:
        """Give a question back."""
        fcntl.lockf(self._claims, fcntl.LOCK_UN, 1, _claim_byte(run_id, index))


def _claim_byte(run_id: str, index: int) -> int:
    return (int(run_id[:8], 16) << 24) + index


def _is_full(error: sqlite3.DatabaseError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


def _storable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
