r"""Outcomes of one question, their costs, and the summary of many.

What a trajectory decides and costs depends on six things only: chains drawn, tier, rounds held, why it stopped, whether the candidate
was right and whether the answer is. They span a small integer lattice, an :class:`OutcomeSpace`. The exact law is a probability on that
lattice; a simulation is a table of integer counts on it; both become a :class:`~.result.Result` by the same functions, so engines
cannot differ in how they count. Sums over counts are sums of integers and do not depend on order.

Depth is the number of rounds run one after another: debate rounds where there is a debate (UAAD's depth proxy), otherwise the sampling
steps that wait for each other (1 for samples drawn in parallel).

Money of a question: expected tokens times prices; completion tokens are log-normal per call, so a path's money has a variance. Its
quantiles come from the money of its prompts plus a log-normal with the mean and variance of its completions (exact for one call, Fenton
1960 for several), mixed over paths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import ndtr

from .cost import Price, PriceList
from .population import Population
from .protocol import Protocol
from .result import Estimate, Result, exact, from_moments, share
from .scheduling import Tier, UncertaintyGate
from .stopping import AdaptiveConsistency, StopReason, TokenBudget, Window

__all__ = ["REASONS", "Costs", "Money", "Outcome", "OutcomeSpace", "Pricing", "last_round", "summarise"]

Floats = npt.NDArray[np.float64]
Masses = npt.NDArray[np.float64] | npt.NDArray[np.int64]

REASONS: tuple[StopReason, ...] = tuple(StopReason)

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Outcome:
    """How one question went.

    Parameters
    ----------
    chains : int
        Chains drawn.
    tier : int
        Index of the tier from 0; -1 without debate.
    rounds : int
        Debate rounds held.
    reason : StopReason
        Why it ended.
    candidate_right, right : bool
        Whether the candidate was right, and whether the final answer is.
    """

    chains: int
    tier: int
    rounds: int
    reason: StopReason
    candidate_right: bool
    right: bool


class OutcomeSpace:
    """The lattice of outcomes of a protocol.

    Parameters
    ----------
    protocol : Protocol
        The protocol.

    Attributes
    ----------
    shape : tuple of int
        (chains + 1, tiers + 1, rounds + 1, reasons, 2, 2); the second index is tier + 1, so that 0 is "no debate".
    """

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.shape = (protocol.chains + 1, len(protocol.tiers) + 1, protocol.most_rounds + 1, len(REASONS), 2, 2)

    @property
    def size(self) -> int:
        """Number of lattice points."""
        return math.prod(self.shape)

    def index(self, outcome: Outcome) -> int:
        """Flat index of an outcome."""
        coordinates = (
            outcome.chains,
            outcome.tier + 1,
            outcome.rounds,
            REASONS.index(outcome.reason),
            int(outcome.candidate_right),
            int(outcome.right),
        )
        return int(np.ravel_multi_index(coordinates, self.shape))

    def outcome(self, index: int) -> Outcome:
        """Outcome at a flat index."""
        chains, tier, rounds, reason, candidate_right, right = (int(x) for x in np.unravel_index(index, self.shape))
        return Outcome(chains, tier - 1, rounds, REASONS[reason], bool(candidate_right), bool(right))

    @cached_property
    def coordinates(self) -> tuple[npt.NDArray[np.int64], ...]:
        """Six arrays of shape (size,): the coordinates of every lattice point."""
        return tuple(np.asarray(c, dtype=np.int64) for c in np.unravel_index(np.arange(self.size), self.shape))


def last_round(protocol: Protocol, population: Population, tier: Tier) -> tuple[int, bool]:
    """Last round that a tier can hold, and whether a token budget is what ends it there.

    Parameters
    ----------
    protocol, population
        The token budget and the tokens of a call.
    tier : Tier
        Agents, and rounds at the most.
    """
    if not isinstance(protocol.round_stop, TokenBudget):
        return tier.rounds, False

    def tokens(round_: int) -> float:
        return round_prompt(protocol, population, tier, round_) + round_completion(protocol, population, tier, round_)

    return protocol.round_stop.last_round(tokens, tier.rounds)


def round_prompt(protocol: Protocol, population: Population, tier: Tier, round_: int, completions: float | None = None) -> float:
    """Prompt tokens of all calls of a debate round."""
    return tier.agents * population.tokens.debate_prompt(protocol.prompts, round_, tier.agents, protocol.inherits, completions)


def round_completion(protocol: Protocol, population: Population, tier: Tier, round_: int) -> float:
    """Return the expected completion tokens of all calls of a debate round."""
    return tier.agents * population.tokens.completion("solver" if round_ == 1 and not protocol.inherits else "debater")


@dataclass(frozen=True)
class Pricing:
    """A price and the list it is from."""

    price: Price
    prices: PriceList

    def to_dict(self) -> dict[str, Any]:
        """For provenance."""
        return {
            "list": self.prices.name,
            "as_of": self.prices.as_of,
            "source": self.prices.source,
            "model": self.price.model,
            "prompt_usd_per_million": self.price.prompt_usd_per_million,
            "completion_usd_per_million": self.price.completion_usd_per_million,
        }


class Costs:
    """What each lattice point costs; arrays of shape (size,).

    Attributes
    ----------
    calls, debate_calls, depth : ndarray of int
        Model calls, calls of debate rounds, rounds run one after another.
    prompt_tokens, completion_tokens, completion_variance : ndarray of float
        Expected tokens, and the variance of the completion tokens.
    worst_prompt, worst_completion : ndarray of float
        Tokens if every completion is as long as the endpoint allows.
    by_role : dict of str to (calls, prompt tokens, completion tokens)
        The same split by role: solver, debater, synthesiser.
    """

    def __init__(self, space: OutcomeSpace, population: Population) -> None:
        protocol, tokens = space.protocol, population.tokens
        chains, tier_index, rounds, _, _, _ = space.coordinates
        size = space.size
        limit = float(tokens.max_completion)
        debate_calls = np.zeros(size, dtype=np.int64)
        debate_prompt, debate_completion, debate_variance, debate_worst = (np.zeros(size) for _ in range(4))
        synth_calls = np.zeros(size, dtype=np.int64)
        synth_prompt, synth_worst = np.zeros(size), np.zeros(size)
        for t, tier in enumerate(protocol.tiers):
            for r in range(1, tier.rounds + 1):
                held = (tier_index == t + 1) & (rounds >= r)
                debate_calls[held] += tier.agents
                debate_prompt[held] += round_prompt(protocol, population, tier, r)
                debate_worst[held] += round_prompt(protocol, population, tier, r, limit)
                debate_completion[held] += round_completion(protocol, population, tier, r)
                sd = tokens.solver_sd if r == 1 and not protocol.inherits else tokens.debater_sd
                debate_variance[held] += tier.agents * sd**2
                if protocol.synthesiser:
                    here = (tier_index == t + 1) & (rounds == r)
                    synth_calls[here] = 1
                    synth_prompt[here] = tokens.debate_prompt(protocol.prompts, r + 1, tier.agents, protocol.inherits)
                    synth_worst[here] = tokens.debate_prompt(protocol.prompts, r + 1, tier.agents, protocol.inherits, limit)
        self.debate_calls = debate_calls
        self.calls = chains + debate_calls + synth_calls
        self.depth = np.where(tier_index > 0, rounds, _sampling_steps(protocol, chains))
        self.by_role = {
            "solver": (chains, chains * tokens.question, chains * tokens.completion("solver")),
            "debater": (debate_calls, debate_prompt, debate_completion),
            "synthesiser": (synth_calls, synth_prompt, synth_calls * tokens.completion("synthesiser")),
        }
        self.prompt_tokens = np.asarray(sum(prompt for _, prompt, _ in self.by_role.values()))
        self.completion_tokens = np.asarray(sum(completion for _, _, completion in self.by_role.values()))
        self.completion_variance = chains * tokens.solver_sd**2 + debate_variance + synth_calls * tokens.synthesiser_sd**2
        self.worst_prompt = chains * tokens.question + debate_worst + synth_worst
        self.worst_completion = self.calls * limit

    def usd(self, price: Price) -> Floats:
        """Return the expected money of each lattice point, US dollars."""
        per_million = self.prompt_tokens * price.prompt_usd_per_million + self.completion_tokens * price.completion_usd_per_million
        return np.asarray(per_million / 1e6)

    def usd_variance(self, price: Price) -> Floats:
        """Variance of the money at each lattice point, US dollars squared."""
        return np.asarray(self.completion_variance * (price.completion_usd_per_million / 1e6) ** 2)

    def usd_worst(self, price: Price) -> Floats:
        """Money of each lattice point if every completion is as long as the endpoint allows."""
        per_million = self.worst_prompt * price.prompt_usd_per_million + self.worst_completion * price.completion_usd_per_million
        return np.asarray(per_million / 1e6)


def _sampling_steps(protocol: Protocol, chains: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    if isinstance(protocol.sampling_stop, AdaptiveConsistency):
        return chains
    if isinstance(protocol.sampling_stop, Window):
        return np.asarray(-(-chains // protocol.sampling_stop.window), dtype=np.int64)
    return np.minimum(chains, 1)


@dataclass(frozen=True)
class Money:
    """The law of one question's money as a mixture over paths.

    Attributes
    ----------
    weight, mean, variance : ndarray, shape (paths,)
        Probability, expected money and variance of each path.
    worst : float
        Largest possible money of a question.
    fixed : ndarray, shape (paths,) or (1,)
        The part of a path's money that does not vary: its prompts.
    """

    weight: Floats
    mean: Floats
    variance: Floats
    worst: float
    fixed: Floats = field(default_factory=lambda: np.zeros(1))

    @classmethod
    def of(cls, costs: Costs, probability: Floats, price: Price) -> Money:
        """Collect the paths of positive probability."""
        held = probability > 0
        fixed = costs.prompt_tokens[held] * price.prompt_usd_per_million / 1e6
        worst = float(costs.usd_worst(price)[held].max())
        return cls(probability[held], costs.usd(price)[held], costs.usd_variance(price)[held], worst, fixed)

    @property
    def expected(self) -> float:
        """E[money of a question]."""
        return float(self.weight @ self.mean)

    @property
    def total_variance(self) -> float:
        """Variance of the money of a question: within paths and between them."""
        expected = self.expected
        return float(self.weight @ (self.variance + (self.mean - expected) ** 2))

    def central_moments(self) -> tuple[float, float, float]:
        """Mean, variance and third central moment of the money of a question.

        A log-normal with mean m and variance v has the third central moment v^2 (3 + v / m^2) / m.
        """
        mean, varying = self.expected, self.mean - self.fixed
        with np.errstate(divide="ignore", invalid="ignore"):
            third = np.where(varying > 0, self.variance**2 * (3 + self.variance / varying**2) / varying, 0.0)
        shift = self.mean - mean
        return mean, self.total_variance, float(self.weight @ (third + 3 * shift * self.variance + shift**3))

    def cdf(self, x: float) -> float:
        """P(money of a question <= x)."""
        return float(self.weight @ _lognormal_cdf(x - self.fixed, self.mean - self.fixed, self.variance))

    def quantile(self, level: float) -> float:
        """Money that a question stays within with probability ``level``, to twelve digits; never more than the worst.

        The digits after the twelfth are the root finder's: they differ between builds of NumPy and SciPy, where the same seed must
        give the same result.
        """
        if self.cdf(0.0) >= level:
            return 0.0
        if self.cdf(self.worst) <= level:
            return self.worst
        root = brentq(lambda x: self.cdf(x) - level, 0.0, self.worst, xtol=1e-12 * self.worst)
        return min(float(f"{root:.11e}"), self.worst)

    def quantiles(self) -> dict[str, float]:
        """Median, 95 % quantile and largest value, by their keys in results."""
        return {"p50": self.quantile(0.5), "p95": self.quantile(0.95), "max": self.worst}


def _lognormal_cdf(x: Floats, mean: Floats, variance: Floats) -> Floats:
    point = (variance <= 0) | (mean <= 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        s2 = np.log1p(variance / mean**2)
        z = (np.log(np.maximum(x, 0.0)) - (np.log(mean) - s2 / 2)) / np.sqrt(s2)
    return np.where(point, (mean <= x + _ROUNDING * np.abs(mean)).astype(float), ndtr(np.where(point, 0.0, z)))


def integer_quantiles(values: npt.NDArray[np.int64], probability: Floats) -> dict[str, float]:
    """Median, 95 % quantile and largest possible value of a count, by their keys in results; both arrays of one shape."""
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(probability[order])

    def at(level: float) -> int:
        return int(values[order][int(np.searchsorted(upto, level * upto[-1] * (1 - 1e-12)))])

    return {"p50": at(0.5), "p95": at(0.95), "max": int(values[probability > 0].max())}


def run_provenance(
    engine: str, samples: int | None, seed: int | None, protocol: dict[str, Any], population: dict[str, Any], pricing: Pricing | None
) -> dict[str, Any]:
    """Return what every result says of how it came about; protocol and population as plain tables."""
    return {
        "version": metadata.version("adjourn"),
        "engine": engine,
        "seed": seed,
        "samples": samples,
        "protocol": protocol,
        "population": population,
        "prices": pricing.to_dict() if pricing else None,
    }


def summarise(
    protocol: Protocol,
    population: Population,
    masses: Masses,
    *,
    engine: str,
    samples: int | None = None,
    seed: int | None = None,
    pricing: Pricing | None = None,
    notes: tuple[str, ...] = (),
) -> Result:
    """Turn probabilities or counts on the outcome lattice into a result.

    Parameters
    ----------
    protocol, population
        What was run.
    masses : ndarray, shape ``OutcomeSpace(protocol).shape`` or flat
        Probabilities (``samples`` is None) or integer counts that sum to ``samples``.
    engine : {"exact", "mc", "reference"}
        Which engine made them.
    samples, seed : int, optional
        Number of questions and seed of a simulation.
    pricing : Pricing, optional
        Adds ``usd``.
    notes : tuple of str
        Further notes; those that follow from the population are added here.

    Returns
    -------
    Result
    """
    space = OutcomeSpace(protocol)
    costs = Costs(space, population)
    flat = np.asarray(masses).ravel()
    probability = flat / flat.sum()
    _, tier_index, _, reason_index, candidate_right, right = space.coordinates

    def mass(where: npt.NDArray[np.bool_], given: npt.NDArray[np.bool_] | None = None) -> Estimate | None:
        if samples is None:
            total = 1.0 if given is None else math.fsum(probability[given])
            part = where if given is None else where & given
            return exact(min(1.0, math.fsum(probability[part]) / total)) if total > 0 else None
        base = samples if given is None else int(flat[given].sum())
        count = int(flat[where if given is None else where & given].sum())
        return share(count, base) if base else None

    def mean(values: Floats | npt.NDArray[np.int64]) -> Estimate:
        if samples is None:
            return exact(math.fsum(probability * values))
        if values.dtype.kind == "i":
            counts = flat.astype(object)
            return from_moments(int((counts * values).sum()), int((counts * values * values).sum()), samples)
        return from_moments(math.fsum(flat * values), math.fsum(flat * values * values), samples)

    has_debate = bool(protocol.tiers)
    right_flag, candidate_flag = right == 1, candidate_right == 1
    means: dict[str, Estimate | None] = {
        "accuracy": mass(right_flag),
        "calls": mean(costs.calls),
        "debate_calls": mean(costs.debate_calls),
        "depth": mean(costs.depth),
        "prompt_tokens": mean(costs.prompt_tokens),
        "completion_tokens": mean(costs.completion_tokens),
        "usd": mean(costs.usd(pricing.price)) if pricing else None,
        "candidate_accuracy": mass(candidate_flag),
        "right_to_wrong": mass(~right_flag, candidate_flag) if has_debate else None,
        "wrong_to_right": mass(right_flag, ~candidate_flag) if has_debate else None,
    }
    tiers = {tier.name: mass(tier_index == t + 1) for t, tier in enumerate(protocol.tiers)}
    if bool(np.any(probability[tier_index == 0] > 0)):
        tiers = {"none": mass(tier_index == 0), **tiers}
    reasons = {str(reason): mass(reason_index == i) for i, reason in enumerate(REASONS) if np.any(probability[reason_index == i] > 0)}
    quantiles: dict[str, dict[str, float]] = {
        name: integer_quantiles(values, probability)
        for name, values in (("calls", costs.calls), ("debate_calls", costs.debate_calls), ("depth", costs.depth))
    }
    if pricing:
        quantiles["usd"] = Money.of(costs, probability, pricing.price).quantiles()
    by_role = {
        role: {"calls": float(probability @ c), "prompt_tokens": float(probability @ p), "completion_tokens": float(probability @ o)}
        for role, (c, p, o) in costs.by_role.items()
    }
    return Result(
        protocol=protocol.name,
        population=population.name,
        engine=engine,
        samples=samples,
        seed=seed,
        means=means,
        shares={"tiers": _present(tiers), "stop_reasons": _present(reasons)},
        quantiles=quantiles,
        provenance={
            **run_provenance(engine, samples, seed, protocol.to_dict(), population.to_dict(), pricing),
            "tokens_by_role": by_role,
        },
        notes=standing_notes(protocol, population) + notes,
    )


def _present(masses: dict[str, Estimate | None]) -> dict[str, Estimate]:
    return {name: value for name, value in masses.items() if value is not None}


def standing_notes(protocol: Protocol, population: Population) -> tuple[str, ...]:
    """Return what a reader must know about any result of this pair."""
    notes = []
    if not population.calibrated:
        notes.append(f"{population.name} is not calibrated: no public data fix it; read the result as an illustration.")
    if isinstance(protocol.gate, UncertaintyGate) and len(protocol.tiers) > 1:
        s = population.signals
        notes.append(
            f"Tiers depend on step signals that no public log holds: conditional on AUROC h {s.auroc_h:g}, d {s.auroc_d:g}, "
            f"visibility {s.visibility:g}; sweep them."
        )
    if protocol.tiers and "response" in population.borrowed:
        notes.append(f"How agents respond to each other is borrowed ({population.borrowed['response']}), not fitted on this population.")
    if protocol.target == "uniform" and population.response.lam_focus == 0:
        notes.append("lam_focus is 0 (no public data measure it), so the target of the rebuttal changes nothing.")
    return tuple(notes)
