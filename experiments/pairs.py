"""Options that are given as ``key=value``, any number of times: ``--set``, ``--map``, ``--over``, ``--grid``."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import ParameterError

__all__ = ["split_pair", "split_pairs"]


def split_pair(option: str, text: str, allowed: str) -> tuple[str, str]:
    """Split one ``key=value``.

    Parameters
    ----------
    option : str
        Name of the option, for messages.
    text : str
        What was given.
    allowed : str
        The form it has, in words.

    Raises
    ------
    ParameterError
        If either side of the first equals sign is empty, or there is none.
    """
    key, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not key or not value:
        raise ParameterError(option, text, allowed)
    return key, value


def split_pairs(option: str, texts: Sequence[str] | None, allowed: str) -> dict[str, str]:
    """Split all texts of an option; parameters as of :func:`split_pair`.

    Raises
    ------
    ParameterError
        If one is no such pair, or a key comes twice.
    """
    found: dict[str, str] = {}
    for text in texts or ():
        key, value = split_pair(option, text, allowed)
        if key in found:
            raise ParameterError(option, text, f"each key once ({key} came before)")
        found[key] = value
    return found
