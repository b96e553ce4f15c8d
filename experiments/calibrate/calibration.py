r"""From a log to a population: all fits together, their uncertainty by a bootstrap of questions, and the report.

Questions are drawn with replacement, with all that belongs to them (answers, moves); the family chosen on the whole log is fitted again to each draw, and
intervals are the 2.5 and 97.5 percentiles over draws. They hold the uncertainty of the questions, not that of the choice of a family.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ...model.population import DEFAULT_POPULATION, Population
from ...model.response import Copying
from ...model.result import Estimate, share
from ..logs.columns import ReasoningLog
from .beta import PlainBeta, plain_beta
from .choice import Choice, choose, fit
from .debates import DebateValue, debate_value
from .first_answers import FirstAnswers, first_answers
from .laws import Kinds, Law
from .messages import MessageFacts, message_facts
from .moves import Order
from .plurality import own_shares, predicted
from .responses import ResponseFit, fit_response

__all__ = ["BORROWED_RESPONSE", "Calibration", "calibrate"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BORROWED_RESPONSE = "Adjourn's default Copying rule: a hand fit to 7,635 moves of three-agent debates over seven tasks, of other models"
_SIGNALS = "Adjourn's defaults: no log holds the step signals h and d; whatever depends on them is conditional on the AUROC"


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What a log says, as a population with its uncertainty.

    Attributes
    ----------
    log : ReasoningLog
        The log.
    first : FirstAnswers
        Its independent answers.
    plain : PlainBeta or None
        The plain Beta fit.
    choice : Choice
        The law chosen, and how all families did.
    response : ResponseFit or None
        The response rules; None where they are borrowed.
    unused_moves : dict of str to int
        Moves by what became of them, where they were too few.
    debate : DebateValue or None
        Debate minus vote; None where the log has one round.
    facts : MessageFacts
        Tokens and confidence.
    intervals : dict of str to Estimate
        Intervals over the bootstrap, by name.
    population : Population
        What every command accepts.
    warnings : tuple of str
        What the log cannot tell, and what was decided about it.
    draws : int
        Bootstrap draws behind ``intervals``.
    seed : int
        Their seed.
    """

    log: ReasoningLog
    first: FirstAnswers
    plain: PlainBeta | None
    choice: Choice
    response: ResponseFit | None
    unused_moves: dict[str, int]
    debate: DebateValue | None
    facts: MessageFacts
    intervals: dict[str, Estimate]
    population: Population
    warnings: tuple[str, ...]
    draws: int
    seed: int

    @property
    def questions(self) -> int:
        """Number of questions of the log, the range that :meth:`refit` draws from."""
        return len(self.log.questions)

    def refit(self, question_index: Ints) -> Population:
        """Fit the chosen families again to a resample of questions, from where they stand (milliseconds).

        Parameters
        ----------
        question_index : ndarray of int, shape (any,)
            Questions of the log by code, 0 .. ``questions`` - 1, with repetition.

        Returns
        -------
        Population
            As ``population``, with the laws of p and w, and the response rule where the log has one, of the resample.
        """
        weight = np.bincount(question_index, minlength=self.questions).astype(float)
        law = self._refit_law(weight)
        rule = self.response.refit(weight) if self.response else self.population.response
        return _with_law(self.population, law, rule)

    @cached_property
    def kinds(self) -> Kinds:
        """Kinds of the first answers."""
        return Kinds.of(self.first)

    @cached_property
    def own(self) -> tuple[Floats, ...]:
        """P(right plurality) of each question's own answers, for each n of the curve."""
        return tuple(own_shares(self.first, n) for n in self.choice.sizes)

    def _refit_law(self, weight: Floats) -> Law:
        chosen = self.choice.chosen
        counts = self.kinds.counts(weight[self.first.question])
        return fit(chosen.family, self.kinds, counts, chosen.law) if counts.sum() > 0 else chosen.law

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        from .report import to_json

        return to_json(self)

    @property
    def report(self) -> tuple[str, ...]:
        """The findings in words and numbers, one paragraph an entry."""
        from .report import paragraphs

        return paragraphs(self)


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
        Bootstrap draws for the intervals.
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
    fitted = fit_response(log, choice.chosen.law, order, rule) if several else {}
    response = fitted if isinstance(fitted, ResponseFit) else None
    facts = message_facts(log)
    warnings = _warnings(log, first, response, several)
    population = _population(log, first, choice, response, facts, name)
    bare = Calibration(
        log=log,
        first=first,
        plain=plain_beta(first),
        choice=choice,
        response=response,
        unused_moves={} if response else dict(fitted),  # type: ignore[call-overload]
        debate=debate_value(log) if several else None,
        facts=facts,
        intervals={},
        population=population,
        warnings=warnings,
        draws=draws,
        seed=seed,
    )
    return _with_intervals(bare, advance)


