"""Looking at a ledger: what was run, what it cost, what was answered, and whether the book is sound. Nothing is written to it."""

from __future__ import annotations

import json
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ..model.errors import FileFormatError, InputError
from . import schema
from .errors import LedgerError, LedgerFullError

__all__ = ["LedgerReader", "Message", "Totals"]


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


class LedgerReader:
    """An open ledger.

    Parameters
    ----------
    path : str or Path
        The file that ``adjourn run`` wrote.

    Raises
    ------
    InputError
        If there is no such file.
    LedgerError
        If it cannot be opened.
    FileFormatError
        If it is no ledger of this version.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        try:
            self._require_file()
            self._connection = self._open()
        except OSError as error:
            raise LedgerError(f"{self.path}: the ledger cannot be opened ({error.strerror}).") from None
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
                raise LedgerFullError(f"the disk of {self.path} is full; nothing was sent. Make room.") from None
            if isinstance(error, sqlite3.OperationalError):
                raise LedgerError(f"{self.path}: the ledger cannot be opened ({error}).") from None
            raise FileFormatError(self.path, f"no ledger ({error}).") from None
        except UnicodeDecodeError:  # SQLite's own message quotes what it could not read
            raise FileFormatError(self.path, "a damaged ledger: its texts are not UTF-8.") from None

    def _require_file(self) -> None:
        if not self.path.is_file():
            raise InputError(f"no ledger at {self.path}; give the file that adjourn run wrote.")

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA busy_timeout = 60000")
            connection.execute("PRAGMA foreign_keys = ON")
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                self._require_ledger(connection)  # another program's database is not even prepared
            self._prepare(connection)
            self._require_ledger(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _require_ledger(self, connection: sqlite3.Connection) -> None:
        application, version = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
        if application != schema.APPLICATION or version != schema.VERSION:
            raise FileFormatError(
                self.path, f"no ledger of version {schema.VERSION}; name a new file, or the file that this version wrote."
            )

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA query_only = ON")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _rows(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._connection.execute(query, values).fetchall()
            except sqlite3.DatabaseError as error:
                raise LedgerError(f"{self.path}: cannot be read ({error}).") from None

    def runs(self) -> list[dict[str, Any]]:
        """All runs, oldest first."""
        rows = self._rows("SELECT run_id, created, family, protocol, model, settings, plan FROM runs ORDER BY created, rowid")
        names = ("run_id", "created", "family", "protocol", "model", "settings", "plan")
        decoded = ("protocol", "settings", "plan")
        return [{name: json.loads(value) if name in decoded else value for name, value in zip(names, row, strict=True)} for row in rows]

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
