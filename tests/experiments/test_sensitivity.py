"""Sensitivity: known indices through the same code, seeds, constants, missing values, levels; and boxes that are really there."""

import math
from fractions import Fraction

import numpy as np
import pytest

from adjourn.experiments.discovery import discover, find_box
from adjourn.experiments.inputs import Input, default_inputs, read_inputs
from adjourn.experiments.plots import plot_box, plot_sensitivity
from adjourn.experiments.saved import load_result
from adjourn.experiments.sensitivity import ISHIGAMI, SOBOL_G, analyse, rank, sensitivity
from adjourn.model import InputError, ParameterError, load_population, load_protocol
from adjourn.model.thresholds import smallest_count


@pytest.mark.parametrize("known", [ISHIGAMI, SOBOL_G], ids=lambda k: k.name)
@pytest.mark.parametrize("seed", [0, 1])
def test_known_indices_are_met_within_two_hundredths(known, seed):
    found = analyse(known.function, known.inputs, points=8192, width=0.5, seed=seed)
    for row, first, total in zip(found.indices, known.first, known.total, strict=True):
        assert row.first.mean == pytest.approx(first, abs=0.02)
        assert row.total.mean == pytest.approx(total, abs=0.02)
        assert row.first.low - 0.02 <= first <= row.first.high + 0.02


def test_closed_form_indices_of_the_test_functions_are_those_of_the_literature():
    assert ISHIGAMI.first == pytest.approx((0.3139, 0.4424, 0.0), abs=5e-5)
    assert ISHIGAMI.total == pytest.approx((0.5576, 0.4424, 0.2437), abs=5e-5)
    assert SOBOL_G.first[0] == pytest.approx(0.7165, abs=1e-3)


def test_seed_0_is_a_seed_and_differs_from_seed_1():
    runs = [analyse(SOBOL_G.function, SOBOL_G.inputs, points=64, width=0.9, seed=s) for s in (0, 0, 1)]
    assert runs[0] == runs[1]
    assert runs[0].indices != runs[2].indices


def test_points_double_until_the_intervals_are_narrow_and_reuse_what_was_evaluated():
    wide = analyse(ISHIGAMI.function, ISHIGAMI.inputs, points=64, width=0.9)
    narrow = analyse(ISHIGAMI.function, ISHIGAMI.inputs, points=64, width=0.1)
    assert wide.points == 64
    assert narrow.points > 64
    assert narrow.narrow_enough
    assert all(i.total.half_width <= 0.1 for i in narrow.indices)
    assert narrow.evaluations == narrow.points * 5
    capped = analyse(ISHIGAMI.function, ISHIGAMI.inputs, points=64, width=0.01, most_evaluations=1000)
    assert not capped.narrow_enough


def test_a_constant_output_is_said_to_be_constant():
    found = analyse(lambda x: np.column_stack([np.full(len(x), 3.0), x[:, 0]]), ISHIGAMI.inputs, ("same", "x1"))
    assert found.constant == {"same": 3.0}
    assert {i.output for i in found.indices} == {"x1"}
    assert found.ranking["x1"][0] == ("x1",)


def test_a_value_that_is_no_number_names_its_inputs():
    def broken(x):
        return np.where(x[:, 1] > 3.0, np.nan, x[:, 0])

    with pytest.raises(InputError, match=r"no numbers.*x1 = .*x2 = 3\.\d+"):
        analyse(broken, ISHIGAMI.inputs)


def test_inputs_whose_intervals_overlap_share_a_group():
    found = analyse(lambda x: x[:, 0] + x[:, 1] + 5 * x[:, 2], ISHIGAMI.inputs, points=256, width=0.9)
    assert rank(found.indices) == found.ranking["y"]
    assert found.ranking["y"][0] == ("x3",)
    assert set(found.ranking["y"][1]) == {"x1", "x2"}


def test_thresholds_are_levels_one_for_each_distinct_rule():
    tau, epsilon, chains, lam = read_inputs(["tau_c=0.5:1", "epsilon=0:1", "chains=3:6", "lam=0:1.3"], load_protocol("uaad"))
    assert [smallest_count(Fraction(level), 6) for level in tau.levels] == [3, 4, 5, 6]
    assert len(epsilon.levels) == 6
    assert chains.levels == ("3", "4", "5", "6")
    assert lam.levels == ()
    counts = np.bincount(tau.at((np.arange(1000) + 0.5) / 1000).astype(int))
    assert counts.tolist() == [250] * 4


