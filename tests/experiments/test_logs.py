"""Logs that are as they should be, in all the forms they come in."""

import json
from pathlib import Path

import numpy as np
import pytest

from adjourn.experiments.logs import JudgeLog, ReasoningLog, read_log, read_mapping
from adjourn.experiments.logs.columns import ABSTAINED, MISSING
from adjourn.model import ParameterError

TEXT = 'question_id,round,agent,answer,correct\nq1,0,0,"1,000",1\nq1,0,1,"say ""x""",0\nq2,0,0,,0\nq2,0,1,NaN,0\n'


def read(tmp_path: Path, content: str | bytes, mapping: dict[str, str] | None = None) -> ReasoningLog:
    path = tmp_path / "log.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    log = read_log(path, mapping)
    assert isinstance(log, ReasoningLog)
    return log


def rows(log: ReasoningLog) -> list[tuple[str, int, str, str | None, bool]]:
    return [
        (log.questions[q], int(r), log.agents[a], None if x == MISSING else log.answers[x], bool(right))
        for q, r, a, x, right in zip(log.question, log.round, log.agent, log.answer, log.right, strict=True)
    ]


def test_quoted_commas_and_quotation_marks_are_part_of_answers_and_missing_answers_stay_missing(tmp_path: Path) -> None:
    log = read(tmp_path, TEXT)
    assert rows(log) == [
        ("q1", 0, "0", "1,000", True),
        ("q1", 0, "1", 'say "x"', False),
        ("q2", 0, "0", None, False),
        ("q2", 0, "1", None, False),
    ]
    assert log.line.tolist() == [2, 3, 4, 5]


@pytest.mark.parametrize(
    "content", [TEXT.replace("\n", "\r\n"), b"\xef\xbb\xbf" + TEXT.encode(), TEXT.replace("\n", "\n\n"), TEXT.rstrip("\n")]
)
def test_carriage_returns_byte_order_mark_blank_lines_and_an_open_end_change_nothing(tmp_path: Path, content: str | bytes) -> None:
    assert rows(read(tmp_path, content)) == rows(read(tmp_path, TEXT))


def test_json_lines_say_the_same_as_csv(tmp_path: Path) -> None:
    objects = [
        {"question_id": "q1", "round": 0, "agent": 0, "answer": "1,000", "correct": True},
        {"question_id": "q1", "round": 0, "agent": 1, "answer": 'say "x"', "correct": "no"},
        {"question_id": "q2", "round": 0, "agent": 0, "answer": None, "correct": 0},
        {"question_id": "q2", "round": 0, "agent": 1, "answer": float("nan"), "correct": 0.0},
    ]
    log = read(tmp_path, "\n".join(json.dumps(o) for o in objects))
    assert rows(log) == rows(read(tmp_path, TEXT))


def test_a_field_may_run_over_lines_and_later_rows_keep_their_line_numbers(tmp_path: Path) -> None:
    log = read(tmp_path, 'question_id,round,agent,answer,correct\nq1,0,0,"a\nb\nc",1\nq1,0,1,x,0\n')
    assert log.answers == ("a\nb\nc", "x")
    assert log.line.tolist() == [2, 5]


@pytest.mark.parametrize(
    ("right", "wrong"), [("1", "0"), ("true", "FALSE"), ("Yes", "no"), ("1.0", "0.0"), ("T", "f"), ("correct", "incorrect")]
)
def test_grades_are_read_in_their_usual_spellings(tmp_path: Path, right: str, wrong: str) -> None:
    log = read(tmp_path, f"question_id,round,agent,answer,correct\nq,0,0,a,{right}\nq,0,1,b,{wrong}\n")
    assert log.right.tolist() == [True, False]


def test_gold_is_compared_as_text_and_an_explicit_grade_goes_before_it(tmp_path: Path) -> None:
    by_gold = read(tmp_path, "question_id,round,agent,answer,gold\nq,0,0,5,5\nq,0,1,5.0,5\nq,0,2,,5\n")
    assert by_gold.right.tolist() == [True, False, False]
    graded = read(tmp_path, "question_id,round,agent,answer,gold,correct\nq,0,0,5,5,1\nq,0,1,5.0,5,1\nq,0,2,7,5,\n")
    assert graded.right.tolist() == [True, True, False]
    assert any("1 rows `correct` differs" in note for note in graded.warnings)


