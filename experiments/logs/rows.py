"""From the bytes of a file to rows, each with the line that it starts on; bounded in memory whatever the file holds.

A line is read up to a limit only, so that a gigabyte without a line break is refused after its first mebibyte. UTF-8 with or without a
byte-order mark is read, with line feeds or carriage return and line feed; whatever else a file may be is named.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import Any

from ...model.errors import FileFormatError, InputError

__all__ = ["LONGEST_LINE", "Table", "open_table"]

LONGEST_LINE = 1 << 20
"""Longest line, in bytes, that is read (1 MiB)."""

_HEAD = 1 << 16
_MOST_COLUMNS = 1000
_BINARY = {
    b"\x1f\x8b": "compressed by gzip; decompress it first",
    b"PK\x03\x04": "a zip archive or a spreadsheet; export it as CSV",
    b"PAR1": "a Parquet file; export it as CSV or JSON Lines",
    b"%PDF": "a PDF",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; decompress it first",
    b"BZh": "compressed by bzip2; decompress it first",
    b"\xfd7zXZ": "compressed by xz; decompress it first",
    b"SQLite format 3": "an SQLite database; export it as CSV",
}
_WIDE = {b"\xff\xfe\x00\x00": "UTF-32", b"\x00\x00\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars"}

Row = tuple[int, dict[str, Any]]


class Table:
    """An open log: its columns, and its rows one by one.

    Attributes
    ----------
    path : Path
        The file.
    columns : tuple of str
        Names of the columns; of the first object where the file is JSON Lines.
    is_json : bool
        Whether the file is JSON Lines.
    """

    def __init__(self, path: Path, columns: tuple[str, ...], is_json: bool, rows: Iterator[Row]) -> None:
        self.path = path
        self.columns = columns
        self.is_json = is_json
        self.rows = rows


def open_table(path: Path, file: BufferedReader) -> Table:
    """Begin to read a log.

    Raises
    ------
    FileFormatError
        If the file is no text, is empty or has no header; later, while rows are taken, if a row cannot be read.
    """
    _refuse_other_kinds(path, file.peek(_HEAD))  # a pipe cannot go back
    lines = _lines(path, file)
    first = next((entry for entry in lines if entry[1].strip()), None)
    if first is None:
        raise FileFormatError(path, "the file holds nothing but blank lines; a log needs a header and one row a message.", 1)
    start = first[1].lstrip()
    if start.startswith("["):
        raise FileFormatError(path, "this is a JSON array; write JSON Lines instead: one object a line, no brackets around them.", first[0])
    if start.startswith("{"):
        return _json_table(path, chain([first], lines))
    return _csv_table(path, chain([first], lines))


def open_binary(path: Path) -> BufferedReader:
    """Open a file or a pipe for reading bytes; what cannot be opened is the user's error.

    Raises
    ------
    InputError
        If there is no such file, or it cannot be read.
    """
    try:
        if path.is_dir():
            raise InputError(f"{path}: this is a folder; name a CSV or JSON Lines file in it.")
        return BufferedReader(path.open("rb", buffering=0), _HEAD)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be opened ({getattr(error, 'strerror', None) or error}).") from None


def _refuse_other_kinds(path: Path, head: bytes) -> None:
    if not head:
        raise FileFormatError(path, "the file is empty; a log needs a header and one row a message.", 1)
    for mark, kind in _BINARY.items():
        if head.startswith(mark):
            raise FileFormatError(path, f"this is no text but {kind}.", 1)
    for mark, name in _WIDE.items():
        if head.startswith(mark):
            raise FileFormatError(path, f"the text is {name}; save it as UTF-8.", 1)
    zeros = head.count(0)
    if zeros:
        line = head[: head.index(0)].count(b"\n") + 1
        odd, even = head[1::2].count(0), head[::2].count(0)
        wide = max(odd, even) > 0.7 * len(head) / 2 and min(odd, even) < 0.6 * len(head) / 2
        kind = "UTF-16 or UTF-32 without a byte-order mark; save it as UTF-8" if wide else "binary data (it holds zero bytes), not text"
        raise FileFormatError(path, f"the file is {kind}.", line)


def _lines(path: Path, file: BufferedReader) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, decoded; the byte-order mark is dropped."""
    number = 0
    while True:
        raw = file.readline(LONGEST_LINE + 1)
        if not raw:
            return
        number += 1
        if len(raw) > LONGEST_LINE:
            raise FileFormatError(
                path, f"the line is longer than {LONGEST_LINE} bytes; a log has one message a line (is this the right file?).", number
            )
        yield number, _decode(path, raw, number)


