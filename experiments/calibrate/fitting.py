"""From a log to a population: all fits together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from ...model.population import DEFAULT_POPULATION, Population
from ...model.response import Copying
from ..logs.columns import ReasoningLog
from .beta import plain_beta
from .calibration import Calibration
from .caveats import BORROWED_RESPONSE, caveats
from .choice import Choice, choose
from .debates import debate_value
from .first_answers import FirstAnswers, first_answers
from .laws import FEWEST_FOR_SHARE, FEWEST_FOR_SPREAD
from .messages import MessageFacts, message_facts
from .moves import Order
from .responses import ResponseFit, fit_response
from .uncertainty import with_intervals

__all__ = ["calibrate"]

_SIGNALS = "Adjourn's defaults: no log holds the step signals h and d; whatever depends on them is conditional on the AUROC"


def calibrate(
    log: ReasoningLog,
    *,
    order: Order | Literal["auto"] = "auto",
    rule: str = "auto",
    draws: int = 200,
    seed: int = 0,
    name: str | None = None,
    advance: Callable[[int], None] = lambda steps: None,
) -> Calibration:
    """Fit a population and, where the log has several rounds, a response rule to a log.

    Parameters
    ----------
    log : ReasoningLog
        The log.
    order : {"auto", "simultaneous", "sequential"}
        Order of speaking in later rounds; see :mod:`.moves`.
    rule : {"auto", "copying", "logit", "follower"}
        Response rule to take; "auto" takes the lowest AIC.
    draws : int
        Bootstrap draws for the intervals; 0 leaves them out.
    seed : int
        Seed of the draws.
    name : str, optional
        Name of the population; the file's by default.
    advance : callable
        Told each finished bootstrap draw.

    Raises
    ------
    FileFormatError
        If the log holds no usable first answers, or confidence on no known scale.
    """
    first = first_answers(log)
    choice = choose(first)
    several = len(log.rounds) > 1
    response, unused = fit_response(log, choice.chosen.law, order, rule) if several else (None, {})
    facts = message_facts(log)
    bare = Calibration(
        log=log,
        first=first,
        plain=plain_beta(first),
        choice=choice,
        response=response,
        unused_moves=unused,
        debate=debate_value(log) if several else None,
        facts=facts,
        intervals={},
        population=_population(log, first, choice, response, facts, name),
        warnings=caveats(log, first, response, unused.get("usable", 0)),
        draws=draws,
        seed=seed,
    )
    return with_intervals(bare, advance)


def _population(
    log: ReasoningLog, first: FirstAnswers, choice: Choice, response: ResponseFit | None, facts: MessageFacts, name: str | None
) -> Population:
    law = choice.chosen.law
    file = Path(log.path)
    return Population(
        name=name or file.stem or "pilot",
        difficulty=law.difficulty,
        misconception=law.misconception,
        response=response.chosen.rule if response else Copying(),
        confidence=facts.confidence,
        tokens=facts.tokens,
        model=log.models[0] if len(log.models) == 1 else "",
        source=f"fitted by adjourn calibrate to {len(first)} questions, {int(first.size.sum())} independent answers, of {file.name}",
        borrowed=_borrowed(first, response, facts),
    )


def _borrowed(first: FirstAnswers, response: ResponseFit | None, facts: MessageFacts) -> dict[str, str]:
    borrowed = {"signals": _SIGNALS, **facts.borrowed}
    if response is None:
        borrowed["response"] = BORROWED_RESPONSE
    if first.informed < FEWEST_FOR_SHARE:
        borrowed["misconception"] = f"population {DEFAULT_POPULATION}: too few questions of the log have two wrong answers"
    if first.repeated < FEWEST_FOR_SPREAD and 0 < first.accuracy < 1:
        borrowed["difficulty"] = f"its spread (a + b) from population {DEFAULT_POPULATION}: too few questions of the log have two answers"
    return borrowed
