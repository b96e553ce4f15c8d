r"""Maps of accuracy, calls, money and regret over a grid of parameters, drawn as the cells that they are.

A protocol's rule depends on (tau_c, epsilon) through integers only (:mod:`.axes`), so a map over them is a step function with few distinct
values. Each distinct rule is worked out once, by the exact law; the map says which *cell* each grid point lies in, and where the cell's
edges are, exactly.

Regret is the distance to the best stopping rule at the same expected calls,

.. math:: regret = A^*(Q) - A, \qquad A^*(Q) = \text{largest accuracy of any stopping rule of at most } Q \text{ expected calls},

with the same gate, first answers and decision (:mod:`adjourn.theory.bound`).

A *flip* is a pair of neighbouring grid points where another protocol is the most accurate. Exact accuracies within 1e-12 of each other are
a tie.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..model import Estimate, ParameterError, Protocol, Result, StableConsensus, summarise
from ..model.exact import ExactLaw
from ..model.judging import judging_valid_keys
from ..model.result import exact
from ..model.settings import apply_settings, valid_keys
from .axes import RULE_KEYS, Axis, Interval, TierLattice, lattice, threshold_edges, with_threshold
from .families import Case, find_case
from .saved import SavedResult, provenance

if TYPE_CHECKING:
    from ..theory.bound import Frontier

__all__ = ["QUANTITIES", "Cell", "Flip", "Sweep", "sweep"]

QUANTITIES = ("accuracy", "calls", "debate_calls", "depth", "prompt_tokens", "completion_tokens", "usd", "right_to_wrong", "wrong_to_right")
_TIE = 1e-12


@dataclass(frozen=True)
class Cell:
    """Grid points of one protocol with one and the same law.

    Parameters
    ----------
    protocol : str
        Name.
    fixed : mapping of str to str
        Values of the axes that are no thresholds (those that mean something for the protocol).
    edges : mapping of str to Interval
        Exact intervals of tau_c and epsilon.
    points : int
        Number of grid points in it.
    means : mapping of str to Estimate or None
        Quantities; None where one does not exist.
    """

    protocol: str
    fixed: Mapping[str, str]
    edges: Mapping[str, Interval]
    points: int
    means: Mapping[str, Estimate | None]


@dataclass(frozen=True)
class Flip:
    """Two neighbouring grid points with different leaders.

    Parameters
    ----------
    axis : str
        Parameter in which they differ.
    low, high : str
        Its values.
    at : mapping of str to str
        Values of the other axes.
    before, after : str
        Most accurate protocols (several, joined by "=", where they tie).
    """

    axis: str
    low: str
    high: str
    at: Mapping[str, str]
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class Sweep(SavedResult):
    """A map over a grid.

    Parameters
    ----------
    axes : tuple of Axis
        The grid; its points are in the order of nested loops, the last axis fastest.
    protocols : tuple of str
        Names.
    population : str
        Name.
    quantities : tuple of str
        What the cells hold.
    cells : tuple of Cell
        All cells.
    cell_of : mapping of str to tuple of int
        For each protocol the cell of each grid point.
    lattices : mapping of str to tuple of TierLattice
        For each protocol, the distinct rules of each size of panel alone.
    laws : mapping of str to int
        For each protocol the number of distinct laws among its cells (cells of different rules may have one law).
    flips : tuple of Flip
        Where another protocol becomes the most accurate.
    notes : tuple of str
        What a reader must know.
    provenance : mapping
        Version and parameters.
    """

    kind: ClassVar[str] = "sweep"

    axes: tuple[Axis, ...]
    protocols: tuple[str, ...]
    population: str
    quantities: tuple[str, ...]
    cells: tuple[Cell, ...]
    cell_of: Mapping[str, tuple[int, ...]]
    lattices: Mapping[str, tuple[TierLattice, ...]]
    laws: Mapping[str, int]
    flips: tuple[Flip, ...]
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    def points(self) -> Iterator[dict[str, str]]:
        """Grid points as key to value, in order."""
        for values in itertools.product(*(axis.values for axis in self.axes)):
            yield dict(zip((axis.name for axis in self.axes), values, strict=True))

    def to_records(self) -> list[dict[str, Any]]:
        """One row for each protocol and grid point: the axes' values, the cell, mean and interval of each quantity."""
        rows: list[dict[str, Any]] = []
        numbers = {axis.name: axis.numbers() for axis in self.axes}
        for protocol in self.protocols:
            for index, point in zip(itertools.product(*(range(len(a.values)) for a in self.axes)), self.points(), strict=True):
                cell = self.cell_of[protocol][len(rows) % len(self.cell_of[protocol])]
                row: dict[str, Any] = {"protocol": protocol}
                for axis, i in zip(self.axes, index, strict=True):
                    values = numbers[axis.name]
                    row[axis.name] = point[axis.name] if values is None else values[i]
                row["cell"] = cell
                row.update(_flat_means(self.cells[cell].means))
                rows.append(row)
        return rows

    def cell_records(self) -> list[dict[str, Any]]:
        """One row for each cell, with its exact edges."""
        rows = []
        for number, cell in enumerate(self.cells):
            edges = {name: str(interval) for name, interval in cell.edges.items()}
            rows.append(
                {"cell": number, "protocol": cell.protocol, **cell.fixed, **edges, "points": cell.points, **_flat_means(cell.means)}
            )
        return rows

    def grid(self, quantity: str, protocol: str | None = None) -> np.ndarray[Any, Any]:
        """Return a quantity on the grid; shape (values of axis 1, values of axis 2, ...); NaN where it does not exist."""
        name = self.protocols[0] if protocol is None else protocol
        by_cell = np.array([math.nan if (e := cell.means.get(quantity)) is None else e.mean for cell in self.cells])
        return np.asarray(by_cell[np.array(self.cell_of[name])].reshape(tuple(len(axis.values) for axis in self.axes)))


