r"""Whether reported averages of debates can hold together: exact rational linear programming.

Let x(t, n, r) be the share of questions that a debate of tier t with n agents ends after r rounds, r from the first round
where a stop is possible (or R_t) to R_t. Everything reported about calls and rounds is linear in x:

.. math:: calls = c + \sum n\,r\,x, \quad calls\ without\ stop = c + \sum n\,R_t\,x, \quad depth = \sum r\,x, \quad \sum x = 1,

c what "calls" count besides debate calls: nothing, or M + 1 with M >= 0 unknown. A figure printed with some digits is any value that
rounds to it: the closed box of half a unit around it. Infeasible with c free is infeasible for every M. Minimal conflicts are sets that
are infeasible while every proper subset is feasible; for what is feasible the exact range of every other quantity is given, for each M.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from ..model import FileFormatError
from .linear import Constraint, Programme
from .printed import Reported, check_entries, listed, whole

__all__ = ["OVERHEADS", "Allowance", "Debate", "Range", "Scenario"]

OVERHEADS = ("none", "1", "chains", "chains + 1")
_MOST_FIGURES = 8
_ROUNDS = 16


@dataclass(frozen=True)
class Range:
    """Exact range of a quantity, as rationals; an empty end is unbounded."""

    low: str
    high: str

    @classmethod
    def of(cls, low: Fraction | None, high: Fraction | None) -> Range:
        """Write both ends."""
        return cls("" if low is None else str(low), "" if high is None else str(high))

    def numbers(self) -> tuple[float, float]:
        """Both ends as floats, infinite where unbounded."""
        return float(Fraction(self.low)) if self.low else -math.inf, float(Fraction(self.high)) if self.high else math.inf

    def __str__(self) -> str:
        """Four decimals."""
        low, high = self.numbers()
        return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"


@dataclass(frozen=True)
class Allowance:
    """What a feasible set of figures allows.

    Parameters
    ----------
    figures : tuple of str
        The set.
    ranges : mapping of str to Range
        Exact ranges of all other quantities, within rounding.
    chains : tuple of int
        Possible M, where calls count the chains (the first 20 of them).
    every_chains : bool
        Whether no M above the list is excluded either.
    by_chains : mapping of str to mapping of str to Range
        The same ranges at each of these M.
    as_printed : mapping of str to mapping of str to Range
        The same, at each M (or at ``""`` where M does not matter), if the figures held exactly as printed; empty where they cannot.
    """

    figures: tuple[str, ...]
    ranges: Mapping[str, Range]
    chains: tuple[int, ...]
    every_chains: bool
    by_chains: Mapping[str, Mapping[str, Range]]
    as_printed: Mapping[str, Mapping[str, Range]]


@dataclass(frozen=True)
class Scenario:
    """One reading of what the figures mean.

    Parameters
    ----------
    overhead : str
        What calls count besides debate calls.
    first_stop : int
        First round after which a debate may stop.
    feasible : bool
        Whether all figures can hold together, for any M.
    conflicts : tuple of tuple of str
        Minimal conflicting sets.
    overhead_needed : tuple of str
        For each conflict, the largest overhead (calls a question besides debate calls) that the set would allow; empty where none does.
    allowances : tuple of Allowance
        What the largest feasible sets, and all feasible pairs, allow.
    """

    overhead: str
    first_stop: int
    feasible: bool
    conflicts: tuple[tuple[str, ...], ...]
    overhead_needed: tuple[str, ...]
    allowances: tuple[Allowance, ...]

    def text(self) -> str:
        """In words."""
        counted = {"none": "calls are debate calls alone", "1": "calls count + 1"}.get(
            self.overhead, f"calls count {self.overhead}, any M >= 0"
        )
        return f"{counted}; a stop is possible from round {self.first_stop}"


@dataclass(frozen=True)
class _Tier:
    name: str
    sizes: tuple[int, ...]
    rounds: int


@dataclass(frozen=True)
class Debate:
    """Tiers of a debate, the readings to try, and what is reported about it.

    Parameters
    ----------
    tiers : tuple of _Tier
        Panel sizes and rounds.
    overheads : tuple of str
        What "calls" may count besides debate calls.
    first_stops : tuple of int
        First rounds after which a stop may be possible.
    chains : int or None
        M where it is published.
    reported : mapping of str to Reported
        Figures by name.
    """

    tiers: tuple[_Tier, ...]
    overheads: tuple[str, ...]
    first_stops: tuple[int, ...]
    chains: int | None
    reported: Mapping[str, Reported]

    @classmethod
    def read(cls, table: object, where: str) -> Debate:
        """Read the ``[debate]`` table of an audit file."""
        if not isinstance(table, Mapping):
            raise FileFormatError(where, "debate is no table; write [debate].")
        check_entries(table, ("tiers", "overhead", "first_stop", "chains", "reported"), ("tiers", "reported"), "debate", where)
        tiers = tuple(_read_tier(entry, where) for entry in listed(table["tiers"]))
        overheads = tuple(str(o) for o in listed(table.get("overhead", "none")))
        for overhead in overheads:
            if overhead not in OVERHEADS:
                raise FileFormatError(where, f"overhead = {overhead!r}; allowed are {', '.join(repr(o) for o in OVERHEADS)}.")
        first_stops = tuple(whole(s, "first_stop", 1, _ROUNDS, where) for s in listed(table.get("first_stop", 1)))
        chains = whole(table["chains"], "chains", 0, 10**6, where) if "chains" in table else None
        if not isinstance(table["reported"], Mapping) or not table["reported"]:
            raise FileFormatError(where, "[debate.reported] holds no figure.")
        reported = {name: Reported.read(raw, name, where) for name, raw in _flatten(table["reported"]).items()}
        if len(reported) > _MOST_FIGURES:
            raise FileFormatError(where, f"{len(reported)} figures of one debate; at most {_MOST_FIGURES} are audited together.")
        debate = cls(tiers, overheads, first_stops, chains, reported)
        for name in reported:
            if name not in debate.forms(1):
                raise FileFormatError(where, f"unknown figure {name!r}; known are: {', '.join(debate.forms(1))}.")
        return debate

    def variables(self, first_stop: int) -> Iterator[tuple[str, _Tier, int, int]]:
        """(name, tier, agents, rounds) of each share."""
        for tier in self.tiers:
            for size in tier.sizes:
                for r in range(min(first_stop, tier.rounds), tier.rounds + 1):
                    yield f"{tier.name} {size} {r}", tier, size, r

    def forms(self, first_stop: int) -> dict[str, dict[str, Fraction]]:
        """Every quantity as a linear form in the shares and the overhead."""
        forms: dict[str, dict[str, Fraction]] = {}

        def add(name: str, variable: str, value: int) -> None:
            if value or name not in forms:
                forms.setdefault(name, {})[variable] = Fraction(value)

        for variable, tier, size, r in self.variables(first_stop):
            for suffix, rounds in (("", r), ("_without_stop", tier.rounds)):
                add(f"calls{suffix}", variable, size * rounds)
                add(f"debate_calls{suffix}", variable, size * rounds)
                add(f"depth{suffix}", variable, rounds)
            add("agents", variable, size)
            add(f"mass.{tier.name}", variable, 1)
            if r < tier.rounds:
                add(f"stopped.{tier.name}", variable, 1)
                add("stopped", variable, 1)
            for k in range(1, max(t.rounds for t in self.tiers) + 1):
                add(f"ended_by.{k}", variable, int(r <= k))
        for name in ("calls", "calls_without_stop"):
            forms[name]["overhead"] = Fraction(1)
        return forms

    def scenarios(self) -> Iterator[Scenario]:
        """All readings."""
        names = tuple(self.reported)
        for overhead in self.overheads:
            for first_stop in self.first_stops:
                possible = {
                    s: self._programme(s, overhead, first_stop).feasible for k in range(len(names) + 1) for s in combinations(names, k)
                }
                conflicts = [s for s, ok in possible.items() if not ok and all(possible[t] for t in combinations(s, len(s) - 1))]
                largest = [s for s, ok in possible.items() if ok and not any(possible[t] and set(s) < set(t) for t in possible)]
                told = dict.fromkeys([*largest, *(s for s, ok in possible.items() if ok and len(s) == 2)])
                allowances = tuple(self._allowance(s, overhead, first_stop) for s in told)
                needed = tuple(self._largest_overhead(s, first_stop) for s in conflicts)
                yield Scenario(overhead, first_stop, possible[names], tuple(conflicts), needed, allowances)

    def _largest_overhead(self, figures: Sequence[str], first_stop: int) -> str:
        """Largest overhead >= 0, whole or not, that the figures allow; empty where none does."""
        programme = self._programme(figures, "chains", first_stop, free=True)
        if not programme.feasible:
            return ""
        high = programme.range({"overhead": Fraction(1)})[1]
        return "" if high is None else str(high)

    def _programme(
        self,
        figures: Sequence[str],
        overhead: str,
        first_stop: int,
        chains: int | None = None,
        *,
        printed: bool = False,
        free: bool = False,
    ) -> Programme:
        forms = self.forms(first_stop)
        one = Fraction(1)
        shares = {variable: one for variable, *_ in self.variables(first_stop)}
        rows = [Constraint("shares", shares, one, one)]
        low, high = (Fraction(0), None) if free else _overhead_bounds(overhead, self.chains if chains is None else chains)
        rows.append(Constraint("overhead", {"overhead": one}, low, high))
        for name in figures:
            r = self.reported[name]
            rows.append(Constraint(name, forms[name], r.value if printed else r.low, r.value if printed else r.high))
        return Programme(rows)

    def _allowance(self, figures: tuple[str, ...], overhead: str, first_stop: int) -> Allowance:
        asked = [name for name in self.forms(first_stop) if name not in figures and not name.startswith("ended_by")]
        counted = "chains" in overhead
        free = self._programme(figures, overhead, first_stop)
        chains: list[int] = []
        ranges = self._ranges(free, asked, first_stop)
        endless = False
        if counted:
            low, high = free.range({"overhead": Fraction(1)})
            plus = 1 if overhead == "chains + 1" else 0
            assert low is not None
            endless = high is None
            top = 19 if high is None else min(math.floor(high) - plus, math.ceil(low) - plus + 19)
            chains = list(range(max(math.ceil(low) - plus, 0), top + 1))
            ranges["overhead"] = Range.of(low, high)
        by_chains = {str(m): self._ranges(self._programme(figures, overhead, first_stop, m), asked, first_stop) for m in chains}
        as_printed = {}
        for m in chains if counted else [None]:
            programme = self._programme(figures, overhead, first_stop, m, printed=True)
            if programme.feasible:
                as_printed["" if m is None else str(m)] = self._ranges(programme, asked, first_stop)
        return Allowance(figures, ranges, tuple(chains), endless, by_chains, as_printed)

    def _ranges(self, programme: Programme, asked: Sequence[str], first_stop: int) -> dict[str, Range]:
        forms = self.forms(first_stop)
        return {name: Range.of(*programme.range(forms[name])) for name in asked}


def _overhead_bounds(overhead: str, chains: int | None) -> tuple[Fraction, Fraction | None]:
    plus = Fraction(1 if overhead in ("1", "chains + 1") else 0)
    if "chains" not in overhead:
        return plus, plus
    return (plus, None) if chains is None else (plus + chains, plus + chains)


def _flatten(table: Mapping[str, Any]) -> dict[str, Any]:
    """``mass.high = ...`` is a table in a table in TOML."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        nested = isinstance(value, Mapping) and "value" not in value
        flat.update({f"{key}.{k}": v for k, v in value.items()} if nested else {key: value})
    return flat


def _read_tier(entry: object, where: str) -> _Tier:
    if not isinstance(entry, Mapping):
        raise FileFormatError(where, f"tiers holds {entry!r}; write {{ name = ..., agents = ..., rounds = ... }}.")
    check_entries(entry, ("name", "agents", "rounds"), ("name", "agents", "rounds"), "debate.tiers", where)
    ends = [whole(a, "agents", 1, 64, where) for a in listed(entry["agents"])]
    if len(ends) > 2 or ends != sorted(ends):
        raise FileFormatError(where, f"agents = {entry['agents']!r}; write one number, or [smallest, largest].")
    return _Tier(str(entry["name"]), tuple(range(ends[0], ends[-1] + 1)), whole(entry["rounds"], "rounds", 1, _ROUNDS, where))
