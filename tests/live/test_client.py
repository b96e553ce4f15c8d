"""Each attempt is paid for before it is sent; what comes back is taken for what it is."""

import json
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from time import monotonic

import pytest
from chatserver import Raw, completion, serve
from hypothesis import given
from hypothesis import strategies as st
from livecase import PRICE, RUN

from adjourn.live.client import Call, Endpoint, _retry_after, prompt_bound
from adjourn.live.errors import CallFailedError, CapReachedError, EndpointError, RunCancelledError
from adjourn.live.money import Rate
from adjourn.live.reply import parse
from adjourn.model import ParameterError

KEY = "sk-secret-0123456789"


def call(key: str = "q/chain/0", text: str = "What is 2 + 2?") -> Call:
    return Call(key=key, role="solver", messages=(("user", text),))


def worst(one: Call, limit: int = 64) -> int:
    return Rate.of(PRICE).cost(prompt_bound(one), limit)


def test_an_answer_costs_what_its_usage_says(client_of, ledger):
    with serve(lambda asked: completion("4", prompt=50, tokens=10)) as server:
        message = client_of(server.url).ask(call())
    assert (message.text, message.prompt_tokens, message.completion_tokens) == ("4", 50, 10)
    assert ledger.charged() == Rate.of(PRICE).cost(50, 10)


def test_the_worst_case_is_charged_before_the_request_is_sent(client_of, ledger):
    seen = []

    def script(asked):
        seen.append(ledger.charged())
        return "4"

    with serve(script) as server:
        client_of(server.url).ask(call())
    assert seen == [worst(call())]


def test_an_answered_call_is_not_asked_again(client_of):
    with serve(lambda asked: "4") as server:
        client = client_of(server.url)
        assert client.ask(call()) == client.ask(call()) == client_of(server.url).ask(call())
        assert len(server.asked) == 1


def test_nothing_is_sent_that_the_cap_does_not_allow(client_of, ledger):
    with serve(lambda asked: "4") as server:
        with pytest.raises(CapReachedError):
            client_of(server.url, cap=worst(call()) - 1).ask(call())
        assert server.asked == []
        assert ledger.totals().attempts == 0
        client_of(server.url, cap=worst(call())).ask(call())


@pytest.mark.parametrize("status", [429, 500, 503, 408])
def test_a_passing_failure_is_tried_again(client_of, ledger, status):
    with serve(lambda asked: "4" if len(server.asked) > 1 else Raw(status, b"busy", {"retry-after": "0"})) as server:
        assert client_of(server.url).ask(call()).text == "4"
        keys = {asked.key for asked in server.asked}
    assert len(keys) == 1
    uncertain = worst(call()) if status >= 500 else 0
    assert ledger.totals().uncertain == uncertain
    assert ledger.charged() == uncertain + Rate.of(PRICE).cost(50, 10)


def test_attempts_are_bounded_and_each_has_its_row(client_of, ledger):
    script = iter(["4"])
    with serve(lambda asked: next(script, Raw(500, b"broken"))) as server:
        client = client_of(server.url, attempts=3)
        client.ask(call("a"))
        with pytest.raises(CallFailedError, match="--resume"):
            client.ask(call("b"))
        assert len(server.asked) == 4
    assert ledger.totals().attempts == 4
    assert [row[0] for row in ledger._rows("SELECT number FROM attempts WHERE call_key = 'b'")] == [1, 2, 3]
    assert ledger.charged() == Rate.of(PRICE).cost(50, 10) + 3 * worst(call())


@pytest.mark.parametrize("status", [400, 422])
def test_a_refused_request_is_not_repeated(client_of, status):
    script = iter(["4"])
    with serve(lambda asked: next(script, Raw(status, b"context too long"))) as server:
        client = client_of(server.url)
        client.ask(call("a"))
        with pytest.raises(CallFailedError, match="context too long"):
            client.ask(call("b"))
        assert len(server.asked) == 2


