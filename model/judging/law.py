r"""The exact law of judging protocols, by quadrature over the item's latent numbers.

Given the item's effective difference e, its position shift and the jurors' shared error F everything else is independent noise:

.. math:: P(label, verdict, rounds, reason) = \int P(label, e)\, P(p)\, P(F)\, P(verdict, rounds, reason \mid e, p, F).

Debates take the law of their rounds from :mod:`.chain`; panels and discussions have modules of their own (:mod:`.panel`,
:mod:`.discussion`).

Swap consistency with fresh noise is :math:`E[\sum_v P(v \mid \text{order AB}) P(v \mid \text{order BA})]` over the latent numbers. With
the same noise it is known where a verdict can only move one way when every shift does: then two-valued verdicts differ with probability
:math:`|P_{AB}(A) - P_{BA}(A)|`. Elsewhere (a stop that depends on the shift, coins for the order) the exact law leaves it out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from scipy.interpolate import make_interp_spline
from scipy.special import log_ndtr

from ..errors import InputError
from ..outcomes import Pricing
from ..result import Result
from .chain import Rounds, rounds_fire_at_once, rounds_law, zero_rounds
from .cost import last_round
from .gaps import Shifts, ZeroInflatedBetaGap
from .items import JudgingPopulation
from .jury import effective_number, factor_nodes, majority_width, vote_masses, vote_probability
from .outcomes import JUDGING_REASONS, JudgingTally, outcome_shape, summarise_judging
from .protocols import Debate, Discussion, JudgingProtocol, Panel
from .quadrature import Bend, evidence, shift_nodes
from .stopping import REASONS, FixedRounds, JudgingStopReason, LeadBy, SignAgreement, TokenBudget
from .verdicts import draws_once, joint_verdicts

__all__ = ["evaluate_judging", "simulate_exact"]

Floats = npt.NDArray[np.float64]


def simulate_exact(protocol: JudgingProtocol, population: JudgingPopulation, pricing: Pricing | None = None) -> Result:
    """Evaluate a judging protocol by the exact law.

    Parameters
    ----------
    protocol, population
        What to evaluate.
    pricing : Pricing, optional
        Adds money.

    Raises
    ------
    InputError
        If the exact law does not reach the protocol; the message says what does.
    """
    tally = evaluate_judging(protocol, population)
    notes: tuple[str, ...] = ()
    if tally.same is None or tally.fresh is None:
        notes = ("The exact law leaves out a swap consistency here; --engine mc gives it.",)
    return summarise_judging(protocol, population, tally, engine="exact", pricing=pricing, notes=notes)


def evaluate_judging(protocol: JudgingProtocol, population: JudgingPopulation, *, coarse: bool = False) -> JudgingTally:
    """Probabilities of the outcomes; see :func:`simulate_exact`.

    Parameters
    ----------
    protocol, population
        As there.
    coarse : bool
        Whether a debate's gaps may have a quarter of the cells: some twenty times quicker, and up to 1e-3 off (more where a judge almost
        without noise decides alone).
    """
    if isinstance(protocol, Panel):
        from .panel import evaluate_panel

        return evaluate_panel(protocol, population)
    if isinstance(protocol, Discussion):
        from .discussion import evaluate_discussion

        return evaluate_discussion(protocol, population)
    return _DebateLaw(protocol, population, coarse).tally()


class _DebateLaw:
    """Law of a debate on a population."""

    def __init__(self, protocol: Debate, population: JudgingPopulation, coarse: bool) -> None:
        self.protocol, self.population, self.coarse = protocol, population, coarse
        self.judge = population.judges[0]
        self.jury = population.jury
        self.limit, self.by_budget = last_round(protocol, population)
        self.needs_judge = protocol.jurors % 2 == 0
        self.scale = self._scale()
        self.rho = self.jury.rho_personas if protocol.personas else self.jury.rho
        anonymity = population.anonymity if protocol.anonymised else 1.0
        self.jury_shift = anonymity * self.jury.position
        sd = anonymity * self.judge.position_sd
        node, self.shift_weight = shift_nodes(self.scale * sd, math.sqrt(self.judge.gap.error_variance), dear=protocol.order != "fixed")
        self.shift = self.scale * anonymity * self.judge.position + node
        self.arguments = argument_shifts(protocol, population.debate.argument_sd)

    def _scale(self) -> float:
        """Factor on what the judge sees of the item, its bias and the order: k where k scores of a side are added."""
        protocol = self.protocol
        if protocol.aggregator != "sum" or protocol.advocates == 1:
            return 1.0
        if protocol.jurors == 0:
            return float(protocol.advocates)
        if self.limit == 1 and not self.needs_judge:
            return 1.0  # one round and an odd jury: the judge's score decides nothing
        raise InputError("the exact law does not reach added scores together with a jury that needs them; use --engine mc.")

    def tally(self) -> JudgingTally:
        """Probabilities of the outcomes and both swap consistencies."""
        protocol, law = self.protocol, self.judge.gap
        width = math.sqrt((law.error_variance + self.arguments.variance) / self.limit)
        slope = self._slopes().max(initial=0.0)
        tied = law.mean_tie(self.limit) if protocol.decision == "mean" else law.tie_gap
        bends = [Bend(sign * at + tie, width) for at in self._reach(self.shift) for sign in (1, -1) for tie in {-tied, tied}]
        if protocol.jurors:
            turn = majority_width(protocol.jurors) / max(slope, 1e-6)
            bends += [Bend(sign * self.jury_shift, turn) for sign in (1, -1)]
        variance = (self.population.debate.bias_factor * self.judge.sigma_b) ** 2 + self.judge.verbosity**2
        nodes = evidence(self.population.items, self.scale**2 * variance, bends, self.scale)
        masses = np.zeros(outcome_shape(protocol))
        same: float | None = 0.0
        fresh = 0.0
        factor, factor_weight = factor_nodes(self.rho, protocol.jurors) if protocol.jurors else (np.zeros(1), np.ones(1))
        weight = nodes.weight.sum(axis=1)
        for shift_weight, shift, straight, swapped in self._cases(nodes.e):
            once = self._verdicts(nodes.e, straight, factor, 1)
            turned = self._verdicts(nodes.e, swapped, factor, -1)
            mean = np.einsum("f,nfrsv->nrsv", factor_weight, once)
            joint = shift_weight * np.einsum("nl,nrsv->lvrs", nodes.weight, mean)
            for fired in (0, 1) if self._may_stop() or rounds_fire_at_once(protocol.stop) else (0,):
                masses[:, :3, : self.limit + 1, self._reason(bool(fired))] += joint[..., fired]
            a, b = once.sum(axis=(2, 3)), turned.sum(axis=(2, 3))
            fresh += shift_weight * float(np.einsum("n,f,nfv->", weight, factor_weight, a * b))
            if same is not None:
                kept = self._same(shift, a, b)
                same = None if kept is None else same + shift_weight * float(np.einsum("n,f,nf->", weight, factor_weight, kept))
        return JudgingTally(masses, same, fresh)

    def _cases(self, e: Floats) -> Iterator[tuple[float, float, Floats, Floats]]:
        """Probability, position shift and laws of the rounds in both orders: the judge decided, at each shift; or undecided."""
        decided = 1 - self.judge.undecided
        straight, swapped = self._rounds(e, 1), self._rounds(e, -1)
        for shift, weight in zip(self.shift, self.shift_weight, strict=True):
            once = straight(float(shift))
            turned = once if self.protocol.order == "random" else swapped(float(shift))
            yield decided * float(weight), float(shift), once, turned
        if self.judge.undecided:
            zeros = np.broadcast_to(zero_rounds(self.protocol, self.limit), (len(e), self.limit + 1, 2, 3))
            yield self.judge.undecided, 0.0, zeros, zeros

    @staticmethod
    def _reach(values: Floats) -> list[float]:
        """Return ends and middle of a range of shifts."""
        return sorted({float(np.min(values)), float(np.median(values)), float(np.max(values))})

    def _reason(self, fired: bool) -> int:
        if fired:
            reason = REASONS[type(self.protocol.stop)]
        elif self.by_budget:
            reason = JudgingStopReason.TOKEN_BUDGET
        else:
            reason = JudgingStopReason.SCORED if self.protocol.rounds == 1 else JudgingStopReason.ROUND_LIMIT
        return JUDGING_REASONS.index(reason)

    def _rounds(self, e: Floats, sign: int) -> Callable[[float], Floats]:
        """Law of the rounds at e as a function of the position shift; ``sign`` is -1 where the answers have changed places."""
        order, many = self.protocol.order, len(self.shift) > 1

        def at(points: Floats, shift: float) -> Floats:
            shifts = [self._round_shifts(r, sign * shift).plus(self.arguments) for r in range(self.limit)]
            return rounds_law(
                self.protocol,
                Rounds(self.judge.gap, shifts, self.population.debate.gain, self.limit, self.coarse),
                points,
                self.needs_judge,
            )

        if order != "fixed" or not many:
            return lambda shift: at(e, float(shift))
        # A fixed order only moves e: tabulate once and interpolate (order 8).
        reach = float(np.abs(self.shift).max())
        step = min(0.5, math.sqrt(self.judge.gap.error_variance)) / 6
        grid = np.linspace(e.min() - reach, e.max() + reach, math.ceil((e.max() - e.min() + 2 * reach) / step) + 8)
        spline = make_interp_spline(grid, at(grid, 0.0), k=7)
        return lambda shift: np.maximum(spline(e + sign * float(shift)), 0.0)

    def _round_shifts(self, r: int, shift: float) -> Shifts:
        if self.protocol.order == "random":
            return Shifts.of(shift, -shift) if shift else Shifts.of(0.0)
        return Shifts.of(-shift if self.protocol.order == "alternate" and r % 2 else shift)

    def _slopes(self) -> Floats:
        """Slope of a juror's evidence after r rounds, r = 0 .. limit; empty without jurors."""
        if not self.protocol.jurors:
            return np.zeros(0)
        held = np.arange(self.limit + 1) * self.protocol.advocates
        return np.asarray(self.jury.sensitivity * np.sqrt(effective_number(np.maximum(held, 1), self.jury.rho_arguments)))

    def _verdicts(self, e: Floats, rounds: Floats, factor: Floats, sign: int) -> Floats:
        """Probabilities of (rounds, fired, verdict), given e and the jurors' shared error; axes (n, factor, rounds, fired, verdict)."""
        if not self.protocol.jurors:
            return rounds[:, None]
        result = np.zeros((len(e), len(factor), *rounds.shape[1:]))
        judge_a = rounds[..., 0] + rounds[..., 1] / 2
        total = rounds.sum(axis=-1)
        for r, slope in enumerate(self._slopes()):
            if not total[:, r].any():
                continue
            p = self._vote(e, factor, float(slope), sign)
            more, tie = vote_masses(p, self.protocol.jurors)
            a = more[..., None] * total[:, None, r] + tie[..., None] * judge_a[:, None, r]
            result[:, :, r, :, 0] = a
            result[:, :, r, :, 2] = total[:, None, r] - a
        return result

    def _vote(self, e: Floats, factor: Floats, slope: float, sign: int) -> Floats:
        """P(a juror votes A), shape (n, factor)."""
        signs = (1, -1) if self.protocol.order == "random" else (sign,)
        votes = [vote_probability(slope * (e[:, None] + s * self.jury_shift), factor[None, :], self.rho) for s in signs]
        return np.asarray(sum(votes) / len(votes))

    def _same(self, shift: float, a: Floats, b: Floats) -> Floats | None:
        """P(the verdict stays | e, factor) under the same noise; None where it is not known."""
        protocol, law, stop = self.protocol, self.judge.gap, self.protocol.stop
        judge_matters = self.needs_judge or self._may_stop()
        moves = (judge_matters and shift != 0) or (protocol.jurors > 0 and self.jury_shift != 0)
        if not moves:
            return np.ones(a.shape[:2])
        calls = self.limit if judge_matters else 0
        if protocol.order == "random" and calls + protocol.jurors > 1:
            return None
        if protocol.order == "alternate" and self.limit > 1 and judge_matters:
            return None
        if protocol.jurors and shift * self.jury_shift < 0 and judge_matters:
            return None
        if self._may_stop():
            monotone = protocol.jurors == 0 and protocol.decision == "last" and isinstance(stop, (SignAgreement, LeadBy))
            if not monotone or law.tie_gap > 0 or isinstance(law, ZeroInflatedBetaGap):
                return None
        if self.population.debate.gain < 0 and self.limit > 1 and judge_matters:
            return None
        if np.all(a[..., 1] == 0):
            return np.asarray(1 - np.abs(a[..., 0] - b[..., 0]))
        if self.limit > 1 or not draws_once(law):
            return None
        return np.asarray(np.einsum("nfvv->nf", joint_verdicts(law, a, b)))

    def _may_stop(self) -> bool:
        return self.limit > 1 and not isinstance(self.protocol.stop, (FixedRounds, TokenBudget))


def argument_shifts(protocol: Debate, sd: float) -> Shifts:
    """Law of how much better the arguments for A are than those for B in a round.

    The mean (or the merged text) of k arguments a side leaves a variance of 2 sd^2 / k, their sum 2 k sd^2, their maximum the difference
    of two maxima.
    """
    k = protocol.advocates
    if sd == 0:
        return Shifts.of(0.0)
    if protocol.aggregator != "max" or k == 1:
        return Shifts.of(0.0, variance=2 * sd**2 * (k if protocol.aggregator == "sum" else 1 / k))
    z = np.linspace(-9, 9, 721)
    density = k * np.exp((k - 1) * log_ndtr(z) - z**2 / 2)
    difference = np.convolve(density, density[::-1])
    value = (np.arange(len(difference)) - (len(z) - 1)) * (z[1] - z[0])
    keep = (np.arange(len(value)) - (len(z) - 1)) % 8 == 0
    weight = difference[keep]
    used = weight > 1e-14 * weight.max()
    return Shifts(sd * value[keep][used], weight[used] / weight[used].sum())