def test_the_exact_law_is_studied_and_idle_inputs_have_no_index():
    found = sensitivity("cot_sc", over=["w=0.1:0.9", "a=0.4:1.0"], outputs=["accuracy", "calls"], width=0.9)
    assert found.constant == {"calls": 5.0}
    assert sum(i.first.mean for i in found.indices) == pytest.approx(1, abs=0.2)


def test_default_inputs_mean_something_here():
    names = {x.name for x in default_inputs(load_protocol("uaad"), load_population("gsm8k-gpt35"))}
    assert {"lam", "auroc_h", "tau_c", "epsilon", "chains", "a", "b", "w"} <= names
    assert "tau_c" not in {x.name for x in default_inputs(load_protocol("cot_sc"), load_population("gsm8k-gpt35"))}


@pytest.mark.parametrize(
    "over", [["lam"], ["lam=1:0"], ["lam=0:1:2"], ["chains=0.2:0.8"], ["tau_c=0.5:2"], ["lam=0:1", "lam=0:1"], ["w=1,1"]]
)
def test_inputs_that_cannot_be_meant_are_refused(over):
    with pytest.raises(ParameterError):
        read_inputs(over, load_protocol("uaad"))


def test_an_unknown_output_and_a_fixed_input_are_refused():
    with pytest.raises(ParameterError, match="accuracy"):
        sensitivity("cot_sc", over=["w=0:1"], outputs=["speed"])
    with pytest.raises(ParameterError, match="does not fix"):
        sensitivity("cot_sc", over=["w=0:1"], settings={"w": "0.5"})


def test_a_study_loads_back_draws_and_becomes_a_frame(tmp_path):
    found = analyse(SOBOL_G.function, SOBOL_G.inputs, points=64, width=0.9)
    found.save(tmp_path / "s.json")
    again = load_result(tmp_path / "s.json")
    assert again.indices == found.indices
    assert again.to_frame("pyarrow").num_rows == 12
    assert plot_sensitivity(again).get_xlabel().startswith("Sobol")


def test_a_planted_box_is_found():
    rng = np.random.default_rng(7)
    inputs = [Input("x", 0, 1), Input("y", 0, 1), Input("idle", 0, 1), Input("level", 0, 4, ("a", "b", "c", "d"))]
    points = np.column_stack([x.at(rng.random(2000)) for x in inputs])
    cases = (points[:, 0] < 0.4) & (points[:, 1] > 0.5) & (points[:, 3] >= 2)
    limits = find_box(points, cases, inputs)
    assert limits[0][1] == pytest.approx(0.4, abs=0.03)
    assert limits[1][0] == pytest.approx(0.5, abs=0.03)
    assert limits[2] == (points[:, 2].min(), points[:, 2].max())
    assert limits[3] == (2.0, 3.0)


def test_no_box_is_drawn_around_pure_chance():
    # Cases at random: on held-out points the density of any box is the share of cases, within 4 standard errors.
    rng = np.random.default_rng(3)
    inputs = [Input("x", 0, 1), Input("y", 0, 1)]
    points, cases = rng.random((4000, 2)), rng.random(4000) < 0.3
    limits = find_box(points[:2000], cases[:2000], inputs)
    low, high = np.array(limits).T
    inside = ((points[2000:] >= low) & (points[2000:] <= high)).all(axis=1)
    assert abs(cases[2000:][inside].mean() - 0.3) < 4 * math.sqrt(0.21 / inside.sum())


@pytest.fixture(scope="module")
def lost():
    return discover("fixed_mad", "gsm8k-gpt35", ["lam=-0.5:1.5", "w=0.2:0.9", "rounds=1:3"], points=128)


def test_debate_loses_to_voting_where_truth_has_little_advantage(lost):
    limits = {limit.input: limit for limit in lost.box.limits}
    assert limits["lam"].high < 1.0
    assert lost.box.density.mean > lost.cases.mean
    assert lost.box.density.low <= lost.box.density.mean <= lost.box.density.high
    assert "rounds" not in limits or limits["rounds"].levels


def test_an_input_that_is_also_fixed_is_refused():
    for study in (discover, sensitivity):
        with pytest.raises(ParameterError, match=r"--over = 'lam' .* --set does not fix"):
            study("uaad", over=["lam=0:1"], settings={"lam": "0.5"})


def test_a_discovery_loads_back_and_draws(lost, tmp_path):
    lost.save(tmp_path / "d.json")
    again = load_result(tmp_path / "d.json")
    assert again.box == lost.box
    assert again.to_frame("pyarrow").num_rows == 128
    assert plot_box(again).get_xlabel()
