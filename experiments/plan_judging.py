r"""What to run as a judge: from a pilot log of judges and a budget to a design, its accuracy, its cost and how sure that is.

1. The population is fitted to the pilot, and again to each bootstrap resample of its items (one step of Fisher scoring,
:mod:`.calibrate.judges`). 2. The menu: every panel of the pilot's judges in one order (random) or both, repeated calls of single judges,
learnt weights, and D3's debates over advocates,
   rounds and jurors. Panels are evaluated by the exact law on every draw; money is the same on all draws, since a panel's calls are
   planned.
3. A debate rests on what no pilot of single judgements holds: how far arguments take away the judge's bias (``bias_factor``). It counts
with its worst accuracy
   over a sweep from 1 (not at all) to .05 (what D3's figures ask for), and carries the pilot's uncertainty of its judge alone.
4. Affordability, choice, wins over the bootstrap, the strongest rival and what would flip the choice are those of :mod:`.plan`.

Accuracy is on items with a decided label; a tied verdict earns half a credit. The menu is shown beside the log's own figures: accuracy
of panels by size.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from typing import Any

import numpy as np
import numpy.typing as npt

from ..model import BudgetRefusedError, Estimate, Pricing
from ..model.judging import (
    Debate,
    JudgingPopulation,
    JudgingProtocol,
    Panel,
    evaluate_judging,
    load_judging_protocol,
)
from ..model.judging.agreement import agreement
from ..model.judging.cost import JudgingCosts
from ..model.judging.outcomes import money_of
from ..model.judging.panel import PanelNodes
from ..model.judging.weights import panel_weights
from ..model.outcomes import Money
from .calibrate.judges import JudgeCalibration
from .choosing import BUDGET_FACTORS, Request, choose
from .totals import Total

__all__ = ["JudgingDesign", "JudgingOutlook", "JudgingPlan", "judging_menu", "plan_judging"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

BIAS_FACTORS = (1.0, 0.5, 0.25, 0.05)
REPEATS = (0.5, 0.7, 0.85, 0.95)
MOST_JUDGES_IN_FULL = 6
REPEATED = (3,)
_Z95 = 1.959963984540054


@dataclass(frozen=True)
class JudgingDesign:
    """One thing that could be run.

    Parameters
    ----------
    name : str
        Says its parameters.
    protocol : JudgingProtocol
        The policy.
    """

    name: str
    protocol: JudgingProtocol

    @property
    def debates(self) -> bool:
        """Whether its law rests on what arguments and jurors do."""
        return isinstance(self.protocol, Debate)

    @property
    def repeats(self) -> bool:
        """Whether it asks the same judge the same thing more than once."""
        return isinstance(self.protocol, Panel) and self.protocol.samples > 1

    def rests_on(self) -> list[str]:
        """List what its law needs."""
        needs = {"repeated calls": self.repeats, "arguments and jurors": self.debates}
        return ["judgements of the pilot", *(name for name, needed in needs.items() if needed)]


def _panel(names: Sequence[str], order: str, samples: int = 1, weights: str = "equal") -> JudgingDesign:
    shown = "both orders" if order == "both" else "one order"
    parts = [shown] + ([f"{samples} calls each"] if samples > 1 else []) + (["learnt weights"] if weights == "learnt" else [])
    name = f"panel({' + '.join(names)}; {', '.join(parts)})"
    return JudgingDesign(name, Panel(name=name, judges=tuple(names), order=order, samples=samples, weights=weights))


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """All panels of up to six judges; of more, singles, pairs and the best k."""
    sizes = range(1, len(names) + 1) if len(names) <= MOST_JUDGES_IN_FULL else (1, 2)
    for size in sizes:
        yield from itertools.combinations(names, size)
    if len(names) > MOST_JUDGES_IN_FULL:
        yield from (tuple(names[:size]) for size in range(3, len(names) + 1))


def judging_menu(population: JudgingPopulation, both_orders: bool = True) -> list[JudgingDesign]:
    """Return the designs worth looking at.

    Parameters
    ----------
    population : JudgingPopulation
        Its judges, the best first.
    both_orders : bool
        Whether the pilot can say what the second order adds.
    """
    names = [judge.name for judge in population.judges]
    orders = ("random", "both") if both_orders else ("random",)
    designs = [_panel(panel, order) for panel in _subsets(names) for order in orders]
    designs += [_panel((name,), order, samples) for name in names for order in orders for samples in REPEATED]
    if len(names) > 2:
        designs += [_panel(names, order, weights="learnt") for order in orders]
    return designs + list(_debates(names[0]))


def _debates(judge: str) -> Iterator[JudgingDesign]:
    more, samre = load_judging_protocol("more"), load_judging_protocol("samre")
    assert isinstance(more, Debate)
    assert isinstance(samre, Debate)
    for advocates, jurors in itertools.product((1, 3), (0, 3, 5)):
        name = f"more({judge}; advocates={advocates}, jurors={jurors})"
        yield JudgingDesign(name, replace(more, name=name, advocates=advocates, jurors=jurors))
    for rounds, jurors in itertools.product((3, 5), (1, 5)):
        name = f"samre({judge}; rounds={rounds}, jurors={jurors})"
        yield JudgingDesign(name, replace(samre, name=name, rounds=rounds, jurors=jurors))


@dataclass(frozen=True)
class JudgingOutlook:
    """What to expect of one design.

    Parameters
    ----------
    design : JudgingDesign
        The design.
    accuracy : Estimate
        Expected accuracy with the interval over the draws.
    robust_accuracy : float
        What the choice counted: for debates the worst over the sweep.
    calls : float
        Expected calls of an item.
    usd_per_item : float
        Expected money of an item.
    usd_mean, usd_p95, usd_worst : float
        Total money: expected, 95 % quantile, largest possible.
    p_over_budget : float
        P(total > budget).
    wins : float
        Share of the draws that choose this design.
    """

    design: JudgingDesign
    accuracy: Estimate
    robust_accuracy: float
    calls: float
    usd_per_item: float
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
            "usd_per_question": self.usd_per_item,
            "usd_total": {"mean": self.usd_mean, "p95": self.usd_p95, "worst_case": self.usd_worst},
            "p_over_budget": self.p_over_budget,
            "bootstrap_wins": self.wins,
            "rests_on": self.design.rests_on(),
            "protocol": self.design.protocol.to_dict(),
        }


@dataclass(frozen=True)
class JudgingPlan:
    """The advice.

    Parameters
    ----------
    pilot, request, pricing
        What it was made from.
    outlooks : list of JudgingOutlook
        All designs, cheapest first.
    recommendation : JudgingOutlook
        What to run.
    frontier : list of JudgingOutlook
        Designs that no other beats in accuracy and money together, cheapest first.
    panels : list of mapping
        Accuracy of panels by size: predicted, and the log's own.
    target_met, p_target
        Whether the recommendation is expected to reach the target accuracy, and in how many draws.
    rival : mapping or None
        The strongest rival, the paired difference, and the pilot items that would tell the two apart.
    flips : list of mapping
        Changes that would change the choice.
    conditional : list of mapping
        The best debate by what arguments leave of the judge's bias.
    notes : tuple of str
        What the numbers rest on.
    """

    pilot: JudgeCalibration
    request: Request
    pricing: Pricing
    outlooks: list[JudgingOutlook]
    recommendation: JudgingOutlook
    frontier: list[JudgingOutlook]
    panels: list[Mapping[str, Any]]
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
            "family": "judging",
            "pilot": {"name": self.pilot.log.path, "questions": self.pilot.items},
            "population": self.pilot.population.name,
            "items": request.items,
            "budget_usd": request.budget_usd,
            "target_accuracy": request.target_accuracy,
            "target_met": self.target_met,
            "p_target": self.p_target,
            "recommendation": self.recommendation.to_json(),
            "p_over_budget": self.recommendation.p_over_budget,
            "frontier": [outlook.to_json() for outlook in self.frontier],
            "panels": list(self.panels),
            "bootstrap_wins": {o.design.name: o.wins for o in sorted(self.outlooks, key=lambda o: -o.wins) if o.wins > 0},
            "bootstrap_wins_by_kind": self.wins_by_kind(),
            "rival": self.rival,
            "flips": list(self.flips),
            "conditional_on_bias_factor": list(self.conditional),
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
        """Share of the draws that choose one judge, several judges, a debate."""
        kinds = {"one judge": 0.0, "several judges": 0.0, "debate": 0.0}
        for outlook in self.outlooks:
            protocol = outlook.design.protocol
            several = isinstance(protocol, Panel) and protocol.size > 1
            kinds["debate" if outlook.design.debates else ("several judges" if several else "one judge")] += outlook.wins
        return kinds

    def to_records(self) -> list[dict[str, Any]]:
        """Rows, one a design: one call turns them into a data frame."""
        return [
            {
                "design": o.design.name,
                "accuracy": o.accuracy.mean,
                "accuracy_low": o.accuracy.low,
                "accuracy_high": o.accuracy.high,
                "calls": o.calls,
                "usd_per_question": o.usd_per_item,
                "usd_total_mean": o.usd_mean,
                "usd_total_p95": o.usd_p95,
                "usd_total_worst": o.usd_worst,
                "p_over_budget": o.p_over_budget,
                "bootstrap_wins": o.wins,
                "on_frontier": o in self.frontier,
            }
            for o in self.outlooks
        ]


def plan_judging(
    pilot: JudgeCalibration, request: Request, pricing: Pricing, advance: Callable[[int], None] = lambda steps: None
) -> JudgingPlan:
    """Choose how to judge.

    Parameters
    ----------
    pilot : JudgeCalibration
        The fitted pilot.
    request : Request
        Items, budget, target.
    pricing : Pricing
        Price of the calls; judges whose names the price list holds have their own.
    advance : callable
        Called with 1 after each draw.

    Raises
    ------
    BudgetRefusedError
        If not even the cheapest design is affordable.
    """
    population, priced = _with_models(pilot.population, pricing)
    both = bool(np.all(np.any(pilot.facts.both_orders, axis=0)))
    designs = judging_menu(population, both)
    money, calls = _costs(designs, population, pricing)
    totals = [Total.of(one, request.items) for one in money]
    accuracy = _accuracies(designs, pilot, population, request, advance)
    robust, conditional = _robust(designs, accuracy, population)
    usd = np.array([one.expected for one in money])
    p_over = np.array([1.0 - total.cdf(request.budget_usd) for total in totals])
    affordable = p_over <= request.risk
    if not affordable.any():
        raise BudgetRefusedError(_unaffordable(designs, totals, p_over, request))
    chosen, target_met = choose(robust, usd, affordable, request)
    wins = _wins(robust, usd, affordable, request)
    outlooks = [
        JudgingOutlook(
            design=design,
            accuracy=_interval(accuracy[:, d]),
            robust_accuracy=float(robust[0, d]),
            calls=float(calls[d]),
            usd_per_item=float(usd[d]),
            usd_mean=request.items * float(usd[d]),
            usd_p95=totals[d].quantile(0.95),
            usd_worst=request.items * money[d].worst,
            p_over_budget=float(min(max(p_over[d], 0.0), 1.0)),
            wins=float(wins[d]),
        )
        for d, design in enumerate(designs)
    ]
    order = sorted(range(len(designs)), key=lambda d: (usd[d], -accuracy[0, d]))
    return JudgingPlan(
        pilot=pilot,
        request=request,
        pricing=pricing,
        outlooks=[outlooks[d] for d in order],
        recommendation=outlooks[chosen],
        frontier=_frontier([outlooks[d] for d in order]),
        panels=_panels(pilot),
        target_met=target_met,
        p_target=None if request.target_accuracy is None else float((robust[1:, chosen] >= request.target_accuracy).mean()),
        rival=_rival(designs, accuracy, usd, chosen, wins, affordable, pilot.items, request.tolerance),
        flips=[
            *_budget_flips(designs, robust, usd, totals, chosen, request),
            *_repeat_flips(designs, robust, usd, affordable, chosen, population, pilot, request),
            *_bias_flips(designs, robust, affordable, chosen, population),
        ],
        conditional=conditional,
        notes=_notes(pilot, population, priced, pricing, request),
    )


def _with_models(population: JudgingPopulation, pricing: Pricing) -> tuple[JudgingPopulation, list[str]]:
    """Give judges whose names the price list holds their own price; the second value lists them."""
    priced = [judge.name for judge in population.judges if judge.name in pricing.prices.prices]
    judges = tuple(replace(judge, model=judge.name if judge.name in priced else judge.model) for judge in population.judges)
    return replace(population, judges=judges), priced


def _costs(designs: Sequence[JudgingDesign], population: JudgingPopulation, pricing: Pricing) -> tuple[list[Money], Floats]:
    money, calls = [], []
    for design in designs:
        costs = JudgingCosts(design.protocol, population)
        rounds = np.eye(len(costs.calls))[-1]
        if design.debates:
            rounds = np.maximum(evaluate_judging(design.protocol, population).masses.sum(axis=(0, 1, 3)), 0.0)
            rounds = rounds / rounds.sum()
        money.append(money_of(costs, rounds, pricing))
        calls.append(float(rounds @ costs.calls))
    return money, np.array(calls)


# --- accuracy ---


def _accuracies(
    designs: Sequence[JudgingDesign],
    pilot: JudgeCalibration,
    population: JudgingPopulation,
    request: Request,
    advance: Callable[[int], None],
) -> Floats:
    """Accuracy by draw and design; row 0 is the fit to the whole pilot.

    Every draw evaluates panels with one call a judge and order. What asks more (repeats, debates) moves as the panel of the same judge,
    or of the first one, does; learnt weights stay those of the fit.
    """
    weights = {d: _weights(design.protocol, population) for d, design in enumerate(designs)}
    point = _panel_row(designs, population, weights, coarse=False)
    for d, design in enumerate(designs):
        if design.debates:
            point[d] = _debate_accuracy(design, population)
    advance(1)
    quick = {d: weights[d] for d, design in enumerate(designs) if not design.debates and not design.repeats}
    leader = [_leader(designs, d) for d in range(len(designs))]
    rough = _panel_row(designs, population, quick, coarse=True)
    rows = [point]
    for b in range(request.draws):
        rng = np.random.Generator(np.random.Philox(key=request.seed, counter=[0, 0, 0, b]))
        drawn = pilot.refit(rng.integers(0, pilot.items, pilot.items))
        moved = _panel_row(designs, drawn, quick, coarse=True) - rough
        rows.append(point + moved[leader])
        advance(1)
    return np.array(rows)


def _weights(protocol: JudgingProtocol, population: JudgingPopulation) -> tuple[int, ...]:
    return panel_weights(protocol, population) if isinstance(protocol, Panel) else ()


def _leader(designs: Sequence[JudgingDesign], d: int) -> int:
    """Design whose accuracy design d moves with over the draws."""
    protocol = designs[d].protocol
    if not designs[d].debates and not designs[d].repeats:
        return d
    if not isinstance(protocol, Panel):
        return next(e for e, design in enumerate(designs) if not design.debates)
    alike = [design.protocol for design in designs]
    return next(
        e
        for e, other in enumerate(alike)
        if isinstance(other, Panel) and (other.judges, other.order, other.samples) == (protocol.judges, protocol.order, 1)
    )


def _panel_row(
    designs: Sequence[JudgingDesign], population: JudgingPopulation, weights: Mapping[int, tuple[int, ...]], coarse: bool
) -> Floats:
    """Accuracy on one population of the panels that ``weights`` lists; NaN for the other designs."""
    places = {judge.name: place for place, judge in enumerate(population.judges)}
    row = np.full(len(designs), math.nan)
    panels = [(d, protocol) for d in weights if isinstance(protocol := designs[d].protocol, Panel)]
    for order, samples in sorted({(p.order, p.samples) for _, p in panels}):
        same = [(d, p) for d, p in panels if (p.order, p.samples) == (order, samples)]
        asked = sorted({places[name] for _, p in same for name in _names(p)})
        nodes = PanelNodes(population, Panel(name="all", judges=len(places), order=order, samples=samples), asked, coarse)
        for d, protocol in same:
            row[d] = nodes.accuracy([asked.index(places[name]) for name in _names(protocol)], weights[d])
    return row


def _names(protocol: Panel) -> tuple[str, ...]:
    assert isinstance(protocol.judges, tuple)
    return protocol.judges


def _debate_accuracy(design: JudgingDesign, population: JudgingPopulation, bias_factor: float | None = None) -> float:
    if bias_factor is not None:
        population = replace(population, debate=replace(population.debate, bias_factor=bias_factor))
    table = evaluate_judging(design.protocol, population).masses.sum(axis=(2, 3))
    accuracy, _ = agreement(table, "decisive", None)
    assert accuracy is not None
    return accuracy.mean


def _robust(designs: Sequence[JudgingDesign], accuracy: Floats, population: JudgingPopulation) -> tuple[Floats, list[Mapping[str, Any]]]:
    """Accuracy that the choice counts: debates lose what the worst bias factor takes from them."""
    robust = accuracy.copy()
    best: tuple[float, list[Mapping[str, Any]]] = (-1.0, [])
    for d, design in enumerate(designs):
        if not design.debates:
            continue
        found = [(factor, _debate_accuracy(design, population, factor)) for factor in BIAS_FACTORS]
        robust[:, d] += min(value for _, value in found) - accuracy[0, d]
        top = max(value for _, value in found)
        if top > best[0]:
            best = (top, [{"design": design.name, "bias_factor": factor, "accuracy": value} for factor, value in found])
    return robust, best[1]


def _interval(values: Floats) -> Estimate:
    low, high = np.quantile(values[1:], [0.025, 0.975])
    return Estimate(float(values[0]), min(float(low), float(values[0])), max(float(high), float(values[0])))


def _panels(pilot: JudgeCalibration) -> list[Mapping[str, Any]]:
    sizes = range(1, len(pilot.log.judges) + 1)
    return [
        {
            "size": k,
            "predicted": pilot.predicted.get(f"panel.{k}"),
            "log": pilot.intervals[f"panel.{k}"].mean,
            "orders": "both",
            "ties": "half a credit",
        }
        for k in sizes
    ]


# --- choice ---


def _frontier(outlooks: Sequence[JudgingOutlook]) -> list[JudgingOutlook]:
    frontier: list[JudgingOutlook] = []
    for outlook in outlooks:
        if not frontier or outlook.robust_accuracy > frontier[-1].robust_accuracy + 1e-12:
            frontier.append(outlook)
    return frontier


def _wins(robust: Floats, usd: Floats, affordable: Bools, request: Request) -> Floats:
    wins = np.zeros(robust.shape[1])
    for b in range(1, len(robust)):
        wins[choose(robust[b : b + 1], usd, affordable, request)[0]] += 1
    return wins / max(len(robust) - 1, 1)


def _unaffordable(designs: Sequence[JudgingDesign], totals: Sequence[Total], p_over: Floats, request: Request) -> str:
    d = int(np.argmin([total.mean for total in totals]))
    needed = totals[d].quantile(1 - request.risk)
    return (
        f"no design stays within {request.budget_usd:g} US$ for {request.items:,} items: the cheapest, {designs[d].name}, costs "
        f"{totals[d].mean:.4g} US$ on average and passes the budget with probability {p_over[d]:.2f}. Give at least {needed:.4g} US$, "
        "or fewer items. Nothing was spent."
    )


def _rival(
    designs: Sequence[JudgingDesign],
    accuracy: Floats,
    usd: Floats,
    chosen: int,
    wins: Floats,
    affordable: Bools,
    items: int,
    tolerance: float,
) -> Mapping[str, Any] | None:
    """Find the design that most draws prefer besides the chosen one, and what would tell the two apart."""
    others = [d for d in range(len(designs)) if d != chosen and affordable[d]]
    if not others:
        return None
    d = max(others, key=lambda k: (wins[k], accuracy[0, k]))
    differences = accuracy[:, d] - accuracy[:, chosen]
    gap = _interval(differences)
    sd = float(differences[1:].std(ddof=1))
    more = None
    if not gap.low <= 0 <= gap.high:
        more = 0
    elif abs(gap.mean) > tolerance and sd > 0:
        more = max(0, math.ceil(items * (_Z95 * sd / gap.mean) ** 2) - items)
    return {
        "design": designs[d].name,
        "wins": float(wins[d]),
        "accuracy_difference": gap.to_json(),
        "usd_difference_per_question": float(usd[d] - usd[chosen]),
        "more_pilot_questions": more,
        "practically_equal": bool(abs(gap.mean) <= tolerance),
    }


def _budget_flips(
    designs: Sequence[JudgingDesign], robust: Floats, usd: Floats, totals: Sequence[Total], chosen: int, request: Request
) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for factor in BUDGET_FACTORS:
        budget = request.budget_usd * factor
        affordable = np.array([1.0 - total.cdf(budget) <= request.risk for total in totals])
        flip: dict[str, Any] = {"what": "budget", "value": budget, "unit": "US$", "choice": None}
        if affordable.any():
            d, _ = choose(robust, usd, affordable, replace(request, budget_usd=budget))
            flip |= {"choice": designs[d].name, "accuracy": float(robust[0, d])}
        if flip["choice"] != designs[chosen].name:
            found.append(flip)
    return found


def _repeat_flips(
    designs: Sequence[JudgingDesign],
    robust: Floats,
    usd: Floats,
    affordable: Bools,
    chosen: int,
    population: JudgingPopulation,
    pilot: JudgeCalibration,
    request: Request,
) -> list[Mapping[str, Any]]:
    """Repeat correlation, where it is borrowed, at which another choice would be made: noise and item-by-item shifts trade places."""
    borrowed = {fit.data.name for fit in pilot.fits if not fit.data.has_repeats}
    if not borrowed:
        return []
    weights = {d: _weights(design.protocol, population) for d, design in enumerate(designs)}
    rough = _panel_row(designs, population, weights, coarse=True)
    for repeat in sorted(REPEATS, reverse=True):
        changed = _with_repeat(population, borrowed, repeat)
        if changed is None:
            continue
        moved = robust[:1] + np.nan_to_num(_panel_row(designs, changed, weights, coarse=True) - rough)
        d, _ = choose(moved, usd, affordable, request)
        if d != chosen:
            return [
                {
                    "what": "repeat correlation of judges without repeats",
                    "value": repeat,
                    "unit": "",
                    "choice": designs[d].name,
                    "direction": "at or below",
                }
            ]
    return []


def _with_repeat(population: JudgingPopulation, borrowed: set[str], repeat: float) -> JudgingPopulation | None:
    """Change borrowed repeat correlations; what each order shows, and how the two orders vary together, stays. None if impossible."""
    judges = []
    for judge in population.judges:
        if judge.name not in borrowed:
            judges.append(judge)
            continue
        noise = judge.gap.error_variance
        total = 1 + judge.sigma_b**2 + judge.position_sd**2 + noise
        wanted = (1 - repeat) * total
        moved = (
            wanted - noise
        ) / 2  # noise that is gained is lost half by the bias and half by the shift, so that both orders' covariance stays
        bias, shift = judge.sigma_b**2 - moved, judge.position_sd**2 - moved
        if bias < 0 or shift < 0 or wanted <= 1e-6:
            return None
        gap = judge.gap.with_error_variance(wanted)
        judges.append(replace(judge, sigma_b=math.sqrt(bias), position_sd=math.sqrt(shift), gap=gap))
    return replace(population, judges=tuple(judges))


def _bias_flips(
    designs: Sequence[JudgingDesign], robust: Floats, affordable: Bools, chosen: int, population: JudgingPopulation
) -> list[Mapping[str, Any]]:
    """Find how little of the judge's bias arguments must leave for a one-round debate to be the better choice."""
    debates = [
        d for d, design in enumerate(designs) if isinstance(design.protocol, Debate) and design.protocol.rounds == 1 and affordable[d]
    ]
    if not debates or designs[chosen].debates:
        return []
    for factor in (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.0):
        scores = {d: _debate_accuracy(designs[d], population, factor) for d in debates}
        best = max(debates, key=lambda d: scores[d])
        if scores[best] > robust[0, chosen]:
            return [
                {
                    "what": "bias that arguments leave (bias_factor)",
                    "value": factor,
                    "unit": "share",
                    "choice": designs[best].name,
                    "direction": "at or below",
                }
            ]
    return []


