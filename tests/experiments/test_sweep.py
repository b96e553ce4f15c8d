"""Sweeps: cells with exact edges, agreement with single simulations, flips, and saving."""

import math
from fractions import Fraction

import numpy as np
import pytest

from adjourn.experiments.axes import Axis, fraction_text, read_axes, threshold_edges
from adjourn.experiments.families import reasoning_case
from adjourn.experiments.plots import plot_sweep
from adjourn.experiments.saved import load_result
from adjourn.experiments.sweep import sweep
from adjourn.model import ParameterError


@pytest.fixture(scope="module")
def square():
    return sweep(["uaad"], read_axes(["tau_c=0.30:1.00:71", "epsilon=0:1:101"]), "gsm8k-gpt35")


def test_a_grid_of_7171_points_holds_30_rules_for_six_agents_and_9_for_three(square):
    assert [(t.agents, t.cells) for t in square.lattices["uaad"]] == [(6, 30), (3, 9)]
    assert len(square.cells) == 30
    assert len(square.cell_of["uaad"]) == 7171
    assert sum(cell.points for cell in square.cells) == 7171


def test_edges_are_exact_and_hold_exactly_the_points_of_their_cell(square):
    numbers = square.cell_of["uaad"]
    for point, number in zip(square.points(), numbers, strict=True):
        edges = square.cells[number].edges
        assert Fraction(point["tau_c"]) in edges["tau_c"]
        assert Fraction(point["epsilon"]) in edges["epsilon"]
    published = square.cells[numbers[list(square.points()).index({"tau_c": "0.8", "epsilon": "0.05"})]]
    assert (str(published.edges["tau_c"]), str(published.edges["epsilon"])) == ("(2/3, 5/6]", "[0, 1/6)")


def test_a_cell_holds_what_a_single_simulation_of_any_of_its_points_gives(square):
    for tau_c, epsilon in (("0.8", "0.05"), ("0.34", "0.5"), ("1", "1"), ("2/3", "1/6")):
        single = reasoning_case("uaad", "gsm8k-gpt35", {"tau_c": tau_c, "epsilon": epsilon}).exact()
        inside = [c for c in square.cells if Fraction(tau_c) in c.edges["tau_c"] and Fraction(epsilon) in c.edges["epsilon"]]
        assert len(inside) == 1
        for name in ("accuracy", "calls", "usd", "right_to_wrong"):
            assert inside[0].means[name].mean == single.means[name].mean


def test_edges_count_the_chains_where_c_of_0_is_their_share():
    found = sweep(["uaad"], read_axes(["epsilon=0:1:61"]), settings={"first_share": "chains"})
    assert len(found.cells) > len(sweep(["uaad"], read_axes(["epsilon=0:1:61"])).cells)
    for point, number in zip(found.points(), found.cell_of["uaad"], strict=True):
        assert Fraction(point["epsilon"]) in found.cells[number].edges["epsilon"]


def test_axes_that_are_no_thresholds_are_one_cell_a_value_and_agree_with_single_simulations():
    found = sweep(["cot_sc"], read_axes(["n=1,3,5", "w=0.2,0.8"]))
    assert len(found.cells) == 6
    assert found.grid("accuracy").shape == (3, 2)
    single = reasoning_case("cot_sc", None, {"n": "5", "w": "0.8"}).exact()
    assert found.grid("accuracy")[2, 1] == single.accuracy.mean


def test_a_flip_lies_where_the_leader_changes():
    found = sweep(["cot_sc", "fixed_mad"], read_axes(["lam=-0.5:2:26"]), "math-gpt35")
    assert [(f.low, f.high, f.before, f.after) for f in found.flips] == [("0.2", "0.3", "cot_sc", "fixed_mad")]
    gap = found.grid("accuracy", "cot_sc") - found.grid("accuracy", "fixed_mad")
    assert np.sum(np.diff(np.sign(gap)) != 0) == 1


def test_protocols_that_tie_share_the_lead_and_do_not_flip():
    found = sweep(["uaad", "uaad_uniform_target"], read_axes(["tau_c=0.5:1:6"]))
    assert found.flips == ()


