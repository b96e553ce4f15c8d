"""Are reported averages jointly possible? One file of figures as printed, every check on it, and the smallest sets that conflict.

The averages of debates are checked by exact rational linear programming (:mod:`.feasibility`); agreement with kappa, shares of n, changes
and comparisons each by its own rule (:mod:`.figures`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, time
from pathlib import Path
from typing import Any, ClassVar

from ..model import FileFormatError
from ..model.tables import parse_toml, read_text
from .feasibility import Debate, Scenario
from .figures import CHECKS, Finding
from .saved import SavedResult, provenance

__all__ = ["Audit", "audit", "audit_data"]


@dataclass(frozen=True, kw_only=True)
class Audit(SavedResult):
    """What an audit found.

    Parameters
    ----------
    title, source : str
        From the file.
    figures : mapping of str to str
        Figures of debates as printed.
    scenarios : tuple of Scenario
        All readings.
    findings : tuple of Finding
        All other checks.
    provenance : mapping
        Version and the file's contents.
    """

    kind: ClassVar[str] = "audit"

    title: str
    source: str
    figures: Mapping[str, str]
    scenarios: tuple[Scenario, ...]
    findings: tuple[Finding, ...]
    provenance: Mapping[str, Any]

    @property
    def possible(self) -> bool:
        """Whether everything can hold together in some reading."""
        return (not self.scenarios or any(s.feasible for s in self.scenarios)) and all(f.possible for f in self.findings)

    def to_json(self) -> dict[str, Any]:
        """One plain object; ``possible`` says the answer first."""
        return {"kind": self.kind, "possible": self.possible, **super().to_json()}

    def to_records(self) -> list[dict[str, Any]]:
        """One row for each minimal conflict, each allowed range and each finding."""
        rows: list[dict[str, Any]] = []
        for s in self.scenarios:
            reading = {"overhead": s.overhead, "first_stop": s.first_stop}
            rows += [{"row": "conflict", **reading, "figures": " + ".join(c)} for c in s.conflicts]
            for a in s.allowances:
                for name, range_ in a.ranges.items():
                    low, high = range_.numbers()
                    rows.append({"row": "range", **reading, "figures": " + ".join(a.figures), "quantity": name, "low": low, "high": high})
        for f in self.findings:
            rows += [
                {"row": f.check, "figures": f.name, "quantity": name, "low": value, "high": value, "possible": f.possible}
                for name, value in f.values.items()
            ]
        return rows


def audit(path: str | Path) -> Audit:
    """Audit a file of reported figures.

    Parameters
    ----------
    path : str or Path
        TOML: ``[debate]`` with ``tiers``, ``overhead``, ``first_stop`` and ``[debate.reported]``; any number of ``[[agreement]]``,
        ``[[share]]``, ``[[change]]``, ``[[comparison]]``.

    Raises
    ------
    FileFormatError
        If the file cannot be read as that.
    """
    where = str(path)
    data = parse_toml(where, read_text(path), decimal=str)
    return audit_data(_dates_as_text(data), where)


def _dates_as_text(value: Any) -> Any:
    """Dates and times, which TOML knows and JSON does not, as they were written."""
    if isinstance(value, dict):
        return {key: _dates_as_text(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_dates_as_text(entry) for entry in value]
    return value.isoformat() if isinstance(value, (date, time)) else value


_SECTIONS = ("title", "source", "debate", "agreement", "share", "change", "comparison")


def audit_data(data: Mapping[str, Any], where: str = "audit") -> Audit:
    """Audit figures that are at hand; see :func:`audit`."""
    unknown = sorted(set(data) - set(_SECTIONS))
    if unknown:
        raise FileFormatError(where, f"unknown entry {unknown[0]!r}; an audit file has: {', '.join(_SECTIONS)}.")
    if not set(data) & set(_SECTIONS[2:]):
        raise FileFormatError(where, "nothing to audit; add [debate], [[agreement]], [[share]], [[change]] or [[comparison]].")
    debate = Debate.read(data["debate"], where) if "debate" in data else None
    findings: list[Finding] = []
    for section, check in CHECKS.items():
        entries = data.get(section, [])
        if not isinstance(entries, list) or not all(isinstance(e, Mapping) for e in entries):
            raise FileFormatError(where, f"{section} must be a list of tables; write [[{section}]].")
        findings += [check(entry, f"{section} {number + 1}", where) for number, entry in enumerate(entries)]
    return Audit(
        title=str(data.get("title", Path(where).name)),
        source=str(data.get("source", "")),
        figures={} if debate is None else {name: r.text for name, r in debate.reported.items()},
        scenarios=() if debate is None else tuple(debate.scenarios()),
        findings=tuple(findings),
        provenance=provenance(command="audit", file=where, contents=data),
    )
