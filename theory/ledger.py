"""The ledger: all claims, examined afresh each time; verdicts are computed from the evidence and are written down nowhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..model import InputError
from . import (
    best_stopping,
    concentration,
    consensus,
    copying,
    dependence,
    figures,
    growth,
    jury,
    schedule,
    separation,
    signs,
    stable_gap,
    votes,
    winning,
)
from .claim import Assumption, Check, Claim, Counterexample, Verdict
from .examination import Examination, examine

__all__ = ["CLAIMS", "claim", "examination_json", "ledger_json", "run_ledger"]

_MODULES = (
    concentration,
    dependence,
    stable_gap,
    signs,
    separation,
    growth,
    winning,
    schedule,
    consensus,
    copying,
    votes,
    figures,
    best_stopping,
    jury,
)
_FAMILIES = "CKUJ"


def _place(entry: Claim) -> tuple[int, int]:
    return _FAMILIES.index(entry.id[0]), int(entry.id[1:])


CLAIMS: dict[str, Claim] = {c.id: c for c in sorted((c for module in _MODULES for c in module.CLAIMS), key=_place)}
"""All claims by id: convergence of the gap (C), k advocates (K), UAAD (U), jury (J)."""


def claim(name: str) -> Claim:
    """Find a claim by its id, in either case.

    Raises
    ------
    InputError
        If there is none.
    """
    found = CLAIMS.get(name.strip().upper())
    if found is None:
        raise InputError(f'no claim "{name}"; there are: {", ".join(CLAIMS)}.')
    return found


def run_ledger(claims: Iterable[Claim] | None = None, advance: Callable[[int], None] | None = None) -> list[Examination]:
    """Examine claims.

    Parameters
    ----------
    claims : iterable of Claim, optional
        All by default.
    advance : callable, optional
        Told 1 after each claim.
    """
    found = []
    for entry in CLAIMS.values() if claims is None else claims:
        found.append(examine(entry))
        if advance is not None:
            advance(1)
    return found


def examination_json(examination: Examination) -> dict[str, Any]:
    """Everything about one examined claim as a plain object."""
    entry = examination.claim
    return {
        "id": entry.id,
        "title": entry.title,
        "statement": entry.statement,
        "latex": entry.latex,
        "source": entry.source,
        "remark": entry.remark,
        "verdict": str(examination.verdict),
        "failures": list(examination.failures),
        "assumptions": [_assumption_json(a, examination.dropped.get(a.name, ())) for a in entry.assumptions],
        "counterexamples": [_counterexample_json(c) for c in examination.counterexamples],
        "derivation": _checks_json(examination.derivation),
        "witness": _checks_json(examination.witness),
        "conclusion": _checks_json(examination.conclusion),
        "converse": _checks_json(examination.converse),
        "property": {"points": examination.points, "comparisons": len(examination.law), "holds": all(c.holds for c in examination.law)},
        "seconds": round(examination.seconds, 3),
    }


def ledger_json(examinations: Sequence[Examination]) -> dict[str, Any]:
    """Return the whole ledger as a plain object."""
    counts = Counter(str(e.verdict) for e in examinations)
    return {
        "claims": [examination_json(e) for e in examinations],
        "verdicts": {str(v): counts[str(v)] for v in Verdict},
        "broken": [e.claim.id for e in examinations if e.verdict == Verdict.BROKEN],
        "seconds": round(sum(e.seconds for e in examinations), 3),
    }


def _checks_json(checks: Sequence[Check]) -> list[dict[str, Any]]:
    return [check.to_json() for check in checks]


def _assumption_json(assumption: Assumption, dropped: Sequence[Check]) -> dict[str, Any]:
    return {
        "name": assumption.name,
        "statement": assumption.statement,
        "stated": assumption.stated,
        "breaks": [check.to_json() for check in dropped if not check.holds],
    }


def _counterexample_json(example: Counterexample) -> dict[str, Any]:
    return {
        "label": example.label,
        "claimed": example.allowed,
        "ways": dict(example.ways),
        "ways_agree_within": example.tolerance,
        "refutes": example.refutes and example.agrees,
    }
