"""Small valid files and hostile values, and ways to spoil the former."""

from __future__ import annotations

import json
import random

__all__ = [
    "NUMBERS",
    "PRICES",
    "TEXTS",
    "as_json_lines",
    "inspect_log",
    "judge_log",
    "judging_population",
    "lm_eval_log",
    "pilot_log",
    "population",
    "spoil",
    "step_log",
]

NUMBERS = (
    *("nan", "inf", "-inf", "1e400", "-1", "0", "1", "1e-320", "-0.0", "0.5", "1.0000001", "1/0", "2/3", "9" * 400, "-" + "9" * 50),
    *("1e15", "1e18", str(2**63), str(2**64), "0x10", "1_000", "1,5", "", " ", "true", "None", "١٢", "½", "1e", "++1", "NaN(1)"),
    *(
        "9" * 5000,
        "1e-400",
        "-0",
        "−1",
        "１",
        " 5 ",
        "1.",
        ".5",
        "2" * 18,
        "1e308",
        "-1e308",
        "1e999999999",
        "5e-324",
        "0.1e1",
        "²",
        "\u200b1",
    ),
    *(str(2**31), str(2**53 + 1), "100000000", "1/3", "7/" + "9" * 5000, "Infinity", "1\u00a0000", "1\n", "\u202e1"),
)
TEXTS = (
    *("", " ", "\u202e", "\u0000", "é" * 5000, "\ud83d", "[bold]x[/bold]", "[/]", "{0}", "%s", "=cmd|'x'!A0", "'; DROP TABLE runs;--"),
    *(
        "../../etc",
        "-",
        "--",
        "a=b=c",
        "\n",
        "\t",
        "🙂",
        "null",
        "x" * 100_000,
        "\u200b",
        "\ufeff",
        "\x1b[2J",
        "a\rb",
        "\u2028",
        "\u2066x\u2069",
    ),
)
TOML_VALUES = (
    *("nan", "inf", "-inf", "1e400", "-1", "0", "1.5", "9" * 30, '""', '"x"', "[]", "{}", "true", "1979-05-27", "[[1,2],[3]]"),
    *("[nan]", '"\\u0000"', "1e-300", "{ a = 1 }", "'''\n'''", "9" * 5000, "-0.0", "0x10", "1_000", '"\\u202e"', '"\\ud800"', "1e308"),
    *("07:32:00", "[" * 500 + "]" * 500, "{ a = " * 50 + "1" + " }" * 50, '"' + "x" * 100_000 + '"', "[0.5, 0.5]", '"1/3"', "5e-324"),
)
PRICES = (
    'as_of = "2026-11-01"\nsource = "s"\ncurrency = "USD"\n[models."m"]\nprompt_usd_per_million = 0.5\ncompletion_usd_per_million = 1.5\n'
)
_BLOBS = (b"", b"\n\n", b"\x00" * 100, b"{", b"[", b"{}" * 1000, b"[" * 100_000, b"a" * 3_000_000, b'"' + b"b" * 200_000)
_MORE_BLOBS = (b"\xef\xbb\xbf", b"{" * 100_000, b",".join(b"c%d" % i for i in range(2000)) + b"\n", b'{"a":' * 3000 + b"1" + b"}" * 3000)


def pilot_log(questions: int = 10) -> str:
    """Two rounds of three agents."""
    lines = ["question_id,round,agent,answer,correct,confidence,prompt_tokens,completion_tokens,model"]
    for question in range(questions):
        for round_ in range(2):
            for agent in range(3):
                right = (question + agent + round_) % 3 > 0
                lines.append(f"q{question},{round_},{agent},{question if right else 100 + agent},{int(right)},7,100,50,m")
    return "\n".join(lines) + "\n"


def judge_log(items: int = 12) -> str:
    """Three judges, both orders, scores."""
    lines = ["item_id,judge,order,score_a,score_b,label,prompt_tokens,completion_tokens"]
    for item in range(items):
        for judge in range(3):
            for order in ("AB", "BA"):
                scores = f"{5 + (item + judge) % 4},{6 + (item * 7 + judge) % 3}"
                lines.append(f"i{item},j{judge},{order},{scores},{'AB'[item % 2]},300,20")
    return "\n".join(lines) + "\n"


