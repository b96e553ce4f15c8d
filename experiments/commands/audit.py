"""``adjourn audit``: whether reported figures are jointly possible."""

from __future__ import annotations

from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..audit import Audit
from ..audit import audit as run_audit
from ..feasibility import Allowance, Scenario
from ..options import JsonFlag, OutResult
from ..saved import deliver

_EXAMPLES = ("uaad", "d3")


def audit(
    file: Annotated[str, typer.Argument(help="TOML file of reported figures; `uaad` and `d3` ship as examples.")],
    as_json: JsonFlag = False,
    out: OutResult = None,
) -> None:
    """Check reported averages for joint possibility by exact linear programming; print the smallest sets that conflict."""
    if file in _EXAMPLES and not Path(file).exists():
        with resources.as_file(resources.files(__package__.rpartition(".")[0]) / "examples" / f"audit-{file}.toml") as path:
            result = run_audit(path)
    else:
        result = run_audit(file)
    deliver(result, as_json=as_json, out=out, show=lambda screen: _show(result, screen))


def _show(result: Audit, screen: Console) -> None:
    screen.print(f"{result.title}: {'possible' if result.possible else 'NOT POSSIBLE as reported'}")
    if result.source:
        screen.print(f"source: {result.source}")
    if result.figures:
        screen.print(
            "figures: "
            + ", ".join(f"{name} = {text}" for name, text in result.figures.items())
            + " (each within rounding; exact arithmetic)"
        )
    for scenario in result.scenarios:
        _show_scenario(scenario, screen)
    for finding in result.findings:
        screen.print(f"{finding.check}, {finding.name}: {finding.text}")


def _show_scenario(s: Scenario, screen: Console) -> None:
    screen.print(f"\nIf {s.text()}: {'feasible' if s.feasible else 'INFEASIBLE'}")
    for conflict, needed in zip(s.conflicts, s.overhead_needed, strict=True):
        why = (
            f" (they would allow at most {float(Fraction(needed)):.4f} calls besides debate calls)"
            if needed
            else " (with nothing counted besides, too)"
        )
        screen.print(f"  conflict: {{{', '.join(conflict)}}}" + (why if "chains" in s.overhead else ""))
    for allowance in s.allowances:
        _show_allowance(allowance, screen)


def _show_allowance(a: Allowance, screen: Console) -> None:
    shown = [n for n in a.ranges if n.startswith("mass.") or n in ("calls", "calls_without_stop", "depth", "stopped")]
    screen.print(f"  {{{', '.join(a.figures)}}} allow: " + ", ".join(f"{n} {a.ranges[n]}" for n in shown))
    if a.chains:
        screen.print(f"    M = {', '.join(map(str, a.chains))}{' and more' if a.every_chains else ''}")
        for m, ranges in a.by_chains.items():
            kept = [n for n in shown if not n.startswith("mass.") and n != "stopped"]
            screen.print(f"    at M = {m}: " + ", ".join(f"{n} {ranges[n]}" for n in kept))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(audit)
