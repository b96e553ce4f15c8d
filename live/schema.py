"""Tables of the ledger: strict, append-only (triggers refuse every update and delete)."""

from __future__ import annotations

import sqlite3
import time

__all__ = ["APPLICATION", "VERSION", "enter_wal", "make_tables"]

VERSION = 1
"""Version of the tables, in SQLite's ``user_version``."""

APPLICATION = 0x41444A4E
"""SQLite's ``application_id`` of a ledger: "ADJN"."""

_TABLES = """
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, created TEXT NOT NULL, family TEXT NOT NULL, protocol TEXT NOT NULL, model TEXT NOT NULL,
    settings TEXT NOT NULL, plan TEXT NOT NULL
) STRICT;
CREATE TABLE attempts (
    id INTEGER PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs, call_key TEXT NOT NULL, number INTEGER NOT NULL, role TEXT NOT NULL,
    reserved INTEGER NOT NULL CHECK (reserved >= 0), prompt_bound INTEGER NOT NULL, completion_bound INTEGER NOT NULL,
    process INTEGER NOT NULL, started TEXT NOT NULL
) STRICT;
CREATE INDEX attempts_by_call ON attempts (run_id, call_key);
CREATE TABLE settlements (
    attempt_id INTEGER PRIMARY KEY REFERENCES attempts, state TEXT NOT NULL CHECK (state IN ('answered', 'refused', 'failed')),
    cost INTEGER NOT NULL CHECK (cost >= 0), known INTEGER NOT NULL CHECK (known IN (0, 1)), status INTEGER,
    prompt_tokens INTEGER, completion_tokens INTEGER, error TEXT NOT NULL, ended TEXT NOT NULL
) STRICT;
CREATE TABLE charges (
    seq INTEGER PRIMARY KEY, attempt_id INTEGER NOT NULL REFERENCES attempts, delta INTEGER NOT NULL, total INTEGER NOT NULL CHECK (total
    >= 0)
) STRICT;
CREATE TABLE messages (
    run_id TEXT NOT NULL REFERENCES runs, call_key TEXT NOT NULL, attempt_id INTEGER NOT NULL REFERENCES attempts, text TEXT NOT NULL,
    tokens TEXT NOT NULL, finish_reason TEXT NOT NULL, model TEXT NOT NULL, prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL, PRIMARY KEY (run_id, call_key)
) STRICT;
CREATE TABLE outcomes (
    run_id TEXT NOT NULL REFERENCES runs, question_id TEXT NOT NULL, answer TEXT, correct INTEGER CHECK (correct IN (0, 1)),
    audit TEXT NOT NULL, ended TEXT NOT NULL, PRIMARY KEY (run_id, question_id)
) STRICT;
"""
_NAMES = ("runs", "attempts", "settlements", "charges", "messages", "outcomes")
_APPEND_ONLY = "".join(
    f"CREATE TRIGGER {name}_no_{verb} BEFORE {verb} ON {name} BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;\n"
    for name in _NAMES
    for verb in ("update", "delete")
)


def make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of a new ledger; leave an old one alone."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
            for statement in (_TABLES + _APPEND_ONLY).split(";\n"):
                # A trigger's body ends in "; END": the split at ";\n" keeps it whole.
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def enter_wal(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging; SQLite does not wait by itself where another process is just doing the same."""
    for tries_left in range(200, -1, -1):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if tries_left == 0 or "locked" not in str(error):
                raise
            time.sleep(0.05)
