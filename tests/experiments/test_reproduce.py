"""Reproductions: every published row is there, nothing simulated depends on what is reported, statuses are honest."""

import dataclasses
import math
import re
from importlib import resources

import pytest

from adjourn.experiments.reproduce.replay import replay
from adjourn.experiments.reproduce.uaad import reproduce_uaad
from adjourn.experiments.saved import load_result
from adjourn.model import FileFormatError, load_population, load_protocol
from adjourn.model.exact import simulate

SHIPPED = (resources.files("adjourn.experiments") / "reproduce" / "uaad.toml").read_text()


@pytest.fixture(scope="module")
def uaad():
    return reproduce_uaad()


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The shipped file with single values of the unknowns: the same rows in a second."""
    text = re.sub(r"values = \[[^\]]*\]\n", "", SHIPPED)
    path = tmp_path_factory.mktemp("uaad") / "uaad.toml"
    path.write_text(text)
    return path


def test_every_published_row_is_there_as_printed(uaad):
    reported = {row.id: row.reported for row in uaad.rows}
    table = {"gsm8k": ("89", "92"), "math": ("45", "50"), "csqa": ("77", "80"), "hotpot": ("60", "64")}
    for dataset, (mad, ours) in table.items():
        assert (reported[f"{dataset}-mad"], reported[f"{dataset}-uaad"]) == (mad, ours)
    figures = ["18.0", "7.6", "-57.8", "-46.7", "3.0", "1.67", "-44.3", "28", "20", "11.4"]
    assert [r.reported for r in uaad.rows if r.reported in figures] == figures
    assert {r.name.split(",")[1].strip() for r in uaad.rows if r.table == "accuracy"} == {"Fixed MAD", "UAAD", "CoT-SC (18)", "DOWN"}
    assert sum(r.table == "ablation" for r in uaad.rows) == 5


def test_statuses_tell_fitted_from_predicted_from_not_possible(uaad):
    rows = {row.id: row for row in uaad.rows}
    assert rows["gsm8k-mad"].replay_status == "fitted"
    assert rows["gsm8k-mad"].model_status == "predicted"
    assert rows["stress-mad"].model_status == "fitted"
    assert rows["stress-uaad"].model_status == "predicted"
    assert rows["gsm8k-sc"].model_status == "not possible"
    assert rows["uniform-target"].model_status == "not possible"
    for row in uaad.rows:
        assert (row.reported is None) <= (row.residual is None)


def test_the_fitted_stress_row_is_met_and_the_replay_repeats_its_inputs(uaad):
    rows = {row.id: row for row in uaad.rows}
    assert rows["stress-mad"].model.value == pytest.approx(28, abs=0.1)
    assert rows["math-uaad"].replay.value == 50
    assert rows["calls-mad"].model.value == pytest.approx(18)


def test_model_values_are_the_exact_law_s(uaad):
    from dataclasses import replace

    population = load_population("math-gpt35")
    population = replace(population, response=replace(population.response, lam=0.55))
    row = next(r for r in uaad.rows if r.id == "math-mad")
    assert row.model.value == pytest.approx(100 * simulate(load_protocol("fixed_mad"), population).accuracy.mean, abs=1e-9)
    assert row.model.lam_low < row.model.value < row.model.lam_high


def test_changing_a_reported_figure_changes_its_residual_and_nothing_else(quick, tmp_path):
    before = reproduce_uaad(quick)
    for row in before.rows:
        if row.residual is None:
            continue
        text = re.sub(rf'(id = "{row.id}"[^\[]*reported = )"[^"]*"', r'\1"123.4"', quick.read_text())
        path = tmp_path / f"{row.id}.toml"
        path.write_text(text)
        after = reproduce_uaad(path)
        for old, new in zip(before.rows, after.rows, strict=True):
            if old.id != row.id:
                assert repr(old) == repr(new)  # NaN stands for what does not exist; from Python 3.13 on it makes a row unequal to itself
            else:
                changed = {f.name for f in dataclasses.fields(old) if repr(getattr(old, f.name)) != repr(getattr(new, f.name))}
                assert changed <= {"reported", "residual", "inside"}
                assert new.residual == pytest.approx(new.model.value - 123.4)
        break_early = row.id == "math-uaad"  # three rows stand for all: the code path is one
        if break_early:
            break


def test_changing_an_input_changes_what_is_simulated(quick, tmp_path):
    path = tmp_path / "inputs.toml"
    path.write_text(quick.read_text().replace("GSM8K = 89", "GSM8K = 80"))
    rows = {row.id: row for row in reproduce_uaad(path).rows}
    assert rows["gsm8k-mad"].replay.value == 80


def test_the_replay_is_deterministic_and_assigns_no_more_slots_than_questions_that_can_use_them():
    protocols = {name: load_protocol(name) for name in ("fixed_mad", "uaad")}
    runs = [replay(protocols, load_population("math-gpt35"), seed=256, questions=60, initial=30, slots=slots) for slots in (5, 5, 60)]
    assert runs[0] == runs[1]
    assert runs[0]["fixed_mad"].accuracy == 0.5
    assert runs[0]["uaad"].accuracy == pytest.approx(35 / 60)
    assert runs[2]["uaad"].accuracy < 1


def test_a_reproduction_loads_back(uaad, tmp_path):
    uaad.save(tmp_path / "r.json")
    again = load_result(tmp_path / "r.json")
    assert len(again.to_records()) == len(uaad.rows)
    assert again.to_frame("pyarrow").num_rows == len(uaad.rows)
    assert all(math.isfinite(r["residual"]) for r in again.residuals())


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('reported = "89"', "reported = 89", "as text"),
        ('figure = "depth uaad"', 'figure = "speed uaad"', "figure"),
        ('id = "math-mad"', 'id = "gsm8k-mad"', "two rows"),
        ("[choices.lam]", "[choices.lamb]", "lacks lam"),
        ("GSM8K = 89", "GSM8K = 99", "between 0 and"),
        ('unit = "%"', "unit = 3", "unit"),
        ("[datasets]", "[data_sets]", "unknown entry"),
    ],
)
def test_files_that_are_no_input_are_refused_with_the_reason(tmp_path, old, new, words):
    path = tmp_path / "bad.toml"
    path.write_text(SHIPPED.replace(old, new, 1))
    with pytest.raises(FileFormatError, match=words):
        reproduce_uaad(path)


def test_the_command_prints_rows_and_statuses(cli, quick):
    shown = cli("reproduce", "uaad", "--file", quick)
    assert shown.exit_code == 0
    for words in ("GSM8K, Fixed MAD", "fitted", "predicted", "not possible", "-57.8"):
        assert words in shown.stdout
    assert cli("reproduce", "other").exit_code == 2
