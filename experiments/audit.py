r"""Are reported averages jointly possible? Exact rational linear programming, and the smallest sets that conflict.

**Debates.**

**Agreement and kappa.** With agreement a and chance agreement :math:`p_e = \sum_c q_c m_c` of human shares q and judge shares m,
:math:`\kappa = (a - p_e)/(1 - p_e)`, so (a, kappa) fix :math:`p_e = (a - \kappa)/(1 - \kappa)`, and disagreement 1 - a bounds the distance
of the shares, :math:`|q_c - m_c| \le 1 - a`. That is bilinear, not linear. Let Q be the largest human share. Merging all other classes
into one never lowers :math:`p_e` (:math:`\sum_c q_c m_c \le (\sum_c q_c)(\sum_c m_c)`) and never increases the distance, so for :math:`p_e
> 1/2` the smallest possible Q is that of two classes, where with x = 2Q - 1, d = 2(1 - a)

.. math:: x (x + d) = 2 p_e - 1 \ (\text{smallest}), \qquad x (x - d) = 2 p_e - 1 \ (\text{largest, two classes}).

Balanced labels (Q = 1/2) force kappa = 2a - 1.

**Shares of n.** A share of n questions is an integer over n (the GRIM test, Brown and Heathers 2017). **Changes** in per cent must follow
from their two figures, each within rounding. **Comparisons** on the same n questions: the smallest two-sided exact McNemar p value that
the two shares allow.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, time
from pathlib import Path
from typing import Any, ClassVar

from ..model import FileFormatError
from ..model.cost import read_text
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
    try:
        data = tomllib.loads(read_text(path), parse_float=str)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(where, f"no valid TOML: {error}") from None
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
