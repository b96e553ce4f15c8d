r"""Answers that an evaluation harness has logged, as rows of a pilot log.

Two formats are read. Either gives independent answers: round 0, one agent a repetition.

- **inspect_ai** (version 2 of its log): a JSON file with ``eval`` and ``samples``, or an ``.eval`` archive with ``header.json`` and one
  ``samples/ID_epoch_N.json`` a sample. An epoch is a repetition. A score's ``value`` is ``C`` (right), ``I`` (wrong), ``P`` (partly
  right), ``N`` (no answer), a truth value or a number; its ``answer`` is what the scorer extracted.
- **lm-evaluation-harness**: the ``samples_TASK_DATE.jsonl`` of ``--log_samples``, one object for each document and filter. A text answer
  is an entry of ``filtered_resps``; of a multiple-choice task the answer is the number of the likeliest choice. A metric that is 1 is
  right.

Several files of one format are repetitions of the same questions. Right means fully right: whatever lies below 1 counts as wrong, and the
number of such answers is reported. Samples that ended in an error hold no answer and are left out, never counted as wrong.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from ..model.errors import FileFormatError, InputError, ParameterError

__all__ = ["COLUMNS", "FORMATS", "Imported", "format_of", "import_logs"]

FORMATS = ("inspect", "lm-eval")
COLUMNS = ("question_id", "round", "agent", "answer", "correct", "prompt_tokens", "completion_tokens", "model")

_MOST_BYTES = 1 << 30
_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_LONG = 200

Json = dict[str, Any]


@dataclass
class Imported:
    """Rows of a pilot log.

    Parameters
    ----------
    rows : list of dict
        One a message, with the keys ``COLUMNS``; None where the harness does not say.
    notes : list of str
        What was left out or decided on the way.
    """

    rows: list[Json] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_csv(self) -> str:
        """Text of a CSV file that every command reads as a log."""
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: "" if value is None else value for key, value in row.items()} for row in self.rows)
        return text.getvalue()


@dataclass(frozen=True)
class _Answer:
    """One answer as a harness logged it; ``asked`` tells questions of the same name apart."""

    question: str
    asked: str
    repetition: int
    answer: str | None
    grade: float
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    model: str | None = None


def format_of(path: Path) -> str | None:
    """Which harness wrote a file; None where it looks like neither (the caller reads it as a plain log, and so it does a pipe)."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            head = file.read(1 << 16)
    except (OSError, ValueError):
        return None
    if head.startswith(b"PK\x03\x04") and path.suffix == ".eval":
        return "inspect"
    text = head.decode("utf-8", "ignore").lstrip("\ufeff \t\r\n")
    if not text.startswith("{"):
        return None
    if re.match(r'\{\s*"(version|status|eval)"\s*:', text) and '"eval"' in text:
        return "inspect"
    first = text.partition("\n")[0]
    return "lm-eval" if re.match(r'\{\s*"doc_id"\s*:', first) and '"doc":' in first else None


def import_logs(paths: Sequence[Path], kind: str, score: str | None = None, filter_name: str | None = None) -> Imported:
    """Read files of one harness.

    Parameters
    ----------
    paths : sequence of Path
        Files; each after the first repeats the same questions.
    kind : str
        One of ``FORMATS``.
    score : str, optional
        Scorer (inspect) or metric (lm-eval) that says what is right; needed where a file holds several.
    filter_name : str, optional
        Filter of lm-eval; needed where a file holds several.

    Raises
    ------
    FileFormatError
        If a file is not of the format, or files name different questions alike.
    ParameterError
        If the format is unknown, or a file holds several scores or filters and none, or none of them, is named.
    """
    if kind not in FORMATS:
        raise ParameterError("FORMAT", kind, "one of " + ", ".join(FORMATS))
    found, agents = Imported(), 0
    asked: dict[str, str] = {}
    for path in paths:
        answers = _inspect(path, score, found) if kind == "inspect" else _lm_eval(path, score, filter_name, found)
        for answer in answers:
            first = asked.setdefault(answer.question, answer.asked)
            if first != answer.asked:
                raise FileFormatError(path, f"question {answer.question!r} is another one than under the same name before.")
            found.rows.append(_row(answer, agents))
        if not answers:
            raise FileFormatError(path, "the log holds no finished sample.")
        agents += 1 + max(answer.repetition for answer in answers)
    _note(found, [answer for answer in found.rows if answer["answer"] and len(answer["answer"]) > _LONG])
    return found


def _row(answer: _Answer, agents: int) -> Json:
    values = (
        answer.question,
        0,
        agents + answer.repetition,
        answer.answer,
        int(answer.grade >= 1),
        answer.prompt_tokens,
        answer.completion_tokens,
        answer.model,
    )
    return dict(zip(COLUMNS, values, strict=True))


