r"""Which family of laws: chosen by held-out likelihood, and by what the log itself says of plurality votes.

Questions are split into folds. Each family is fitted without a fold and scored on it by the mean log-probability of (k, M), what
decides a plurality. Every law is mixed with a share 1/(questions + 1) of the ignorant law (p and w uniform), so that a mixture with
few points is not damned for one unforeseen question. The one-standard-error rule then takes the simplest family whose score is
within one standard error (of the paired difference) of the best (Breiman et al. 1984).

A family within that reach may still be wrong in what users need, for the log-probability forgives a shift of the mean by two
points. The log's own plurality accuracies are unbiased whatever the law, so the difference d(n) between a fitted law's and the log's
own shows what the family cannot bend to. A family is *adequate* where at every n \|d(n)\| is at most half a point, or at most one
standard error (delete-group jackknife over the folds) and one point. The simplest adequate family within reach is taken; if there is
none, the simplest adequate one within two standard errors; if there is none either, the one of these that comes nearest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...model.difficulty import Difficulty, Share
from .first_answers import FirstAnswers
from .laws import FAMILIES, FEWEST_FOR_SPREAD, Family, Kinds, Law, fit_difficulty, fit_joint, fit_share, log_joint
from .plurality import curve_sizes, own_shares, predicted

__all__ = ["Choice", "Score", "choose", "fit"]

Floats = npt.NDArray[np.float64]

_FOLDS = 10
_HALF_A_POINT = 0.005
_ONE_POINT = 0.01
_SPLIT_SEED = 20160


@dataclass(frozen=True)
class Score:
    """How one family did.

    Attributes
    ----------
    family : Family
        Which.
    held_out : float
        Mean log-probability of a held-out question's (k, M), in nats.
    behind : float
        By how much the best family does better, in nats a question.
    behind_error : float
        Standard error of ``behind``.
    misses : tuple of float
        Fitted minus own plurality accuracy at each n of the curve.
    adequate : bool
        Whether all misses are small.
    law : Law
        The fit to all questions.
    """

    family: Family
    held_out: float
    behind: float
    behind_error: float
    misses: tuple[float, ...]
    adequate: bool
    law: Law


@dataclass(frozen=True)
class Choice:
    """The family chosen, and all scores, simplest first.

    Attributes
    ----------
    chosen : Score
        The choice.
    scores : tuple of Score
        All families that the log can tell apart.
    sizes : tuple of int
        Panel sizes n of the curve.
    own : tuple of float
        The log's own plurality accuracy at each n.
    reason : str
        Why, in words.
    """

    chosen: Score
    scores: tuple[Score, ...]
    sizes: tuple[int, ...]
    own: tuple[float, ...]
    reason: str


def fit(family: Family, kinds: Kinds, counts: Floats, start: Law | None = None) -> Law:
    """Fit a family by maximum likelihood; ``start`` is an earlier fit of the same family."""
    if family.w == "joint":
        return fit_joint(kinds, counts, start)
    difficulty = fit_difficulty(family.p, kinds, counts, start.difficulty if start else None)
    return Law(difficulty, fit_share(family.w, kinds, counts, start.misconception if start else None))


def _fit_all(families: Sequence[Family], kinds: Kinds, counts: Floats, starts: Sequence[Law | None]) -> list[Law]:
    """Fit several families, the laws of p and of w once each."""
    of_p: dict[str, Difficulty] = {}
    of_w: dict[str, Share] = {}
    laws = []
    for family, start in zip(families, starts, strict=True):
        if family.w == "joint":
            laws.append(fit_joint(kinds, counts, start))
            continue
        if family.p not in of_p:
            of_p[family.p] = fit_difficulty(family.p, kinds, counts, start.difficulty if start else None)
        if family.w not in of_w:
            of_w[family.w] = fit_share(family.w, kinds, counts, start.misconception if start else None)
        laws.append(Law(of_p[family.p], of_w[family.w]))
    return laws


def distinguishable(first: FirstAnswers) -> tuple[Family, ...]:
    """Families that the answers can tell apart.

    A spread of w needs questions with three wrong answers; a law of p needs two answers a question, some right and some wrong, and a
    few questions.
    """
    if first.size.max() < 2 or first.accuracy in (0.0, 1.0) or first.repeated < FEWEST_FOR_SPREAD:
        return FAMILIES[:1]
    triples = int((first.size - first.right >= 3).sum())
    return tuple(f for f in FAMILIES if triples >= FEWEST_FOR_SPREAD or f.w == "fixed")


def choose(first: FirstAnswers) -> Choice:
    """Choose the simplest family near the best held-out likelihood, among those that match the log's own plurality accuracy."""
    kinds = Kinds.of(first)
    families = distinguishable(first)
    sizes = curve_sizes(first)
    shares = np.stack([own_shares(first, n) for n in sizes])
    own = np.nanmean(shares, axis=1)
    laws = _fit_all(families, kinds, kinds.counts(np.ones(len(first))), [None] * len(families))
    misses = np.array([_curve(law, sizes) for law in laws]) - own
    if len(families) == 1:
        only = Score(families[0], math.nan, 0.0, 0.0, tuple(misses[0].tolist()), True, laws[0])
        return Choice(only, (only,), sizes, tuple(own.tolist()), "the log holds too little to tell families apart")
    log_score, errors = _cross_validate(families, laws, kinds, sizes, shares)
    scores = _scores(families, laws, log_score, misses, errors)
    chosen, reason = _pick(scores)
    return Choice(chosen, tuple(scores), sizes, tuple(own.tolist()), reason)


