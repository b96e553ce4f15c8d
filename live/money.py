r"""Money of a real run, exact in integers.

A ledger adds up thousands of small sums and must never round a cap away, so it counts picodollars (pUSD, 1e-12 US dollars). A price of x US
dollars per million tokens is :math:`10^6 x` pUSD a token; every sum is rounded up to a whole picodollar, never down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from ..model.cost import Price
from ..model.errors import ParameterError

__all__ = ["PICO", "Rate", "picodollars", "usd"]

PICO = 10**12
"""Picodollars in a US dollar."""

_LARGEST_CAP_USD = 1_000_000


def picodollars(value: float | str | Fraction, field: str = "cap_usd") -> int:
    """Read an amount of US dollars as whole picodollars, rounded down (a cap is never widened).

    Raises
    ------
    ParameterError
        If it is no number from 0 to a million.
    """
    allowed = f"US dollars from 0 to {_LARGEST_CAP_USD}"
    try:
        amount = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise ParameterError(field, value, allowed) from None
    if not 0 <= amount <= _LARGEST_CAP_USD:
        raise ParameterError(field, value, allowed)
    return math.floor(amount * PICO)


def usd(pico: int) -> float:
    """US dollars of a sum in picodollars."""
    return pico / PICO


@dataclass(frozen=True)
class Rate:
    """Price of a token, in picodollars.

    Parameters
    ----------
    prompt, completion : Fraction
        Picodollars a token.
    """

    prompt: Fraction
    completion: Fraction

    @classmethod
    def of(cls, price: Price) -> Rate:
        """Read a price of US dollars per million tokens as the decimal that it was written as."""
        return cls(Fraction(str(price.prompt_usd_per_million)) * 10**6, Fraction(str(price.completion_usd_per_million)) * 10**6)

    def cost(self, prompt_tokens: int, completion_tokens: int) -> int:
        """Picodollars of a call, rounded up."""
        return math.ceil(self.prompt * prompt_tokens + self.completion * completion_tokens)