@pytest.mark.parametrize("status", [401, 403, 404, 301])
def test_an_endpoint_that_refuses_the_key_or_the_model_ends_the_run(client_of, ledger, status):
    with serve(lambda asked: Raw(status, f"bad key {KEY}".encode(), {"location": "http://127.0.0.1:1/"})) as server:
        client = client_of(server.url, key=KEY, concurrency=8)
        with pytest.raises(EndpointError, match="nothing more is sent"):
            client.ask_all([call(str(n)) for n in range(8)])
        assert len(server.asked) == 1
        assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert ledger.charged() == 0


def test_the_key_is_in_no_file_and_in_no_message(client_of, ledger):
    with serve(lambda asked: Raw(401, f"Incorrect key {KEY}".encode())) as server:
        client = client_of(server.url, key=KEY)
        with pytest.raises(EndpointError) as caught:
            client.ask(call())
    assert KEY not in str(caught.value)
    assert KEY not in repr(client.endpoint)
    assert KEY not in json.dumps(client.endpoint.to_dict())
    for path in ledger.path.parent.iterdir():
        assert KEY.encode() not in path.read_bytes()


def test_an_endpoint_without_usage_ends_the_run_after_one_attempt(client_of, ledger):
    def script(asked):
        answer = completion("4")
        del answer["usage"]
        return answer

    with serve(script) as server:
        client = client_of(server.url, concurrency=8)
        with pytest.raises(EndpointError, match="no usage"):
            client.ask_all([call(str(n)) for n in range(8)])
        assert len(server.asked) == 1
    assert ledger.charged() == worst(call("0"))


def test_a_later_answer_without_usage_is_charged_in_full_and_asked_again(client_of, ledger):
    usages = [{}, {"usage": None}, {}]
    with serve(lambda asked: completion("4", **usages[len(server.asked) - 1])) as server:
        client = client_of(server.url)
        client.ask(call("a"))
        assert client.ask(call("b")).text == "4"
    assert ledger.charged() == 2 * Rate.of(PRICE).cost(50, 10) + worst(call())


def test_an_endpoint_that_bills_more_than_was_asked_for_ends_the_run(client_of, ledger):
    with serve(lambda asked: completion("4", tokens=10_000)) as server:
        client = client_of(server.url)
        with pytest.raises(EndpointError, match="10000 completion tokens"):
            client.ask(call("a"))
        with pytest.raises(EndpointError):
            client.ask(call("b"))
        assert len(server.asked) == 1
    assert ledger.charged() == Rate.of(PRICE).cost(50, 10_000)


def test_an_endpoint_that_is_not_there_costs_nothing(client_of, ledger):
    with serve(lambda asked: "4") as server:
        url = server.url
    with pytest.raises(EndpointError, match="never answered"):
        client_of(url, attempts=2).ask(call())
    assert ledger.totals().attempts == 2
    assert ledger.charged() == 0


def test_retry_after_holds_every_call(client_of):
    times = {}

    def script(asked):
        times.setdefault(asked.body["messages"][0]["content"], []).append(monotonic())
        return Raw(429, b"slow down", {"retry-after": "1"}) if len(server.asked) == 2 else "4"

    with serve(script) as server:
        client = client_of(server.url, concurrency=1)
        client.ask(call("a", "first"))
        client.ask_all([call("b", "second"), call("c", "third")])
    assert times["second"][1] - times["second"][0] >= 1
    assert times["third"][0] - times["second"][0] >= 1


def test_a_wait_of_hours_ends_the_run(client_of):
    with serve(lambda asked: Raw(429, b"quota", {"retry-after": "7200"})) as server, pytest.raises(EndpointError, match="7200 s"):
        client_of(server.url).ask(call())


def test_retry_after_is_read_in_both_of_its_forms():
    assert _retry_after("1.5") == 1.5
    assert _retry_after("-3") == 0.0
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert 90 < (_retry_after(later) or 0) <= 100
    assert [_retry_after(text) for text in (None, "", "soon", "nan", "inf")] == [None] * 5


def test_no_more_calls_are_in_flight_than_allowed(client_of):
    flying, most, lock = 0, 0, threading.Lock()
    both = threading.Barrier(2)

    def script(asked):
        nonlocal flying, most
        with lock:
            flying += 1
            most = max(most, flying)
        if asked.body["messages"][0]["content"] != "first":
            both.wait(20)  # two at least must be in flight at once, or this breaks
        with lock:
            flying -= 1
        return "4"

    with serve(script) as server:
        client = client_of(server.url, concurrency=2)
        client.ask(call("first", "first"))
        messages = client.ask_all([call(str(n)) for n in range(6)])
    assert len(messages) == 6
    assert most == 2


