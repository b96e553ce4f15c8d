"""Reading a chat completion as it comes: anything may be missing, malformed or hostile, and nothing is taken for zero."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from .reading import Message
from .text import LONGEST_TEXT

__all__ = ["Parsed", "parse"]

_MOST_TOKENS = 10**9
_LEAST_LOGPROB = -1e4


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """What an attempt brought.

    Parameters
    ----------
    message : Message or None
        The answer.
    usage : (int, int) or None
        Prompt and completion tokens that the endpoint bills.
    problem : str
        What went wrong.
    status : int or None
        HTTP status.
    known : bool
        True where the cost is known to be zero because the endpoint did not work.
    retry : bool
        Whether another attempt may help.
    retry_after : float or None
        Seconds that the endpoint asks to wait.
    no_usage : bool
        True where an answer came without usage.
    overrun : str
        How the usage passes what was asked for ("" if it does not).
    """

    message: Message | None = None
    usage: tuple[int, int] | None = None
    problem: str = ""
    status: int | None = None
    known: bool = False
    retry: bool = True
    retry_after: float | None = None
    no_usage: bool = False
    overrun: str = ""


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def parse(body: bytes, status: int, *, prompt_bound: int, completion_bound: int) -> Parsed:
    """Read the body of a successful response.

    Parameters
    ----------
    body : bytes
        The whole body.
    status : int
        HTTP status, for the record.
    prompt_bound, completion_bound : int
        Tokens that were reserved.
    """
    try:
        data = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return Parsed(problem="the body is no JSON", status=status)
    usage = _usage(data)
    choice = _first_choice(data)
    if choice is None:
        return Parsed(problem="the body holds no answer (choices[0].message)", status=status, usage=usage)
    if usage is None:
        return Parsed(problem="the endpoint reported no usage, so nobody knows what the answer costs", status=status, no_usage=True)
    content = choice["message"].get("content")
    text = content if isinstance(content, str) else ""
    reason, model = choice.get("finish_reason"), data.get("model")
    message = Message(
        text[:LONGEST_TEXT],
        _tokens(choice.get("logprobs")),
        reason if isinstance(reason, str) else "",
        model if isinstance(model, str) else "",
        *usage,
    )
    return Parsed(message=message, usage=usage, status=status, overrun=_overrun(usage, prompt_bound, completion_bound))


def _first_choice(data: Any) -> dict[str, Any] | None:
    choices = data.get("choices") if isinstance(data, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, dict) and isinstance(choice.get("message"), dict) else None


def _usage(data: Any) -> tuple[int, int] | None:
    usage = data.get("usage") if isinstance(data, dict) else None
    if not isinstance(usage, dict):
        return None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if isinstance(prompt, bool) or isinstance(completion, bool) or not isinstance(prompt, int) or not isinstance(completion, int):
        return None
    return (prompt, completion) if 0 < prompt <= _MOST_TOKENS and 0 <= completion <= _MOST_TOKENS else None


def _overrun(usage: tuple[int, int], prompt_bound: int, completion_bound: int) -> str:
    found = [
        f"{tokens} {name} tokens, at most {bound} possible"
        for name, tokens, bound in zip(("prompt", "completion"), usage, (prompt_bound, completion_bound), strict=True)
        if tokens > bound
    ]
    return "; ".join(found)


def _tokens(logprobs: Any) -> list[Any]:
    """Log-probabilities in a compact form; an empty list if any of them cannot be one."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(content, list):
        return []
    tokens = []
    for entry in content:
        token = _token(entry)
        top = entry.get("top_logprobs") if isinstance(entry, dict) else None
        alternatives = [_token(item) for item in top] if isinstance(top, list) else []
        if token is None or None in alternatives:
            return []
        tokens.append([*token, alternatives])
    return tokens


def _token(entry: Any) -> list[Any] | None:
    if not isinstance(entry, dict):
        return None
    text, logprob, raw = entry.get("token"), entry.get("logprob"), entry.get("bytes")
    if not isinstance(text, str) or isinstance(logprob, bool) or not isinstance(logprob, (int, float)) or not logprob <= 1e-6:
        return None
    if isinstance(raw, list) and all(isinstance(b, int) and 0 <= b < 256 for b in raw):
        text = bytes(raw).decode("latin-1")
    else:
        text = text.encode("utf-8", "replace").decode("latin-1")
    # Bytes as Latin-1, since a token may be part of a character; -9999 and the like mean "never".
    return [text, min(0.0, max(float(logprob), _LEAST_LOGPROB)) if math.isfinite(logprob) else _LEAST_LOGPROB]
