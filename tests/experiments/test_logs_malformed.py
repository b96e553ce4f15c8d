"""Every malformed log is one clear error that names the file and, where there is one, the line; never another exception."""

import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.experiments.logs import read_log
from adjourn.experiments.logs.rows import LONGEST_LINE, open_table
from adjourn.model import FileFormatError, InputError, ParameterError

HEADER = "question_id,round,agent,answer,correct\n"
GOOD = HEADER + "q1,0,0,a,1\n"
OBJECT = {"question_id": "q1", "round": 0, "agent": 0, "answer": "a", "correct": 1}


def json_lines(*changes: dict[str, object]) -> bytes:
    return "".join(json.dumps({**OBJECT, **change}) + "\n" for change in changes).encode()


# name: (content, line that the message must name, words that it must hold)
KINDS: dict[str, tuple[bytes, int | None, str]] = {
    "empty": (b"", 1, "empty"),
    "blank": (b"\n\n  \n", 1, "blank"),
    "zero bytes": (b"\x00\x01\x02\x00\xff" * 50, 1, "binary"),
    "gzip": (gzip.compress(GOOD.encode()), 1, "gzip"),
    "spreadsheet": (b"PK\x03\x04" + b"x" * 90, 1, "spreadsheet"),
    "parquet": (b"PAR1" + b"x" * 90, 1, "Parquet"),
    "pdf": (b"%PDF-1.7\n", 1, "PDF"),
    "sqlite": (b"SQLite format 3\x00", 1, "SQLite"),
    "utf-16 with mark": (GOOD.encode("utf-16"), 1, "UTF-16"),
    "utf-16 without mark": (GOOD.encode("utf-16-le"), 1, "UTF-16"),
    "utf-32": (GOOD.encode("utf-32"), 1, "UTF-32"),
    "latin-1": ((HEADER + "q1,0,0,caf\u00e9,1\n").encode("latin-1"), 2, "UTF-8"),
    "zero byte later": (GOOD.encode() + b"x" * 70_000 + b"\x00", 3, "zero byte"),
    "semicolons": (GOOD.replace(",", ";").encode(), 1, "semicolons"),
    "tabs": (GOOD.replace(",", "\t").encode(), 1, "tabs"),
    "bars": (GOOD.replace(",", "|").encode(), 1, "bars"),
    "no column": (b"a,b,c\n1,2,3\n", 1, "--map question_id="),
    "no answer column": (b"question_id,round,agent,correct\nq,0,0,1\n", 1, "--map answer="),
    "no grade column": (b"question_id,round,agent,answer\nq,0,0,x\n", 1, "correct (or gold)"),
    "misnamed column": (b"question,round,agent,answer,correct\nq,0,0,x,1\n", 1, "--map question_id=question"),
    "no header": (b"q1,0,0,a,1\nq1,0,1,b,0\n", 1, "log needs question_id"),
    "column twice": (b"question_id,round,agent,answer,answer,correct\nq,0,0,x,x,1\n", 1, "two columns"),
    "header alone": (HEADER.encode(), 1, "no rows"),
    "short row": (GOOD.encode() + b"q1,0,1,b\n", 3, "4 fields"),
    "unquoted comma": (GOOD.encode() + b"q1,0,1,1,000,1\n", 3, "6 fields"),
    "open quotation": (GOOD.encode() + b'q1,0,1,"b,0\nq2,0,1,b,0\n', 3, "never closed"),
    "text after quotation": (GOOD.encode() + b'q1,0,1,"b"c,0\n', 3, "quotation"),
    "round in words": (GOOD.encode() + b"q1,first,1,b,0\n", 3, "no number"),
    "negative round": (GOOD.encode() + b"q1,-1,1,b,0\n", 3, "possible range"),
    "half a round": (GOOD.encode() + b"q1,0.5,1,b,0\n", 3, "whole number"),
    "round NaN": (GOOD.encode() + b"q1,NaN,1,b,0\n", 3, "missing"),
    "no question": (GOOD.encode() + b",0,1,b,0\n", 3, "question_id is missing"),
    "no agent": (GOOD.encode() + b"q1,0,,b,0\n", 3, "agent is missing"),
    "strange grade": (GOOD.encode() + b"q1,0,1,b,maybe\n", 3, "neither right nor wrong"),
    "no grade": (GOOD.encode() + b"q1,0,1,b,\n", 3, "correct is missing"),
    "conflicting answers": (GOOD.encode() + b"q1,0,0,b,1\n", 3, "line 2 give different answers"),
    "conflicting grades": (GOOD.encode() + b"q1,0,0,a,0\n", 3, "line 2 give different grades"),
    "two golds": (b"question_id,round,agent,answer,gold\nq,0,0,x,x\nq,0,1,x,y\n", 3, "contradicts line 2"),
    "negative tokens": (b"question_id,round,agent,answer,correct,prompt_tokens\nq,0,0,x,1,-5\n", 2, "possible range"),
    "infinite tokens": (b"question_id,round,agent,answer,correct,prompt_tokens\nq,0,0,x,1,inf\n", 2, "possible range"),
    "confidence in words": (b"question_id,round,agent,answer,correct,confidence\nq,0,0,x,1,high\n", 2, "no number"),
    "old line ends": (GOOD.replace("\n", "\r").encode(), 1, "carriage return"),
    "json array": (json.dumps([OBJECT]).encode(), 1, "JSON array"),
    "json number": (json_lines({}) + b"17\n", 2, "not an object"),
    "json cut off": (json_lines({}) + b'{"question_id": "q1", "round": \n', 2, "column 31"),
    "json nested": (json_lines({}, {"agent": 1, "answer": {"text": "b"}}), 2, "nested"),
    "json key twice": (json_lines({}) + b'{"round": 0, "round": 1}\n', 2, "twice"),
    "json too deep": (json_lines({}) + b'{"a": ' + b"[" * 200_000 + b"\n", 2, "nested too deeply"),
    "json giant number": (json_lines({}) + b'{"round": ' + b"9" * 6000 + b"}\n", 2, "digits"),
    "json half a character": (
        json_lines({}) + b'{"question_id": "\\ud800", "round": 0, "agent": 1, "answer": "", "correct": 0}\n',
        2,
        "surrogate",
    ),
    "json without agent": (json_lines({}) + b'{"question_id": "q1", "round": 0, "answer": "x", "correct": 0}\n', 2, "agent is missing"),
    "judge's strange verdict": (b"item_id,judge,order,verdict,label\ni,j,AB,C,A\n", 2, "none of a, b, tie"),
    "judge's strange order": (b"item_id,judge,order,verdict,label\ni,j,first,A,A\n", 2, "none of ab, ba"),
    "judge's two labels": (b"item_id,judge,order,verdict,label\ni,j,AB,A,A\ni,j,BA,A,B\n", 3, "contradicts line 2"),
    "judge without verdict": (b"item_id,judge,order,label\ni,j,AB,A\n", 1, "verdict (or score_a and score_b)"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_malformed_log_is_an_input_error_that_names_file_and_line(tmp_path: Path, kind: str) -> None:
    content, line, words = KINDS[kind]
    path = tmp_path / "pilot.log"
    path.write_bytes(content)
    with pytest.raises(FileFormatError) as caught:
        read_log(path)
    assert caught.value.exit_code == 2
    assert caught.value.line == line
    assert str(path) in str(caught.value)
    assert words in str(caught.value)


def test_more_than_thirty_kinds_are_tried() -> None:
    assert len(KINDS) >= 30


def test_missing_file_and_folder_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_log(tmp_path / "nothing.csv")
    with pytest.raises(InputError, match="folder"):
        read_log(tmp_path)


class Endless(io.RawIOBase):
    """A gigabyte of one letter without a line break, that counts what was read of it."""

    def __init__(self, start: bytes) -> None:
        self.start, self.at, self.furthest, self.size = start, 0, 0, 1 << 30

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self.at = offset
        return offset

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        length = min(len(buffer), self.size - self.at)
        text = (self.start[self.at :] + b"x" * length)[:length]
        buffer[:length] = text
        self.at += length
        self.furthest = max(self.furthest, self.at)
        return length


@pytest.mark.parametrize("start", [b"", HEADER.encode(), b'{"question_id": "'])
def test_a_gigabyte_on_one_line_is_refused_after_its_first_mebibyte(start: bytes) -> None:
    raw = Endless(start)
    with pytest.raises(FileFormatError, match="longer than"):
        list(open_table(Path("big.csv"), io.BufferedReader(raw)).rows)
    assert raw.furthest <= 2 * LONGEST_LINE


@pytest.mark.parametrize("pair", ["nonsense=answer", "answer=nonsense"])
def test_a_mapping_must_name_columns_of_both_sides(tmp_path: Path, pair: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(GOOD)
    ours, theirs = pair.split("=")
    with pytest.raises(ParameterError, match="--map"):
        read_log(path, {ours: theirs})


_BYTES = st.one_of(
    st.binary(max_size=400),
    st.binary(max_size=200).map(lambda content: GOOD.encode() + content),
    st.text(max_size=200).map(lambda text: (GOOD + text).encode("utf-8", "surrogatepass")),
)


def only_an_input_error(path: Path) -> bool:
    """Whether the log is read, or refused by an error that names it."""
    try:
        read_log(path)
    except InputError as error:
        return str(path) in str(error)
    return True


@given(_BYTES)
def test_no_bytes_at_all_raise_anything_but_an_input_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "log"
    path.write_bytes(content)
    assert only_an_input_error(path)


_CELLS = st.one_of(
    st.sampled_from(["", "0", "1", "2", "true", "NaN", "-3", "1e400", "a", "A", "tie", "AB", "9" * 40, "1_0", "\u0663", "\u00bd"]),
    st.text(max_size=8),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
)
_NAMES = st.sampled_from(
    ["question_id", "round", "agent", "answer", "correct", "gold", "confidence", "model", "item_id", "judge", "order", "verdict", "label"]
)


@given(st.lists(st.dictionaries(_NAMES, _CELLS), min_size=1, max_size=5))
def test_no_json_objects_raise_anything_but_an_input_error(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, object]]) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "log.jsonl"
    full = {"question_id": "q", "round": 0, "agent": 0, "answer": "a", "correct": 1}
    path.write_text("".join(json.dumps({**full, "agent": k, **row}) + "\n" for k, row in enumerate(rows)), encoding="utf-8")
    assert only_an_input_error(path)