def test_answers_come_in_the_order_of_the_calls(client_of):
    with serve(lambda asked: asked.body["messages"][0]["content"]) as server:
        texts = [f"text {n}" for n in range(20)]
        messages = client_of(server.url, concurrency=8).ask_all([call(text, text) for text in texts])
    assert [message.text for message in messages] == texts


def test_a_cancelled_run_begins_no_attempt(client_of, ledger):
    with serve(lambda asked: "4") as server:
        client = client_of(server.url)
        client.cancel()
        with pytest.raises(RunCancelledError):
            client.ask(call())
        assert server.asked == []
    assert ledger.totals().attempts == 0


def test_cancelling_ends_a_wait_between_attempts(client_of):
    arrived = threading.Event()

    def script(asked):
        arrived.set()
        return Raw(429, b"later", {"retry-after": "200"})

    with serve(script) as server:
        client = client_of(server.url)
        outcome = []

        def wait():
            with pytest.raises(RunCancelledError):
                client.ask(call())
            outcome.append("cancelled")

        waiting = threading.Thread(target=wait)
        waiting.start()
        assert arrived.wait(60)
        client.cancel()
        waiting.join(60)
        assert not waiting.is_alive()
    assert outcome == ["cancelled"]


def test_the_request_is_what_the_settings_say(client_of):
    with serve(lambda asked: "4") as server:
        client_of(server.url, top_logprobs=5, send_seed=True, temperature=0.3, limit_field="max_completion_tokens").ask(
            Call(key="a", role="solver", messages=(("system", "s"), ("user", "u")), seed=7, max_tokens=20, schema={"type": "object"})
        )
        client_of(server.url, top_logprobs=0).ask(call("b"))
    first, second = (asked.body for asked in server.asked)
    assert first == {
        "model": "scripted",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
        "temperature": 0.3,
        "max_completion_tokens": 20,
        "logprobs": True,
        "top_logprobs": 5,
        "seed": 7,
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": {"type": "object"}}},
    }
    assert "logprobs" not in second
    assert "seed" not in second


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("base_url", "ftp://x/v1"),
        ("base_url", "https://user:pass@x/v1"),
        ("base_url", "https://x/v1?key=1"),
        ("base_url", "x"),
        ("model", ""),
        ("temperature", 3),
        ("max_tokens", 0),
        ("top_logprobs", 21),
        ("timeout", 0),
        ("attempts", 0),
        ("concurrency", 0),
        ("limit_field", "max"),
        ("key", "two words"),
    ],
)
def test_settings_outside_their_range_are_refused(field, value):
    with pytest.raises(ParameterError, match=field):
        Endpoint(**{"base_url": "https://x/v1", "model": "m", field: value})


def test_a_key_is_not_sent_over_plain_http_to_another_machine():
    with pytest.raises(ParameterError, match="https where a key is sent"):
        Endpoint(base_url="http://example.org/v1", model="m", key=KEY)
    Endpoint(base_url="http://127.0.0.1:1/v1", model="m", key=KEY)


HUGE = b'{"choices": [' + b"9" * 10_000 + b"]}"
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["choices", "message", "content", "usage", "prompt_tokens"]), inner)
    ),
    max_leaves=12,
)


@given(st.binary(max_size=200) | JSON_VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_body_is_read_as_an_answer_with_usage_or_as_a_problem(body):
    parsed = parse(body, 200, prompt_bound=100, completion_bound=100)
    assert (parsed.message is None) == bool(parsed.problem)
    assert parsed.message is None or parsed.usage is not None


@pytest.mark.parametrize("body", [b"", b"[" * 100_000, b'{"a":' * 50_000, HUGE, b"\xff\xfe", b"null", b"[]", b'{"choices": []}', b"NaN"])
def test_a_bomb_is_a_problem(body):
    assert parse(body, 200, prompt_bound=1, completion_bound=1).problem


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        [1, 2],
        {"prompt_tokens": 1},
        {"prompt_tokens": -1, "completion_tokens": 1},
        {"prompt_tokens": 1.5, "completion_tokens": 1},
        {"prompt_tokens": True, "completion_tokens": True},
        {"prompt_tokens": "9", "completion_tokens": 1},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": 10**30, "completion_tokens": 1},
    ],
)
def test_usage_that_is_no_usage_is_unknown_and_not_zero(usage):
    parsed = parse(json.dumps(completion("4", usage=usage)).encode(), 200, prompt_bound=100, completion_bound=100)
    assert parsed.message is None
    assert parsed.usage is None
    assert parsed.no_usage


