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

from ..live.money import usd
from ..model import Protocol, judging
from ..model import exact as exact_law
from ..model.cost import Price
from ..model.judging.cost import JudgingCosts
from ..model.judging.outcomes import JUDGING_REASONS, money_of
from ..model.outcomes import REASONS, Costs, Money, OutcomeSpace
from .families import Case
from .totals import Total

__all__ = ["Actual", "Prediction", "actual_of", "compare"]

Floats = npt.NDArray[np.float64]

Ints = npt.NDArray[np.int64]

_PER_TOKEN = 1e6
"""Price of a million tokens that makes "money" count tokens."""

_DEBATING = frozenset({"debater", "advocate", "agent"})
"""Roles that there are only in a debate."""

_NO_SPREAD = " (a population has means of prompt tokens, no spread)"

_ALONE = frozenset({"solver", "synthesiser", "juror"})
"""Roles whose calls are none of a debate's rounds."""


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
    one: Floats = np.bincount(values, weights=probability).astype(np.float64)
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
    from scipy.signal import fftconvolve  # slow to import

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


@dataclass(frozen=True)
class _Paths:
    """What can happen to one question and what it costs; arrays of shape (paths,)."""

    probability: Floats
    calls: Ints
    debate_calls: Ints
    rounds: Ints
    reason: npt.NDArray[np.str_]
    money: Callable[[Price], Money]


def _reasoning_paths(case: Case) -> _Paths:
    space = OutcomeSpace(case.protocol)
    costs = Costs(space, case.population)
    masses = exact_law.evaluate(case.protocol, case.population).ravel()
    _, _, rounds, reason, _, _ = space.coordinates
    names = np.array([str(reason) for reason in REASONS])
    return _Paths(masses, costs.calls, costs.debate_calls, rounds, names[reason], lambda price: Money.of(costs, masses, price))


def _judging_paths(case: Case) -> _Paths:
    costs = JudgingCosts(case.protocol, case.population)
    masses = np.asarray(judging.evaluate_judging(case.protocol, case.population).masses, dtype=float).sum(axis=(0, 1))
    held = masses.sum(axis=1)
    tokens = case.population.tokens
    variance = sum(line.calls * (tokens.spread * line.mean) ** 2 for line in costs.lines)

    def money(price: Price) -> Money:
        assert case.pricing is not None
        if price == case.pricing.price:
            return money_of(costs, held, case.pricing)
        some = held > 0
        prompt, completion = price.prompt_usd_per_million / _PER_TOKEN, price.completion_usd_per_million / _PER_TOKEN
        worst = prompt * sum(line.worst_prompt for line in costs.lines) + completion * costs.calls * tokens.max_completion
        mean = prompt * costs.prompt_tokens + completion * costs.completion_tokens
        return Money(held[some], mean[some], (completion**2 * variance)[some], float(worst[some].max()))

    rounds, reason = (part.ravel() for part in np.indices(masses.shape))
    names = np.array([str(reason) for reason in JUDGING_REASONS])
    return _Paths(masses.ravel(), costs.calls[rounds], costs.debate_calls[rounds], rounds, names[reason], money)


