"""Reading a log: which family it is, what its columns are called, and the plain columns that come of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...model.errors import FileFormatError, InputError, ParameterError
from ..importers import COLUMNS, format_of, import_logs
from ..pairs import split_pairs
from .columns import JudgeLog, ReasoningLog
from .judging import JUDGING, JudgeRows
from .reasoning import REASONING, ReasoningRows
from .rows import Table, open_binary, open_table
from .values import Record

__all__ = ["read_log", "read_mapping", "read_reasoning"]


def read_log(path: str | Path, mapping: Mapping[str, str] | None = None) -> ReasoningLog | JudgeLog:
    """Read a log of reasoning debates or of judges.

    Parameters
    ----------
    path : str or Path
        CSV or JSON Lines (told apart by the first character), UTF-8; or a log of inspect_ai or lm-evaluation-harness.
    mapping : mapping of str to str, optional
        Adjourn's name of a column to the file's.

    Returns
    -------
    ReasoningLog or JudgeLog
        Which, the columns decide.

    Raises
    ------
    FileFormatError
        If a row cannot be read; the message names file, line and, where it can, column.
    ParameterError
        If ``mapping`` names a column that Adjourn does not know or the file does not hold.
    InputError
        If there is no such file or it cannot be opened.
    """
    path = Path(path)
    harness = format_of(path)
    if harness is not None and not mapping:
        return _harness_log(path, harness)
    with open_binary(path) as file:
        table = open_table(path, file)
        names = _names(table, mapping or {})
        family = _family(names)
        family.check_columns(table, names)
        rows = family(path, tuple(c for c in table.columns if c and c not in names.values()), names)
        for line, row in table.rows:
            rows.add(Record(path, line, row, names))
        return rows.finish()


def read_reasoning(path: str | Path, mapping: Mapping[str, str] | None = None) -> ReasoningLog:
    """Read a log that must be one of reasoning debates; parameters and other errors as of :func:`read_log`.

    Raises
    ------
    InputError
        If it is a log of judges.
    """
    log = read_log(path, mapping)
    if not isinstance(log, ReasoningLog):
        raise InputError(f"{path} is a log of judges; this needs answers to questions (question_id, round, agent, answer, correct).")
    return log


def _harness_log(path: Path, harness: str) -> ReasoningLog:
    """Read what a harness logged; its rows are as good as a file's."""
    imported = import_logs([path], harness)
    names = {name: name for name in COLUMNS}
    rows = ReasoningRows(path, (), names)
    for number, row in enumerate(imported.rows, 1):
        rows.add(Record(path, number, row, names))
    log = rows.finish()
    return replace(log, warnings=(*imported.notes, *log.warnings))


def read_mapping(pairs: Sequence[str] | None) -> dict[str, str]:
    """Split the ``ours=theirs`` texts of ``--map``.

    Raises
    ------
    ParameterError
        If one is no such pair, or a name of ours comes twice.
    """
    return split_pairs("--map", pairs, "ours=theirs, such as question_id=qid")


def _names(table: Table, mapping: Mapping[str, str]) -> dict[str, str]:
    """Adjourn's name of each column that the file holds, to the file's own name."""
    known = {**REASONING, **JUDGING}
    for ours, theirs in mapping.items():
        if ours not in known:
            raise ParameterError("--map", f"{ours}={theirs}", "a column of Adjourn's on the left: " + ", ".join(known))
        if theirs not in table.columns:
            raise ParameterError("--map", f"{ours}={theirs}", f"a column of {table.path} on the right: " + ", ".join(table.columns))
    names = {name: name for name in known if name in table.columns and name not in mapping}
    names.update(mapping)
    for theirs in names.values():
        if table.columns.count(theirs) > 1:
            raise FileFormatError(table.path, f"two columns are called {theirs!r}; rename or remove one.", 1)
    return names


def _family(names: Mapping[str, str]) -> type[ReasoningRows] | type[JudgeRows]:
    """Return the family that more of the file's columns speak for; reasoning where neither does."""
    judging = len(set(names) & (set(JUDGING) - set(REASONING)))
    return JudgeRows if judging > len(set(names) & (set(REASONING) - set(JUDGING))) else ReasoningRows