def _flat_means(means: Mapping[str, Estimate | None]) -> dict[str, float | None]:
    row: dict[str, float | None] = {}
    for name, estimate in means.items():
        row[name] = None if estimate is None else estimate.mean
        row[f"{name}_low"] = None if estimate is None else estimate.low
        row[f"{name}_high"] = None if estimate is None else estimate.high
    return row


def sweep(
    protocols: Sequence[str],
    axes: Sequence[Axis],
    population: str | None = None,
    settings: Mapping[str, str] | None = None,
    *,
    prices: Path | None = None,
    model: str | None = None,
    engine: str = "exact",
    samples: int = 100_000,
    seed: int = 0,
    regret: bool = False,
    advance: Callable[[int], None] = lambda steps: None,
) -> Sweep:
    """Evaluate protocols on every point of a grid, each distinct law once.

    Parameters
    ----------
    protocols : sequence of str
        Names. An axis that means nothing for one of them leaves it as it is; one that means nothing for all is an error.
    axes : sequence of Axis
        The grid.
    population, settings, prices, model
        As for one simulation.
    engine : {"exact", "mc"}
        How laws are worked out; ``samples`` and ``seed`` are for ``mc``.
    regret : bool
        Add the regret to the best stopping rule.
    advance : callable
        Told how many grid points of a protocol are done.

    Raises
    ------
    ParameterError
        If an axis means nothing, or a value lies outside its range.
    """
    if engine not in ("exact", "mc"):
        raise ParameterError("--engine", engine, "exact or mc")
    if len(set(protocols)) < len(protocols):
        raise ParameterError("--protocol", list(protocols), "each protocol once")
    fixed = dict(settings or {})
    for axis in axes:
        if axis.name in fixed:
            raise ParameterError("--set", axis.name, "a key that is no axis of the grid")
    maps = [_Map(name, axes, population, fixed, prices, model, _Engine(engine, samples, seed, regret)) for name in protocols]
    for axis in axes:
        if all(axis.name not in m.keys for m in maps):
            valid = ", ".join(dict.fromkeys(key for m in maps for key in m.keys))
            raise ParameterError("--grid", axis.name, f"a key that means something here: {valid}")
    cells: list[Cell] = []
    cell_of = {}
    for m in maps:
        cell_of[m.name] = tuple(m.fill(cells, advance))
    quantities = tuple(dict.fromkeys(key for cell in cells for key in cell.means))
    return Sweep(
        axes=tuple(axes),
        protocols=tuple(protocols),
        population=maps[0].population,
        quantities=quantities,
        cells=tuple(cells),
        cell_of=cell_of,
        lattices={m.name: m.lattice() for m in maps},
        laws={m.name: len({_key(c.means) for c in cells if c.protocol == m.name}) for m in maps},
        flips=tuple(_flips(axes, list(protocols), cells, cell_of)),
        notes=tuple(dict.fromkeys(note for m in maps for note in m.notes)),
        provenance=provenance(
            command="sweep",
            protocols=list(protocols),
            population=maps[0].case.population.to_dict(),
            axes=[[a.name, list(a.values)] for a in axes],
            settings=fixed,
            regret=regret,
            engine=engine,
            samples=samples if engine == "mc" else None,
            seed=seed if engine == "mc" else None,
            prices=maps[0].case.pricing.to_dict() if maps[0].case.pricing else None,
        ),
    )


