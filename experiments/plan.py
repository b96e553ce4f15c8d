r"""What to run (the main job): from a pilot log and a budget to a design, its accuracy and cost, and how sure that is.

1. The population is fitted to the pilot, and again to each bootstrap resample of its questions (:mod:`.study`).
2. Every design of the menu (:mod:`.designs`) is evaluated by the exact law on every draw.
3. A design is *affordable* where P(total money > budget) <= risk over the draws. A dearer design is chosen over a cheaper one only for a
   gain in accuracy that is larger than a tolerance and likely over the draws (:mod:`.choosing`). A design whose law rests on step
   signals, which no pilot of answers holds, counts with its worst accuracy over a sweep of the signals' AUROC, from 0.5 (uninformative).
4. How sure: the same choice made on each draw alone gives the share of draws that each design wins; the paired difference to the
   strongest rival gives the number of pilot questions that would tell the two apart (the standard error of a difference falls with the
   square root of the number of questions).
5. What would flip the choice: another budget, truth's advantage lambda, the signals' AUROC.

With a target accuracy the cheapest affordable design that is expected to reach it is recommended instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import numpy as np
import numpy.typing as npt

from ..model import BudgetRefusedError, Estimate, Population, Pricing
from .choosing import AUROCS, Request, choose, find_flips
from .designs import Design, menu
from .study import Study, assess, draw_responses, with_auroc

__all__ = ["DesignOutlook", "Pilot", "Plan", "make_plan"]

Floats = npt.NDArray[np.float64]

_Z95 = 1.959963984540054


@dataclass(frozen=True)
class Pilot:
    """A pilot log, fitted.

    Parameters
    ----------
    name : str
        File or name.
    questions : int
        Number of questions.
    population : Population
        Fit to all of them.
    resample : callable
        (generator) to the fit to a bootstrap resample of the questions.
    answers : int
        Most independent answers to one question; 0 where that means nothing.
    notes : tuple of str
        What the fit says that a reader of the plan must know.
    """

    name: str
    questions: int
    population: Population
    resample: Callable[[np.random.Generator], Population]
    answers: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class DesignOutlook:
    """What to expect of one design.

    Parameters
    ----------
    design : Design
        The design.
    accuracy : Estimate
        Expected accuracy with the interval over the draws.
    robust_accuracy : float
        What the choice counted: the same, or the worst over the AUROC sweep.
    calls : float
        Expected calls of a question.
    usd_per_question : float
        Expected money of a question.
    usd_mean, usd_p95, usd_worst : float
        Total money: expected, 95 % quantile over the draws, largest possible.
    p_over_budget : float
        P(total > budget).
    wins : float
        Share of the draws that choose this design.
    """

    design: Design
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
            "rests_on": rests_on(self.design),
            "protocol": self.design.protocol.to_dict(),
        }


def rests_on(design: Design) -> list[str]:
    """List what a design's law needs."""
    needs = {"responses": design.responses, "step signals": design.signals, "stated confidence": design.confidence}
    return ["independent answers", *(name for name, needed in needs.items() if needed)]


