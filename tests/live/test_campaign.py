"""Many questions, many faults, several processes: the cap holds, the sums agree, nothing that was answered is asked again."""

import json
import signal
import subprocess
import sys
import threading

import pytest
from chatserver import Raw, completion, serve
from faultproxy import proxied
from hammer import COMMAND, choose, hammer
from scripted import questions, text_of

from adjourn.live.money import PICO
from adjourn.live.reading import LedgerReader


def write_questions(path, count):
    rows = [{"question_id": q.question_id, "question": q.text, "gold": q.gold, "kind": q.kind} for q in questions(count)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def arguments(tmp_path, prices, count, protocol="uaad", **options):
    words = [
        protocol,
        "--questions",
        str(write_questions(tmp_path / "questions.jsonl", count)),
        "--prices",
        str(prices),
        "--model",
        "scripted",
    ]
    for name, value in {"max_tokens": 64, "timeout": 1.0, "attempts": 6, "concurrency": 4, "top_logprobs": 0, **options}.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    return words


def answers(request):
    return completion(
        text_of(int(request.key[:2], 16) % 4, 7), prompt=40 + int(request.key[2:4], 16) % 20, tokens=5 + int(request.key[4], 16)
    )


def test_faults_kills_and_two_processes_leave_a_sound_ledger_under_the_cap(tmp_path, prices):
    caps = [PICO // 500, PICO // 50]
    with serve(answers) as server, proxied(server.url, choose(5, 0.7), late_seconds=1.5) as proxy:
        report = hammer(
            tmp_path, proxy, arguments(tmp_path, prices, 25), tmp_path / "ledger.db", caps=caps, kills=4, kill_every=(20, 50), seed=5
        )
    assert report.attempts > 200
    assert report.kills == 4
    assert report.raised == 1
    assert report.charged <= caps[1]


def test_a_run_stops_at_its_cap_and_goes_on_when_the_cap_is_raised(tmp_path, prices, cli):
    words = arguments(tmp_path, prices, 8)
    with serve(answers) as server:
        common = [*words, "--ledger", tmp_path / "ledger.db", "--base-url", server.url]
        stopped = cli("run", *common, "--cap-usd", 0.0004)
        before = len(server.asked)
        with LedgerReader(tmp_path / "ledger.db") as book:
            charged = book.charged()
        again = cli("run", *common, "--cap-usd", 0.0004, "--resume")
        after = len(server.asked)
        finished = cli("run", *common, "--cap-usd", 1, "--resume", "--json")
        keys = [asked.key for asked in server.asked]
    assert (stopped.exit_code, again.exit_code, finished.exit_code) == (4, 4, 0)
    assert "the cap of 0.000400 USD holds" in stopped.stderr
    assert 0 < charged <= PICO // 2500
    assert before > 0
    assert after - before <= 4
    assert len(keys) == len(set(keys)), "an answered call was asked again"
    assert json.loads(finished.stdout)["done"] == 8


def test_a_finished_run_sends_nothing_when_it_is_resumed(tmp_path, prices, cli):
    words = arguments(tmp_path, prices, 3)
    with serve(answers) as server:
        common = ["run", *words, "--ledger", tmp_path / "ledger.db", "--base-url", server.url, "--cap-usd", 1]
        assert cli(*common).exit_code == 0
        sent = len(server.asked)
        refused = cli(*common)
        resumed = cli(*common, "--resume", "--json")
        assert len(server.asked) == sent
    assert refused.exit_code == 2
    assert "--resume" in refused.stderr
    assert resumed.exit_code == 0
    assert json.loads(resumed.stdout)["done"] == 3


@pytest.mark.parametrize(
    ("option", "value", "what"), [("temperature", 0.1, "endpoint"), ("seed", 3, "seed"), ("contradiction", "judge", "methods")]
)
def test_a_run_with_other_settings_is_not_resumed(tmp_path, prices, cli, option, value, what):
    with serve(answers) as server:
        common = ["--ledger", tmp_path / "ledger.db", "--base-url", server.url, "--cap-usd", 1]
        assert cli("run", *arguments(tmp_path, prices, 2), *common).exit_code == 0
        other = cli("run", *arguments(tmp_path, prices, 2, **{option: value}), *common, "--resume")
    assert other.exit_code == 2
    assert f"differs in {what}" in other.stderr


def test_a_question_that_fails_does_not_stop_the_others_and_is_asked_again(tmp_path, prices, cli):
    broken = True

    def script(request):
        return Raw(400, b"no") if broken and "Riddle 1:" in request.body["messages"][1]["content"] else answers(request)

    with serve(script) as server:
        common = [
            "run",
            *arguments(tmp_path, prices, 4, concurrency=1),
            "--ledger",
            tmp_path / "ledger.db",
            "--base-url",
            server.url,
            "--cap-usd",
            1,
        ]
        first = cli(*common, "--json")
        broken = False
        second = cli(*common, "--resume", "--json")
    assert first.exit_code == 3
    assert json.loads(first.stdout)["done"] == 3
    assert "q1" in first.stderr
    assert second.exit_code == 0
    assert json.loads(second.stdout)["done"] == 4


def test_the_judge_of_contradictions_spends_under_the_same_cap(tmp_path, prices, cli):
    def script(request):
        if "two statements" in request.body["messages"][0]["content"]:
            return completion("No.", prompt=30, tokens=1)
        return answers(request)

    with serve(script) as server:
        common = ["--ledger", tmp_path / "ledger.db", "--base-url", server.url, "--cap-usd", 1, "--json"]
        result = cli("run", *arguments(tmp_path, prices, 4, contradiction="judge"), *common)
    roles = {row["role"]: row for row in json.loads(result.stdout)["by_role"]}
    assert result.exit_code == 0
    assert roles["scorer"]["calls"] > 0
    assert roles["scorer"]["charged_usd"] == pytest.approx(roles["scorer"]["calls"] * 3.4e-6)


def test_an_interrupted_run_keeps_what_was_answered_and_goes_on_when_resumed(tmp_path, prices, cli):
    arrived, go_on = threading.Event(), threading.Event()

    def script(request):
        if len(server.asked) > 12:
            arrived.set()
            assert go_on.wait(60)
        return answers(request)

    ledger = tmp_path / "ledger.db"
    with serve(script) as server:
        common = [*arguments(tmp_path, prices, 6, timeout=60), "--ledger", str(ledger), "--base-url", server.url, "--cap-usd", "1"]
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "run", *common], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert arrived.wait(60)
        process.send_signal(signal.SIGINT)
        go_on.set()
        _, errors = process.communicate(timeout=60)
        sent = [asked.key for asked in server.asked]
        with LedgerReader(ledger) as book:
            assert book.check() == []
            assert book.totals().dangling_attempts == 0
            assert len(book._rows("SELECT 1 FROM messages")) == len(sent)
        resumed = cli("run", *common, "--resume", "--json")
        keys = [asked.key for asked in server.asked]
    assert process.returncode == 3
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert resumed.exit_code == 0
    assert json.loads(resumed.stdout)["done"] == 6
    assert len(keys) == len(set(keys))