def _key(means: Mapping[str, Estimate | None]) -> tuple[float | None, ...]:
    return tuple(None if e is None else e.mean for e in means.values())


@dataclass(frozen=True)
class _Engine:
    name: str
    samples: int
    seed: int
    regret: bool


class _Map:
    """One protocol over the grid."""

    def __init__(
        self,
        name: str,
        axes: Sequence[Axis],
        population: str | None,
        settings: Mapping[str, str],
        prices: Path | None,
        model: str | None,
        engine: _Engine,
    ) -> None:
        self.name = name
        self.axes = axes
        self.engine = engine
        self._arguments = (population, settings, prices, model)
        self.case = self._case({})
        self.population = self.case.population.name
        known = valid_keys if self._reasoning else judging_valid_keys
        self.keys: list[str] = list(known(self.case.protocol, self.case.population))
        self.notes: list[str] = []
        self._rules: list[StableConsensus] = []

    @property
    def _reasoning(self) -> bool:
        return isinstance(self.case.protocol, Protocol)

    def _case(self, extra: Mapping[str, str]) -> Case:
        population, settings, prices, model = self._arguments
        return find_case(self.name, population, {**settings, **extra}, prices, model, skip_meaningless=True)

    def fill(self, cells: list[Cell], advance: Callable[[int], None]) -> list[int]:
        """Append this protocol's cells; return the cell of each grid point."""
        names = [axis.name for axis in self.axes]
        ruled = [n for n in names if n in RULE_KEYS and n in self.keys] if self._reasoning and self.engine.name == "exact" else []
        found: list[int] = []
        slices: dict[tuple[tuple[str, str], ...], _Slice] = {}
        known: dict[tuple[object, ...], int] = {}
        counts: dict[int, int] = {}
        for values in itertools.product(*(axis.values for axis in self.axes)):
            point = dict(zip(names, values, strict=True))
            outer = tuple((n, point[n]) for n in names if n in self.keys and n not in ruled)
            if outer not in slices:
                slices[outer] = _Slice(self._case(dict(outer)), self.engine)
            inner = {n: point[n] for n in ruled}
            here = slices[outer]
            signature = (outer, here.signature(inner))
            if signature not in known:
                known[signature] = len(cells)
                result = here.result(inner)
                self.notes += result.notes
                cells.append(Cell(self.name, dict(outer), here.edges(inner), 0, _means(result, here.regret(result))))
            counts[known[signature]] = counts.get(known[signature], 0) + 1
            found.append(known[signature])
            advance(1)
        self._rules = list({rule: None for s in slices.values() for rule in s.rules})
        for number, count in counts.items():
            cells[number] = replace(cells[number], points=count)
        return found

    def lattice(self) -> tuple[TierLattice, ...]:
        """Distinct rules of each size of panel, where the grid moves the rule."""
        return lattice(self.case.protocol, self._rules) if self._rules else ()