def step_log(questions: int = 60) -> str:
    """Four steps a question, one of them faulty in two of three."""
    lines = ["question_id,step,h,q,d,faulty"]
    for q in range(questions):
        for step in range(4):
            faulty = int(q % 3 > 0 and step == q % 4)
            h, a, d = (0.1 + 0.5 * faulty + ((q * k + step) % 7) / 20 for k in (3, 5, 11))
            lines.append(f"q{q},{step},{h:.3f},{a:.3f},{d:.3f},{faulty}")
    return "\n".join(lines) + "\n"


def as_json_lines(text: str) -> str:
    """The rows of a CSV text as JSON Lines; numbers as numbers, what is empty as null."""
    header, *rows = (line.split(",") for line in text.splitlines())
    return "".join(json.dumps({key: _plain(value) for key, value in zip(header, row, strict=True)}) + "\n" for row in rows)


def _plain(value: str) -> object:
    try:
        return int(value)
    except ValueError:
        return value or None


def inspect_log() -> str:
    """Eight questions, three epochs."""
    samples = [
        {"id": q, "epoch": e, "input": str(q), "scores": {"m": {"value": "CI"[(q + e) % 2], "answer": str(q + e)}}}
        for q in range(8)
        for e in (1, 2, 3)
    ]
    return json.dumps({"version": 2, "status": "success", "eval": {"model": "m"}, "samples": samples}, indent=1)


def lm_eval_log() -> str:
    """Eight documents."""
    rows = [
        {"doc_id": q, "doc": {}, "filter": "none", "filtered_resps": [str(q)], "metrics": ["acc"], "acc": float(q % 2)} for q in range(8)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def population() -> str:
    """A shipped population of questions."""
    from adjourn.model import load_population

    return load_population("math-gpt35").to_toml()


def judging_population() -> str:
    """A shipped population of items."""
    from adjourn.model.judging import DEFAULT_JUDGING_POPULATION, load_judging_population

    return load_judging_population(DEFAULT_JUDGING_POPULATION).to_toml()


def spoil(text: str, rng: random.Random) -> bytes:
    """Damage a text file in one of many ways."""
    raw = bytearray(text.encode())
    way = rng.randrange(18)
    if way == 0:
        return bytes(raw[: rng.randrange(len(raw))])
    if way == 1:
        for _ in range(rng.choice((1, 3, 50))):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        return bytes(raw)
    if way == 2:
        return text.encode(rng.choice(("utf-16", "utf-8-sig", "utf-32", "utf-16-le")))
    if way == 3:
        return rng.choice((*_BLOBS, *_MORE_BLOBS))
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
        lines = [line.replace("\n", rng.choice(("\r\n", "\r"))) for line in lines]
    elif way == 9:
        lines = [_doubled(line) for line in lines]
    elif way == 10:
        column, value = rng.randrange(9), rng.choice((*NUMBERS, *TEXTS[:14]))
        lines = [lines[0], *(_respell(line, rng, column, value) for line in lines[1:])]
    else:
        lines[at] = _respell(lines[at], rng)
    return "".join(lines).encode("utf-8", "surrogatepass" if way == 11 else "replace")


def _doubled(line: str) -> str:
    """The line with its first entry twice: a column, or a key of an object."""
    first, comma, rest = line.partition(",")
    return f"{first}{comma}{first.lstrip('{')}{comma}{rest}"


def _respell(line: str, rng: random.Random, at: int | None = None, value: str | None = None) -> str:
    """Put another value in place of one value of a line of CSV, TOML or JSON."""
    if " = " in line:
        key, _, _ = line.partition(" = ")
        return f"{key} = {rng.choice(TOML_VALUES)}\n"
    mark = ": " if ": " in line else ","
    parts = line.rstrip("\n").split(mark)
    parts[rng.randrange(len(parts)) if at is None else at % len(parts)] = (value or rng.choice((*NUMBERS, *TEXTS[:14]))).replace("\n", " ")
    return mark.join(parts) + "\n"
