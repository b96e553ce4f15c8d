r"""The law of a debate's rounds given the effective difference: when it stops, and whom the judge's score favours then.

Given e the gaps of the rounds are independent (without divergence gain), each with its own law. Three ways, by what a rule remembers:

* *Closed form*: Gaussian rounds that nothing can stop: their mean is normal; with a gain, :math:`y_r = e_r + gain\, y_{r-1}` stays linear.
* *Signs*: rules that remember a lead or a run of signs. The state is that number; where the mean of the gaps decides, it is joined by
  the sum of the gaps on a lattice.
* *Gaps*: rules that compare gaps, or a gain. The state is the last gap on a lattice (its size and how that lay to the one before, for
  the released code), again with the sum where the mean decides. A gap at i is followed by one at j with probability f(j), or f(j | e +
  gain v_i).

Within cells the mass is spread evenly: whether two gaps lie within epsilon is the probability that two uniform numbers do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from ..errors import InputError
from .gaps import BetaGap, GapLaw, GaussianGap, Lattice, RubricGap, Shifts, SizeCells, ZeroInflatedBetaGap
from .protocols import Debate
from .stopping import MOST_ROUNDS, SLACK, FixedRounds, GapStable, LeadBy, ReleasedCode, SignAgreement, TokenBudget
from .verdicts import mean_verdicts, verdict_shares, zero_shares

__all__ = ["Rounds", "rounds_fire_at_once", "rounds_law", "zero_rounds"]

Floats = npt.NDArray[np.float64]

CELLS = 256
CELLS_WITH_SUM = 96
CELLS_WITH_GAIN = 128
CHUNK = 24
_RARE = 1e-7


@dataclass(frozen=True, eq=False)
class Rounds:
    """Where a debate may stop.

    Attributes
    ----------
    law : GapLaw
        The judge's gap.
    shifts : sequence of Shifts
        One a round: what it adds to e.
    gain : float
        Divergence gain.
    limit : int
        Last round.
    coarse : bool
        Whether a quarter of the cells will do.
    """

    law: GapLaw
    shifts: Sequence[Shifts]
    gain: float
    limit: int
    coarse: bool = False


def rounds_law(protocol: Debate, rounds: Rounds, e: Floats, need_verdict: bool) -> Floats:
    """Law of the rounds held, of whether the rule fired, and of the judge's verdict.

    Parameters
    ----------
    protocol : Debate
        Its stop and its decision.
    rounds : Rounds
        What happens in each round.
    e : ndarray of float, shape (n,)
        Effective differences.
    need_verdict : bool
        Whether the judge's verdict matters; where it does not, all mass is put on "tie".

    Returns
    -------
    ndarray of float, shape (n, limit + 1, 2, 3)
        P(rounds held, fired or not, verdict A, tie, B).

    Raises
    ------
    InputError
        If the exact law does not reach so far (long windows, a gain with some rules).
    """
    law, stop = _with_failures(rounds.law, protocol.stop), protocol.stop
    rounds = replace(rounds, law=law)
    signs = isinstance(stop, (FixedRounds, TokenBudget, SignAgreement, LeadBy))
    fixed = isinstance(stop, (FixedRounds, TokenBudget)) or rounds.limit == 1
    if fixed and not need_verdict:
        held = np.zeros((len(e), rounds.limit + 1, 2, 3))
        held[:, -1, int(rounds_fire_at_once(stop)), 1] = 1.0
        return held
    if fixed and not rounds_fire_at_once(stop) and isinstance(law, GaussianGap) and all(len(s.value) == 1 for s in rounds.shifts):
        return _gaussian(protocol, rounds, law, e)
    total = need_verdict and protocol.decision == "mean" and rounds.limit > 1
    if signs and (rounds.gain == 0 or rounds.limit == 1):
        return _by_signs(protocol, rounds, e, need_verdict, total)
    if isinstance(law, GaussianGap) and rounds.gain != 0:
        raise _too_far("a Gaussian gap with a gain and a stopping rule")
    return _by_gaps(protocol, rounds, e, need_verdict, total)


def zero_rounds(protocol: Debate, limit: int) -> Floats:
    """Law of the rounds where every gap is 0; shape (limit + 1, 2, 3)."""
    held = np.zeros((limit + 1, 2, 3))
    r = next((r for r in range(1, limit + 1) if _stops_on_zeros(protocol.stop, r)), limit)
    held[r, int(_stops_on_zeros(protocol.stop, r)), 1] = 1.0
    return held


def _too_far(what: str) -> InputError:
    return InputError(f"the exact law does not reach {what}; use --engine mc or --engine reference.")


def rounds_fire_at_once(stop: object) -> bool:
    """Whether a rule can fire after one round."""
    return (isinstance(stop, SignAgreement) and stop.run == 1) or (isinstance(stop, LeadBy) and stop.lead == 1)


def _with_failures(law: GapLaw, stop: object) -> GapLaw:
    """Give a law the zeros that the released code stores for scores it cannot read."""
    if not isinstance(stop, ReleasedCode) or stop.parse_failure == 0:
        return law
    zero = law.zero if isinstance(law, ZeroInflatedBetaGap) else 0.0
    if isinstance(law, (BetaGap, ZeroInflatedBetaGap)):
        return ZeroInflatedBetaGap(law.nu, min(stop.parse_failure + (1 - stop.parse_failure) * zero, 0.99), law.scale, law.tie)
    raise _too_far("parse failures with this gap law")


def _gaussian(protocol: Debate, rounds: Rounds, law: GaussianGap, e: Floats) -> Floats:
    """Gaussian rounds that nothing stops: y_r = gain y_{r-1} + e + shift_r + s_r Z_r."""
    level, offset = np.zeros(rounds.limit), np.zeros(rounds.limit)
    noise = np.zeros((rounds.limit, rounds.limit))
    for r in range(rounds.limit):
        if r:
            level[r], offset[r], noise[r] = rounds.gain * level[r - 1], rounds.gain * offset[r - 1], rounds.gain * noise[r - 1]
        level[r] += 1.0
        offset[r] += float(rounds.shifts[r].value[0])
        noise[r, r] = math.sqrt((law.sd * law.factor**r) ** 2 + rounds.shifts[r].variance)
    weight = np.full(rounds.limit, 1 / rounds.limit) if protocol.decision == "mean" else np.eye(rounds.limit)[-1]
    mean = (weight @ level) * e + weight @ offset
    sd = float(np.linalg.norm(weight @ noise))
    a, b = ndtr((mean - law.tie_gap) / sd), ndtr((-law.tie_gap - mean) / sd)
    held = np.zeros((len(e), rounds.limit + 1, 2, 3))
    held[:, -1, 0] = np.stack([a, 1 - a - b, b], axis=1)
    return held


# --- rules that remember signs ---


@dataclass(frozen=True)
class _SignRule:
    """A rule as steps between whole numbers; ``next`` gives the state after a sign, ``fires`` says whether it ends there."""

    stop: object

    def next(self, state: int, sign: int) -> int:
        if isinstance(self.stop, LeadBy):
            return state + sign
        if isinstance(self.stop, SignAgreement):
            return state + sign if state * sign >= 0 and sign else sign
        return 0

    def fires(self, state: int) -> bool:
        if isinstance(self.stop, LeadBy):
            return abs(state) >= self.stop.lead
        return isinstance(self.stop, SignAgreement) and abs(state) >= self.stop.run


def _by_signs(protocol: Debate, rounds: Rounds, e: Floats, need_verdict: bool, total: bool) -> Floats:
    if total:
        return _extrapolated(
            rounds, lambda cells: np.concatenate([_by_signs_and_sum(protocol, rounds, part, cells) for part in _chunks(e)]), CELLS_WITH_SUM
        )
    rule, law = _SignRule(protocol.stop), rounds.law
    held = np.zeros((len(e), rounds.limit + 1, 2, 3))
    states = {0: np.ones(len(e))}
    for r in range(1, rounds.limit + 1):
        classes = law.classes(e, rounds.shifts[r - 1], law.factor ** (r - 1) if isinstance(law, GaussianGap) else 1.0)
        after: dict[int, Floats] = {}
        for state, mass in states.items():
            for verdict, sign, column in ((0, 1, 0), (1, 1, 1), (1, 0, 2), (1, -1, 3), (2, -1, 4)):
                new, part = rule.next(state, sign), mass * classes[:, column]
                fired = rule.fires(new)
                if fired or r == rounds.limit:
                    held[:, r, int(fired), verdict if need_verdict else 1] += part
                else:
                    after[new] = after.get(new, np.zeros(len(e))) + part
        states = after
    return held


def _chunks(e: Floats) -> Iterator[Floats]:
    for start in range(0, len(e), CHUNK):
        yield e[start : start + CHUNK]


def _extrapolated(rounds: Rounds, on_lattice: Callable[[int], Floats], cells: int) -> Floats:
    """Law on a lattice, less the error of even masses within cells, which falls with the square of their width (Richardson)."""
    cells = cells // 4 if rounds.coarse else cells
    fine = on_lattice(cells)
    if isinstance(rounds.law, RubricGap):
        return fine  # whole points: nothing is spread within cells
    better = np.maximum((4 * fine - on_lattice(cells // 2)) / 3, 0.0)
    return np.asarray(better / better.sum(axis=(1, 2, 3), keepdims=True))


def _by_signs_and_sum(protocol: Debate, rounds: Rounds, e: Floats, cells: int) -> Floats:
    """As :func:`_by_signs` with the sum of the gaps, for a chunk of e."""
    rule, sums = _SignRule(protocol.stop), _Sums(rounds, cells)
    held = np.zeros((len(e), rounds.limit + 1, 2, 3))
    states = {0: np.ones((len(e), 1))}
    for r in range(1, rounds.limit + 1):
        mass = sums.masses(e, r)
        sign_share = verdict_shares(sums.lattice.centres(e), sums.lattice.widths()[None, :], 0.0)
        after: dict[int, Floats] = {}
        for state, before in states.items():
            for sign, share in ((1, sign_share[0]), (0, sign_share[1]), (-1, sign_share[2])):
                new, part = rule.next(state, sign), _convolve_rows(before, mass * share)
                fired = rule.fires(new)
                if fired or r == rounds.limit:
                    held[:, r, int(fired)] += sums.verdicts(e, part, r)
                else:
                    after[new] = after[new] + part if new in after else part
        states = after
    sums.move_exact_ties(held, protocol)
    return held


def _convolve_rows(x: Floats, y: Floats) -> Floats:
    """Convolution row by row through the fast Fourier transform; y may have one row for all."""
    size = x.shape[1] + y.shape[1] - 1
    n = 1 << (size - 1).bit_length()
    product = np.fft.irfft(np.fft.rfft(x, n) * np.fft.rfft(y, n), n)[:, :size]
    return np.maximum(product, 0.0)


class _Sums:
    """Gaps and their sums on a lattice.

    Parameters
    ----------
    rounds : Rounds
        The law.
    cells : int
        Cells of one gap.
    """

    def __init__(self, rounds: Rounds, cells: int) -> None:
        self.rounds = rounds
        self.lattice: Lattice = rounds.law.lattice(cells, max(s.reach for s in rounds.shifts))

    def masses(self, e: Floats, r: int) -> Floats:
        """Law of the gap of round r on the lattice; shape (n or 1, cells)."""
        law = self.rounds.law
        return law.masses(self.lattice, e, self.rounds.shifts[r - 1], law.factor ** (r - 1) if isinstance(law, GaussianGap) else 1.0)

    def verdicts(self, e: Floats, mass: Floats, r: int) -> Floats:
        """Verdicts of the mean of r gaps whose sum has masses ``mass`` (n, size); shape (n, 3)."""
        return mean_verdicts(mass, self.lattice, r, e, self.rounds.law.mean_tie(r))

    def move_exact_ties(self, held: Floats, protocol: Debate) -> None:
        """Give the paths on which every gap is an exact zero their verdict, a tie, whatever the lattice made of them."""
        law = self.rounds.law
        if not isinstance(law, ZeroInflatedBetaGap):
            return
        ties = zero_rounds(protocol, self.rounds.limit)
        r = int(np.argmax(ties.sum(axis=(1, 2))))
        held += law.zero**r * (ties - ties[:, :, 1:2] * zero_shares(self.lattice, r, law.mean_tie(r)))


def _stops_on_zeros(stop: object, held: int) -> bool:
    return isinstance(stop, (GapStable, ReleasedCode)) and stop.fires([0.0] * held)


# --- rules that remember gaps ---


def _by_gaps(protocol: Debate, rounds: Rounds, e: Floats, need_verdict: bool, total: bool) -> Floats:
    if isinstance(protocol.stop, ReleasedCode):
        return _by_sizes(protocol, rounds, e, need_verdict)
    if not total:
        return _on_lattices(protocol, rounds, e, need_verdict, total)
    # Far from 0 every round has the same verdict, and so has their mean: the sum of the gaps need not be followed there.
    # Elsewhere a coarser lattice gives the verdicts, the fine one the rounds.
    sure = _sure_verdict(rounds, e)
    when = _on_lattices(protocol, rounds, e, False, False).sum(axis=-1)
    given = np.eye(3)[sure][:, None, None, :] * np.ones((1, rounds.limit + 1, 2, 1))
    if np.any(sure < 0):
        coarse = _on_lattices(protocol, rounds, e[sure < 0], True, True)
        total = coarse.sum(axis=-1, keepdims=True)
        given[sure < 0] = np.where(total > 0, coarse / np.where(total > 0, total, 1.0), 1 / 3)
    return np.asarray(when[..., None] * given)


def _sure_verdict(rounds: Rounds, e: Floats) -> npt.NDArray[np.int64]:
    """Verdict that every round gives but for one in ten million; -1 where there is none, or where gaps feed back."""
    if rounds.gain < 0:
        return np.full(len(e), -1)
    likely = np.ones((len(e), 3))
    for r, shifts in enumerate(rounds.shifts):
        factor = rounds.law.factor**r if isinstance(rounds.law, GaussianGap) else 1.0
        likely = np.minimum(likely, rounds.law.classes(e, shifts, factor)[:, [0, 2, 4]])
    return np.where(likely.max(axis=1) > 1 - _RARE, likely.argmax(axis=1), -1)


def _on_lattices(protocol: Debate, rounds: Rounds, e: Floats, need_verdict: bool, total: bool) -> Floats:
    cells = CELLS_WITH_GAIN if rounds.gain else (CELLS_WITH_SUM if total else CELLS)

    def on_lattice(cells: int) -> Floats:
        sums = _Sums(rounds, cells)
        parts = [e] if _is_the_same_for_all(protocol, sums.lattice) else _chunks(e)
        return np.concatenate([_GapChain(protocol, sums, part, need_verdict, total).run() for part in parts])

    return _extrapolated(rounds, on_lattice, cells)


def _is_the_same_for_all(protocol: Debate, lattice: Lattice) -> bool:
    """Whether the chain is the same for every e: a location family under a rule that looks at differences of signed gaps."""
    return lattice.relative and isinstance(protocol.stop, GapStable) and protocol.stop.signed


class _GapChain:
    """The chain on (last gap, sum of gaps) for a chunk of e.

    Arrays have axes (n, gap, sum); the sum's axis has length 1 where it is not needed.
    """

    def __init__(self, protocol: Debate, sums: _Sums, e: Floats, need_verdict: bool, total: bool) -> None:
        self.protocol, self.sums, self.e = protocol, sums, e
        self.need_verdict, self.total = need_verdict, total
        self.lattice, self.rounds = sums.lattice, sums.rounds
        self.centres = self.lattice.centres(e)
        self.chains = 1 if _is_the_same_for_all(protocol, self.lattice) else len(e)
        by_e = self.lattice.relative and self.chains > 1
        self.fire, self.first_stop = _pair_rule(protocol, self.lattice, self.centres if by_e else self.centres[:1])

    def run(self) -> Floats:
        """Law of rounds held, fired or not, verdict; shape (n, limit + 1, 2, 3)."""
        n, m, limit = self.chains, self.lattice.size, self.rounds.limit
        held = np.zeros((len(self.e), limit + 1, 2, 3))
        first = np.broadcast_to(self.sums.masses(self.e, 1), (n, m))
        state = np.eye(m)[None] * first[:, :, None] if self.total else first[:, :, None]
        for r in range(2, limit + 1):
            kernel = self._kernel(r)
            if r >= self.first_stop:
                held[:, r, 1] += self._verdicts(self._move(state, kernel * self.fire), r)
                state = self._move(state, kernel * (1 - self.fire))
            else:
                state = self._move(state, kernel)
        held[:, limit, 0] += self._verdicts(state, limit)
        if self.total:
            self.sums.move_exact_ties(held, self.protocol)
        return held

    def _verdicts(self, mass: Floats, r: int) -> Floats:
        """Verdicts of masses with axes (n, gap, sum)."""
        if not self.need_verdict:
            return np.asarray(mass.sum(axis=(1, 2))[:, None] * np.array([0.0, 1.0, 0.0]))
        if self.total:
            return self.sums.verdicts(self.e, mass.sum(axis=1), r)
        shares = verdict_shares(self.centres, self.lattice.widths()[None, :], self.rounds.law.tie_gap)
        return np.asarray((shares * mass[None, :, :, 0]).sum(axis=-1).T)

    def _kernel(self, r: int) -> Floats:
        """P(next gap is j | last is i), shape (n or 1, i or 1, j)."""
        if self.rounds.gain == 0:
            return self.sums.masses(self.e, r)[:, None, :]
        m = self.lattice.size
        seen = (self.e[:, None] + self.rounds.gain * self.centres).ravel()
        return self.sums.masses(seen, r).reshape(len(self.e), m, m)

    def _move(self, mass: Floats, kernel: Floats) -> Floats:
        """Masses (n, i, sum) to (n, j, sum shifted by j), through kernel[i, j]."""
        n, m, size = mass.shape
        moved = np.matmul(np.swapaxes(np.broadcast_to(kernel, (n, m, m)), 1, 2), mass)
        if not self.total:
            return np.asarray(moved)
        shifted = np.zeros((n, m, size + m - 1))
        for j in range(m):
            shifted[:, j, j : j + size] = moved[:, j]
        return shifted


def _pair_rule(protocol: Debate, lattice: Lattice, centres: Floats) -> tuple[Floats, int]:
    """P(the rule fires | last gap i, next gap j), shape (n or 1, m, m), and the first round in which it may."""
    stop = protocol.stop
    if isinstance(stop, (FixedRounds, TokenBudget)):
        return np.zeros((1, 1, 1)), MOST_ROUNDS + 1
    if isinstance(stop, GapStable) and stop.window == 2:
        size = centres if stop.signed else np.abs(centres)
        return _within(size, lattice.widths(), -stop.epsilon, stop.epsilon, closed=True), max(stop.min_rounds, 2)
    if isinstance(stop, SignAgreement) and stop.run == 2:
        a, _, b = verdict_shares(centres, lattice.widths()[None, :], 0.0)
        return a[:, :, None] * a[:, None, :] + b[:, :, None] * b[:, None, :], 2
    raise _too_far(f"a {type(stop).__name__} that remembers more than the last round like this")


def _by_sizes(protocol: Debate, rounds: Rounds, e: Floats, need_verdict: bool) -> Floats:
    """Released code: the chain on (how the size before lay to the last size, last size).

    Three sizes a, b, c lie within epsilon and are not strictly monotone where a and c lie within epsilon on the same side of b, or one of
    them equals it. Flags: a was far from b (the start), below, equal, above.
    """
    stop = protocol.stop
    assert isinstance(stop, ReleasedCode)
    if need_verdict or stop.window != 3 or rounds.gain != 0:
        raise _too_far("the released code where the judge's own score decides, with another window or with a gain")
    centres, widths, masses = _sizes(rounds, e)
    epsilon = stop.epsilon / stop.points
    near = _within(centres, widths, -epsilon, epsilon, closed=False)[0]
    equal = _within(centres, widths, 0.0, 0.0, closed=True)[0]
    rises = np.maximum(_within(centres, widths, 0.0, epsilon, closed=False)[0] - equal, 0.0)
    falls = np.maximum(_within(centres, widths, -epsilon, 0.0, closed=False)[0] - equal, 0.0)
    flags = (1 - near, rises, equal, falls)
    fire = (0 * near, falls + equal, near, rises + equal)
    held = np.zeros((len(e), rounds.limit + 1, 2, 3))
    state = [masses[0], *(0 * masses[0] for _ in range(3))]
    for r in range(2, rounds.limit + 1):
        may_fire = float(r >= max(stop.min_rounds, 3))
        held[:, r, 1, 1] = may_fire * sum((part @ f * masses[r - 1]).sum(axis=1) for part, f in zip(state, fire, strict=True))
        state = [
            np.asarray(sum(part @ (flag * (1 - may_fire * f)) for part, f in zip(state, fire, strict=True)) * masses[r - 1])
            for flag in flags
        ]
    held[:, rounds.limit, 0, 1] = sum(part.sum(axis=1) for part in state)
    return held


def _sizes(rounds: Rounds, e: Floats) -> tuple[Floats, Floats, list[Floats]]:
    """Centres (1, m) and widths (m,) of the sizes' cells, and their masses (n, m) in each round."""
    law = rounds.law
    if isinstance(law, GaussianGap):
        return _gaussian_sizes(rounds, law, e)
    if isinstance(law, (BetaGap, ZeroInflatedBetaGap)):
        cells = SizeCells.make()
        return cells.centres()[None], cells.widths(), [law.size_masses(cells, e, shifts) for shifts in rounds.shifts]
    sums = _Sums(rounds, CELLS)
    half = sums.lattice.size // 2
    masses = []
    for r in range(1, rounds.limit + 1):
        mass = sums.masses(e, r)
        folded = mass[:, half:].copy()
        folded[:, 1:] += mass[:, half - 1 :: -1]
        masses.append(folded)
    return np.asarray(np.arange(half + 1)[None] * sums.lattice.step, dtype=np.float64), np.zeros(half + 1), masses