class _Slice:
    """One protocol with everything fixed but its stopping rule."""

    def __init__(self, case: Case, engine: _Engine) -> None:
        self.case = case
        self.engine = engine
        self.rules: dict[StableConsensus, None] = {}
        self._exact = engine.name == "exact" and isinstance(case.protocol, Protocol)
        self._law = ExactLaw(case.protocol, case.population) if self._exact else None
        self._known: dict[tuple[tuple[str, str], ...], Protocol] = {}
        self._signatures: dict[StableConsensus, tuple[object, ...]] = {}
        self._frontier: Frontier | None = None

    def _protocol(self, inner: Mapping[str, str]) -> Any:
        if not inner:
            return self.case.protocol
        key = tuple(inner.items())
        if key not in self._known:
            rule = self._rule(inner)
            self._known[key] = replace(self.case.protocol, round_stop=rule)
            self.rules[rule] = None
        return self._known[key]

    def _rule(self, inner: Mapping[str, str]) -> StableConsensus:
        words = {name: value for name, value in inner.items() if name not in ("tau_c", "epsilon")}
        rule = (apply_settings(self.case.protocol, self.case.population, words)[0] if words else self.case.protocol).round_stop
        assert isinstance(rule, StableConsensus)
        for name, value in inner.items():
            if name not in words:
                rule = with_threshold(rule, name, value)
        return rule

    def signature(self, inner: Mapping[str, str]) -> tuple[object, ...]:
        """Return what makes the law distinct within the slice."""
        if self._law is None or not inner:
            return ()
        rule = self._protocol(inner).round_stop
        if rule not in self._signatures:
            self._signatures[rule] = self._law.signature(rule)
        return self._signatures[rule]

    def result(self, inner: Mapping[str, str]) -> Result:
        """Work the law out."""
        if self._law is None:
            if self.engine.name == "mc":
                return self.case.monte_carlo(samples=self.engine.samples, seed=self.engine.seed)
            return self.case.exact()
        protocol = self._protocol(inner)
        masses = self._law.masses(protocol.round_stop)
        return summarise(protocol, self.case.population, masses, engine="exact", pricing=self.case.pricing)

    def regret(self, result: Result) -> Estimate | None:
        """Distance to the best stopping rule at the same expected calls, where it was asked for and there is a debate to stop."""
        if not self.engine.regret or not isinstance(self.case.protocol, Protocol) or not self.case.protocol.tiers:
            return None
        from ..theory.bound import protocol_frontier

        if self._frontier is None:
            self._frontier = protocol_frontier(self.case.protocol, self.case.population)
        return exact(self._frontier.regret(result.mean("debate_calls").mean, result.mean("accuracy").mean))

    def edges(self, inner: Mapping[str, str]) -> dict[str, Interval]:
        """Exact intervals of the thresholds around a point: merged as long as the rule stays the same."""
        if self._law is None or not {"tau_c", "epsilon"} & set(inner):
            return {}
        protocol = self._protocol(inner)
        rule = protocol.round_stop
        tau, epsilon = threshold_edges(
            [t.agents for t in protocol.tiers], protocol.chains if protocol.inherits and rule.first_share == "chains" else None
        )
        found = {}
        for name, intervals in (("tau_c", tau), ("epsilon", epsilon)):
            if name in inner:
                found[name] = self._merged(rule, name, intervals)
        return found

    def _merged(self, rule: StableConsensus, name: str, intervals: Sequence[Interval]) -> Interval:
        assert self._law is not None
        here = next(i for i, interval in enumerate(intervals) if Fraction(getattr(rule, name)) in interval)
        mine = self._law.signature(rule)

        def same(i: int) -> bool:
            assert self._law is not None
            middle = (Fraction(intervals[i].low) + Fraction(intervals[i].high)) / 2
            return self._law.signature(with_threshold(rule, name, middle)) == mine

        low = high = here
        while low > 0 and same(low - 1):
            low -= 1
        while high < len(intervals) - 1 and same(high + 1):
            high += 1
        first, last = intervals[low], intervals[high]
        return Interval(first.low, last.high, first.low_closed, last.high_closed)


def _means(result: Result, regret: Estimate | None) -> dict[str, Estimate | None]:
    means = {key: value for key, value in result.means.items() if key != "candidate_accuracy"}
    if regret is not None:
        means["regret"] = regret
    return means


def _flips(axes: Sequence[Axis], protocols: list[str], cells: Sequence[Cell], cell_of: Mapping[str, Sequence[int]]) -> Iterator[Flip]:
    """Neighbouring grid points with different leaders."""
    if len(protocols) < 2:
        return
    shape = tuple(len(axis.values) for axis in axes)
    accuracy = np.array([[_accuracy(cells[c]) for c in cell_of[name]] for name in protocols])
    leads = accuracy >= accuracy.max(axis=0) - _TIE
    code = (leads * (1 << np.arange(len(protocols)))[:, None]).sum(axis=0).reshape(shape)

    def names(value: int) -> str:
        return "=".join(name for i, name in enumerate(protocols) if value >> i & 1)

    for k, axis in enumerate(axes):
        here = np.moveaxis(code, k, 0)
        for where in np.argwhere(here[1:] != here[:-1]):
            step, others = int(where[0]), where[1:]
            before, after = int(here[(step, *others)]), int(here[(step + 1, *others)])
            rest = [a for j, a in enumerate(axes) if j != k]
            at = {a.name: a.values[int(i)] for a, i in zip(rest, others, strict=True)}
            yield Flip(axis.name, axis.values[step], axis.values[step + 1], at, names(before), names(after))


def _accuracy(cell: Cell) -> float:
    estimate = cell.means.get("accuracy")
    return math.nan if estimate is None else estimate.mean
