"""Between frozen parameter classes and plain TOML tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any, TypeVar

from .errors import FileFormatError

__all__ = ["build", "plain", "to_toml"]

T = TypeVar("T")


def build(cls: type[T], table: object, name: str, where: str) -> T:
    """Make a parameter class from a table; an unknown or missing key is an error that lists the valid ones.

    Raises
    ------
    FileFormatError
        If the table does not fit the class.
    """
    if not isinstance(table, Mapping):
        raise FileFormatError(where, f"{name} = {table!r} is no table; write [{name}].")
    known = [f.name for f in fields(cls)]  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise FileFormatError(where, f"unknown key {key!r} in [{name}]; it has: {', '.join(known)}.")
    try:
        return cls(**table)
    except TypeError as error:
        missing = [f.name for f in fields(cls) if f.name not in table]  # type: ignore[arg-type]
        raise FileFormatError(
            where, f"[{name}] is incomplete or holds a value of a wrong kind ({error}); not given: {', '.join(missing)}."
        ) from None


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
