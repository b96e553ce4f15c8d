"""The adapter against a real language model behind a real server (SmolLM2-135M, one thread): structure and money, never texts."""

import json
import math
import subprocess
import sys

import httpx2
import localmodel
import pytest
from faultproxy import FAULTS, proxied
from livecase import RUN

from adjourn.experiments.logs import read_log
from adjourn.live.client import Call, Client, Endpoint
from adjourn.live.errors import CallFailedError
from adjourn.live.ledger import Ledger
from adjourn.live.money import PICO, Rate
from adjourn.live.reading import LedgerReader
from adjourn.live.replay import RecordedJudgingSource
from adjourn.live.steps import entropy_bounds
from adjourn.model import Price
from adjourn.model.judging import apply_judging_settings, load_judging_population, load_judging_protocol, run_judging
from adjourn.model.judging.agreement import VERDICTS

PRICE = Price(localmodel.NAME, 0.10, 0.40)
SAMRE, MTBENCH = apply_judging_settings(
    load_judging_protocol("samre"), load_judging_population("mtbench-gpt4"), {"rounds": "2", "jurors": "1"}
)
QUESTIONS = [
    {"question_id": "sum", "question": "What is 17 + 25?", "gold": "42"},
    {"question_id": "eggs", "question": "A box holds 3 rows of 4 eggs. 2 eggs break. How many are whole?", "gold": "10"},
    {"question_id": "capital", "question": "What is the capital of France?", "gold": "Paris"},
    {"question_id": "larger", "question": "Which number is larger?", "gold": "B", "options": ["10", "1000"]},
    {"question_id": "product", "question": "What is 9 times 6?", "gold": "54"},
]


@pytest.fixture(scope="module")
def endpoint():
    """Base URL of the local model."""
    server, url = localmodel.start()
    yield url
    del server


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


ITEMS = [
    {"item_id": "sum", "question": "What is 2 + 2?", "answer_a": "4", "answer_b": "5", "label": "A"},
    {"item_id": "prime", "question": "Name a prime number.", "answer_a": "9", "answer_b": "7", "label": "B"},
    {"item_id": "big", "question": "Give a synonym of big.", "answer_a": "large", "answer_b": "small", "label": "A"},
    {"item_id": "italy", "question": "What is the capital of Italy?", "answer_a": "Milan", "answer_b": "Rome", "label": "B"},
    {"item_id": "hello", "question": "Say hello in French.", "answer_a": "Bonjour", "answer_b": "Salut", "label": "tie"},
]


def run(folder, endpoint, protocol, rows, *more):
    """Run a protocol by the command line, in a process of its own; gives its report."""
    prices = folder / "prices.toml"
    prices.write_text(
        f'as_of = "2026-11-01"\nsource = "made up"\ncurrency = "USD"\n[models."{localmodel.NAME}"]\n'
        "prompt_usd_per_million = 0.10\ncompletion_usd_per_million = 0.40\n"
    )
    arguments = ["run", protocol, "--questions", write(folder / "questions.jsonl", rows), "--cap-usd", 1, "--prices", prices]
    arguments += ["--ledger", folder / "ledger.db", "--base-url", endpoint, "--model", localmodel.NAME, "--send-seed", "--json", *more]
    code = "import sys; from adjourn.experiments.cli import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def uaad_run(endpoint, tmp_path_factory):
    """The ledger and the report of UAAD on five questions."""
    folder = tmp_path_factory.mktemp("uaad")
    return folder, run(folder, endpoint, "uaad", QUESTIONS, "--max-tokens", 16)


@pytest.fixture(scope="module")
def samre_run(endpoint, tmp_path_factory):
    """The ledger and the report of D3-SAMRE on five pairs of answers; two rounds and a jury of one, to be quick."""
    folder = tmp_path_factory.mktemp("samre")
    more = ["--set", "rounds=2", "--set", "jurors=1", "--max-tokens", 160, "--top-logprobs", 0, "--concurrency", 2, "--timeout", 300]
    return folder, run(folder, endpoint, "samre", ITEMS, *more)


def test_uaad_runs_end_to_end_and_every_question_has_its_audit_trail(uaad_run):
    folder, report = uaad_run
    assert report["done"] == len(QUESTIONS)
    with LedgerReader(folder / "ledger.db") as book:
        assert book.check() == []
        outcomes = book.outcomes(report["run_id"])
        assert {outcome["question_id"] for outcome in outcomes} == {row["question_id"] for row in QUESTIONS}
        for outcome in outcomes:
            audit = outcome["audit"]
            assert len(audit["chains"]) == 5
            assert audit["tier"] in ("low", "medium", "high")
            assert audit["stop_reason"] in ("consensus", "round_limit")
            signals = audit["signals"]
            assert len(signals["h"]) == len(signals["d"]) == len(signals["steps"]) > audit["target"]
            if signals["mode"] == "white-box":
                assert all(0 <= low <= high for low, high in zip(signals["lower"], signals["upper"], strict=True))
                assert 0 < max(signals["h"]) <= 1
        assert any(outcome["audit"]["signals"]["mode"] == "white-box" for outcome in outcomes)