def _gaussian_sizes(rounds: Rounds, law: GaussianGap, e: Floats) -> tuple[Floats, Floats, list[Floats]]:
    """As :func:`_sizes` for a Gaussian gap: cells start at |e| less all that noise and shifts can take away.

    Only differences of sizes matter, so the cells' centres are the same for every e.
    """
    sds = [math.sqrt((law.sd * law.factor**r) ** 2 + shifts.variance) for r, shifts in enumerate(rounds.shifts)]
    reach = 7 * max(sds) + max(float(np.abs(shifts.value).max()) for shifts in rounds.shifts)
    edges = np.linspace(0.0, 2 * reach, CELLS + 1)
    start = np.maximum(np.abs(e) - reach, 0.0)[:, None] + edges[None, :]
    masses = []
    for sd, shifts in zip(sds, rounds.shifts, strict=True):
        below: Floats = np.zeros(start.shape)
        for shift, weight in zip(shifts.value, shifts.weight, strict=True):
            y = e[:, None] + shift
            below = below + weight * (ndtr((start - y) / sd) - ndtr((-start - y) / sd))
        mass = np.maximum(np.diff(below, axis=1), 0.0)
        masses.append(mass / mass.sum(axis=1, keepdims=True))
    return ((edges[1:] + edges[:-1]) / 2)[None], np.diff(edges), masses


