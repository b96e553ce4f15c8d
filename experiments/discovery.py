r"""Where debate loses to self-consistency: scenario discovery by a readable box of inputs, with coverage and density.

A design of points over the uncertain inputs is judged by the exact law: does debate lose to self-consistency of the *same expected cost*?
Self-consistency at cost c is the mixture of the two numbers of samples whose costs enclose c. PRIM (Friedman and Fisher 1999; Bryant and
Lempert 2010) then peels a box: in each step the slice of at most 5 % of the points (or one level of a lattice input) whose removal leaves
the densest box goes, and at the end limits that can be loosened without losing density are. Of the boxes on the way the one with the best
harmonic mean of

.. math::

    coverage = \frac{\text{cases in the box}}{\text{all cases}}, \qquad density = \frac{\text{cases in the box}}{\text{points in the box}}

is kept. The box is found on one half of the points; coverage and density are those of the other half, with intervals.

The known library for this (EMA Workbench) brings pandas, scikit-learn and plotting stacks for what is forty lines of peeling here, so none
is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..model import Estimate, ParameterError, Protocol
from ..model.exact import simulate, vote_accuracy
from ..model.result import share
from .families import find_case
from .inputs import Input, studied_inputs
from .saved import SavedResult, provenance

__all__ = ["Box", "Discovery", "Limit", "discover", "find_box"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_PEEL = 0.05
_LEAST_MASS = 0.05
_MOST_SAMPLES = 101


@dataclass(frozen=True)
class Limit:
    """A limited input of a box.

    Parameters
    ----------
    input : str
        Name.
    low, high : float
        Limits (indices of levels for a lattice input: low included, high not).
    range_low, range_high : float
        Its whole range.
    levels : tuple of str
        The levels that belong to the box, for a lattice input.
    """

    input: str
    low: float
    high: float
    range_low: float
    range_high: float
    levels: tuple[str, ...] = ()

    def text(self) -> str:
        """Readable: ``lam <= 0.4``, ``tau_c in 5/6, 1``."""
        if self.levels:
            return f"{self.input} in {', '.join(self.levels)}"
        if self.low <= self.range_low:
            return f"{self.input} <= {self.high:.3g}"
        if self.high >= self.range_high:
            return f"{self.input} >= {self.low:.3g}"
        return f"{self.low:.3g} <= {self.input} <= {self.high:.3g}"


@dataclass(frozen=True)
class Box:
    """A box and how well it tells the cases apart.

    Parameters
    ----------
    limits : tuple of Limit
        Limited inputs only.
    coverage, density : Estimate
        On points that the box was not found on, with 95 % intervals.
    coverage_found, density_found : float
        On the points that it was found on (too good).
    """

    limits: tuple[Limit, ...]
    coverage: Estimate
    density: Estimate
    coverage_found: float
    density_found: float


@dataclass(frozen=True, kw_only=True)
class Discovery(SavedResult):
    """In which region a design loses.

    Parameters
    ----------
    question : str
        What a case is.
    inputs : tuple of Input
        Inputs with their laws.
    points : int
        Number of points.
    cases : Estimate
        Share of all points that are cases.
    box : Box
        The region.
    records : tuple of mapping
        Every point: inputs, both values, whether it is a case.
    notes : tuple of str
        What a reader must know.
    provenance : mapping
        Version and parameters.
    """

    kind: ClassVar[str] = "discovery"

    question: str
    inputs: tuple[Input, ...]
    points: int
    cases: Estimate
    box: Box
    records: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    def to_records(self) -> list[dict[str, Any]]:
        """One row for each point."""
        return [dict(row) for row in self.records]


def find_box(points: Floats, cases: Bools, inputs: Sequence[Input]) -> list[tuple[float, float]]:
    """Peel and paste a box.

    Parameters
    ----------
    points : ndarray, shape (n, d)
        Inputs (indices for levels).
    cases : ndarray of bool, shape (n,)
        What to enclose.
    inputs : sequence of Input
        Laws of the inputs.

    Returns
    -------
    list of (low, high)
        Limits of each input, both included.
    """
    d = points.shape[1]
    limits = [(float(points[:, k].min()), float(points[:, k].max())) for k in range(d)]
    best, best_score = list(limits), _score(points, cases, limits)
    inside = np.ones(len(points), dtype=bool)
    while inside.sum() > max(_LEAST_MASS * len(points), 10) and cases[inside].mean() < 1:
        candidates = [c for k in range(d) for c in _peels(points, inside, k, inputs[k])]
        kept = [(float(cases[rest].mean()), -int(rest.sum()), k, bounds, rest) for k, bounds, rest in candidates if rest.any()]
        if not kept:
            break
        _, _, k, bounds, inside = max(kept, key=lambda c: (c[0], c[1]))
        limits[k] = bounds
        score = _score(points, cases, limits)
        if score > best_score + 1e-12:
            best, best_score = list(limits), score
    return _loosen(points, cases, best)


def _inside(points: Floats, limits: Sequence[tuple[float, float]]) -> Bools:
    low, high = np.array(limits).T
    return np.asarray(((points >= low) & (points <= high)).all(axis=1))


def _score(points: Floats, cases: Bools, limits: Sequence[tuple[float, float]]) -> float:
    """Harmonic mean of coverage and density."""
    inside = _inside(points, limits)
    hits = int(cases[inside].sum())
    return 2 * hits / (int(cases.sum()) + int(inside.sum())) if hits else 0.0


def _peels(points: Floats, inside: Bools, k: int, input_: Input) -> list[tuple[int, tuple[float, float], Bools]]:
    values = points[inside, k]
    low, high = float(values.min()), float(values.max())
    if low == high:
        return []
    if input_.levels:
        bounds = [(low + 1, high), (low, high - 1)]
    else:
        lower, upper = np.quantile(values, [_PEEL, 1 - _PEEL], method="inverted_cdf")
        above, below = values[values > lower], values[values < upper]
        bounds = [(float(above.min()), high)] if len(above) else []
        bounds += [(low, float(below.max()))] if len(below) else []
    return [(k, b, inside & (points[:, k] >= b[0]) & (points[:, k] <= b[1])) for b in bounds]


def _loosen(points: Floats, cases: Bools, limits: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Free every limit whose removal does not lower the score: what is left is what matters."""
    for k in range(points.shape[1]):
        for end in (0, 1):
            whole = (float(points[:, k].min()), float(points[:, k].max()))
            freed = list(limits)
            freed[k] = (whole[0], limits[k][1]) if end == 0 else (limits[k][0], whole[1])
            if _score(points, cases, freed) >= _score(points, cases, limits) - 0.005:
                limits = freed
    return limits


