r"""From evidence to verdict: every comparison of a claim is made, nothing is written down in advance.

Derivations run under a time limit, so that a runaway simplification is a broken claim and not a hung program. The property of a claim is
looked at on a few points of a Halton sequence (a low-discrepancy sequence in the bases 2, 3, 5, ...; Halton 1960); the tests look at many
more.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

from .claim import Check, Claim, Counterexample, Domain, Verdict

__all__ = ["DERIVATION_SECONDS", "Examination", "examine", "halton"]

DERIVATION_SECONDS = 60.0
_POINTS = 12
_BASES = (2, 3, 5, 7, 11, 13, 17, 19)


@dataclass(frozen=True)
class Examination:
    """What the evidence of a claim shows.

    Attributes
    ----------
    claim : Claim
        The claim.
    verdict : Verdict
        What follows from the evidence.
    derivation, witness, conclusion, converse, law : tuple of Check
        The comparisons made; ``law`` holds those of all points.
    dropped : mapping of str to tuple of Check
        The conclusion with each assumption switched off.
    counterexamples : tuple of Counterexample
        Refutations of the statement.
    points : int
        Number of points at which the property was looked at.
    failures : tuple of str
        Why the verdict is *broken*; empty otherwise.
    seconds : float
        Time taken.
    """

    claim: Claim
    verdict: Verdict
    derivation: tuple[Check, ...]
    witness: tuple[Check, ...]
    conclusion: tuple[Check, ...]
    converse: tuple[Check, ...]
    law: tuple[Check, ...]
    dropped: Mapping[str, tuple[Check, ...]]
    counterexamples: tuple[Counterexample, ...]
    points: int
    failures: tuple[str, ...]
    seconds: float


class _Evidence:
    """Collects comparisons and what is wrong with them."""

    def __init__(self) -> None:
        self.failures: list[str] = []

    def collect(self, part: str, make: Callable[[], Iterable[Any]], *, limit: float | None = None) -> tuple[Any, ...]:
        """Items that a piece of evidence yields; an exception in it is a failure of the claim, not of the program."""
        found: list[Any] = []
        try:
            with _time_limit(limit):
                found.extend(make())
        except Exception as error:
            self.failures.append(f"{part} stopped with {type(error).__name__}: {error}")
        return tuple(found)

    def checks(self, part: str, make: Callable[[], Iterable[Check]], *, limit: float | None = None) -> tuple[Check, ...]:
        """Comparisons that must all hold."""
        found = self.collect(part, make, limit=limit)
        self.failures += [f"{part}: {check}" for check in found if not check.holds]
        return found

    def require(self, condition: bool, problem: str) -> None:
        """Note a problem unless the condition holds."""
        if not condition:
            self.failures.append(problem)


def examine(claim: Claim, points: int = _POINTS) -> Examination:
    """Make every comparison of a claim and compute its verdict.

    Parameters
    ----------
    claim : Claim
        The claim.
    points : int
        Number of points at which the property is looked at.
    """
    began = time.perf_counter()
    evidence = _Evidence()
    derivation = evidence.checks("derivation", claim.derive, limit=DERIVATION_SECONDS)
    witness = evidence.checks("witness", claim.witness)
    conclusion = evidence.checks("conclusion", claim.concludes)
    converse = evidence.checks("converse", claim.converse)
    law = evidence.checks("property", lambda: _law_on_points(claim, points))
    counterexamples = evidence.collect("counterexample", claim.counterexample)
    dropped = {a.name: evidence.collect(f"without {a.name}", partial(claim.concludes, a.name)) for a in claim.assumptions}
    for part, found in (("derivation", derivation), ("witness", witness), ("property", law)):
        evidence.require(bool(found), f"{part}: there is none")
    evidence.require(not claim.assumptions or bool(conclusion), "conclusion: assumptions are made, but nothing is concluded")
    for name, checks in dropped.items():
        evidence.require(any(not check.holds for check in checks), f"without {name}: nothing breaks, so it is not needed")
    for example in counterexamples:
        evidence.require(example.agrees, f"counterexample {example.label}: the ways disagree: {dict(example.ways)}")
        evidence.require(example.refutes, f"counterexample {example.label}: {dict(example.ways)} does not contradict {example.allowed}")
    unstated = any(not assumption.stated for assumption in claim.assumptions)
    evidence.require(bool(counterexamples) or not unstated, "an unstated assumption is needed, but there is no counterexample")
    verdict = _verdict(bool(evidence.failures), bool(counterexamples), bool(converse), any(not a.by_definition for a in claim.assumptions))
    seconds = time.perf_counter() - began
    return Examination(
        claim, verdict, derivation, witness, conclusion, converse, law, dropped, counterexamples, points, tuple(evidence.failures), seconds
    )


def _verdict(failed: bool, refuted: bool, converse_holds: bool, assumes: bool) -> Verdict:
    if failed:
        return Verdict.BROKEN
    if refuted:
        return Verdict.FALSE
    if converse_holds:
        return Verdict.CIRCULAR
    return Verdict.CONDITIONAL if assumes else Verdict.PROVED


def _law_on_points(claim: Claim, points: int) -> Iterator[Check]:
    for index in range(1, points + 1):
        yield from claim.law(**halton(claim.domain, index))


def halton(domain: Mapping[str, Domain], index: int) -> dict[str, Any]:
    """Point number ``index`` (from 1) of the Halton sequence in a domain of up to eight dimensions."""
    return {name: part.at(_radical_inverse(index, base)) for (name, part), base in zip(domain.items(), _BASES[: len(domain)], strict=True)}


def _radical_inverse(index: int, base: int) -> float:
    value, scale = 0.0, 1.0 / base
    while index:
        index, digit = divmod(index, base)
        value += digit * scale
        scale /= base
    return value


@contextmanager
def _time_limit(seconds: float | None) -> Iterator[None]:
    """Raise TimeoutError in the main thread when the time is up; elsewhere (no signals) do nothing."""
    if seconds is None or threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(signum: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
