r"""Calls to an OpenAI-compatible chat endpoint, each attempt paid for before it is sent.

One call is at most ``attempts`` HTTP attempts. Before each attempt its worst case is committed to the ledger,

.. math:: x = p \cdot b + c \cdot m,

with b a bound on the prompt's tokens (its bytes, since no token is shorter than a byte, and an allowance for the chat template), m the
limit on the completion and p, c the prices; it is sent only if the cap allows x. After it:

==============================================  ============  ==============================================
what came back                                  state         charged
==============================================  ============  ==============================================
an answer with usage                            answered      what the usage costs
no connection; status 4xx                       refused       nothing: the endpoint did not work
a body with usage but without an answer         failed        what the usage costs
status 5xx, reset, timeout, cut or no usage     failed        the worst case: nobody knows what was billed
==============================================  ============  ==============================================

Attempts wait between each other (full jitter, doubling; ``Retry-After`` is honoured and holds all calls). Until the endpoint has answered
once, calls go one at a time, so that a wrong key, an unknown model or an endpoint without usage costs one attempt. Redirects are not
followed, bodies are cut off at a size and at a deadline, and the key appears in no message, row or representation.
"""

from __future__ import annotations

import json
import math
import random
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import httpx2

from ..model.checks import require_count, require_one_of, require_range
from ..model.cost import Price
from ..model.errors import AdjournError, InputError, ParameterError
from .errors import CallFailedError, CapReachedError, EndpointError, RunCancelledError
from .ledger import Ledger, Reservation, Settlement
from .money import Rate
from .reading import Message
from .reply import Parsed, parse
from .text import one_line

__all__ = ["Call", "Client", "Endpoint", "prompt_bound"]

_LARGEST_BODY = 16 * 2**20
_TEMPLATE_TOKENS = 64
"""Allowance for what a chat template adds to each message."""

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
_LONGEST_RETRY_AFTER = 300.0
_RETRIED = frozenset({408, 409, 425, 429})
_FATAL = frozenset({401, 402, 403, 404})
_REFUSED_CALLS = frozenset({400, 413, 422})


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where calls go and how they are made.

    Parameters
    ----------
    base_url : str
        Up to and without ``/chat/completions``.
    model : str
        Name that the endpoint knows.
    key : str
        Bearer token; "" for none. Never stored, printed or logged.
    temperature : float
        0 to 2.
    max_tokens : int
        Limit on the completion of a call: it bounds the worst case.
    limit_field : {"max_tokens", "max_completion_tokens"}
        What the endpoint calls that limit.
    top_logprobs : int
        Alternatives asked for at each token, 0 to 20; 0 asks for no log-probabilities.
    send_seed : bool
        Whether to send a seed with each call (some endpoints refuse it).
    structured : bool
        Whether to send the JSON schema of a reply where there is one (some endpoints refuse it).
    timeout : float
        Seconds for a whole attempt.
    attempts : int
        Attempts of a call, 1 to 20.
    concurrency : int
        Calls in flight, 1 to 256.
    """

    base_url: str
    model: str
    key: str = field(default="", repr=False)
    temperature: float = 0.7
    max_tokens: int = 1024
    limit_field: str = "max_tokens"
    top_logprobs: int = 20
    send_seed: bool = False
    structured: bool = True
    timeout: float = 120.0
    attempts: int = 5
    concurrency: int = 4

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
            raise ParameterError("base_url", one_line(self.base_url), 'a URL such as "https://host/v1", without a key in it')
        if self.key and parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise ParameterError("base_url", self.base_url, "https where a key is sent", "Use https, or unset the key.")
        if any(not " " < c < "\x7f" for c in self.key):
            raise ParameterError("key", "(hidden)", "printable ASCII without blanks", "Check the environment variable.")
        if not self.model:
            raise ParameterError("model", self.model, "the name of a model", "Give --model.")
        require_range("temperature", self.temperature, 0, 2)
        require_count("max_tokens", self.max_tokens, 1, 10**6)
        require_one_of("limit_field", self.limit_field, ("max_tokens", "max_completion_tokens"))
        require_count("top_logprobs", self.top_logprobs, 0, 20)
        require_range("timeout", self.timeout, 0.05, 3600)
        require_count("attempts", self.attempts, 1, 20)
        require_count("concurrency", self.concurrency, 1, 256)

    def to_dict(self) -> dict[str, Any]:
        """Everything that makes answers what they are, for the ledger; no key, and nothing that only changes the pace."""
        fields = ("base_url", "model", "temperature", "max_tokens", "limit_field", "top_logprobs", "send_seed", "structured")
        return {name: getattr(self, name) for name in fields}


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of a protocol.

    Parameters
    ----------
    key : str
        Unique within a run; an answered key is never asked again.
    role : str
        For spending by role: solver, debater, synthesiser, ...
    messages : tuple of (str, str)
        Chat role and content.
    seed : int
        Sent where the endpoint takes seeds.
    max_tokens : int or None
        A limit below the endpoint's.
    schema : mapping or None
        JSON schema that the answer should follow, for endpoints that can.
    model : str
        Another model than the endpoint's ("": the endpoint's).
    """

    key: str
    role: str
    messages: tuple[tuple[str, str], ...]
    seed: int = 0
    max_tokens: int | None = None
    schema: Mapping[str, Any] | None = None
    model: str = ""

    def again(self) -> Call:
        """Make the same call once more, as a call of its own (the first answer could not be read)."""
        return replace(self, key=f"{self.key}/again", seed=self.seed + 1)


