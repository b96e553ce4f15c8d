"""The log of a run: one row a message, in the columns that ``calibrate`` reads.

Only questions with an outcome are exported. Round 0 holds the independent chains. Where agents inherit chains, agent 0 holds the
candidate's and the others follow by index, so round 0 numbers the chains by the agent who holds them: an agent's moves are then the
differences between its own rows. An agent that holds a copy of another's chain (a panel larger than the chains) has no row in round 0.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .reading import LedgerReader
from .text import one_line

__all__ = ["COLUMNS", "JUDGE_COLUMNS", "log_rows", "log_text"]

COLUMNS = ("question_id", "round", "agent", "answer", "gold", "correct", "confidence", "prompt_tokens", "completion_tokens", "model")
JUDGE_COLUMNS = ("item_id", "judge", "order", "round", "score_a", "score_b", "verdict", "label", "prompt_tokens", "completion_tokens")

_NO_NAME = re.compile(r"^[^A-Za-z0-9]+|[^A-Za-z0-9._:/@ -]")
_LONGEST_NAME = 100


def log_text(ledger: LedgerReader, run_id: str, family: str) -> str:
    """CSV text of a run's log."""
    columns = COLUMNS if family == "reasoning" else JUDGE_COLUMNS
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(log_rows(ledger, run_id, family))
    return stream.getvalue()


def log_rows(ledger: LedgerReader, run_id: str, family: str) -> Iterator[dict[str, Any]]:
    """Rows of a run's log."""
    for outcome in ledger.outcomes(run_id):
        if family == "judging":
            yield from outcome["audit"]["log"]
        else:
            yield from _reasoning_rows(outcome["question_id"], outcome["audit"])


def _reasoning_rows(question_id: str, audit: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    gold = audit["gold"]
    chains = audit["chains"]
    first = next((index for index, row in enumerate(chains) if row["label"] == audit["candidate"]), 0)
    for agent, row in enumerate([*chains[first : first + 1], *chains[:first], *chains[first + 1 :]]):
        yield _row(question_id, 0, agent, row, gold)
    for place, row in audit["said"].items():
        round_, agent = place.split("/")
        yield _row(question_id, int(round_), int(agent), row, gold)


def _row(question_id: str, round_: int, agent: int, row: Mapping[str, Any], gold: str) -> dict[str, Any]:
    answered = isinstance(row["label"], str)
    values: dict[str, Any] = {
        "question_id": one_line(question_id),
        "round": round_,
        "agent": agent,
        "answer": row["label"] if answered else "",
        "gold": gold,
    }
    if gold:
        values["correct"] = int(answered and row["label"] == gold)
    values |= {name: row[name] for name in ("confidence", "prompt_tokens", "completion_tokens")}
    values["model"] = _NO_NAME.sub("", row["model"])[:_LONGEST_NAME]
    return {name: "" if value is None else value for name, value in values.items()}
