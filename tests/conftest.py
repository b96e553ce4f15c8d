"""Fixtures and Hypothesis profiles for all tests."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

# Derandomised: a test that fails once fails always, on every machine. The nightly profile looks for new examples.
settings.register_profile("default", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("nightly", deadline=None, print_blob=True, max_examples=2000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# A shell without job control starts its background jobs deaf to Ctrl-C, and their children inherit that; tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class CliResult(NamedTuple):
    """What a run of the console script left behind."""

    exit_code: int
    stdout: str
    stderr: str


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's root."""
    return ROOT


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of published logs that is kept beside the project; the test is skipped where it is absent."""
    folder = Path(os.environ.get("ADJOURN_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no folder of published logs at {folder}; set ADJOURN_SHARED to its place")
    return folder


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., CliResult]:
    """Run `adjourn ARGS`: in this process, or with `fresh=True` in a new one (signals, what an import prints)."""

    def run(*args: object, fresh: bool = False, cwd: Path | None = None, timeout: float = 300) -> CliResult:
        words = [str(arg) for arg in args]
        if fresh:
            code = "import sys; from adjourn.experiments.cli import main; sys.argv[0] = 'adjourn'; sys.exit(main())"
            done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=cwd, timeout=timeout)
            return CliResult(done.returncode, done.stdout, done.stderr)

        from adjourn.experiments.cli import main

        capfd.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["adjourn", *words])
            if cwd is not None:
                patch.chdir(cwd)
            try:
                status = main()
            except SystemExit as stop:
                status = stop.code
        out, err = capfd.readouterr()
        if isinstance(status, str):  # sys.exit("message") prints it and ends with 1
            return CliResult(1, out, err + status + "\n")
        return CliResult(int(status or 0), out, err)

    return run
