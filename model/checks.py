"""Checks that parameter classes share; each raises :class:`ParameterError` naming field, value and range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import SupportsFloat

from .errors import ParameterError

__all__ = ["require_count", "require_distribution", "require_one_of", "require_positive", "require_probability", "require_range"]


def _number(field: str, value: object, allowed: str) -> float:
    if isinstance(value, bool) or not isinstance(value, SupportsFloat):
        raise ParameterError(field, value, allowed)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(field, value, allowed) from None
    if not math.isfinite(number):
        raise ParameterError(field, value, allowed)
    return number


def require_range(field: str, value: object, low: float, high: float) -> None:
    """Refuse what is no number from low to high (both included)."""
    allowed = f"a number from {low:g} to {high:g}"
    if not low <= _number(field, value, allowed) <= high:
        raise ParameterError(field, value, allowed)


def require_probability(field: str, value: object) -> None:
    """Refuse what is no number from 0 to 1."""
    require_range(field, value, 0, 1)


def require_positive(field: str, value: object, high: float = 1e6, low: float = 1e-6) -> None:
    """Refuse what is no number within [low, high], both positive."""
    require_range(field, value, low, high)


def require_count(field: str, value: object, low: int, high: int) -> None:
    """Refuse what is no integer from low to high (both included)."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ParameterError(field, value, f"an integer from {low} to {high}")


def require_one_of(field: str, value: object, choices: Sequence[str]) -> None:
    """Refuse what is none of the given words."""
    if value not in choices:
        raise ParameterError(field, value, "one of " + ", ".join(choices))


def require_distribution(field: str, values: Sequence[float]) -> None:
    """Refuse what is no probability distribution (entries from 0 to 1 with sum 1 within 1e-9)."""
    for value in values:
        require_probability(field, value)
    if not values or abs(math.fsum(values) - 1) > 1e-9:
        raise ParameterError(field, list(values), "probabilities that sum to 1 (within 1e-9)")
