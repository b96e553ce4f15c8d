"""``adjourn protocols`` and ``adjourn populations``: what ships, with parameters and sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from ...model import OutcomeSpace, Population, Protocol, judging
from ...model.exact import ExactLaw
from ...model.judging.protocols import protocol_dict
from ...model.outcomes import Costs
from ...model.settings import valid_keys
from ..console import emit
from ..families import all_judging_populations, all_judging_protocols, all_populations, all_protocols
from ..options import JsonFlag, OutFile


def protocols(as_json: JsonFlag = False, out: OutFile = None) -> None:
    """List the protocols with their parameters, what --set reaches, and their sources."""
    reasoning, judges = all_protocols(), all_judging_protocols()
    questions, items = all_populations()[0], all_judging_populations()[0]
    data: dict[str, Any] = {p.name: {"family": "reasoning", **p.to_dict(), "settings": valid_keys(p, questions)} for p in reasoning}
    data |= {p.name: {"family": "judging", **protocol_dict(p), "settings": judging.judging_valid_keys(p, items)} for p in judges}

    def show(screen: Console) -> None:
        rows = [(p.name, str(p.chains), _debates(p), _calls(p, questions), p.source) for p in reasoning]
        screen.print(_table("Protocols for questions", ("name", "chains", "debates (agents x rounds)", "calls", "source"), rows))
        kinds = [(p.name, type(p).__name__.lower(), p.source) for p in judges]
        screen.print(_table("Protocols for judging pairs of answers", ("name", "kind", "source"), kinds))

    emit(data, as_json=as_json, out=out, show=show)


def _table(title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    table = Table(title=title, title_justify="left", show_lines=True)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _debates(protocol: Protocol) -> str:
    return ", ".join(f"{t.name} {t.agents}x{t.rounds}" for t in protocol.tiers) or "none"


def _calls(protocol: Protocol, population: Population) -> str:
    """Fewest and most calls of a question that can happen."""
    masses = ExactLaw(protocol, population).masses().ravel()
    calls = Costs(OutcomeSpace(protocol), population).calls[masses > 0]
    return str(calls.min()) if calls.min() == calls.max() else f"{calls.min()} to {calls.max()}"


def populations(as_json: JsonFlag = False, out: OutFile = None) -> None:
    """List the populations with their laws and sources."""
    questions, items = all_populations(), all_judging_populations()
    data = {p.name: {"family": "reasoning", **p.to_dict()} for p in questions} | {p.name: p.to_dict() for p in items}

    def show(screen: Console) -> None:
        columns = ("name", "difficulty", "accuracy", "misconception", "calibrated", "source")
        screen.print(_table("Populations of questions", columns, [_question_row(p) for p in questions]))
        rows = [(p.name, ", ".join(j.name for j in p.judges), "yes" if p.calibrated else "NO", p.source) for p in items]
        screen.print(_table("Populations of items and judges", ("name", "judges", "calibrated", "source"), rows))

    emit(data, as_json=as_json, out=out, show=show)


def _question_row(population: Population) -> tuple[str, ...]:
    tables = population.to_dict()
    laws = _law(tables["difficulty"]), f"{population.difficulty.mean():.3f} (exact)", _law(tables.get("misconception", {}))
    return (population.name, *laws, "yes" if population.calibrated else "NO", population.source)


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