def _with_law(population: Population, law: Law, rule: Any) -> Population:
    return replace(population, difficulty=law.difficulty, misconception=law.misconception, response=rule)


def _population(
    log: ReasoningLog, first: FirstAnswers, choice: Choice, response: ResponseFit | None, facts: MessageFacts, name: str | None
) -> Population:
    law = choice.chosen.law
    borrowed = {"signals": _SIGNALS, **facts.borrowed}
    if response is None:
        borrowed["response"] = BORROWED_RESPONSE
    if not np.any(first.size - first.right >= 2):
        borrowed["misconception"] = f"population {DEFAULT_POPULATION}: the log has no question with two wrong answers"
    if first.size.max() < 2:
        borrowed["difficulty"] = f"its spread (a + b) from population {DEFAULT_POPULATION}: the log has one answer a question"
    file = Path(log.path).name
    return Population(
        name=name or Path(log.path).stem or "pilot",
        difficulty=law.difficulty,
        misconception=law.misconception,
        response=response.chosen.rule if response else Copying(),
        confidence=facts.confidence,
        tokens=facts.tokens,
        model=log.models[0] if len(log.models) == 1 else "",
        source=f"fitted by adjourn calibrate to {len(first)} questions, {int(first.size.sum())} independent answers, of {file}",
        borrowed=borrowed,
    )


def _warnings(log: ReasoningLog, first: FirstAnswers, response: ResponseFit | None, several: bool) -> tuple[str, ...]:
    notes = list(log.warnings)
    notes += _about_first_answers(log, first)
    if len(log.models) > 1:
        notes.append(
            f"The log mixes {len(log.models)} models ({', '.join(log.models[:4])}); the population is their mixture and has no model of its own."
        )
    if response is None:
        why = "has too few usable moves" if several else "has one round"
        notes.append(
            f"The log {why}, so the response rule is borrowed: {BORROWED_RESPONSE}. Every figure of a design with debate rests on it; "
            "those of single answers and votes do not."
        )
    elif response.chosen.at_bound:
        notes.append(
            f"The log does not bound {', '.join(response.chosen.at_bound)} of the response rule; it stands at the end of the range searched."
        )
    return tuple(notes)


def _about_first_answers(log: ReasoningLog, first: FirstAnswers) -> list[str]:
    notes = []
    most = int(first.size.max())
    if first.prefix:
        notes.append(
            f"A question's later first answers depend on how far its earlier ones agree (asking stopped early), so only those of agents "
            f"{', '.join(first.prefix)} are used, which nearly all questions hold; {first.left_out} questions that lack one of them are left out."
        )
    if first.round > 1:
        notes.append(f"The log starts at round {first.round}; its answers are taken to be independent.")
    if len(first) < 30:
        notes.append(f"{len(first)} questions are few: intervals are wide, and percentiles over their bootstrap are too narrow.")
    if first.accuracy == 1.0 or first.accuracy == 0.0:
        what, other = ("right", "wrong") if first.accuracy == 1.0 else ("wrong", "right")
        notes.append(
            f"All answers are {what}: the log cannot tell how often answers are {other}, nor how difficulty spreads; the fitted law has p = {first.accuracy:.0f} "
            "for every question, and only the interval of the accuracy says how sure that is."
        )
    elif most < 2:
        notes.append(
            f"The log has one answer a question: it tells the mean accuracy only. How difficulty spreads (and with it what voting adds) is borrowed from {DEFAULT_POPULATION}."
        )
    elif most < 5:
        notes.append(
            f"The log has at most {most} answers a question: what a vote over more answers gives is extrapolated by the family of laws."
        )
    informed = int((first.size - first.right >= 2).sum())
    if informed == 0:
        notes.append(f"No question has two wrong answers: how far wrong answers agree (w) is borrowed from {DEFAULT_POPULATION}.")
    elif informed < 10:
        notes.append(f"How far wrong answers agree (w) rests on {informed} questions with two wrong answers or more.")
    silent = int(first.abstained.sum())
    if silent:
        notes.append(
            f"{silent} of {int(first.size.sum())} independent answers ({100 * silent / first.size.sum():.1f} %) are missing: abstentions. They count as wrong "
            "answers that agree with nobody, in the fit and in the votes it is compared with."
        )
    return notes


