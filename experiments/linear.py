r"""Linear programming in exact rationals, for programmes of a few dozen variables.

.. math:: \min c^T x \quad \text{subject to} \quad A x \{\le, =, \ge\} b,\ x \ge 0,

by the two-phase simplex method with Bland's rule (Bland 1977), which cannot cycle. All arithmetic is in :class:`fractions.Fraction`:
"infeasible" is a proof, not a tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Constraint", "Programme"]

Terms = Mapping[str, Fraction]


@dataclass(frozen=True)
class Constraint:
    """A linear constraint low <= sum of terms <= high.

    Parameters
    ----------
    name : str
        For messages.
    terms : mapping of str to Fraction
        Variable to coefficient.
    low, high : Fraction or None
        Bounds; None is no bound, equal bounds are an equation.
    """

    name: str
    terms: Terms
    low: Fraction | None
    high: Fraction | None


class Programme:
    """A set of constraints on non-negative variables.

    Parameters
    ----------
    constraints : sequence of Constraint
        All must hold.
    """

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        self.variables = list(dict.fromkeys(v for c in constraints for v in c.terms))
        self._rows: list[tuple[list[Fraction], Fraction]] = []
        slack = 0
        parts: list[tuple[Constraint, Fraction, int]] = []
        for c in constraints:
            if c.low is not None and c.low == c.high:
                parts.append((c, c.low, 0))
                continue
            if c.high is not None:
                parts.append((c, c.high, 1))
            if c.low is not None:
                parts.append((c, c.low, -1))
        slacks = sum(1 for _, _, sign in parts if sign)
        for c, bound, sign in parts:
            row = [Fraction(c.terms.get(v, 0)) for v in self.variables] + [Fraction(0)] * slacks
            if sign:
                row[len(self.variables) + slack] = Fraction(sign)
                slack += 1
            self._rows.append((row, bound) if bound >= 0 else ([-x for x in row], -bound))
        self._start: tuple[list[list[Fraction]], list[int]] | None = None
        self._start = self._first_basis()

    @property
    def feasible(self) -> bool:
        """Whether any point meets all constraints."""
        return self._start is not None

    def range(self, terms: Terms) -> tuple[Fraction | None, Fraction | None]:
        """Smallest and largest value of a linear form over the feasible set; None where it has no bound.

        Raises
        ------
        ValueError
            If the programme is infeasible.
        """
        low = self._minimum({v: Fraction(x) for v, x in terms.items()})
        high = self._minimum({v: -Fraction(x) for v, x in terms.items()})
        return low, None if high is None else -high

    def _first_basis(self) -> tuple[list[list[Fraction]], list[int]] | None:
        """Phase one: tableau rows [A | b] in a feasible basis, or None."""
        count = len(self._rows)
        width = len(self._rows[0][0]) if self._rows else len(self.variables)
        tableau = [row + [Fraction(int(i == k)) for k in range(count)] + [b] for i, (row, b) in enumerate(self._rows)]
        basis = [width + i for i in range(count)]
        cost = [Fraction(0)] * width + [Fraction(1)] * count
        _pivot_to_optimum(tableau, basis, cost)
        if sum(row[-1] for row, b in zip(tableau, basis, strict=True) if b >= width) > 0:
            return None
        for i in range(count):
            if basis[i] >= width:
                column = next((j for j in range(width) if tableau[i][j] != 0), None)
                if column is not None:
                    _pivot(tableau, basis, i, column)
        kept = [i for i in range(count) if basis[i] < width]
        return [[*tableau[i][:width], tableau[i][-1]] for i in kept], [basis[i] for i in kept]

    def _minimum(self, terms: Terms) -> Fraction | None:
        if self._start is None:
            raise ValueError("the programme is infeasible")
        tableau, basis = [list(row) for row in self._start[0]], list(self._start[1])
        width = len(self._rows[0][0]) if self._rows else len(self.variables)
        if any(v not in self.variables and x < 0 for v, x in terms.items()):
            return None
        cost = [Fraction(terms.get(v, 0)) for v in self.variables] + [Fraction(0)] * (width - len(self.variables))
        if not _pivot_to_optimum(tableau, basis, cost):
            return None
        return sum((cost[b] * row[-1] for row, b in zip(tableau, basis, strict=True)), Fraction(0))


def _pivot(tableau: list[list[Fraction]], basis: list[int], row: int, column: int) -> None:
    scale = tableau[row][column]
    tableau[row] = [x / scale for x in tableau[row]]
    for i, other in enumerate(tableau):
        factor = other[column]
        if i != row and factor:
            tableau[i] = [x - factor * y for x, y in zip(other, tableau[row], strict=True)]
    basis[row] = column


def _pivot_to_optimum(tableau: list[list[Fraction]], basis: list[int], cost: list[Fraction]) -> bool:
    """Minimise by Bland's rule; False where the minimum is unbounded."""
    while True:
        entering = next((j for j in range(len(cost)) if j not in basis and _reduced(tableau, basis, cost, j) < 0), None)
        if entering is None:
            return True
        ratios = [(row[-1] / row[entering], basis[i], i) for i, row in enumerate(tableau) if row[entering] > 0]
        if not ratios:
            return False
        _pivot(tableau, basis, min(ratios)[2], entering)


def _reduced(tableau: list[list[Fraction]], basis: list[int], cost: list[Fraction], column: int) -> Fraction:
    return cost[column] - sum((cost[b] * row[column] for row, b in zip(tableau, basis, strict=True) if cost[b]), Fraction(0))
