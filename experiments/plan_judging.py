r"""How to judge: from a pilot log of judges and a budget to a design, its accuracy, its cost and how sure that is.

1. The population is fitted to the pilot, and again to each bootstrap resample of its items (one step of Fisher scoring,
   :mod:`.calibrate.judges`).
2. Every panel of the menu (:mod:`.judging_designs`) is evaluated by the exact law on every draw. Money is the same on all draws, since a
   panel's calls are planned. What asks more of a judge (repeated calls, scores averaged) is evaluated at the fit and moves over the draws
   as the vote of the same judge does; learnt weights stay those of the fit.
3. A debate rests on what no pilot of single judgements holds: how far arguments take away the judge's bias (``bias_factor``). It counts
   with its worst accuracy over a sweep from 1 (not at all) to .05 (what D3's figures ask for), each by the exact law on few cells (up to
   1e-3 off), and carries the pilot's uncertainty of its judge alone.
4. Choice, wins over the draws, rival and budget flips are those of :mod:`.advice`; further flips are the borrowed repeat correlation and
   the bias that arguments leave.

Accuracy is on items with a decided label; a tied verdict earns half a credit. Beside the menu stand the log's own figures: accuracy of
panels by size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..model import Pricing
from ..model.judging import Debate, JudgingPopulation, JudgingProtocol, JudgingTally, Panel, evaluate_judging
from ..model.judging.agreement import agreement
from ..model.judging.cost import JudgingCosts
from ..model.judging.outcomes import money_of
from ..model.judging.panel_nodes import PanelNodes
from ..model.judging.weights import panel_weights
from ..model.outcomes import Money
from .advice import Conditional, Pilot, Plan, advise
from .calibrate.judges import JudgeCalibration
from .choosing import Request, choose
from .judging_designs import JUDGING_KINDS, JudgingDesign, judging_menu
from .study import Study, seeds, worst_of_sweep
from .totals import Total

__all__ = ["plan_judging"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Weights = Mapping[int, tuple[int, ...]]

BIAS_FACTORS = (1.0, 0.5, 0.25, 0.05)
FLIP_BIAS_FACTORS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.0)
REPEATS = (0.95, 0.85, 0.7, 0.5)
_LEAST_NOISE = 1e-6


def plan_judging(
    calibration: JudgeCalibration, request: Request, pricing: Pricing, advance: Callable[[int], None] = lambda steps: None
) -> Plan:
    """Choose how to judge.

    Parameters
    ----------
    calibration : JudgeCalibration
        The fitted pilot.
    request : Request
        Items, budget, target.
    pricing : Pricing
        Price of the calls; judges whose names the price list holds have their own.
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
    priced = pricing.prices.prices
    population = calibration.population.priced_by_name(priced)
    pilot = _pilot(calibration, population)
    both = bool(np.all(np.any(calibration.facts.both_orders, axis=0)))
    scored = {fit.data.name for fit in calibration.fits if fit.data.gaps is not None}
    designs = judging_menu(population, both, [judge.name for judge in population.judges if judge.name in scored])
    laws = _Laws(population)
    money, calls = _costs(designs, laws, pricing)
    accuracy = _accuracies(designs, pilot, laws, request, advance)
    robust, swept = worst_of_sweep(accuracy, _swept(designs, laws))
    totals = [[Total.of(one, request.items) for one in money]]
    study = Study(
        designs=designs,
        accuracy=accuracy,
        robust=robust,
        calls=calls,
        money=money,
        totals=totals,
        items=request.items,
        resampled=pilot.questions,
    )
    borrowed = {fit.data.name for fit in calibration.fits if fit.borrows_repeat}

    def flips(chosen: int, affordable: Bools) -> list[Mapping[str, Any]]:
        return [
            *_repeat_flips(study, designs, chosen, affordable, population, borrowed, request),
            *_bias_flips(study, designs, chosen, affordable, laws),
        ]

    return advise(
        study,
        pilot,
        request,
        pricing,
        family="judging",
        kinds=JUDGING_KINDS,
        conditional=Conditional("bias_factor", "Debates depend on the share of the judge's bias that arguments leave", swept),
        flips=flips,
        notes=lambda chosen: _notes(calibration, population, priced, pricing),
        panels=_panels(calibration),
    )


def _pilot(calibration: JudgeCalibration, population: JudgingPopulation) -> Pilot:
    def resample(rng: np.random.Generator) -> JudgingPopulation:
        return calibration.refit(rng.integers(0, calibration.items, calibration.items))

    return Pilot(str(calibration.log.path), calibration.items, population, resample, tuple(calibration.warnings))


