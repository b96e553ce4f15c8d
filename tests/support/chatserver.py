"""A scripted OpenAI-compatible server on loopback: a test says what it answers, and reads what it was asked."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class QuietServer(ThreadingHTTPServer):
    """A server whose clients may hang up: that is no news. Anything else is."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class Asked(NamedTuple):
    """One request."""

    key: str
    body: dict[str, Any]
    headers: dict[str, str]


class Raw(NamedTuple):
    """A response as it goes over the wire."""

    status: int
    body: bytes
    headers: dict[str, str] = {}  # noqa: RUF012 - a named tuple copies it


Script = Callable[[Asked], "str | dict[str, Any] | Raw"]


def completion(text: str | None, *, logprobs: Any = None, prompt: int = 50, tokens: int = 10, **extra: Any) -> dict[str, Any]:
    """A chat completion as an endpoint sends it."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}, "logprobs": logprobs}
    usage = {"prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens}
    return {"id": "x", "object": "chat.completion", "model": "scripted", "choices": [choice], "usage": usage, **extra}


class ChatServer:
    """The server: `asked` holds all requests in the order in which they came."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self._lock = threading.Lock()
        self._server = QuietServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *args: object) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                asked = Asked(self.headers.get("idempotency-key", ""), body, {k.lower(): v for k, v in self.headers.items()})
                with owner._lock:
                    owner.asked.append(asked)
                said = owner.script(asked)
                if isinstance(said, str):
                    said = completion(said)
                if isinstance(said, dict):
                    said = Raw(200, json.dumps(said).encode(), {"content-type": "application/json"})
                self.send_response(said.status)
                for name, value in {"content-length": str(len(said.body)), **said.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(said.body)

        return Handler

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def serve(script: Script) -> Iterator[ChatServer]:
    """Serve while the block runs."""
    server = ChatServer(script)
    try:
        yield server
    finally:
        server.close()
