r"""The plain beta-binomial fit, with profile-likelihood intervals: the figure that people compare, and what it gets wrong.

:math:`a` is inside its 95 % interval while :math:`\max_b \ell(a, b) \ge \ell_{max} - \chi^2_{1, .95} / 2`, and likewise b.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, minimize_scalar
from scipy.special import chdtri

from ...model.difficulty import BetaDifficulty
from ...model.result import Estimate
from .first_answers import FirstAnswers
from .laws import SHAPE_BOUNDS, Kinds, fit_difficulty, log_right

__all__ = ["PlainBeta", "plain_beta"]

Floats = npt.NDArray[np.float64]

_DROP = float(chdtri(1, 0.05)) / 2
_LOG_LOW, _LOG_HIGH = SHAPE_BOUNDS


@dataclass(frozen=True)
class PlainBeta:
    """Beta(a, b) fitted to the numbers of right answers.

    Attributes
    ----------
    a, b : Estimate
        Shapes with profile-likelihood intervals.
    mean : float
        a / (a + b).
    own_mean : float
        The log's accuracy of a single answer.
    rho : float
        Intra-class correlation 1 / (a + b + 1).
    """

    a: Estimate
    b: Estimate
    mean: float
    own_mean: float
    rho: float

    @property
    def words(self) -> str:
        """What it says of the mean."""
        points = 100 * (self.mean - self.own_mean)
        shapes = f"a = {_shown(self.a)}, b = {_shown(self.b)} (95 % profile-likelihood intervals)"
        text = f"Plain Beta(a, b): {shapes}, intra-class correlation {self.rho:.2f}."
        if abs(points) < 0.5:
            return f"{text} Its mean, {self.mean:.3f}, is within half a point of the log's own {self.own_mean:.3f}."
        verb = "understates" if points < 0 else "overstates"
        return f"{text} It {verb} the mean by {abs(points):.1f} points: {self.mean:.3f} against the log's own {self.own_mean:.3f}."


def _shown(value: Estimate) -> str:
    return f"{value.mean:.3f} [{value.low:.3f}, {value.high:.3f}]"


def plain_beta(first: FirstAnswers) -> PlainBeta | None:
    """Fit Beta(a, b); None where the log cannot tell its spread (one answer a question, or all answers right or all wrong)."""
    if first.size.max() < 2 or first.accuracy in (0.0, 1.0):
        return None
    kinds = Kinds.of(first)
    counts = kinds.counts(np.ones(len(first)))
    law = fit_difficulty("beta", kinds, counts)
    assert isinstance(law, BetaDifficulty)
    shapes = (math.log(law.a), math.log(law.b))
    top = float(counts @ log_right(law, kinds))

    def profile(index: int, x: float) -> float:
        def loss(y: float) -> float:
            pair = (x, y) if index == 0 else (y, x)
            return -float(counts @ log_right(BetaDifficulty(math.exp(pair[0]), math.exp(pair[1])), kinds))

        return -float(minimize_scalar(loss, bounds=(_LOG_LOW, _LOG_HIGH), method="bounded", options={"xatol": 1e-4}).fun)

    def end(index: int, outer: float) -> float:
        def excess(x: float) -> float:
            return profile(index, x) - top + _DROP

        if excess(outer) >= 0:
            return math.exp(outer)
        inner = shapes[index]
        return math.exp(float(brentq(excess, min(inner, outer), max(inner, outer), xtol=1e-4)))

    a, b = (Estimate(math.exp(shapes[i]), end(i, _LOG_LOW), end(i, _LOG_HIGH)) for i in (0, 1))
    return PlainBeta(a, b, law.mean(), first.accuracy, 1.0 / (law.a + law.b + 1.0))