def discover(
    protocol: str,
    population: str | None = None,
    over: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
    *,
    cost: str = "calls",
    points: int = 512,
    prices: Path | None = None,
    model: str | None = None,
    seed: int = 0,
    advance: Callable[[int], None] = lambda steps: None,
) -> Discovery:
    """Find the region where a protocol loses to self-consistency of the same expected cost.

    Parameters
    ----------
    protocol, population, settings, prices, model
        As for one simulation.
    over : sequence of str
        Inputs; by default all that is uncertain or unpublished.
    cost : {"calls", "usd", "completion_tokens"}
        What is held equal.
    points : int
        Number of points, half of them held out.
    seed : int
        Seed of the design of points.
    advance : callable
        Told how many points are done.

    Raises
    ------
    ParameterError
        If the cost is none of these, the protocol is none of reasoning, an input is also fixed, or none is left.
    """
    from scipy.stats import qmc

    if cost not in ("calls", "usd", "completion_tokens"):
        raise ParameterError("--cost", cost, "one of calls, usd, completion_tokens")
    fixed = dict(settings or {})
    case = find_case(protocol, population, fixed, prices, model)
    if not isinstance(case.protocol, Protocol):
        raise ParameterError("protocol", protocol, "a reasoning protocol (self-consistency is what it is compared with)")
    inputs = studied_inputs(over, case.protocol, case.population, fixed)
    u = qmc.Sobol(d=len(inputs), scramble=True, rng=np.random.default_rng(seed)).random(1 << max(points - 1, 1).bit_length())[:points]
    design = np.column_stack([x.at(u[:, k]) for k, x in enumerate(inputs)])
    rows: list[dict[str, Any]] = []
    for row in design:
        here = {**fixed, **{x.name: x.text(v) for x, v in zip(inputs, row, strict=True)}}
        result = find_case(protocol, population, here, prices, model).exact()
        rival = find_case("cot_sc", population, here, prices, model, skip_meaningless=True)
        accuracy, spent = result.mean("accuracy").mean, result.mean(cost).mean
        equal = self_consistency_at(rival.population, spent / _sample_cost(rival, cost))
        rows.append({**{x.name: x.text(v) for x, v in zip(inputs, row, strict=True)}, cost: spent, "accuracy": accuracy, "rival": equal})
        advance(1)
    gaps = np.array([r["accuracy"] - r["rival"] for r in rows])
    cases = gaps < -1e-9
    return Discovery(
        question=f"{case.protocol.name} on {case.population.name} is less accurate than self-consistency of equal {cost}",
        inputs=inputs,
        points=len(rows),
        cases=share(int(cases.sum()), len(cases)),
        box=_held_out_box(design, cases, inputs),
        records=tuple({**r, "loses": bool(c)} for r, c in zip(rows, cases, strict=True)),
        notes=tuple(case.exact().notes),
        provenance=provenance(
            command="discover",
            protocol=case.protocol.to_dict(),
            population=case.population.to_dict(),
            settings=fixed,
            over=[[x.name, x.low, x.high, list(x.levels)] for x in inputs],
            cost=cost,
            seed=seed,
        ),
    )


