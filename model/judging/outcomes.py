r"""Outcomes of one item, and the summary of many.

What a trajectory decides and costs depends on four things: the label, the verdict, the rounds held and why it stopped. They span a
small integer lattice; the exact law is a probability on it, a simulation a table of counts, and both become a
:class:`~adjourn.model.result.Result` here.

Swap consistency is the share of items whose verdict stays the same when the answers change places. It has two meanings, kept apart:

* ``swap_consistency``: the same noise (equal seeds), the other order: what the order alone does. Noise belongs to the answers, so it is 1
  without a position shift.
* ``swap_consistency_fresh``: the other order and noise drawn anew: what two calls in a log show. The item's own numbers (true difference,
  biases, shifts, the jurors' shared error) stay.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..outcomes import Money, Pricing, integer_quantiles, run_provenance
from ..result import Estimate, Result, exact, from_moments, share
from .agreement import LABELS, TIES, VERDICTS, agreement
from .cost import JudgingCosts
from .items import JudgingPopulation
from .protocols import Debate, Discussion, JudgingProtocol, Panel, protocol_dict
from .stopping import JudgingStopReason

__all__ = ["JUDGING_REASONS", "JudgingOutcome", "JudgingTally", "money_of", "outcome_shape", "summarise_judging"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

JUDGING_REASONS: tuple[JudgingStopReason, ...] = tuple(JudgingStopReason)
A, TIE, B, NONE = range(4)
"""Places of verdicts (and labels) in tables."""


@dataclass(frozen=True)
class JudgingOutcome:
    """How one item went.

    Parameters
    ----------
    label, verdict : int
        Places in ``LABELS`` and ``VERDICTS``.
    rounds : int
        Rounds held.
    reason : JudgingStopReason
        Why it ended.
    """

    label: int
    verdict: int
    rounds: int
    reason: JudgingStopReason

    @property
    def index(self) -> tuple[int, int, int, int]:
        """Place on the lattice."""
        return self.label, self.verdict, self.rounds, JUDGING_REASONS.index(self.reason)


def outcome_shape(protocol: JudgingProtocol) -> tuple[int, int, int, int]:
    """Shape of the lattice: labels, verdicts, rounds 0 to the most, reasons."""
    return len(LABELS), len(VERDICTS), protocol.most_rounds + 1, len(JUDGING_REASONS)


@dataclass(frozen=True, eq=False)
class JudgingTally:
    """Probabilities or counts.

    Attributes
    ----------
    masses : ndarray, shape :func:`outcome_shape`
        Probabilities, or integer counts.
    same, fresh : float, int or None
        Probability or count of items whose verdict stays when the order is swapped, with the same and with fresh noise; None where the
        engine does not know.
    """

    masses: Floats | Ints
    same: float | int | None
    fresh: float | int | None


def money_of(costs: JudgingCosts, rounds: Floats, pricing: Pricing) -> Money:
    """Law of one item's money.

    Parameters
    ----------
    costs : JudgingCosts
        By rounds held.
    rounds : ndarray of float, shape (most rounds + 1,)
        Probabilities of the rounds held.
    pricing : Pricing
        Prices.
    """
    held = rounds > 0
    return Money(rounds[held], costs.usd(pricing)[held], costs.usd_variance(pricing)[held], float(costs.usd_worst(pricing)[held].max()))


def summarise_judging(
    protocol: JudgingProtocol,
    population: JudgingPopulation,
    tally: JudgingTally,
    *,
    engine: str,
    samples: int | None = None,
    seed: int | None = None,
    pricing: Pricing | None = None,
    notes: tuple[str, ...] = (),
) -> Result:
    """Turn probabilities or counts into a result.

    Parameters
    ----------
    protocol, population
        What was run.
    tally : JudgingTally
        Probabilities (``samples`` is None) or counts of ``samples`` items.
    engine : {"exact", "mc", "reference"}
        Which engine made them.
    samples, seed : int, optional
        Number of items and seed of a simulation.
    pricing : Pricing, optional
        Adds ``usd``.
    notes : tuple of str
        Further notes.
    """
    costs = JudgingCosts(protocol, population)
    masses = tally.masses if samples is not None else tally.masses / tally.masses.sum()
    table = masses.sum(axis=(2, 3))
    rounds = masses.sum(axis=(0, 1, 3))
    rounds = rounds if samples is not None else rounds / rounds.sum()

    def part(value: float | int) -> Estimate:
        return exact(_snapped(float(value))) if samples is None else share(int(value), samples)

    def mean(values: Floats | Ints) -> Estimate:
        if samples is None:
            return exact(math.fsum(rounds * values))
        counts: Any = rounds.astype(object)
        return from_moments(float((counts * values).sum()), float((counts * values * values).sum()), samples)

    by_ties = {ties: agreement(table, ties, samples) for ties in TIES}
    accuracy, kappa = by_ties[population.ties]
    means: dict[str, Estimate | None] = {
        "accuracy": accuracy,
        "kappa": kappa,
        "swap_consistency": None if tally.same is None else part(tally.same),
        "swap_consistency_fresh": None if tally.fresh is None else part(tally.fresh),
        "rounds": mean(np.arange(len(rounds))),
        "calls": mean(costs.calls),
        "debate_calls": mean(costs.debate_calls),
        "depth": mean(np.arange(len(rounds))),
        "prompt_tokens": mean(costs.prompt_tokens),
        "completion_tokens": mean(costs.completion_tokens),
        "usd": mean(costs.usd(pricing)) if pricing else None,
        "right_to_wrong": None,
        "wrong_to_right": None,
        **{f"accuracy_{ties}": value[0] for ties, value in by_ties.items()},
    }
    probability = rounds / rounds.sum()
    quantiles = {
        name: integer_quantiles(values, probability)
        for name, values in (("calls", costs.calls), ("debate_calls", costs.debate_calls), ("rounds", np.arange(len(rounds))))
    }
    if pricing:
        quantiles["usd"] = money_of(costs, probability, pricing).quantiles()
    reasons = masses.sum(axis=(0, 1, 2))
    return Result(
        protocol=protocol.name,
        population=population.name,
        engine=engine,
        samples=samples,
        seed=seed,
        means=means,
        shares={
            "tiers": {},
            "stop_reasons": {str(reason): part(reasons[i]) for i, reason in enumerate(JUDGING_REASONS) if reasons[i] > 0},
            "verdicts": {VERDICTS[v]: part(table[:, v].sum()) for v in range(len(VERDICTS)) if table[:, v].any()},
            "labels": {LABELS[label]: part(table[label].sum()) for label in range(len(LABELS)) if table[label].any()},
        },
        quantiles=quantiles,
        provenance={
            **run_provenance(engine, samples, seed, protocol_dict(protocol), population.to_dict(), pricing),
            "ties": population.ties,
            "tokens_by_role": {
                role: dict(zip(("calls", "prompt_tokens", "completion_tokens"), (float(probability @ x) for x in parts), strict=True))
                for role, parts in costs.by_role().items()
            },
        },
        notes=standing_notes(protocol, population) + notes,
    )


def _snapped(value: float) -> float:
    """Return a probability without the last rounding errors of what is certain."""
    return 1.0 if value > 1 - 1e-12 else max(value, 0.0)


def standing_notes(protocol: JudgingProtocol, population: JudgingPopulation) -> tuple[str, ...]:
    """Return what a reader must know about any result of this pair."""
    notes = []
    if not population.calibrated:
        notes.append(f"{population.name} is not calibrated in every part this needs; read the result as an illustration.")
    if isinstance(protocol, Debate):
        notes += [
            f"What {what} is borrowed ({population.borrowed[part]})."
            for part, what in (("debate", "arguments do to the judge"), ("jury", "jurors do"))
            if part in population.borrowed and (part == "debate" or protocol.jurors)
        ]
        if protocol.advocates > 1 and population.debate.argument_sd == 0 and protocol.aggregator != "sum":
            notes.append("Arguments do not differ in quality here (argument_sd is 0): merge, mean and max give the same verdicts.")
    if isinstance(protocol, Discussion) and "discussion" in population.borrowed:
        notes.append(f"How agents discuss is borrowed ({population.borrowed['discussion']}).")
    if isinstance(protocol, Panel) and protocol.weights == "learnt":
        notes.append("Weights are learnt in the limit of many items; fewer items make them noisier.")
    return tuple(notes)
