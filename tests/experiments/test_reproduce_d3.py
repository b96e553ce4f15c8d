"""D3's reproduction: every row, fitted rows met, and nothing simulated from what is reported."""

import dataclasses
import re
from importlib import resources

import pytest

from adjourn.experiments.reproduce.d3 import reproduce_d3
from adjourn.experiments.reproduce.rows import read_file
from adjourn.model import FileFormatError

SHIPPED = (resources.files("adjourn.experiments") / "reproduce" / "d3.toml").read_text()


def small(*ids):
    """The shipped file with some of its rows and single values of the choices."""
    head, *rows = SHIPPED.split("[[row]]\n")
    kept = [row for row in rows if re.search(r'id = "([^"]+)"', row)[1] in ids]
    return "[[row]]\n".join([re.sub(r"values = \[[^\]]*\]\n", "", head), *kept])


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    path = tmp_path_factory.mktemp("d3") / "d3.toml"
    path.write_text(small("single", "more", "jury", "personas", "more-tokens"))
    return path, reproduce_d3(path)


def test_every_published_figure_has_a_row():
    rows = read_file(None, "d3.toml", ("paper", "source", "population", "choices", "row"))["row"]
    reported = [row.get("reported") for row in rows]
    agreement = ["72.5", "76.8", "78.2", "85.1", "86.3", "0.60"]
    others = ["8.8", "3.8", "81.7", "94.8", "58", "2.71", "40", "92", "3050"]
    assert reported[: len(agreement)] == agreement
    assert set(others) <= set(reported)


def test_fitted_rows_are_met_and_said_to_be_fitted(found):
    rows = {row.id: row for row in found[1].rows}
    for name in ("single", "more", "jury", "personas"):
        assert rows[name].model_status == "fitted"
        assert abs(rows[name].residual) < 0.05
    assert rows["more-tokens"].model_status == "predicted"


def test_what_was_fitted_is_met_and_what_follows_misses_by_what_is_told(tmp_path):
    """All rows, the choices at their values: reported less simulated, in the row's unit."""
    path = tmp_path / "all.toml"
    path.write_text(re.sub(r"values = \[[^\]]*\]\n", "", SHIPPED))
    rows = {row.id: row for row in reproduce_d3(path).rows}
    fitted = {name for name, row in rows.items() if row.model_status == "fitted"}
    assert fitted == {"single", "more", "jury", "personas", "swap-single", "swap-jury", "round-2"}
    assert all(abs(rows[name].residual) < 0.1 for name in fitted)
    follow = {"prd": -1.7, "chateval": -5.3, "samre": -1.3, "rounds": 0.01, "tokens": 7.1, "retained": 7.8}
    for name, miss in follow.items():
        assert rows[name].model_status == "predicted"
        assert rows[name].residual == pytest.approx(miss, abs=0.06)
    assert {name for name, row in rows.items() if row.model_status == "not possible"} == {"samre-kappa", "swap-jury-fresh"}


def test_changing_a_reported_figure_changes_its_residual_and_nothing_else(found, tmp_path):
    path = tmp_path / "d3.toml"
    path.write_text(found[0].read_text().replace('reported = "8.8"', 'reported = "20"'))
    for old, new in zip(found[1].rows, reproduce_d3(path).rows, strict=True):
        changed = {f.name for f in dataclasses.fields(old) if repr(getattr(old, f.name)) != repr(getattr(new, f.name))}
        assert changed <= ({"reported", "residual", "inside"} if old.id == "jury" else set())


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('figure = "accuracy single_judge"', 'figure = "speed single_judge"', "is not known"),
        ('figure = "accuracy single_judge"', 'figure = "accuracy nobody"', "nobody"),
        ('status = "fitted"', 'status = "guessed"', "guessed"),
        ("[choices.", "[chosen.", "chosen"),
    ],
)
def test_files_that_are_no_input_are_refused_with_the_reason(tmp_path, old, new, words):
    path = tmp_path / "bad.toml"
    path.write_text(small("single").replace(old, new))
    with pytest.raises(FileFormatError, match=words):
        reproduce_d3(path)