def prompt_bound(call: Call) -> int:
    """Upper bound on the prompt's tokens: bytes, and an allowance for the template."""
    tokens = sum(len(content.encode("utf-8", "replace")) + _TEMPLATE_TOKENS for _, content in call.messages)
    return tokens + (len(json.dumps(call.schema)) if call.schema else 0)


class Client:
    """Asks calls of one run.

    Parameters
    ----------
    endpoint : Endpoint
        Where calls go.
    ledger : Ledger
        Where each attempt is paid for.
    run_id : str
        The run.
    price : Price
        Of the endpoint's model.
    cap : int
        Picodollars that the ledger may ever be charged.
    others : mapping of str to Price
        Prices of other models that calls may name.
    """

    def __init__(
        self, endpoint: Endpoint, ledger: Ledger, run_id: str, price: Price, cap: int, others: Mapping[str, Price] | None = None
    ) -> None:
        self.endpoint = endpoint
        self.ledger = ledger
        self.run_id = run_id
        self.rates = {model: Rate.of(known) for model, known in {**(others or {}), endpoint.model: price, "": price}.items()}
        self.cap = cap
        self._http = httpx2.Client(
            timeout=httpx2.Timeout(endpoint.timeout, connect=min(endpoint.timeout, 10.0)),
            limits=httpx2.Limits(max_connections=endpoint.concurrency),
            follow_redirects=False,
            trust_env=urlsplit(endpoint.base_url).hostname not in ("127.0.0.1", "localhost", "::1"),
        )
        self._pool = ThreadPoolExecutor(endpoint.concurrency, thread_name_prefix="call")
        self._stop = threading.Event()
        self._first = threading.Lock()
        self._met = ledger.has_usage(run_id)
        self._room = threading.Condition()
        self._in_flight = 0
        self._strikes = 0
        self._held_until = 0.0
        self._fatal: AdjournError | None = None

    def cost_of(self, message: Message, model: str = "") -> int:
        """Picodollars that an answer of a model ("": the endpoint's) costs."""
        return self.rates[model].cost(message.prompt_tokens, message.completion_tokens)

    def cancel(self) -> None:
        """Begin no further attempt; those in flight end and are recorded."""
        self._stop.set()

    def close(self) -> None:
        """Cancel, wait for what is in flight, and close the connections."""
        self.cancel()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def ask_all(self, calls: Sequence[Call]) -> list[Message]:
        """Ask calls at once, within the bound on concurrency; answers in the order of the calls.

        All calls end, and are recorded, before an error of one is raised.
        """
        futures = [self._pool.submit(self.ask, call) for call in calls]
        try:
            wait(futures)
        except BaseException:
            self.cancel()
            raise
        return [future.result() for future in futures]

    def ask(self, call: Call) -> Message:
        """Ask one call, or give its stored answer.

        Raises
        ------
        CapReachedError, LedgerFullError
            Nothing more may be sent.
        EndpointError
            The endpoint cannot be used.
        CallFailedError
            No usable answer within the attempts.
        RunCancelledError
            The run was asked to stop.
        """
        stored = self.ledger.message(self.run_id, call.key)
        if stored is not None:
            return stored
        with self._first:
            if not self._met:
                message = self._attempts(call)
                self._met = True
                return message
        return self._attempts(call)

    def _attempts(self, call: Call) -> Message:
        parsed = Parsed()
        for number in range(self.endpoint.attempts):
            self._pause(number)
            parsed = self._attempt(call)
            if parsed.message is not None:
                if parsed.overrun:
                    raise self._end(EndpointError(f"the endpoint bills more than was asked for ({parsed.overrun}); nothing more is sent."))
                return parsed.message
            problem = self._without_key(parsed.problem)
            if parsed.retry_after is not None:
                self._hold(parsed.retry_after, problem)
            if parsed.status in _FATAL or (parsed.no_usage and not self._met):
                raise self._end(EndpointError(f"{problem}; nothing more is sent."))
            if not parsed.retry:
                break
        error = f"call {call.key} got no usable answer ({problem})."
        if not self._met and not self._may_be_the_call(parsed.status):
            raise self._end(EndpointError(f"{error} The endpoint has never answered in this run; nothing more is sent."))
        raise CallFailedError(f"{error} --resume asks it again.")

    def _may_be_the_call(self, status: int | None) -> bool:
        """Whether a failure before the endpoint ever answered may be the fault of one call (too long a prompt): twice, at most."""
        self._strikes += status in _REFUSED_CALLS
        return status in _REFUSED_CALLS and self._strikes <= 2

    def _end(self, error: AdjournError) -> AdjournError:
        """Remember what ended the run, so that waiting calls do not try on their own."""
        self._fatal = self._fatal or error
        self._stop.set()
        return error

    def _pause(self, number: int) -> None:
        jitter = random.uniform(0, min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (number - 1))) if number else 0.0
        while True:
            if self._stop.is_set():
                raise self._fatal or RunCancelledError()
            seconds = max(jitter, self._held_until - time.monotonic())
            if seconds <= 0 or self._stop.wait(seconds):
                if self._stop.is_set():
                    continue
                return
            jitter = 0.0

    def _hold(self, seconds: float, problem: str) -> None:
        if seconds > _LONGEST_RETRY_AFTER:
            raise self._end(EndpointError(f"{problem}; the endpoint asks to wait {seconds:.0f} s, nothing more is sent. --resume later."))
        self._held_until = max(self._held_until, time.monotonic() + seconds)

    def _attempt(self, call: Call) -> Parsed:
        if call.model not in self.rates:
            raise self._end(InputError(f'no price for model "{call.model}"; an unknown price is not zero. Add it to your price list.'))
        rate = self.rates[call.model]
        limit = min(call.max_tokens or self.endpoint.max_tokens, self.endpoint.max_tokens)
        bound = prompt_bound(call)
        reservation = self._reserve(call, rate.cost(bound, limit), bound, limit)
        try:
            parsed = self._sent(call, limit, bound)
            self.ledger.settle(self.run_id, call.key, reservation, self._settlement(parsed, rate))
        finally:
            with self._room:
                self._in_flight -= 1
                self._room.notify_all()
        return parsed

    def _reserve(self, call: Call, worst: int, bound: int, limit: int) -> Reservation:
        """Charge the worst case; where the cap has no room for it, wait for room that calls in flight may give back."""
        with self._room:
            while True:
                try:
                    reservation = self.ledger.reserve(
                        self.run_id, call.key, call.role, worst=worst, prompt_bound=bound, completion_bound=limit, cap=self.cap
                    )
                    self._in_flight += 1
                    return reservation
                except CapReachedError:
                    if not self._in_flight:
                        raise
                self._room.wait()
                if self._stop.is_set():
                    raise self._fatal or RunCancelledError()

    def _sent(self, call: Call, limit: int, bound: int) -> Parsed:
        try:
            return self._send(call, limit, bound)
        except httpx2.RequestError as error:
            sent = not isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout))
            return Parsed(problem=f"{type(error).__name__}: {error}", known=not sent)

    def _settlement(self, parsed: Parsed, rate: Rate) -> Settlement:
        usage = parsed.usage
        cost = rate.cost(*usage) if usage else (0 if parsed.known else None)
        if parsed.message is not None:
            state = "answered"
        else:
            state = "refused" if parsed.known and usage is None else "failed"
        prompt, completion = usage if usage else (None, None)
        return Settlement(
            state=state, cost=cost, status=parsed.status, prompt_tokens=prompt, completion_tokens=completion,
            error=one_line(self._without_key(parsed.problem)), message=parsed.message,
        )  # fmt: skip

    def _without_key(self, text: str) -> str:
        return text.replace(self.endpoint.key, "[key]") if self.endpoint.key else text

    def _body(self, call: Call, limit: int) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": call.model or self.endpoint.model,
            "messages": [{"role": role, "content": content} for role, content in call.messages],
            "temperature": self.endpoint.temperature,
            self.endpoint.limit_field: limit,
        }
        if self.endpoint.top_logprobs:
            body |= {"logprobs": True, "top_logprobs": self.endpoint.top_logprobs}
        if self.endpoint.send_seed:
            body["seed"] = call.seed
        if call.schema and self.endpoint.structured:
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": call.schema}}
        return body

    def _send(self, call: Call, limit: int, bound: int) -> Parsed:
        headers = {"accept": "application/json", "accept-encoding": "identity"}
        # The same for all attempts of a call: an endpoint that honours it bills a repeated attempt once.
        headers["idempotency-key"] = sha256(f"{self.run_id}/{call.key}".encode()).hexdigest()
        if self.endpoint.key:
            headers["authorization"] = f"Bearer {self.endpoint.key}"
        deadline = time.monotonic() + self.endpoint.timeout
        url = f"{self.endpoint.base_url.rstrip('/')}/chat/completions"
        with self._http.stream("POST", url, json=self._body(call, limit), headers=headers) as response:
            retry_after = _retry_after(response.headers.get("retry-after"))
            if response.headers.get("content-encoding", "identity") != "identity":
                return Parsed(problem="the body is compressed although that was not asked for", status=response.status_code)
            chunks, size = [], 0
            for chunk in response.iter_raw():
                chunks.append(chunk)
                size += len(chunk)
                if size > _LARGEST_BODY:
                    return Parsed(problem=f"the body is larger than {_LARGEST_BODY} bytes", status=response.status_code, retry=False)
                if time.monotonic() > deadline:
                    return Parsed(problem=f"the body took longer than {self.endpoint.timeout:g} s", status=response.status_code)
            status = response.status_code
        body = b"".join(chunks)
        if not 200 <= status < 300:
            refused = 300 <= status < 500
            said = self._without_key(body[:2000].decode("utf-8", "replace"))
            return Parsed(
                problem=one_line(f"status {status}: {said}"), status=status, known=refused,
                retry=status in _RETRIED or status >= 500, retry_after=retry_after,
            )  # fmt: skip
        return parse(body, status, prompt_bound=bound, completion_bound=limit)


def _retry_after(value: str | None) -> float | None:
    """Seconds that a Retry-After header asks for: a number, or a date; None if there is none that can be read."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except (ValueError, TypeError):
            return None
        seconds = ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None
