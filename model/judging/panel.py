r"""The exact law of panels: judgements that do not see each other.

Given an item's numbers calls are independent, so the sum of their verdicts (A = 1, tie = 0, B = -1) is a convolution.

* One judge: nodes over its effective difference e and position shift p. Averaged scores are a convolution of gaps on a lattice (a closed
  form where they are Gaussian).
* Several judges: they are independent given the true difference x, the factor c that their biases share and the length difference. Each
  judge's law of verdicts given :math:`u = x + \sigma_b l c + v \ell` is tabulated once, its own bias and position shift integrated out, and
  the judges are convolved on nodes over (x, c, length).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.interpolate import make_interp_spline
from scipy.special import ndtr

from ..errors import InputError
from .cost import panel_judges
from .gaps import GapLaw, GaussianGap, Shifts, ZeroInflatedBetaGap
from .items import Judge, JudgingPopulation
from .outcomes import JUDGING_REASONS, JudgingTally, outcome_shape
from .protocols import Panel
from .quadrature import NODES, Bend, evidence, normal_nodes, shift_nodes
from .stopping import JudgingStopReason
from .verdicts import TIED, draws_once, joint_verdicts, mean_verdicts, sign_masses, zero_shares
from .weights import panel_weights

__all__ = ["PanelNodes", "evaluate_panel"]

Floats = npt.NDArray[np.float64]

SCORE_CELLS = 256
MOST_JOINT_CALLS = 16
CHUNK = 1024
MOST_POINTS = 10_000_000
"""Most points at which a judge's law of votes is asked; a tenth of that is the most nodes of what judges have in common."""
_COARSE_FLOOR = 1 / 6
"""Least noise in units of what is integrated, where weights are learnt."""


def evaluate_panel(protocol: Panel, population: JudgingPopulation) -> JudgingTally:
    """Probabilities of the outcomes of a panel, and both swap consistencies (None where there are too many calls)."""
    members = panel_judges(protocol, population)
    if len(members) == 1:
        return _one_judge(protocol, population, population.judges[members[0]])
    nodes = PanelNodes(population, protocol, members)
    weights = panel_weights(protocol, population)
    verdicts = nodes.verdicts(range(len(members)), weights)
    table = np.einsum("nl,nv->lv", nodes.label, verdicts)
    same = fresh = None
    if not any(judge.position or judge.position_sd for judge in nodes.judges):
        same = 1.0
    if len(set(weights)) == 1 and len(members) * protocol.calls_each <= MOST_JOINT_CALLS:
        fresh = nodes.consistency(same_noise=False)
        if all(draws_once(judge.gap) or not (judge.position or judge.position_sd) for judge in nodes.judges):
            same = nodes.consistency(same_noise=True)
    return _tally(protocol, table, same, fresh)


def _tally(protocol: Panel, table: Floats, same: float | None, fresh: float | None) -> JudgingTally:
    masses = np.zeros(outcome_shape(protocol))
    masses[:, :3, 1, JUDGING_REASONS.index(JudgingStopReason.SCORED)] = table
    return JudgingTally(masses, same, fresh)


# --- one judge ---


def _one_judge(protocol: Panel, population: JudgingPopulation, judge: Judge) -> JudgingTally:
    anonymity = population.anonymity if protocol.anonymised else 1.0
    noise = math.sqrt(judge.gap.error_variance)
    averages = protocol.combine == "score" and protocol.calls_each > 1
    spread, shift_weight = shift_nodes(anonymity * judge.position_sd, noise, dear=averages)
    shifts = anonymity * judge.position + spread
    ends = {float(shifts.min()), float(shifts.max()), anonymity * judge.position}
    tied = judge.gap.mean_tie(protocol.calls_each) if averages else judge.gap.tie_gap
    bends = [
        Bend(sign * at + tie, noise / math.sqrt(protocol.calls_each)) for at in (*ends, 0.0) for sign in (1, -1) for tie in {-tied, tied}
    ]
    nodes = evidence(population.items, judge.sigma_b**2 + judge.verbosity**2, bends)
    weight = nodes.weight.sum(axis=1)
    decided = 1 - judge.undecided
    table, fresh, same = np.outer(nodes.weight.sum(axis=0), [0.0, judge.undecided, 0.0]), judge.undecided, judge.undecided
    known = True
    for shift, share in zip(shifts, shift_weight, strict=True):
        once = _verdicts(protocol, judge.gap, nodes.e, shift)
        turned = once if protocol.order != "fixed" else _verdicts(protocol, judge.gap, nodes.e, -shift)
        table += decided * share * np.einsum("nl,nv->lv", nodes.weight, once)
        fresh += decided * share * float(weight @ (once * turned).sum(axis=1))
        kept = _same(protocol, judge.gap, nodes.e, shift, once, turned) if known else None
        known = kept is not None
        same += 0.0 if kept is None else decided * share * float(weight @ kept)
    return _tally(protocol, table, same if known else None, fresh)


