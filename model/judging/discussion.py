r"""The exact law of discussions among agents of one model.

Agent j's stance is :math:`s_j = x + v\ell + \sigma_b(\sqrt\rho\, c + \sqrt{1-\rho}\, d_j)`. A turn moves it by ``pull`` towards the mean
of the others, all at once: the mean of the stances stays, deviations from it shrink by

.. math:: \lambda = 1 - pull\, \frac{N}{N - 1}

a turn. So e, the mean stance, takes the place of a single judge's effective difference, with bias variance
:math:`\sigma_b^2 (\rho + (1 - \rho)/N)`, and the N - 1 dimensional deviations are integrated beside it. Discussion averages biases; it
cannot remove what the agents share.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.interpolate import make_interp_spline
from scipy.special import ndtr

from ..errors import InputError
from .gaps import GapLaw, GaussianGap, Shifts, ZeroInflatedBetaGap
from .items import JudgingPopulation
from .outcomes import JUDGING_REASONS, JudgingTally, outcome_shape
from .protocols import Discussion
from .quadrature import Bend, evidence, shift_nodes
from .stopping import JudgingStopReason
from .verdicts import TIED, joint_verdicts, mean_verdicts, zero_shares

__all__ = ["evaluate_discussion"]

Floats = npt.NDArray[np.float64]

CELLS = 256
NODES = {2: 24, 3: 14, 4: 9}
CHUNK = 4096
_FEW_SHIFTS = 6


def evaluate_discussion(protocol: Discussion, population: JudgingPopulation) -> JudgingTally:
    """Probabilities of the outcomes of a discussion, and both swap consistencies.

    Raises
    ------
    InputError
        If there are more than four agents.
    """
    n, judge = protocol.agents, population.judges[0]
    if n not in NODES:
        raise InputError(f"the exact law does not reach discussions of {n} agents (at most 4); use --engine mc.")
    rho = population.discussion.rho_diverse if protocol.roles == "diverse" else population.discussion.rho_single
    anonymity = population.anonymity if protocol.anonymised else 1.0
    noise = math.sqrt(judge.gap.error_variance)
    spread, shift_weight = shift_nodes(anonymity * judge.position_sd, noise, dear=protocol.order != "fixed")
    shifts = anonymity * judge.position + spread
    tied = judge.gap.tie_gap if protocol.until_agreement else judge.gap.mean_tie(n)
    bends = [
        Bend(sign * at + tie, noise / math.sqrt(n))
        for at in {float(shifts.min()), float(shifts.max()), 0.0}
        for sign in (1, -1)
        for tie in {-tied, tied}
    ]
    nodes = evidence(population.items, judge.sigma_b**2 * (rho + (1 - rho) / n) + judge.verbosity**2, bends)
    apart, apart_weight = _deviations(n, judge.sigma_b * math.sqrt(1 - rho))
    law = _DiscussionLaw(protocol, judge.gap, 1 - population.discussion.pull * n / (n - 1), nodes.e, apart)
    outcomes = _as_function_of_shift(law, shifts, noise / math.sqrt(n))
    masses = np.zeros(outcome_shape(protocol))
    ties = JudgingStopReason.ROUND_LIMIT if protocol.until_agreement else JudgingStopReason.SCORED
    masses[:, 1, protocol.turns, JUDGING_REASONS.index(ties)] = judge.undecided * nodes.weight.sum(axis=0)
    weight = nodes.weight.sum(axis=1)
    fresh, same, known = judge.undecided, judge.undecided, True
    shift_weight = (1 - judge.undecided) * shift_weight
    for shift, share in zip(shifts, shift_weight, strict=True):
        once, turned = outcomes(float(shift)), outcomes(-float(shift))
        masses[:, :3] += share * np.einsum("nl,d,ndvrs->lvrs", nodes.weight, apart_weight, once)
        a, b = once.sum(axis=(3, 4)), turned.sum(axis=(3, 4))
        fresh += share * float(np.einsum("n,d,ndv->", weight, apart_weight, a * b))
        kept = law.same(shift, a, b) if known else None
        known = kept is not None
        same += 0.0 if kept is None else share * float(np.einsum("n,d,nd->", weight, apart_weight, kept))
    return JudgingTally(masses, same if known else None, fresh)


def _as_function_of_shift(law: _DiscussionLaw, shifts: Floats, width: float) -> Callable[[float], Floats]:
    """Outcomes as a function of the position shift; ``width`` is that over which they bend in e.

    A fixed order only moves the mean stance: where there are many shifts, tabulate once and interpolate (order 8).
    """
    if law.protocol.order != "fixed" or len(shifts) < _FEW_SHIFTS:
        return law.outcomes
    reach, flat = float(np.abs(shifts).max()), law.gap.flat_beyond + float(np.abs(law.apart).max())
    low, high = max(float(law.e.min()) - reach, -flat), min(float(law.e.max()) + reach, flat)
    grid = np.linspace(low, high, math.ceil((high - low) / (min(0.5, width) / 4)) + 8)
    table = _DiscussionLaw(law.protocol, law.gap, law.shrink, grid, law.apart).outcomes(0.0)
    used = table.any(axis=(0, 1))
    spline = make_interp_spline(grid, table[:, :, used], k=7)

    def outcomes(shift: float) -> Floats:
        result = np.zeros((len(law.e), *table.shape[1:]))
        result[:, :, used] = np.maximum(spline(np.clip(law.e + shift, low, high)), 0.0)
        return result

    return outcomes


def _deviations(n: int, sd: float) -> tuple[Floats, Floats]:
    """Deviations of n independent stances from their mean, shape (nodes, n), and weights: Gauss-Hermite on n - 1 orthogonal contrasts."""
    if sd == 0:
        return np.zeros((1, n)), np.ones(1)
    node, weight = np.polynomial.hermite_e.hermegauss(NODES[n])
    weight = weight / weight.sum()
    contrasts = np.zeros((n - 1, n))
    for k in range(1, n):
        contrasts[k - 1, :k] = 1 / math.sqrt(k * (k + 1))
        contrasts[k - 1, k] = -k / math.sqrt(k * (k + 1))
    grid = np.array(list(itertools.product(node, repeat=n - 1)))
    weights = np.array([math.prod(w) for w in itertools.product(weight, repeat=n - 1)])
    return sd * grid @ contrasts, weights


class _DiscussionLaw:
    """Laws given the mean stance e (n,) and the first deviations (d, agents)."""

    def __init__(self, protocol: Discussion, gap: GapLaw, shrink: float, e: Floats, apart: Floats) -> None:
        self.protocol, self.gap, self.shrink, self.e, self.apart = protocol, gap, shrink, e, apart

    def _shifts(self, shift: float) -> Shifts:
        return Shifts.of(shift, -shift) if self.protocol.order == "random" else Shifts.of(shift)

    def _stances(self, turn: int) -> Floats:
        """Stances in a turn (from 0); shape (n, d, agents)."""
        return self.e[:, None, None] + self.shrink**turn * self.apart[None]

    def outcomes(self, shift: float) -> Floats:
        """P(verdict, turns held, reason | e, deviations); shape (n, d, 3, turns + 1, reasons)."""
        turns = self.protocol.turns
        result = np.zeros((len(self.e), len(self.apart), 3, turns + 1, len(JUDGING_REASONS)))
        if not self.protocol.until_agreement:
            result[:, :, :, turns, JUDGING_REASONS.index(JudgingStopReason.SCORED)] = self._mean_verdicts(shift)
            return result
        agreed, limit = JUDGING_REASONS.index(JudgingStopReason.AGREEMENT), JUDGING_REASONS.index(JudgingStopReason.ROUND_LIMIT)
        going = np.ones(result.shape[:2])
        for turn in range(turns):
            shifts = self._shifts(shift)
            p = sum(w * self.gap.verdicts(self._stances(turn) + s) for s, w in zip(shifts.value, shifts.weight, strict=True))
            all_alike = np.asarray(p).prod(axis=2) * np.array([1.0, 0.0, 1.0])
            result[:, :, :, turn + 1, agreed] = going[..., None] * all_alike
            if turn == turns - 1:
                result[:, :, :, turns, limit] = going[..., None] * np.maximum(np.asarray(p)[:, :, 0] - all_alike, 0.0)
            going = going * (1 - all_alike.sum(axis=-1))
        return result

    def _mean_verdicts(self, shift: float) -> Floats:
        """P(A, tie, B) of the mean of the last turn's gaps; shape (n, d, 3)."""
        agents, gap, shifts = self.protocol.agents, self.gap, self._shifts(shift)
        if isinstance(gap, GaussianGap) and len(shifts.value) == 1:
            mean, sd = self.e + shift, gap.sd / math.sqrt(agents)
            a, b = ndtr((mean - gap.tie) / sd), ndtr((-gap.tie - mean) / sd)
            return np.repeat(np.stack([a, 1 - a - b, b], axis=1)[:, None], len(self.apart), axis=1)
        stances = self._stances(self.protocol.turns - 1).reshape(-1, agents)
        parts = [self._mean_on_lattice(stances[start : start + CHUNK], shifts) for start in range(0, len(stances), CHUNK)]
        return np.concatenate(parts).reshape(len(self.e), len(self.apart), 3)

    def _mean_on_lattice(self, stances: Floats, shifts: Shifts) -> Floats:
        agents, gap = self.protocol.agents, self.gap
        lattice = gap.lattice(CELLS, shifts.reach)
        size = agents * (lattice.size - 1) + 1
        n = 1 << (size - 1).bit_length()
        spectrum = np.ones((1, n // 2 + 1), dtype=complex)
        for j in range(agents):
            spectrum = spectrum * np.fft.rfft(gap.masses(lattice, stances[:, j], shifts), n)
        mass = np.maximum(np.fft.irfft(spectrum, n)[:, :size], 0.0)
        tie = gap.mean_tie(agents)
        verdicts = mean_verdicts(mass, lattice, agents, stances.mean(axis=1), tie)
        if isinstance(gap, ZeroInflatedBetaGap):
            verdicts = verdicts + gap.zero**agents * (TIED - zero_shares(lattice, agents, tie))
        return verdicts

    def same(self, shift: float, a: Floats, b: Floats) -> Floats | None:
        """P(the verdict stays | e, deviations) under the same noise; None where it is not known."""
        if shift == 0:
            return np.ones(a.shape[:2])
        two_valued = np.all(a[..., 1] == 0) or isinstance(self.gap, GaussianGap)
        if self.protocol.until_agreement or self.protocol.order == "random" or not two_valued:
            return None
        return np.asarray(np.einsum("ndvv->nd", joint_verdicts(GaussianGap(), a, b)))
