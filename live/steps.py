r"""Steps of a solution and their uncertainty, from a real answer.

A text has numbered steps ("Step 2: ...", "2. ..."), else its non-empty lines, else its sentences; the lines that state the answer and the
confidence are no steps.

**White box.** At a token the endpoint shows the k most likely alternatives with probabilities p_1 >= ... >= p_k; the rest, t = 1 - sum
p_i, is a tail of V - k tokens. The entropy H lies between

.. math:: L = -\sum_i p_i \ln p_i - t \ln t \le H \le L + t \ln (V - k)

(the tail as one symbol, and the tail spread evenly). The ends are reported in nats, as means over the step's tokens; V is the vocabulary,
an assumption where it is not known. The signal is h = mean of L / ln(k + 1), which lies in [0, 1]: it is biased low, and the more so the
smaller k is.

**Black box**, where log-probabilities are missing: the step's wordings in the M chains (aligned by position) are clustered, and h is the
entropy of the cluster sizes over ln M.

**Contradiction** d(k) is the mean probability of contradiction over the unordered pairs of these aligned wordings.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

from .answers import Similarity
from .text import clean

__all__ = [
    "DEFAULT_VOCABULARY",
    "Contradiction",
    "StepSignals",
    "aligned",
    "black_box_entropy",
    "entropy_bounds",
    "segment",
    "signals",
    "white_box",
]

DEFAULT_VOCABULARY = 200_000
"""Tokens of a vocabulary where nobody says (an assumption; it enters the reported upper bound only)."""

_MOST_STEPS = 64
_NUMBERED = re.compile(r"^[ \t*#_]*(?:step\s*)?[0-9]{1,2}[ \t]*[.:)]", re.IGNORECASE | re.MULTILINE)
_FINAL = re.compile(r"^[ \t>*_#]*(?:final\s+)?(?:answer|confidence)[ \t*_]*(?:is|:|=)", re.IGNORECASE)
_SENTENCE = re.compile(r"\S.*?(?:[.!?]+(?=\s)|$)")

Contradiction = Callable[[Sequence[tuple[str, str]]], list[float]]
"""Probability that the two texts of each pair contradict each other."""


@dataclass(frozen=True)
class StepSignals:
    """Signals of the steps of one solution.

    Parameters
    ----------
    h, d : tuple of float
        Normalised entropy and mean contradiction, each in [0, 1].
    lower, upper : tuple of float
        Bounds on the mean token entropy in nats; empty in black-box mode.
    mode : {"white-box", "black-box"}
        Where h comes from.
    steps : tuple of str
        The steps, cleaned.
    """

    h: tuple[float, ...]
    d: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    mode: str
    steps: tuple[str, ...]


def segment(text: str) -> list[tuple[int, int]]:
    """Spans of the steps of a text, at least one (the whole text, where it has none) and at most 64 (the last takes the rest)."""
    lines, position = [], 0
    for line in text.split("\n"):
        if line.strip() and not _FINAL.match(line):
            lines.append((position, position + len(line)))
        position += len(line) + 1
    heads = [i for i, (start, end) in enumerate(lines) if _NUMBERED.match(text[start:end])]
    if len(heads) >= 2:
        bounds = [*heads, len(lines)]
        spans = [(lines[a][0], lines[b - 1][1]) for a, b in pairwise(bounds)]
    elif len(lines) == 1:
        start, end = lines[0]
        spans = [(start + m.start(), start + m.end()) for m in _SENTENCE.finditer(text[start:end])]
    else:
        spans = lines
    spans = spans or [(0, len(text))]
    return spans if len(spans) <= _MOST_STEPS else [*spans[: _MOST_STEPS - 1], (spans[_MOST_STEPS - 1][0], spans[-1][1])]


def entropy_bounds(logprobs: Sequence[float], vocabulary: int = DEFAULT_VOCABULARY) -> tuple[float, float]:
    """Bounds (nats) on the entropy of a token whose most likely alternatives have these log-probabilities.

    Parameters
    ----------
    logprobs : sequence of float, length k >= 1
        Natural logarithms.
    vocabulary : int
        Number of tokens V.
    """
    probabilities = [math.exp(value) for value in logprobs]
    total = math.fsum(probabilities)
    tail = max(0.0, 1.0 - total)
    scale = max(1.0, total)
    terms = [p / scale for p in probabilities]
    lower = -math.fsum(p * math.log(p) for p in [*terms, tail] if p > 0)
    return max(0.0, lower), max(0.0, lower) + tail * math.log(max(vocabulary - len(terms), 1))


def white_box(
    text: str, tokens: Sequence[Any], spans: Sequence[tuple[int, int]], vocabulary: int
) -> list[tuple[float, float, float]] | None:
    """For each step h, and the bounds in nats; None where the log-probabilities do not cover the text.

    Parameters
    ----------
    text : str
        The answer as it came.
    tokens : sequence
        As :class:`~.ledger.Message` holds them.
    spans : sequence of (int, int)
        Steps.
    vocabulary : int
        Number of tokens V.
    """
    if not tokens or any(not alternatives for _, _, alternatives in tokens):
        return None
    if "".join(token for token, _, _ in tokens).encode("latin-1").decode("utf-8", "replace")[: len(text)] != text:
        return None
    starts = [len(text[:start].encode("utf-8", "replace")) for start, _ in spans]
    sums: list[list[tuple[float, float, float]]] = [[] for _ in spans]
    position = 0
    for token, _, alternatives in tokens:
        step = max(sum(start < position + max(len(token), 1) for start in starts) - 1, 0)
        lower, upper = entropy_bounds([logprob for _, logprob in alternatives], vocabulary)
        sums[step].append((min(1.0, lower / math.log(len(alternatives) + 1)), lower, upper))
        position += len(token)
    return [_mean(entries) for entries in sums]


def _mean(entries: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    if not entries:
        return 0.0, 0.0, 0.0
    h, lower, upper = (math.fsum(column) / len(entries) for column in zip(*entries, strict=True))
    return h, lower, upper


def aligned(step: int, steps: int, others: Sequence[Sequence[str]]) -> list[str]:
    """Wording of step ``step`` of ``steps`` in other solutions, by relative position."""
    return [other[step * len(other) // steps] for other in others if other]


def black_box_entropy(wordings: Sequence[str], similarity: Similarity, threshold: float) -> float:
    """Entropy of the clusters of a step's wordings over ln(number of wordings); 0 for fewer than two."""
    if len(wordings) < 2:
        return 0.0
    firsts: list[str] = []
    sizes: Counter[int] = Counter()
    for wording in wordings:
        found = next((i for i, first in enumerate(firsts) if first == wording or similarity(first, wording) >= threshold), len(firsts))
        if found == len(firsts):
            firsts.append(wording)
        sizes[found] += 1
    n = len(wordings)
    return min(1.0, max(0.0, -math.fsum(size / n * math.log(size / n) for size in sizes.values()) / math.log(n)))