def _call_shifts(order: str, shift: float, call_pair: int) -> Shifts:
    """Shift of a call: the first (0) or second (1) of a pair in both orders."""
    if order == "random":
        return Shifts.of(shift, -shift)
    return Shifts.of(-shift if order == "both" and call_pair else shift)


def _call_groups(protocol: Panel, shift: float) -> list[tuple[Shifts, int]]:
    """Return the calls of one judge as groups of equal law: shifts and number."""
    pairs = (0, 1) if protocol.order == "both" else (0,)
    return [(_call_shifts(protocol.order, shift, pair), protocol.samples) for pair in pairs]


def _one_call(law: GapLaw, e: Floats, shifts: Shifts) -> Floats:
    """P(A, tie, B) of one call; shape (n, 3)."""
    return np.asarray(sum(w * law.verdicts(e + s) for s, w in zip(shifts.value, shifts.weight, strict=True)))


def _verdicts(protocol: Panel, law: GapLaw, e: Floats, shift: float) -> Floats:
    """P(A, tie, B) of one judge's panel; shape (n, 3)."""
    groups = _call_groups(protocol, shift)
    if protocol.calls_each == 1:
        return _one_call(law, e, groups[0][0])
    if protocol.combine == "vote":
        return sign_masses(_ballots(law, e, groups))
    if isinstance(law, GaussianGap) and protocol.order != "random":
        mean = e + (0.0 if protocol.order == "both" else shift)
        sd = law.sd / math.sqrt(protocol.calls_each)
        a, b = ndtr((mean - law.tie) / sd), ndtr((-law.tie - mean) / sd)
        return np.stack([a, 1 - a - b, b], axis=1)
    return _mean_score(law, e, groups)


def _ballots(law: GapLaw, e: Floats, groups: Sequence[tuple[Shifts, int]]) -> Floats:
    """Law of the sum of verdicts, from -calls to calls; shape (n, 2 calls + 1)."""
    parts = [_power(_one_call(law, e, shifts)[:, ::-1], count) for shifts, count in groups]
    return parts[0] if len(parts) == 1 else _convolve(parts[0], parts[1])


def _mean_score(law: GapLaw, e: Floats, groups: Sequence[tuple[Shifts, int]]) -> Floats:
    lattice = law.lattice(SCORE_CELLS, max(shifts.reach for shifts, _ in groups))
    calls = sum(count for _, count in groups)
    total = np.ones((1, 1))
    for shifts, count in groups:
        total = _convolve(total, _power(law.masses(lattice, e, shifts), count))
    shares = mean_verdicts(total, lattice, calls, e, law.mean_tie(calls))
    if isinstance(law, ZeroInflatedBetaGap):  # sums of exact zeros are ties, whatever the lattice made of them
        shares = shares + law.zero**calls * (TIED - zero_shares(lattice, calls, law.mean_tie(calls)))
    return shares


def _convolve(x: Floats, y: Floats) -> Floats:
    size = x.shape[1] + y.shape[1] - 1
    if min(x.shape[1], y.shape[1]) <= 16:
        if x.shape[1] < y.shape[1]:
            x, y = y, x
        total = np.zeros((max(x.shape[0], y.shape[0]), size))
        for k in range(y.shape[1]):
            total[:, k : k + x.shape[1]] += y[:, k : k + 1] * x
        return total
    n = 1 << (size - 1).bit_length()
    return np.maximum(np.fft.irfft(np.fft.rfft(x, n) * np.fft.rfft(y, n), n)[:, :size], 0.0)


