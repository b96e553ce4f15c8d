r"""The calls of one judge: the law of its verdicts' sum, of its mean score, and of both orders under the same noise.

Given the effective difference e and the position shift, calls are independent: the sum of their verdicts (A = 1, tie = 0, B = -1) is a
convolution, and so is the sum of their gaps on a lattice (a closed form where they are Gaussian).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from .gaps import GapLaw, GaussianGap, Shifts, ZeroInflatedBetaGap
from .protocols import Panel
from .verdicts import TIED, joint_verdicts, mean_verdicts, sign_masses, zero_shares

__all__ = ["agree", "ballots", "call_groups", "convolve", "convolve_2d", "joint_ballots", "panel_verdicts"]

Floats = npt.NDArray[np.float64]

SCORE_CELLS = 256


def _call_shifts(order: str, shift: float, call_pair: int) -> Shifts:
    """Shift of a call: the first (0) or second (1) of a pair in both orders."""
    if order == "random":
        return Shifts.of(shift, -shift)
    return Shifts.of(-shift if order == "both" and call_pair else shift)


def call_groups(protocol: Panel, shift: float) -> list[tuple[Shifts, int]]:
    """Return the calls of one judge as groups of equal law: shifts and number."""
    pairs = (0, 1) if protocol.order == "both" else (0,)
    return [(_call_shifts(protocol.order, shift, pair), protocol.samples) for pair in pairs]


def one_call(law: GapLaw, e: Floats, shifts: Shifts) -> Floats:
    """P(A, tie, B) of one call; shape (n, 3)."""
    return np.asarray(sum(w * law.verdicts(e + s) for s, w in zip(shifts.value, shifts.weight, strict=True)))


def panel_verdicts(protocol: Panel, law: GapLaw, e: Floats, shift: float) -> Floats:
    """P(A, tie, B) of one judge's panel; shape (n, 3)."""
    groups = call_groups(protocol, shift)
    if protocol.calls_each == 1:
        return one_call(law, e, groups[0][0])
    if protocol.combine == "vote":
        return sign_masses(ballots(law, e, groups))
    if isinstance(law, GaussianGap) and protocol.order != "random":
        mean = e + (0.0 if protocol.order == "both" else shift)
        sd = law.sd / math.sqrt(protocol.calls_each)
        a, b = ndtr((mean - law.tie) / sd), ndtr((-law.tie - mean) / sd)
        return np.stack([a, 1 - a - b, b], axis=1)
    return _mean_score(law, e, groups)


def ballots(law: GapLaw, e: Floats, groups: Sequence[tuple[Shifts, int]]) -> Floats:
    """Law of the sum of verdicts, from -calls to calls; shape (n, 2 calls + 1)."""
    parts = [_power(one_call(law, e, shifts)[:, ::-1], count) for shifts, count in groups]
    return parts[0] if len(parts) == 1 else convolve(parts[0], parts[1])


def _mean_score(law: GapLaw, e: Floats, groups: Sequence[tuple[Shifts, int]]) -> Floats:
    lattice = law.lattice(SCORE_CELLS, max(shifts.reach for shifts, _ in groups))
    calls = sum(count for _, count in groups)
    total = np.ones((1, 1))
    for shifts, count in groups:
        total = convolve(total, _power(law.masses(lattice, e, shifts), count))
    shares = mean_verdicts(total, lattice, calls, e, law.mean_tie(calls))
    if isinstance(law, ZeroInflatedBetaGap):  # sums of exact zeros are ties, whatever the lattice made of them
        shares = shares + law.zero**calls * (TIED - zero_shares(lattice, calls, law.mean_tie(calls)))
    return shares


def convolve(x: Floats, y: Floats) -> Floats:
    """Laws of sums of two independent whole numbers, row by row; shapes (n or 1, k) and (n or 1, m) give (n, k + m - 1)."""
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
            result = square if result is None else convolve(result, square)
        times >>= 1
        square = convolve(square, square) if times else square
    assert result is not None
    return result


def agree(joint: Floats) -> Floats:
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


def joint_ballots(protocol: Panel, law: GapLaw, e: Floats, shift: float) -> Floats:
    """Joint law of the sums of one judge's verdicts in both orders under the same noise; shape (n, 2 calls + 1, 2 calls + 1)."""
    total = np.ones((len(e), 1, 1))
    for pair in (0, 1) if protocol.order == "both" else (0,):
        one = _joint_call(law, e, shift, protocol.order, pair)
        for _ in range(protocol.samples):
            total = convolve_2d(total, one)
    return total


def convolve_2d(x: Floats, y: Floats) -> Floats:
    """Laws of sums of independent pairs; shapes (n, k, k) and (n, m, m) give (n, k + m - 1, k + m - 1)."""
    rows, columns = x.shape[1] + y.shape[1] - 1, x.shape[2] + y.shape[2] - 1
    total = np.zeros((x.shape[0], rows, columns))
    for i in range(y.shape[1]):
        for j in range(y.shape[2]):
            total[:, i : i + x.shape[1], j : j + x.shape[2]] += y[:, i, j, None, None] * x
    return total
