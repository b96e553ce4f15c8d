"""What can be run live, and what makes two runs the same: all that shapes answers and decisions, nothing that only changes the pace."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from ..model.errors import InputError
from ..model.protocol import Protocol
from ..model.scheduling import OracleGate
from ..model.tables import plain
from .ledger import Ledger

__all__ = ["enter", "require_live", "run_id_of"]


def run_id_of(settings: Mapping[str, Any]) -> str:
    """Fingerprint of a run's settings, 16 hexadecimal digits."""
    return sha256(json.dumps(plain(settings), sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def enter(ledger: Ledger, family: str, settings: Mapping[str, Any], plan: Mapping[str, Any], *, resume: bool) -> str:
    """Enter a run into the ledger, or find it there.

    Parameters
    ----------
    ledger : Ledger
        Where.
    family : {"reasoning", "judging"}
        Kind of protocol.
    settings : mapping
        Everything that shapes answers and decisions; holds ``protocol`` and ``model``.
    plan : mapping
        What is predicted, made before anything is sent.
    resume : bool
        Whether the run may be there already.

    Returns
    -------
    str
        The run's id.

    Raises
    ------
    InputError
        If the run is there and ``resume`` is not asked for, or is not there and it is.
    """
    run_id = run_id_of(settings)
    earlier = {run["run_id"]: run for run in ledger.runs()}
    if run_id in earlier and not resume:
        raise InputError(
            f"{ledger.path} holds this run already ({run_id}); --resume continues it, and asks nothing again that was answered."
        )
    if resume and earlier and run_id not in earlier:
        last = list(earlier.values())[-1]
        raise InputError(
            f"{ledger.path} holds no such run to resume; the last one ({last['run_id']}) differs in "
            f"{_differences(last['settings'], settings)}."
        )
    ledger.start_run(run_id, family, plain(settings["protocol"]), str(settings["model"]), plain(settings), plain(plan))
    return run_id


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    fresh = plain(new)
    names = [name for name in sorted({*old, *fresh}) if old.get(name) != fresh.get(name)]
    return ", ".join(names) or "nothing that is recorded"


def require_live(protocol: Protocol) -> None:
    """Refuse a protocol that only a model can run.

    Raises
    ------
    InputError
        If the protocol asks the oracle.
    """
    if isinstance(protocol.gate, OracleGate):
        raise InputError(f"{protocol.name} routes by the question's true difficulty, which no real run knows; simulate it, or run uaad.")
