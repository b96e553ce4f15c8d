r"""Linear programmes whose answers are proved: solved in floating point, then certified in exact rationals.

The systems are :math:`low_i \le a_i \cdot x \le high_i`, :math:`x \ge 0`. For multipliers y write :math:`y_i \triangleright = y_i\,low_i`
if :math:`y_i > 0` and :math:`y_i\,high_i` otherwise, so that :math:`y_i\, a_i \cdot x \ge y_i \triangleright` for every feasible x.

* Infeasibility (Farkas 1902): :math:`\sum_i y_i a_i \le 0` in every component while :math:`\sum_i y_i \triangleright > 0`.
* A maximum of :math:`c \cdot x`: a feasible x and multipliers with :math:`\sum_i y_i a_i \ge c` whose bound equals :math:`c \cdot x`.

HiGHS proposes x and y; both are rounded to nearby fractions and then checked exactly. A certificate that does not check is an error,
never an answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

__all__ = ["Row", "certify_infeasible", "certify_maximum", "least_violation", "minimum"]

_DENOMINATOR = 10**6


@dataclass(frozen=True)
class Row:
    """A constraint low <= sum of terms <= high on non-negative variables.

    Parameters
    ----------
    terms : mapping of str to Fraction
        Variable to coefficient.
    low, high : Fraction
        Bounds; equal for an equation.
    """

    terms: Mapping[str, Fraction]
    low: Fraction
    high: Fraction

    def at(self, x: Mapping[str, Fraction]) -> Fraction:
        """Value of the linear form at a point."""
        return sum((a * x[v] for v, a in self.terms.items()), Fraction(0))


def _variables(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(v for row in rows for v in row.terms))


def _matrix(rows: Sequence[Row], variables: Sequence[str]) -> npt.NDArray[np.float64]:
    return np.array([[float(row.terms.get(v, 0)) for v in variables] for row in rows])


def _fraction(x: float) -> Fraction:
    return Fraction(float(x)).limit_denominator(_DENOMINATOR)


def _combination(rows: Sequence[Row], y: Sequence[Fraction], variable: str) -> Fraction:
    return sum((m * row.terms.get(variable, Fraction(0)) for m, row in zip(y, rows, strict=True)), Fraction(0))


def _guaranteed(rows: Sequence[Row], y: Sequence[Fraction]) -> Fraction:
    """Sum of y_i times the end of row i that bounds y_i a_i x from below."""
    return sum((m * (row.low if m > 0 else row.high) for m, row in zip(y, rows, strict=True)), Fraction(0))


def _solve(cost: npt.NDArray[np.float64], a: npt.NDArray[np.float64], bounds: npt.NDArray[np.float64]) -> Proposal | None:
    """Minimise cost . x subject to a x <= bounds, x >= 0; None where HiGHS finds the constraints infeasible."""
    found = linprog(cost, A_ub=a, b_ub=bounds, method="highs")
    if found.status == 2:
        return None
    if found.x is None or found.fun is None:
        raise ArithmeticError(f"the linear programme was not solved: {found.message}")
    marginals = found.ineqlin.marginals
    half = len(bounds) // 2
    return Proposal(float(found.fun), [_fraction(x) for x in found.x], [_fraction(marginals[i] - marginals[half + i]) for i in range(half)])


@dataclass(frozen=True)
class Proposal:
    """What HiGHS proposes: value, point, and a multiplier for each row (positive where its lower end binds)."""

    value: float
    x: list[Fraction]
    y: list[Fraction]


def _ends(rows: Sequence[Row]) -> npt.NDArray[np.float64]:
    return np.array([*(float(r.high) for r in rows), *(-float(r.low) for r in rows)])


def minimum(rows: Sequence[Row], objective: Mapping[str, Fraction]) -> float:
    """Smallest value of a linear form in floating point, not certified; NaN where the constraints are infeasible."""
    variables = _variables(rows)
    a = _matrix(rows, variables)
    found = _solve(np.array([float(objective.get(v, 0)) for v in variables]), np.vstack([a, -a]), _ends(rows))
    return math.nan if found is None else found.value


def least_violation(rows: Sequence[Row]) -> tuple[float, list[Fraction]]:
    """Smallest total amount by which constraints must be broken, in floating point, and proposed multipliers."""
    variables = _variables(rows)
    a, count = _matrix(rows, variables), len(rows)
    eye = np.eye(count)
    high = np.hstack([a, -eye, np.zeros((count, count))])
    low = np.hstack([-a, np.zeros((count, count)), -eye])
    bounds = _ends(rows)
    cost = np.concatenate([np.zeros(len(variables)), np.ones(2 * count)])
    found = _solve(cost, np.vstack([high, low]), bounds)
    if found is None:
        raise ArithmeticError("a programme whose constraints may be broken has no solution")
    return found.value, found.y


def certify_infeasible(rows: Sequence[Row]) -> Fraction | None:
    """Prove that no x >= 0 meets all constraints.

    Parameters
    ----------
    rows : sequence of Row
        The constraints.

    Returns
    -------
    Fraction or None
        A positive lower bound of the total violation, proved exactly; None if no proof was found.
    """
    _, y = least_violation(rows)
    if any(_combination(rows, y, v) > 0 for v in _variables(rows)):
        return None
    proved = _guaranteed(rows, y)
    return proved / max(abs(m) for m in y) if proved > 0 else None


def certify_maximum(rows: Sequence[Row], objective: Mapping[str, Fraction]) -> Fraction | None:
    """Largest value of a linear form, proved exactly.

    Parameters
    ----------
    rows : sequence of Row
        The constraints.
    objective : mapping of str to Fraction
        Coefficients of the form.

    Returns
    -------
    Fraction or None
        The maximum; None if the constraints are proved infeasible.

    Raises
    ------
    ArithmeticError
        If neither can be proved.
    """
    variables = _variables(rows)
    a = _matrix(rows, variables)
    cost = -np.array([float(objective.get(v, 0)) for v in variables])
    found = _solve(cost, np.vstack([a, -a]), _ends(rows))
    if found is None:
        if certify_infeasible(rows) is None:
            raise ArithmeticError("no proof that the constraints are infeasible")
        return None
    x, y = dict(zip(variables, found.x, strict=True)), found.y
    value = sum((Fraction(objective.get(v, 0)) * x[v] for v in variables), Fraction(0))
    feasible = all(row.low <= row.at(x) <= row.high for row in rows) and all(entry >= 0 for entry in x.values())
    dual = all(_combination(rows, y, v) <= -Fraction(objective.get(v, 0)) for v in variables)
    if not (feasible and dual and -_guaranteed(rows, y) == value):
        raise ArithmeticError("the optimum found in floating point could not be proved in fractions")
    return value
