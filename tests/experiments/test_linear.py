"""The exact simplex: known answers, agreement with scipy's floating-point solver, and certificates that do not depend on rounding."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from adjourn.experiments.linear import Constraint, Programme

F = Fraction


def test_a_known_optimum_is_met_exactly():
    rows = [Constraint("a", {"x": F(1), "y": F(2)}, None, F(4)), Constraint("b", {"x": F(3), "y": F(1)}, None, F(6))]
    low, high = Programme(rows).range({"x": F(1), "y": F(1)})
    assert (low, high) == (0, F(14, 5))


def test_a_conflict_smaller_than_any_float_is_seen():
    tiny = F(1, 10**40)
    rows = [Constraint("a", {"x": F(1)}, F(1), F(1)), Constraint("b", {"x": F(1)}, None, 1 - tiny)]
    assert not Programme(rows).feasible
    assert Programme([rows[0], Constraint("b", {"x": F(1)}, None, F(1))]).feasible


def test_an_unbounded_side_is_none():
    assert Programme([Constraint("a", {"x": F(1)}, F(2), None)]).range({"x": F(1)}) == (2, None)
    assert Programme([Constraint("a", {"x": F(1)}, F(2), None)]).range({"z": F(1)}) == (0, None)


def test_no_range_of_an_infeasible_programme():
    programme = Programme([Constraint("a", {"x": F(1)}, None, F(-1))])
    assert not programme.feasible
    with pytest.raises(ValueError, match="infeasible"):
        programme.range({"x": F(1)})


numbers = st.integers(-4, 4)


@given(st.data())
def test_agrees_with_scipy_on_random_programmes(data):
    variables, count = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    matrix = [data.draw(st.lists(numbers, min_size=variables, max_size=variables)) for _ in range(count)]
    bounds = [data.draw(st.integers(-6, 9)) for _ in range(count)]
    cost = data.draw(st.lists(numbers, min_size=variables, max_size=variables))
    equal = [data.draw(st.booleans()) for _ in range(count)]
    names = [f"x{i}" for i in range(variables)]
    rows = [
        Constraint(str(i), dict(zip(names, map(F, row), strict=True)), F(b) if e else None, F(b))
        for i, (row, b, e) in enumerate(zip(matrix, bounds, equal, strict=True))
    ]
    programme = Programme(rows)
    upper = [(r, b) for r, b, e in zip(matrix, bounds, equal, strict=True) if not e]
    equations = [(r, b) for r, b, e in zip(matrix, bounds, equal, strict=True) if e]
    arguments = {
        "A_ub": np.array([r for r, _ in upper]) if upper else None,
        "b_ub": np.array([b for _, b in upper]) if upper else None,
        "A_eq": np.array([r for r, _ in equations]) if equations else None,
        "b_eq": np.array([b for _, b in equations]) if equations else None,
    }
    feasible = linprog([0] * variables, **arguments)
    assert programme.feasible == (feasible.status == 0)
    if programme.feasible:
        low, _ = programme.range(dict(zip(names, map(F, cost), strict=True)))
        optimum = linprog(cost, **arguments)
        assert (low is None) == (optimum.status == 3)
        if low is not None:
            assert float(low) == pytest.approx(optimum.fun, abs=1e-9)