def _note(found: Imported, long: Sequence[Json]) -> None:
    if long:
        found.notes.append(
            f"{len(long)} answers are longer than {_LONG} characters: whole texts rarely coincide, so a vote over them means little; "
            "log extracted answers."
        )


def _pick(path: Path, option: str, asked: str | None, there: Sequence[str]) -> str:
    """Return the one that is asked for, or the only one."""
    if asked is None and len(there) == 1:
        return there[0]
    if asked in there:
        return str(asked)
    raise ParameterError(option, asked, f"one of {', '.join(there) or '(none)'}, which {path} holds (adjourn import --help)")


def _bytes(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():  # a device may have no end
            raise InputError(f"{path}: no regular file; name a log.")
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path}: larger than {_MOST_BYTES >> 20} MiB; import it in parts.")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error}).") from None


def _object(path: Path, raw: bytes, line: int | None = None) -> Json:
    try:
        value = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FileFormatError(path, f"not valid JSON ({str(error)[:120]}).", line) from None
    if not isinstance(value, dict):
        raise FileFormatError(path, f"a JSON {type(value).__name__} where an object was expected.", line)
    return value


def _part(path: Path, value: Any, key: str, kind: type, line: int | None = None) -> Any:
    found = value.get(key) if isinstance(value, dict) else None
    if not isinstance(found, kind):
        raise FileFormatError(path, f"a sample holds no {kind.__name__} {key!r}; is this the log of a finished evaluation?", line)
    return found


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


# inspect_ai


def _inspect(path: Path, score: str | None, found: Imported) -> list[_Answer]:
    header, samples = _open_inspect(path)
    evaluation = header.get("eval")
    model = evaluation.get("model") if isinstance(evaluation, dict) else None
    answers, failed, partial = [], 0, 0
    for sample in samples:
        if sample.get("error"):
            failed += 1
            continue
        scores = _part(path, sample, "scores", dict)
        name = _pick(path, "--score", score, tuple(scores))
        grade = _grade(path, _part(path, scores, name, dict).get("value"), name)
        partial += 0 < grade < 1
        answers.append(_inspect_answer(path, sample, scores[name], grade, model if isinstance(model, str) else None))
    if failed:
        found.notes.append(f"{path}: {failed} samples ended in an error; they are left out.")
    if partial:
        found.notes.append(f"{path}: {partial} answers are partly right; they count as wrong.")
    return answers


def _open_inspect(path: Path) -> tuple[Json, Iterator[Json]]:
    raw = _bytes(path)
    if raw.startswith(b"PK"):
        return _open_archive(path, raw)
    log = _object(path, raw)
    samples = log.get("samples")
    if not isinstance(samples, list) or not all(isinstance(sample, dict) for sample in samples):
        raise FileFormatError(path, 'no list of "samples"; an inspect_ai log holds one once the evaluation has finished.')
    return log, iter(samples)


def _open_archive(path: Path, raw: bytes) -> tuple[Json, Iterator[Json]]:
    try:
        archive = zipfile.ZipFile(io.BytesIO(raw))
        names = [entry for entry in archive.infolist() if entry.filename.startswith("samples/") and entry.filename.endswith(".json")]
        if sum(entry.file_size for entry in names) > _MOST_BYTES:
            raise InputError(f"{path}: unpacks to more than {_MOST_BYTES >> 20} MiB; import it in parts.")
        header = _object(path, archive.read("header.json"))
        return header, iter([_object(path, archive.read(entry)) for entry in names])
    except KeyError:
        raise FileFormatError(path, "the archive holds no header.json; an evaluation writes it when it has finished.") from None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError, ValueError) as error:
        remedy = "convert it: inspect log convert FILE --to json --output-dir FOLDER"
        raise FileFormatError(path, f"the archive cannot be unpacked here ({error}); {remedy}.") from None


def _grade(path: Path, value: Any, name: str) -> float:
    if isinstance(value, str) and value in _GRADES:
        return _GRADES[value]
    if isinstance(value, (bool, int, float)) and 0 <= value <= 1:
        return float(value)
    raise FileFormatError(path, f"the score {name!r} is {str(value)[:60]!r}, not C, I, P, N, a truth value or a number from 0 to 1.")


def _inspect_answer(path: Path, sample: Json, score: Json, grade: float, model: str | None) -> _Answer:
    if not isinstance(sample.get("id"), (int, str)):
        raise FileFormatError(path, "a sample holds no id.")
    epoch = sample.get("epoch", 1)
    if isinstance(epoch, bool) or not isinstance(epoch, int) or not 1 <= epoch <= 10**6:
        raise FileFormatError(path, f"the epoch {str(epoch)[:60]!r} of sample {str(sample['id'])[:60]!r} is no number from 1.")
    prompt, completion = _usage(sample, model)
    text = score.get("answer")
    if text is None and score.get("value") != "N":
        output = sample.get("output")
        text = output.get("completion") if isinstance(output, dict) else None
    return _Answer(
        question=str(sample["id"]),
        asked=json.dumps(sample.get("input"), sort_keys=True),
        repetition=epoch - 1,
        answer=None if text is None else str(text),
        grade=grade,
        prompt_tokens=prompt,
        completion_tokens=completion,
        model=model,
    )


