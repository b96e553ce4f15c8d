r"""What judging calls cost: tokens by role, prompts that grow with the transcript, prices by model.

Roles: ``judge`` (a panel's judgement, or the judge of a debate), ``agent`` (one turn of a discussion), ``advocate``, ``aggregator``
(merges the advocates of a side), ``juror``. Every prompt holds the item (question and both answers) and instructions. In a debate with
k advocates a side, of which a side's text has s tokens (one merged defence, or k arguments), round r's prompts add

.. math:: (r - 1)(2 s + judge) \text{ for an advocate}, \quad 2 r s + (r - 1)\, judge \text{ for the judge}, \quad
    r (2 s + judge) \text{ for a juror after } r \text{ rounds},

and a discussion's n-th message holds the n - 1 before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..checks import require_count
from ..cost import Price, load_prices
from ..outcomes import Pricing
from ..stopping import TokenBudget
from .protocols import Debate, Discussion, JudgingProtocol, Panel
from .tokens import JudgingTokens

if TYPE_CHECKING:
    from .items import JudgingPopulation

__all__ = ["CostLine", "JudgingCosts", "debate_round_tokens", "last_round"]

Floats = npt.NDArray[np.float64]

ROLES = ("advocate", "aggregator", "judge", "juror", "agent")


@dataclass(frozen=True, eq=False)
class CostLine:
    """Calls of one role by one model; arrays are indexed by the rounds held, 0 to the most.

    Attributes
    ----------
    role, model : str
        Who calls; "" is the population's model.
    calls : ndarray of int
        Number of calls.
    prompt, completion, worst_prompt : ndarray of float
        Expected tokens of all of them; prompt tokens if every earlier completion is as long as the endpoint allows.
    mean : float
        Completion tokens of one call.
    """

    role: str
    model: str
    calls: npt.NDArray[np.int64]
    prompt: Floats
    worst_prompt: Floats
    mean: float

    @property
    def completion(self) -> Floats:
        """Expected completion tokens."""
        return np.asarray(self.calls * self.mean, dtype=np.float64)


_Part = Callable[[CostLine], Floats]


class JudgingCosts:
    """What a protocol costs on one item, by the rounds held; arrays of shape (most rounds + 1,).

    Parameters
    ----------
    protocol, population
        What is run.
    """

    def __init__(self, protocol: JudgingProtocol, population: JudgingPopulation) -> None:
        self.tokens = population.tokens
        self.model = population.model
        self.lines = _lines(protocol, population)
        self.calls: npt.NDArray[np.int64] = np.sum([line.calls for line in self.lines], axis=0)
        self.prompt_tokens: Floats = np.sum([line.prompt for line in self.lines], axis=0)
        self.completion_tokens: Floats = np.sum([line.completion for line in self.lines], axis=0)
        in_rounds = [line.calls for line in self.lines if line.role != "juror"]
        self.debate_calls: npt.NDArray[np.int64] = 0 * self.calls if isinstance(protocol, Panel) else np.sum(in_rounds, axis=0)

    def by_role(self) -> dict[str, tuple[Floats, Floats, Floats]]:
        """Return calls, prompt and completion tokens of each role."""
        roles: dict[str, tuple[Floats, Floats, Floats]] = {}
        for role in ROLES:
            lines = [line for line in self.lines if line.role == role]
            if lines:
                roles[role] = (
                    np.sum([line.calls for line in lines], axis=0).astype(float),
                    np.sum([line.prompt for line in lines], axis=0),
                    np.sum([line.completion for line in lines], axis=0),
                )
        return roles

    def usd(self, pricing: Pricing) -> Floats:
        """Return the expected money, US dollars.

        Raises
        ------
        InputError
            If a judge names a model that the user's price list does not hold.
        """
        return self._total(pricing, lambda line: line.prompt, lambda line: line.completion)

    def usd_variance(self, pricing: Pricing) -> Floats:
        """Variance of the money, US dollars squared."""
        total = np.zeros(len(self.calls))
        for line in self.lines:
            price = price_of(line.model or self.model, pricing).completion_usd_per_million / 1e6
            total += line.calls * (self.tokens.spread * line.mean * price) ** 2
        return total

    def usd_worst(self, pricing: Pricing) -> Floats:
        """Money if every completion is as long as the endpoint allows."""
        limit = self.tokens.max_completion
        return self._total(pricing, lambda line: line.worst_prompt, lambda line: np.asarray(line.calls * limit, dtype=np.float64))

    def _total(self, pricing: Pricing, prompt: _Part, completion: _Part) -> Floats:
        total = np.zeros(len(self.calls))
        for line in self.lines:
            price = price_of(line.model or self.model, pricing)
            total += (prompt(line) * price.prompt_usd_per_million + completion(line) * price.completion_usd_per_million) / 1e6
        return total


def price_of(model: str, pricing: Pricing) -> Price:
    """Price of a judge's model.

    Where no model is named, or the list is the shipped example and does not hold it, that is the price of the case.

    Raises
    ------
    InputError
        If a user's own list lacks a model that a judge names.
    """
    if not model or (model not in pricing.prices.prices and pricing.prices.name == load_prices().name):
        return pricing.price
    return pricing.prices.of(model)


def _lines(protocol: JudgingProtocol, population: JudgingPopulation) -> list[CostLine]:
    if isinstance(protocol, Panel):
        return _panel_lines(protocol, population)
    first = population.judges[0].model
    if isinstance(protocol, Discussion):
        return [_discussion_line(protocol, population.tokens, first)]
    return _debate_lines(protocol, population.tokens, first)


def _panel_lines(protocol: Panel, population: JudgingPopulation) -> list[CostLine]:
    tokens = population.tokens
    held = np.array([0, 1])
    calls = held * protocol.calls_each
    prompt = calls * tokens.prompt
    return [
        CostLine("judge", population.judges[j].model, calls, prompt, prompt, tokens.completion("verdict"))
        for j in panel_judges(protocol, population)
    ]


def panel_judges(protocol: Panel, population: JudgingPopulation) -> list[int]:
    """Places of a panel's judges among the population's.

    Raises
    ------
    ParameterError
        If the population has fewer judges, or none of a name.
    """
    if isinstance(protocol.judges, int):
        require_count("judges", protocol.judges, 1, len(population.judges))
        return list(range(protocol.judges))
    return [population.judges.index(population.judge(name)) for name in protocol.judges]


def _discussion_line(protocol: Discussion, tokens: JudgingTokens, model: str) -> CostLine:
    calls = protocol.agents * np.arange(protocol.turns + 1)
    earlier = calls * (calls - 1) / 2
    prompt = calls * tokens.prompt
    return CostLine(
        "agent",
        model,
        calls,
        prompt + earlier * tokens.completion("agent"),
        prompt + earlier * tokens.max_completion,
        tokens.completion("agent"),
    )


@dataclass(frozen=True)
class _Texts:
    """Completion tokens of the texts that prompts repeat: means, or the endpoint's limit."""

    advocate: float
    side: float
    judge: float

    @classmethod
    def of(cls, protocol: Debate, advocate: float, aggregator: float, judge: float) -> _Texts:
        return cls(advocate, aggregator if protocol.merges else protocol.advocates * advocate, judge)


