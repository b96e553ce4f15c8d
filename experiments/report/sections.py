"""What a page says about each kind of result: what was asked, the answer, figures, tables, assumptions, how to run it again."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...model import Estimate, Result
from ..audit import Audit
from ..compare import Comparison
from ..console import format_estimate, unit_of
from ..discovery import Discovery
from ..plots import plot_box, plot_reliability, plot_residuals, plot_sensitivity, plot_sweep
from ..reproduce import Reproduction
from ..saved import PlainResult, SavedResult, simulation
from ..sensitivity import Sensitivity
from ..sweep import Sweep
from ..validate import Validation
from . import plain_sections
from .again import command_again
from .parts import Figure, Section, Table, cell, told

__all__ = ["section_of"]


def section_of(result: SavedResult | Result) -> Section:
    """Return the section of a result, whatever its kind."""
    if isinstance(result, Result):
        return _simulation(result)
    if isinstance(result, PlainResult):
        return plain_sections.plain(result)
    maker = _MAKERS.get(type(result), _any)
    return maker(result)


def _simulation(r: Result) -> Section:
    rows = [
        {"quantity": key, "value": format_estimate(e)[0], "95 % interval": format_estimate(e)[1], "unit": unit_of(key, r)}
        for key, e in r.means.items()
        if e is not None
    ]
    shares = [{"group": g, "name": n, "share": e.mean} for g, masses in r.shares.items() for n, e in masses.items()]
    accuracy, calls = r.mean("accuracy"), r.mean("calls")
    return Section(
        title=f"{r.protocol} on {r.population}",
        asked=f"What does {r.protocol} reach and cost on {r.population}?",
        answer=(f"Accuracy {told(accuracy)}, {told(calls)} calls a question.",),
        figures=(),
        tables=(Table.of("Means a question", rows), Table.of("Tiers and stop reasons", shares)),
        assumptions=r.notes,
        provenance=r.provenance,
        again=command_again("simulate", r.provenance),
    )


def _sweep(r: Sweep) -> Section:
    answer = []
    for name in r.protocols:
        cells = [c for c in r.cells if c.protocol == name]
        accuracy = [e.mean for c in cells if (e := c.means.get("accuracy")) is not None]
        answer.append(
            f"{name}: {len(r.cell_of[name]):,} grid points are {len(cells)} cells with {r.laws[name]} distinct laws; accuracy runs from "
            f"{min(accuracy):.4f} to {max(accuracy):.4f} (share of questions)."
        )
        answer += [f"For {t.agents} agents alone the grid holds {t.cells} distinct rules." for t in r.lattices[name]]
    if len(r.protocols) > 1:
        answer.append(
            f"The most accurate protocol changes at {len(r.flips)} places." if r.flips else "The ranking never changes on this grid."
        )
    figures = [Figure(plot_sweep(r), "Accuracy over the grid; within a cell nothing changes.")]
    if "calls" in r.quantities and len(r.axes) > 1 and np.nanstd(r.grid("calls")) > 0:
        figures.append(Figure(plot_sweep(r, "calls"), "Expected calls a question."))
    if "regret" in r.quantities:
        figures.append(Figure(plot_sweep(r, "regret"), "Accuracy that the best stopping rule of the same calls would add."))
    records = [{k: v for k, v in row.items() if not k.endswith(("_low", "_high"))} for row in r.cell_records()]
    flips = [{"parameter": f.axis, "from": f.low, "to": f.high, **f.at, "before": f.before, "after": f.after} for f in r.flips]
    tables = [Table.of("Cells with their exact edges" if any(c.edges for c in r.cells) else "Cells", records)]
    if flips:
        tables.append(Table.of("Where the most accurate protocol changes", flips))
    return Section(
        title=f"Sweep of {', '.join(r.protocols)} on {r.population}",
        asked="How do " + " and ".join(a.name for a in r.axes) + " change accuracy and cost?",
        answer=tuple(answer),
        figures=tuple(figures),
        tables=tuple(tables),
        assumptions=r.notes,
        provenance=r.provenance,
        again=command_again("sweep", r.provenance),
    )


def _comparison(r: Comparison) -> Section:
    protocols = [simulation(p) for p in r.protocols]
    answer, rows = [], []
    for d in r.differences:
        answer.append(f"{d.first} minus {d.second}: accuracy {d.accuracy.mean:+.4f} ({_interval(d.accuracy)}).")
        rows.append({"first": d.first, "second": d.second, "accuracy": told(d.accuracy), **{k: told(e) for k, e in d.costs.items()}})
        if d.equal_cost is not None:
            e = d.equal_cost
            answer.append(f"At equal {e.by} ({e.thinned} thinned to {e.share.mean:.1%}): {e.accuracy.mean:+.4f} ({_interval(e.accuracy)}).")
    means = [
        {"protocol": p.protocol, **{k: told(e) for k, e in p.means.items() if e is not None and k in ("accuracy", "calls", "depth", "usd")}}
        for p in protocols
    ]
    return Section(
        title=f"Comparison on {r.population}",
        asked="How do " + ", ".join(p.protocol for p in protocols) + " differ on the same questions?",
        answer=tuple(answer),
        figures=(),
        tables=(Table.of("Differences (first minus second)", rows), Table.of("Each protocol, a question", means)),
        assumptions=tuple(r.notes),
        provenance=r.provenance,
        again=command_again("compare", {"protocols": [p.protocol for p in protocols], "population": r.population}),
    )


def _interval(e: Estimate) -> str:
    return "exact" if e.is_exact else f"95 % interval {e.low:+.4f} to {e.high:+.4f}"


def _sensitivity(r: Sensitivity) -> Section:
    answer = [f"{name} is constant at {value:.6g}: no input moves it." for name, value in r.constant.items()]
    for name, groups in r.ranking.items():
        order = ", then ".join(" or ".join(group) for group in groups[:3])
        answer.append(f"{name} is moved most by {order} (inputs joined by 'or' are not ranked: their intervals overlap).")
    if not r.narrow_enough:
        answer.append(f"Not every interval reached the half-width {r.width:g}.")
    figures = tuple(Figure(plot_sensitivity(r, name), f"Sobol' indices of {name}, 95 % intervals.") for name in r.ranking)
    records = [{"output": i.output, "input": i.input, "first order": told(i.first), "total order": told(i.total)} for i in r.indices]
    laws = [{"input": x.name, "law": ", ".join(x.levels) if x.levels else f"uniform {x.low:.4g} to {x.high:.4g}"} for x in r.inputs]
    return Section(
        title=f"Sensitivity of {r.subject}",
        asked="Which inputs move the outputs?",
        answer=tuple(answer),
        figures=figures,
        tables=(Table.of("Indices (share of the output's variance)", records), Table.of("Inputs", laws)),
        assumptions=r.notes,
        provenance=r.provenance,
        again=command_again("sensitivity", r.provenance),
    )


def _discovery(r: Discovery) -> Section:
    box = r.box
    region = (
        " and ".join(limit.text() for limit in box.limits) or "no region (the cases are spread over the whole range, or there are none)"
    )
    return Section(
        title="Where debate loses",
        asked=f"In which region is it true that {r.question}?",
        answer=(
            f"{region}.",
            f"Coverage {told(box.coverage)} of the cases, density {told(box.density)} of the points in the box (both held out).",
            f"Over the whole range it is true at {told(r.cases)} of the points.",
        ),
        figures=(Figure(plot_box(r), "The box in each limited input."),) if box.limits else (),
        tables=(Table.of("Points", r.to_records()),),
        assumptions=r.notes,
        provenance=r.provenance,
        again=command_again("discover", r.provenance),
    )


def _audit(r: Audit) -> Section:
    answer = ["Possible as reported." if r.possible else "NOT possible as reported."]
    for s in r.scenarios:
        sets = "; ".join("{" + ", ".join(c) + "}" for c in s.conflicts)
        answer.append(f"If {s.text()}: {'feasible' if s.feasible else f'infeasible, minimal conflicts {sets}'}.")
    ranges = [
        {"reading": s.text(), "figures": ", ".join(a.figures), "quantity": name, "allowed": str(range_)}
        for s in r.scenarios
        for a in s.allowances
        for name, range_ in a.ranges.items()
    ]
    tables = [Table.of("What feasible sets allow (exact, within rounding)", ranges)] if ranges else []
    tables += [
        Table.of("Other checks", [{"check": f.check, "figure": f.name, "possible": f.possible, "finding": f.text} for f in r.findings])
    ]
    return Section(
        title=f"Audit: {r.title}",
        asked="Can the reported figures all be true?",
        answer=tuple(answer),
        figures=(),
        tables=tuple(tables),
        assumptions=("A printed figure is any value that rounds to it. Arithmetic is exact.",),
        provenance=r.provenance,
        again=command_again("audit", r.provenance),
    )


def _validation(r: Validation) -> Section:
    answer = [f"{r.inside:.1%} of the predicted curves lie inside their 95 % band ({r.splits} random halves of {r.questions} questions)."]
    if r.debate_inside is not None:
        answer.append(f"Of the log's own debate {r.debate_inside:.1%} of the predictions lie inside.")
    ax = plot_reliability(r.curves())
    return Section(
        title=f"Validation on {r.log}",
        asked="Does half of the log predict the other half?",
        answer=tuple(answer),
        figures=(Figure(ax, "Predicted against actual; bars hold the central 95 % of the held-out halves."),),
        tables=(Table.of("Quantities", r.to_records()),),
        assumptions=r.notes,
        provenance=r.provenance,
        again=command_again("validate", r.provenance),
    )


def _reproduction(r: Reproduction) -> Section:
    compared = [row for row in r.rows if row.residual is not None]
    predicted = [row for row in compared if row.model_status == "predicted"]
    inside = sum(bool(row.inside) for row in predicted)
    missing = sum(row.reported is None for row in r.rows)
    rows = [
        {
            "figure": row.name,
            "unit": row.unit,
            "reported": row.reported or "not given",
            "replay": _simulated(row.replay, row.replay_status),
            "model [95 %]": _simulated(row.model, row.model_status),
            "over unknowns": _span(row.model, "choices"),
            "over lambda": _span(row.model, "lam"),
            "residual": row.residual,
            "note": row.note,
        }
        for row in r.rows
    ]
    choices = [{"unknown": c.name, "value": c.value, "spread over": ", ".join(f"{v:g}" for v in c.values), "how": c.why} for c in r.choices]
    figures = (Figure(plot_residuals(r.residuals()), "Simulated minus reported, with the model's 95 % interval."),) if r.residuals() else ()
    return Section(
        title=r.paper,
        asked="Which published figures can be re-derived?",
        answer=(
            f"{inside} of {len(predicted)} predicted figures agree with the reported one, within rounding and the model's 95 % interval.",
            f"{missing} rows are not published, so nothing can be compared.",
        ),
        figures=figures,
        tables=(Table.of("Every figure", rows), Table.of("Unknowns and how they were chosen", choices)),
        assumptions=(*r.notes, f"Source: {r.source}"),
        provenance=r.provenance,
        again=command_again("reproduce", r.provenance),
    )


def _simulated(simulated: Any, status: str) -> str:
    if simulated is None:
        return "-"
    interval = "" if simulated.low == simulated.high else f" [{simulated.low:.3g}, {simulated.high:.3g}]"
    return f"{simulated.value:.4g}{interval} {status}"


def _span(simulated: Any, which: str) -> str:
    low, high = (math.nan, math.nan) if simulated is None else (getattr(simulated, f"{which}_low"), getattr(simulated, f"{which}_high"))
    return "" if math.isnan(low) else f"{low:.3g} to {high:.3g}"


def _any(r: SavedResult) -> Section:
    data = r.to_json()
    summary = "; ".join(f"{k.replace('_', ' ')}: {cell(v)}" for k, v in data.items() if isinstance(v, (str, int, float)) and k != "kind")
    return Section(
        title=r.kind.replace("-", " ").capitalize(),
        asked=r.kind.replace("-", " "),
        answer=(summary,),
        figures=(),
        tables=(Table.of("Records", r.to_records()),),
        assumptions=tuple(data.get("notes", ())),
        provenance=data.get("provenance", {}),
        again=command_again(r.kind, data.get("provenance", {})),
    )


_MAKERS: dict[type, Callable[[Any], Section]] = {
    Comparison: _comparison,
    Sweep: _sweep,
    Sensitivity: _sensitivity,
    Discovery: _discovery,
    Audit: _audit,
    Validation: _validation,
    Reproduction: _reproduction,
}
