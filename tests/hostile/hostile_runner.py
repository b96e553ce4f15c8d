"""Run one command line in this process under limits, and say what is wrong with how it ended."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Outcome", "run_case"]

SECONDS = 20.0
GOOD_CODES = {0, 2, 3, 4}


@dataclass(frozen=True)
class Outcome:
    """What a case did; ``fault`` is empty where it passed."""

    words: tuple[str, ...]
    code: int | None
    fault: str
    seconds: float
    out: str = ""
    err: str = ""


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
    return Outcome(
        tuple(words),
        code,
        fault or _fault(words, code, out.getvalue(), err.getvalue()),
        time.process_time() - start,
        out.getvalue(),
        err.getvalue(),
    )


def _fault(words: list[str], code: int | None, out: str, err: str) -> str:
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    if code not in GOOD_CODES:
        return f"exit code {code}: {err[-400:]}"
    if "Traceback (most recent call last)" in out + err:
        return "a traceback"
    if code and len(errors) != 1:
        return f"{len(errors)} errors where one was expected: {err[-300:]!r}"
    if "the system refused" in err:
        return f"an error without a field: {err[:300]}"
    if any(not (c.isprintable() or c in "\n\t") for c in err):
        return f"control characters on the screen: {err[:300]!r}"
    if code == 0 and errors:
        return f"success that says {errors[0][:200]}"
    if code == 0 and "--json" in words:
        try:
            data = json.loads(out, parse_constant=_refuse_constant)
        except ValueError as error:
            return f"--json printed no strict JSON ({error})"
        return next(_impossible("", data), "")
    return ""


def _impossible(name: str, value: Any) -> Iterator[str]:
    """Numbers that cannot be: an interval without its mean's side, a share or a probability beyond 0 and 1, negative calls or money."""
    if isinstance(value, list):
        for entry in value:
            yield from _impossible(name, entry)
    elif isinstance(value, dict):
        if set(value) == {"mean", "ci95"} and None not in (value["mean"], *value["ci95"]):
            low, high = value["ci95"]
            if not low - 1e-9 <= high + 1e-9:
                yield f"{name}: the interval [{low}, {high}]"
            value = {name: value["mean"]}
        for key, entry in value.items():
            yield from _impossible(key, entry)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        if name in ("accuracy", "p_over_budget", "p_over_cap", "swap_consistency") and not -1e-9 <= value <= 1 + 1e-9:
            yield f"{name} = {value}"
        if name in ("calls", "debate_calls", "prompt_tokens", "completion_tokens", "usd") and value < -1e-9:
            yield f"{name} = {value}"


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
