"""The command line that makes a result again, from its provenance."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

__all__ = ["command_again"]


def command_again(command: str, provenance: Mapping[str, Any]) -> str:
    """Return a command line; what has no name (a population of the user's own) is written in capitals."""
    maker = _MAKERS.get(command)
    words = maker(provenance) if maker else None
    return "" if words is None else shlex.join(["adjourn", *words])


def _name(table: Any, fallback: str) -> str:
    return str(table.get("name", fallback)) if isinstance(table, Mapping) else fallback


def _settings(settings: Any) -> list[str]:
    return [word for key, value in (settings or {}).items() for word in ("--set", f"{key}={value}")]


def grid_spec(values: Sequence[str]) -> str:
    """``start:stop:count`` where values are evenly spaced numbers, else a list."""
    try:
        numbers = [Fraction(v) for v in values]
    except (ValueError, ZeroDivisionError):
        return ",".join(values)
    steps = {b - a for a, b in pairwise(numbers)}
    return f"{values[0]}:{values[-1]}:{len(values)}" if len(values) > 3 and len(steps) == 1 and steps.pop() > 0 else ",".join(values)


def _simulate(p: Mapping[str, Any]) -> list[str]:
    words = ["simulate", _name(p.get("protocol"), "PROTOCOL"), "--population", _name(p.get("population"), "POPULATION.toml")]
    if p.get("engine") not in (None, "exact"):
        words += ["--engine", str(p["engine"]), "--samples", str(p.get("samples")), "--seed", str(p.get("seed"))]
    return words


def _sweep(p: Mapping[str, Any]) -> list[str]:
    words = ["sweep", *(w for name in p["protocols"] for w in ("--protocol", name))]
    words += ["--population", _name(p["population"], "POPULATION.toml")]
    words += [w for name, values in p["axes"] for w in ("--grid", f"{name}={grid_spec(values)}")]
    words += _settings(p.get("settings")) + (["--regret"] if p.get("regret") else [])
    return words + (["--engine", "mc", "--samples", str(p["samples"]), "--seed", str(p["seed"])] if p.get("engine") == "mc" else [])


def _over(inputs: Any) -> list[str]:
    specs = [(name, ",".join(levels) if levels else f"{low}:{high}") for name, low, high, levels in inputs or []]
    return [w for name, spec in specs for w in ("--over", f"{name}={spec}")]


def _study(command: str, p: Mapping[str, Any]) -> list[str] | None:
    if "protocol" not in p:
        return None
    words = [command, _name(p["protocol"], "PROTOCOL"), "--population", _name(p["population"], "POPULATION.toml")]
    return [*words, *_over(p.get("over")), *_settings(p.get("settings")), "--seed", str(p.get("seed", 0))]


def _validate(p: Mapping[str, Any]) -> list[str]:
    return ["validate", str(p.get("log", "LOG")), "--splits", str(p.get("splits")), "--seed", str(p.get("seed"))]


def _reproduce(p: Mapping[str, Any]) -> list[str]:
    file = str(p.get("file", ""))
    words = str(p.get("command", "reproduce uaad")).split()
    return words if file in ("uaad.toml", "d3.toml") else [*words, "--file", file]


def _plan(data: Mapping[str, Any]) -> list[str]:
    return ["plan", "--pilot", str(data["pilot"]["name"]), "--items", str(data["items"]), "--budget-usd", f"{data['budget_usd']:g}"]


_MAKERS = {
    "simulate": _simulate,
    "sweep": _sweep,
    "sensitivity": lambda p: _study("sensitivity", p),
    "discover": lambda p: _study("discover", p),
    "compare": lambda p: ["compare", *p["protocols"], "--population", str(p["population"])],
    "audit": lambda p: ["audit", str(p.get("file", "FILE"))],
    "validate": _validate,
    "reproduce": _reproduce,
    "plan": _plan,
}
