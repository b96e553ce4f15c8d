r"""Several judges: their laws of votes on nodes over what they have in common.

Judges are independent given the true difference x, the factor c that their biases share and the length difference. Each judge's law of
verdicts given :math:`u = x + \sigma_b l c + v \ell` is tabulated once, its own bias and position shift integrated out, and the judges are
convolved on nodes over (x, c, length).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.interpolate import make_interp_spline

from ..errors import InputError
from .calls import agree, ballots, call_groups, convolve_2d, joint_ballots
from .gaps import GaussianGap
from .items import Judge, JudgingPopulation
from .protocols import Panel
from .quadrature import NODES, Bend, evidence, normal_nodes, shift_nodes
from .verdicts import sign_masses

__all__ = ["PanelNodes"]

Floats = npt.NDArray[np.float64]

CHUNK = 1024
MOST_POINTS = 10_000_000
"""Most points at which a judge's law of votes is asked; a tenth of that is the most nodes of what judges have in common."""
_COARSE_FLOOR = 1 / 6
"""Least noise in units of what is integrated, where weights are learnt."""


class PanelNodes:
    """Laws of several judges' votes on nodes over what they have in common.

    Parameters
    ----------
    population : JudgingPopulation
        Items and judges.
    protocol : Panel
        Samples, order, anonymity.
    members : sequence of int
        Places of the judges among the population's.
    coarse : bool
        Few nodes: enough to learn weights, or to say how sure an accuracy is.

    Attributes
    ----------
    label : ndarray of float, shape (nodes, 3)
        Joint probability of node and label.
    """

    def __init__(self, population: JudgingPopulation, protocol: Panel, members: Sequence[int], coarse: bool = False) -> None:
        self.protocol = protocol
        self.coarse = coarse
        self.judges = [population.judges[j] for j in members]
        self.anonymity = population.anonymity if protocol.anonymised else 1.0
        width = min(self._width(judge) for judge in self.judges)
        items = evidence(population.items, 0.0, [Bend(0.0, max(width, 0.5) if coarse else width)], nodes=5 if coarse else NODES)
        shared = self._factor([judge.sigma_b * judge.loading for judge in self.judges], coarse)
        length = self._factor([judge.verbosity for judge in self.judges], coarse)
        if len(items.e) * len(shared[0]) * len(length[0]) > MOST_POINTS // 10:
            raise _too_fine("all of them together")
        self.label = (items.weight[:, None, None] * np.multiply.outer(shared[1], length[1])[None, :, :, None]).reshape(-1, 3)
        self.seen = [
            (items.e[:, None, None] + judge.sigma_b * judge.loading * shared[0][None, :, None] + judge.verbosity * length[0]).ravel()
            for judge in self.judges
        ]
        self.votes = [
            self._tabulate(judge, u, self._ballots, self._simpler(judge)) for judge, u in zip(self.judges, self.seen, strict=True)
        ]

    def _factor(self, slopes: Sequence[float], coarse: bool) -> tuple[Floats, Floats]:
        """Nodes of a standard normal factor that moves the judges' u by these slopes."""
        if not any(slopes):
            return np.zeros(1), np.ones(1)
        width = min(self._width(judge) / abs(slope) for judge, slope in zip(self.judges, slopes, strict=True) if slope)
        return normal_nodes(1.0, 1.0 if coarse else min(width, 1.0))

    def _width(self, judge: Judge) -> float:
        """Width over which a judge's law of votes bends in u."""
        own = judge.sigma_b**2 * (1 - judge.loading**2)
        return math.sqrt(own + judge.gap.error_variance / self.protocol.calls_each)

    def _own(self, judge: Judge) -> _Own:
        """Return what of a judge is not shared: its own bias and the spread of its shift."""
        return _Own(judge.sigma_b * math.sqrt(1 - judge.loading**2), self.anonymity * judge.position_sd, judge)

    def _simpler(self, judge: Judge) -> _Own:
        """Numbers that give one run's votes the same law with less to integrate.

        One call sees the sum of bias and shift only. Two calls in both orders see b + p and b - p: two normal numbers of covariance
        b^2 - p^2, which as much of one factor and independent noise gives them; Gaussian gaps take the noise in.
        """
        own, noisy = self._own(judge), isinstance(judge.gap, GaussianGap)
        if self.protocol.calls_each == 1:
            spread = math.hypot(own.bias, own.shift)
            return _Own(0.0, 0.0, _noisier(judge, spread)) if noisy else _Own(spread, 0.0, judge)
        if self.protocol.samples > 1 or not noisy:
            return own
        left = math.sqrt(abs(own.bias**2 - own.shift**2))
        noisier = _noisier(judge, math.sqrt(2) * min(own.bias, own.shift))
        return _Own(left, 0.0, noisier) if own.bias > own.shift else _Own(0.0, left, noisier)

    def _tabulate(self, judge: Judge, u: Floats, law: Callable[[Judge, Floats, float], Floats], own: _Own | None = None) -> Floats:
        """Average ``law(judge, e, shift)`` over the judge's own bias and shift, as a function of u (spline of order 8)."""
        own = own or self._own(judge)
        low, high = float(u.min()), float(u.max())
        grid = np.linspace(low, high, max(16, math.ceil((high - low) / (min(self._width(judge), 1.0) / (2 if self.coarse else 4))) + 8))
        noise = (1.5 if self.coarse else 1.0) * math.sqrt(own.judge.gap.error_variance / self.protocol.calls_each)
        floor = _COARSE_FLOOR if self.coarse else 0.0
        bias, bias_weight = normal_nodes(own.bias, max(noise, floor * own.bias))
        shift, shift_weight = shift_nodes(own.shift, max(noise, floor * own.shift), dear=False)
        if len(grid) * len(bias) * len(shift) > MOST_POINTS:
            raise _too_fine(f"judge {judge.name}")
        total: Floats | float = 0.0
        for s, w in zip(shift, shift_weight, strict=True):
            points = law(own.judge, np.add.outer(grid, bias).ravel(), self.anonymity * judge.position + s)
            total = total + w * np.tensordot(points.reshape(len(grid), len(bias), *points.shape[1:]), bias_weight, axes=(1, 0))
        table = np.asarray(total)
        return np.asarray(make_interp_spline(grid, table.reshape(len(grid), -1), k=7)(u).reshape(len(u), *table.shape[1:]))

    def _ballots(self, judge: Judge, e: Floats, shift: float) -> Floats:
        votes = (1 - judge.undecided) * ballots(judge.gap, e, call_groups(self.protocol, shift))
        votes[:, self.protocol.calls_each] += judge.undecided
        return votes

    def verdicts(self, members: Sequence[int], weights: Sequence[int]) -> Floats:
        """P(A, tie, B) of the panel of some of the judges, shape (nodes, 3).

        Parameters
        ----------
        members : sequence of int
            Places among this object's judges.
        weights : sequence of int
            Whole weights of these members.
        """
        common = math.gcd(*weights) or 1
        steps = [weight // common for weight in weights]
        result = np.empty((len(self.label), 3))
        for start in range(0, len(result), CHUNK):
            part = slice(start, start + CHUNK)
            total = np.ones((len(result[part]), 1))
            for j, step in zip(members, steps, strict=True):
                total = _add_votes(total, self.votes[j][part], step) if step else total
            result[part] = sign_masses(total)
        return result

    def accuracy(self, members: Sequence[int], weights: Sequence[int]) -> float:
        """Accuracy on decisive items, ties in verdicts half a credit."""
        verdicts = self.verdicts(members, weights)
        a, b = self.label[:, 0], self.label[:, 2]
        right = a @ (verdicts[:, 0] + verdicts[:, 1] / 2) + b @ (verdicts[:, 2] + verdicts[:, 1] / 2)
        return float(right / (a.sum() + b.sum()))

    def consistency(self, same_noise: bool) -> float:
        """P(the panel's verdict stays when the answers change places)."""
        total = np.ones((len(self.label), 1, 1))
        for judge, u in zip(self.judges, self.seen, strict=True):
            total = convolve_2d(total, self._tabulate(judge, u, self._joint_same if same_noise else self._joint_fresh))
        return float(self.label.sum(axis=1) @ agree(total))

    def _joint_same(self, judge: Judge, e: Floats, shift: float) -> Floats:
        return self._or_undecided(judge, joint_ballots(self.protocol, judge.gap, e, shift))

    def _joint_fresh(self, judge: Judge, e: Floats, shift: float) -> Floats:
        once, turned = (ballots(judge.gap, e, call_groups(self.protocol, s)) for s in (shift, -shift))
        return self._or_undecided(judge, once[:, :, None] * turned[:, None, :])

    def _or_undecided(self, judge: Judge, joint: Floats) -> Floats:
        joint = (1 - judge.undecided) * joint
        joint[:, self.protocol.calls_each, self.protocol.calls_each] += judge.undecided
        return joint


def _too_fine(whose: str) -> InputError:
    return InputError(
        f"the exact law does not reach a panel whose judges' noise is so small beside what they share and prefer ({whose}); "
        "use --engine mc or --engine reference."
    )


@dataclass(frozen=True)
class _Own:
    """Spreads of a judge's own bias and of its shift, and the judge that has the rest."""

    bias: float
    shift: float
    judge: Judge


def _noisier(judge: Judge, sd: float) -> Judge:
    """Judge whose Gaussian gap has further independent noise."""
    assert isinstance(judge.gap, GaussianGap)
    return replace(judge, gap=replace(judge.gap, sd=math.hypot(judge.gap.sd, sd)))


def _add_votes(total: Floats, votes: Floats, step: int) -> Floats:
    """Law of a sum after another judge's votes, each worth ``step``, are added."""
    size = total.shape[1]
    added = np.zeros((len(total), size + step * (votes.shape[1] - 1)))
    for k in range(votes.shape[1]):
        added[:, k * step : k * step + size] += votes[:, k, None] * total
    return added
