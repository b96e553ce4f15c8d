"""Protocols from files: what is written is what is run, and what a plan recommends can be run as it stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from judgelog import write_judge_log

from adjourn.experiments.families import all_judging_protocols, all_protocols
from adjourn.experiments.protocol_files import read_protocol_file
from adjourn.model.tables import to_toml


@pytest.mark.parametrize("protocol", [*all_protocols(), *all_judging_protocols()], ids=lambda protocol: protocol.name)
def test_every_preset_survives_both_kinds_of_file(protocol, tmp_path: Path) -> None:
    tables = protocol.to_dict()
    as_json, as_toml = tmp_path / "p.json", tmp_path / "p.toml"
    as_json.write_text(json.dumps(tables), encoding="utf-8")
    as_toml.write_text(to_toml({key: value for key, value in tables.items() if value is not None}), encoding="utf-8")
    assert read_protocol_file(str(as_json)) == protocol
    assert read_protocol_file(str(as_toml)) == protocol


def test_a_file_without_a_name_is_named_after_itself(cli, tmp_path: Path) -> None:
    (tmp_path / "seven.toml").write_text('chains = 7\nvote = "plurality"\n', encoding="utf-8")
    code, out, _ = cli("simulate", tmp_path / "seven.toml", "--json")
    assert code == 0
    told = json.loads(out)
    assert told["provenance"]["protocol"]["name"] == "seven"
    same = json.loads(cli("simulate", "cot_sc", "--set", "n=7", "--json").stdout)
    assert told["accuracy"] == same["accuracy"]


def test_what_a_plan_recommends_is_simulated_as_planned(cli, root: Path, tmp_path: Path) -> None:
    pilot, saved, law = root / "experiments/demo/synthetic-pilot.csv", tmp_path / "plan.json", tmp_path / "law.toml"
    assert cli("plan", "--pilot", pilot, "--items", 100, "--budget-usd", 5, "--draws", 20, "--out", saved).exit_code == 0
    assert cli("calibrate", pilot, "--draws", 0, "--out", law).exit_code == 0
    code, out, _ = cli("simulate", saved, "--population", law, "--json")
    assert code == 0
    recommended = json.loads(saved.read_text(encoding="utf-8"))["recommendation"]
    assert json.loads(out)["accuracy"]["mean"] == pytest.approx(recommended["accuracy"]["mean"], abs=1e-9)
    assert json.loads(out)["calls"]["mean"] == pytest.approx(recommended["calls"], abs=1e-9)


def test_judges_that_the_price_list_names_cost_the_same_planned_and_simulated(cli, tmp_path: Path) -> None:
    pilot = write_judge_log(tmp_path / "judges.csv", {"ann": 0.3}, items=60)
    saved, law, prices = tmp_path / "plan.json", tmp_path / "law.toml", tmp_path / "prices.toml"
    lines = ['as_of = "2026-11-01"', 'source = "test"', 'currency = "USD"', 'default_model = "other"']
    for model, price in (("other", 1.0), ("ann", 7.0)):
        lines += [f"[models.{model}]", f"prompt_usd_per_million = {price}", f"completion_usd_per_million = {price}"]
    prices.write_text("\n".join(lines), encoding="utf-8")
    planned = cli("plan", "--pilot", pilot, "--items", 100, "--budget-usd", 5, "--draws", 20, "--prices", prices, "--out", saved)
    assert (planned.exit_code, cli("calibrate", pilot, "--draws", 0, "--out", law).exit_code) == (0, 0)
    code, out, _ = cli("simulate", saved, "--population", law, "--prices", prices, "--json")
    assert code == 0
    recommended = json.loads(saved.read_text(encoding="utf-8"))["recommendation"]
    assert json.loads(out)["usd"]["mean"] == pytest.approx(recommended["usd_per_question"], rel=1e-9)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("absent.toml", None, "cannot be read"),
        ("bad.json", "{", "not valid JSON"),
        ("deep.json", "[" * 100_000, "not valid JSON"),
        ("list.json", "[1]", "this is no protocol"),
        ("plan.json", '{"recommendation": 3}', "this is no protocol"),
        ("bad.toml", "chains = ", "bad.toml"),
        ("unknown.toml", "chain = 3", "chain"),
        ("range.json", '{"chains": -1}', "chains = -1"),
        ("nan.json", '{"chains": NaN}', "chains = nan"),
        ("panel.toml", 'kind = "panel"\njudges = 5000', "judges = 5000"),
        ("kind.toml", 'kind = "quarrel"', "kind"),
        ("kinds.toml", 'kind = ["panel"]', "kind"),
        ("stop.toml", 'kind = "debate"\nstop = {kind = ["lead_by"]}', "kind"),
        ("number.json", "5", "this is no protocol"),
    ],
)
def test_files_that_are_no_protocols_are_refused(cli, tmp_path: Path, name: str, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    code, out, err = cli("simulate", tmp_path / name)
    assert code == 2
    assert said in err
    assert "Traceback" not in err
    assert out == ""
