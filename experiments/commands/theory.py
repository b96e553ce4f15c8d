"""``adjourn theory``: the ledger of claims, computed afresh; a broken claim ends with exit code 1."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from ...model import InputError, ParameterError
from ..console import emit, new_table, progress
from ..options import JsonFlag, OutFile, picture_file

if TYPE_CHECKING:
    from ...theory import Claim, Examination

_COLOURS = {
    "proved": "green",
    "true under the stated assumptions": "cyan",
    "false as stated": "red",
    "assumes its conclusion": "yellow",
    "broken": "bold white on red",
}


def theory(
    claim: Annotated[str | None, typer.Argument(help="One claim, such as C4; without it the whole ledger.", show_default=False)] = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", help="Switch an assumption of the claim off and show what breaks.", show_default=False)
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print statement and derivation in LaTeX.")] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the claim (PNG, SVG or PDF).", callback=picture_file, show_default=False)
    ] = None,
    as_json: JsonFlag = False,
    out: OutFile = None,
) -> None:
    """Examine the claims of the modelled papers: derivation, witness, counterexample, verdict."""
    from ...theory import CLAIMS, ledger_json, run_ledger
    from ...theory import claim as find

    chosen = list(CLAIMS.values()) if claim is None else [find(claim)]
    dropped = _known_assumptions(chosen, without or [], claim)
    _refuse(chosen, plot, latex=latex, as_json=as_json, claim=claim)
    with progress("claims", len(chosen)) as advance:
        examinations = run_ledger(chosen, advance)
    data: dict[str, Any] = ledger_json(examinations)
    if dropped:
        data["without"] = {"assumptions": dropped, "conclusion": [check.to_json() for check in chosen[0].concludes(*dropped)]}
    if plot is not None:
        _draw(chosen[0], plot)
        data["plot"] = str(plot)

    def show(screen: Console) -> None:
        if latex:
            screen.print("\n".join(_latex(examination) for examination in examinations), markup=False)
        elif claim is None:
            _show_ledger(screen, examinations)
        else:
            _show_claim(screen, examinations[0], dropped)
        if plot is not None:
            screen.print(f"\nDrawn in {escape(str(plot))}.")

    emit(data, as_json=as_json, out=out, show=show)
    if data["broken"]:
        raise typer.Exit(1)


def _known_assumptions(chosen: list[Claim], names: list[str], claim: str | None) -> list[str]:
    if names and claim is None:
        raise ParameterError("--without", names, "one claim's assumptions", "Name the claim: adjourn theory C4 --without 'unbiased judge'.")
    known = {assumption.name.lower(): assumption.name for assumption in chosen[0].assumptions}
    for name in names:
        if name.strip().lower() not in known:
            listed = ", ".join(f'"{n}"' for n in known.values()) or f"nothing: {chosen[0].id} makes no assumption that can be switched off"
            raise ParameterError("--without", name, listed)
    return [known[name.strip().lower()] for name in names]


def _refuse(chosen: list[Claim], plot: Path | None, *, latex: bool, as_json: bool, claim: str | None) -> None:
    """Refuse at once what could only fail after the work."""
    if latex and as_json:
        raise ParameterError("--latex", "with --json", "one of the two", "The JSON holds the statement's LaTeX already.")
    if plot is None:
        return
    if claim is None:
        raise ParameterError("--plot", str(plot), "one claim's picture", "Name the claim: adjourn theory C4 --plot c4.png.")
    if chosen[0].plot is None:
        from ...theory import CLAIMS

        drawn = ", ".join(c.id for c in CLAIMS.values() if c.plot is not None)
        raise ParameterError("--plot", chosen[0].id, f"a claim with a picture: {drawn}")


def _draw(claim: Claim, path: Path) -> None:
    from ...theory.pictures import draw

    try:
        draw(claim, path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}. Choose another place with --plot.") from None


def _show_ledger(screen: Console, examinations: list[Examination]) -> None:
    columns = ("claim", "title", "verdict", "evidence", "needs, or what refutes it")
    table = new_table("Claims (every verdict is computed from its evidence, here and now)", columns, overflow="fold")
    for e in examinations:
        verdict = str(e.verdict)
        held = sum(check.holds for check in (*e.derivation, *e.witness, *e.law))
        made = len(e.derivation) + len(e.witness) + len(e.law)
        table.add_row(e.claim.id, escape(e.claim.title), f"[{_COLOURS[verdict]}]{verdict}[/]", f"{held} of {made} hold", escape(_why(e)))
    screen.print(table)
    counts = {verdict: sum(str(e.verdict) == verdict for e in examinations) for verdict in _COLOURS}
    screen.print(", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count or verdict == "broken") + ".")
    screen.print(
        "One claim with its derivation: adjourn theory C4. Switch an assumption off: adjourn theory C4 --without 'unbiased judge'."
    )


def _why(e: Examination) -> str:
    if e.failures:
        return e.failures[0]
    if e.counterexamples:
        example = e.counterexamples[0]
        return f"{example.label}: {next(iter(example.ways.values())):.4g}, claimed {example.allowed}"
    return "; ".join(a.name for a in e.claim.assumptions) or "nothing"


def _show_claim(screen: Console, e: Examination, dropped: list[str]) -> None:
    entry, verdict = e.claim, str(e.verdict)
    screen.print(f"[bold]{entry.id}. {escape(entry.title)}[/]   [{_COLOURS[verdict]}]{verdict}[/]\n")
    screen.print(escape(entry.statement))
    screen.print(f"\nSource: {escape(entry.source)}")
    if entry.remark:
        screen.print(f"Remark: {escape(entry.remark)}")
    for failure in e.failures:
        screen.print(f"[red]BROKEN[/] {escape(failure)}")
    for title, checks in (
        ("Derivation (exact)", e.derivation),
        ("Witness (exact law, enumeration or quadrature; exact unless a tolerance is named)", e.witness),
        ("Conclusion with all assumptions", e.conclusion),
        ("Converse", e.converse),
    ):
        if checks:
            screen.print(f"\n[bold]{title}[/]")
            for check in checks:
                screen.print(f"  {'' if check.holds else '[red]FAILS[/] '}{escape(str(check))}")
    _show_assumptions(screen, e)
    _show_counterexamples(screen, e)
    screen.print(
        f"\nProperty: {len(e.law)} comparisons at {e.points} points, {'all hold' if all(c.holds for c in e.law) else 'NOT ALL HOLD'}."
    )
    if dropped:
        screen.print(f"\n[bold]Conclusion without {escape(', '.join(dropped))}[/]")
        for check in entry.concludes(*dropped):
            screen.print(f"  {escape(str(check))}")


def _show_assumptions(screen: Console, e: Examination) -> None:
    if e.claim.assumptions:
        screen.print("\n[bold]Assumptions, and what breaks without each[/]")
    for assumption in e.claim.assumptions:
        kind = "" if assumption.stated else " (NOT STATED, but needed)"
        kind = " (by definition)" if assumption.by_definition else kind
        screen.print(f"  {escape(assumption.name)}{kind}: {escape(assumption.statement)}")
        for check in e.dropped.get(assumption.name, ()):
            if not check.holds:
                screen.print(f"    without it: {escape(str(check))}")
                break


def _show_counterexamples(screen: Console, e: Examination) -> None:
    if e.counterexamples:
        screen.print("\n[bold]Counterexamples, each number in two ways[/]")
    for example in e.counterexamples:
        ways = "; ".join(f"{value:.6g} ({way})" for way, value in example.ways.items())
        screen.print(f"  {escape(example.label)}: {escape(ways)}; claimed {example.allowed}")


def _latex(e: Examination) -> str:
    lines = [f"% {e.claim.id}. {e.claim.title}: {e.verdict}", rf"\[ {e.claim.latex} \]"]
    lines += [rf"\[ {check.to_latex()} \]" for check in e.derivation]
    return "\n".join(lines)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(theory)
