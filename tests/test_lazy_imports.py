"""What is slow to import is imported by what needs it, so that a room, or a page of help, comes at once."""

import subprocess
import sys

import pytest

HEAVY = ("dask", "distributed", "httpx2", "matplotlib", "numba", "pyarrow", "scipy.signal", "scipy.stats", "sympy")
NEEDED = {"adjourn.theory": {"scipy.stats", "sympy"}}


def heavy_modules_after(code: str) -> set[str]:
    show = f"import sys; sys.stderr.write(' '.join(m for m in {HEAVY!r} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{show}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.mark.parametrize("room", ["adjourn.model", "adjourn.theory", "adjourn.vectorized", "adjourn.experiments", "adjourn.live"])
def test_a_room_imports_only_what_it_lives_on(room):
    assert heavy_modules_after(f"import {room}") <= NEEDED.get(room, set())


def test_help_imports_nothing_heavy():
    code = "import sys; sys.argv = ['adjourn', '--help']\nfrom adjourn.experiments.cli import main\ntry: main()\nexcept SystemExit: pass"
    assert heavy_modules_after(code) == set()


def test_the_watch_sees_a_heavy_module():
    assert "scipy.stats" in heavy_modules_after("import scipy.stats")
