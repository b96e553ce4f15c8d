"""Logs of inspect_ai and lm-evaluation-harness become pilot logs; the files here are written in the formats that they document."""

import csv
import json
import zipfile

import pytest

from adjourn.experiments.importers import format_of, import_logs
from adjourn.experiments.logs import ReasoningLog, read_log
from adjourn.model.errors import FileFormatError, ParameterError


def sample(question, epoch, value="C", answer="42", **more):
    return {
        "id": question,
        "epoch": epoch,
        "input": f"What is {question}?",
        "target": "42",
        "messages": [],
        "output": {
            "model": "open/m",
            "choices": [{"message": {"role": "assistant", "content": "ANSWER: 42"}, "stop_reason": "stop"}],
            "completion": "ANSWER: 42",
            "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
        },
        "scores": {"match": {"value": value, "answer": answer}},
        "model_usage": {
            "open/m": {"input_tokens": 100, "input_tokens_cache_read": 7, "output_tokens": 20},
            "judge": {"input_tokens": 9000},
        },
        **more,
    }


def inspect_log(*samples):
    evaluation = {"task": "sums", "model": "open/m", "dataset": {}, "config": {"epochs": 2}}
    return {"version": 2, "status": "success", "eval": evaluation, "plan": {}, "results": {}, "stats": {}, "samples": list(samples)}


def lm_sample(doc_id, filtered, target="42", filter_="none", resps=None, **metrics):
    return {
        "doc_id": doc_id,
        "doc": {"question": f"What is {doc_id}?"},
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": {"until": ["\n"]}}},
        "resps": resps or [filtered],
        "filtered_resps": filtered,
        "filter": filter_,
        "metrics": list(metrics),
        "doc_hash": f"hash of {doc_id}",
        "prompt_hash": "p",
        "target_hash": "t",
        **metrics,
    }


@pytest.fixture
def write(tmp_path):
    def to(name, *values):
        path = tmp_path / name
        path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
        return path

    return to


def test_epochs_of_inspect_are_independent_answers(write):
    path = write("log.json", inspect_log(sample(1, 1), sample(1, 2, "I", "41"), sample("b", 1, "N", None)))
    rows = import_logs([path], "inspect").rows
    assert [(r["question_id"], r["round"], r["agent"], r["answer"], r["correct"]) for r in rows] == [
        ("1", 0, 0, "42", 1),
        ("1", 0, 1, "41", 0),
        ("b", 0, 0, None, 0),
    ]


def test_tokens_are_those_of_the_model_under_test_cached_ones_included(write):
    (row,) = import_logs([write("log.json", inspect_log(sample(1, 1)))], "inspect").rows
    assert (row["prompt_tokens"], row["completion_tokens"], row["model"]) == (107, 20, "open/m")


def test_where_a_scorer_extracts_nothing_the_completion_is_the_answer(write):
    (row,) = import_logs([write("log.json", inspect_log(sample(1, 1, "C", None)))], "inspect").rows
    assert row["answer"] == "ANSWER: 42"


def test_errors_are_left_out_and_partial_scores_are_reported(write):
    path = write("log.json", inspect_log(sample(1, 1), sample(2, 1, "P"), sample(3, 1, error={"message": "timeout"}, scores={})))
    found = import_logs([path], "inspect")
    assert [(r["question_id"], r["correct"]) for r in found.rows] == [("1", 1), ("2", 0)]
    assert "1 samples ended in an error" in found.notes[0]
    assert "1 answers are partly right" in found.notes[1]


def test_an_eval_archive_says_what_the_json_says(write, tmp_path):
    log = inspect_log(sample(1, 1), sample(1, 2, "I", "7"))
    archive = tmp_path / "log.eval"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", json.dumps({key: value for key, value in log.items() if key != "samples"}))
        for entry in log["samples"]:
            file.writestr(f"samples/{entry['id']}_epoch_{entry['epoch']}.json", json.dumps(entry))
    assert import_logs([archive], "inspect").rows == import_logs([write("log.json", log)], "inspect").rows
    assert isinstance(read_log(archive), ReasoningLog)


def test_of_several_scorers_one_must_be_named(write):
    two = sample(1, 1) | {"scores": {"match": {"value": "C", "answer": "42"}, "model": {"value": 0, "answer": "x"}}}
    path = write("log.json", inspect_log(two))
    with pytest.raises(ParameterError, match="match, model"):
        import_logs([path], "inspect")
    assert import_logs([path], "inspect", score="model").rows[0]["correct"] == 0


