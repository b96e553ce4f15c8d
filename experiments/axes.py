r"""Axes of a grid, and what thresholds amount to on the lattice of shares.

An axis is a parameter and its values as text, so that a threshold is read as the rational that was written: ``tau_c=0.30:1.00:71`` are 71
values, exactly .30, .31, ..., 1; ``chains=1,3,5`` are three.

tau_c and epsilon act through integers. A panel of N agents fires at counts

.. math:: k \ge \lceil \tau N \rceil, \qquad |k - k'| \le \lfloor \epsilon N \rfloor,

so all tau in ((k-1)/N, k/N] are one threshold and all epsilon in [j/N, (j+1)/N) are one tolerance (where C(0) is the share among M chains,
the tolerance moves in steps of 1/(N M)). A *cell* is a set of (tau_c, epsilon) with one and the same rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from ..model import ParameterError, Protocol, StableConsensus
from ..model.settings import as_count, as_number
from ..model.thresholds import RationalLike, as_fraction
from .pairs import split_pair

__all__ = ["RULE_KEYS", "Axis", "Interval", "TierLattice", "lattice", "read_axes", "threshold_edges", "with_threshold"]

RULE_KEYS = ("tau_c", "epsilon", "same_leader", "first_share")
"""Parameters of the stopping rule: what they change is evaluated on one prepared law."""

MOST_POINTS = 1_000_000


@dataclass(frozen=True)
class Axis:
    """A parameter and its values.

    Parameters
    ----------
    name : str
        Key, as of ``--set``.
    values : tuple of str
        Values as text.
    """

    name: str
    values: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> Axis:
        """Read ``key=start:stop:count`` or ``key=value,value,...``.

        Raises
        ------
        ParameterError
            If the text is no axis.
        """
        allowed = "key=start:stop:count, such as tau_c=0.30:1.00:71, or key=value,value,..."
        name, spec = split_pair("--grid", text, allowed)
        if ":" not in spec:
            values = tuple(value.strip() for value in spec.split(","))
            if not all(values) or len(set(values)) < len(values):
                raise ParameterError("--grid", text, allowed, "Each value must be given once.")
            return cls(name, values)
        parts = spec.split(":")
        if len(parts) != 3:
            raise ParameterError("--grid", text, allowed)
        start, stop = (as_fraction(part, f"--grid {name}", -(10**9), 10**9) for part in parts[:2])
        count = as_count(f"--grid {name}", parts[2])
        if not 2 <= count <= MOST_POINTS or start >= stop:
            raise ParameterError("--grid", text, f"{allowed}, with start < stop and a count from 2 to {MOST_POINTS}")
        return cls(name, tuple(fraction_text(start + (stop - start) * Fraction(i, count - 1)) for i in range(count)))

    def numbers(self) -> list[float] | None:
        """Values as numbers, or None where one is no number."""
        try:
            return [as_number(self.name, value) for value in self.values]
        except ParameterError:
            return None


def read_axes(texts: Sequence[str]) -> tuple[Axis, ...]:
    """Read several axes; a parameter may come once.

    Raises
    ------
    ParameterError
        If there is none, one comes twice, or the grid has more than a million points.
    """
    axes = tuple(Axis.read(text) for text in texts)
    if not axes:
        raise ParameterError("--grid", None, "at least one axis, such as --grid tau_c=0.30:1.00:71")
    names = [axis.name for axis in axes]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError("--grid", name, "each parameter once")
    points = 1
    for axis in axes:
        points *= len(axis.values)
    if points > MOST_POINTS:
        raise ParameterError("--grid", f"{points:,} points", f"at most {MOST_POINTS:,} points")
    return axes


def fraction_text(value: Fraction) -> str:
    """Shortest exact text of a rational: an integer or a decimal where it ends, else a quotient."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return str(value)
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    return str(value.numerator) if digits == 0 else f"{float(value):.{digits}f}" if digits <= 15 else str(value)


