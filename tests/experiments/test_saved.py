"""Saved results: whatever a command wrote loads back, and becomes a data frame in one call."""

import json
import math
from dataclasses import dataclass
from typing import ClassVar

import pytest

from adjourn.experiments import saved
from adjourn.experiments.families import judging_case, reasoning_case
from adjourn.experiments.saved import SavedResult, from_data, load_frame, load_result, to_frame
from adjourn.model import Estimate, InputError, ParameterError
from adjourn.model.errors import FileFormatError


@dataclass(frozen=True)
class Part:
    name: str
    value: float
    estimate: Estimate | None


@dataclass(frozen=True, kw_only=True)
class Example(SavedResult):
    kind: ClassVar[str] = "example"

    parts: tuple[Part, ...]
    by_name: dict[str, tuple[float, ...]]
    pair: tuple[int, str]
    nothing: str | None

    def to_records(self):
        return [{"name": p.name, "value": p.value} for p in self.parts]


@pytest.fixture
def example(monkeypatch):
    monkeypatch.setitem(saved.KINDS, "example", f"{__name__}:Example")
    monkeypatch.setattr(saved.importlib, "import_module", lambda name, package=None: type("Module", (), {"Example": Example}))
    return Example(
        parts=(Part("a", 1.5, Estimate(1.0, 0.5, 2.0)), Part("b", math.nan, None)),
        by_name={"x": (1.0, 2.0), "y": ()},
        pair=(3, "three"),
        nothing=None,
    )


def test_nested_values_come_back_with_their_types(example, tmp_path):
    path = tmp_path / "e.json"
    example.save(path)
    again = load_result(path)
    assert again.parts[0] == example.parts[0]
    assert math.isnan(again.parts[1].value)
    assert (again.by_name, again.pair, again.nothing) == (example.by_name, example.pair, None)


def test_json_holds_no_nan(example, tmp_path):
    example.save(tmp_path / "e.json")
    assert "NaN" not in (tmp_path / "e.json").read_text()


@pytest.mark.parametrize("case", [lambda: reasoning_case("uaad"), lambda: reasoning_case("cot"), lambda: judging_case("single_judge")])
def test_simulations_load_back_as_results(case, tmp_path):
    result = case().exact()
    path = tmp_path / "r.json"
    path.write_text(json.dumps(saved.finite(result.to_json())))
    again = load_result(path)
    assert again.to_json() == json.loads(path.read_text())
    assert again.accuracy == result.accuracy
    assert load_frame(path, "pyarrow").num_rows == len(result.to_records())


def test_what_the_commands_print_as_json_loads_back(cli, tmp_path):
    for words in (["simulate", "cot_sc"], ["solve", "cot_sc", "--find", "accuracy"], ["tell-apart", "cot", "cot_sc"], ["audit", "d3"]):
        path = tmp_path / f"{words[0]}.json"
        path.write_text(cli(*words, "--json").stdout)
        assert load_frame(path, "pyarrow").num_rows > 0


def test_a_plan_without_a_type_of_its_own_is_a_frame_of_its_longest_list(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"provenance": {}, "few": [{"a": 1}], "many": [{"b": {"mean": 1.0}}, {"b": {"mean": 2.0}}]}))
    assert load_result(path).to_records() == [{"b.mean": 1.0}, {"b.mean": 2.0}]
    assert load_frame(path, "pyarrow").column_names == ["b.mean"]


def test_frame_libraries_that_are_absent_or_unknown_are_named():
    with pytest.raises(ParameterError, match="pyarrow"):
        to_frame([{"a": 1}], "excel")
    if not __import__("importlib").util.find_spec("polars"):
        with pytest.raises(InputError, match="polars"):
            to_frame([{"a": 1}], "polars")


def test_files_that_cannot_be_written_or_read_are_clear_errors(tmp_path):
    result = saved.PlainResult(data={"provenance": {}, "value": 1})
    for suffix in ("json", "csv", "parquet"):
        with pytest.raises(InputError, match="cannot write"):
            result.save(tmp_path / "none" / f"x.{suffix}")
    (tmp_path / "x.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(InputError, match=r"x\.parquet"):
        load_result(tmp_path / "x.parquet")


@pytest.mark.parametrize(("field", "value"), [("pair", ["one", "two"]), ("pair", [1, 2]), ("nothing", 3), ("parts", [{"name": -1}])])
def test_a_result_whose_words_or_numbers_are_none_is_refused(example, field, value):
    with pytest.raises(FileFormatError, match=r"is no (str|int)"):
        from_data({**example.to_json(), field: value}, "here")
