"""``adjourn calibrate`` as a person and as a script runs it."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pilotlog import answer_rows, write_csv

from adjourn.model import load_population

Cli = Callable[..., Any]
COUNTS = [(4, [1]), (5, []), (1, [3, 1]), (2, [2, 1]), (3, [2])] * 12


@pytest.fixture
def pilot(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "pilot.csv", answer_rows(COUNTS))


def test_json_stands_alone_on_standard_output_and_warnings_go_to_standard_error(cli: Cli, pilot: Path) -> None:
    done = cli("calibrate", pilot, "--draws", 20, "--json")
    assert done.exit_code == 0
    data = json.loads(done.stdout)
    assert data["questions"] == 60
    assert data["accuracy"]["mean"] == pytest.approx(0.6, abs=0.02)
    low, high = data["accuracy"]["ci95"]
    assert low < 0.6 < high
    assert {"plain_beta", "law", "families", "plurality", "response", "debate_minus_vote", "population", "provenance"} <= set(data)
    assert data["response"]["borrowed"] is True
    assert "warning: The log has one round" in done.stderr


def test_the_population_that_it_writes_is_accepted_by_simulate(cli: Cli, pilot: Path, tmp_path: Path) -> None:
    out = tmp_path / "population.toml"
    assert cli("calibrate", pilot, "--draws", 5, "--out", out).exit_code == 0
    assert load_population(out).name == "pilot"
    done = cli("simulate", "cot", "--population", out, "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["accuracy"]["mean"] == pytest.approx(0.6, abs=0.02)


def test_an_out_file_that_ends_in_json_holds_the_report(cli: Cli, pilot: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    shown = cli("calibrate", pilot, "--draws", 0, "--out", out)
    assert shown.exit_code == 0
    report = json.loads(out.read_text())
    assert report["accuracy"]["ci95"] == [None, None]
    assert report["report"][0] in shown.stdout.replace("\n", " ") or "60 questions" in shown.stdout


def test_columns_are_mapped(cli: Cli, pilot: Path) -> None:
    text = pilot.read_text().replace("question_id,round,agent,answer,correct", "qid,turn,who,said,ok")
    pilot.write_text(text)
    refused = cli("calibrate", pilot)
    assert refused.exit_code == 2
    assert "--map question_id=qid" in refused.stderr
    pairs = ("question_id=qid", "round=turn", "agent=who", "answer=said", "correct=ok")
    assert cli("calibrate", pilot, *(word for pair in pairs for word in ("--map", pair)), "--draws", 0).exit_code == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "line 1: the file is empty"),
        (gzip.compress(b"x", mtime=0), "line 1: this is no text but compressed by gzip"),
        (b"question_id,round,agent,answer,correct\nq,0,0,a,1\nq,0,0,b,1\n", "line 3: this row and line 2 give different answers"),
        ("question_id,round,agent,answer,correct\n".encode("utf-16"), "line 1: the text is UTF-16"),
        (b'{"question_id": "q", "round": 0,\n', "line 1, column 33: not valid JSON"),
    ],
)  # fmt: skip
def test_a_malformed_log_ends_with_exit_code_two_and_one_message_without_a_traceback(
    cli: Cli, tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    done = cli("calibrate", path, "--json")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: {path}, {words}")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [("--order", "random"), ("--rule", "voter"), ("--draws", "-1"), ("--map", "answer")])
def test_an_option_outside_its_range_is_named(cli: Cli, pilot: Path, words: tuple[str, str]) -> None:
    done = cli("calibrate", pilot, *words)
    assert done.exit_code == 2
    assert words[0] in done.stderr


def test_a_log_of_judges_is_calibrated_too_and_takes_no_order_of_speaking(cli: Cli, tmp_path: Path) -> None:
    rows = [
        (f"i{k}", judge, order, "A" if (k + (judge == "bad") * (k % 3)) % 2 else "B", "A" if k % 2 else "B")
        for k in range(60)
        for judge in ("good", "bad")
        for order in ("AB", "BA")
    ]
    path = write_csv(tmp_path / "judges.csv", rows, ("item_id", "judge", "order", "verdict", "label"))
    out = tmp_path / "judges.toml"
    assert cli("calibrate", path, "--draws", 3, "--out", out).exit_code == 0
    assert cli("simulate", "single_judge", "--population", out, "--json").exit_code == 0
    refused = cli("calibrate", path, "--order", "sequential")
    assert refused.exit_code == 2
    assert "--order" in refused.stderr