def test_files_of_lm_eval_are_repetitions(write):
    first = write("a.jsonl", lm_sample(0, ["42"], exact_match=1.0), lm_sample(1, ["[invalid]"], exact_match=0.0))
    second = write("b.jsonl", lm_sample(0, ["41"], exact_match=0.0), lm_sample(1, ["42"], exact_match=1.0))
    rows = import_logs([first, second], "lm-eval").rows
    assert [(r["question_id"], r["agent"], r["answer"], r["correct"]) for r in rows] == [
        ("0", 0, "42", 1),
        ("1", 0, None, 0),
        ("0", 1, "41", 0),
        ("1", 1, "42", 1),
    ]


def test_likeliest_choice_is_the_answer_and_acc_grades_it(write):
    path = write("mc.jsonl", lm_sample(0, [[-3.0, False], [-1.5, True], [-9.0, False]], target=1, acc=1.0, acc_norm=0.0))
    (row,) = import_logs([path], "lm-eval").rows
    assert (row["answer"], row["correct"]) == ("1", 1)
    with pytest.raises(ParameterError, match="--score"):
        import_logs([path], "lm-eval", score="acc_norm")


def test_of_several_filters_one_must_be_named_and_dropped_repeats_are_reported(write):
    raw = [["it is 42", "it is 41"]]
    path = write(
        "gsm.jsonl",
        lm_sample(0, ["42"], filter_="score-first", resps=raw, exact_match=1.0),
        lm_sample(0, [["42", "41"]], filter_="extract", resps=raw, exact_match=1.0),
    )
    with pytest.raises(ParameterError, match="score-first, extract"):
        import_logs([path], "lm-eval")
    assert "kept fewer answers" in import_logs([path], "lm-eval", filter_name="score-first").notes[0]
    kept = import_logs([path], "lm-eval", filter_name="extract")
    assert [(r["agent"], r["answer"], r["correct"]) for r in kept.rows] == [(0, "42", 1), (1, "41", 0)]
    assert kept.notes == []


def test_different_questions_under_one_name_are_refused(write):
    other = lm_sample(0, ["1"], exact_match=0.0) | {"doc_hash": "another"}
    paths = [write("a.jsonl", lm_sample(0, ["42"], exact_match=1.0)), write("b.jsonl", other)]
    with pytest.raises(FileFormatError, match="another one"):
        import_logs(paths, "lm-eval")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"samples": 3}',
        b'{"samples": [{}]}',
        b'{"samples": []}',
        b'{"samples": [{"id": 1, "scores": {"m": {"value": "Z"}}}]}',
        b'{"samples": [{"id": 1, "scores": {"m": {"value": NaN}}}]}',
        b'{"samples": [{"id": 1, "epoch": -5, "scores": {"m": {"value": "C"}}}]}',
        b'{"doc_id": 0, "doc": {}, "filtered_resps": []}',
        b'{"doc_id": 0, "doc": {}, "filtered_resps": [[]], "metrics": ["acc"], "acc": 1}',
        b'{"doc_id": 0, "doc": {}, "filtered_resps": ["a"], "metrics": ["acc"], "acc": 7}',
        b"PK\x03\x04 broken",
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
@pytest.mark.parametrize("kind", ["inspect", "lm-eval"])
def test_what_is_no_log_is_refused_in_words(tmp_path, content, kind):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises((FileFormatError, ParameterError)):
        import_logs([path], kind)


def test_plain_logs_are_not_taken_for_a_harness(write, tmp_path):
    assert format_of(write("own.jsonl", {"question_id": 1, "round": 0})) is None
    assert format_of(write("log.json", inspect_log(sample(1, 1)))) == "inspect"
    assert format_of(write("s.jsonl", lm_sample(0, ["42"], exact_match=1.0))) == "lm-eval"
    assert format_of(tmp_path / "nowhere") is None


def logged_pilot(questions=40, epochs=6):
    """Every third answer to every other question is wrong; so is every answer to each fifth."""
    for question in range(questions):
        for epoch in range(1, epochs + 1):
            wrong = question % 5 == 0 or (question % 2 == 0 and epoch % 3 == 0)
            yield sample(question, epoch, "I" if wrong else "C", f"{question + wrong * (1 + epoch % 2)}")


def test_calibrate_reads_an_inspect_log_as_it_is_and_through_import(cli, write, tmp_path):
    path, pilot = write("log.json", inspect_log(*logged_pilot())), tmp_path / "pilot.csv"
    done = cli("import", "inspect", path, "--out", pilot)
    assert done.exit_code == 0, done.stderr
    assert "240 answers to 40 questions" in done.stdout
    assert len(list(csv.DictReader(pilot.read_text().splitlines()))) == 240
    laws = []
    for source in (path, pilot):
        report = cli("calibrate", source, "--draws", "0", "--json")
        assert report.exit_code == 0, report.stderr
        laws.append(json.loads(report.stdout)["population"] | {"name": "", "source": ""})
    assert laws[0] == laws[1]