@dataclass(frozen=True)
class Interval:
    """An interval of a threshold, with exact ends.

    Parameters
    ----------
    low, high : str
        Ends as rationals.
    low_closed, high_closed : bool
        Whether an end belongs to it.
    """

    low: str
    high: str
    low_closed: bool
    high_closed: bool

    def __str__(self) -> str:
        """In the usual notation: ``(2/3, 5/6]``."""
        return f"{'[' if self.low_closed else '('}{self.low}, {self.high}{']' if self.high_closed else ')'}"

    def __contains__(self, value: Fraction) -> bool:
        """Whether a threshold lies in it."""
        low, high = Fraction(self.low), Fraction(self.high)
        above = value >= low if self.low_closed else value > low
        return above and (value <= high if self.high_closed else value < high)


@dataclass(frozen=True)
class TierLattice:
    """The distinct rules of one tier.

    Parameters
    ----------
    tier : str
        Name.
    agents : int
        N.
    cells : int
        Number of distinct rules that the grid holds for this N alone.
    tau_c, epsilon : tuple of Interval
        All intervals of one and the same threshold.
    """

    tier: str
    agents: int
    cells: int
    tau_c: tuple[Interval, ...]
    epsilon: tuple[Interval, ...]


def threshold_edges(agents: Sequence[int], chains: int | None = None) -> tuple[tuple[Interval, ...], tuple[Interval, ...]]:
    """Intervals of tau_c and of epsilon on which every panel's integers stay the same.

    Parameters
    ----------
    agents : sequence of int
        Sizes N of the panels; a panel of one never fires and adds no edge.
    chains : int, optional
        M, where C(0) is the share among the chains (fewer may be drawn where sampling can stop early).
    """
    sizes = [n for n in agents if n > 1] or [1]
    tau = sorted({Fraction(k, n) for n in sizes for k in range(n + 1)})
    steps = {Fraction(j, n) for n in sizes for j in range(n)}
    if chains:
        steps |= {Fraction(j, n * drawn) for n in sizes for drawn in range(1, chains + 1) for j in range(n * drawn)}
    ends = [*sorted(steps), Fraction(1)]
    tau_intervals = [Interval(str(a), str(b), False, True) for a, b in pairwise(tau)]
    tau_intervals[0] = Interval("0", tau_intervals[0].high, True, True)
    epsilon_intervals = [Interval(str(a), str(b), True, False) for a, b in pairwise(ends)]
    epsilon_intervals[-1] = Interval(epsilon_intervals[-1].low, "1", True, True)
    return tuple(tau_intervals), tuple(epsilon_intervals)


def with_threshold(rule: StableConsensus, name: str, value: RationalLike) -> StableConsensus:
    """Return the rule with another tau_c or epsilon."""
    return replace(rule, tau_c=value) if name == "tau_c" else replace(rule, epsilon=value)


def lattice(protocol: Protocol, rules: Sequence[StableConsensus]) -> tuple[TierLattice, ...]:
    """Count the distinct rules that a grid holds for each size of panel alone.

    Parameters
    ----------
    protocol : Protocol
        Its tiers are looked at, the largest panel first; panels of one agent have no rule.
    rules : sequence of StableConsensus
        The grid's rules.
    """
    found: dict[int, TierLattice] = {}
    for tier in sorted(protocol.tiers, key=lambda t: -t.agents):
        if tier.agents == 1 or tier.agents in found:
            continue
        by_chains = protocol.inherits and any(rule.first_share == "chains" for rule in rules)
        distinct = {_tables(rule, tier.agents, protocol.chains if protocol.inherits else None) for rule in rules}
        tau, epsilon = threshold_edges([tier.agents], protocol.chains if by_chains else None)
        found[tier.agents] = TierLattice(tier.name, tier.agents, len(distinct), tau, epsilon)
    return tuple(found.values())


def _tables(rule: StableConsensus, agents: int, chains: int | None) -> tuple[object, ...]:
    first: object = rule.first_share if chains else None
    if chains and rule.first_share == "chains":
        first = tuple(rule.table(agents, drawn).tobytes() for drawn in range(1, chains + 1))
    return rule.same_leader, rule.table(agents).tobytes(), first
