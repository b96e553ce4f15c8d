"""Malformed and hostile inputs for every command, run in this process: ``python tests/hostile/campaign.py [--cases 1000] [--seed 0]``.

A case is a command line with files of its own. It passes where the command ends with 0, 2, 3 or 4 within its limit of processor time, shows
no traceback and, unless it succeeds, says exactly one error; what it prints under ``--json`` must be strict JSON. Memory is capped, so
that a blow-up is a failure and not the end of the machine. Faults are listed with the command line that shows them; all files are kept in
the folder that ``--keep`` names.

The suite runs a small form (``test_hostile.py``); every fault that the campaign found has a test there.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Outcome", "cases", "run_case"]

SECONDS = 20.0
MEMORY = 8 << 30
GOOD_CODES = {0, 2, 3, 4}

NUMBERS = (
    *("nan", "inf", "-inf", "1e400", "-1", "0", "1", "1e-320", "-0.0", "0.5", "1.0000001", "1/0", "2/3", "9" * 400, "-" + "9" * 50),
    *("1e15", "1e18", str(2**63), str(2**64), "0x10", "1_000", "1,5", "", " ", "true", "None", "١٢", "½", "1e", "++1", "NaN(1)"),
)
TEXTS = (
    *(
        "",
        " ",
        "\u202e",
        "\u0000",
        "é" * 5000,
        "\ud83d",
        "[bold]x[/bold]",
        "[/]",
        "{0}",
        "%s",
        "=cmd|'x'!A0",
        "'; DROP TABLE runs;--",
        "../../etc",
    ),
    *("-", "--", "a=b=c", "\n", "\t", "🙂", "null", "x" * 100_000),
)
TOML_VALUES = (
    *("nan", "inf", "-inf", "1e400", "-1", "0", "1.5", "9" * 30, '""', '"x"', "[]", "{}", "true", "1979-05-27", "[[1,2],[3]]"),
    *("[nan]", '"\\u0000"', "1e-300", "{ a = 1 }", "'''\n'''"),
)


@dataclass(frozen=True)
class Outcome:
    """What a case did; ``fault`` is empty where it passed."""

    words: tuple[str, ...]
    code: int | None
    fault: str
    seconds: float


class _HangError(BaseException):
    pass


def _stop(signum: int, frame: object) -> None:
    raise _HangError


def run_case(words: list[str], folder: Path, seconds: float = SECONDS) -> Outcome:
    """Run one command line in a folder."""
    from adjourn.experiments import cli

    out, err, start = io.StringIO(), io.StringIO(), time.process_time()
    code, fault, before = None, "", Path.cwd()
    handlers = signal.signal(signal.SIGPROF, _stop), signal.signal(signal.SIGALRM, _stop)
    os.chdir(folder)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, 6 * seconds)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli._run(words, False)
    except _HangError:
        fault = f"no end within {seconds:g} s of processor time"
    except BaseException as error:
        fault = f"{type(error).__name__} left the command: {error}"[:300]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGPROF, handlers[0])
        signal.signal(signal.SIGALRM, handlers[1])
        os.chdir(before)
    return Outcome(tuple(words), code, fault or _fault(words, code, out.getvalue(), err.getvalue()), time.process_time() - start)


def _fault(words: list[str], code: int | None, out: str, err: str) -> str:
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    if code not in GOOD_CODES:
        return f"exit code {code}: {err[-400:]}"
    if "Traceback (most recent call last)" in out + err:
        return "a traceback"
    if code and len(errors) != 1:
        return f"{len(errors)} errors where one was expected: {err[-300:]!r}"
    if code == 0 and errors:
        return f"success that says {errors[0][:200]}"
    if code == 0 and "--json" in words:
        try:
            json.loads(out, parse_constant=_refuse_constant)
        except ValueError as error:
            return f"--json printed no strict JSON ({error})"
    return ""


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


# Material: small valid files that are then spoilt.


def _pilot() -> str:
    lines = ["question_id,round,agent,answer,correct,confidence,prompt_tokens,completion_tokens,model"]
    for question in range(10):
        for round_ in range(2):
            for agent in range(3):
                right = (question + agent + round_) % 3 > 0
                lines.append(f"q{question},{round_},{agent},{question if right else 100 + agent},{int(right)},7,100,50,m")
    return "\n".join(lines) + "\n"


def _judges() -> str:
    lines = ["item_id,judge,order,score_a,score_b,label"]
    for item in range(12):
        for order in ("AB", "BA"):
            lines.append(f"i{item},j,{order},{5 + item % 4},{6 + item % 3},{'AB'[item % 2]}")
    return "\n".join(lines) + "\n"


def _inspect() -> str:
    samples = [
        {"id": q, "epoch": e, "input": str(q), "scores": {"m": {"value": "CI"[(q + e) % 2], "answer": str(q + e)}}}
        for q in range(8)
        for e in (1, 2, 3)
    ]
    return json.dumps({"version": 2, "status": "success", "eval": {"model": "m"}, "samples": samples}, indent=1)


def _lm_eval() -> str:
    rows = [
        {"doc_id": q, "doc": {}, "filter": "none", "filtered_resps": [str(q)], "metrics": ["acc"], "acc": float(q % 2)} for q in range(8)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


PRICES = (
    'as_of = "2026-11-01"\nsource = "s"\ncurrency = "USD"\n[models."m"]\nprompt_usd_per_million = 0.5\ncompletion_usd_per_million = 1.5\n'
)


def _population() -> str:
    from adjourn.model import load_population

    return load_population("math-gpt35").to_toml()


def spoil(text: str, rng: random.Random) -> bytes:
    """Damage a text file in one of many ways."""
    raw = bytearray(text.encode())
    way = rng.randrange(11)
    if way == 0:
        return bytes(raw[: rng.randrange(len(raw))])
    if way == 1:
        for _ in range(rng.choice((1, 3, 50))):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        return bytes(raw)
    if way == 2:
        return text.encode(rng.choice(("utf-16", "utf-8-sig", "utf-32", "utf-16-le")))
    if way == 3:
        return rng.choice((b"", b"\n\n", b"\x00" * 100, b"{", b"[", b"{}" * 1000, b"[" * 100_000, b"a" * 3_000_000, b'"' + b"b" * 200_000))
    lines = text.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    if way == 4:
        del lines[at]
    elif way == 5:
        lines.insert(at, lines[rng.randrange(len(lines))])
    elif way == 6:
        rng.shuffle(lines)
    elif way == 7:
        lines[at] = rng.choice(TEXTS).encode("utf-8", "replace").decode() + "\n"
    elif way == 8:
        lines = [line.replace("\n", "\r\n") for line in lines]
    else:
        lines[at] = _respell(lines[at], rng)
    return "".join(lines).encode("utf-8", "replace")


def _respell(line: str, rng: random.Random) -> str:
    """Put another value in place of one value of a line of CSV, TOML or JSON."""
    if " = " in line:
        key, _, _ = line.partition(" = ")
        return f"{key} = {rng.choice(TOML_VALUES)}\n"
    mark = ": " if ": " in line else ","
    parts = line.rstrip("\n").split(mark)
    parts[rng.randrange(len(parts))] = rng.choice((*NUMBERS, *TEXTS[:12])).replace("\n", " ")
    return mark.join(parts) + "\n"


# Cases.

Make = Callable[[random.Random, Path], list[str]]


def _write(folder: Path, name: str, raw: bytes) -> str:
    (folder / name).write_bytes(raw)
    return name


def _odd_path(rng: random.Random, folder: Path) -> str:
    (folder / "a folder").mkdir(exist_ok=True)
    (folder / "a file").write_bytes(b"x")
    (folder / "a link").symlink_to("/dev/full")
    return rng.choice(
        ("a folder", "a file", "nowhere/x.json", "a file/x.json", "", ".", "/", "x" * 300, "a link", "nul\0byte", "é ü.json", "/proc/x")
    )


def _log(rng: random.Random, folder: Path) -> list[str]:
    name = rng.choice(("log.csv", "a log.csv", "журнал.csv"))
    path = _write(folder, name, spoil(rng.choice((_pilot, _pilot, _judges, _inspect, _lm_eval))(), rng))
    return [
        "calibrate",
        path,
        "--draws",
        "0",
        *rng.choice(((), ("--json",), ("--map", rng.choice(TEXTS)), ("--out", _odd_path(rng, folder)))),
    ]


def _other_log(rng: random.Random, folder: Path) -> list[str]:
    path = _write(folder, "log.csv", spoil(rng.choice((_pilot, _judges))(), rng))
    if rng.random() < 0.4:
        return ["validate", path, "--splits", "3", "--json"]
    if rng.random() < 0.5:
        return ["solve", "cot_sc", "--find", "accuracy", "--items", "10", "--budget-usd", "1", "--pilot", path, "--draws", "10"]
    return ["plan", "--pilot", path, "--items", rng.choice(NUMBERS), "--budget-usd", rng.choice(NUMBERS), "--draws", "20", "--json"]


def _import(rng: random.Random, folder: Path) -> list[str]:
    kind = rng.choice(("inspect", "lm-eval", "x"))
    path = _write(folder, rng.choice(("log.json", "log.eval")), spoil((_lm_eval if kind == "lm-eval" else _inspect)(), rng))
    return ["import", kind, path, "--out", rng.choice(("out.csv", _odd_path(rng, folder)))]


def _population_file(rng: random.Random, folder: Path) -> list[str]:
    path = _write(folder, "population.toml", spoil(_population(), rng))
    return ["simulate", rng.choice(("cot", "cot_sc", "down")), "--population", path, "--json"]


def _prices(rng: random.Random, folder: Path) -> list[str]:
    path = _write(folder, "prices.toml", spoil(PRICES, rng))
    return ["simulate", "cot_sc", "--prices", path, "--model", "m", "--json"]


def _setting(rng: random.Random, folder: Path) -> list[str]:
    from adjourn.experiments.families import judging_case, reasoning_case
    from adjourn.model.judging import judging_valid_keys
    from adjourn.model.settings import valid_keys

    name = rng.choice(("cot_sc", "fixed_mad", "uaad", "down", "esc", "adaptive_consistency", "single_judge", "mec_bpc", "samre", "more"))
    judging = name in ("single_judge", "mec_bpc", "samre", "more")
    case = judging_case(name) if judging else reasoning_case(name)
    keys = sorted((judging_valid_keys if judging else valid_keys)(case.protocol, case.population))
    settings = [f"{rng.choice(keys)}={rng.choice((*NUMBERS, *TEXTS))}" for _ in range(rng.choice((1, 1, 2)))]
    return ["simulate", name, "--json", *(word for setting in settings for word in ("--set", setting))]


def _option(rng: random.Random, folder: Path) -> list[str]:
    value = rng.choice((*NUMBERS, *TEXTS))
    return rng.choice(
        (
            ["simulate", "cot", "--engine", "mc", "--samples", rng.choice(("nan", "-1", "0", "1e3", "x", "1" * 400))],
            ["simulate", "cot", "--engine", value],
            ["simulate", value],
            ["simulate", "cot", "--seed", value],
            ["simulate", "cot", "--precision", rng.choice(("nan", "inf", "-1", "0", "x", "1"))],
            ["sweep", "--grid", f"tau_c={value}"],
            ["sweep", "--protocol", "cot_sc", "--grid", f"n={value}:{rng.choice(NUMBERS)}:{rng.choice(('3', '0', '-1', '1e9', value))}"],
            ["solve", "cot_sc", "--find", rng.choice(("accuracy", value)), "--items", value, "--budget-usd", rng.choice(NUMBERS)],
            [
                "solve",
                "cot_sc",
                "--find",
                "items",
                "--accuracy",
                value,
                "--budget-usd",
                rng.choice(NUMBERS),
                "--confidence",
                rng.choice(NUMBERS),
            ],
            ["tell-apart", "cot", "cot_sc", "--power", value, "--level", rng.choice(NUMBERS)],
            ["tell-apart", "cot", "cot_sc", "--items", value],
            ["sensitivity", "cot_sc", "--over", f"lam={value}:{rng.choice(NUMBERS)}", "--evaluations", "64"],
            ["sensitivity", "cot_sc", "--width", rng.choice(("nan", "inf", "-1", "0", value)), "--evaluations", "64"],
            ["discover", "uaad", "--points", value, "--cost", rng.choice(("calls", value))],
            ["compare", "cot", "cot_sc", "--samples", rng.choice(("nan", "-1", "0", value)), "--threads", "1"],
            ["theory", value],
            ["theory", "C4", "--without", value],
            ["reproduce", value],
            ["audit", value],
            [value, value],
        )
    )


def _toml_input(rng: random.Random, folder: Path) -> list[str]:
    from adjourn import experiments

    home = Path(experiments.__file__).parent
    if rng.random() < 0.6:
        source = home / "examples" / rng.choice(("audit-uaad.toml", "audit-d3.toml"))
        return ["audit", _write(folder, "figures.toml", spoil(source.read_text(), rng)), "--json"]
    return ["report", _write(folder, "result.json", spoil(json.dumps({"protocol": "x", "accuracy": {"mean": 1, "ci95": [0, 1]}}), rng))]


def _out(rng: random.Random, folder: Path) -> list[str]:
    path = _odd_path(rng, folder)
    commands = (
        ["simulate", "cot", "--out"],
        ["sweep", "--grid", "tau_c=0.5,1", "--plot"],
        ["theory", "U2", "--plot"],
        ["audit", "uaad", "--out"],
    )
    return [*rng.choice(commands), path]


def _checkpoint(rng: random.Random, folder: Path) -> list[str]:
    real = folder.parent / "checkpoint"
    words = ["simulate", "cot", "--engine", "mc", "--samples", "2000", "--threads", "1", "--json", "--checkpoint"]
    if not real.exists():
        run_case([*words, str(real)], folder.parent, 300)
    raw = bytearray(real.read_bytes())
    if rng.random() < 0.7:
        for _ in range(rng.choice((1, 5, 100))):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
    else:
        raw = raw[: rng.randrange(len(raw))]
    return [*words, rng.choice((_write(folder, "checkpoint", bytes(raw)),) * 4 + (_odd_path(rng, folder),))]


def _ledger(rng: random.Random, folder: Path) -> list[str]:
    from adjourn.live.ledger import Ledger

    real = folder.parent / "ledger.sqlite"
    if not real.exists():
        with contextlib.closing(Ledger(real)):
            pass
    raw = bytearray(real.read_bytes())
    for _ in range(rng.choice((0, 1, 20, 500))):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    path = _write(folder, "ledger.sqlite", bytes(raw[: rng.choice((len(raw), len(raw) // 2, 100, 0))]))
    return ["ledger", rng.choice((path, path, _odd_path(rng, folder))), *rng.choice(((), ("--json",), ("--run", rng.choice(TEXTS))))]


def _dry_run(rng: random.Random, folder: Path) -> list[str]:
    questions = _write(folder, "q.csv", spoil("question_id,question,gold\n" + "".join(f"q{i},What is {i}?,{i}\n" for i in range(5)), rng))
    prices = _write(folder, "prices.toml", PRICES.encode())
    cap = rng.choice((*NUMBERS, "5", "5", "5"))
    words = ["run", rng.choice(("cot", "uaad", "samre")), "--questions", questions, "--cap-usd", cap, "--prices", prices, "--model", "m"]
    return [*words, "--ledger", "l.sqlite", "--base-url", rng.choice(("http://127.0.0.1:9", "x", "", "file:///etc/passwd")), "--dry-run"]


MAKERS: tuple[tuple[Make, int], ...] = (
    (_log, 22),
    (_other_log, 6),
    (_import, 8),
    (_population_file, 14),
    (_prices, 8),
    (_setting, 16),
    (_option, 14),
    (_toml_input, 8),
    (_out, 5),
    (_checkpoint, 6),
    (_ledger, 6),
    (_dry_run, 6),
)


def cases(count: int, seed: int, home: Path) -> Iterator[tuple[str, list[str], Path]]:
    """Kind, command line and folder of each case; the same for the same seed."""
    kinds = [make for make, weight in MAKERS for _ in range(weight)]
    for number in range(count):
        rng = random.Random(f"{seed}:{number}")
        make = kinds[number % len(kinds)]
        folder = home / f"{number:04d}"
        folder.mkdir()
        yield make.__name__.strip("_"), make(rng, folder), folder


def main() -> int:
    """Run the campaign and report counts and faults."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=None)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    home = Path(tempfile.mkdtemp(prefix="hostile-")) if options.keep is None else options.keep
    home.mkdir(exist_ok=True, parents=True)
    codes: Counter[tuple[str, int | None]] = Counter()
    faults = 0
    slowest = 0.0
    for number, (kind, words, folder) in enumerate(cases(options.cases, options.seed, home)):
        found = run_case(words, folder)
        codes[kind, found.code] += 1
        slowest = max(slowest, found.seconds)
        if found.fault:
            faults += 1
            shown = " ".join(repr(word[:80]) for word in words)
            sys.stdout.write(
                f"{number:04d} {kind} {found.seconds:.1f} s: {shown}\n     {found.fault}\n".encode("utf-8", "replace").decode()
            )
            sys.stdout.flush()
    for (kind, code), n in sorted(codes.items(), key=str):
        sys.stdout.write(f"{kind:18} exit {code}: {n}\n")
    sys.stdout.write(f"{options.cases} cases, {faults} faults, slowest {slowest:.1f} s of processor time; files in {home}\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
