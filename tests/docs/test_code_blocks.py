"""Each code block of the README and of the documentation runs."""

import csv
import json
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from codeblocks import blocks_of_markdown, blocks_of_rst, commands_of
from judgelog import write_judge_log

from adjourn.experiments.logs import JudgeLog, ReasoningLog, read_log
from adjourn.experiments.protocol_files import read_protocol_file
from adjourn.model import load_prices

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [ROOT / "README.md", *sorted(path for path in (ROOT / "notebooks" / "docs").glob("*.rst") if path.name != "presets.rst")]
QUESTIONS = 40


def blocks_of(path):
    text = path.read_text(encoding="utf-8")
    return blocks_of_markdown(text) if path.suffix == ".md" else blocks_of_rst(text)


BLOCKS = [(path.name, block) for path in SOURCES for block in blocks_of(path)]
COMMANDS = [
    pytest.param(command, id=f"{name}: {command}")
    for name, block in BLOCKS
    if block.language in ("", "console")
    for command in commands_of(block)
]


def of_language(*languages):
    return [pytest.param(block, id=f"{name}-{number}") for number, (name, block) in enumerate(BLOCKS) if block.language in languages]


def inspect_sample(row):
    score = {"value": "C" if row["correct"] == "1" else "I", "answer": row["answer"]}
    return {"id": row["question_id"], "epoch": int(row["agent"]) + 1, "input": row["question_id"], "scores": {"match": score}}


def lm_eval_sample(row):
    return {
        "doc_id": row["question_id"],
        "doc": {},
        "target": "",
        "filter": "none",
        "resps": [[row["answer"]]],
        "filtered_resps": [row["answer"]],
        "metrics": ["exact_match"],
        "exact_match": float(row["correct"]),
    }


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """A folder with the files that the blocks speak of; commands of one page may build on each other."""
    folder = tmp_path_factory.mktemp("reader")
    lines = (ROOT / "experiments" / "demo" / "synthetic-pilot.csv").read_text().splitlines()
    names = list(dict.fromkeys(line.split(",")[0] for line in lines))[: QUESTIONS + 1]
    kept = [line.replace(",example", ",my-model") for line in lines if line.split(",")[0] in names]
    (folder / "my-pilot.csv").write_text("\n".join(kept) + "\n")
    rows = [row for row in csv.DictReader(kept) if row["round"] == "0"]
    log = {"version": 2, "status": "success", "eval": {"model": "m"}, "samples": [inspect_sample(row) for row in rows]}
    (folder / "inspect-log.json").write_text(json.dumps(log))
    for agent in ("0", "1"):
        mine = [lm_eval_sample(row) for row in rows if row["agent"] == agent]
        (folder / f"samples-{int(agent) + 1}.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in mine))
    (toml,) = [block.text for name, block in BLOCKS if name == "README.md" and block.language == "toml"]
    (folder / "my-prices.toml").write_text(toml)
    (protocol,) = [block.text for _, block in BLOCKS if block.caption == "seven.toml"]
    (folder / "seven.toml").write_text(protocol)
    write_judge_log(folder / "judges.csv", {"ann": 0.5, "bob": 0.7}, items=QUESTIONS)
    return folder


def run_python(*words, cwd):
    return subprocess.run([sys.executable, *words], cwd=cwd, capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("command", COMMANDS)
def test_command_runs(root, workplace, cli, command):
    words = shlex.split(command)
    if words[0] == "make":
        assert f"\n{words[1]}:" in (root / "Makefile").read_text()
        return
    if "experiments/demo/synthetic-pilot.csv" in words:
        done = run_python(root / "notebooks" / "readme.py", "--check", cwd=root)
        assert done.returncode == 0, done.stdout + done.stderr
        return
    assert words[0] == "adjourn"
    if ("calibrate" in words and "--out" in words) or "plan" in words:
        words += ["--draws", "20"] if "--draws" not in words else []
    result = cli(*words[1:], cwd=workplace)
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize("page", sorted({name for name, block in BLOCKS if block.language == "python"}))
def test_python_runs(workplace, page):
    code = "\n".join(block.text for name, block in BLOCKS if name == page and block.language == "python")
    done = run_python("-W", "error", "-c", code, cwd=workplace)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", of_language("toml"))
def test_toml_is_a_protocol_or_a_price_list(tmp_path, block):
    path = tmp_path / "file.toml"
    path.write_text(block.text)
    if "models" not in tomllib.loads(block.text):
        assert read_protocol_file(str(path)).name == "file"
        return
    assert list(load_prices(path).prices) == list(tomllib.loads(block.text)["models"])


@pytest.mark.parametrize("block", of_language("text"))
def test_log_is_read(tmp_path, block):
    path = tmp_path / block.caption
    path.write_text(block.text)
    log = read_log(path)
    assert isinstance(log, JudgeLog if block.caption.startswith("judges") else ReasoningLog)
    assert len(log) >= 4
    assert not log.extra_columns


def test_no_block_is_of_a_language_that_nobody_runs():
    assert {block.language for _, block in BLOCKS} <= {"", "console", "python", "toml", "text"}


def test_example_of_a_new_rule_holds_the_exact_law_against_the_reference(workplace):
    (code,) = [block.text for name, block in BLOCKS if name == "extending.rst"]
    assert len(code.splitlines()) < 60
    done = run_python("-c", code, cwd=workplace)
    for line in done.stdout.splitlines():
        exact, low, high = (float(word.strip("[],")) for word in line.split() if word.strip("[],").replace(".", "").isdigit())
        assert low <= exact <= high, line
    assert len(done.stdout.splitlines()) == 2


def test_links_of_the_readme_lead_to_files(root):
    text = (root / "README.md").read_text(encoding="utf-8")
    targets = [part.partition(")")[0] for part in text.split("](")[1:]]
    assert targets
    assert [target for target in targets if "://" not in target and not (root / target).exists()] == []
