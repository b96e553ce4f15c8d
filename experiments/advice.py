r"""From a study of designs to advice: what to run, how sure that is, and what would flip it. The same for reasoning and for judging.

1. A design is affordable where P(total money > budget) <= risk over the draws; the choice is that of :mod:`.choosing`.
2. How sure: the same choice made on each draw alone gives the share of draws that each design wins. The paired difference to the
   strongest rival (the design that most draws prefer besides the chosen one) gives the number of pilot items that would tell the two
   apart: the standard error of a difference falls with the square root of the number of items, so n items with standard deviation s over
   the bootstrap need n (1.96 s / difference)^2 in all.
3. What would flip the choice: other budgets here; what else belongs to the family is tried by its own planner.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any

import numpy as np
import numpy.typing as npt

from ..model import BudgetRefusedError, Estimate, Pricing
from ..model.result import Z95
from .choosing import Request, choose
from .study import LEAST_RESAMPLED, Candidate, Study

__all__ = ["Conditional", "Outlook", "Pilot", "Plan", "advise"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

BUDGET_FACTORS = (0.1, 0.25, 0.5, 2.0, 4.0, 10.0)
_UNITS = {"reasoning": "question", "judging": "item"}


@dataclass(frozen=True)
class Pilot:
    """A pilot log, fitted.

    Parameters
    ----------
    name : str
        File or name.
    questions : int
        Number of questions (items, for judges).
    population : Population or JudgingPopulation
        Fit to all of them.
    resample : callable
        (generator) to the fit to a bootstrap resample of the questions.
    notes : tuple of str
        What the fit says that a reader of the plan must know.
    """

    name: str
    questions: int
    population: Any
    resample: Callable[[np.random.Generator], Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outlook:
    """What to expect of one design.

    Parameters
    ----------
    design : Candidate
        The design.
    accuracy : Estimate
        Expected accuracy (share) with the interval over the draws.
    robust_accuracy : float
        What the choice counted: the same, or the worst over a sweep of what no pilot can say.
    calls : float
        Expected calls of a question.
    usd_per_question : float
        Expected money of a question, US dollars.
    usd_mean, usd_p95, usd_worst : float
        Total money, US dollars: expected, 95 % quantile over the draws, largest possible.
    p_over_budget : float
        P(total > budget).
    wins : float
        Share of the draws that choose this design.
    """

    design: Candidate
    accuracy: Estimate
    robust_accuracy: float
    calls: float
    usd_per_question: float
    usd_mean: float
    usd_p95: float
    usd_worst: float
    p_over_budget: float
    wins: float

    def to_json(self) -> dict[str, Any]:
        """With its protocol, so that it can be run."""
        return {
            "design": self.design.name,
            "accuracy": self.accuracy.to_json(),
            "robust_accuracy": self.robust_accuracy,
            "calls": self.calls,
            "usd_per_question": self.usd_per_question,
            "usd_total": {"mean": self.usd_mean, "p95": self.usd_p95, "worst_case": self.usd_worst},
            "p_over_budget": self.p_over_budget,
            "bootstrap_wins": self.wins,
            "rests_on": self.design.rests_on(),
            "protocol": self.design.protocol.to_dict(),
        }


@dataclass(frozen=True)
class Conditional:
    """The best swept design, over what no pilot can say.

    Parameters
    ----------
    parameter : str
        Key of the swept parameter in the rows.
    says : str
        The dependence, for a person.
    rows : list of mapping
        ``design``, the parameter, ``accuracy`` and, where they depend on it, calls and money.
    """

    parameter: str
    says: str
    rows: list[Mapping[str, Any]]


@dataclass(frozen=True)
class Plan:
    """The advice.

    Parameters
    ----------
    family : {"reasoning", "judging"}
        Of the pilot and the designs.
    pilot, request, pricing
        What it was made from.
    outlooks : list of Outlook
        All designs, cheapest first.
    recommendation : Outlook
        What to run.
    frontier : list of Outlook
        Designs that no other beats in accuracy and money together, cheapest first.
    kinds : tuple of str
        Kinds of designs.
    target_met : bool or None
        Whether the recommendation is expected to reach the target accuracy.
    p_target : float or None
        P(expected accuracy >= target) over the draws.
    rival : mapping or None
        The strongest rival, the paired difference, and the pilot questions that would tell the two apart.
    flips : list of mapping
        Changes that would change the choice.
    conditional : Conditional
        What depends on what no pilot can say.
    panels : list of mapping
        Accuracy of panels of the pilot's judges by size: predicted, and the log's own. Empty for reasoning.
    notes : tuple of str
        What the numbers rest on.
    """

    family: str
    pilot: Pilot
    request: Request
    pricing: Pricing
    outlooks: list[Outlook]
    recommendation: Outlook
    frontier: list[Outlook]
    kinds: tuple[str, ...]
    target_met: bool | None
    p_target: float | None
    rival: Mapping[str, Any] | None
    flips: list[Mapping[str, Any]]
    conditional: Conditional
    panels: list[Mapping[str, Any]]
    notes: tuple[str, ...]

    @property
    def unit(self) -> str:
        """What is answered or judged."""
        return _UNITS[self.family]

    @property
    def one_unit(self) -> str:
        """The same with its article."""
        return f"{'an' if self.unit == 'item' else 'a'} {self.unit}"

    def to_json(self) -> dict[str, Any]:
        """One object with the documented keys."""
        request = self.request
        return {
            "family": self.family,
            "pilot": {"name": self.pilot.name, "questions": self.pilot.questions},
            "population": self.pilot.population.name,
            "items": request.items,
            "budget_usd": request.budget_usd,
            "target_accuracy": request.target_accuracy,
            "target_met": self.target_met,
            "p_target": self.p_target,
            "recommendation": self.recommendation.to_json(),
            "p_over_budget": self.recommendation.p_over_budget,
            "frontier": [outlook.to_json() for outlook in self.frontier],
            "bootstrap_wins": {o.design.name: o.wins for o in sorted(self.outlooks, key=lambda o: -o.wins) if o.wins > 0},
            "bootstrap_wins_by_kind": self.wins_by_kind(),
            "rival": self.rival,
            "flips": list(self.flips),
            f"conditional_on_{self.conditional.parameter}": list(self.conditional.rows),
            **({"panels": list(self.panels)} if self.panels else {}),
            "designs": [outlook.to_json() for outlook in self.outlooks],
            "notes": list(self.notes),
            "provenance": {
                "version": metadata.version("adjourn"),
                "engine": "exact",
                "seed": request.seed,
                "draws": request.draws,
                "risk": request.risk,
                "tolerance": request.tolerance,
                "confidence": request.confidence,
                "prices": self.pricing.to_dict(),
                "population": self.pilot.population.to_dict(),
            },
        }

    def wins_by_kind(self) -> dict[str, float]:
        """Share of the draws that choose a design of each kind."""
        return {kind: math.fsum(o.wins for o in self.outlooks if o.design.kind == kind) for kind in self.kinds}

    def to_records(self) -> list[dict[str, Any]]:
        """Rows, one a design: one call turns them into a data frame."""
        return [
            {
                "design": o.design.name,
                "accuracy": o.accuracy.mean,
                "accuracy_low": o.accuracy.low,
                "accuracy_high": o.accuracy.high,
                "calls": o.calls,
                "usd_per_question": o.usd_per_question,
                "usd_total_mean": o.usd_mean,
                "usd_total_p95": o.usd_p95,
                "usd_total_worst": o.usd_worst,
                "p_over_budget": o.p_over_budget,
                "bootstrap_wins": o.wins,
                "on_frontier": o in self.frontier,
            }
            for o in self.outlooks
        ]


def advise(
    study: Study,
    pilot: Pilot,
    request: Request,
    pricing: Pricing,
    *,
    family: str,
    kinds: tuple[str, ...],
    conditional: Conditional,
    flips: Callable[[int, Bools], list[Mapping[str, Any]]],
    notes: Callable[[Any], Sequence[str]],
    panels: Sequence[Mapping[str, Any]] = (),
) -> Plan:
    """Choose a design of a study.

    Parameters
    ----------
    study : Study
        Accuracy and money of the menu over the draws.
    pilot, request, pricing
        What is wanted, and from what.
    family, kinds, conditional, panels
        As in :class:`Plan`.
    flips : callable
        (chosen, affordable) to the family's own flips, beside those of the budget.
    notes : callable
        (chosen design) to the family's own notes.

    Returns
    -------
    Plan

    Raises
    ------
    BudgetRefusedError
        If not even the cheapest design is affordable.
    """
    p_over = study.p_over(request.budget_usd)
    affordable = p_over <= request.risk
    unit = f"{_UNITS[family]}s"
    if not affordable.any():
        raise BudgetRefusedError(_unaffordable(study, p_over, request, unit))
    chosen, target_met = choose(study.robust, study.usd(), affordable, request)
    wins = _wins(study, request)
    outlooks = [_outlook(study, d, p_over[d], wins[d]) for d in range(len(study.designs))]
    cheapest_first = sorted(outlooks, key=lambda o: (o.usd_per_question, -o.accuracy.mean))
    p_target = None
    if request.target_accuracy is not None:
        p_target = float((study.robust[1:, chosen] >= request.target_accuracy).mean())
    return Plan(
        family=family,
        pilot=pilot,
        request=request,
        pricing=pricing,
        outlooks=cheapest_first,
        recommendation=outlooks[chosen],
        frontier=_frontier(cheapest_first),
        kinds=kinds,
        target_met=target_met,
        p_target=p_target,
        rival=_rival(study, chosen, wins, affordable, pilot.questions, request.tolerance),
        flips=[*_budget_flips(study, chosen, request), *flips(chosen, affordable)],
        conditional=conditional,
        panels=list(panels),
        notes=(*pilot.notes, *notes(study.designs[chosen]), *_common_notes(pilot, request, unit)),
    )


def _wins(study: Study, request: Request) -> Floats:
    """Share of the draws that choose each design, each draw by its own accuracy and money."""
    wins = np.zeros(len(study.designs))
    for b in range(1, study.draws + 1):
        totals = study.totals_of_draw(b)
        affordable = np.array([1.0 - total.cdf(request.budget_usd) <= request.risk for total in totals])
        if affordable.any():
            usd = np.array([total.mean for total in totals])
            wins[choose(study.robust[b : b + 1], usd, affordable, request)[0]] += 1
    return wins / max(study.draws, 1)


def _outlook(study: Study, d: int, p_over: float, wins: float) -> Outlook:
    money = study.money[d]
    return Outlook(
        design=study.designs[d],
        accuracy=Estimate(float(study.accuracy[0, d]), *study.interval(d)),
        robust_accuracy=float(study.robust[0, d]),
        calls=float(study.calls[d]),
        usd_per_question=money.expected,
        usd_mean=study.items * money.expected,
        usd_p95=study.quantile(d, 0.95),
        usd_worst=study.items * money.worst,
        p_over_budget=float(p_over),
        wins=float(wins),
    )


def _frontier(outlooks: Sequence[Outlook]) -> list[Outlook]:
    """Designs that no cheaper one equals in the accuracy that counts."""
    frontier: list[Outlook] = []
    for outlook in outlooks:
        if not frontier or outlook.robust_accuracy > frontier[-1].robust_accuracy + 1e-12:
            frontier.append(outlook)
    return frontier


def _unaffordable(study: Study, p_over: Floats, request: Request, unit: str) -> str:
    d = int(np.argmin(study.usd()))
    needed = study.quantile(d, 1 - request.risk)
    return (
        f"no design stays within {request.budget_usd:g} US$ for {request.items:,} {unit}: the cheapest, {study.designs[d].name}, "
        f"costs {study.items * study.usd()[d]:.4g} US$ on average and passes the budget with probability {p_over[d]:.2f}. "
        f"Give at least {needed:.4g} US$, or fewer {unit}. Nothing was spent."
    )


def _rival(study: Study, chosen: int, wins: Floats, affordable: Bools, questions: int, tolerance: float) -> Mapping[str, Any] | None:
    """Find the design that most draws prefer besides the chosen one, and what would tell the two apart."""
    others = [d for d in range(len(study.designs)) if d != chosen and (wins[d] > 0 or affordable[d])]
    if not others or study.draws < 2:
        return None
    d = max(others, key=lambda k: (wins[k], study.accuracy[0, k]))
    gap, low, high, sd = study.difference(d, chosen)
    more = None
    if not low <= 0 <= high:
        more = 0
    elif abs(gap) > tolerance and sd > 0:
        more = max(0, math.ceil(questions * (Z95 * sd / gap) ** 2) - questions)
    return {
        "design": study.designs[d].name,
        "wins": float(wins[d]),
        "accuracy_difference": {"mean": gap, "ci95": [low, high]},
        "usd_difference_per_question": float(study.usd()[d] - study.usd()[chosen]),
        "more_pilot_questions": more,
        "practically_equal": bool(abs(gap) <= tolerance),
    }


def _budget_flips(study: Study, chosen: int, request: Request) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for factor in BUDGET_FACTORS:
        budget = request.budget_usd * factor
        affordable = study.p_over(budget) <= request.risk
        flip: dict[str, Any] = {"what": "budget", "value": budget, "unit": "US$", "choice": None}
        if affordable.any():
            d, _ = choose(study.robust, study.usd(), affordable, replace(request, budget_usd=budget))
            flip |= {"choice": study.designs[d].name, "accuracy": float(study.robust[0, d])}
        if flip["choice"] != study.designs[chosen].name:
            found.append(flip)
    return found


def _common_notes(pilot: Pilot, request: Request, unit: str) -> list[str]:
    notes = []
    if "tokens" in pilot.population.borrowed:
        notes.append(f"Tokens of a call are borrowed ({pilot.population.borrowed['tokens']}): money is only as good as they are.")
    if pilot.questions < LEAST_RESAMPLED:
        notes.append(
            f"Fewer than {LEAST_RESAMPLED} pilot {unit} cannot say how sure anything is: accuracy intervals are left at 0 to 100 %, "
            "and the shares of resampled pilots mean little."
        )
        return notes
    notes.append(
        f"Accuracy intervals carry the pilot's {pilot.questions:,} {unit} ({request.draws} bootstrap draws), "
        f"not the luck of the {request.items:,} {unit} to come."
    )
    return notes