@pytest.mark.parametrize("logprob", [float("nan"), float("inf"), 0.5, "x", None, True])
def test_a_number_that_is_no_log_probability_drops_them_all(logprob):
    entries = [{"token": "4", "logprob": logprob, "top_logprobs": []}]
    body = json.dumps(completion("4", logprobs={"content": entries})).encode()
    parsed = parse(body, 200, prompt_bound=100, completion_bound=100)
    assert parsed.message is None or parsed.message.tokens == []


def test_a_very_unlikely_token_keeps_a_finite_log_probability():
    entries = [{"token": "4", "logprob": -9999.0, "top_logprobs": [{"token": "5", "logprob": 0.0, "bytes": [53]}]}]
    parsed = parse(json.dumps(completion("4", logprobs={"content": entries})).encode(), 200, prompt_bound=100, completion_bound=100)
    assert parsed.message.tokens == [["4", -9999.0, [["5", 0.0]]]]


def test_a_body_that_never_ends_or_is_too_large_is_cut_off(client_of, ledger):
    bodies = iter([json.dumps(completion("4")).encode(), b" " * (17 * 2**20)])
    with serve(lambda asked: Raw(200, next(bodies))) as server:
        client = client_of(server.url)
        client.ask(call("a"))
        with pytest.raises(CallFailedError, match="larger than"):
            client.ask(call("b"))
    assert ledger.totals().uncertain == worst(call("b"))


def test_a_compressed_body_is_not_opened(client_of):
    bodies = iter([Raw(200, json.dumps(completion("4")).encode())])
    with serve(lambda asked: next(bodies, Raw(200, b"\x1f\x8b", {"content-encoding": "gzip"}))) as server:
        client = client_of(server.url, attempts=1)
        client.ask(call("a"))
        with pytest.raises(CallFailedError, match="compressed"):
            client.ask(call("b"))
        assert server.asked[0].headers["accept-encoding"] == "identity"


def test_a_message_of_one_run_is_not_an_answer_of_another(client_of, ledger):
    ledger.start_run("fedcba9876543210", "reasoning", {}, "m", {}, {})
    with serve(lambda asked: "4") as server:
        client_of(server.url).ask(call())
    assert ledger.message(RUN, call().key) is not None
    assert ledger.message("fedcba9876543210", call().key) is None


def test_a_first_call_that_is_too_long_does_not_end_the_run_but_three_do(client_of):
    with serve(lambda asked: Raw(413, b"too long") if len(server.asked) != 2 else "4") as server:
        client = client_of(server.url)
        with pytest.raises(CallFailedError, match="too long"):
            client.ask(call("a"))
        assert client.ask(call("b")).text == "4"
    with serve(lambda asked: Raw(400, b"unknown field logprobs")) as server:
        client = client_of(server.url)
        client._met = False
        for key in ("c", "d"):
            with pytest.raises(CallFailedError):
                client.ask(call(key))
        with pytest.raises(EndpointError, match="never answered"):
            client.ask(call("e"))
        assert len(server.asked) == 3


def test_a_call_waits_for_the_room_that_calls_in_flight_give_back(client_of, ledger):
    # Room for the worst case of one call, not of two; in truth each costs a twentieth of it.
    with serve(lambda asked: completion("4", prompt=2, tokens=1)) as server:
        client = client_of(server.url, cap=worst(call()) * 5 // 4, concurrency=4)
        messages = client.ask_all([call(str(n)) for n in range(6)])
    assert len(messages) == 6
    assert max(row[0] for row in ledger._rows("SELECT total FROM charges")) <= worst(call()) * 5 // 4
