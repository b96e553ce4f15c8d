"""D3's reproduction: every row, fitted rows met, differences against settings, and nothing simulated from what is reported."""

import dataclasses
import re
from importlib import resources

import pytest

from adjourn.experiments.reproduce.d3 import reproduce_d3
from adjourn.experiments.reproduce.rows import read_file
from adjourn.model import FileFormatError

SHIPPED = (resources.files("adjourn.experiments") / "reproduce" / "d3.toml").read_text()
SECTIONS = ("paper", "source", "choices", "population", "row")


def small(*ids):
    """The shipped file with some of its rows and single values of the choices."""
    head, *rows = SHIPPED.split("[[row]]\n")
    kept = [row for row in rows if re.search(r'id = "([^"]+)"', row)[1] in ids]
    return "[[row]]\n".join([re.sub(r"values = \[[^\]]*\]\n", "", head), *kept])


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    path = tmp_path_factory.mktemp("d3") / "d3.toml"
    path.write_text(small("single", "more", "jury", "personas", "swap-personas", "tokens-more", "completion-more"))
    return path, reproduce_d3(path)


def test_every_published_figure_has_a_row():
    rows = read_file(None, "d3.toml", SECTIONS)["row"]
    reported = {row["id"]: row.get("reported") for row in rows}
    table = {"single": "72.5", "prd": "76.8", "chateval": "78.2", "more": "85.1", "samre": "86.3", "kappa": "0.60"}
    others = {"tokens-more": "3050", "jury": "8.8", "personas": "3.8", "swap-one": "81.7", "swap-personas": "94.8"}
    stopping = {"by-round-2": "58", "rounds": "2.71", "tokens-saved": "-40", "accuracy-kept": "92"}
    assert table | others | stopping == {key: value for key, value in reported.items() if value is not None}


def test_fitted_rows_are_met_and_said_to_be_fitted(found):
    rows = {row.id: row for row in found[1].rows}
    for name in ("single", "more"):
        assert rows[name].model_status == "fitted"
        assert abs(rows[name].residual) < 0.05
    assert rows["jury"].model_status == "predicted"
    assert rows["completion-more"].model_status == "not possible"


def test_differences_are_those_of_the_two_settings(found):
    from adjourn.experiments.families import judging_case
    from adjourn.experiments.reproduce.d3 import _Figures
    from adjourn.experiments.reproduce.rows import read_choices

    data = read_file(found[0], "d3.toml", SECTIONS)
    population = _Figures(data["population"], read_choices(data["choices"], "x"), "x").population({})
    accuracy = [judging_case("more", population, {"jurors": jurors, "personas": "false"}).exact().accuracy.mean for jurors in ("1", "5")]
    row = next(r for r in found[1].rows if r.id == "jury")
    assert row.model.value == pytest.approx(100 * (accuracy[1] - accuracy[0]), abs=1e-9)


def test_what_cannot_be_met_together_is_said(found):
    note = next(n for n in found[1].notes if "five of them" in n)
    single, five = map(float, re.findall(r"(\d+\.\d) %", note)[:2])
    assert single == pytest.approx(72.5, abs=0.1)
    assert five < 72.5 + 8.8 + 3.8


def test_changing_a_reported_figure_changes_its_residual_and_nothing_else(found, tmp_path):
    path = tmp_path / "d3.toml"
    path.write_text(found[0].read_text().replace('reported = "8.8"', 'reported = "20"'))
    for old, new in zip(found[1].rows, reproduce_d3(path).rows, strict=True):
        changed = {f.name for f in dataclasses.fields(old) if getattr(old, f.name) != getattr(new, f.name)}
        assert changed <= ({"reported", "residual", "inside"} if old.id == "jury" else set())


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('figure = "accuracy single_judge"', 'figure = "speed single_judge"', "no quantity"),
        ('figure = "accuracy single_judge"', 'figure = "accuracy nobody"', "nobody"),
        ('status = "fitted"', 'status = "guessed"', "guessed"),
        ('choices."jury.sensitivity"', 'choices."judges.9.sigma_b"', "no such place"),
        ("sigma_b = 1.3", "sigma_b = -1", "sigma_b"),
    ],
)
def test_files_that_are_no_input_are_refused_with_the_reason(tmp_path, old, new, words):
    path = tmp_path / "bad.toml"
    path.write_text(small("single").replace(old, new, 1))
    with pytest.raises(FileFormatError, match=words):
        reproduce_d3(path)
