"""A proxy that stands in front of a real endpoint and does to its answers what networks and providers do.

It keeps the truth: what was asked under which key, what was done to it, and what the endpoint billed.
"""

import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

from chatserver import QuietServer

REFUSALS = {"429": 429, "401": 401, "400": 400}
BEFORE = (*REFUSALS, "500", "reset")  # the endpoint never worked
AFTER = ("late", "reset_after", "cut", "truncated", "html", "no_usage", "no_choices", "bad_gateway")  # it worked, the answer is lost
CHANGED = ("no_logprobs",)  # an answer still

FAULTS = (*BEFORE, *AFTER, *CHANGED)


@dataclass
class Exchange:
    """One request and what became of it."""

    key: str
    fault: str
    arrived: float
    prompt_tokens: int = 0
    completion_tokens: int = 0
    delivered: bool = False


class FaultProxy:
    """The proxy; `choose(number, key)` names the fault of a request ("" for none).

    `late_seconds` is how long a late answer is held back: more than the client's timeout.
    """

    def __init__(self, upstream: str, choose: Callable[[int, str], str], late_seconds: float = 2.0, retry_after: str = "0") -> None:
        self.choose = choose
        self.late_seconds = late_seconds
        self.retry_after = retry_after
        self.exchanges: list[Exchange] = []
        self._upstream = urlsplit(upstream)
        self._lock = threading.Lock()
        self._server = QuietServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _begin(self, key: str) -> Exchange:
        with self._lock:
            exchange = Exchange(key, self.choose(len(self.exchanges), key), time.monotonic())
            self.exchanges.append(exchange)
            return exchange

    def _ask(self, body: bytes, key: str) -> tuple[int, bytes]:
        assert self._upstream.hostname is not None
        connection = http.client.HTTPConnection(self._upstream.hostname, self._upstream.port, timeout=120)
        try:
            connection.request(
                "POST", f"{self._upstream.path}/chat/completions", body, {"content-type": "application/json", "idempotency-key": key}
            )
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *args: object) -> None:
                pass

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                exchange = proxy._begin(self.headers.get("idempotency-key", ""))
                fault = exchange.fault
                if fault in BEFORE:
                    self._refuse(fault)
                    return
                status, answer = proxy._ask(body, exchange.key)
                data = json.loads(answer)
                if status != 200:
                    self._send(status, answer)
                    return
                exchange.prompt_tokens, exchange.completion_tokens = (data["usage"][f"{k}_tokens"] for k in ("prompt", "completion"))
                self._answer(fault, data, answer)
                exchange.delivered = fault in ("", *CHANGED)

            def _refuse(self, fault: str) -> None:
                if fault == "reset":
                    self._reset()
                elif fault == "500":
                    self._send(500, b"internal error")
                else:
                    said = {"error": {"message": f"refused: {self.headers.get('authorization', '')}"}}
                    self._send(REFUSALS[fault], json.dumps(said).encode(), {"retry-after": proxy.retry_after} if fault == "429" else {})

            def _answer(self, fault: str, data: dict[str, Any], answer: bytes) -> None:
                if fault == "late":
                    time.sleep(proxy.late_seconds)
                if fault == "reset_after":
                    self._reset()
                elif fault == "cut":
                    self._send(200, answer[: len(answer) // 2], length=len(answer))
                    self.close_connection = True
                elif fault == "truncated":
                    self._send(200, answer[: len(answer) // 2])
                elif fault == "html":
                    self._send(200, b"<html><body>Please log in</body></html>", {"content-type": "text/html"})
                elif fault == "bad_gateway":
                    self._send(502, b"bad gateway")
                else:
                    dropped = {"no_usage": "usage", "no_choices": "choices"}.get(fault)
                    if dropped:
                        del data[dropped]
                    if fault == "no_logprobs":
                        data["choices"][0]["logprobs"] = None
                    self._send(200, json.dumps(data).encode())

            def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None, length: int | None = None) -> None:
                try:
                    self.send_response(status)
                    for name, value in {"content-type": "application/json", **(headers or {})}.items():
                        self.send_header(name, value)
                    self.send_header("content-length", str(len(body) if length is None else length))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True  # the client was killed, or gave up waiting

            def _reset(self) -> None:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                self.close_connection = True

        return Handler


@contextmanager
def proxied(upstream: str, choose: Callable[[int, str], str], **options: Any) -> Iterator[FaultProxy]:
    """Stand in front of an endpoint while the block runs."""
    proxy = FaultProxy(upstream, choose, **options)
    try:
        yield proxy
    finally:
        proxy.close()