class _Laws:
    """Exact laws of designs on a population, by the share of the judge's bias that arguments leave; each is worked out once."""

    def __init__(self, population: JudgingPopulation) -> None:
        self.population = population
        self._known: dict[tuple[str, float], JudgingTally] = {}

    def of(self, design: JudgingDesign, bias_factor: float | None = None) -> JudgingTally:
        """Return the law; without a factor, that of the population."""
        debate = self.population.debate
        key = (design.name, debate.bias_factor if bias_factor is None else bias_factor)
        if key not in self._known:
            population = replace(self.population, debate=replace(debate, bias_factor=key[1]))
            self._known[key] = evaluate_judging(design.protocol, population, coarse=True)
        return self._known[key]

    def accuracy(self, design: JudgingDesign, bias_factor: float | None = None) -> float:
        """Accuracy on decisive items, ties in verdicts half a credit."""
        accuracy, _ = agreement(self.of(design, bias_factor).masses.sum(axis=(2, 3)), "decisive", None)
        assert accuracy is not None
        return accuracy.mean


def _costs(designs: Sequence[JudgingDesign], laws: _Laws, pricing: Pricing) -> tuple[list[Money], Floats]:
    """Money and expected calls of an item, by design."""
    money, calls = [], []
    for design in designs:
        costs = JudgingCosts(design.protocol, laws.population)
        rounds = np.eye(len(costs.calls))[-1]
        if design.debates:
            rounds = np.maximum(laws.of(design).masses.sum(axis=(0, 1, 3)), 0.0)
            rounds = rounds / rounds.sum()
        money.append(money_of(costs, rounds, pricing))
        calls.append(float(rounds @ costs.calls))
    return money, np.array(calls)


def _accuracies(designs: Sequence[JudgingDesign], pilot: Pilot, laws: _Laws, request: Request, advance: Callable[[int], None]) -> Floats:
    """Accuracy by draw and design; row 0 is the fit to the whole pilot.

    Each draw moves a design by what its leader (:func:`_leader`) moves, both evaluated with few nodes; row 0 has all nodes.
    """
    weights = {d: _weights(design.protocol, pilot.population) for d, design in enumerate(designs)}
    point = _panel_row(designs, pilot.population, weights, coarse=False)
    for d in np.flatnonzero(np.isnan(point)).tolist():
        point[d] = laws.accuracy(designs[d])
    advance(1)
    quick = {d: weights[d] for d, design in enumerate(designs) if design.plain}
    leader = [_leader(designs, d) for d in range(len(designs))]
    rough = _panel_row(designs, pilot.population, quick, coarse=True)
    rows = [point]
    for rng in seeds(request.seed, request.draws):
        moved = _panel_row(designs, pilot.resample(rng), quick, coarse=True) - rough
        rows.append(point + moved[leader])
        advance(1)
    return np.array(rows)


def _weights(protocol: JudgingProtocol, population: JudgingPopulation) -> tuple[int, ...]:
    return panel_weights(protocol, population) if isinstance(protocol, Panel) else ()


def _leader(designs: Sequence[JudgingDesign], d: int) -> int:
    """Design whose accuracy design d moves with over the draws: itself, the same panel asked once, or a debate's judge alone."""
    design = designs[d]
    if design.debates:
        return next(e for e, other in enumerate(designs) if not other.debates)
    if design.plain:
        return d
    assert isinstance(design.protocol, Panel)
    once = replace(design.protocol, samples=1, combine="vote")
    return next(e for e, other in enumerate(designs) if replace(once, name=other.name) == other.protocol)


def _panel_row(designs: Sequence[JudgingDesign], population: JudgingPopulation, weights: Weights, coarse: bool) -> Floats:
    """Accuracy on one population of the votes that ``weights`` lists; NaN for the other designs."""
    places = {judge.name: place for place, judge in enumerate(population.judges)}
    row = np.full(len(designs), math.nan)
    panels = [(d, protocol) for d in weights if isinstance(protocol := designs[d].protocol, Panel) and protocol.combine == "vote"]
    for order, samples in sorted({(p.order, p.samples) for _, p in panels}):
        same = [d for d, p in panels if (p.order, p.samples) == (order, samples)]
        asked = sorted({places[name] for d in same for name in designs[d].judges})
        nodes = PanelNodes(population, Panel(name="all", judges=len(places), order=order, samples=samples), asked, coarse)
        for d in same:
            row[d] = nodes.accuracy([asked.index(places[name]) for name in designs[d].judges], weights[d])
    return row


def _swept(designs: Sequence[JudgingDesign], laws: _Laws) -> dict[int, list[Mapping[str, Any]]]:
    """Debates over the share of the judge's bias that arguments leave."""
    swept: dict[int, list[Mapping[str, Any]]] = {}
    for d, design in enumerate(designs):
        if design.debates:
            swept[d] = [
                {"design": design.name, "bias_factor": factor, "accuracy": laws.accuracy(design, factor)} for factor in BIAS_FACTORS
            ]
    return swept


