r"""What to run (the main job): from a pilot log and a budget to a design, its accuracy and cost, and how sure that is.

1. The population is fitted to the pilot, and again to each bootstrap resample of its questions.
2. Every design of the menu (:mod:`.designs`) is evaluated by the exact law on every draw. What the pilot does not hold is borrowed, and
   its uncertainty is drawn beside: how agents respond (theta, sigma, lambda), each normal around the borrowed value.
3. A design whose law rests on step signals, which no pilot of answers holds, counts with its worst accuracy over a sweep of the signals'
   AUROC, from 0.5 (uninformative).
4. Choice, wins over the draws, rival and budget flips are those of :mod:`.advice`; further flips are truth's advantage lambda and the
   signals' AUROC.

With a target accuracy the cheapest affordable design that is expected to reach it is recommended instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..model import Copying, ParameterError, Population, Pricing
from ..model.cost import Price
from ..model.exact import ExactLaw
from ..model.outcomes import Costs, Money, OutcomeSpace
from .advice import Conditional, Pilot, Plan, advise
from .choosing import Request
from .designs import KINDS, Design, menu
from .study import Study, seeds, worst_of_sweep
from .totals import Total

__all__ = ["BORROWED_SPREAD", "Assessment", "ReasoningPilot", "assess", "make_plan"]

Bools = npt.NDArray[np.bool_]

AUROCS = (0.5, 0.6, 0.75, 0.9)
FURTHER_AUROCS = (0.95, 0.98)
LAMBDAS = tuple(round(-1.0 + 0.25 * k, 2) for k in range(17))
BORROWED_SPREAD = {"theta": 0.15, "sigma": 0.15, "lam": 0.20}
"""Standard deviations of borrowed response parameters, assumed: about how far fits to single tasks lie apart."""


@dataclass(frozen=True)
class ReasoningPilot(Pilot):
    """A pilot log of answers, fitted.

    Parameters
    ----------
    answers : int
        Most independent answers to one question; 0 where that means nothing.
    """

    answers: int = 0


@dataclass(frozen=True)
class Assessment:
    """One design on one population.

    Parameters
    ----------
    accuracy : float
        P(the final answer is right).
    calls : float
        Expected calls of a question.
    money : Money
        Law of a question's money.
    """

    accuracy: float
    calls: float
    money: Money


def make_plan(pilot: ReasoningPilot, request: Request, pricing: Pricing, advance: Callable[[int], None] = lambda steps: None) -> Plan:
    """Choose how to answer.

    Parameters
    ----------
    pilot : ReasoningPilot
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
    study, swept = _study(designs, pilot, request, pricing.price, advance)

    def flips(chosen: int, affordable: Bools) -> list[Mapping[str, Any]]:
        within = [int(d) for d in np.flatnonzero(affordable)]
        return [
            *_lambda_flips(study, designs, chosen, within, pilot.population, pricing.price),
            *_auroc_flips(study, designs, chosen, within, pilot.population, pricing.price),
        ]

    return advise(
        study,
        pilot,
        request,
        pricing,
        family="reasoning",
        kinds=KINDS,
        conditional=Conditional("auroc", "UAAD depends on the AUROC of its step signals (0.5 tells nothing, 1 everything)", swept),
        flips=flips,
        notes=lambda chosen: _notes(pilot, chosen),
    )


def assess(design: Design, population: Population, price: Price, costs: Costs | None = None) -> Assessment:
    """Evaluate a design by the exact law.

    Parameters
    ----------
    design : Design
        What is evaluated.
    population : Population
        Where questions come from.
    price : Price
        Of the calls.
    costs : Costs, optional
        Those of the design on this population, where they are at hand.
    """
    space = OutcomeSpace(design.protocol)
    costs = Costs(space, population) if costs is None else costs
    masses = ExactLaw(design.protocol, population).masses().ravel()
    right = space.coordinates[5] == 1
    return Assessment(float(masses[right].sum()), float(masses @ costs.calls), Money.of(costs, masses, price))


def _draws(pilot: Pilot, request: Request) -> list[Population]:
    """Return the fit, then bootstrap fits with borrowed responses drawn beside."""
    drawn = (_draw_responses(pilot.resample(rng), rng) for rng in seeds(request.seed, request.draws))
    return [pilot.population, *drawn]


def _draw_responses(population: Population, rng: np.random.Generator) -> Population:
    """Draw the borrowed response parameters from their spread; a fitted rule is left as it is."""
    rule = population.response
    if "response" not in population.borrowed or not isinstance(rule, Copying):
        return population
    theta, sigma, lam = (rng.normal(getattr(rule, name), sd) for name, sd in BORROWED_SPREAD.items())
    return replace(population, response=replace(rule, theta=float(max(theta, 0.0)), sigma=float(max(sigma, 0.0)), lam=float(lam)))


