"""``adjourn run``: a protocol against a real endpoint, under a cap that holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ...live.identity import enter
from ...live.ledger import Ledger
from ...live.money import picodollars
from ...live.price_check import cross_check
from ...model import InterruptedRunError, Protocol
from ..after_run import Prediction
from ..console import emit, new_table, progress, warn
from ..families import Case
from ..live_runs import endpoint_of, methods_of, run_case, settings_of
from ..options import JsonFlag, ModelName, OutFile, PopulationName, Seed, Settings, read_settings
from ..questions import read_items, read_questions
from .ledger import comparison_table, run_report


def run(
    protocol: Annotated[
        str, typer.Argument(help="A preset, or a protocol's file (.toml or .json, such as what `adjourn plan --out` saves).")
    ],
    questions: Annotated[Path, typer.Option(help="Questions: CSV or JSON Lines with question_id, question; gold and options where known.")],
    cap_usd: Annotated[float, typer.Option(help="The ledger is never charged more than this, US dollars.")],
    prices: Annotated[Path, typer.Option(help="Your price list (TOML, dated).")],
    ledger: Annotated[Path, typer.Option(help="SQLite file that every attempt and answer goes to.")],
    base_url: Annotated[
        str | None, typer.Option(help="Endpoint, without /chat/completions.", show_default="ADJOURN_BASE_URL of the environment")
    ] = None,
    key_env: Annotated[str, typer.Option(help="Environment variable that holds the key (it may be unset).")] = "ADJOURN_API_KEY",
    model: ModelName = None,
    population: PopulationName = None,
    settings: Settings = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Limit on a completion; it bounds the worst case.", show_default="the population's")
    ] = None,
    temperature: Annotated[float, typer.Option(help="Sampling temperature, 0 to 2; as in your pilot.")] = 0.7,
    top_logprobs: Annotated[int, typer.Option(help="Alternatives (logprobs) asked for at each token; 0 for an endpoint without.")] = 20,
    contradiction: Annotated[
        str,
        typer.Option(help="How contradictions of steps are found: rules, judge (extra calls), or the folder of an NLI (inference) model."),
    ] = "rules",
    concurrency: Annotated[int, typer.Option(help="Calls in flight at a time.")] = 4,
    timeout: Annotated[float, typer.Option(help="Seconds that an attempt may take.")] = 120.0,
    attempts: Annotated[int, typer.Option(help="Attempts of a call before it counts as failed.")] = 5,
    limit_field: Annotated[str, typer.Option(help="max_tokens or max_completion_tokens, as the endpoint calls it.")] = "max_tokens",
    send_seed: Annotated[bool, typer.Option(help="Send a seed with each call.")] = False,
    schema: Annotated[bool, typer.Option(help="Send the JSON schema of judges' replies.")] = True,
    check_prices: Annotated[bool, typer.Option(help="Compare your prices with a package of list prices (extra `prices`).")] = False,
    seed: Seed = 0,
    resume: Annotated[bool, typer.Option(help="Continue a run that the ledger holds.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Send nothing; print calls, tokens and money.")] = False,
    as_json: JsonFlag = False,
    out: OutFile = None,
) -> None:
    """Run a protocol against a real chat endpoint: every attempt is reserved in a ledger before it is sent, and the cap is never passed."""
    cap = picodollars(cap_usd)
    case = run_case(protocol, population, read_settings(settings), prices, model, max_tokens)
    family = "reasoning" if isinstance(case.protocol, Protocol) else "judging"
    asked = read_questions(questions) if family == "reasoning" else read_items(questions)
    prediction = Prediction(case, len(asked))
    if dry_run:
        _show_prediction(prediction, cap_usd, contradiction, as_json, out)
        return
    endpoint = endpoint_of(
        case, base_url, key_env, temperature=temperature, top_logprobs=top_logprobs, concurrency=concurrency, timeout=timeout,
        attempts=attempts, limit_field=limit_field, send_seed=send_seed, structured=schema,
    )  # fmt: skip
    methods = methods_of(contradiction)
    _warn_of_cap(prediction, cap_usd)
    if check_prices:
        _check_prices(case, endpoint.base_url)
    identity = settings_of(case, endpoint, methods, asked, seed)
    with Ledger(ledger) as book:
        run_id = enter(book, family, identity, prediction.to_json(), resume=resume)
        summary = _send_all(case, endpoint, methods, asked, book, run_id, cap, seed)
        report = run_report(book, run_id)
    report |= {"failed": summary.failed, "stopped": str(summary.stopped) if summary.stopped else None, "done_here": summary.here}
    emit(report, as_json=as_json, out=out, show=lambda screen: _show(report, screen))
    if summary.stopped:
        raise summary.stopped
    if summary.failed:
        name, reason = next(iter(summary.failed.items()))
        raise InterruptedRunError(f"{len(summary.failed)} of {len(asked)} questions got no usable answer; {name}: {reason}")


# What talks to an endpoint is imported where it is used: a dry run, and the other commands, need no HTTP client.
def _send_all(case: Case, endpoint: Any, methods: Any, asked: list[Any], book: Any, run_id: str, cap: int, seed: int) -> Any:
    from ...live.campaign import campaign
    from ...live.client import Client
    from ...live.judging import judge_work_on
    from ...live.reasoning import work_on

    assert case.pricing is not None
    with (
        Client(endpoint, book, run_id, case.pricing.price, cap, case.pricing.prices.prices) as client,
        progress("questions", len(asked)) as advance,
    ):
        if isinstance(case.protocol, Protocol):
            work: Any = work_on(case.protocol, case.population, client, methods, seed)
        else:
            work = judge_work_on(case.protocol, case.population, client, seed)
        try:
            return campaign(work, asked, book, client, advance=advance)
        except KeyboardInterrupt:
            raise InterruptedRunError("interrupted; what was answered is in the ledger, --resume continues.") from None


def _check_prices(case: Case, base_url: str) -> None:
    assert case.pricing is not None
    _, difference = cross_check(case.pricing.price, base_url)
    if difference:
        warn(difference)


def _warn_of_cap(prediction: Prediction, cap_usd: float) -> None:
    law = prediction.laws["usd"]
    if law.mean > cap_usd:
        warn(f"the run is expected to cost {law.mean:.4f} USD and the cap is {cap_usd:g}: it will stop before its end.")
    elif law.quantile(0.95) > cap_usd:
        warn(f"with a probability of {1 - law.at_most(cap_usd):.2f} the run passes the cap of {cap_usd:g} USD and stops before its end.")


def _show_prediction(prediction: Prediction, cap_usd: float, contradiction: str, as_json: bool, out: Path | None) -> None:
    law = prediction.laws["usd"]
    data: dict[str, Any] = {"dry_run": True, "protocol": prediction.case.protocol.name, **prediction.to_json()}
    data |= {"cap_usd": cap_usd, "p_over_cap": 1 - law.at_most(cap_usd), "notes": _notes(prediction, contradiction)}

    def show(screen: Console) -> None:
        title = f"{data['protocol']}, {prediction.items} questions, {prediction.case.population.name} (exact law; nothing was sent)"
        columns = ("total", "mean", "95 % range", "p95", "worst case", "unit")
        table = new_table(title, columns, left=("total", "unit"), overflow="fold")
        for name, total in data["totals"].items():
            low, high = total["range95"]
            cells = [_figure(value, total["unit"]) for value in (total["mean"], total["p95"], total["worst_case"])]
            between = f"{_figure(low, total['unit'])} to {_figure(high, total['unit'])}"
            table.add_row(name, cells[0], between, cells[1], cells[2], total["unit"])
        screen.print(table)
        over = data["p_over_cap"]
        chance = "less than 0.001" if over < 0.001 else f"{over:.3f}"
        screen.print(f"P(the run reaches the cap of {cap_usd:g} US$): {chance}; it would stop there.")
        for note in data["notes"]:
            screen.print(f"note: {note}", markup=False)

    emit(data, as_json=as_json, out=out, show=show)


def _figure(value: float, unit: str) -> str:
    if unit == "US$":
        return f"{value:,.2f}" if value >= 10 else f"{value:.4g}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.1f}"


def _notes(prediction: Prediction, contradiction: str) -> list[str]:
    prices = prediction.pricing.to_dict()
    notes = [
        f"prices: {prices['model']}, {prices['list']}, as of {prices['as_of']}.",
        "Tokens are the population's, not counted on these questions; calibrate on a small run of your own to replace them.",
        "Attempts that fail may be billed again: they count against the cap and not in these totals.",
        *prediction.result.notes,
    ]
    if contradiction == "judge" and isinstance(prediction.case.protocol, Protocol):
        chains = prediction.case.protocol.chains
        pairs = chains * (chains - 1) // 2
        notes.append(
            f"--contradiction judge adds up to {pairs} calls a step and question; they count against the cap and not in these totals."
        )
    return notes


def _show(report: dict[str, Any], screen: Console) -> None:
    accuracy = report["accuracy"]
    screen.print(f"run {report['run_id']}: {report['done']} of {report['items']} questions done, {report['done_here']} of them now.")
    if accuracy:
        low, high = accuracy["ci95"]
        screen.print(f"accuracy {accuracy['mean']:.4f}, 95 % interval [{low:.4f}, {high:.4f}], {report['graded']} graded questions")
    money = report["ledger"]
    screen.print(
        f"charged {money['charged_usd']:.6f} USD: {money['settled_usd']:.6f} confirmed by usage, {money['uncertain_usd']:.6f} for "
        f"failed attempts, {money['dangling_usd']:.6f} for attempts that nobody settled"
    )
    if report["predicted_vs_actual"]:
        screen.print(comparison_table(report["predicted_vs_actual"]))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(run)