def _panels(calibration: JudgeCalibration) -> list[Mapping[str, Any]]:
    """Accuracy of panels by size, both orders averaged, ties half a credit: the fit's prediction and the log's own figure."""
    return [
        {
            "size": k,
            "predicted": calibration.predicted.get(f"panel.{k}"),
            "log": calibration.intervals[f"panel.{k}"].mean,
            "orders": "both",
            "ties": "half a credit",
        }
        for k in range(1, len(calibration.log.judges) + 1)
    ]


def _repeat_flips(
    study: Study,
    designs: Sequence[JudgingDesign],
    chosen: int,
    affordable: Bools,
    population: JudgingPopulation,
    borrowed: set[str],
    request: Request,
) -> list[Mapping[str, Any]]:
    """Repeat correlation, where it is borrowed, at which another choice would be made: noise and item-by-item shifts trade places."""
    if not borrowed:
        return []
    weights = {d: _weights(design.protocol, population) for d, design in enumerate(designs)}
    rough = _panel_row(designs, population, weights, coarse=True)
    for repeat in REPEATS:
        changed = _with_repeat(population, borrowed, repeat)
        if changed is None:
            continue
        moved = study.robust[:1] + np.nan_to_num(_panel_row(designs, changed, weights, coarse=True) - rough)
        d, _ = choose(moved, study.usd(), affordable, request)
        if d != chosen:
            flip = {"what": "repeat correlation of judges without repeats", "value": repeat, "unit": "", "choice": designs[d].name}
            return [{**flip, "direction": "at or below"}]
    return []


def _with_repeat(population: JudgingPopulation, borrowed: set[str], repeat: float) -> JudgingPopulation | None:
    """Change borrowed repeat correlations; what each order shows, and how the two orders vary together, stays. None if impossible.

    Noise that is gained is lost half by the bias and half by the shift that differs from item to item.
    """
    judges = []
    for judge in population.judges:
        if judge.name not in borrowed:
            judges.append(judge)
            continue
        noise = judge.gap.error_variance
        wanted = (1 - repeat) * (1 + judge.sigma_b**2 + judge.position_sd**2 + noise)
        gained = (wanted - noise) / 2
        bias, shift = judge.sigma_b**2 - gained, judge.position_sd**2 - gained
        if bias < 0 or shift < 0 or wanted <= _LEAST_NOISE:
            return None
        gap = judge.gap.with_error_variance(wanted)
        judges.append(replace(judge, sigma_b=math.sqrt(bias), position_sd=math.sqrt(shift), gap=gap))
    return replace(population, judges=tuple(judges))


def _bias_flips(study: Study, designs: Sequence[JudgingDesign], chosen: int, affordable: Bools, laws: _Laws) -> list[Mapping[str, Any]]:
    """Find how little of the judge's bias arguments must leave for a one-round debate to be the better choice."""
    debates = [
        d for d, design in enumerate(designs) if isinstance(design.protocol, Debate) and design.protocol.rounds == 1 and affordable[d]
    ]
    if not debates or designs[chosen].debates:
        return []
    for factor in FLIP_BIAS_FACTORS:
        scores = {d: laws.accuracy(designs[d], factor) for d in debates}
        best = max(debates, key=lambda d: scores[d])
        if scores[best] > study.robust[0, chosen]:
            flip = {"what": "bias that arguments leave (bias_factor)", "value": factor, "unit": "share", "choice": designs[best].name}
            return [{**flip, "direction": "at or below"}]
    return []


def _notes(calibration: JudgeCalibration, population: JudgingPopulation, priced: Collection[str], pricing: Pricing) -> list[str]:
    notes = [
        "Accuracy is on items with a decided label; a tied verdict earns half a credit. One order: a coin decides what comes first.",
        "Panels are of different judges with correlated biases; they are not exchangeable, so which judges matters more than how many.",
        "Debates: no pilot of single judgements says what arguments do. They count with their worst accuracy over a bias factor "
        f"from 1 to .05; jurors and arguments are borrowed ({population.borrowed.get('jury', 'set by hand')}).",
    ]
    if calibration.borrowed_repeat:
        notes.append(f"Repeated calls: repeat correlation of judges without repeats is borrowed ({calibration.borrowed_repeat}).")
    others = ", ".join(judge.name for judge in population.judges if judge.name not in priced and not judge.model)
    if others:
        notes.append(
            f"Prices: the list has no model named {others}; their calls are priced as {pricing.price.model}. "
            "Name them in your price list to price them apart."
        )
    return notes
