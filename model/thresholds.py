r"""Thresholds on shares, compared in integers.

A share of N answers is k/N. The two comparisons of the consensus rule become, exactly,

.. math:: k/N \ge \tau \iff k \ge \lceil \tau N \rceil, \qquad |k - k'|/N \le \epsilon \iff |k - k'| \le \lfloor \epsilon N \rfloor .

Thresholds are rationals: ``"5/6"``, a decimal taken literally (``"0.8"`` is 4/5, ``"1e-3"`` is 1/1000), or a float, which is read as
the nearest fraction with a denominator of at most 10**6. Floats are never compared.
"""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Rational

from .errors import ParameterError

__all__ = ["RationalLike", "as_fraction", "largest_change", "smallest_count"]

RationalLike = Fraction | int | float | str

_LARGEST_DENOMINATOR = 10**6
_LARGEST_EXPONENT = 30


def as_fraction(value: RationalLike, field: str, low: int = 0, high: int = 1) -> Fraction:
    """Read a threshold as an exact rational within [low, high].

    Parameters
    ----------
    value : Fraction, int, float or str
        ``"5/6"``, ``"0.8"``, ``0.8`` or a ``Fraction``.
    field : str
        Name used in the error message.
    low, high : int
        The allowed range, both ends included.

    Returns
    -------
    Fraction

    Raises
    ------
    ParameterError
        If the value is no number or lies outside the range.
    """
    allowed = f'a number from {low} to {high}, such as 0.8 or "5/6"'
    try:
        if isinstance(value, bool):
            raise ValueError
        if isinstance(value, float):
            if not math.isfinite(value):
                raise ValueError
            fraction = Fraction(value).limit_denominator(_LARGEST_DENOMINATOR)
        elif isinstance(value, str):
            if len(value) > 60 or not -_LARGEST_EXPONENT <= int(value.lower().partition("e")[2] or 0) <= _LARGEST_EXPONENT:
                raise ValueError
            fraction = Fraction(value.strip())
        elif isinstance(value, Rational):
            fraction = Fraction(value)
        else:
            fraction = Fraction(float(value)).limit_denominator(_LARGEST_DENOMINATOR)
    except (ValueError, TypeError, ZeroDivisionError, OverflowError):
        raise ParameterError(field, value, allowed) from None
    if not low <= fraction <= high:
        raise ParameterError(field, value, allowed)
    return fraction


def smallest_count(tau: Fraction, agents: int) -> int:
    """Smallest number of equal answers k with k / agents >= tau."""
    return math.ceil(tau * agents)


def largest_change(epsilon: Fraction, agents: int) -> int:
    """Largest difference of counts d with d / agents <= epsilon."""
    return math.floor(epsilon * agents)
