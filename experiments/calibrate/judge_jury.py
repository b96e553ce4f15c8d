r"""Jurors of a log: votes taken after a debate, told apart from judgements, and the jury's law that they give.

Logs of live debates hold a row for each juror, named ``juror 1``, ``juror 2``, ... beside those of the judge. A juror does not judge the
pair alone but reads the judge's debate, so it is no judge of the population; jurors are alike, and what they share is the jury's
correlation. With the model of :class:`..model.judging.JuryLaw`, a vote for A is

.. math:: a t + \sqrt\rho F + \sqrt{1 - \rho}\, \epsilon > 0, \qquad t = x + b,

so that P(a juror is right) on items with a decided label rises with the slope a alone, and P(two jurors agree), for which no label is
needed, with rho at that slope. Both are solved for. The sensitivity is a over the root of the effective number of arguments read, one
advocate a side and round.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import ndtr

from ...model.judging import ItemLaw, JuryLaw, effective_number
from ...model.judging.jury import MOST_RHO
from ..logs.columns import ABSTAINED, JudgeLog

__all__ = ["JuryVotes", "split_jurors"]

Floats = npt.NDArray[np.float64]

_JUROR = re.compile(r"juror \d+", re.IGNORECASE)
_STEEPEST = 30.0
_NODES = 1601
_REACH = 7.0


@dataclass(frozen=True, eq=False)
class JuryVotes:
    """Votes of a log's jurors, item by item.

    Attributes
    ----------
    jurors : int
        How many different jurors there are.
    label : ndarray of float, shape (items,)
        1 for A, 0 for a tie, -1 for B, NaN where no row says.
    for_a, for_b : ndarray of float, shape (items,)
        Numbers of votes.
    arguments : ndarray of float, shape (items,)
        Rounds that the jurors had read, at least 1.
    """

    jurors: int
    label: Floats
    for_a: Floats
    for_b: Floats
    arguments: Floats

    @property
    def votes(self) -> int:
        """Number of votes."""
        return int((self.for_a + self.for_b).sum())

    @property
    def has_pairs(self) -> bool:
        """Whether two jurors voted on any item."""
        return bool(np.any(self.for_a + self.for_b > 1))

    def accuracy(self, weight: Floats) -> float:
        """Share of right votes on items with a decided label; NaN without any. ``weight`` has one entry an item."""
        right = np.where(self.label > 0, self.for_a, self.for_b)
        decided = weight * np.where(np.isfinite(self.label) & (self.label != 0), 1.0, 0.0)
        return _ratio(float(decided @ right), float(decided @ (self.for_a + self.for_b)))

    def agreement(self, weight: Floats) -> float:
        """Share of equal votes among the pairs of jurors of an item; NaN without pairs."""
        total = self.for_a + self.for_b
        equal = (self.for_a * (self.for_a - 1) + self.for_b * (self.for_b - 1)) / 2
        return _ratio(float(weight @ equal), float(weight @ (total * (total - 1) / 2)))

    def law(self, base: JuryLaw, items: ItemLaw, bias: float, weight: Floats) -> JuryLaw:
        """Jury's law of a reweighted log; what the votes cannot tell stays as in ``base``.

        Parameters
        ----------
        base : JuryLaw
            Gives the correlation of arguments, the position shift, and rho where no two jurors voted on one item.
        items : ItemLaw
            Law of the true difference and of labels.
        bias : float
            Standard deviation of the judge's bias after the debate, which every juror takes over.
        weight : ndarray of float, shape (items,)
            1 as the log is.
        """
        accuracy, agreement = self.accuracy(weight), self.agreement(weight)
        if not math.isfinite(accuracy):
            return base
        slope = _slope(items, bias, accuracy)
        votes = weight * (self.for_a + self.for_b)
        read = float(votes @ np.asarray(effective_number(self.arguments, base.rho_arguments)) / votes.sum())
        changed = replace(base, sensitivity=slope / math.sqrt(read))
        if not math.isfinite(agreement):
            return changed
        rho = _rho(slope * items.mean_x, slope * math.hypot(items.sigma_x, bias), agreement)
        return replace(changed, rho=rho, rho_personas=rho)


def split_jurors(log: JudgeLog) -> tuple[JudgeLog, JuryVotes | None]:
    """Tell jurors from judges.

    Returns
    -------
    log : JudgeLog
        Without the jurors' rows.
    votes : JuryVotes or None
        None where the log names no jurors, or nobody but jurors: then they are its judges.
    """
    juror = np.array([_JUROR.fullmatch(name) is not None for name in log.judges])
    if juror.all() or not juror.any():
        return log, None
    voted = juror[log.judge]
    return _kept(log, ~voted, ~juror), _votes(log, voted & (log.verdict != ABSTAINED), int(juror.sum()))


def _kept(log: JudgeLog, rows: npt.NDArray[np.bool_], judges: npt.NDArray[np.bool_]) -> JudgeLog:
    place = np.cumsum(judges) - 1
    columns = ("item", "round", "repeat", "swapped", "score_a", "score_b", "verdict", "label", "prompt_tokens", "completion_tokens", "line")
    return replace(
        log,
        judges=tuple(name for name, kept in zip(log.judges, judges, strict=True) if kept),
        judge=place[log.judge[rows]],
        **{name: getattr(log, name)[rows] for name in columns},
    )


def _votes(log: JudgeLog, rows: npt.NDArray[np.bool_], jurors: int) -> JuryVotes:
    items = len(log.items)
    label = np.full(items, np.nan)
    known = log.label != ABSTAINED
    label[log.item[known]] = log.label[known]
    item, verdict = log.item[rows], log.verdict[rows]
    for_a, for_b = (np.bincount(item[verdict == side], minlength=items).astype(float) for side in (1, -1))
    arguments = np.ones(items)
    np.maximum.at(arguments, item, log.round[rows].astype(float))
    return JuryVotes(jurors, label, for_a, for_b, arguments)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.nan


def _slope(items: ItemLaw, bias: float, accuracy: float) -> float:
    """Slope a at which a juror is right with this probability; 0 for a chance result, at most 30."""
    z = np.linspace(-_REACH, _REACH, _NODES)
    x = items.mean_x + items.sigma_x * z
    weight = np.exp(-(z**2) / 2) * (np.abs(x) > items.tie_band)
    weight /= weight.sum()

    def right(slope: float) -> float:
        return float(weight @ ndtr(np.abs(x) * slope / math.hypot(1.0, slope * bias)))

    return _solved(right, accuracy, 0.0, _STEEPEST)


def _rho(mean: float, sd: float, agreement: float) -> float:
    """Correlation at which two jurors agree this often, their evidence being Normal(mean, sd^2)."""
    z = np.linspace(-_REACH, _REACH, _NODES)
    weight = np.exp(-(z**2) / 2)
    weight /= weight.sum()

    def equal(rho: float) -> float:
        vote = ndtr((mean + math.sqrt(sd**2 + rho) * z) / math.sqrt(1 - rho))
        return float(weight @ (vote**2 + (1 - vote) ** 2))

    return _solved(equal, agreement, 0.0, MOST_RHO)


def _solved(rising: Callable[[float], float], value: float, low: float, high: float) -> float:
    """Where a rising function has a value; the nearer end where it nowhere has."""
    if rising(low) >= value:
        return low
    return high if rising(high) <= value else float(brentq(lambda x: rising(x) - value, low, high))
