r"""The ledger of real runs: every attempt is paid for before it is sent, and nothing that was answered is lost.

One SQLite file (WAL, ``synchronous = FULL``) with strict, append-only tables:

=============  =================================================================================================
``runs``       what was run: protocol, population, model, endpoint, price, settings, and the plan made before it
``attempts``   one row for each HTTP attempt, committed **before** it is sent, with the worst case of its cost
``settlements``  how an attempt ended and what it cost; an attempt without one dangles and stays charged in full
``charges``    the journal of the sum: each reservation and each settlement with the total after it
``messages``   the answers, one for each call, written in the same transaction as their settlement
``outcomes``   one row for each question that is done, with its audit trail
=============  =================================================================================================

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
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..model.errors import FileFormatError, InputError
from . import schema
from .errors import CapReachedError, LedgerError, LedgerFullError
from .money import usd

__all__ = ["BALLAST_BYTES", "Ledger", "Message", "Reservation", "Settlement", "Totals"]

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


@dataclass(frozen=True)
class Message:
    """An answer as the endpoint gave it.

    Parameters
    ----------
    text : str
        The content; sanitised where it is shown or quoted, not here.
    tokens : list
        For each token [text, log-probability, [[alternative, log-probability], ...]]; empty where the endpoint gave none.
    finish_reason, model : str
        As the endpoint says.
    prompt_tokens, completion_tokens : int
        As the endpoint bills.
    """

    text: str
    tokens: list[Any]
    finish_reason: str
    model: str
    prompt_tokens: int
    completion_tokens: int


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


@dataclass(frozen=True)
class Totals:
    """Sums over a ledger, picodollars.

    Attributes
    ----------
    charged : int
        What counts against the cap.
    settled : int
        Of it, cost that the endpoint's usage confirms.
    uncertain : int
        Of it, reservations of attempts that failed without a known cost.
    dangling : int
        Of it, reservations of attempts that nobody settled (in flight, or their process died).
    attempts, dangling_attempts : int
        Numbers of rows.
    """

    charged: int
    settled: int
    uncertain: int
    dangling: int
    attempts: int
    dangling_attempts: int


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass
class Ledger:
    """An open ledger; safe to share between threads, and to open in several processes at once.

    Parameters
    ----------
    path : Path
        The file; made if it is not there (its folder must be).
    ballast_bytes : int
        Room that is kept on the disk for answers on their way.
    read_only : bool
        Open for looking only: nothing is written to it.

    Raises
    ------
    LedgerError
        If the file cannot be opened.
    FileFormatError
        If it is no ledger of this version.
    LedgerFullError
        If there is no room for the ballast.
    """

    path: Path
    ballast_bytes: int = BALLAST_BYTES
    read_only: bool = False
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    _full: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        self.path = Path(self.path)
        if self.read_only and not self.path.is_file():
            raise InputError(f"no ledger at {self.path}; give the file that adjourn run wrote.")
        try:
            self._connection = self._open()
        except sqlite3.DatabaseError as error:
            if "full" in str(error):
                raise LedgerFullError(f"the disk of {self.path} is full; nothing was sent. Make room.") from None
            if isinstance(error, sqlite3.OperationalError):
                raise LedgerError(f"{self.path}: the ledger cannot be opened ({error}).") from None
            raise FileFormatError(self.path, f"no ledger ({error}).") from None
        self._claims = -1
        if not self.read_only:
            self._claims = os.open(self._side("claims"), os.O_RDWR | os.O_CREAT, 0o600)
            self._make_ballast()

    def _side(self, what: str) -> Path:
        return self.path.with_name(f"{self.path.name}-{what}")

    def _open(self) -> sqlite3.Connection:
        if not self.read_only and not self.path.exists():
            # The answers of a run are the user's own: readable by nobody else.
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600))
        connection = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA busy_timeout = 60000")
        connection.execute("PRAGMA foreign_keys = ON")
        if self.read_only:
            connection.execute("PRAGMA query_only = ON")
        else:
            schema.enter_wal(connection)
            connection.execute("PRAGMA synchronous = FULL")
            schema.make_tables(connection)
        application, version = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
        if application != schema.APPLICATION or version != schema.VERSION:
            connection.close()
            raise FileFormatError(
                self.path, f"no ledger of version {schema.VERSION}; name a new file, or the file that this version wrote."
            )
        return connection

    def _make_ballast(self) -> None:
        descriptor = os.open(self._side("ballast"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if self.ballast_bytes:
                os.posix_fallocate(descriptor, 0, self.ballast_bytes)
        except OSError as error:
            self._side("ballast").unlink(missing_ok=True)
            raise LedgerFullError(
                f"no room of {self.ballast_bytes} bytes beside {self.path} ({error.strerror}); nothing was sent. Make room."
            ) from None
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Close the files; claims are given up."""
        with self._lock:
            self._connection.close()
            if self._claims >= 0:
                os.close(self._claims)
                self._claims = -1

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

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

    def _rows(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._connection.execute(query, values).fetchall()
            except sqlite3.DatabaseError as error:
                raise LedgerError(f"{self.path}: cannot be read ({error}).") from None

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

    def runs(self) -> list[dict[str, Any]]:
        """All runs, oldest first."""
        rows = self._rows("SELECT run_id, created, family, protocol, model, settings, plan FROM runs ORDER BY created, rowid")
        names = ("run_id", "created", "family", "protocol", "model", "settings", "plan")
        decoded = ("protocol", "settings", "plan")
        return [{name: json.loads(value) if name in decoded else value for name, value in zip(names, row, strict=True)} for row in rows]

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

    def charged(self) -> int:
        """Picodollars that count against the cap."""
        rows = self._rows("SELECT total FROM charges ORDER BY seq DESC LIMIT 1")
        return int(rows[0][0]) if rows else 0

    def totals(self, run_id: str | None = None) -> Totals:
        """Add up the ledger, or one run."""
        rows = self._rows(
            "SELECT coalesce(sum(coalesce(s.cost, a.reserved)), 0), coalesce(sum(CASE WHEN s.known = 1 THEN s.cost END), 0),"
            " coalesce(sum(CASE WHEN s.known = 0 THEN s.cost END), 0), coalesce(sum(CASE WHEN s.cost IS NULL THEN a.reserved END), 0),"
            " count(*), count(*) - count(s.cost)"
            " FROM attempts a LEFT JOIN settlements s ON s.attempt_id = a.id WHERE ? IS NULL OR a.run_id = ?",
            (run_id, run_id),
        )
        return Totals(*(int(value) for value in rows[0]))

    def by_role(self, run_id: str | None = None) -> list[dict[str, Any]]:
        """Spending by role: answered calls, attempts, tokens that were reported, picodollars."""
        rows = self._rows(
            "SELECT a.role, sum(s.state = 'answered'), count(*), coalesce(sum(s.prompt_tokens), 0), coalesce(sum(s.completion_tokens), 0),"
            " sum(coalesce(s.cost, a.reserved)), sum(CASE WHEN s.known = 1 THEN 0 ELSE coalesce(s.cost, a.reserved) END)"
            " FROM attempts a LEFT JOIN settlements s ON s.attempt_id = a.id WHERE ? IS NULL OR a.run_id = ?"
            " GROUP BY a.role ORDER BY min(a.id)",
            (run_id, run_id),
        )
        names = ("role", "calls", "attempts", "prompt_tokens", "completion_tokens", "charged", "uncertain")
        return [dict(zip(names, (row[0], *(int(value or 0) for value in row[1:])), strict=True)) for row in rows]

    # --- answers --------------------------------------------------------------------------------------------------------------------

    def message(self, run_id: str, call_key: str) -> Message | None:
        """Give the stored answer of a call, if it has one."""
        rows = self._rows(
            "SELECT text, tokens, finish_reason, model, prompt_tokens, completion_tokens FROM messages WHERE run_id = ? AND call_key = ?",
            (run_id, call_key),
        )
        return Message(rows[0][0], json.loads(rows[0][1]), *rows[0][2:]) if rows else None

    def has_usage(self, run_id: str) -> bool:
        """Whether the endpoint has ever reported usage in this run."""
        return bool(self._rows("SELECT 1 FROM messages WHERE run_id = ? LIMIT 1", (run_id,)))

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

    def finished_since(self, run_id: str, row: int) -> tuple[list[str], int]:
        """Questions whose outcomes were written after a row (0: all), and the last row."""
        rows = self._rows("SELECT rowid, question_id FROM outcomes WHERE rowid > ? AND run_id = ? ORDER BY rowid", (row, run_id))
        return [question for _, question in rows], int(rows[-1][0]) if rows else row

    def is_finished(self, run_id: str, question_id: str) -> bool:
        """Whether a question has an outcome."""
        return bool(self._rows("SELECT 1 FROM outcomes WHERE run_id = ? AND question_id = ?", (run_id, question_id)))

    def outcomes(self, run_id: str) -> list[dict[str, Any]]:
        """Outcomes of a run in the order in which they came."""
        rows = self._rows("SELECT question_id, answer, correct, audit FROM outcomes WHERE run_id = ? ORDER BY rowid", (run_id,))
        return [{"question_id": q, "answer": a, "correct": None if c is None else bool(c), "audit": json.loads(t)} for q, a, c, t in rows]

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

    # --- audit ----------------------------------------------------------------------------------------------------------------------

    def check(self) -> list[str]:
        """Everything that is wrong with the ledger (nothing, if it is sound)."""
        problems = [str(row[0]) for row in self._rows("PRAGMA integrity_check") if row[0] != "ok"]
        problems += [f"foreign key: {row}" for row in self._rows("PRAGMA foreign_key_check")]
        running = 0
        for seq, delta, total in self._rows("SELECT seq, delta, total FROM charges ORDER BY seq"):
            running += delta
            if running != total:
                problems.append(f"charge {seq}: total {total}, the sum is {running}")
                break
        if running != self.totals().charged:
            problems.append(f"the journal's sum {running} is not the attempts' {self.totals().charged}")
        orphans = self._rows(
            "SELECT count(*) FROM settlements s LEFT JOIN messages m ON m.attempt_id = s.attempt_id"
            " WHERE s.state = 'answered' AND m.text IS NULL"
        )
        if orphans[0][0]:
            problems.append(f"{orphans[0][0]} answered attempts without a message")
        return problems


def _claim_byte(run_id: str, index: int) -> int:
    return (int(run_id[:8], 16) << 24) + index


def _is_full(error: sqlite3.DatabaseError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


def _storable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
