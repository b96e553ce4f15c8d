r"""Give all but one of budget, accuracy, items and the design's parameters; get the missing one.

Between them stand two relations, both of the exact law: the design's accuracy, and the money of N items (:mod:`.totals`), whose law gives
P(within budget).

* ``accuracy``: of the design; with items also the central 95 % of the share that N items will show.
* ``budget``: the money that N items stay within at the asked confidence; interval: central 95 % of their money.
* ``items``: the largest N that stays within the budget at the asked confidence; interval: N at confidences 97.5 % and 2.5 %.
* a parameter (``tau_c``, ``epsilon``, ``rounds``, ``agents``, ``chains``, ``n``, ``threshold``, ...): every value of its lattice is
  tried. With a wanted accuracy the cheapest value that reaches it (within the budget, if one is given), otherwise the most accurate
  within the budget. Interval: the exact interval of a threshold, the values that do not change the answer of a count.

With a pilot, everything is repeated on resamples of its questions and the 95 % interval of the answer is reported beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..model import Estimate, InputError, ParameterError, Population, Protocol, StableConsensus
from ..model.exact import ExactLaw
from ..model.outcomes import Costs, Money, OutcomeSpace, standing_notes
from ..model.settings import valid_keys
from .axes import threshold_edges, with_threshold
from .families import Case, find_case, reasoning_case
from .saved import SavedResult, provenance
from .totals import Total

__all__ = ["Candidate", "Request", "Solution", "solve"]

Floats = npt.NDArray[np.float64]

_COUNT_RANGES = {
    "agents": (1, 8),
    "rounds": (1, 8),
    "chains": (1, 25),
    "n": (1, 101),
    "window": (1, 12),
    "threshold": (1, 11),
    "steps": (1, 20),
}
_THRESHOLDS = ("tau_c", "epsilon")


@dataclass(frozen=True)
class Request:
    """What is given.

    Parameters
    ----------
    find : str
        ``accuracy``, ``budget``, ``items``, or a parameter of the design.
    items : int or None
        Number of questions N.
    budget : float or None
        US dollars.
    accuracy : float or None
        Wanted accuracy.
    confidence : float
        Probability of staying within the budget that is asked for.
    """

    find: str
    items: int | None = None
    budget: float | None = None
    accuracy: float | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.items is not None and not 1 <= self.items <= 10**12:
            raise ParameterError("--items", self.items, "an integer from 1 to 10**12")
        if self.budget is not None and not (math.isfinite(self.budget) and self.budget > 0):
            raise ParameterError("--budget-usd", self.budget, "a positive number of US dollars")
        if self.accuracy is not None and not 0 < self.accuracy < 1:
            raise ParameterError("--accuracy", self.accuracy, "a share between 0 and 1")
        if not 0.5 <= self.confidence < 1:
            raise ParameterError("--confidence", self.confidence, "from 0.5 to below 1")
        if getattr(self, self.find, None) is not None and self.find in ("items", "budget", "accuracy"):
            raise ParameterError("--find", self.find, "what is not given")
        needs = {"budget": ("items",), "items": ("budget",)}.get(self.find, ())
        for name in needs:
            if getattr(self, name) is None:
                raise ParameterError(f"--{name}", None, f"a number (it is needed to find {self.find})")
        if self.find not in ("accuracy", "budget", "items"):
            if self.accuracy is None and self.budget is None:
                raise ParameterError("--accuracy, --budget-usd", None, f"at least one of them to find {self.find}")
            if self.budget is not None and self.items is None:
                raise ParameterError("--items", None, "the number of items that the budget is for")


@dataclass(frozen=True)
class Candidate:
    """One value of the missing parameter.

    Parameters
    ----------
    value : str
        The value, or the exact interval of a threshold.
    accuracy, usd : float
        Of the design: share of questions, US dollars a question.
    within_budget : float or None
        P(N items stay within the budget).
    meets : bool
        Whether it meets what was asked.
    """

    value: str
    accuracy: float
    usd: float
    within_budget: float | None
    meets: bool


@dataclass(frozen=True, kw_only=True)
class Solution(SavedResult):
    """The missing quantity.

    Parameters
    ----------
    protocol, population, find : str
        What was asked.
    answer : str or None
        The value as text; None where nothing meets what was asked.
    value : Estimate or None
        The value as a number with its interval, where it is one.
    interval : str
        What the interval means, and its ends, in words.
    pilot_interval : tuple of str
        2.5 and 97.5 % points of the answer over resamples of the pilot; empty without a pilot.
    accuracy, usd : float
        Of the design found: share of questions, US dollars a question.
    candidates : tuple of Candidate
        Everything that was tried.
    request : Request
        What was given.
    notes : tuple of str
        What a reader must know.
    provenance : mapping
        Version and parameters.
    """

    kind: ClassVar[str] = "solve"

    protocol: str
    population: str
    find: str
    answer: str | None
    value: Estimate | None
    interval: str
    pilot_interval: tuple[str, ...]
    accuracy: float
    usd: float
    candidates: tuple[Candidate, ...]
    request: Request
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    def to_records(self) -> list[dict[str, Any]]:
        """One row for each value that was tried; without any, the answer."""
        if self.candidates:
            return [
                {"value": c.value, "accuracy": c.accuracy, "usd": c.usd, "within_budget": c.within_budget, "meets": c.meets}
                for c in self.candidates
            ]
        value = self.value
        return [
            {
                "find": self.find,
                "answer": self.answer,
                "low": None if value is None else value.low,
                "high": None if value is None else value.high,
                "accuracy": self.accuracy,
                "usd": self.usd,
            }
        ]


@dataclass(frozen=True)
class _Design:
    """Accuracy and money of one design."""

    accuracy: float
    usd: float
    money: Money


def _case(protocol: str, population: str | Population | None, settings: Mapping[str, str], prices: Path | None, model: str | None) -> Case:
    if isinstance(population, Population):
        return reasoning_case(protocol, population, settings, prices, model)
    return find_case(protocol, population, settings, prices, model)


def exact_law(case: Case) -> ExactLaw:
    """Prepare the exact law; only reasoning protocols have one here."""
    if not isinstance(case.protocol, Protocol):
        raise ParameterError("protocol", case.protocol.name, "a reasoning protocol", "For judges use plan with a judge pilot.")
    return ExactLaw(case.protocol, case.population)


def _design(case: Case, masses: Floats) -> _Design:
    space = OutcomeSpace(case.protocol)
    probability = masses.ravel() / masses.sum()
    assert case.pricing is not None
    costs = Costs(space, case.population)
    right = space.coordinates[5] == 1
    money = Money.of(costs, probability, case.pricing.price)
    return _Design(float(probability[right].sum()), money.expected, money)


def solve(
    protocol: str,
    request: Request,
    population: str | Population | None = None,
    settings: Mapping[str, str] | None = None,
    *,
    prices: Path | None = None,
    model: str | None = None,
    resample: Callable[[np.random.Generator], Population] | None = None,
    draws: int = 50,
    seed: int = 0,
) -> Solution:
    """Find what is missing.

    Parameters
    ----------
    protocol : str
        Name of a preset.
    request : Request
        What is given and what is wanted.
    population, settings, prices, model
        As for one simulation.
    resample : callable, optional
        Population fitted to a resample of a pilot; adds ``pilot_interval``.
    draws, seed : int
        Resamples and their seed.

    Raises
    ------
    ParameterError
        If the request asks for something that means nothing here.
    """
    fixed = dict(settings or {})
    case = _case(protocol, population, fixed, prices, model)
    found = _solve_once(case, request, _varied(protocol, population, fixed, prices, model))
    over_pilot: tuple[str, ...] = ()
    if resample is not None:
        rng = np.random.default_rng(seed)
        values = []
        for _ in range(draws):
            law = resample(rng)
            here = _case(protocol, law, fixed, prices, model)
            values.append(_solve_once(here, request, _varied(protocol, law, fixed, prices, model)))
        over_pilot = _spread(values)
    return replace(
        found,
        pilot_interval=over_pilot,
        provenance=provenance(
            command="solve",
            protocol=case.protocol.to_dict(),
            population=case.population.to_dict(),
            settings=fixed,
            prices=case.pricing.to_dict() if case.pricing else None,
            draws=draws if resample else None,
            seed=seed if resample else None,
        ),
    )


def _varied(
    protocol: str, population: str | Population | None, fixed: Mapping[str, str], prices: Path | None, model: str | None
) -> Callable[[Mapping[str, str]], Case]:
    return lambda extra: _case(protocol, population, {**fixed, **extra}, prices, model)


def _spread(solutions: Sequence[Solution]) -> tuple[str, ...]:
    """2.5 and 97.5 % points of the answers; of answers that are words, all that came with their shares."""
    numbers = [s.value.mean for s in solutions if s.value is not None]
    if len(numbers) == len(solutions):
        return tuple(f"{x:.6g}" for x in np.quantile(numbers, [0.025, 0.975], method="inverted_cdf"))
    words = [s.answer or "none" for s in solutions]
    return tuple(f"{word}: {words.count(word) / len(words):.0%}" for word in sorted(set(words), key=words.count, reverse=True))


def _solve_once(case: Case, request: Request, vary: Callable[[Mapping[str, str]], Case]) -> Solution:
    if request.find == "accuracy":
        return _find_accuracy(case, request)
    if request.find == "budget":
        return _find_budget(case, request)
    if request.find == "items":
        return _find_items(case, request)
    return _find_parameter(case, request, vary)


def _solution(case: Case, request: Request, design: _Design | None, **found: Any) -> Solution:
    values: dict[str, Any] = {"answer": None, "value": None, "interval": "", "candidates": ()}
    return Solution(
        protocol=case.protocol.name,
        population=case.population.name,
        find=request.find,
        pilot_interval=(),
        accuracy=math.nan if design is None else design.accuracy,
        usd=math.nan if design is None else design.usd,
        request=request,
        notes=caveats(case),
        provenance={},
        **{**values, **found},
    )


def caveats(case: Case) -> tuple[str, ...]:
    """Return what a reader must know about a case, its prices among it."""
    prices = case.pricing.to_dict() if case.pricing else {}
    money = f"Money at prices of {prices['model']}, {prices['list']}, as of {prices['as_of']}." if prices else ""
    return (*standing_notes(case.protocol, case.population), *([money] if money else []))


def _find_accuracy(case: Case, request: Request) -> Solution:
    design = _design(case, exact_law(case).masses())
    a = design.accuracy
    if request.items is None:
        return _solution(case, request, design, answer=f"{a:.6g}", value=Estimate(a, a, a), interval="exact (expected accuracy)")
    from scipy.stats import binom

    low, high = (float(binom.ppf(level, request.items, a)) / request.items for level in (0.025, 0.975))
    words = f"central 95 % of the share right among {request.items:,} items"
    return _solution(case, request, design, answer=f"{a:.6g}", value=Estimate(a, min(low, a), max(high, a)), interval=words)


def _find_budget(case: Case, request: Request) -> Solution:
    assert request.items is not None
    design = _design(case, exact_law(case).masses())
    total = Total.of(design.money, request.items)
    need = total.quantile(request.confidence)
    ends = total.quantile(0.025), total.quantile(0.975)
    words = (
        f"enough with probability {request.confidence:g}; mean {total.mean:.4g}, worst case {total.worst:.4g} US$; interval: central 95 %"
    )
    return _solution(
        case, request, design, answer=f"{need:.6g}", value=Estimate(need, min(ends[0], need), max(ends[1], need)), interval=words
    )


def _find_items(case: Case, request: Request) -> Solution:
    assert request.budget is not None
    design = _design(case, exact_law(case).masses())
    levels = (request.confidence, 0.975, 0.025)
    value, low, high = (_most_items(design.money, request.budget, level) for level in levels)
    if value == 0:
        return _solution(
            case, request, design, interval=f"not even one question stays within {request.budget:g} US$ at {request.confidence:.1%}"
        )
    words = (
        f"largest N that stays within {request.budget:g} US$ with probability {request.confidence:g}; interval: N at 97.5 % and at 2.5 %"
    )
    return _solution(case, request, design, answer=str(value), value=Estimate(value, min(low, value), max(high, value)), interval=words)


def _most_items(money: Money, budget: float, level: float) -> int:
    """Largest N with P(money of N items <= budget) >= level."""
    if money.expected == 0:
        raise InputError("a question costs nothing at these prices, so no budget limits the items.")

    def fits(n: int) -> bool:
        return Total.of(money, n).cdf(budget) >= level

    if not fits(1):
        return 0
    low, high = 1, 2
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _find_parameter(case: Case, request: Request, vary: Callable[[Mapping[str, str]], Case]) -> Solution:
    name = request.find
    exact_law(case)
    if name not in valid_keys(case.protocol, case.population):
        choices = [k for k in valid_keys(case.protocol, case.population) if k in _THRESHOLDS or k.rpartition(".")[2] in _COUNT_RANGES]
        raise ParameterError("--find", name, "accuracy, budget, items, " + ", ".join(choices))
    designs = list(_threshold_designs(case, name) if name in _THRESHOLDS else _count_designs(name, vary))
    candidates = [_candidate(value, design, request) for value, design in designs]
    meeting = [k for k, c in enumerate(candidates) if c.meets]
    if not meeting:
        best = max(candidates, key=lambda c: c.accuracy)
        words = f"no value meets it; the most accurate, {name} = {best.value}, reaches {best.accuracy:.4f}"
        return _solution(case, request, None, interval=words, candidates=tuple(candidates))
    if request.accuracy is not None:
        chosen = min(meeting, key=lambda k: (candidates[k].usd, -candidates[k].accuracy))
    else:
        chosen = max(meeting, key=lambda k: (candidates[k].accuracy, -candidates[k].usd))
    value, design = designs[chosen]
    number = None
    words = f"{name} anywhere in {value} is one and the same rule"
    if name not in _THRESHOLDS:
        low, high = _run(meeting, chosen)
        number = Estimate(float(value), float(designs[low][0]), float(designs[high][0]))
        words = f"{designs[low][0]} to {designs[high][0]} all meet what was asked" if low != high else "no neighbouring value meets it"
    return _solution(case, request, design, answer=value, value=number, interval=words, candidates=tuple(candidates))


def _run(meeting: Sequence[int], chosen: int) -> tuple[int, int]:
    """Return the ends of the run of neighbouring positions around the chosen one."""
    held = set(meeting)
    low = high = chosen
    while low - 1 in held:
        low -= 1
    while high + 1 in held:
        high += 1
    return low, high


def _candidate(value: str, design: _Design, request: Request) -> Candidate:
    within = None
    if request.budget is not None and request.items is not None:
        within = Total.of(design.money, request.items).cdf(request.budget)
    meets = (request.accuracy is None or design.accuracy >= request.accuracy) and (within is None or within >= request.confidence)
    return Candidate(value, design.accuracy, design.usd, within, meets)


def _threshold_designs(case: Case, name: str) -> Sequence[tuple[str, _Design]]:
    """One design for each interval of a threshold, on one prepared law."""
    law, rule = exact_law(case), case.protocol.round_stop
    assert isinstance(rule, StableConsensus)
    chains = case.protocol.chains if case.protocol.inherits and rule.first_share == "chains" else None
    intervals = threshold_edges([t.agents for t in case.protocol.tiers], chains)[0 if name == "tau_c" else 1]
    found = []
    for interval in intervals:
        at = interval.high if interval.high_closed else interval.low
        found.append((str(interval), _design(case, law.masses(with_threshold(rule, name, at)))))
    return found


def _count_designs(name: str, vary: Callable[[Mapping[str, str]], Case]) -> Sequence[tuple[str, _Design]]:
    low, high = _COUNT_RANGES.get(name.rpartition(".")[2], (0, 0))
    if high == 0:
        raise ParameterError("--find", name, "accuracy, budget, items, tau_c, epsilon, or a number such as chains, agents, rounds, n")
    found = []
    for value in range(low, high + 1):
        case = vary({name: str(value)})
        found.append((str(value), _design(case, exact_law(case).masses())))
    return found