def test_samre_runs_end_to_end_and_every_item_has_its_audit_trail(samre_run):
    folder, report = samre_run
    assert report["done"] == len(ITEMS)
    with LedgerReader(folder / "ledger.db") as book:
        assert book.check() == []
        for outcome in book.outcomes(report["run_id"]):
            audit = outcome["audit"]
            assert audit["verdict"] in VERDICTS
            assert audit["rounds_held"] == len(audit["rounds"]) == len(audit["gaps"]) == 2
            assert all(gap is None or -1 <= gap <= 1 for gap in audit["gaps"].values())
            assert set(audit["by_role"]) == {"advocate", "judge", "juror"}
            assert (audit["by_role"]["advocate"][0], len(audit["votes"])) == (4, 1)
            again = run_judging(SAMRE, MTBENCH, RecordedJudgingSource(audit))
            assert VERDICTS[again.outcome.verdict] == audit["verdict"]


def test_the_log_of_a_judged_run_is_read(samre_run, cli, tmp_path):
    folder, _ = samre_run
    assert cli("ledger", folder / "ledger.db", "--export", tmp_path / "log.csv").exit_code == 0
    read = read_log(tmp_path / "log.csv")
    assert set(read.items) == {row["item_id"] for row in ITEMS}
    assert len(read) == len(ITEMS) * (2 + 1)


@pytest.mark.parametrize("which", ["uaad_run", "samre_run"])
def test_spending_is_what_usage_and_prices_say(request, which):
    folder, report = request.getfixturevalue(which)
    rate = Rate.of(PRICE)
    with LedgerReader(folder / "ledger.db") as book:
        usages = book._rows("SELECT prompt_tokens, completion_tokens FROM messages")
        assert book.charged() == sum(rate.cost(*usage) for usage in usages)
    assert report["ledger"]["uncertain_usd"] == report["ledger"]["dangling_usd"] == 0
    assert sum(row["calls"] for row in report["by_role"]) == len(usages)


@pytest.mark.parametrize("which", ["uaad_run", "samre_run"])
def test_predicted_and_actual_stand_side_by_side_and_each_miss_is_explained(request, which):
    _, report = request.getfixturevalue(which)
    rows = {row["quantity"]: row for row in report["predicted_vs_actual"]}
    assert {"calls", "debate_calls", "rounds", "prompt_tokens", "completion_tokens", "usd", "right"} <= set(rows)
    assert report["plan"]["totals"]["usd"]["mean"] == pytest.approx(rows["usd"]["predicted"])
    for row in rows.values():
        assert row["range95"][0] <= row["range95"][1]
        assert 0 <= row["percentile"] <= 100
        assert row["inside"] or row["why"]


def test_the_log_of_a_run_is_read_calibrated_and_planned_with(uaad_run, cli, tmp_path):
    folder, _ = uaad_run
    log = tmp_path / "log.csv"
    assert cli("ledger", folder / "ledger.db", "--export", log).exit_code == 0
    read = read_log(log)
    assert set(read.questions) == {row["question_id"] for row in QUESTIONS}
    assert int((read.round == 0).sum()) == 5 * len(QUESTIONS)
    assert not math.isnan(read.completion_tokens.sum())
    population = tmp_path / "population.toml"
    fitted = cli("calibrate", log, "--out", population)
    assert fitted.exit_code == 0, fitted.stderr
    dry = [
        "--questions",
        folder / "questions.jsonl",
        "--cap-usd",
        1,
        "--prices",
        folder / "prices.toml",
        "--ledger",
        tmp_path / "no.db",
        "--dry-run",
    ]
    predicted = cli("run", "uaad", *dry, "--model", localmodel.NAME, "--population", population, "--json")
    assert predicted.exit_code == 0, predicted.stderr
    assert json.loads(predicted.stdout)["totals"]["usd"]["mean"] > 0
    planned = cli(
        "plan", "--pilot", log, "--items", 50, "--budget-usd", 1, "--prices", folder / "prices.toml", "--model", localmodel.NAME, "--json"
    )
    assert planned.exit_code == 0, planned.stderr
    assert json.loads(planned.stdout)["recommendation"]


