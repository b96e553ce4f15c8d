"""The cache of compiled kernels: used again, keyed, announced, and never a reason to crash."""

import subprocess
import sys
from pathlib import Path

import pytest

from adjourn.vectorized import jit

KERNEL_FILE = Path(jit.__file__).with_name("kernel.py")

KERNEL = """
from adjourn.vectorized.jit import entry, ready

@entry
def small(x):
    return x + 1

ready(small, 0)
print(small(41))
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a program that compiles a small kernel, in a process of its own."""
    program = tmp_path / "program.py"
    program.write_text(KERNEL)

    def start(folder=tmp_path / "cache", **environment):
        for name in ("ADJOURN_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        if folder is not None:
            monkeypatch.setenv("ADJOURN_CACHE_DIR", str(folder))
        for name, value in environment.items():
            monkeypatch.setenv(name, str(value))
        return subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=120)

    return start


def kernels(tmp_path):
    return sorted((tmp_path / "cache").rglob("*.nbc"))


def test_the_first_compile_says_what_it_does_and_the_second_start_says_nothing(run, tmp_path):
    first = run()
    assert first.stdout == "42\n"
    assert first.stderr.startswith("compiling the Monte Carlo kernel (once for this version and processor")
    assert str(tmp_path / "cache") in first.stderr
    assert kernels(tmp_path)
    second = run()
    assert (second.stdout, second.stderr) == ("42\n", "")


def test_a_damaged_cache_is_made_anew(run, tmp_path):
    run()
    for file in kernels(tmp_path):
        file.write_bytes(b"no kernel")
    after = run()
    assert after.stdout == "42\n"
    assert after.returncode == 0
    assert "compiling" in after.stderr
    assert run().stderr == ""


def test_without_a_folder_that_can_be_written_it_warns_and_runs(run, tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = run(folder=tmp_path / "file" / "cache")
    assert (done.returncode, done.stdout) == (0, "42\n")
    assert "no folder for compiled kernels" in done.stderr
    assert "ADJOURN_CACHE_DIR" in done.stderr


def test_without_a_home_it_warns_and_runs(run):
    done = run(folder=None, HOME="/proc/nowhere")
    assert (done.returncode, done.stdout) == (0, "42\n")
    assert "no folder for compiled kernels" in done.stderr


def test_numba_told_not_to_compile_is_said_to_be_the_reason(run):
    done = run(NUMBA_DISABLE_JIT="1")
    assert "InputError: NUMBA_DISABLE_JIT is set" in done.stderr


def test_the_users_cache_folder_is_the_default(run, tmp_path):
    run(folder=None, XDG_CACHE_HOME=tmp_path / "xdg")
    assert list((tmp_path / "xdg" / "adjourn" / "kernels").glob("*/*/*.nbc"))


def test_every_source_of_a_kernel_is_in_its_key():
    names = {f"{source.parent.name}/{source.name}" for source in jit.sources_of(KERNEL_FILE)}
    room = {f"vectorized/{name}.py" for name in ("debate", "gate", "jit", "kernel", "philox", "encoding", "question", "tile")}
    constants = {f"model/{name}.py" for name in ("deciding", "draws", "outcomes", "protocol", "scheduling", "stopping")}
    assert room | constants <= names
    assert "vectorized/driver.py" not in names


def test_a_changed_helper_changes_the_key(tmp_path, monkeypatch):
    for name in ("kernel", "helper", "other"):
        (tmp_path / f"{name}.py").write_text({"kernel": "from .helper import f", "helper": "def f(): pass", "other": ""}[name])
    monkeypatch.setattr(jit, "__file__", str(tmp_path / "jit.py"))

    def key():
        jit.sources_of.cache_clear()
        jit.cache_key.cache_clear()
        return jit.cache_key(tmp_path / "kernel.py")

    before = key()
    (tmp_path / "other.py").write_text("changed = 1")
    assert key() == before
    (tmp_path / "helper.py").write_text("def f(): return 1")
    assert key() != before


@pytest.mark.parametrize("what", ["numba", "processor"])
def test_another_version_or_processor_has_another_key(what, monkeypatch):
    before = jit.cache_key(KERNEL_FILE)
    jit.cache_key.cache_clear()
    if what == "numba":
        monkeypatch.setattr(jit.numba, "__version__", "0.0.1")
    else:
        monkeypatch.setattr(jit.binding, "get_host_cpu_name", lambda: "another")
    try:
        assert jit.cache_key(KERNEL_FILE) != before
    finally:
        jit.cache_key.cache_clear()


@pytest.mark.slow
def test_an_empty_cache_compiles_the_whole_engine_and_says_so(tmp_path):
    code = """
from adjourn.model import load_population, load_protocol
from adjourn.vectorized import simulate
print(simulate(load_protocol("uaad"), load_population("gsm8k-gpt35"), samples=1000).samples)
"""
    environment = {"ADJOURN_CACHE_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=600, check=True)
    assert done.stdout == "1000\n"
    assert done.stderr.startswith("compiling the Monte Carlo kernel")
