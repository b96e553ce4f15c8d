"""Rows of a judging log, gathered into columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...model.errors import FileFormatError
from .columns import ABSTAINED, JudgeLog
from .rows import Table
from .values import Codes, Record, refuse_missing_columns

__all__ = ["JUDGING", "JudgeRows"]

JUDGING = {
    "item_id": "which pair of answers",
    "judge": "which judge",
    "order": "AB, or BA where the second answer was shown first",
    "round": "round (0 where the log has none)",
    "score_a": "score of answer A",
    "score_b": "score of answer B",
    "verdict": "A, B or tie",
    "label": "what humans say: A, B or tie",
    "prompt_tokens": "tokens of the prompt",
    "completion_tokens": "tokens of the completion",
}
"""Columns of a judging log, by Adjourn's names."""

_SIDES = {"a": 1, "b": -1, "tie": 0, "draw": 0, "equal": 0}
_ORDERS = {"ab": 0, "ba": 1}
_MOST_ROUNDS = 10_000


class JudgeRows:
    """Gathers the rows of a judging log; parameters as of :class:`.reasoning.ReasoningRows`."""

    def __init__(self, path: Path, extra_columns: tuple[str, ...], names: Mapping[str, str]) -> None:
        self.path = path
        self.extra_columns = extra_columns
        self.columns = set(names)
        self.items, self.judges = Codes(), Codes()
        self.labels: dict[int, tuple[int, int]] = {}
        self.codes: list[tuple[int, int, int, int, int, int, int]] = []
        self.numbers: list[tuple[float, float, float, float]] = []

    @staticmethod
    def check_columns(table: Table, names: Mapping[str, str]) -> None:
        """Refuse a file that lacks a column this family needs."""
        missing = [name for name in ("item_id", "judge", "order", "label") if name not in names]
        if "verdict" not in names and not {"score_a", "score_b"} <= set(names):
            missing.append("verdict (or score_a and score_b)")
        refuse_missing_columns(table, missing, "judging")

    def add(self, record: Record) -> None:
        """Take one row.

        Raises
        ------
        FileFormatError
            If a value is impossible or contradicts an earlier row.
        """
        item = self.items[record.required("item_id")]
        judge = self.judges[record.required("judge")]
        record.required("order")
        swapped = record.choice("order", _ORDERS)
        assert swapped is not None
        round_ = record.count("round", _MOST_ROUNDS) if "round" in self.columns else 0
        score_a, score_b = record.number("score_a", -1e6, 1e6), record.number("score_b", -1e6, 1e6)
        verdict = record.choice("verdict", _SIDES)
        if verdict is None:
            known = math.isfinite(score_a) and math.isfinite(score_b)
            verdict = int(np.sign(score_a - score_b)) if known else ABSTAINED
        label = self._label(record, item)
        self.codes.append((item, judge, swapped, round_, verdict, label, record.line))
        self.numbers.append((score_a, score_b, record.number("prompt_tokens"), record.number("completion_tokens")))

    def _label(self, record: Record, item: int) -> int:
        label = record.choice("label", _SIDES)
        if label is None:
            return ABSTAINED
        first, line = self.labels.setdefault(item, (label, record.line))
        if first != label:
            raise record.error("label", f"contradicts line {line}, which gives the same item another label.")
        return label

    def finish(self) -> JudgeLog:
        """Return the columns.

        Raises
        ------
        FileFormatError
            If there were no rows.
        """
        if not self.codes:
            raise FileFormatError(self.path, "the file has a header but no rows; a log has one row a message.", 1)
        keep, repeat, note = _repeats(np.array(self.codes), np.array(self.numbers, dtype=float))
        item, judge, swapped, round_, verdict, label, line = np.array(self.codes)[keep].T
        score_a, score_b, prompt, completion = np.array(self.numbers, dtype=float)[keep].T
        return JudgeLog(
            path=str(self.path),
            items=tuple(self.items),
            judges=tuple(self.judges),
            item=item,
            judge=judge,
            round=round_,
            repeat=repeat,
            swapped=swapped.astype(bool),
            score_a=score_a,
            score_b=score_b,
            verdict=verdict,
            label=label,
            prompt_tokens=prompt,
            completion_tokens=completion,
            line=line,
            extra_columns=self.extra_columns,
            warnings=(note,) if note else (),
        )


def _repeats(codes: npt.NDArray[np.int64], numbers: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], str]:
    """Rows to keep, the number of each among the rows of its key, and a note.

    A judge may be asked the same thing several times: where rows of one item, judge, order and round differ anywhere in the log, such
    rows are repeated calls, and all are kept (to leave out the equal ones would make the judge look less steady
    than it is). Where none differ, they are copies, and the first is kept.
    """
    _, key, size = np.unique(codes[:, :4], axis=0, return_inverse=True, return_counts=True)
    said = np.column_stack([key, codes[:, 4:6], np.nan_to_num(numbers[:, :2], nan=-1e7)])
    order = np.argsort(key, kind="stable")
    starts = np.concatenate([[0], np.cumsum(size)[:-1]])
    repeat = np.empty(len(key), dtype=np.int64)
    repeat[order] = np.arange(len(key)) - starts[key[order]]
    everything = np.arange(len(key))
    extra = int(len(key) - len(size))
    if not extra:
        return everything, repeat, ""
    if len(np.unique(said, axis=0)) > len(size):
        return everything, repeat, f"{extra} rows repeat an item, judge, order and round; some differ, so all are taken as repeated calls."
    keep = everything[repeat == 0]
    return keep, repeat[keep], f"{extra} repeated rows were dropped: each says what an earlier row says."
