r"""What else the messages say: tokens by role, and stated confidence.

Roles: first-round messages are a solver's, later ones a debater's; the log's own means and standard deviations over calls replace
the borrowed ones where at least ``FEWEST`` messages of the role state them. The prompt of a first answer is the question; a
debater's prompt less the question is the local context. The overhead that each round adds to a transcript prompt follows from round
two, prompt = question + N solver + overhead, where that is not negative. What a log does not hold (the synthesiser's call, the
endpoint's limit) stays borrowed and is named.

Stated confidence is put on the integers 1 to 10: a scale up to 1 is taken times ten, one up to 100 divided by ten. The laws of
right and of wrong answers are the log's frequencies where each has at least ``FEWEST`` messages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...model.cost import Tokens
from ...model.deciding import ConfidenceLaw
from ...model.errors import FileFormatError
from ..logs.columns import MISSING, ReasoningLog

__all__ = ["FEWEST", "MessageFacts", "message_facts"]

Floats = npt.NDArray[np.float64]
FEWEST = 20


@dataclass(frozen=True)
class MessageFacts:
    """Tokens and confidence, from the log or borrowed.

    Attributes
    ----------
    tokens : Tokens
        Tokens of a call by role.
    confidence : ConfidenceLaw
        Law of the stated confidence.
    borrowed : dict of str to str
        Which of them are borrowed, and from where.
    found : tuple of str
        What the log gave, in words.
    """

    tokens: Tokens
    confidence: ConfidenceLaw
    borrowed: dict[str, str]
    found: tuple[str, ...]


def message_facts(log: ReasoningLog) -> MessageFacts:
    """Read tokens and confidence off a log.

    Raises
    ------
    FileFormatError
        If stated confidence is on no known scale.
    """
    tokens, missing, found = _tokens(log)
    borrowed = {"tokens": f"{', '.join(missing)}: {Tokens().source}"} if missing else {}
    law, words = _confidence(log)
    if law is None:
        borrowed["confidence"] = words
        return MessageFacts(tokens, ConfidenceLaw(), borrowed, tuple(found))
    return MessageFacts(tokens, law, borrowed, (*found, words))


def _tokens(log: ReasoningLog) -> tuple[Tokens, list[str], list[str]]:
    first = log.round == log.rounds[0]
    tokens, found = Tokens(), []
    missing = ["synthesiser", "max_completion"]
    for role, rows in (("solver", first), ("debater", ~first)):
        spent = _stated(log.completion_tokens, rows)
        if len(spent) < FEWEST:
            missing.append(role)
            continue
        mean, spread = float(spent.mean()), float(spent.std(ddof=1))
        if role == "solver":
            tokens = replace(tokens, solver=mean, solver_sd=spread)
        else:
            tokens = replace(tokens, debater=mean, debater_sd=spread)
        found.append(f"completion tokens of a {role}'s call: mean {mean:.1f}, sd {spread:.1f} over {len(spent)} calls (from the log)")
    question = _stated(log.prompt_tokens, first)
    later = _stated(log.prompt_tokens, ~first)
    if len(question) >= FEWEST:
        tokens = replace(tokens, question=float(question.mean()))
        found.append(f"prompt tokens of a question: mean {question.mean():.1f} over {len(question)} calls (from the log)")
    else:
        missing.append("question")
    if len(question) >= FEWEST and len(later) >= FEWEST:
        tokens = replace(tokens, local_context=max(float(later.mean() - question.mean()), 0.0), overhead=_overhead(log, tokens))
        found.append(f"prompt tokens of a debater's call: mean {later.mean():.1f} over {len(later)} calls (from the log)")
    else:
        missing += ["local_context", "overhead"]
    largest = _stated(log.completion_tokens, np.ones_like(first)).max(initial=0.0)
    if largest > tokens.max_completion:
        tokens = replace(tokens, max_completion=int(np.ceil(largest)))
    source = "the log" if not missing else f"the log, but for {', '.join(missing)}"
    return (replace(tokens, source=source) if found else tokens), missing, found


def _stated(values: Floats, rows: npt.NDArray[np.bool_]) -> Floats:
    values = values[rows]
    return values[np.isfinite(values)]


def _overhead(log: ReasoningLog, tokens: Tokens) -> float:
    """Tokens that a round adds besides the answers, by the second round's prompts; the default where these hold no transcript."""
    second = _stated(log.prompt_tokens, log.round == log.rounds[1])
    if len(second) < FEWEST:
        return tokens.overhead
    agents = np.bincount(log.question[log.round == log.rounds[1]]).max()
    rest = float(second.mean()) - tokens.question - agents * tokens.solver
    return rest if rest >= 0 else tokens.overhead


def _confidence(log: ReasoningLog) -> tuple[ConfidenceLaw | None, str]:
    stated = np.isfinite(log.confidence) & ((log.answer != MISSING) | log.right)
    default = "Adjourn's defaults (one assumed law for right and for wrong answers)"
    if not stated.any():
        return None, default
    top = float(log.confidence[stated].max())
    if top > 100:
        line = int(log.line[stated][np.argmax(log.confidence[stated])])
        raise FileFormatError(log.path, f"confidence = {top:g} is on no known scale; write 0 to 1, 1 to 10 or 0 to 100.", line)
    scale = 10.0 if top <= 1 else (1.0 if top <= 10 else 0.1)
    value = np.clip(np.rint(log.confidence * scale), 1, 10)
    right, wrong = value[stated & log.right], value[stated & ~log.right]
    if min(len(right), len(wrong)) < FEWEST:
        return (
            None,
            f"{default}; the log states the confidence of {len(right)} right and {len(wrong)} wrong answers, fewer than {FEWEST} of a kind",
        )
    words = (
        f"stated confidence, 1 to 10: mean {right.mean():.2f} of {len(right)} right answers, {wrong.mean():.2f} of {len(wrong)} wrong ones "
        "(from the log)"
    )
    return ConfidenceLaw(_frequencies(right), _frequencies(wrong)), words


def _frequencies(values: Floats) -> tuple[float, ...]:
    counts = np.bincount(values.astype(np.int64), minlength=11)[1:11]
    return tuple((counts / counts.sum()).tolist())