def _decode(path: Path, raw: bytes, number: int) -> str:
    if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
        raw = raw[3:]
    if b"\x00" in raw:
        raise FileFormatError(path, "zero byte: binary data, not text.", number, raw.index(0) + 1)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(raw[: error.start].decode("utf-8", "replace")) + 1
        raise FileFormatError(path, f"byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8.", number, column) from None
    if "\r" in text.rstrip("\r\n"):
        column = text.index("\r") + 1
        raise FileFormatError(path, "a carriage return stands inside the line; end lines with LF or with CR LF.", number, column)
    return text


def _csv_table(path: Path, lines: Iterator[tuple[int, str]]) -> Table:
    records = _records(path, lines)
    number, header = next(records)
    names = tuple(name.strip() for name in header)
    _refuse_many_columns(path, number, len(names))
    _refuse_other_delimiters(path, number, names)
    return Table(path, names, False, _csv_rows(path, names, records))


def _refuse_many_columns(path: Path, number: int, columns: int) -> None:
    if columns > _MOST_COLUMNS:
        raise FileFormatError(
            path, f"the row has {columns:,} columns, and a log has at most {_MOST_COLUMNS:,} (is this the right file?).", number
        )


def _refuse_other_delimiters(path: Path, number: int, names: tuple[str, ...]) -> None:
    joined = ",".join(names)
    for mark, word in _DELIMITERS.items():
        if joined.count(mark) >= 2 and joined.count(mark) > joined.count(","):
            raise FileFormatError(path, f"columns are separated by {word}; write them with commas (or as JSON Lines).", number)


def _records(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """CSV records with the line that each starts on; blank lines are passed over."""
    at = {"start": 0, "last": 0}

    def fed() -> Iterator[str]:
        for number, text in lines:
            at["start"] = at["start"] or number
            at["last"] = number
            yield text

    reader = csv.reader(fed(), strict=True)
    while True:
        at["start"] = 0
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise FileFormatError(path, _csv_problem(str(error), at["last"]), at["start"] or at["last"]) from None
        if any(value.strip() for value in record):
            yield at["start"], record


def _csv_problem(error: str, last: int) -> str:
    if "field larger" in error:
        return (
            f"a field is longer than {csv.field_size_limit():,} characters, or a quotation mark is never closed (read on to line {last}); "
            'log extracted answers, and double the quotation marks inside a field ("").'
        )
    if "unexpected end" in error:
        return (
            f'a quotation mark opened in this row is never closed (read on to line {last}); double the quotation marks inside a field ("").'
        )
    if "expected after" in error:
        return 'text follows a closing quotation mark; double the quotation marks inside a field ("").'
    return f"not valid CSV ({error})."


def _csv_rows(path: Path, names: tuple[str, ...], records: Iterator[tuple[int, list[str]]]) -> Iterator[Row]:
    for number, record in records:
        if len(record) != len(names):
            raise FileFormatError(
                path,
                f"the row has {len(record)} fields where the header has {len(names)}; a field with a comma must stand in quotation marks.",
                number,
            )
        yield number, dict(zip(names, record, strict=True))


def _json_table(path: Path, lines: Iterator[tuple[int, str]]) -> Table:
    rows = _json_rows(path, lines)
    first = next(rows)
    return Table(path, tuple(first[1]), True, chain([first], rows))


def _json_rows(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[Row]:
    for number, text in lines:
        if not text.strip():
            continue
        value = _json_value(path, number, text)
        if not isinstance(value, dict):
            raise FileFormatError(path, f'the line is a JSON {type(value).__name__}, not an object such as {{"question_id": ...}}.', number)
        yield number, value


def _json_value(path: Path, number: int, text: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        held = dict(pairs)
        if len(held) < len(pairs):
            twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
            raise FileFormatError(path, f"the object names {twice[:60]!r} twice.", number)
        _refuse_many_columns(path, number, len(held))
        return held

    try:
        return json.loads(text.rstrip(), object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise FileFormatError(
            path, f"not valid JSON ({error.msg}); JSON Lines holds one whole object a line.", number, error.colno
        ) from None
    except (RecursionError, ValueError):
        raise FileFormatError(
            path, "not a JSON object that a log could hold (nested too deeply, or a number of thousands of digits).", number
        ) from None
