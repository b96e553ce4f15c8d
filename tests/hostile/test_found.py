"""Faults that hostile inputs and situations have shown, each as a small test; processes are started where a situation needs its own."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress

import pytest

from adjourn.experiments.explore import Explorer
from adjourn.model import InputError
from adjourn.vectorized import jit

MAIN = "import sys; from adjourn.experiments.cli import main; sys.argv[0] = 'adjourn'; main()"
LOG = "question_id,round,agent,answer,correct\n" + "".join(f"q{q},0,{a},{q * a},{int(a != 1)}\n" for q in range(8) for a in range(3))


def refusal(done):
    """The one error of a refused command."""
    assert done.exit_code == 2, done.stderr
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


@pytest.fixture
def start():
    """Start `adjourn ARGS` with its own streams, environment or descriptors; whatever is left at the end is killed."""
    started = []

    def run(*words, **options):
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        started.append(subprocess.Popen([sys.executable, "-c", MAIN, *map(str, words)], **streams))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(("closed", "words", "code"), [(1, ("protocols",), 0), (1, ("simulate", "cot", "--json"), 0), (2, ("nothing",), 2)])
def test_a_closed_stream_is_no_fault(start, closed, words, code):
    process = start(*words, preexec_fn=lambda: os.close(closed))
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, out + err
    assert "Traceback" not in out + err


def test_a_screen_without_the_characters_shows_their_codes(start, tmp_path):
    (tmp_path / "log.csv").write_text(LOG)
    for words in (("calibrate", tmp_path / "log.csv", "--draws", "0"), ("simulate", os.fsdecode(b"\xff"))):
        process = start(*words, env={**os.environ, "PYTHONIOENCODING": "ascii"})
        out, err = process.communicate(timeout=120)
        assert process.returncode == 2 * (words[0] == "simulate"), err
        assert (out + err).isascii()
        assert "\\x" in out + err or "\\udcff" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_while_modules_load_is_said_in_one_line(start, number, tmp_path):
    """A module that is slow to import stands in for the first second of a start."""
    (tmp_path / "typer.py").write_text("import sys, time\nsys.stderr.write('loading\\n')\nsys.stderr.flush()\ntime.sleep(60)\n")
    process = start("protocols", env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])})
    assert process.stderr.readline() == "loading\n"
    (tmp_path / "typer.py").write_text("class Abort(Exception): pass\n")
    process.send_signal(number)
    assert process.communicate(timeout=60) == ("", "error: interrupted; nothing was saved.\n")
    assert process.returncode == 3


def test_sigterm_saves_a_checkpoint_and_shows_what_was_done(start, tmp_path):
    words = ("simulate", "cot", "--samples", "1000000000000", "--threads", "1", "--checkpoint", tmp_path / "point")
    process = start(*words)
    wait_for(lambda: done_in(tmp_path / "point") > 0)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert err.splitlines()[-1].endswith("holds them.")
    assert f"{done_in(tmp_path / 'point'):,} samples" in out


def done_in(path):
    return json.loads(path.read_text())["done"] if path.exists() else 0


def wait_for(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)


def test_two_processes_do_not_share_a_checkpoint(start, cli, tmp_path):
    words = ("simulate", "cot", "--samples", "1000000000000", "--threads", "1", "--checkpoint", tmp_path / "point")
    first = start(*words)
    wait_for(lambda: done_in(tmp_path / "point") > 0)
    assert "another run is saving to this checkpoint" in refusal(cli(*words))
    assert first.poll() is None
    first.kill()
    first.wait()
    done = done_in(tmp_path / "point")
    resumed = cli("simulate", "cot", "--samples", done + 1000, "--checkpoint", tmp_path / "point", "--json")
    assert json.loads(resumed.stdout) == json.loads(cli("simulate", "cot", "--samples", done + 1000, "--json").stdout)


@pytest.mark.parametrize("name", ["x" * 300, "loop"])
def test_a_checkpoint_that_cannot_be_looked_at_is_named(cli, tmp_path, name):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert f"{name}: cannot be read" in refusal(cli("simulate", "cot", "--samples", "10", "--checkpoint", tmp_path / name))


def test_a_log_may_come_through_a_pipe(cli, tmp_path):
    pipe, plain = tmp_path / "pipe" / "log.csv", tmp_path / "file" / "log.csv"
    for path in (pipe, plain):
        path.parent.mkdir()
    plain.write_text(LOG)
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(LOG), daemon=True)
    writer.start()
    found, expected = (json.loads(cli("calibrate", path, "--draws", "0", "--json").stdout) for path in (pipe, plain))
    assert {**found, "log": None} == {**expected, "log": None}


def test_an_object_with_very_many_keys_is_refused_at_once(cli, tmp_path):
    """To look for a repeated key took quadratic time: minutes for a line of one mebibyte."""
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({f"k{i}": 1 for i in range(60_000)}) + "\n")
    assert "60,000 columns" in refusal(cli("calibrate", path))
    path.write_text(",".join(f"k{i}" for i in range(60_000)) + "\n")
    assert "60,000 columns" in refusal(cli("calibrate", path))
    path.write_text('{"question_id": 1, "round": 0, "round": 1}\n')
    assert "names 'round' twice" in refusal(cli("calibrate", path))


def test_a_field_that_is_too_long_is_called_so(cli, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(LOG.replace("q3,0,0,0", "q3,0,0," + "a" * 200_000))
    assert "longer than 131,072 characters" in refusal(cli("calibrate", path))


def inspect_log(value, answer):
    sample = {"id": 1, "epoch": 1, "input": "x", "scores": {"m": {"value": value, "answer": answer}}}
    return json.dumps({"version": 2, "status": "success", "eval": {"model": "m"}, "samples": [sample]})


def test_numbers_beyond_a_float_in_a_harness_log_are_refused(cli, tmp_path):
    path = tmp_path / "log.json"
    path.write_text(inspect_log(10**400, "x"))
    assert "not C, I, P, N" in refusal(cli("import", "inspect", path, "--out", tmp_path / "out.csv"))
    row = {"doc_id": 1, "doc": {}, "filter": "none", "filtered_resps": [[10**400, 0], [1.0, 0]], "metrics": ["acc"], "acc": 1.0}
    path.write_text(json.dumps(row) + "\n")
    assert cli("import", "lm-eval", path, "--out", tmp_path / "out.csv").exit_code in (0, 2)


def test_a_page_that_goes_away_leaves_no_traceback(capsys):
    """A browser that drags a slider drops requests before they are answered."""
    with Explorer() as server:
        for error, told in ((ConnectionResetError(), False), (BrokenPipeError(), False), (ValueError(), True)):
            with suppress(Exception):
                try:
                    raise error
                except Exception:
                    server.handle_error(None, None)
            assert ("Traceback" in capsys.readouterr().err) == told


def test_half_a_character_is_written_as_its_code(cli, tmp_path):
    (tmp_path / "log.json").write_text(inspect_log("C", "\ud83d"))
    assert cli("import", "inspect", tmp_path / "log.json", "--out", tmp_path / "out.csv").exit_code == 0
    assert "\\ud83d" in (tmp_path / "out.csv").read_text()


def test_a_grid_of_thirds_reaches_every_parameter(cli):
    """`w=0:1:4` was refused as "no number": its values are 0, 1/3, 2/3 and 1."""
    done = cli("sweep", "--protocol", "cot", "--grid", "a=1:2:4", "--grid", "b=1", "--set", "w=1/3", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["axes"][0]["values"] == ["1", "4/3", "5/3", "2"]


@pytest.mark.parametrize(
    "words",
    [
        ("tell-apart", "cot", "cot_sc", "--items", "9" * 400),
        ("sweep", "--grid", f"tau_c=0:1:{'9' * 5000}"),
        ("simulate", "cot", "--set", "w=1/0"),
        ("simulate", "cot", "--set", f"w=1/{'9' * 5000}"),
        ("simulate", "cot", "--set", f"a={'9' * 400}/7"),
    ],
)
def test_a_number_of_very_many_digits_is_out_of_range(cli, words):
    assert "is not possible" in refusal(cli(*words))


def test_a_tiny_value_of_a_grid_is_not_expanded(cli, tmp_path):
    """The exact fraction of 1e-99999999 has a hundred million digits."""
    words = ("sweep", "--protocol", "cot", "--grid", "w=1e-99999999,0.5", "--out", tmp_path / "out.csv")
    assert cli(*words).exit_code == 0
    assert ",0.0," in (tmp_path / "out.csv").read_text()


def test_a_folder_for_kernels_that_cannot_be_written_costs_one_warning():
    code = "from adjourn.vectorized.jit import cache_folder; assert cache_folder() is None"
    for name, value in (("ADJOURN_CACHE_DIR", "/dev/null"), ("XDG_CACHE_HOME", "/dev/null")):
        env = {key: v for key, v in os.environ.items() if key != "ADJOURN_CACHE_DIR"} | {name: value}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("Set ADJOURN_CACHE_DIR to a folder that can be written.") == 1


def test_a_warning_looks_like_one(cli, monkeypatch):
    def warned(*_):
        warnings.warn("no folder\x1b[2J", RuntimeWarning, stacklevel=1)
        raise InputError("no.")

    monkeypatch.setattr("adjourn.experiments.commands.simulate.find_case", warned)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert cli("simulate", "cot").stderr == "warning: no folder\\x1b[2J\nerror: no.\n"


def test_an_empty_cache_dir_is_none(monkeypatch, tmp_path):
    """It put the kernels into the current folder."""
    monkeypatch.setenv("ADJOURN_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert jit._home() == tmp_path / "adjourn"


def test_a_picture_is_written_whole_or_not_at_all(cli, tmp_path, monkeypatch):
    (tmp_path / "x.png").write_bytes(b"an older picture")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert "Choose another place with --plot" in refusal(cli("sweep", "--grid", "tau_c=0.5,1", "--plot", tmp_path / "x.png"))
    assert os.listdir(tmp_path) == ["x.png"]
    assert (tmp_path / "x.png").read_bytes() == b"an older picture"


@pytest.mark.parametrize("text", ["[" * 100_000, '{"kind": ' + "9" * 5000 + "}"])
def test_a_result_that_python_cannot_decode_is_refused(cli, tmp_path, text):
    (tmp_path / "result.json").write_text(text)
    assert "no result" in refusal(cli("report", tmp_path / "result.json", "--out", tmp_path / "page.html"))


@pytest.mark.parametrize("name", ["full", "x.xyz", "nowhere/x.png"])
def test_a_picture_that_cannot_be_is_refused_before_the_work(cli, tmp_path, monkeypatch, name):
    """`--plot /dev/full` wrote /dev/full.png."""
    monkeypatch.setattr("adjourn.experiments.commands.sweep.find_case", lambda *_: pytest.fail("work began"), raising=False)
    assert "--plot" in refusal(cli("sweep", "--grid", "tau_c=0.5,1", "--plot", tmp_path / name))
    assert os.listdir(tmp_path) == []
