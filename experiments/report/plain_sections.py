"""Sections of results that are kept as JSON: a plan, the ledger of claims, the ledger of a run; whatever else, as it is."""

from __future__ import annotations

from typing import Any

from ..plots import plot_frontier
from ..saved import PlainResult
from .again import command_again
from .parts import Figure, Section, Table, cell

__all__ = ["plain"]


def plain(result: PlainResult) -> Section:
    """Return the section of a result without a type of its own."""
    data = result.data
    if "recommendation" in data and "frontier" in data:
        return _plan(result)
    if "claims" in data:
        return _claims(result)
    if "by_role" in data and "predicted_vs_actual" in data:
        return _run(result)
    return _as_it_is(result)


def _number(value: Any) -> Any:
    return value.get("mean") if isinstance(value, dict) and "mean" in value else value


_PLAN_TABLES = {
    "flips": "What would flip the choice",
    "conditional_on_auroc": "Designs that depend on signals, by AUROC",
    "conditional_on_bias_factor": "Debates, by the share of the judge's bias that arguments leave",
    "panels": "Panels of the pilot's judges by size: predicted, and the log's own",
}


def _plan(result: PlainResult) -> Section:
    data = result.data
    best = data["recommendation"]
    judging = data.get("family") == "judging"
    a_unit = "an item" if judging else "a question"
    low, high = best["accuracy"]["ci95"]
    total = best["usd_total"]
    answer = [
        f"Run {best['design']}: expected accuracy {best['accuracy']['mean']:.4f} [{low:.4f}, {high:.4f}].",
        f"{data['items']:,} items cost {total['mean']:.2f} US$ on average, {total['p95']:.2f} US$ at the 95 % point, "
        f"{total['worst_case']:.2f} US$ at worst; the budget is {data['budget_usd']:.2f} US$, P(over budget) {best['p_over_budget']:.4f}.",
        f"It wins {best['bootstrap_wins']:.0%} of the resamples of the pilot.",
    ]
    if "bootstrap_wins_by_kind" in data:
        answer.append("By kind: " + ", ".join(f"{kind} {share:.0%}" for kind, share in data["bootstrap_wins_by_kind"].items()) + ".")
    designs = [
        {
            "design": d["design"],
            "accuracy": _number(d["accuracy"]),
            "low": d["accuracy"]["ci95"][0],
            "high": d["accuracy"]["ci95"][1],
            "calls": d["calls"],
            f"US$ {a_unit}": d["usd_per_question"],
            "P(over budget)": d["p_over_budget"],
            "wins": d["bootstrap_wins"],
        }
        for d in data["frontier"]
    ]
    points = [{"usd": d["usd_per_question"], "accuracy": d.get("robust_accuracy", _number(d["accuracy"]))} for d in data["designs"]]
    tables = [Table.of("Frontier: no other design is both cheaper and more accurate", designs)]
    for key, caption in _PLAN_TABLES.items():
        if data.get(key):
            tables.append(Table.of(caption, data[key]))
    return Section(
        title=f"Plan for {data['pilot']['name']}",
        asked=f"{'How to judge' if judging else 'Which debate for'} {data['items']:,} items within {data['budget_usd']:g} US$?",
        answer=tuple(answer),
        figures=(Figure(plot_frontier(points), "Every design by money and accuracy."),),
        tables=tuple(tables),
        assumptions=tuple(data.get("notes", ())),
        provenance=data.get("provenance", {}),
        again=command_again("plan", data),
    )


def _claims(result: PlainResult) -> Section:
    claims = result.data["claims"]
    verdicts: dict[str, int] = {}
    for claim in claims:
        verdicts[claim["verdict"]] = verdicts.get(claim["verdict"], 0) + 1
    rows = [
        {"id": c["id"], "verdict": c["verdict"], "claim": c["title"], "statement": c["statement"], "source": c["source"]} for c in claims
    ]
    broken = [
        {
            "id": c["id"],
            "claimed": x["claimed"],
            "counterexample": x["label"],
            "value": ", ".join(f"{way} {v:.6g}" for way, v in x["ways"].items()),
        }
        for c in claims
        for x in c.get("counterexamples", [])
        if all(isinstance(v, (int, float)) for v in x.get("ways", {}).values())
    ]
    assumptions = [
        {"id": c["id"], "assumption": a["name"], "meaning": a["statement"], "stated": a.get("stated")}
        for c in claims
        for a in c["assumptions"]
    ]
    return Section(
        title="Ledger of claims",
        asked="Which published claims hold, and under which assumptions?",
        answer=(", ".join(f"{n} {verdict}" for verdict, n in verdicts.items()) + ". Computed, not written down.",),
        figures=(),
        tables=tuple(
            Table.of(caption, rows_)
            for caption, rows_ in (("Claims", rows), ("Counterexamples, each by two ways", broken), ("Assumptions", assumptions))
            if rows_
        ),
        assumptions=("Statements are in our words; sources are named with each claim.",),
        provenance=result.data.get("provenance", {}),
        again="adjourn theory --json --out ledger.json",
    )


def _run(result: PlainResult) -> Section:
    data = result.data
    accuracy = data.get("accuracy")
    words = "not graded" if accuracy is None else f"accuracy {accuracy['mean']:.4f} {accuracy['ci95']}"
    return Section(
        title=f"Run {data['run_id']}",
        asked=f"What did {data['protocol']} with {data['model']} say and spend?",
        answer=(f"{data['done']} of {data['items']} questions done; {words}.", f"Charged {data['run']['charged_usd']} US$."),
        figures=(),
        tables=tuple(
            Table.of(caption, data[key])
            for key, caption in (("predicted_vs_actual", "Predicted against actual"), ("by_role", "Spending by role"))
            if data.get(key)
        ),
        assumptions=tuple(data.get("problems", ())),
        provenance=data.get("provenance", {}),
        again="adjourn ledger LEDGER --json --out run.json",
    )


def _as_it_is(result: PlainResult) -> Section:
    data = result.data
    summary = "; ".join(f"{k.replace('_', ' ')}: {cell(_number(v))}" for k, v in data.items() if isinstance(_number(v), (str, int, float)))
    return Section(
        title=str(data.get("kind", "Result")).capitalize(),
        asked=str(data.get("kind", "what the result file holds")),
        answer=(summary[:600] or "See the table.",),
        figures=(),
        tables=(Table.of("Records", result.to_records()),),
        assumptions=tuple(str(n) for n in data.get("notes", ())),
        provenance=data.get("provenance", {}),
        again="",
    )
