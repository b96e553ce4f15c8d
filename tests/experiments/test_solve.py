"""Solving for the missing quantity: answers substituted back meet what was asked; power by two ways."""

import numpy as np
import pytest

from adjourn.experiments.apart import power_of, tell_apart
from adjourn.experiments.families import reasoning_case
from adjourn.experiments.saved import load_result
from adjourn.experiments.solve import Request, solve
from adjourn.model import ParameterError


def test_the_smallest_number_of_samples_reaches_the_accuracy_and_one_less_does_not():
    found = solve("cot_sc", Request("n", accuracy=0.84))
    n = int(found.answer)
    reached = [reasoning_case("cot_sc", None, {"n": str(k)}).exact().accuracy.mean >= 0.84 for k in (n - 1, n)]
    assert reached == [False, True]
    assert found.value.low == n


def test_a_threshold_comes_as_the_exact_interval_of_its_rule():
    found = solve("uaad", Request("tau_c", accuracy=0.82))
    assert found.answer == "[0, 1/6]"
    assert [c.value for c in found.candidates][-2:] == ["(2/3, 5/6]", "(5/6, 1]"]


def test_budget_and_items_are_inverse_to_each_other():
    budget = solve("uaad", Request("budget", items=2000))
    items = solve("uaad", Request("items", budget=float(budget.answer)))
    assert items.value.mean == pytest.approx(2000, abs=1)
    assert budget.value.low < budget.value.mean <= budget.value.high


def test_the_accuracy_is_the_exact_law_s_and_its_interval_that_of_the_items():
    exact = reasoning_case("uaad").exact().accuracy.mean
    alone = solve("uaad", Request("accuracy"))
    with_items = solve("uaad", Request("accuracy", items=400))
    assert alone.value.is_exact
    assert alone.value.mean == pytest.approx(exact, abs=1e-12)
    assert with_items.value.half_width == pytest.approx(1.96 * np.sqrt(exact * (1 - exact) / 400), abs=0.003)


def test_the_most_accurate_design_within_the_budget_stays_within_it():
    found = solve("fixed_mad", Request("agents", budget=20, items=2000))
    chosen = next(c for c in found.candidates if c.value == found.answer)
    assert chosen.within_budget >= 0.95
    assert all(c.accuracy <= chosen.accuracy for c in found.candidates if c.meets)


def test_what_cannot_be_reached_has_no_answer_and_says_what_can():
    found = solve("fixed_mad", Request("rounds", accuracy=0.99))
    assert found.answer is None
    assert "reaches" in found.interval


def test_a_pilot_s_uncertainty_is_carried():
    population = reasoning_case("cot").population

    def resample(rng):
        from dataclasses import replace

        return replace(population, difficulty=type(population.difficulty)(0.684 + 0.1 * rng.standard_normal(), 0.199))

    found = solve("cot_sc", Request("accuracy"), population, resample=resample, draws=20)
    low, high = map(float, found.pilot_interval)
    assert low < float(found.answer) < high


@pytest.mark.parametrize(
    "arguments",
    [
        {"find": "budget"},
        {"find": "items"},
        {"find": "n"},
        {"find": "accuracy", "accuracy": 0.8},
        {"find": "n", "budget": 3.0},
        {"find": "accuracy", "items": 0},
        {"find": "n", "accuracy": 1.5},
        {"find": "budget", "items": 3, "confidence": 1.0},
    ],
)
def test_requests_that_do_not_add_up_are_refused(arguments):
    with pytest.raises(ParameterError):
        Request(**arguments)


def test_a_parameter_that_means_nothing_here_is_refused_with_the_valid_ones():
    with pytest.raises(ParameterError, match="tau_c"):
        solve("uaad", Request("n", accuracy=0.5))


def test_discordance_is_consistent_with_the_accuracies():
    found = tell_apart("cot", "cot_sc")
    assert found.only_second - found.only_first == pytest.approx(found.accuracy[1] - found.accuracy[0], abs=1e-9)
    exact = [reasoning_case(name).exact().accuracy.mean for name in ("cot", "cot_sc")]
    assert found.accuracy == pytest.approx(tuple(exact), abs=1e-9)
    assert found.power >= 0.8
    assert tell_apart("cot", "cot_sc", items=found.items // 2).power < 0.8


def test_equal_designs_are_never_told_apart():
    assert tell_apart("uaad", "uaad_uniform_target").items is None


def test_power_agrees_with_simulated_experiments():
    from scipy.stats import binomtest

    n, b, c = 150, 0.16, 0.06
    rng = np.random.default_rng(0)
    runs = 4000
    wins, losses, _ = rng.multinomial(n, [b, c, 1 - b - c], size=runs).T
    table = {
        (x, y): binomtest(x, x + y).pvalue <= 0.05 if x + y else False for x, y in set(zip(wins.tolist(), losses.tolist(), strict=True))
    }
    rejected = np.mean([table[x, y] for x, y in zip(wins.tolist(), losses.tolist(), strict=True)])
    # 4.5 standard errors of the simulated power: a false alarm once in 150,000
    assert abs(rejected - power_of(n, b, c, 0.05)) < 4.5 * np.sqrt(0.25 / runs)


def test_power_of_no_difference_stays_below_the_level_and_grows_with_items():
    assert power_of(500, 0.1, 0.1, 0.05) <= 0.05
    assert power_of(100, 0.2, 0.1, 0.05) < power_of(400, 0.2, 0.1, 0.05) < power_of(30_000, 0.2, 0.1, 0.05)


def test_solutions_load_back(tmp_path, cli):
    for number, result in enumerate((solve("cot_sc", Request("n", accuracy=0.83)), tell_apart("cot", "cot_sc"))):
        path = tmp_path / f"{number}.json"
        result.save(path)
        again = load_result(path)
        assert again.to_records() == result.to_records()
        assert again.to_frame("pyarrow").num_rows == len(result.to_records())
