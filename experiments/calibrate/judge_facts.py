r"""What a log of judges says by itself, before any model: agreement, order, repeats, panels.

Rows of one judge, item and order are samples of the same judgement, never errors: a figure of one call, or of one call in each order, is
its expectation over which of them is drawn. With v = 1 for A, 0 for a tie and -1 for B, :math:`v_{ij}` is the mean over an item's calls
of a judge, orders having equal weight. Humans' ties are kept as ties: accuracies are on items with a decided label (a tied verdict earns
half), three-class agreement is on all.

Every figure is a weighted mean over items, so that a bootstrap of items is a matrix product.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import numpy.typing as npt

from ...model.judging.calls import convolve
from ..logs.columns import ABSTAINED, JudgeLog

__all__ = ["JudgeFacts", "panels_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ALL_SUBSETS = 7
SOME_SUBSETS = 40


@dataclass(frozen=True, eq=False)
class JudgeFacts:
    """Judgements by item, judge and order.

    Attributes
    ----------
    log : JudgeLog
        The log.
    label : ndarray of float, shape (items,)
        1 for A, 0 for a tie, -1 for B, NaN where no row says.
    shares : ndarray of float, shape (items, judges, 2, 3)
        Shares of the verdicts A, tie, B among the calls in each order (AB, BA); NaN where there are none.
    """

    log: JudgeLog
    label: Floats
    shares: Floats

    @classmethod
    def of(cls, log: JudgeLog) -> JudgeFacts:
        """Gather a log; messages without a verdict are left out."""
        label = np.full(len(log.items), np.nan)
        known = log.label != ABSTAINED
        label[log.item[known]] = log.label[known]
        counts = np.zeros((len(log.items), len(log.judges), 2, 3))
        said = log.verdict != ABSTAINED
        np.add.at(counts, (log.item[said], log.judge[said], log.swapped[said].astype(int), 1 - log.verdict[said]), 1.0)
        total = counts.sum(axis=3, keepdims=True)
        with np.errstate(invalid="ignore"):
            return cls(log, label, np.where(total > 0, counts / np.where(total > 0, total, 1), np.nan))

    @cached_property
    def votes(self) -> Floats:
        """Mean verdict v in [-1, 1] by item and judge, orders having equal weight; NaN where a judge did not judge."""
        by_order = self.shares[..., 0] - self.shares[..., 2]
        return _mean(by_order, axis=2)

    @cached_property
    def both_orders(self) -> npt.NDArray[np.bool_]:
        """Whether a judge judged an item in both orders; shape (items, judges)."""
        return np.asarray(np.all(np.isfinite(self.shares[..., 0]), axis=2))

    @cached_property
    def sums(self) -> Floats:
        """P(twice a judge's mean vote is -2, ..., 2), one of its calls drawn in each order; shape (items, judges, 5).

        Where a judge judged in one order only, that call counts for both; NaN where it did not judge.
        """
        ab, ba = self.shares[:, :, 0, ::-1], self.shares[:, :, 1, ::-1]
        alone = np.zeros((*ab.shape[:2], 5))
        alone[..., ::2] = np.where(np.isfinite(ab), ab, ba)
        alone[~np.isfinite(alone[..., 0])] = np.nan
        return np.where(self.both_orders[..., None], convolve(ab.reshape(-1, 3), ba.reshape(-1, 3)).reshape(alone.shape), alone)

    def right(self, sums: Floats) -> Floats:
        """P(a summed vote has the label's sign), half of a zero sum's; NaN where label or sum is missing or the label is a tie.

        Parameters
        ----------
        sums : ndarray, shape (items, 2 m + 1)
            P(sum = -m, ..., m).
        """
        middle = sums.shape[1] // 2
        sided = np.where(self.label > 0, sums[:, middle + 1 :].sum(axis=1), sums[:, :middle].sum(axis=1))
        return np.where((self.label == 0) | ~np.isfinite(self.label), np.nan, sided + sums[:, middle] / 2)

    @cached_property
    def one_order(self) -> Floats:
        """Accuracy of one call, mean over calls and orders; shape (items, judges)."""
        right = np.where(self.label[:, None, None] > 0, self.shares[..., 0], self.shares[..., 2]) + self.shares[..., 1] / 2
        decided = np.isfinite(self.label) & (self.label != 0)
        return _mean(np.where(decided[:, None, None], right, np.nan), axis=2)

    @cached_property
    def averaged(self) -> Floats:
        """Accuracy of both orders averaged; NaN where a judge judged in one order only; shape (items, judges)."""
        right = np.stack([self.right(self.sums[:, judge]) for judge in range(self.sums.shape[1])], axis=1)
        return np.where(self.both_orders, right, np.nan)

    @cached_property
    def three_class(self) -> Floats:
        """Whether one call says exactly what humans say, ties included; shape (items, judges)."""
        place = np.where(np.isfinite(self.label), 1 - np.nan_to_num(self.label), 0).astype(int)
        same = np.take_along_axis(self.shares, place[:, None, None, None], axis=3)[..., 0]
        return np.where(np.isfinite(self.label)[:, None], _mean(same, axis=2), np.nan)

    @cached_property
    def swap(self) -> Floats:
        """P(the same verdict in both orders), over pairs of calls; shape (items, judges)."""
        return np.asarray((self.shares[:, :, 0] * self.shares[:, :, 1]).sum(axis=2))

    @cached_property
    def ties(self) -> Floats:
        """Share of tied verdicts; shape (items, judges)."""
        return _mean(self.shares[..., 1], axis=2)

    @cached_property
    def first_shown(self) -> Floats:
        """Share of calls that prefer the answer shown first; shape (items, judges)."""
        return _mean(np.stack([self.shares[:, :, 0, 0], self.shares[:, :, 1, 2]], axis=2), axis=2)

    @cached_property
    def second_shown(self) -> Floats:
        """Share of calls that prefer the answer shown second; shape (items, judges)."""
        return _mean(np.stack([self.shares[:, :, 0, 2], self.shares[:, :, 1, 0]], axis=2), axis=2)

    @cached_property
    def repeats(self) -> Floats:
        """P(two calls of the same order say the same), over pairs of repeated calls; NaN without repeats; shape (items, judges)."""
        counts = np.zeros(self.shares.shape)
        said = self.log.verdict != ABSTAINED
        place = (self.log.item[said], self.log.judge[said], self.log.swapped[said].astype(int), 1 - self.log.verdict[said])
        np.add.at(counts, place, 1.0)
        total = counts.sum(axis=3)
        pairs = total * (total - 1) / 2
        same = (counts * (counts - 1) / 2).sum(axis=3)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(pairs.sum(axis=2) > 0, same.sum(axis=2) / pairs.sum(axis=2), np.nan)

    @cached_property
    def panels(self) -> Floats:
        """Accuracy of panels of 1, 2, ... judges, both orders averaged, mean over subsets of each size; shape (items, sizes)."""
        judges = self.sums.shape[1]
        columns = []
        for size in range(1, judges + 1):
            right = [self.right(reduce(convolve, (self.sums[:, j] for j in panel))) for panel in panels_of(judges, size)]
            columns.append(_mean(np.stack(right, axis=1), axis=1))
        return np.stack(columns, axis=1)

    def correlations(self, weight: Floats, averaged: bool) -> Floats:
        """Correlation of being right between judges, both orders averaged or one order (mean over the two); shape (judges, judges)."""
        if averaged:
            zero = np.where(self.both_orders, self.sums[..., 2], np.nan)
            return _correlation(self.averaged, zero, weight)
        side = np.where(self.label[:, None, None] > 0, self.shares[..., 0], self.shares[..., 2])
        decided = (np.isfinite(self.label) & (self.label != 0))[:, None, None]
        right, ties = np.where(decided, side + self.shares[..., 1] / 2, np.nan), self.shares[..., 1]
        return np.asarray(sum(_correlation(right[:, :, order], ties[:, :, order], weight) for order in (0, 1)) / 2)


def panels_of(judges: int, size: int) -> Iterator[tuple[int, ...]]:
    """Subsets of a size: all of them for up to seven judges, else forty fixed ones."""
    if judges <= ALL_SUBSETS:
        yield from itertools.combinations(range(judges), size)
        return
    rng = np.random.Generator(np.random.Philox(size))
    for _ in range(SOME_SUBSETS):
        yield tuple(sorted(int(j) for j in rng.permutation(judges)[:size]))


def weighted_mean(values: Floats, weight: Floats) -> Floats:
    """Means over items, NaN left out; ``weight`` may have draws in front: shape (..., items) with values (items, k) gives (..., k)."""
    known = np.isfinite(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((weight @ np.where(known, values, 0.0)) / (weight @ known))


def _mean(values: Floats, axis: int) -> Floats:
    known = np.isfinite(values)
    count = known.sum(axis=axis)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count > 0, np.where(known, values, 0.0).sum(axis=axis) / np.where(count > 0, count, 1), np.nan)


def _correlation(right: Floats, ties: Floats, weight: Floats) -> Floats:
    """Weighted correlations of being right, one call drawn of each judge, over the items that all judges judged.

    Parameters
    ----------
    right, ties : ndarray, shape (items, judges)
        Expected credit (1, 1/2 or 0) and P(credit is 1/2); judges draw independently given the item.
    weight : ndarray, shape (items,)
        Of the items.
    """
    whole = np.all(np.isfinite(right), axis=1)
    if whole.sum() < 3:
        return np.full((right.shape[1], right.shape[1]), np.nan)
    w = weight[whole] / weight[whole].sum()
    mean = w @ right[whole]
    centred = right[whole] - mean
    covariance = (centred * w[:, None]).T @ centred
    variance = w @ (right[whole] - ties[whole] / 4) - mean**2
    np.fill_diagonal(covariance, variance)
    sd = np.sqrt(np.where(variance > 1e-12, variance, 0.0))  # a judge that is always right has none, but for rounding
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(covariance / np.outer(sd, sd))