def _notes(
    pilot: JudgeCalibration, population: JudgingPopulation, priced: list[str], pricing: Pricing, request: Request
) -> tuple[str, ...]:
    notes = [
        "Accuracy is on items with a decided label; a tied verdict earns half a credit. One order: a coin decides what comes first.",
        "Panels are of different judges with correlated biases; they are not exchangeable, so which judges matters more than how many.",
        "Debates: no pilot of single judgements says what arguments do. They count with their worst accuracy over a bias factor "
        f"from 1 to .05; jurors and arguments are borrowed ({population.borrowed.get('jury', 'set by hand')}).",
    ]
    if pilot.borrowed_repeat:
        notes.append(f"Repeated calls: repeat correlation of judges without repeats is borrowed ({pilot.borrowed_repeat}).")
    if len(priced) < len(population.judges):
        others = ", ".join(judge.name for judge in population.judges if judge.name not in priced and not judge.model)
        if others:
            notes.append(
                f"Prices: the list has no model named {others}; their calls are priced as {pricing.price.model}. "
                "Name them in your price list to price them apart."
            )
    if "tokens" in population.borrowed:
        notes.append(f"Tokens of a call are borrowed ({population.borrowed['tokens']}): money is only as good as they are.")
    notes.append(
        f"Accuracy intervals carry the pilot's {pilot.items:,} items ({request.draws} bootstrap draws), "
        f"not the luck of the {request.items:,} items to come."
    )
    return tuple(notes)