@dataclass(frozen=True)
class Plan:
    """The advice.

    Parameters
    ----------
    pilot, request, pricing
        What it was made from.
    outlooks : list of DesignOutlook
        All designs, cheapest first.
    recommendation : DesignOutlook
        What to run.
    frontier : list of DesignOutlook
        Designs that no other beats in accuracy and money together, cheapest first.
    target_met : bool or None
        Whether the recommendation is expected to reach the target accuracy.
    p_target : float or None
        P(expected accuracy >= target) over the draws.
    rival : mapping or None
        The strongest rival, the paired difference, and the pilot questions that would tell the two apart.
    flips : list of mapping
        Changes that would change the choice.
    conditional : list of mapping
        The best UAAD design over the AUROC sweep.
    notes : tuple of str
        What the numbers rest on.
    """

    pilot: Pilot
    request: Request
    pricing: Pricing
    outlooks: list[DesignOutlook]
    recommendation: DesignOutlook
    frontier: list[DesignOutlook]
    target_met: bool | None
    p_target: float | None
    rival: Mapping[str, Any] | None
    flips: list[Mapping[str, Any]]
    conditional: list[Mapping[str, Any]]
    notes: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """One object with the documented keys."""
        request = self.request
        return {
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
            "conditional_on_auroc": list(self.conditional),
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
        """Share of the draws that choose a design with and without debate."""
        debate = sum(o.wins for o in self.outlooks if o.design.responses)
        return {"sampling and voting": sum(o.wins for o in self.outlooks) - debate, "debate": debate}

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


def make_plan(pilot: Pilot, request: Request, pricing: Pricing, advance: Callable[[int], None] = lambda steps: None) -> Plan:
    """Choose a design.

    Parameters
    ----------
    pilot : Pilot
        The fitted pilot.
    request : Request
        Items, budget, target.
    pricing : Pricing
        Price of the calls.
    advance : callable
        Called with 1 after each draw.

    Returns
    -------
    Plan

    Raises
    ------
    BudgetRefusedError
        If not even the cheapest design is affordable.
    """
    designs = menu(pilot.population)
    study = Study.run(designs, _draws(pilot, request), pricing.price, request.items, advance)
    robust, conditional = _robust_accuracy(study, pilot, pricing)
    p_over = np.array([study.p_over(d, request.budget_usd) for d in range(len(designs))])
    affordable = p_over <= request.risk
    if not affordable.any():
        raise BudgetRefusedError(_unaffordable(study, p_over, request))
    chosen, target_met = choose(robust, study.usd(), affordable, request)
    wins = _wins(study, robust, request)
    outlooks = [_outlook(study, d, robust[0, d], p_over[d], wins[d]) for d in range(len(designs))]
    order = sorted(range(len(designs)), key=lambda d: (outlooks[d].usd_per_question, -outlooks[d].accuracy.mean))
    p_target = None
    if request.target_accuracy is not None:
        p_target = float((robust[1:, chosen] >= request.target_accuracy).mean())
    return Plan(
        pilot=pilot,
        request=request,
        pricing=pricing,
        outlooks=[outlooks[d] for d in order],
        recommendation=outlooks[chosen],
        frontier=_frontier([outlooks[d] for d in order]),
        target_met=target_met,
        p_target=p_target,
        rival=_rival(study, chosen, wins, affordable, pilot.questions, request.tolerance),
        flips=find_flips(study, robust, chosen, affordable, pilot.population, request, pricing.price),
        conditional=conditional,
        notes=pilot.notes + _notes(pilot, request, designs[chosen]),
    )


def _draws(pilot: Pilot, request: Request) -> list[Population]:
    """Return the fit, then bootstrap fits with borrowed responses drawn beside; draw b depends on (seed, b) alone."""
    populations = [pilot.population]
    for b in range(request.draws):
        rng = np.random.Generator(np.random.Philox(key=request.seed, counter=[0, 0, 0, b]))
        populations.append(draw_responses(pilot.resample(rng), rng))
    return populations


def _robust_accuracy(study: Study, pilot: Pilot, pricing: Pricing) -> tuple[Floats, list[Mapping[str, Any]]]:
    """Accuracy that counts, by draw and design; designs that need signals lose what the worst AUROC takes from them."""
    robust = study.accuracy.copy()
    needing = [d for d, design in enumerate(study.designs) if design.signals]
    swept = {auroc: with_auroc(pilot.population, auroc) for auroc in AUROCS}
    best: tuple[float, list[Mapping[str, Any]]] = (-1.0, [])
    for d in needing:
        design = study.designs[d]
        found = [(auroc, assess(design, population, pricing.price)) for auroc, population in swept.items()]
        worst = min(a.accuracy for _, a in found)
        robust[:, d] += worst - study.accuracy[0, d]
        if study.accuracy[0, d] > best[0]:
            rows: list[Mapping[str, Any]] = [
                {"design": design.name, "auroc": auroc, "accuracy": a.accuracy, "calls": a.calls, "usd_per_question": a.money.expected}
                for auroc, a in found
            ]
            best = (float(study.accuracy[0, d]), rows)
    return robust, best[1]


def _wins(study: Study, robust: Floats, request: Request) -> Floats:
    """Share of the draws that choose each design, each draw by its own accuracy and money."""
    wins = np.zeros(len(study.designs))
    for b in range(1, study.draws + 1):
        totals = study.totals[b]
        affordable = np.array([1.0 - total.cdf(request.budget_usd) <= request.risk for total in totals])
        if affordable.any():
            usd = np.array([total.mean for total in totals])
            wins[choose(robust[b : b + 1], usd, affordable, request)[0]] += 1
    return wins / max(study.draws, 1)


def _outlook(study: Study, d: int, robust: float, p_over: float, wins: float) -> DesignOutlook:
    money = study.money[d]
    return DesignOutlook(
        design=study.designs[d],
        accuracy=Estimate(float(study.accuracy[0, d]), *study.interval(d)),
        robust_accuracy=float(robust),
        calls=float(study.calls[d]),
        usd_per_question=money.expected,
        usd_mean=study.items * money.expected,
        usd_p95=study.quantile(d, 0.95),
        usd_worst=study.items * money.worst,
        p_over_budget=float(min(max(p_over, 0.0), 1.0)),
        wins=float(wins),
    )


def _frontier(outlooks: Sequence[DesignOutlook]) -> list[DesignOutlook]:
    """Designs that no cheaper one equals in accuracy (counted at the worst AUROC where signals matter)."""
    frontier: list[DesignOutlook] = []
    for outlook in outlooks:
        if not frontier or outlook.robust_accuracy > frontier[-1].robust_accuracy + 1e-12:
            frontier.append(outlook)
    return frontier


def _unaffordable(study: Study, p_over: Floats, request: Request) -> str:
    d = int(np.argmin(study.usd()))
    needed = study.quantile(d, 1 - request.risk)
    return (
        f"no design stays within {request.budget_usd:g} US$ for {request.items:,} questions: the cheapest, {study.designs[d].name}, "
        f"costs {study.items * study.usd()[d]:.4g} US$ on average and passes the budget with probability {p_over[d]:.2f}. "
        f"Give at least {needed:.4g} US$, or fewer questions. Nothing was spent."
    )


def _rival(
    study: Study, chosen: int, wins: Floats, affordable: npt.NDArray[np.bool_], questions: int, tolerance: float
) -> Mapping[str, Any] | None:
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
        more = max(0, math.ceil(questions * (_Z95 * sd / gap) ** 2) - questions)
    return {
        "design": study.designs[d].name,
        "wins": float(wins[d]),
        "accuracy_difference": {"mean": gap, "ci95": [low, high]},
        "usd_difference_per_question": float(study.usd()[d] - study.usd()[chosen]),
        "more_pilot_questions": more,
        "practically_equal": bool(abs(gap) <= tolerance),
    }


def _notes(pilot: Pilot, request: Request, chosen: Design) -> tuple[str, ...]:
    population = pilot.population
    notes = []
    drawn = max(chosen.protocol.chains, 0 if chosen.protocol.inherits else chosen.protocol.most_agents)
    if 0 < pilot.answers < drawn:
        notes.append(
            f"The design draws up to {drawn} independent answers to a question, the pilot has at most {pilot.answers}: what the "
            "further ones add is extrapolated by the fitted law. A few pilot questions with more answers would check it."
        )
    if "response" in population.borrowed:
        notes.append(
            "Debates rest on borrowed responses, their uncertainty drawn into the intervals; a pilot with two rounds would replace them."
        )
    if "tokens" in population.borrowed:
        notes.append(f"Tokens of a call are borrowed ({population.borrowed['tokens']}): money is only as good as they are.")
    notes.append("UAAD: step signals are in no pilot of answers; its designs count with their worst accuracy over AUROC 0.5 to 0.9.")
    notes.append(
        f"Accuracy intervals carry the pilot's {pilot.questions:,} questions ({request.draws} bootstrap draws), "
        f"not the luck of the {request.items:,} questions to come."
    )
    return tuple(notes)
