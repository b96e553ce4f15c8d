"""A second look at a price, by a package of public list prices (extra ``prices``); the user's own list decides, always."""

from __future__ import annotations

import importlib
from decimal import Decimal
from importlib import metadata
from typing import Any

from ..model.cost import Price
from ..model.errors import InputError

__all__ = ["cross_check"]

_TOLERANCE = Decimal("0.01")


def cross_check(price: Price, base_url: str) -> tuple[str, str]:
    """Compare a price with the package's.

    Parameters
    ----------
    price : Price
        From the user's list.
    base_url : str
        The endpoint: it tells the provider.

    Returns
    -------
    str, str
        Name and version of the package, and how the prices differ ("" if they agree to 1 %).

    Raises
    ------
    InputError
        If the package is not installed.
    """
    try:
        package: Any = importlib.import_module("genai_prices")
    except ImportError:
        raise InputError('a cross-check of prices needs one more package: pip install "adjourn[prices]".') from None
    version = f"genai-prices {metadata.version('genai-prices')}"
    try:
        listed = [
            package.calc_price(package.Usage(**{f"{kind}_tokens": 1_000_000}), model_ref=price.model, provider_api_url=base_url).total_price
            for kind in ("input", "output")
        ]
    except LookupError:
        return version, f"{version} knows no price of {price.model} at this endpoint; nothing was compared."
    own = [Decimal(str(price.prompt_usd_per_million)), Decimal(str(price.completion_usd_per_million))]
    if all(abs(mine - theirs) <= _TOLERANCE * theirs for mine, theirs in zip(own, listed, strict=True)):
        return version, ""
    return version, (
        f"your list prices {price.model} at {own[0]} and {own[1]} US dollars per million prompt and completion tokens, "
        f"{version} at {listed[0]} and {listed[1]}. Your list is used."
    )
