r"""Uncertain inputs of a study: continuous ranges, and levels where a parameter acts through a lattice.

A threshold's range becomes the distinct rules in it, one level each with one representative: tau_c in (2/3, 5/6] is one rule for six
agents, so a uniform real number there would measure the lengths of steps, not the rule's influence. Numbers of agents, rounds and
chains are levels, and so are words. All levels of an input are equally likely; a continuous input is uniform on its range.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ..model import BetaDifficulty, ParameterError, Population, Protocol, StableConsensus
from ..model.settings import valid_keys
from ..model.thresholds import as_fraction
from .axes import fraction_text, threshold_edges
from .pairs import split_pairs

__all__ = ["Input", "default_inputs", "read_inputs", "studied_inputs"]

Floats = npt.NDArray[np.float64]

_COUNTS = ("n", "chains", "agents", "rounds", "steps", "window", "threshold", "variants", "token_budget", "advocates", "jurors")
_THRESHOLDS = ("tau_c", "epsilon")
_MOST_LEVELS = 64


@dataclass(frozen=True)
class Input:
    """An uncertain input.

    Parameters
    ----------
    name : str
        Key, as of ``--set``.
    low, high : float
        Range of a continuous input; 0 and the number of levels otherwise.
    levels : tuple of str
        Equally likely values; empty for a continuous input.
    note : str
        How levels came about.
    """

    name: str
    low: float
    high: float
    levels: tuple[str, ...] = ()
    note: str = ""

    def at(self, u: Floats) -> Floats:
        """Quantile: values of a continuous input, indices of levels."""
        if self.levels:
            return np.minimum(np.floor(u * len(self.levels)), len(self.levels) - 1)
        return np.asarray(self.low + (self.high - self.low) * u)

    def text(self, value: float) -> str:
        """Value as ``--set`` takes it."""
        return self.levels[int(value)] if self.levels else repr(float(value))


def read_inputs(texts: Sequence[str], protocol: Any) -> tuple[Input, ...]:
    """Read inputs: ``key=low:high``, or ``key=value,value,...`` for levels.

    Parameters
    ----------
    texts : sequence of str
        As given with ``--over``.
    protocol : Protocol
        Gives the lattice of thresholds.

    Raises
    ------
    ParameterError
        If one is no input, or a key comes twice.
    """
    return tuple(_read(name, spec, protocol) for name, spec in split_pairs("--over", texts, "key=low:high or key=value,value,...").items())


def _read(name: str, spec: str, protocol: Any) -> Input:
    if ":" not in spec:
        levels = tuple(value.strip() for value in spec.split(","))
        if not all(levels) or len(set(levels)) < len(levels):
            raise ParameterError("--over", f"{name}={spec}", "different values, separated by commas")
        return Input(name, 0, len(levels), levels, "as given")
    parts = spec.split(":")
    if len(parts) != 2:
        raise ParameterError("--over", f"{name}={spec}", "key=low:high (two ends) or key=value,value,...")
    low, high = (as_fraction(part, f"--over {name}", -(10**9), 10**9) for part in parts)
    if low >= high:
        raise ParameterError("--over", f"{name}={spec}", "a low end below the high end")
    if name in _THRESHOLDS:
        return _threshold_input(name, low, high, protocol)
    if name.rpartition(".")[2] in _COUNTS:
        counts = range(-(-low.numerator // low.denominator), high.numerator // high.denominator + 1)
        if not 1 <= len(counts) <= _MOST_LEVELS:
            raise ParameterError("--over", f"{name}={spec}", f"a range with 1 to {_MOST_LEVELS} integers")
        return Input(name, 0, len(counts), tuple(map(str, counts)), "integers")
    return Input(name, float(low), float(high))


def _threshold_input(name: str, low: Fraction, high: Fraction, protocol: Any) -> Input:
    if not 0 <= low < high <= 1:
        raise ParameterError("--over", f"{name}={low}:{high}", "a range within 0 to 1")
    rule = protocol.round_stop if isinstance(protocol, Protocol) else None
    if not isinstance(rule, StableConsensus):
        return Input(name, float(low), float(high))
    assert isinstance(protocol, Protocol)
    by_chains = protocol.inherits and rule.first_share == "chains"
    edges = threshold_edges([t.agents for t in protocol.tiers], protocol.chains if by_chains else None)
    levels = []
    for interval in edges[0 if name == "tau_c" else 1]:
        left, right = max(Fraction(interval.low), low), min(Fraction(interval.high), high)
        inside = [x for x in (left, (left + right) / 2, right) if x in interval and low <= x <= high]
        if left <= right and inside:
            levels.append(fraction_text(min(inside, key=lambda x: x.denominator)))
    return Input(name, 0, len(levels), tuple(levels), "one level for each distinct rule in the range")


_RANGES = {
    "w": "0.1:0.95",
    "theta": "1:2",
    "sigma": "0:1",
    "lam": "0:1.3",
    "phi": "0:0.1",
    "auroc_h": "0.5:0.9",
    "auroc_d": "0.5:0.9",
    "visibility": "0:1",
    "steps": "3:10",
    "tau_c": "0.5:1",
    "epsilon": "0:0.5",
    "chains": "3,5,7",
}
"""Ranges of what is uncertain or unpublished: lam as real debates leave it (close to 0 to 1.3), signals from uninformative upwards.

iota is left out: it is small in every fit, and makes each evaluation ten times as long; name it with --over to study it.
"""


def default_inputs(protocol: Any, population: Any) -> tuple[Input, ...]:
    """Return the inputs to study where none are named: standard ranges that mean something here, and the difficulty within 20 %.

    Raises
    ------
    ParameterError
        If there are no standard ranges for this protocol.
    """
    if not isinstance(protocol, Protocol) or not isinstance(population, Population):
        raise ParameterError("--over", None, "at least one input for this protocol, such as --over rho_round=0.2:0.9")
    known = valid_keys(protocol, population)
    found = [_read(name, spec, protocol) for name, spec in _RANGES.items() if name in known and not (name == "chains" and "n" in known)]
    if isinstance(population.difficulty, BetaDifficulty):
        for name in ("a", "b"):
            value = float(getattr(population.difficulty, name))
            found.append(Input(name, 0.8 * value, 1.2 * value))
    if "n" in known:
        found.append(_read("n", "1,3,5,9,15", protocol))
    return tuple(found)


def studied_inputs(over: Sequence[str], protocol: Any, population: Any, fixed: Collection[str]) -> tuple[Input, ...]:
    """Return what a study varies: the inputs that are named, or else the usual ones that nothing fixes.

    Parameters
    ----------
    over : sequence of str
        As given with ``--over``; empty for the usual ones.
    protocol, population
        What is studied.
    fixed : collection of str
        Keys that ``--set`` fixes.

    Raises
    ------
    ParameterError
        If an input is named and fixed, or nothing is left to vary.
    """
    if not over:
        inputs = tuple(x for x in default_inputs(protocol, population) if x.name not in fixed)
        if not inputs:
            raise ParameterError("--over", None, "at least one input", "--set fixes all the usual ones.")
        return inputs
    inputs = read_inputs(over, protocol)
    for x in inputs:
        if x.name in fixed:
            raise ParameterError("--over", x.name, "an input that --set does not fix")
    return inputs
