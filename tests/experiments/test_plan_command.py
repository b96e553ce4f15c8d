"""``adjourn plan`` as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjourn.experiments.demo.make_pilot import write_pilot

QUICK = ("--draws", "20")


@pytest.fixture(scope="module")
def small_pilot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pilot") / "pilot.csv"
    write_pilot(path, questions=60)
    return path


def test_the_shipped_pilot_is_what_its_script_makes(root: Path, tmp_path: Path) -> None:
    write_pilot(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (root / "experiments/demo/synthetic-pilot.csv").read_bytes()


def test_json_holds_the_documented_keys_and_nothing_else_is_on_standard_output(cli, small_pilot: Path) -> None:
    code, out, _ = cli("plan", "--pilot", str(small_pilot), "--items", "2000", "--budget-usd", "20", "--json", *QUICK)
    assert code == 0
    plan = json.loads(out)
    assert {"recommendation", "frontier", "p_over_budget", "bootstrap_wins", "rival", "flips", "notes", "provenance"} <= plan.keys()
    assert plan["recommendation"]["usd_total"]["mean"] <= plan["recommendation"]["usd_total"]["p95"]
    assert plan["recommendation"]["usd_total"]["p95"] <= plan["recommendation"]["usd_total"]["worst_case"]
    assert plan["provenance"]["prices"]["as_of"]
    low, high = plan["recommendation"]["accuracy"]["ci95"]
    assert low <= plan["recommendation"]["accuracy"]["mean"] <= high


def test_the_recommended_protocol_runs_again_from_the_json(cli, small_pilot: Path) -> None:
    from adjourn.model import Population, Protocol, exact

    _, out, _ = cli("plan", "--pilot", str(small_pilot), "--items", "100", "--budget-usd", "5", "--json", *QUICK)
    plan = json.loads(out)
    protocol = Protocol.from_dict(plan["recommendation"]["protocol"])
    population = Population.from_dict(plan["provenance"]["population"])
    assert exact.simulate(protocol, population).mean("accuracy").mean == pytest.approx(
        plan["recommendation"]["accuracy"]["mean"], abs=1e-12
    )


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_frontier_is_drawn_where_asked(cli, small_pilot: Path, tmp_path: Path, suffix: str) -> None:
    picture = tmp_path / f"frontier{suffix}"
    code, out, _ = cli("plan", "--pilot", str(small_pilot), "--items", "100", "--budget-usd", "5", "--plot", str(picture), *QUICK)
    assert code == 0
    assert picture.stat().st_size > 5000
    assert out.startswith("Run ")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--budget-usd", "0.001"), 4, "Give at least"),
        (("--budget-usd", "-1"), 2, "--budget-usd"),
        (("--budget-usd", "nan"), 2, "--budget-usd"),
        (("--budget-usd", "5", "--model", "nobody-knows"), 2, "no price for model"),
        (("--budget-usd", "5", "--prices", "missing.toml"), 2, "missing.toml"),
        (("--budget-usd", "5", "--plot", "picture.gif"), 2, ".png"),
        (("--budget-usd", "5", "--map", "answer"), 2, "ours=theirs"),
    ],
)
def test_mistakes_end_with_one_message(cli, small_pilot: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    got, out, err = cli("plan", "--pilot", str(small_pilot), "--items", "100", *arguments, *QUICK)
    assert got == code
    assert said in err
    assert "Traceback" not in err
    assert out == ""


def test_a_log_of_judges_is_told_apart(cli, tmp_path: Path) -> None:
    log = tmp_path / "judges.csv"
    log.write_text("item_id,judge,order,verdict,label\n1,j,AB,A,A\n1,j,BA,A,A\n")
    code, _, err = cli("plan", "--pilot", str(log), "--items", "10", "--budget-usd", "1")
    assert code in (0, 2, 4)
    assert "Traceback" not in err


def test_the_triviaqa_pilot_gives_a_plan(cli, shared_dir: Path) -> None:
    pilot = shared_dir / "pilots" / "triviaqa-llama13b-20.csv"
    code, out, _ = cli("plan", "--pilot", str(pilot), "--items", "2000", "--budget-usd", "20", "--json", *QUICK)
    assert code == 0
    plan = json.loads(out)
    assert plan["p_over_budget"] <= 0.05
    assert 0.70 < plan["recommendation"]["accuracy"]["mean"] < 0.80


@pytest.mark.parametrize(("questions", "known"), [(1, False), (9, False), (12, True)])
def test_a_pilot_too_small_to_resample_has_no_narrow_interval(cli, tmp_path: Path, questions: int, known: bool) -> None:
    log = tmp_path / "tiny.csv"
    rows = [f"q{q},0,{agent},{'r' if (q + agent) % 3 else 'w'},{int((q + agent) % 3 > 0)}" for q in range(questions) for agent in range(4)]
    log.write_text("\n".join(["question_id,round,agent,answer,correct", *rows]) + "\n", encoding="utf-8")
    code, out, _ = cli("plan", "--pilot", log, "--items", "10", "--budget-usd", "5", "--json", *QUICK)
    assert code == 0
    told = json.loads(out)
    low, high = told["recommendation"]["accuracy"]["ci95"]
    assert ((low, high) != (0, 1)) is known
    assert any("cannot say how sure" in note for note in told["notes"]) is not known
    assert (told["rival"]["more_pilot_questions"] is None) or known
