"""Rows of a reasoning log, gathered into columns; duplicates and contradictions are found here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ...model.errors import FileFormatError
from .columns import MISSING, Bools, Ints, ReasoningLog
from .rows import Table
from .values import Codes, Record, is_number, refuse_missing_columns

__all__ = ["REASONING", "ReasoningRows"]

REASONING = {
    "question_id": "which question",
    "round": "round; 0 holds the independent answers",
    "agent": "number or name of the agent or sample",
    "answer": "final answer; empty where there was none",
    "gold": "the right answer, compared as text",
    "correct": "whether the answer is right",
    "confidence": "stated confidence",
    "prompt_tokens": "tokens of the prompt",
    "completion_tokens": "tokens of the completion",
    "model": "model that answered",
}
"""Columns of a reasoning log, by Adjourn's names."""

_MOST_ROUNDS = 10_000


class ReasoningRows:
    """Gathers the rows of a reasoning log.

    Parameters
    ----------
    path : Path
        The file.
    extra_columns : tuple of str
        Columns that are not read.
    names : mapping of str to str
        Adjourn's names to the file's.
    """

    def __init__(self, path: Path, extra_columns: tuple[str, ...], names: Mapping[str, str]) -> None:
        self.path = path
        self.extra_columns = extra_columns
        self.graded = "correct" in names
        self.questions, self.agents, self.answers, self.models = Codes(), Codes(), Codes(), Codes()
        self.keys: dict[tuple[int, int, int], int] = {}
        self.gold: dict[int, tuple[str, int]] = {}
        self.whole: list[tuple[int, int, int, int, bool, int, int]] = []
        self.numbers: list[tuple[float, float, float]] = []
        self.repeated: list[int] = []
        self.nameless_right = 0
        self.disagreeing = 0

    @staticmethod
    def check_columns(table: Table, names: Mapping[str, str]) -> None:
        """Refuse a file that lacks a column this family needs."""
        missing = [name for name in ("question_id", "round", "agent", "answer") if name not in names]
        if "gold" not in names and "correct" not in names:
            missing.append("correct (or gold)")
        refuse_missing_columns(table, missing, "reasoning")

    def add(self, record: Record) -> None:
        """Take one row.

        Raises
        ------
        FileFormatError
            If a value is impossible or contradicts an earlier row.
        """
        question = self.questions[record.required("question_id")]
        round_ = record.count("round", _MOST_ROUNDS)
        agent = self.agents[_agent(record)]
        text = record.text("answer")
        right = self._right(record, question, text)
        answer = MISSING if text is None else self.answers[text]
        if self._is_repeated(record, (question, round_, agent), answer, right):
            return
        self.nameless_right += right and text is None
        model = record.text("model")
        self.whole.append((question, round_, agent, answer, right, -1 if model is None else self.models[model], record.line))
        self.numbers.append((record.number("confidence"), record.number("prompt_tokens"), record.number("completion_tokens")))

    def _right(self, record: Record, question: int, text: str | None) -> bool:
        gold = record.text("gold")
        if gold is not None:
            first, line = self.gold.setdefault(question, (gold, record.line))
            if first != gold:
                raise record.error("gold", f"contradicts line {line}, where the right answer of the same question is {first[:60]!r}.")
        right = record.flag("correct") if self.graded else None
        if right is not None:
            self.disagreeing += gold is not None and right != (text == gold)
            return right
        if gold is not None:
            return text == gold
        if text is None:
            return False
        raise record.error("correct" if self.graded else "gold", "is missing; without it nobody can say whether the answer is right.")

    def _is_repeated(self, record: Record, key: tuple[int, int, int], answer: int, right: bool) -> bool:
        index = self.keys.setdefault(key, len(self.whole))
        if index == len(self.whole):
            return False
        earlier = self.whole[index]
        if (earlier[3], earlier[4]) != (answer, right):
            what = "answers" if earlier[3] != answer else "grades"
            raise FileFormatError(
                self.path,
                f"this row and line {earlier[6]} give different {what} of the same agent to the same question in the same round; keep one.",
                record.line,
            )
        self.repeated.append(record.line)
        return True

    def finish(self) -> ReasoningLog:
        """Return the columns.

        Raises
        ------
        FileFormatError
            If there were no rows.
        """
        if not self.whole:
            raise FileFormatError(self.path, "the file has a header but no rows; a log has one row a message.", 1)
        numbered = all(map(is_number, self.agents))
        agents = sorted(self.agents, key=int if numbered else None)
        rank = np.empty(len(agents), dtype=np.int64)
        rank[[self.agents[name] for name in agents]] = np.arange(len(agents))
        question, round_, agent, answer, right, model, line = (np.array(column) for column in zip(*self.whole, strict=True))
        confidence, prompt, completion = np.array(self.numbers, dtype=float).T
        return ReasoningLog(
            path=str(self.path),
            questions=tuple(self.questions),
            agents=tuple(agents),
            numbered=numbered,
            answers=tuple(self.answers),
            models=tuple(self.models),
            question=question,
            round=round_,
            agent=rank[agent],
            answer=answer,
            right=right,
            confidence=confidence,
            prompt_tokens=prompt,
            completion_tokens=completion,
            model=model,
            line=line,
            extra_columns=self.extra_columns,
            warnings=tuple(self._warnings(question, answer, right)),
        )

    def _warnings(self, question: Ints, answer: Ints, right: Bools) -> list[str]:
        notes = []
        if self.repeated:
            lines = ", ".join(str(n) for n in self.repeated[:5]) + (", ..." if len(self.repeated) > 5 else "")
            notes.append(f"{len(self.repeated)} repeated rows were dropped (lines {lines}): each says what an earlier row says.")
        if self.nameless_right:
            notes.append(f"{self.nameless_right} answers are empty and yet marked right; they are taken as right.")
        if self.disagreeing:
            notes.append(f"In {self.disagreeing} rows `correct` differs from comparing `answer` with `gold` as text; `correct` is taken.")
        graded = np.unique(np.stack([question, answer, right])[:, answer != MISSING], axis=1)
        twice = graded.shape[1] - np.unique(graded[:2], axis=1).shape[1]
        if twice:
            notes.append(
                f"{twice} answers are marked right in one row and wrong in another row of the same question; each row's own mark is taken."
            )
        return notes


def _agent(record: Record) -> str:
    name = record.required("agent")
    whole, _, decimals = name.partition(".")
    return str(int(whole)) if is_number(whole) and not decimals.strip("0") else name
