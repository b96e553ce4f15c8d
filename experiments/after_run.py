r"""Predicted against actual: what the exact law said before a run, and where the run fell in that law.

For N independent questions with per-question law f of an integer cost (calls, rounds), the total has the N-fold convolution of f,
computed exactly. Right answers are Binomial(N, accuracy). Tokens and money are totals as everywhere else (:mod:`.totals`). The percentile
of an actual value x is P(total < x) + P(total = x) / 2.

The 95 % range holds the chance of N questions under the population; it does not hold the population's own error. A value outside it says
that the population is not that of the questions, the prompts or the model: each such miss is explained by the part (calls, or tokens a
call of a role) that differs most. ``adjourn calibrate`` on the run's log mends it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.signal import fftconvolve
from scipy.stats import binom

from ..model import Population, Pricing, Protocol
from ..model import exact as exact_law
from ..model.cost import Price
from ..model.outcomes import REASONS, Costs, Money, OutcomeSpace
from .totals import Total

__all__ = ["Actual", "Prediction", "actual_of", "compare"]

Floats = npt.NDArray[np.float64]

_PER_TOKEN = 1e6
"""Price of a million tokens that makes "money" count tokens."""


@dataclass(frozen=True)
class Law:
    """Law of one total.

    Parameters
    ----------
    unit : str
        Its unit.
    mean, worst : float
        Expected and largest possible total.
    below, at_most : callable
        P(total < x) and P(total <= x).
    quantile : callable
        Level to value.
    """

    unit: str
    mean: float
    worst: float
    below: Callable[[float], float]
    at_most: Callable[[float], float]
    quantile: Callable[[float], float]

    def percentile(self, x: float) -> float:
        """P(total < x) + P(total = x) / 2, in percent."""
        return 50 * (self.below(x) + self.at_most(x))

    def to_json(self) -> dict[str, Any]:
        """Mean, 95 % range, p95 and worst case."""
        low, high = self.quantile(0.025), self.quantile(0.975)
        return {"unit": self.unit, "mean": self.mean, "range95": [low, high], "p95": self.quantile(0.95), "worst_case": self.worst}


def _integer_law(values: npt.NDArray[np.int64], probability: Floats, items: int, unit: str) -> Law:
    one = np.bincount(values, weights=probability)
    one = one[: int(np.flatnonzero(one)[-1]) + 1]
    total = np.clip(_power(one, items), 0.0, None)
    upto = np.cumsum(total / total.sum())

    def at_most(x: float) -> float:
        index = math.floor(x)
        return 0.0 if index < 0 else float(upto[min(index, len(upto) - 1)])

    return Law(
        unit,
        float(items * (np.arange(len(one)) @ one) / one.sum()),
        float(items * (len(one) - 1)),
        lambda x: at_most(math.ceil(x) - 1),
        at_most,
        lambda level: float(np.searchsorted(upto, level * (1 - 1e-12))),
    )


def _power(law: Floats, times: int) -> Floats:
    """N-fold convolution of a law by repeated squaring."""
    result, square = np.ones(1), law
    while times:
        if times & 1:
            result = fftconvolve(result, square)
        times >>= 1
        if times:
            square = fftconvolve(square, square)
    return result


def _total_law(total: Total, unit: str) -> Law:
    return Law(unit, total.mean, total.worst, total.cdf, total.cdf, total.quantile)


class Prediction:
    """What the exact law says of N questions.

    Parameters
    ----------
    protocol, population, pricing
        What is run.
    items : int
        Number of questions.
    """

    def __init__(self, protocol: Protocol, population: Population, pricing: Pricing, items: int) -> None:
        self.protocol, self.population, self.pricing, self.items = protocol, population, pricing, items
        self.result = exact_law.simulate(protocol, population, pricing)
        self._masses = exact_law.evaluate(protocol, population).ravel()
        self._space = OutcomeSpace(protocol)

    @cached_property
    def laws(self) -> dict[str, Law]:
        """Law of each total by its name."""
        costs = Costs(self._space, self.population)
        accuracy = self.result.mean("accuracy").mean
        laws = {
            "right": Law(
                "questions",
                self.items * accuracy,
                float(self.items),
                lambda x: float(binom.cdf(math.ceil(x) - 1, self.items, accuracy)),
                lambda x: float(binom.cdf(math.floor(x), self.items, accuracy)),
                lambda level: float(binom.ppf(level, self.items, accuracy)),
            )
        }
        for name, values, unit in (
            ("calls", costs.calls, "calls"),
            ("debate_calls", costs.debate_calls, "calls"),
            ("rounds", self._space.coordinates[2], "rounds"),
        ):
            laws[name] = _integer_law(values, self._masses, self.items, unit)
        prices = {"prompt_tokens": (_PER_TOKEN, 0.0), "completion_tokens": (0.0, _PER_TOKEN)}
        for name, (prompt, completion) in prices.items():
            laws[name] = self._money(costs, Price(name, prompt, completion), "tokens")
        laws["usd"] = self._money(costs, self.pricing.price, "US$")
        return laws

    def _money(self, costs: Costs, price: Price, unit: str) -> Law:
        return _total_law(Total.of(Money.of(costs, self._masses, price), self.items), unit)

    def stop_laws(self) -> dict[str, Law]:
        """Law of the number of questions by why they stopped and by the round in which they did."""
        _, _, rounds, reasons, _, _ = self._space.coordinates
        laws = {}
        for index, reason in enumerate(REASONS):
            where = reasons == index
            if self._masses[where].sum() > 0:
                laws[f"stopped: {reason}"] = _integer_law(where.astype(np.int64), self._masses, self.items, "questions")
        for held in range(self.protocol.most_rounds + 1):
            where = rounds == held
            if self.protocol.tiers and self._masses[where].sum() > 0:
                laws[f"ended after round {held}"] = _integer_law(where.astype(np.int64), self._masses, self.items, "questions")
        return laws

    def to_json(self) -> dict[str, Any]:
        """For the ledger, before anything is sent."""
        return {
            "items": self.items,
            "population": self.population.name,
            "prices": self.pricing.to_dict(),
            "accuracy": self.result.mean("accuracy").mean,
            "totals": {name: law.to_json() for name, law in self.laws.items()},
        }


@dataclass(frozen=True)
class Actual:
    """What a run did, over the questions that have an outcome.

    Parameters
    ----------
    items, graded : int
        Questions with an outcome, and those of them whose right answer is known.
    totals : mapping of str to float
        By the names of :attr:`Prediction.laws` and :meth:`Prediction.stop_laws`.
    by_role : mapping of str to (calls, prompt tokens, completion tokens)
        Of the protocol's own calls.
    """

    items: int
    graded: int
    totals: Mapping[str, float]
    by_role: Mapping[str, tuple[int, int, int]]


def actual_of(outcomes: Sequence[Mapping[str, Any]], price: Price) -> Actual:
    """Add up the audit trails of a run's outcomes."""
    roles = {"solver": [0, 0, 0], "debater": [0, 0, 0], "synthesiser": [0, 0, 0]}
    totals: dict[str, float] = {"right": 0, "rounds": 0}
    graded = 0
    for outcome in outcomes:
        audit = outcome["audit"]
        synthesis = [audit["synthesis"]] if audit["synthesis"] else []
        for role, rows in (("solver", audit["chains"]), ("debater", audit["said"].values()), ("synthesiser", synthesis)):
            for row in rows:
                for place, value in enumerate((1, row["prompt_tokens"], row["completion_tokens"])):
                    roles[role][place] += value
        totals["rounds"] += audit["rounds_held"]
        for name in (f"stopped: {audit['stop_reason']}", f"ended after round {audit['rounds_held']}"):
            totals[name] = totals.get(name, 0) + 1
        if outcome["correct"] is not None:
            graded += 1
            totals["right"] += outcome["correct"]
    calls, prompt, completion = (sum(column) for column in zip(*roles.values(), strict=True))
    totals |= {"calls": calls, "debate_calls": roles["debater"][0], "prompt_tokens": prompt, "completion_tokens": completion}
    totals["usd"] = price.usd(prompt, completion)
    return Actual(len(outcomes), graded, totals, {role: (c, p, o) for role, (c, p, o) in roles.items()})