class Prediction:
    """What the exact law says of N questions or items.

    Parameters
    ----------
    case : Case
        Protocol, population and price, of either family.
    items : int
        Number of questions or items.
    """

    def __init__(self, case: Case, items: int) -> None:
        assert case.pricing is not None
        self.case, self.items, self.pricing = case, items, case.pricing
        self.result = case.exact()
        self._paths = _reasoning_paths(case) if isinstance(case.protocol, Protocol) else _judging_paths(case)

    @property
    def accuracy(self) -> float:
        """Expected share of right answers; of verdicts that are the label, where items are judged."""
        estimate = self.result.means.get("accuracy_three_class") or self.result.mean("accuracy")
        return estimate.mean

    @cached_property
    def laws(self) -> dict[str, Law]:
        """Law of each total by its name."""
        from scipy.stats import binom  # slow to import

        paths, accuracy = self._paths, self.accuracy
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
            ("calls", paths.calls, "calls"),
            ("debate_calls", paths.debate_calls, "calls"),
            ("rounds", paths.rounds, "rounds"),
        ):
            laws[name] = _integer_law(values, paths.probability, self.items, unit)
        for name, price in (("prompt_tokens", Price("", _PER_TOKEN, 0.0)), ("completion_tokens", Price("", 0.0, _PER_TOKEN))):
            laws[name] = _total_law(Total.of(paths.money(price), self.items), "tokens")
        laws["usd"] = _total_law(Total.of(paths.money(self.pricing.price), self.items), "US$")
        return laws

    def stop_laws(self) -> dict[str, Law]:
        """Law of the number of questions by why they stopped and by the round in which they did."""
        paths = self._paths
        groups = {f"stopped: {reason}": paths.reason == reason for reason in dict.fromkeys(paths.reason)}
        if self.case.protocol.most_rounds > 1:
            groups |= {f"ended after round {held}": paths.rounds == held for held in range(self.case.protocol.most_rounds + 1)}
        return {
            name: _integer_law(where.astype(np.int64), paths.probability, self.items, "questions")
            for name, where in groups.items()
            if paths.probability[where].sum() > 0
        }

    def to_json(self) -> dict[str, Any]:
        """For the ledger, before anything is sent."""
        return {
            "items": self.items,
            "population": self.case.population.name,
            "prices": self.pricing.to_dict(),
            "accuracy": self.accuracy,
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


def actual_of(outcomes: Sequence[Mapping[str, Any]]) -> Actual:
    """Add up the audit trails of a run's outcomes."""
    roles: dict[str, list[int]] = {}
    totals: dict[str, float] = {"right": 0, "rounds": 0}
    graded = 0
    for outcome in outcomes:
        audit = outcome["audit"]
        for role, parts in audit["by_role"].items():
            roles[role] = [old + new for old, new in zip(roles.get(role, [0, 0, 0, 0]), parts, strict=True)]
        totals["rounds"] += audit["rounds_held"]
        for name in (f"stopped: {audit['stop_reason']}", f"ended after round {audit['rounds_held']}"):
            totals[name] = totals.get(name, 0) + 1
        if outcome["correct"] is not None:
            graded += 1
            totals["right"] += outcome["correct"]
    calls, prompt, completion, pico = (sum(column) for column in zip(*roles.values(), strict=True))
    debated = sum(parts[0] for role, parts in roles.items() if role not in _ALONE) if _DEBATING & set(roles) else 0
    totals |= {"calls": calls, "debate_calls": debated, "prompt_tokens": prompt, "completion_tokens": completion}
    totals["usd"] = usd(pico)
    return Actual(len(outcomes), graded, totals, {role: (c, p, o) for role, (c, p, o, _) in roles.items()})


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
                "why": "" if inside else _why(name, prediction, actual) + (_NO_SPREAD if low == high and law.unit == "tokens" else ""),
            }
        )
    return rows


def _why(name: str, prediction: Prediction, actual: Actual) -> str:
    """Name what differs most between prediction and run, for a quantity that missed its range."""
    if name == "right":
        return "the questions are easier or harder than the population's"
    if name.startswith(("stopped", "ended", "rounds", "calls", "debate_calls")):
        again = "" if isinstance(prediction.case.protocol, Protocol) else "; replies that cannot be read are asked for once more"
        return f"agents agree, or signals and gaps fall, otherwise than in the population{again}"
    parts = []
    predicted = prediction.result.provenance["tokens_by_role"]
    for role, (calls, prompt, completion) in actual.by_role.items():
        expected = predicted.get(role)
        if calls and expected and expected["calls"] > 0:
            for kind, found in (("prompt", prompt / calls), ("completion", completion / calls)):
                mean = expected[f"{kind}_tokens"] / expected["calls"]
                money = name == "usd" or name == f"{kind}_tokens"
                parts.append((abs(found - mean) * calls * money, f"{role}: {found:.1f} {kind} tokens a call, predicted {mean:.1f}"))
    made, expected_calls = actual.totals["calls"], prediction.laws["calls"].mean
    tokens = (actual.totals["prompt_tokens"] + actual.totals["completion_tokens"]) / max(made, 1)
    parts.append((abs(made - expected_calls) * tokens, f"{made:.0f} calls, predicted {expected_calls:.1f}"))
    return max(parts)[1]
