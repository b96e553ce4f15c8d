"""Protocols from files: tables in TOML or JSON, or the recommendation of a plan that was saved as JSON.

What ``plan --out plan.json`` recommends can so be simulated, compared and run live: ``adjourn simulate plan.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..model import Protocol
from ..model.errors import FileFormatError
from ..model.judging import JudgingProtocol
from ..model.judging.protocols import read_judging_protocol
from ..model.tables import parse_toml, read_text

__all__ = ["is_protocol_file", "protocol_from_tables", "read_protocol_file"]

_SUFFIXES = (".toml", ".json")


def is_protocol_file(name: str) -> bool:
    """Whether a protocol's name is that of a file."""
    return name.lower().endswith(_SUFFIXES)


def read_protocol_file(name: str) -> Protocol | JudgingProtocol:
    """Read a protocol of either family.

    Parameters
    ----------
    name : str
        Path that ends in .toml or .json: the tables of one protocol (as ``adjourn protocols --json`` prints them), or a saved plan.

    Raises
    ------
    FileFormatError
        If the file is no such thing, or a value in it is outside its range.
    """
    text = read_text(name)
    data: Any = parse_toml(name, text) if name.lower().endswith(".toml") else _parse_json(name, text)
    for key in ("recommendation", "protocol"):
        if isinstance(data, Mapping) and key in data:
            data = data[key]
    if not isinstance(data, Mapping):
        raise FileFormatError(name, "this is no protocol: it needs the tables of one, or a plan that `adjourn plan --out` saved.")
    return protocol_from_tables({"name": Path(name).stem, **data}, name)


def protocol_from_tables(data: Mapping[str, Any], where: str) -> Protocol | JudgingProtocol:
    """Protocol of either family from its plain tables; judging protocols name their kind."""
    return read_judging_protocol(data, where) if "kind" in data else Protocol.from_dict(data, where)


def _parse_json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError, ValueError) as error:
        raise FileFormatError(name, f"this is not valid JSON: {error}.") from None