def _power(x: Floats, times: int) -> Floats:
    """X convolved with itself ``times`` times, by repeated squaring."""
    result, square = None, x
    while times:
        if times & 1:
            result = square if result is None else _convolve(result, square)
        times >>= 1
        square = _convolve(square, square) if times else square
    assert result is not None
    return result


def _same(protocol: Panel, law: GapLaw, e: Floats, shift: float, once: Floats, turned: Floats) -> Floats | None:
    """P(the panel's verdict stays | e) under the same noise; None where it is not known."""
    calls = protocol.calls_each
    if shift == 0:
        return np.ones(len(e))
    if protocol.combine == "score" and calls > 1:
        if protocol.order == "both":
            return np.ones(len(e)) if isinstance(law, GaussianGap) else None
        two_valued = np.all(once[:, 1] == 0) or (isinstance(law, GaussianGap) and protocol.order == "fixed")
        if protocol.order == "random" or not two_valued:
            return None
        return np.asarray(np.einsum("nvv->n", joint_verdicts(GaussianGap(), once, turned)))
    if calls > MOST_JOINT_CALLS or not draws_once(law):
        return None
    joint = _joint_ballots(protocol, law, e, shift)
    return np.asarray(_agree(joint))


def _agree(joint: Floats) -> Floats:
    """P(both sums of votes have the same sign); ``joint`` has axes (n, sum, sum)."""
    half = joint.shape[1] // 2
    kept = joint[:, :half, :half].sum(axis=(1, 2)) + joint[:, half, half] + joint[:, half + 1 :, half + 1 :].sum(axis=(1, 2))
    return np.asarray(kept)


def _joint_call(law: GapLaw, e: Floats, shift: float, order: str, pair: int) -> Floats:
    """P(verdict as shown, verdict with places changed) of one call under the same noise; shape (n, 3, 3), B, tie, A."""
    plus, minus = law.verdicts(e + shift), law.verdicts(e - shift)
    forth = joint_verdicts(law, plus, minus)[:, ::-1, ::-1]
    back = np.swapaxes(forth, 1, 2)
    if order == "random":
        return (forth + back) / 2
    return back if order == "both" and pair else forth


def _joint_ballots(protocol: Panel, law: GapLaw, e: Floats, shift: float) -> Floats:
    """Joint law of the sums of one judge's verdicts in both orders under the same noise; shape (n, 2 calls + 1, 2 calls + 1)."""
    total = np.ones((len(e), 1, 1))
    for pair in (0, 1) if protocol.order == "both" else (0,):
        one = _joint_call(law, e, shift, protocol.order, pair)
        for _ in range(protocol.samples):
            total = _convolve_2d(total, one)
    return total


def _convolve_2d(x: Floats, y: Floats) -> Floats:
    rows, columns = x.shape[1] + y.shape[1] - 1, x.shape[2] + y.shape[2] - 1
    total = np.zeros((x.shape[0], rows, columns))
    for i in range(y.shape[1]):
        for j in range(y.shape[2]):
            total[:, i : i + x.shape[1], j : j + x.shape[2]] += y[:, i, j, None, None] * x
    return total


# --- several judges ---


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
        votes = (1 - judge.undecided) * _ballots(judge.gap, e, _call_groups(self.protocol, shift))
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
            total = _convolve_2d(total, self._tabulate(judge, u, self._joint_same if same_noise else self._joint_fresh))
        return float(self.label.sum(axis=1) @ _agree(total))

    def _joint_same(self, judge: Judge, e: Floats, shift: float) -> Floats:
        return self._or_undecided(judge, _joint_ballots(self.protocol, judge.gap, e, shift))

    def _joint_fresh(self, judge: Judge, e: Floats, shift: float) -> Floats:
        once, turned = (_ballots(judge.gap, e, _call_groups(self.protocol, s)) for s in (shift, -shift))
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
