"""Processes on one ledger, under random faults and random kills, until every question has its outcome; and what must be true then."""

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from faultproxy import AFTER, BEFORE, CHANGED, Exchange, FaultProxy
from scripted import wire_key

from adjourn.live.money import PICO, Rate
from adjourn.live.reading import LedgerReader
from adjourn.model import Price

COMMAND = "import sys; from adjourn.experiments.cli import main; sys.argv[0] = 'adjourn'; main()"
RARE = {"401": 0.004, "400": 0.004, "late": 0.01}


def choose(seed: int, healthy: float):
    """Fault of each request: none with probability `healthy`; those that end a process are rare."""
    usual = [fault for fault in (*BEFORE, *AFTER, *CHANGED) if fault not in RARE]

    def fault(number: int, key: str) -> str:
        draw = random.Random(f"{seed}/{number}")
        u = draw.random()
        for name, share in RARE.items():
            if u < share:
                return name
            u -= share
        return "" if draw.random() < healthy else draw.choice(usual)

    return fault


@dataclass
class Report:
    """What a campaign did."""

    attempts: int = 0
    requests: int = 0
    kills: int = 0
    starts: int = 0
    exits: Counter = field(default_factory=Counter)
    faults: Counter = field(default_factory=Counter)
    cap: int = 0
    raised: int = 0
    highest: int = 0
    charged: int = 0
    settled: int = 0
    uncertain: int = 0
    dangling: int = 0
    dangling_attempts: int = 0
    billed: int = 0
    billed_known: int = 0
    seconds: float = 0.0


def hammer(
    folder: Path,
    proxy: FaultProxy,
    arguments: list[str],
    ledger: Path,
    *,
    caps: list[int],
    processes: int = 2,
    kills: int,
    kill_every: tuple[int, int],
    seed: int,
    until: float = 1500.0,
) -> Report:
    """Run `adjourn run ARGUMENTS` in several processes, kill -9 some at random moments, start them again until all end well.

    Where a process stopped at its cap, the next of `caps` is given from then on.
    """
    draw = random.Random(seed)
    report = Report()
    level = 0
    began = time.monotonic()
    base = [sys.executable, "-c", COMMAND, "run", *arguments, "--ledger", str(ledger), "--base-url", proxy.url]
    running: list[subprocess.Popen] = []
    deadly = draw.randint(*kill_every)  # number of requests at which somebody dies
    levels: dict[subprocess.Popen, int] = {}
    done = 0
    while done < processes:
        if time.monotonic() - began > until:
            raise TimeoutError("the campaign did not end")
        while len(running) + done < processes:
            # The ledger exists after the first start; whoever enters the run first makes it.
            known = ledger.exists() and _has_run(ledger)
            log = (folder / f"process-{report.starts}.txt").open("w")
            process = subprocess.Popen(
                [*base, "--cap-usd", str(caps[level] / PICO), *(["--resume"] if known else [])], stdout=log, stderr=log
            )
            log.close()
            levels[process] = level
            running.append(process)
            report.starts += 1
            while not known and process.poll() is None and not _has_run(ledger):
                time.sleep(0.05)
        time.sleep(0.02)
        if report.kills < kills and len(proxy.exchanges) >= deadly:
            draw.choice(running).send_signal(signal.SIGKILL)
            report.kills += 1
            deadly = len(proxy.exchanges) + draw.randint(*kill_every)
        for process in list(running):
            if process.poll() is not None:
                running.remove(process)
                report.exits[process.returncode] += 1
                done += process.returncode == 0
                if process.returncode == 4 and levels[process] == level < len(caps) - 1:
                    assert _highest(ledger) <= caps[level], "the cap was passed"
                    level += 1
    report.seconds = time.monotonic() - began
    report.cap, report.raised = caps[level], level
    _judge(report, proxy, ledger)
    return report


def _highest(ledger: Path) -> int:
    with LedgerReader(ledger) as book:
        return max(row[0] for row in book._rows("SELECT total FROM charges"))


def _has_run(ledger: Path) -> bool:
    if not ledger.exists():
        return False
    try:
        with LedgerReader(ledger) as book:
            return bool(book.runs())
    except Exception:
        return False


def _judge(report: Report, proxy: FaultProxy, ledger: Path) -> None:
    """Compare the ledger with what the proxy saw; every line here is an invariant."""
    with LedgerReader(ledger) as book:
        (run,) = book.runs()
        assert book.check() == []
        totals = book.totals()
        rate = Rate.of(
            Price("", run["settings"]["prices"]["prompt_usd_per_million"], run["settings"]["prices"]["completion_usd_per_million"])
        )
        rows = book._rows(
            "SELECT a.call_key, a.id, s.state, s.prompt_tokens, s.completion_tokens"
            " FROM attempts a LEFT JOIN settlements s ON s.attempt_id = a.id"
        )
        outcomes = book.outcomes(run["run_id"])
        messages = dict(book._rows("SELECT call_key, attempt_id FROM messages"))
    seen: dict[str, list[Exchange]] = {}
    for exchange in proxy.exchanges:
        seen.setdefault(exchange.key, []).append(exchange)
    report.attempts, report.requests = totals.attempts, len(proxy.exchanges)
    report.faults = Counter(exchange.fault or "none" for exchange in proxy.exchanges)
    report.charged, report.settled = totals.charged, totals.settled
    report.uncertain, report.dangling, report.dangling_attempts = totals.uncertain, totals.dangling, totals.dangling_attempts
    report.billed = sum(rate.cost(e.prompt_tokens, e.completion_tokens) for e in proxy.exchanges)

    report.highest = _highest(ledger)
    assert report.highest <= report.cap, "the cap was passed"
    assert totals.charged == totals.settled + totals.uncertain + totals.dangling
    assert report.billed <= totals.charged, "more was billed than is charged"
    assert len(outcomes) == run["settings"]["items"], "a question has no outcome, or two"

    # Every answer that was settled was billed for exactly what the proxy saw: as multisets, call by call.
    places = {wire_key(run["run_id"], *key.split("/", 1)): key for key, *_ in rows}
    assert set(seen) <= set(places)
    by_call: dict[str, list[tuple]] = {}
    for key, attempt, state, prompt, completion in rows:
        by_call.setdefault(key, []).append((attempt, state, prompt, completion))
    for wire, key in places.items():
        exchanges = seen.get(wire, [])
        attempts = by_call[key]
        assert len(exchanges) <= len(attempts), "a request without a row"
        known = Counter((prompt, completion) for _, _, prompt, completion in attempts if prompt is not None)
        assert known <= Counter((e.prompt_tokens, e.completion_tokens) for e in exchanges if e.prompt_tokens), "usage that nobody billed"
        report.billed_known += sum(rate.cost(*usage) * count for usage, count in known.items())
        # An answered call is never asked again: its answer came with its last attempt, and only one attempt was answered.
        answered = [attempt for attempt, state, *_ in attempts if state == "answered"]
        assert len(answered) <= 1, "an answered call was asked again"
        if answered:
            assert messages[key] == answered[0] == max(attempt for attempt, *_ in attempts), "an answered call was asked again"
    assert report.billed_known == report.settled, "the ledger's settled sum is not the proxy's"


def text(report: Report) -> str:
    """The figures, for a person."""
    values = {name: value if not isinstance(value, Counter) else dict(value) for name, value in vars(report).items()}
    money = {"cap", "highest", "charged", "settled", "uncertain", "dangling", "billed", "billed_known"}
    return json.dumps({name: value / PICO if name in money else value for name, value in values.items()}, indent=1, default=str)
