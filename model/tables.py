"""Between frozen parameter classes, plain tables, and the TOML files that hold them: a user's and those that ship."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from .errors import FileFormatError, InputError

__all__ = ["build", "mapping", "parse_toml", "plain", "preset_text", "read_text", "shipped", "shipped_or_file", "to_toml"]

T = TypeVar("T")

_LARGEST_FILE = 16 * 2**20


def build(cls: type[T], table: object, name: str, where: str) -> T:
    """Make a parameter class from a table; an unknown or missing key is an error that lists the valid ones.

    Raises
    ------
    FileFormatError
        If the table does not fit the class.
    """
    given = mapping(table, name, where)
    known = [f.name for f in fields(cls)]  # type: ignore[arg-type]
    for key in given:
        if key not in known:
            raise FileFormatError(where, f"unknown key {key!r} in [{name}]; it has: {', '.join(known)}.")
    try:
        return cls(**given)
    except TypeError as error:
        missing = [f.name for f in fields(cls) if f.name not in given]  # type: ignore[arg-type]
        raise FileFormatError(
            where, f"[{name}] is incomplete or holds a value of a wrong kind ({error}); not given: {', '.join(missing)}."
        ) from None


def mapping(value: object, name: str, where: str) -> Mapping[str, Any]:
    """Return a table as it is.

    Raises
    ------
    FileFormatError
        If it is none.
    """
    if not isinstance(value, Mapping):
        raise FileFormatError(where, f"{name} = {value!r} is no table; write [{name}].")
    return value


def plain(value: Any) -> Any:
    """Turn a parameter value into what JSON and TOML can hold: fractions become "5/6", tuples lists."""
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        return value.item()
    return value


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        if isinstance(value, float) and not math.isfinite(value):
            return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
        return repr(value)
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
        escaped = "".join(c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}" for c in escaped)
        return f'"{escaped}"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml_value(entry) for entry in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)} = {_toml_value(v)}" for k, v in value.items()) + "}"
    raise TypeError(f"no TOML form for {type(value).__name__}")


def _key(key: str) -> str:
    bare = key and all(c.isascii() and (c.isalnum() or c in "_-") for c in key)
    return key if bare else _toml_value(key)


def to_toml(data: Mapping[str, Any], prefix: str = "") -> str:
    """Write plain tables as TOML text (values first, then sub-tables); ``None`` entries are left out."""
    data = plain(data)
    lines = [f"{_key(k)} = {_toml_value(v)}" for k, v in data.items() if not isinstance(v, Mapping) and v is not None]
    for key, value in data.items():
        if isinstance(value, Mapping):
            name = f"{prefix}{_key(key)}"
            lines += ["", f"[{name}]", to_toml(value, f"{name}.").rstrip("\n")]
    return "\n".join(lines).lstrip("\n") + "\n"


def read_text(path: str | Path) -> str:
    """Read a small UTF-8 file of a user's.

    Raises
    ------
    FileFormatError
        If it cannot be read, is not UTF-8, or is larger than 16 MiB.
    """
    path = Path(path)
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST_FILE + 1)
        if len(data) > _LARGEST_FILE:
            raise FileFormatError(path, f"the file is larger than {_LARGEST_FILE // 2**20} MiB; this is no parameter file.")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError(path, "the file is not UTF-8 text.") from None
    except (OSError, ValueError) as error:
        raise FileFormatError(path, f"cannot be read ({getattr(error, 'strerror', None) or error}).") from None


def parse_toml(name: str | Path, text: str, decimal: Callable[[str], Any] = float) -> dict[str, Any]:
    """Parse TOML, decimals by ``decimal``; a syntax error names file, line and column."""
    try:
        return tomllib.loads(text, parse_float=decimal)
    except (ValueError, RecursionError) as error:  # RecursionError: arrays within arrays within arrays
        raise FileFormatError(name, f"no valid TOML: {error}") from None


def preset_text(name: str) -> str:
    """Text of a file that ships in ``model/presets``."""
    return (resources.files(__package__) / "presets" / name).read_text(encoding="utf-8")


def shipped(file: str, kind: str, read: Callable[[Mapping[str, Any], str], T]) -> dict[str, T]:
    """Read the tables of a shipped file, each one value.

    Parameters
    ----------
    file : str
        Name in ``model/presets``.
    kind : str
        What a table describes, for messages.
    read : callable
        (table with its name, where it stands) to the value.
    """
    tables = parse_toml(file, preset_text(file))
    return {name: read({"name": name, **table}, f"preset {kind} {name}") for name, table in tables.items() if isinstance(table, dict)}


def shipped_or_file(name_or_file: str | Path, known: Mapping[str, T], kind: str, read: Callable[[Mapping[str, Any], str], T]) -> T:
    """Return what ships under a name, or read it from a TOML file.

    Raises
    ------
    InputError
        If it is neither.
    """
    name = str(name_or_file)
    if name in known:
        return known[name]
    path = Path(name_or_file)
    if path.suffix == ".toml" or os.path.exists(path):  # unlike Path.exists, this takes a name that is too long for no file
        return read(parse_toml(path, read_text(path)), str(path))
    raise InputError(f'"{name}" is neither a shipped {kind} nor a file. Shipped: {", ".join(known)}. Files end in .toml.')