def signals(
    texts: Sequence[str],
    candidate: int,
    tokens: Sequence[Any],
    contradiction: Contradiction,
    similarity: Similarity,
    *,
    threshold: float = 0.5,
    vocabulary: int = DEFAULT_VOCABULARY,
) -> StepSignals:
    """Signals of the candidate's steps.

    Parameters
    ----------
    texts : sequence of str
        Texts of the M chains as they came.
    candidate : int
        Index of the candidate's chain.
    tokens : sequence
        Log-probabilities of the candidate's chain.
    contradiction : Contradiction
        Scores pairs of wordings.
    similarity : Similarity
        Clusters wordings where there are no log-probabilities.
    threshold : float
        Similarity from which two wordings say the same.
    vocabulary : int
        Number of tokens V, for the reported upper bound.
    """
    text = texts[candidate]
    spans = segment(text)
    steps = tuple(clean(text[a:b]).strip() for a, b in spans)
    others = [[clean(other[a:b]).strip() for a, b in segment(other)] for i, other in enumerate(texts) if i != candidate]
    wordings = [[step, *aligned(k, len(steps), others)] for k, step in enumerate(steps)]
    d = _contradictions(wordings, contradiction)
    white = white_box(text, tokens, spans, vocabulary)
    if white is None:
        h = tuple(black_box_entropy(group, similarity, threshold) for group in wordings)
        return StepSignals(h, d, (), (), "black-box", steps)
    columns = [tuple(column) for column in zip(*white, strict=True)]
    return StepSignals(columns[0], d, columns[1], columns[2], "white-box", steps)


def _contradictions(wordings: Sequence[Sequence[str]], contradiction: Contradiction) -> tuple[float, ...]:
    """Mean score over the pairs of each group; pairs of equal wordings score 0 and are not asked."""
    pairs = [sorted({one, other}) for group in wordings for one, other in combinations(group, 2)]
    distinct = sorted({(pair[0], pair[1]) for pair in pairs if len(pair) == 2})
    scores = dict(zip(distinct, contradiction(distinct), strict=True)) if distinct else {}
    means = []
    for group in wordings:
        found = [scores.get((min(one, other), max(one, other)), 0.0) for one, other in combinations(group, 2)]
        means.append(math.fsum(found) / len(found) if found else 0.0)
    return tuple(means)
