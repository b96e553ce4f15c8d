"""Figures as printed: the closed box of values that round to them; and how tables of figures are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..model import FileFormatError

__all__ = ["Reported", "check_entries", "listed", "whole"]


@dataclass(frozen=True)
class Reported:
    """A printed figure: the closed box of values that round to it.

    Parameters
    ----------
    text : str
        As printed.
    value, half : Fraction
        The value, and half a unit of its last digit.
    """

    text: str
    value: Fraction
    half: Fraction

    @classmethod
    def read(cls, raw: object, name: str, where: str) -> Reported:
        """Read ``"7.6"``, 7.6, or a table with ``value`` and ``within``.

        Raises
        ------
        FileFormatError
            If it is no figure.
        """
        table = raw if isinstance(raw, Mapping) else {"value": raw}
        unknown = sorted(set(table) - {"value", "within"})
        if unknown:
            raise FileFormatError(
                where, f"{name} has an unknown entry {unknown[0]!r}; a figure is a number or a table with value and within."
            )
        text = str(table.get("value", "")).strip()
        try:
            if isinstance(raw, bool) or "e" in text.lower() or "/" in text:
                raise ValueError
            value = Fraction(text)
            digits = len(text.partition(".")[2])
            half = Fraction(str(table["within"])) if "within" in table else Fraction(1, 2 * 10**digits)
        except (ValueError, ZeroDivisionError):
            raise FileFormatError(where, f"{name} = {raw!r} is no figure; write a decimal as printed, such as 7.6 or 0.60.") from None
        if half < 0 or abs(value) > 10**9:
            raise FileFormatError(where, f"{name} = {raw!r} is out of range.")
        return cls(text, value, half)

    @property
    def low(self) -> Fraction:
        """Smallest value that rounds to it."""
        return self.value - self.half

    @property
    def high(self) -> Fraction:
        """Largest value that rounds to it."""
        return self.value + self.half


def check_entries(table: Mapping[str, Any], allowed: Sequence[str], needed: Sequence[str], name: str, where: str) -> None:
    """Refuse unknown and missing entries of a table.

    Raises
    ------
    FileFormatError
        If there is one; the message lists the allowed entries.
    """
    for key in table:
        if key not in allowed:
            raise FileFormatError(where, f"unknown entry {key!r} in [{name}]; it has: {', '.join(allowed)}.")
    for key in needed:
        if key not in table:
            raise FileFormatError(where, f"[{name}] needs {key}; it has: {', '.join(allowed)}.")


def listed(value: object) -> list[Any]:
    """Return a list: the value itself where it is one."""
    return list(value) if isinstance(value, list) else [value]


def whole(value: object, name: str, low: int, high: int, where: str) -> int:
    """Return an integer from low to high, else raise FileFormatError."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise FileFormatError(where, f"{name} = {value!r}; an integer from {low} to {high} is needed.")
    return value