def _within(size: Floats, width: Floats, low: float, high: float, closed: bool) -> Floats:
    """P(low <= next - last <= high) for masses spread over their cells; shape (n, m, m) indexed by last, next.

    ``closed`` counts a difference equal to a bound other than 0 for exact points; a bound of 0 is always counted.
    """
    difference = size[:, None, :] - size[:, :, None]
    narrow, wide = np.minimum.outer(width, width)[None], np.maximum.outer(width, width)[None]
    flat = np.maximum(wide, 1e-300)
    product = np.maximum(2 * narrow * wide, 1e-300)

    def upto(x: float, include: bool) -> Floats:
        """P(W - V <= t) for W, V uniform of the two widths: quadratic in the corners, linear between."""
        t = x - difference
        point = (t >= -SLACK if include else t > SLACK).astype(float)
        uniform = np.clip(t / flat + 0.5, 0.0, 1.0)
        inner, outer = (wide - narrow) / 2, (wide + narrow) / 2
        corner = np.clip(outer - np.abs(t), 0.0, None) ** 2 / product
        trapezoid = np.where(np.abs(t) <= inner, uniform, np.where(t < 0, corner, 1 - corner))
        return np.where(narrow > 0, trapezoid, np.where(wide > 0, uniform, point))

    return upto(high, closed or high == 0) - upto(low, not (closed or low == 0))