def compare(prediction: Prediction, actual: Actual) -> list[dict[str, Any]]:
    """Rows of predicted against actual totals; ``prediction`` must be of as many questions as the run finished.

    Returns
    -------
    list of dict
        ``quantity``, ``unit``, ``predicted``, ``range95``, ``actual``, ``percentile`` (in percent), ``inside``, ``why`` (of a miss).
    """
    rows = []
    for name, law in {**prediction.laws, **prediction.stop_laws()}.items():
        if name == "right" and actual.graded < actual.items:
            continue
        value = actual.totals.get(name, 0)
        low, high = law.quantile(0.025), law.quantile(0.975)
        inside = low - 1e-12 <= value <= high + 1e-12
        rows.append(
            {
                "quantity": name,
                "unit": law.unit,
                "predicted": law.mean,
                "range95": [low, high],
                "actual": value,
                "percentile": law.percentile(value),
                "inside": inside,
                "why": "" if inside else _why(name, prediction, actual),
            }
        )
    return rows


def _why(name: str, prediction: Prediction, actual: Actual) -> str:
    """Name what differs most between prediction and run, for a quantity that missed its range."""
    if name == "right":
        return "the questions are easier or harder than the population's"
    if name.startswith(("stopped", "ended", "rounds", "calls", "debate_calls")):
        return "agents agree, or signals fall, otherwise than in the population"
    parts = []
    predicted = prediction.result.provenance["tokens_by_role"]
    for role, (calls, prompt, completion) in actual.by_role.items():
        expected = predicted[role]
        if calls and expected["calls"] > 0:
            for kind, found in (("prompt", prompt / calls), ("completion", completion / calls)):
                mean = expected[f"{kind}_tokens"] / expected["calls"]
                money = name == "usd" or name == f"{kind}_tokens"
                parts.append((abs(found - mean) * calls * money, f"{role}: {found:.0f} {kind} tokens a call, predicted {mean:.0f}"))
    calls, expected_calls = actual.totals["calls"], prediction.laws["calls"].mean
    tokens = (actual.totals["prompt_tokens"] + actual.totals["completion_tokens"]) / max(calls, 1)
    parts.append((abs(calls - expected_calls) * tokens, f"{calls:.0f} calls, predicted {expected_calls:.1f}"))
    return max(parts)[1]