def _with_intervals(bare: Calibration, advance: Callable[[int], None]) -> Calibration:
    point = _figures(bare, np.ones(bare.questions), bare.population)
    generator = np.random.Generator(np.random.Philox(bare.seed))
    drawn: dict[str, list[float]] = {key: [] for key in point}
    for _ in range(bare.draws):
        index = generator.integers(0, bare.questions, bare.questions)
        figures = _figures(bare, np.bincount(index, minlength=bare.questions).astype(float), bare.refit(index))
        for key, value in figures.items():
            drawn[key].append(value)
        advance(1)
    intervals = {key: _interval(value, drawn[key]) for key, value in point.items()}
    if bare.first.accuracy in (0.0, 1.0):
        whole = share(int(bare.first.accuracy) * len(bare.first), len(bare.first))
        intervals.update({key: whole for key in intervals if key == "accuracy" or key.startswith(("own_plurality", "plurality"))})
    return replace(bare, intervals=intervals, population=replace(bare.population, fit=_fit_table(bare, intervals)))


def _interval(value: float, drawn: list[float]) -> Estimate:
    finite = np.array([x for x in drawn if np.isfinite(x)])
    if len(finite) == 0:
        return Estimate(value, float("-inf"), float("inf"))
    low, high = np.quantile(finite, [0.025, 0.975])
    return Estimate(value, float(low), float(high))


def _figures(bare: Calibration, weight: Floats, population: Population) -> dict[str, float]:
    """Figures that get an interval."""
    law = Law(population.difficulty, population.misconception)
    sizes = bare.choice.sizes
    nodes = law.nodes(max(*sizes, 4))
    p, _, mass = nodes
    mean = float(p @ mass)
    figures = {"accuracy": mean, "coincidence": law.coincidence()}
    spread = mean * (1 - mean)
    figures["intra_class_correlation"] = float(mass @ (p - mean) ** 2) / spread if spread > 1e-12 else float("nan")
    used = weight[bare.first.question]
    for n, shares in zip(sizes, bare.own, strict=True):
        held = np.isfinite(shares) & (used > 0)
        figures[f"plurality_{n}"] = predicted(n, *nodes)
        figures[f"own_plurality_{n}"] = float(used[held] @ shares[held] / used[held].sum()) if held.any() else float("nan")
    if bare.response:
        for key in bare.response.chosen.free:
            figures[f"response_{key}"] = float(getattr(population.response, key))
    return figures


def _fit_table(bare: Calibration, intervals: dict[str, Estimate]) -> dict[str, Any]:
    """What the population file remembers of the fit."""
    finite = {k: v for k, v in intervals.items() if np.isfinite([v.mean, v.low, v.high]).all()}
    table: dict[str, Any] = {
        "questions": len(bare.first),
        "answers": int(bare.first.size.sum()),
        "family": bare.choice.chosen.family.name,
        "reason": bare.choice.reason,
        "bootstrap_draws": bare.draws,
        "intervals": {key: [value.mean, value.low, value.high] for key, value in finite.items()},
        "warnings": list(bare.warnings),
    }
    if bare.plain:
        table["plain_beta"] = {"a": bare.plain.a.mean, "b": bare.plain.b.mean, "mean": bare.plain.mean, "own_mean": bare.plain.own_mean}
    if bare.response:
        table["response"] = {
            "moves": len(bare.response.moves),
            "order": bare.response.order.order,
            "log_likelihood": bare.response.chosen.log_likelihood,
            "largest_miss": max(abs(c.observed - c.predicted) for c in bare.response.cells if c.moves >= 20)
            if bare.response.cells
            else 0.0,
        }
    if bare.debate:
        value = bare.debate.difference
        table["debate_minus_vote"] = [value.mean, value.low, value.high]
    return table
