"""``adjourn protocols`` and ``adjourn populations``: what ships, with parameters and sources."""

from __future__ import annotations

from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from ...model import OutcomeSpace, Population, Protocol
from ...model.exact import ExactLaw
from ...model.outcomes import Costs
from ...model.settings import valid_keys
from ..console import emit
from ..families import all_populations, all_protocols
from ..options import JsonFlag, OutFile


def protocols(as_json: JsonFlag = False, out: OutFile = None) -> None:
    """List the protocols with their parameters, what --set reaches, and their sources."""
    shipped = all_protocols()
    default = all_populations()[0]
    data = {p.name: {**p.to_dict(), "settings": valid_keys(p, default)} for p in shipped}

    def show(screen: Console) -> None:
        table = Table(title="Protocols (reasoning debates)", title_justify="left", show_lines=True)
        for column in ("name", "chains", "debates (agents x rounds)", "calls", "source"):
            table.add_column(column, overflow="fold")
        for p in shipped:
            table.add_row(
                p.name, str(p.chains), ", ".join(f"{t.name} {t.agents}x{t.rounds}" for t in p.tiers) or "none", _calls(p, default), p.source
            )
        screen.print(table)

    emit(data, as_json=as_json, out=out, show=show)


def _calls(protocol: Protocol, population: Population) -> str:
    """Fewest and most calls of a question that can happen."""
    masses = ExactLaw(protocol, population).masses().ravel()
    calls = Costs(OutcomeSpace(protocol), population).calls[masses > 0]
    return f"{calls.min()} to {calls.max()}"


def populations(as_json: JsonFlag = False, out: OutFile = None) -> None:
    """List the populations with their laws and sources."""
    shipped = all_populations()

    def show(screen: Console) -> None:
        table = Table(title="Populations (questions)", title_justify="left", show_lines=True)
        for column in ("name", "difficulty", "accuracy", "misconception", "calibrated", "source"):
            table.add_column(column, overflow="fold")
        for p in shipped:
            table.add_row(
                p.name,
                _law(p.to_dict()["difficulty"]),
                f"{p.difficulty.mean():.3f} (exact)",
                _law(p.to_dict().get("misconception", {})),
                _yes(p),
                p.source,
            )
        screen.print(table)

    emit({p.name: p.to_dict() for p in shipped}, as_json=as_json, out=out, show=show)


def _yes(population: Population) -> str:
    return "yes" if population.calibrated else "NO"


def _law(table: dict[str, Any]) -> str:
    name = table.get("law", "joint with difficulty")
    if name == "beta":
        masses = "".join(f", {table[k]:.3g} at {at}" for k, at in (("mass_zero", 0), ("mass_one", 1)) if table.get(k))
        return f"Beta({table['a']:.4g}, {table['b']:.4g}){masses}"
    if name == "fixed":
        return f"w = {table['w']:.3g}"
    return str(name)


def register(app: typer.Typer) -> None:
    """Add both commands."""
    app.command()(protocols)
    app.command()(populations)