def _sample_cost(rival: Any, cost: str) -> float:
    """Cost of one sample of self-consistency."""
    one = simulate(replace(rival.protocol, chains=1), rival.population, rival.pricing)
    return one.mean(cost).mean


def self_consistency_at(population: Any, samples: float) -> float:
    """Accuracy of self-consistency that spends ``samples`` samples on average: a mixture of the two nearest numbers (at most 101)."""
    low = min(max(math.floor(samples), 1), _MOST_SAMPLES)
    high = min(low + 1, _MOST_SAMPLES)
    part = min(max(samples - low, 0.0), 1.0)
    return (1 - part) * vote_accuracy(population, low) + part * vote_accuracy(population, high)


def _held_out_box(design: Floats, cases: Bools, inputs: Sequence[Input]) -> Box:
    """Find the box on the even points; judge it on the odd ones."""
    train, test = np.arange(len(cases)) % 2 == 0, np.arange(len(cases)) % 2 == 1
    limits = find_box(design[train], cases[train], inputs) if cases[train].any() else [(x.low, x.high) for x in inputs]
    limits = [_to_range(limit, design[train, k]) for k, limit in enumerate(limits)]
    inside = _inside(design, limits)
    found = cases & train & inside
    hits = int((cases & test & inside).sum())
    return Box(
        limits=tuple(_limit(x, *b) for x, b in zip(inputs, limits, strict=True) if not _is_whole(*b)),
        coverage=share(hits, int((cases & test).sum())),
        density=share(hits, int((inside & test).sum())),
        coverage_found=float(found.sum() / max((cases & train).sum(), 1)),
        density_found=float(found.sum() / max((inside & train).sum(), 1)),
    )


def _to_range(limit: tuple[float, float], values: Floats) -> tuple[float, float]:
    """Free an end that lies at the outermost point."""
    low = -math.inf if limit[0] <= values.min() else limit[0]
    high = math.inf if limit[1] >= values.max() else limit[1]
    return low, high


def _is_whole(low: float, high: float) -> bool:
    return low == -math.inf and high == math.inf


def _limit(x: Input, low: float, high: float) -> Limit:
    if x.levels:
        first, last = int(max(low, 0)), int(min(high, len(x.levels) - 1))
        return Limit(x.name, first, last + 1, 0, len(x.levels), x.levels[first : last + 1])
    return Limit(x.name, max(low, x.low), min(high, x.high), x.low, x.high)