_SPEAKERS = ("advocate", "aggregator", "judge")


def _spoken(tokens: JudgingTokens) -> tuple[float, float, float]:
    """Return the expected completion tokens of a call of each role whose texts prompts repeat, in the order of ``_SPEAKERS``."""
    advocate, aggregator, judge = map(tokens.completion, _SPEAKERS)
    return advocate, aggregator, judge


def _round_prompts(protocol: Debate, tokens: JudgingTokens, texts: _Texts, r: int) -> tuple[float, float, float]:
    """Prompt tokens of all advocates, all aggregators and the judge in round r."""
    earlier = (r - 1) * (2 * texts.side + texts.judge)
    advocates = 2 * protocol.advocates * (tokens.prompt + earlier)
    aggregators = 2 * (tokens.prompt + protocol.advocates * texts.advocate) if protocol.merges else 0.0
    return advocates, aggregators, tokens.prompt + 2 * r * texts.side + (r - 1) * texts.judge


def _debate_lines(protocol: Debate, tokens: JudgingTokens, model: str) -> list[CostLine]:
    held = np.arange(protocol.rounds + 1)
    limit, means = float(tokens.max_completion), _spoken(tokens)
    texts = _Texts.of(protocol, *means), _Texts.of(protocol, limit, limit, limit)
    prompts = np.zeros((2, 3, protocol.rounds + 1))
    for case, text in enumerate(texts):
        for r in range(1, protocol.rounds + 1):
            prompts[case, :, r] = prompts[case, :, r - 1] + _round_prompts(protocol, tokens, text, r)
    jurors = protocol.jurors * (held > 0)
    read = [jurors * (tokens.prompt + held * (2 * text.side + text.judge)) for text in texts]
    counts = (2 * protocol.advocates * held, 2 * protocol.merges * held, held)
    lines = [
        CostLine(role, model, calls, prompts[0, i], prompts[1, i], mean)
        for i, (role, calls, mean) in enumerate(zip(_SPEAKERS, counts, means, strict=True))
    ]
    lines.append(CostLine("juror", model, jurors, read[0], read[1], tokens.completion("juror")))
    return [line for line in lines if line.calls.any()]


def debate_round_tokens(protocol: Debate, population: JudgingPopulation, round_: int) -> float:
    """Return the expected tokens, prompt and completion, of one round of a debate (without jurors)."""
    tokens = population.tokens
    advocate, aggregator, judge = _spoken(tokens)
    texts = _Texts.of(protocol, advocate, aggregator, judge)
    written = 2 * protocol.advocates * advocate + 2 * protocol.merges * aggregator + judge
    return sum(_round_prompts(protocol, tokens, texts, round_)) + written


def last_round(protocol: Debate, population: JudgingPopulation) -> tuple[int, bool]:
    """Last round that a debate can hold, and whether a token budget is what ends it there."""
    if not isinstance(protocol.stop, TokenBudget):
        return protocol.rounds, False
    return protocol.stop.last_round(lambda r: debate_round_tokens(protocol, population, r), protocol.rounds)
