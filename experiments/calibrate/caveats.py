"""What a log cannot tell, and what was decided about it, in sentences for its owner."""

from __future__ import annotations

import numpy as np

from ...model.population import DEFAULT_POPULATION
from ..logs.columns import ReasoningLog
from .first_answers import FirstAnswers
from .laws import FEWEST_FOR_SHARE, FEWEST_FOR_SPREAD
from .plurality import curve_sizes, own_accuracy, own_shares
from .responses import FEWEST_MOVES, ResponseFit

__all__ = ["BORROWED_RESPONSE", "FEW_QUESTIONS", "caveats"]

BORROWED_RESPONSE = "Adjourn's default Copying rule, fitted to 7,635 published moves of three-agent debates of other models"

FEW_QUESTIONS = 30
_FEW_INFORMED = 10


def caveats(log: ReasoningLog, first: FirstAnswers, response: ResponseFit | None, usable_moves: int) -> tuple[str, ...]:
    """Gather the sentences, those of reading the log first."""
    notes = [*log.warnings, *_which_answers(first), *_difficulty(first), *_misconception(first), *_abstentions(first)]
    if len(log.models) > 1:
        some = ", ".join(log.models[:4])
        notes.append(f"The log mixes {len(log.models)} models ({some}); the population is their mixture and has no model of its own.")
    return (*notes, *_response(log, response, usable_moves))


def _which_answers(first: FirstAnswers) -> list[str]:
    notes = []
    if first.prefix:
        notes.append(
            "A question's later first answers depend on how far its earlier ones agree (asking stopped early), so only those of agents "
            f"{', '.join(first.prefix)} are used, the longest row of agents that nearly all questions hold; {first.left_out} questions "
            "that lack one are left out."
        )
    elif first.left_out:
        notes.append(f"{first.left_out} questions have no answer in round {first.round}, the first of the log, and are left out.")
    if first.round > 1:
        notes.append(f"The log starts at round {first.round}; its answers are taken to be independent.")
    if len(first) < FEW_QUESTIONS:
        notes.append(f"{len(first)} questions are few: intervals are wide, and bootstrap intervals of so few are too narrow.")
    return notes


def _difficulty(first: FirstAnswers) -> list[str]:
    most = int(first.size.max())
    if first.accuracy in (0.0, 1.0):
        what, other = ("right", "wrong") if first.accuracy else ("wrong", "right")
        return [
            f"All answers are {what}: the log cannot tell how often answers are {other}, nor how difficulty spreads. The fitted law has "
            f"p = {first.accuracy:.0f} for every question; only the interval of the accuracy says how sure that is."
        ]
    if first.repeated < FEWEST_FOR_SPREAD:
        return [
            f"The log has {first.repeated or 'no'} questions with two answers or more: it tells the mean accuracy only. How difficulty "
            f"spreads, and with it what voting adds, is borrowed from {DEFAULT_POPULATION}."
        ]
    if most < 5:
        return [f"The log has at most {most} answers a question: what a vote over more of them gives rests on the family of laws."]
    return []


def _misconception(first: FirstAnswers) -> list[str]:
    if first.informed < FEWEST_FOR_SHARE:
        return [
            f"The log has {first.informed or 'no'} questions with two wrong answers or more: how far wrong answers agree (w) is "
            f"borrowed from {DEFAULT_POPULATION}."
        ]
    if first.informed < _FEW_INFORMED:
        return [f"How far wrong answers agree (w) rests on the {first.informed} questions that have two wrong answers or more."]
    return []


def _abstentions(first: FirstAnswers) -> list[str]:
    silent, total = int(first.abstained.sum()), int(first.size.sum())
    if not silent:
        return []
    text = (
        f"{silent} of {total} independent answers ({100 * silent / total:.1f} %) are missing: abstentions. They count as wrong answers "
        "that agree with nobody, in the fit and in the votes it is compared with."
    )
    n = max(curve_sizes(first))
    if silent < total / 100 or n < 2:
        return [text]
    voting, silenced = own_accuracy(first, n), float(np.nanmean(own_shares(first, n, abstentions_vote=False)))
    instead = f"instead of {voting:.3f}" if f"{voting:.3f}" != f"{silenced:.3f}" else "as before,"
    return [f"{text} Were they left out of a vote over {n} answers, it would be right {silenced:.3f} {instead} of the time."]


def _response(log: ReasoningLog, response: ResponseFit | None, usable_moves: int) -> list[str]:
    if response is None:
        why = f"holds {usable_moves} usable moves, fewer than {FEWEST_MOVES}" if len(log.rounds) > 1 else "has one round"
        return [
            f"The log {why}, so how agents respond to each other is borrowed: {BORROWED_RESPONSE}. Every figure of a design with debate "
            "rests on it; those of single answers and of votes do not."
        ]
    if response.chosen.at_bound:
        names = ", ".join(response.chosen.at_bound)
        return [f"The log does not bound {names} of the response rule; it stands at an end of the range searched."]
    return []