def test_a_resumed_run_asks_the_model_nothing(uaad_run, cli, endpoint):
    folder, report = uaad_run
    with proxied(endpoint, lambda number, key: "") as proxy:
        with Ledger(folder / "ledger.db") as book:
            client = Client(Endpoint(base_url=proxy.url, model=localmodel.NAME), book, report["run_id"], PRICE, PICO)
            keys = [row[0] for row in book._rows("SELECT call_key FROM messages")]
            messages = client.ask_all([Call(key=key, role="solver", messages=(("user", "x"),)) for key in keys])
            client.close()
        assert len(messages) == len(keys) > 25
        assert proxy.exchanges == []


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault not in ("401", "400")])
def test_each_fault_before_a_real_answer_is_charged_and_overcome(tmp_path, endpoint, fault):
    ask = [Call(key=key, role="solver", messages=(("user", "Say one word."),), max_tokens=4) for key in ("first", "second")]
    with Ledger(tmp_path / "ledger.db", ballast_bytes=0) as book:
        book.start_run(RUN, "reasoning", {}, localmodel.NAME, {}, {})
        faults = {1: fault}
        with proxied(endpoint, lambda number, key: faults.get(number, ""), late_seconds=4.0) as proxy:
            settings = Endpoint(base_url=proxy.url, model=localmodel.NAME, max_tokens=4, timeout=3.0, top_logprobs=5)
            with Client(settings, book, RUN, PRICE, PICO) as client:
                messages = [client.ask(call) for call in ask]
            asked = [exchange.key for exchange in proxy.exchanges]
        rate = Rate.of(PRICE)
        billed = sum(rate.cost(e.prompt_tokens, e.completion_tokens) for e in proxy.exchanges)
        totals = book.totals()
        assert book.check() == []
    answered = fault == "no_logprobs"
    assert len(asked) == (2 if answered else 3)
    assert all(message.completion_tokens > 0 for message in messages)
    assert bool(messages[1].tokens) != answered
    assert billed <= totals.charged
    assert (totals.uncertain > 0) == (fault not in ("429", "no_choices", "no_logprobs"))
    assert totals.dangling == 0


@pytest.mark.parametrize("fault", ["400", "401"])
def test_a_refusal_by_the_provider_costs_nothing(tmp_path, endpoint, fault):
    with Ledger(tmp_path / "ledger.db", ballast_bytes=0) as book:
        book.start_run(RUN, "reasoning", {}, localmodel.NAME, {}, {})
        with proxied(endpoint, lambda number, key: fault if number else "") as proxy:
            with Client(Endpoint(base_url=proxy.url, model=localmodel.NAME, max_tokens=4), book, RUN, PRICE, PICO) as client:
                client.ask(Call(key="a", role="solver", messages=(("user", "Say one word."),)))
                paid = book.charged()
                with pytest.raises(Exception, match=fault) as caught:
                    client.ask(Call(key="b", role="solver", messages=(("user", "Say one word."),)))
            assert len(proxy.exchanges) == 2
        assert isinstance(caught.value, CallFailedError) == (fault == "400")
        assert book.charged() == paid


def test_a_prompt_too_long_for_the_model_fails_that_call_alone(tmp_path, endpoint):
    with Ledger(tmp_path / "ledger.db", ballast_bytes=0) as book:
        book.start_run(RUN, "reasoning", {}, localmodel.NAME, {}, {})
        with Client(Endpoint(base_url=endpoint, model=localmodel.NAME, max_tokens=4), book, RUN, PRICE, PICO) as client:
            client.ask(Call(key="a", role="solver", messages=(("user", "Say one word."),)))
            with pytest.raises(CallFailedError, match="status 400"):
                client.ask(Call(key="b", role="solver", messages=(("user", "word " * 20_000),)))
            client.ask(Call(key="c", role="solver", messages=(("user", "Say one word."),)))


def test_no_prompt_has_more_tokens_than_its_bytes_allow(uaad_run):
    folder, _ = uaad_run
    with LedgerReader(folder / "ledger.db") as book:
        rows = book._rows(
            "SELECT a.prompt_bound, s.prompt_tokens, a.completion_bound, s.completion_tokens"
            " FROM attempts a JOIN settlements s ON s.attempt_id = a.id"
        )
    assert rows
    assert all(used <= bound and written <= limit for bound, used, limit, written in rows)


def test_the_exact_entropy_of_the_whole_vocabulary_lies_within_the_bounds(endpoint):
    body = {
        "model": localmodel.NAME,
        "messages": [{"role": "user", "content": "Name a colour."}],
        "max_tokens": 3,
        "logprobs": True,
        "top_logprobs": 49152,
        "seed": 1,
    }
    answer = httpx2.post(f"{endpoint}/chat/completions", json=body, timeout=120, trust_env=False).json()
    entropies = []
    for token in answer["choices"][0]["logprobs"]["content"]:
        law = sorted((entry["logprob"] for entry in token["top_logprobs"]), reverse=True)
        total = math.fsum(math.exp(value) for value in law)
        assert total == pytest.approx(1, abs=1e-3)
        exact = -math.fsum(math.exp(value) * value for value in law)
        for k in (1, 5, 20):
            lower, upper = entropy_bounds(law[:k], len(law))
            assert lower - 1e-3 <= exact <= upper + 1e-3
        entropies.append(exact)
    assert entropies
    assert max(entropies) > 0.1