def _usage(sample: Json, model: str | None) -> tuple[int | None, int | None]:
    """Tokens of the model under test, what was read from or written to a cache included; graders' tokens are no part of an answer."""
    by_model = sample.get("model_usage")
    usage = by_model.get(model) if isinstance(by_model, dict) else None
    if not isinstance(usage, dict):
        output = sample.get("output")
        usage = output.get("usage") if isinstance(output, dict) else None
    if not isinstance(usage, dict):
        return None, None
    prompt = _count(usage.get("input_tokens"))
    cached = [_count(usage.get(f"input_tokens_cache_{way}")) or 0 for way in ("read", "write")]
    return None if prompt is None else prompt + sum(cached), _count(usage.get("output_tokens"))


# lm-evaluation-harness


def _lm_eval(path: Path, score: str | None, filter_name: str | None, found: Imported) -> list[_Answer]:
    lines = [(number, _object(path, raw, number)) for number, raw in enumerate(_bytes(path).splitlines(), 1) if raw.strip()]
    if not lines:
        raise FileFormatError(path, "the file holds no samples.", 1)
    wanted = _pick(path, "--filter", filter_name, tuple(dict.fromkeys(str(sample.get("filter", "none")) for _, sample in lines)))
    answers, thrown, partial = [], 0, 0
    for number, sample in lines:
        if str(sample.get("filter", "none")) != wanted:
            continue
        given = _lm_answers(path, sample, score, number)
        answers += given
        partial += sum(0 < answer.grade < 1 for answer in given)
        thrown += len(given) < _repeats(sample)
    if thrown:
        found.notes.append(
            f"{path}: the filter {wanted!r} kept fewer answers than were sampled for {thrown} documents; "
            "a filter that only extracts keeps them all."
        )
    if partial:
        found.notes.append(f"{path}: {partial} answers are partly right; they count as wrong.")
    return answers


def _repeats(sample: Json) -> int:
    resps = sample.get("resps")
    return len(resps[0]) if isinstance(resps, list) and resps and isinstance(resps[0], list) else 1


def _lm_answers(path: Path, sample: Json, score: str | None, number: int) -> list[_Answer]:
    if not isinstance(sample.get("doc_id"), (int, str)):
        raise FileFormatError(path, "no doc_id; is this a samples file of --log_samples?", number)
    texts = _texts(path, _part(path, sample, "filtered_resps", list, number), number)
    named = sample.get("metrics")
    metrics = tuple(str(name) for name in named if name in sample) if isinstance(named, list) else ()
    question, asked = str(sample["doc_id"]), str(sample.get("doc_hash") or json.dumps(sample.get("doc"), sort_keys=True))
    if len(texts) > 1:
        target = str(sample.get("target")).strip()
        return [_Answer(question, asked, index, text, float(text == target)) for index, text in enumerate(texts)]
    is_choice = not isinstance(sample["filtered_resps"][0], str) and len(sample["filtered_resps"]) > 1
    name = _pick(path, "--score", score, ("acc",) if is_choice and "acc" in metrics else metrics)  # acc grades the likeliest choice
    value = sample[name]
    if isinstance(value, str) or not isinstance(value, (bool, int, float)) or not 0 <= value <= 1:
        raise FileFormatError(path, f"the metric {name!r} is {str(value)[:60]!r}, no number from 0 to 1; choose one with --score.", number)
    return [_Answer(question, asked, 0, texts[0], float(value))]


def _texts(path: Path, filtered: list[Any], number: int) -> list[str | None]:
    """Answers of one document: texts, or the number of the likeliest of several choices."""
    if filtered and all(isinstance(entry, str) for entry in islice(filtered, 1)):
        return [_text(filtered[0])]
    if len(filtered) == 1 and isinstance(filtered[0], list) and filtered[0] and all(isinstance(text, str) for text in filtered[0]):
        return [_text(text) for text in filtered[0]]
    likelihoods = [entry[0] if isinstance(entry, list) and entry else entry for entry in filtered]
    if len(likelihoods) > 1 and all(isinstance(x, (int, float)) and x == x for x in likelihoods):
        return [str(max(range(len(likelihoods)), key=likelihoods.__getitem__))]
    raise FileFormatError(path, "filtered_resps holds neither a text nor the log-likelihoods of several choices.", number)


def _text(text: str) -> str | None:
    """Strip a text; what a filter calls ``[invalid]`` is no answer."""
    return None if text.strip() in ("", "[invalid]") else text.strip()
