"""What a log says, as one value: a population, how sure it is, and the fit again on a resample of questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...model.population import Population
from ...model.result import Estimate
from ..logs.columns import ReasoningLog
from .beta import PlainBeta
from .choice import Choice, fit
from .debates import DebateValue
from .first_answers import FirstAnswers
from .laws import Kinds, Law
from .messages import MessageFacts
from .plurality import own_shares
from .responses import ResponseFit

__all__ = ["Calibration"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


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
    unused_moves : mapping of str to int
        Moves by what became of them, where they were too few.
    debate : DebateValue or None
        Debate minus vote; None where the log has one round.
    facts : MessageFacts
        Tokens and confidence.
    intervals : mapping of str to Estimate
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
    unused_moves: Mapping[str, int]
    debate: DebateValue | None
    facts: MessageFacts
    intervals: Mapping[str, Estimate]
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
        return replace(self.population, difficulty=law.difficulty, misconception=law.misconception, response=rule)

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
        from .as_json import to_json

        return to_json(self)

    @property
    def report(self) -> tuple[str, ...]:
        """Findings in words and numbers, one paragraph an entry."""
        from .report import paragraphs

        return paragraphs(self)
