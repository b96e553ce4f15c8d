"""`adjourn run` and `adjourn ledger`: what is refused before anything is sent, and a dry run that agrees with the plan to the cent."""

import json
import os
import sqlite3
import subprocess
import sys

import pytest
from chatserver import completion, serve
from scripted import text_of

from adjourn.experiments.designs import Design
from adjourn.experiments.families import reasoning_case
from adjourn.experiments.live_runs import endpoint_of
from adjourn.experiments.plan import assess
from adjourn.experiments.totals import Total
from adjourn.live.reading import LedgerReader
from adjourn.model import InputError, load_population, load_protocol

GOOD = """as_of = "2026-11-01"
source = "x"
currency = "USD"
[models."scripted"]
prompt_usd_per_million = 0.5
completion_usd_per_million = 1.5
"""


@pytest.fixture
def asked(tmp_path):
    path = tmp_path / "questions.csv"
    path.write_text("question_id,question,gold\n" + "".join(f"q{n},What is {n} + {n}?,{2 * n}\n" for n in range(40)))
    return path


def words(asked, prices, ledger, *more):
    return ["--questions", asked, "--cap-usd", 1, "--prices", prices, "--ledger", ledger, "--model", "scripted", *more]


@pytest.mark.parametrize("protocol", ["cot_sc", "uaad", "fixed_mad", "down", "esc"])
def test_a_dry_run_agrees_with_the_plan_to_the_cent_and_sends_nothing(tmp_path, cli, asked, prices, protocol):
    result = cli("run", protocol, *words(asked, prices, tmp_path / "no.db"), "--dry-run", "--json")
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    case = reasoning_case(protocol, prices=prices, model="scripted")
    planned = Total.of(assess(Design(protocol, case.protocol), case.population, case.pricing.price).money, 40)
    assert data["totals"]["usd"]["mean"] == pytest.approx(planned.mean, rel=1e-12)
    assert data["totals"]["usd"]["p95"] == pytest.approx(planned.quantile(0.95), rel=1e-9)
    assert data["totals"]["usd"]["worst_case"] == pytest.approx(planned.worst, rel=1e-12)
    assert data["totals"]["calls"]["mean"] == pytest.approx(40 * case.exact().mean("calls").mean)
    assert not (tmp_path / "no.db").exists()


def test_a_dry_run_prices_the_design_that_a_plan_recommends(tmp_path, cli, asked, prices):
    pilot = tmp_path / "pilot.csv"
    rows = [f"q{n},0,{a},{'x' if (n * 7 + a * n) % 5 else 'y'},x" for n in range(30) for a in range(6)]
    pilot.write_text("question_id,round,agent,answer,gold\n" + "\n".join(rows) + "\n")
    plan = tmp_path / "plan.json"
    population = tmp_path / "population.toml"
    common = ["--prices", prices, "--model", "scripted"]
    assert cli("calibrate", pilot, "--out", population, "--draws", 0).exit_code == 0
    assert cli("plan", "--pilot", pilot, "--items", 40, "--budget-usd", 5, "--draws", 20, *common, "--out", plan).exit_code == 0
    dry = cli("run", plan, *words(asked, prices, tmp_path / "no.db", "--population", population), "--dry-run", "--json")
    assert dry.exit_code == 0, dry.stderr
    recommended = json.loads(plan.read_text())["recommendation"]["usd_total"]
    totals = json.loads(dry.stdout)["totals"]["usd"]
    assert totals["mean"] == pytest.approx(recommended["mean"], abs=0.005)
    assert totals["worst_case"] == pytest.approx(recommended["worst_case"], abs=0.005)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace('as_of = "2026-11-01"\n', ""), "need a date"),
        (GOOD.replace("2026-11-01", "last week"), "need a date"),
        (GOOD.replace('source = "x"\n', ""), "no source"),
        (GOOD.replace('"USD"', '"EUR"'), "only currency"),
        (GOOD.replace("completion_usd_per_million = 1.5\n", ""), "completion_usd_per_million"),
        (GOOD.replace("1.5", "-1"), "completion_usd_per_million"),
        (GOOD.replace('"scripted"', '"other"'), "no price for model"),
        ("", "need a date"),
    ],
)
@pytest.mark.parametrize("dry", [True, False])
def test_prices_that_are_not_whole_are_refused_before_anything_is_sent(tmp_path, cli, asked, text, message, dry):
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with serve(lambda request: "4") as server:
        more = ["--dry-run"] if dry else ["--base-url", server.url]
        result = cli("run", "cot", *words(asked, path, tmp_path / "ledger.db", *more))
        assert server.asked == []
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "ledger.db").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--temperature", 9], "temperature"),
        (["--max-tokens", 0], "max_completion"),
        (["--cap-usd", -1], "cap_usd"),
        (["--set", "tau_c=0.5"], "tau_c"),
        (["--base-url", "nowhere"], "base_url"),
        (["--contradiction", "/no/such/folder"], "NLI model"),
        (["--population", "nobody"], "nobody"),
        (["--resume", "--seed", -1], "seed"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_before_anything_is_sent(tmp_path, cli, asked, prices, more, message):
    with serve(lambda request: "4") as server:
        result = cli("run", "cot", *words(asked, prices, tmp_path / "ledger.db", "--base-url", server.url), *more)
        assert server.asked == []
    assert result.exit_code == 2
    assert message in result.stderr


def test_an_oracle_a_missing_endpoint_and_an_unknown_protocol_are_refused(tmp_path, cli, asked, prices, monkeypatch):
    monkeypatch.delenv("ADJOURN_BASE_URL", raising=False)
    for protocol, message in (("oracle_router", "true difficulty"), ("cot", "--base-url"), ("nonsense", "no protocol")):
        result = cli("run", protocol, *words(asked, prices, tmp_path / "ledger.db"))
        assert result.exit_code == 2
        assert message in result.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("question_id,question\n", "no rows"),
        ("question_id,text\nq,x\n", "question"),
        ("question_id,question\nq,x\nq,y\n", "ids are unique"),
        ("question_id,question,options,gold\nq,x,one|two,C\n", "gold"),
        ('{"question_id": "q", "question": "x", "options": [1, 2]}\n', "options"),
        ('{"question_id": "q", "question": "x", "kind": "poem"}\n', "kind"),
        ('{"question_id": "q"}\n', "question"),
    ],
)
def test_a_file_of_questions_that_cannot_be_read_names_file_and_reason(tmp_path, cli, prices, text, message):
    path = tmp_path / "questions.jsonl"
    path.write_text(text)
    result = cli("run", "cot", *words(path, prices, tmp_path / "ledger.db"), "--dry-run")
    assert result.exit_code == 2
    assert message in result.stderr
    assert str(path) in result.stderr