def test_identical_rows_are_dropped_with_a_warning(tmp_path: Path) -> None:
    log = read(tmp_path, "question_id,round,agent,answer,correct\nq,0,0,a,1\nq,0,0,a,1\nq,0,1,,0\nq,0,1,,0\n")
    assert len(log) == 2
    assert "2 repeated rows were dropped (lines 3, 5)" in log.warnings[0]


def test_agents_are_ordered_by_number_where_all_are_numbers_else_by_name(tmp_path: Path) -> None:
    head = "question_id,round,agent,answer,correct\n"
    numbered = read(tmp_path, head + "q,1,10,a,1\nq,1,9.0,b,0\nq,1,2,b,0\n")
    assert numbered.agents == ("2", "9", "10")
    assert numbered.numbered
    named = read(tmp_path, head + "q,1,zoe,a,1\nq,1,10,b,0\n")
    assert named.agents == ("10", "zoe")
    assert not named.numbered


def test_a_mapping_renames_columns_and_extra_columns_are_named(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        "qid,turn,agent,answer,ok,level\nq,1,0,a,1,5\n",
        read_mapping(["question_id=qid", "round = turn", "correct=ok"]),
    )
    assert rows(log) == [("q", 1, "0", "a", True)]
    assert log.extra_columns == ("level",)


@pytest.mark.parametrize("pairs", [["answer"], ["=x"], ["answer="], ["answer=a", "answer=b"]])
def test_what_is_no_pair_of_names_is_refused(pairs: list[str]) -> None:
    with pytest.raises(ParameterError, match="--map"):
        read_mapping(pairs)


def test_tokens_confidence_and_models_are_read_and_missing_ones_stay_unknown(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        "question_id,round,agent,answer,correct,confidence,prompt_tokens,completion_tokens,model\nq,0,0,a,1,8,100,20,m1\nq,0,1,a,1,,,,\n",
    )
    assert log.models == ("m1",)
    assert log.model.tolist() == [0, -1]
    assert log.confidence[0] == 8
    assert log.prompt_tokens[0] == 100
    assert log.completion_tokens[0] == 20
    assert np.isnan([log.confidence[1], log.prompt_tokens[1], log.completion_tokens[1]]).all()


def test_an_answer_marked_right_in_one_row_and_wrong_in_another_is_told(tmp_path: Path) -> None:
    log = read(tmp_path, "question_id,round,agent,answer,correct\nq,0,0,a,1\nq,0,1,a,0\n")
    assert "1 answers are marked right in one row and wrong in another" in log.warnings[0]


def judge(tmp_path: Path, content: str) -> JudgeLog:
    path = tmp_path / "judges.csv"
    path.write_text(content)
    log = read_log(path)
    assert isinstance(log, JudgeLog)
    return log


def test_a_log_of_judges_is_told_by_its_columns_and_verdicts_follow_from_scores(tmp_path: Path) -> None:
    log = judge(tmp_path, "item_id,judge,order,score_a,score_b,label\ni,j,AB,7,5,A\ni,j,BA,5,5,a\nk,j,AB,,5,tie\n")
    assert log.verdict.tolist() == [1, 0, ABSTAINED]
    assert log.label.tolist() == [1, 1, 0]
    assert log.swapped.tolist() == [False, True, False]
    assert log.score_a[:2].tolist() == [7, 5]


def test_repeated_calls_of_a_judge_are_kept_where_any_differ_and_copies_dropped_where_none_do(tmp_path: Path) -> None:
    head = "item_id,judge,order,verdict,label\n"
    calls = judge(tmp_path, head + "i,j,AB,A,A\ni,j,AB,B,A\nk,j,AB,A,A\nk,j,AB,A,A\n")
    assert calls.repeat.tolist() == [0, 1, 0, 1]
    copies = judge(tmp_path, head + "i,j,AB,A,A\nk,j,AB,A,A\nk,j,AB,A,A\n")
    assert len(copies) == 2
    assert "1 repeated rows were dropped" in copies.warnings[0]


def test_all_public_pilots_are_read(shared_dir: Path) -> None:
    sizes = {"tense-codex-16": 4480, "triviaqa-llama13b-20": 10_000, "math-gpt35-debate": 30_926, "judges-prd": 7_584}
    for name, size in sizes.items():
        assert len(read_log(shared_dir / "pilots" / f"{name}.csv")) == size