def _with_auroc(population: Population, auroc: float) -> Population:
    """Return the population with both signals at an AUROC."""
    return replace(population, signals=replace(population.signals, auroc_h=auroc, auroc_d=auroc))


def _study(
    designs: Sequence[Design], pilot: Pilot, request: Request, price: Price, advance: Callable[[int], None]
) -> tuple[Study, list[Mapping[str, Any]]]:
    """Evaluate every design on every draw, and sweep those that need signals; the second value is the best one's sweep."""
    populations = _draws(pilot, request)
    costs = [Costs(OutcomeSpace(design.protocol), populations[0]) for design in designs]
    same_tokens = all(population.tokens == populations[0].tokens for population in populations)
    rows = []
    for population in populations:
        rows.append([assess(d, population, price, c if same_tokens else None) for d, c in zip(designs, costs, strict=True)])
        advance(1)
    accuracy = np.array([[a.accuracy for a in row] for row in rows])
    robust, swept = worst_of_sweep(accuracy, _swept(designs, pilot.population, price))
    study = Study(
        designs=designs,
        accuracy=accuracy,
        robust=robust,
        calls=np.array([a.calls for a in rows[0]]),
        money=[a.money for a in rows[0]],
        totals=[[Total.of(a.money, request.items) for a in row] for row in rows],
        items=request.items,
        resampled=pilot.questions,
    )
    return study, swept


def _swept(designs: Sequence[Design], population: Population, price: Price) -> dict[int, list[Mapping[str, Any]]]:
    """Designs that need step signals over the AUROC of these."""
    populations = {auroc: _with_auroc(population, auroc) for auroc in AUROCS}
    swept: dict[int, list[Mapping[str, Any]]] = {}
    for d, design in enumerate(designs):
        if design.signals:
            found = [(auroc, assess(design, now, price)) for auroc, now in populations.items()]
            swept[d] = [
                {"design": design.name, "auroc": auroc, "accuracy": a.accuracy, "calls": a.calls, "usd_per_question": a.money.expected}
                for auroc, a in found
            ]
    return swept


def _lambda_flips(
    study: Study, designs: Sequence[Design], chosen: int, within: Sequence[int], population: Population, price: Price
) -> list[Mapping[str, Any]]:
    """Truth's advantage at which the other kind of design (debate, or none) becomes the better one."""
    rule = population.response
    if not isinstance(rule, Copying):
        return []
    debates = designs[chosen].debates
    others = [d for d in within if designs[d].debates != debates and not designs[d].signals]
    for lam in sorted(LAMBDAS, reverse=debates):
        now = replace(population, response=replace(rule, lam=lam))

        def accuracy(d: int, now: Population = now) -> float:
            return assess(designs[d], now, price).accuracy if designs[d].debates else float(study.accuracy[0, d])

        best = max(others, key=accuracy, default=None)
        if best is not None and accuracy(best) > accuracy(chosen):
            return [
                {
                    "what": "lambda (log odds by which a right answer persuades better)",
                    "value": lam,
                    "unit": "log odds",
                    "choice": designs[best].name,
                    "direction": "at or below" if debates else "at or above",
                    "now": rule.lam,
                }
            ]
    return []


def _auroc_flips(
    study: Study, designs: Sequence[Design], chosen: int, within: Sequence[int], population: Population, price: Price
) -> list[Mapping[str, Any]]:
    """AUROC of the step signals from which a design that uses them is the better one."""
    needing = [d for d in within if designs[d].signals]
    if not needing or designs[chosen].signals:
        return []
    for auroc in (*AUROCS, *FURTHER_AUROCS):
        try:
            now = _with_auroc(population, auroc)
        except ParameterError:
            break
        scores = {d: assess(designs[d], now, price).accuracy for d in needing}
        best = max(needing, key=lambda d: scores[d])
        if scores[best] > study.accuracy[0, chosen]:
            flip = {"what": "AUROC of the step signals (0.5 tells nothing)", "value": auroc, "unit": "", "choice": designs[best].name}
            return [{**flip, "direction": "at or above"}]
    return []


def _notes(pilot: ReasoningPilot, chosen: Design) -> list[str]:
    notes = []
    drawn = max(chosen.protocol.chains, 0 if chosen.protocol.inherits else chosen.protocol.most_agents)
    if 0 < pilot.answers < drawn:
        notes.append(
            f"The design draws up to {drawn} independent answers to a question, the pilot has at most {pilot.answers}: what the "
            "further ones add is extrapolated by the fitted law. A few pilot questions with more answers would check it."
        )
    if "response" in pilot.population.borrowed:
        notes.append(
            "Debates rest on borrowed responses, their uncertainty drawn into the intervals; a pilot with two rounds would replace them."
        )
    notes.append("UAAD: step signals are in no pilot of answers; its designs count with their worst accuracy over AUROC 0.5 to 0.9.")
    return notes
