"""Makers of cases: a command line with files of its own, drawn at random."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from hostile_material import (
    NUMBERS,
    PRICES,
    TEXTS,
    as_json_lines,
    inspect_log,
    judge_log,
    judging_population,
    lm_eval_log,
    pilot_log,
    population,
    spoil,
    step_log,
)
from hostile_runner import run_case

__all__ = ["BASES", "MAKERS", "Make", "commands", "write_sound_files"]

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
    text = rng.choice((pilot_log, pilot_log, judge_log, judge_log, step_log, inspect_log, lm_eval_log))()
    path = _write(folder, name, spoil(as_json_lines(text) if "," in text.splitlines()[0] and rng.random() < 0.4 else text, rng))
    return [
        "calibrate",
        path,
        "--draws",
        "0",
        *rng.choice(((), ("--json",), ("--map", rng.choice(TEXTS)), ("--out", _odd_path(rng, folder)))),
    ]


def _other_log(rng: random.Random, folder: Path) -> list[str]:
    path = _write(folder, "log.csv", spoil(rng.choice((pilot_log, judge_log))(), rng))
    if rng.random() < 0.4:
        return ["validate", path, "--splits", "3", "--json"]
    if rng.random() < 0.5:
        return ["solve", "cot_sc", "--find", "accuracy", "--items", "10", "--budget-usd", "1", "--pilot", path, "--draws", "10"]
    return ["plan", "--pilot", path, "--items", rng.choice(NUMBERS), "--budget-usd", rng.choice(NUMBERS), "--draws", "20", "--json"]


def _import(rng: random.Random, folder: Path) -> list[str]:
    kind = rng.choice(("inspect", "lm-eval", "x"))
    path = _write(folder, rng.choice(("log.json", "log.eval")), spoil((lm_eval_log if kind == "lm-eval" else inspect_log)(), rng))
    return ["import", kind, path, "--out", rng.choice(("out.csv", _odd_path(rng, folder)))]


def _population_file(rng: random.Random, folder: Path) -> list[str]:
    path = _write(folder, "population.toml", spoil(population(), rng))
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


def _any_log(rng: random.Random) -> str:
    text = rng.choice((pilot_log, judge_log))()
    return as_json_lines(text) if rng.random() < 0.3 else text


def _plan(rng: random.Random, folder: Path) -> list[str]:
    """A sound or spoilt log of either family, with hostile options; a sound plan for judging takes longer than a case may."""
    judging = rng.random() < 0.4
    text = judge_log() if judging else pilot_log(6)
    path = _write(folder, "log.csv", text.encode() if rng.random() < 0.6 else spoil(text, rng))
    items, budget = (rng.choice(NUMBERS) if judging or rng.random() < 0.2 else sound for sound in ("100", rng.choice(("1", "1e-9"))))
    words = ["plan", "--pilot", path, "--items", items, "--budget-usd", budget]
    words += ["--draws", rng.choice(("20", "20", "0")), "--json", "--model", "gpt-3.5-turbo"]
    for option in ("--target-accuracy", "--risk", "--tolerance", "--confidence", "--seed", "--map", "--plot", "--out"):
        if rng.random() < 0.15:
            words += [option, rng.choice(NUMBERS if option[2:5] not in ("map", "plo", "out") else (*TEXTS, "round=agent", "item_id=judge"))]
    return words


def _weights(rng: random.Random, folder: Path) -> list[str]:
    path = _write(folder, "steps.csv", spoil(step_log(), rng))
    return ["calibrate-weights", path, "--json", *rng.choice(((), ("--seed", rng.choice(NUMBERS)), ("--map", rng.choice(TEXTS))))]


def _judging_toml(rng: random.Random, folder: Path) -> list[str]:
    path = _write(folder, "population.toml", spoil(judging_population(), rng))
    return ["simulate", rng.choice(("single_judge", "mec_bpc", "prd")), "--population", path, "--json"]


def _protocol_file(rng: random.Random, folder: Path) -> list[str]:
    """A protocol of either family in a file, spoilt, for a dry run."""
    from adjourn.model import load_protocol
    from adjourn.model.judging import load_judging_protocol
    from adjourn.model.tables import to_toml

    judging = rng.random() < 0.5
    held = (
        load_judging_protocol(rng.choice(("samre", "prd", "more"))) if judging else load_protocol(rng.choice(("uaad", "down")))
    ).to_dict()
    as_toml = rng.random() < 0.6
    name = "protocol.toml" if as_toml else "protocol.json"
    text = to_toml(held) if as_toml else json.dumps(rng.choice((held, {"recommendation": {"protocol": held}})), indent=1)
    path = _write(folder, name, spoil(text, rng))
    items = "item_id,question,answer_a,answer_b,label\n" + "".join(f"i{i},What?,yes {i},no {i},A\n" for i in range(4))
    questions = "question_id,question,gold\n" + "".join(f"q{i},What is {i}?,{i}\n" for i in range(4))
    asked = _write(folder, "asked.csv", (items if judging else questions).encode())
    words = ["run", path, "--questions", asked, "--cap-usd", "5", "--prices", _write(folder, "prices.toml", PRICES.encode())]
    return [*words, "--model", "m", "--ledger", "l.sqlite", "--dry-run", "--json"]


@lru_cache
def _results(home: Path) -> tuple[Path, ...]:
    """Saved results of several kinds, made once."""
    home.mkdir(exist_ok=True)
    (home / "log.csv").write_text(pilot_log())
    for name, words in (
        ("simulate", ["simulate", "cot_sc"]),
        ("sweep", ["sweep", "--grid", "tau_c=0.5,1"]),
        ("compare", ["compare", "cot", "cot_sc", "--samples", "1000"]),
        ("solve", ["solve", "cot_sc", "--find", "accuracy", "--items", "10", "--budget-usd", "1"]),
        ("apart", ["tell-apart", "cot", "cot_sc"]),
        ("audit", ["audit", "uaad"]),
        ("theory", ["theory", "U2"]),
        ("sensitivity", ["sensitivity", "cot_sc", "--evaluations", "64"]),
        ("validate", ["validate", "log.csv", "--splits", "5"]),
        ("plan", ["plan", "--pilot", "log.csv", "--items", "10", "--budget-usd", "1", "--draws", "20", "--model", "gpt-3.5-turbo"]),
    ):
        run_case([*words, "--out", f"{name}.json"], home, 120)
    run_case(["sweep", "--grid", "tau_c=0.5,1", "--out", "sweep.parquet"], home, 120)
    return tuple(sorted((*home.glob("*.json"), *home.glob("*.parquet"))))


def _report(rng: random.Random, folder: Path) -> list[str]:
    source = rng.choice(_results(folder.parent / "results"))
    if source.suffix == ".parquet":
        raw = bytearray(source.read_bytes())
        for _ in range(rng.choice((1, 20, 300))):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        path = _write(folder, "result.parquet", bytes(raw[: rng.choice((len(raw), len(raw) // 2))]))
    else:
        path = _write(folder, "result.json", spoil(source.read_text(), rng))
    return ["report", path, *rng.choice(((), ("--title", rng.choice(TEXTS)), ("--out", _odd_path(rng, folder))))]


def _reproduce(rng: random.Random, folder: Path) -> list[str]:
    from adjourn import experiments

    paper = rng.choice(("uaad", "d3"))
    shipped = sorted((Path(experiments.__file__).parent / "reproduce").glob(f"*{paper}*.toml"))
    return ["reproduce", paper, "--json", "--file", _write(folder, "figures.toml", spoil(shipped[0].read_text(), rng))]


BASES: dict[str, tuple[str, ...]] = {
    "audit": ("uaad",),
    "calibrate": ("pilot.csv", "--draws", "0"),
    "calibrate-weights": ("steps.csv",),
    "compare": ("cot", "cot_sc", "--samples", "1000", "--threads", "1"),
    "discover": ("down", "--points", "64"),
    "explore": ("nothing", "--no-browser"),
    "import": ("inspect", "inspect.json", "--out", "out.csv"),
    "ledger": ("ledger.sqlite",),
    "plan": ("--pilot", "pilot.csv", "--items", "10", "--budget-usd", "1", "--draws", "20", "--model", "gpt-3.5-turbo"),
    "populations": (),
    "protocols": (),
    "report": ("result.json",),
    "reproduce": ("uaad",),
    "run": ("cot", "--questions", "q.csv", "--cap-usd", "1", "--prices", "prices.toml", "--model", "m", "--ledger", "l", "--dry-run"),
    "sensitivity": ("cot_sc", "--evaluations", "64"),
    "simulate": ("cot_sc",),
    "solve": ("cot_sc", "--find", "accuracy", "--items", "10", "--budget-usd", "1"),
    "sweep": ("--grid", "tau_c=0.5,1"),
    "tell-apart": ("cot", "cot_sc"),
    "theory": ("U2",),
    "validate": ("pilot.csv", "--splits", "3"),
    "warmup": (),
}
"""A quick sound command line of each command; what it names is written beside it."""

_STARTS_PROCESSES = ("--local-cluster", "--scheduler")


def write_sound_files(folder: Path) -> None:
    """Write the files that the bases name."""
    for name, text in (("pilot.csv", pilot_log()), ("steps.csv", step_log()), ("inspect.json", inspect_log()), ("prices.toml", PRICES)):
        (folder / name).write_text(text)
    (folder / "q.csv").write_text("question_id,question,gold\nq1,What is 1?,1\n")
    (folder / "result.json").write_text(json.dumps({"kind": "x", "provenance": {}}))


def _every_option(rng: random.Random, folder: Path) -> list[str]:
    """Any option of any command, found by asking the command line, with a hostile value."""
    write_sound_files(folder)
    command = rng.choice(sorted(BASES))
    options = [option for option in _options(command) if option not in _STARTS_PROCESSES]
    words = [command, *BASES[command]]
    for option in rng.sample(options, min(len(options), rng.choice((1, 1, 1, 2)))):
        if option in words:  # the base's own value makes room
            at = words.index(option)
            del words[at : at + 2]
        words += [option, rng.choice(NUMBERS if rng.random() < 0.75 else TEXTS)]
    return words


@lru_cache
def _options(command: str) -> tuple[str, ...]:
    """Options of a command that take a value."""
    import typer

    from adjourn.experiments.cli import _build_app

    group: Any = typer.main.get_command(_build_app())
    params = [p for p in group.commands[command].params if p.opts[0].startswith("-") and not p.is_flag]
    return tuple(p.opts[0] for p in params if p.name != "help")


def commands() -> set[str]:
    """All commands of the command line."""
    import typer

    from adjourn.experiments.cli import _build_app

    group: Any = typer.main.get_command(_build_app())
    return set(group.commands)


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
    (_plan, 12),
    (_weights, 6),
    (_judging_toml, 10),
    (_protocol_file, 10),
    (_report, 10),
    (_reproduce, 4),
    (_every_option, 60),
)