def _cross_validate(
    families: Sequence[Family], laws: Sequence[Law], kinds: Kinds, sizes: Sequence[int], shares: Floats
) -> tuple[Floats, Floats]:
    """Held-out log-probability, shape (families, questions); jackknife errors of the misses, shape (families, sizes)."""
    questions = shares.shape[1]
    folds = min(_FOLDS, questions)
    fold = np.random.Generator(np.random.Philox(_SPLIT_SEED)).permutation(questions) % folds
    log_score = np.empty((len(families), questions))
    gaps = np.empty((folds, len(families), len(sizes)))
    for number in range(folds):
        out = fold == number
        own = [float(np.mean(row[~out & np.isfinite(row)])) if np.any(~out & np.isfinite(row)) else math.nan for row in shares]
        for index, law in enumerate(_fit_all(families, kinds, kinds.counts((~out).astype(np.float64)), laws)):
            log_score[index, out] = _held_out(law, kinds, int((~out).sum()))[kinds.of_question[out]]
            gaps[number, index] = np.array(_curve(law, sizes)) - own
    return log_score, np.sqrt((folds - 1) / folds * ((gaps - gaps.mean(axis=0)) ** 2).sum(axis=0))


def _curve(law: Law, sizes: Sequence[int]) -> list[float]:
    return [predicted(n, law) for n in sizes]


def _held_out(law: Law, kinds: Kinds, trained_on: int) -> Floats:
    """Log-probability of each kind, with a little of the ignorant law."""
    ignorant = -np.log(kinds.size + 1.0) + np.where(
        kinds.wrong < 2, 0.0, np.where(kinds.largest >= 2, 0.0, math.log(2.0)) - np.log(kinds.wrong + 1.0)
    )
    little = 1.0 / (trained_on + 1.0)
    return np.asarray(np.logaddexp(math.log1p(-little) + log_joint(law, kinds), math.log(little) + ignorant))


def _scores(families: Sequence[Family], laws: Sequence[Law], log_score: Floats, misses: Floats, errors: Floats) -> list[Score]:
    best = log_score[int(log_score.mean(axis=1).argmax())]
    scores = []
    for family, law, row, miss, error in zip(families, laws, log_score, misses, errors, strict=True):
        adequate = bool(np.all(np.abs(miss) <= np.clip(np.nan_to_num(error), _HALF_A_POINT, _ONE_POINT)))
        behind = float((best - row).mean())
        spread = float((best - row).std(ddof=1) / math.sqrt(len(row)))
        scores.append(Score(family, float(row.mean()), behind, spread, tuple(miss.tolist()), adequate, law))
    return scores


def _pick(scores: Sequence[Score]) -> tuple[Score, str]:
    """Choose within one standard error of the best score, or within two where no family there is adequate."""
    for errors, words in ((1, "one standard error"), (2, "two standard errors")):
        reach = [score for score in scores if score.behind <= errors * score.behind_error]
        adequate = [score for score in reach if score.adequate]
        if adequate:
            return adequate[0], (
                f"simplest family within {words} of the best held-out likelihood that also matches the log's own plurality accuracy"
            )
    return min(reach, key=lambda score: max(np.abs(score.misses))), (
        "nearest to the log's own plurality accuracy of the families within two standard errors of the best held-out likelihood; none "
        "matches it as well as it should"
    )