def test_the_key_of_the_environment_is_sent_and_written_nowhere(tmp_path, cli, asked, prices, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    with serve(lambda request: text_of(4, 9)) as server:
        result = cli("run", "cot", *words(asked, prices, tmp_path / "ledger.db", "--base-url", server.url, "--key-env", "MY_KEY", "--json"))
        assert {request.headers["authorization"] for request in server.asked} == {"Bearer sk-very-secret"}
    assert result.exit_code == 0
    assert "secret" not in result.stdout + result.stderr
    assert all(b"very-secret" not in path.read_bytes() for path in tmp_path.iterdir() if path.is_file())


def test_a_report_shows_spending_by_role_and_the_last_run_first(tmp_path, cli, asked, prices):
    with serve(lambda request: completion(text_of(4, 9), prompt=50, tokens=10)) as server:
        for protocol in ("cot", "uaad"):
            assert cli("run", protocol, *words(asked, prices, tmp_path / "ledger.db", "--base-url", server.url)).exit_code == 0
    shown = json.loads(cli("ledger", tmp_path / "ledger.db", "--json").stdout)
    assert shown["protocol"] == "uaad"
    assert [run["protocol"] for run in shown["runs"]] == ["cot", "uaad"]
    roles = {row["role"]: row for row in shown["by_role"]}
    assert roles["solver"]["calls"] == 200
    assert roles["synthesiser"]["calls"] == 40
    assert shown["run"]["charged_usd"] == pytest.approx(sum(row["charged_usd"] for row in roles.values()))
    assert shown["ledger"]["charged_usd"] > shown["run"]["charged_usd"]
    first = cli("ledger", tmp_path / "ledger.db", "--run", shown["runs"][0]["run_id"])
    assert first.exit_code == 0
    assert "cot" in first.stdout
    assert cli("ledger", tmp_path / "ledger.db", "--run", "none").exit_code == 2
    assert cli("ledger", tmp_path / "nothing.db").exit_code == 2


def test_questions_without_a_known_answer_are_run_and_not_graded(tmp_path, cli, prices):
    path = tmp_path / "questions.jsonl"
    path.write_text('{"question_id": "a", "question": "x?"}\n{"question_id": "b", "question": "y?"}\n')
    with serve(lambda request: "Answer: blue") as server:
        result = cli("run", "cot_sc", *words(path, prices, tmp_path / "ledger.db", "--base-url", server.url, "--json"))
    report = json.loads(result.stdout)
    assert (report["done"], report["graded"], report["accuracy"]) == (2, 0, None)
    assert "right" not in {row["quantity"] for row in report["predicted_vs_actual"]}
    with LedgerReader(tmp_path / "ledger.db") as book:
        assert [(o["answer"], o["correct"]) for o in book.outcomes(report["run_id"])] == [("blue", None)] * 2


def test_a_damaged_ledger_is_reported_and_ends_with_an_error(tmp_path, cli, asked, prices):
    with serve(lambda request: text_of(4, 9)) as server:
        cli("run", "cot", *words(asked, prices, tmp_path / "ledger.db", "--base-url", server.url))
    raw = sqlite3.connect(tmp_path / "ledger.db")
    raw.execute("DROP TRIGGER charges_no_update")
    raw.execute("UPDATE charges SET total = 0 WHERE seq = 3")
    raw.commit()
    raw.close()
    result = cli("ledger", tmp_path / "ledger.db")
    assert result.exit_code == 1
    assert "damaged" in result.stderr


NO_CLIENT = """
import sys
sys.modules["httpx2"] = None
from adjourn.experiments.cli import main
main()
"""


def test_without_an_http_client_a_dry_run_works_and_a_run_says_what_to_install(tmp_path, asked, prices):
    base = [sys.executable, "-c", NO_CLIENT, "run", "uaad", *map(str, words(asked, prices, tmp_path / "ledger.db"))]
    dry = subprocess.run([*base, "--dry-run", "--json"], capture_output=True, text=True)
    assert dry.returncode == 0, dry.stderr
    real = subprocess.run([*base, "--base-url", "http://127.0.0.1:1/v1"], capture_output=True, text=True)
    assert real.returncode == 2
    assert "adjourn[live]" in real.stderr


def test_an_endpoint_needs_the_http_client(monkeypatch):
    monkeypatch.setitem(sys.modules, "adjourn.live.client", None)
    case = reasoning_case(load_protocol("cot"), load_population("gsm8k-gpt35"))
    with pytest.raises(InputError, match=r"adjourn\[live\]"):
        endpoint_of(case, "http://127.0.0.1:1/v1", "NO_KEY")
    assert os.environ.get("NO_KEY") is None