def test_monte_carlo_cells_carry_intervals_or_say_why_not():
    pytest.importorskip("adjourn.vectorized")
    try:
        from adjourn.vectorized import simulate  # noqa: F401
    except ImportError:
        pytest.skip("the compiled engine is not built here")
    found = sweep(["cot_sc"], read_axes(["n=1,3"]), engine="mc", samples=20_000)
    exact = sweep(["cot_sc"], read_axes(["n=1,3"]))
    for cell, truth in zip(found.cells, exact.cells, strict=True):
        estimate = cell.means["accuracy"]
        assert estimate.low < estimate.high
        # 4.5 standard errors: a false alarm once in 150,000
        assert abs(estimate.mean - truth.means["accuracy"].mean) < 4.5 * estimate.half_width / 1.96


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_a_sweep_loads_back_whole_and_becomes_a_frame_in_one_call(square, tmp_path, suffix):
    pytest.importorskip("pyarrow")
    path = tmp_path / f"sweep.{suffix}"
    square.save(path)
    again = load_result(path)
    assert again == load_result(path)
    assert again.cells == square.cells
    assert again.cell_of["uaad"] == square.cell_of["uaad"]
    frame = again.to_frame("pyarrow")
    assert frame.num_rows == 7171
    assert {"tau_c", "epsilon", "cell", "accuracy", "accuracy_low", "usd"} <= set(frame.column_names)


def test_csv_holds_one_row_a_point(square, tmp_path):
    path = tmp_path / "sweep.csv"
    square.save(path)
    assert len(path.read_text().splitlines()) == 7172


def test_the_map_is_drawn_as_cells(square):
    ax = plot_sweep(square)
    assert len(ax.patches) == 30
    assert ax.get_xlabel() == "tau_c"
    assert plot_sweep(sweep(["cot_sc"], read_axes(["n=1,3,5"])), ax=ax) is ax


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ([], "at least one axis"),
        (["tau_c"], "key=start:stop:count"),
        (["tau_c=1:0:5"], "start < stop"),
        (["tau_c=0:1:1"], "count"),
        (["tau_c=0:1"], "key=start:stop:count"),
        (["tau_c=0,0"], "once"),
        (["tau_c=0:1:5", "tau_c=0:1:5"], "once"),
        (["tau_c=a:1:5"], "number"),
        (["tau_c=0:1:2000", "epsilon=0:1:2000"], "at most"),
    ],
)
def test_grids_that_cannot_be_meant_are_refused(grid, words):
    with pytest.raises(ParameterError, match=words):
        read_axes(grid)


def test_an_axis_that_means_nothing_is_refused_with_the_valid_ones():
    with pytest.raises(ParameterError, match="tau_c"):
        sweep(["uaad"], read_axes(["tau_x=0:1:5"]))
    with pytest.raises(ParameterError, match="is not possible"):
        sweep(["uaad"], read_axes(["tau_c=0:2:5"]))


def test_grid_values_are_the_rationals_that_were_written():
    assert Axis.read("tau_c=0.30:1.00:71").values[50] == "0.8"
    assert Axis.read("x=0:1:4").values == ("0", "1/3", "2/3", "1")
    assert fraction_text(Fraction(-5, 4)) == "-1.25"


def test_threshold_intervals_cover_the_unit_interval_without_overlap():
    tau, epsilon = threshold_edges([6, 3], 5)
    for intervals in (tau, epsilon):
        for value in (Fraction(k, 60) for k in range(61)):
            assert sum(value in interval for interval in intervals) == 1
    assert math.isclose(float(Fraction(tau[-1].high)), 1.0)


def test_the_command_prints_cells_edges_and_json(cli):
    shown = cli("sweep", "--protocol", "uaad", "--grid", "tau_c=0.30:1.00:8", "--grid", "epsilon=0:1:6")
    assert shown.exit_code == 0
    assert "(2/3, 5/6]" in shown.stdout
    assert cli("sweep", "--grid", "tau_c=2:3:4").exit_code == 2


def test_regret_is_the_distance_to_the_best_stopping_rule():
    from adjourn.theory.bound import regret

    found = sweep(["uaad"], read_axes(["tau_c=0.3,0.8"]), "math-gpt35", {"lam": "0"}, regret=True)
    for cell, tau_c in zip(found.cells, ("0.3", "0.8"), strict=True):
        case = reasoning_case("uaad", "math-gpt35", {"lam": "0", "tau_c": tau_c})
        assert cell.means["regret"].mean == pytest.approx(regret(case.protocol, case.population), abs=1e-12)
        assert cell.means["regret"].mean > -1e-9
