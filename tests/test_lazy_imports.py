"""What is slow to import is imported by what needs it, so that a room, or a page of help, comes at once."""

import subprocess
import sys

import pytest

ROOMS = ("model", "theory", "vectorized", "experiments", "live")
HEAVY = {
    *("dask", "distributed", "genai_prices", "httpx2", "hypothesis", "llvmlite", "matplotlib", "numba", "onnxruntime", "pandas"),
    *("pyarrow", "scipy.signal", "scipy.stats", "sympy", "tokenizers"),
}
TERMINAL = {"rich", "typer"}  # quick to import; every command writes with them, the model with neither
NEEDED = {"theory": {"scipy.stats", "sympy"}}

HELP = "import sys; sys.argv = ['adjourn', '--help']\nfrom adjourn.experiments.cli import main\ntry: main()\nexcept SystemExit: pass"
MODEL = "import adjourn.model, adjourn.model.exact, adjourn.model.reference, adjourn.model.settings"
EXACT_LAW = """
from adjourn.model import load_population, load_protocol
from adjourn.model.exact import simulate
simulate(load_protocol("oracle_router"), load_population("math-gpt35"))
"""


def modules_after(code: str) -> set[str]:
    """Names of all modules that a new process holds after running the code."""
    show = "import sys; sys.stderr.write(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{show}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_it_lives_on(room):
    assert modules_after(f"import adjourn.{room}") & HEAVY <= NEEDED.get(room, set())


@pytest.mark.parametrize("code", ["import adjourn", "import adjourn.experiments.cli", HELP], ids=["adjourn", "cli", "help"])
def test_the_name_and_help_import_nothing_heavy(code):
    assert modules_after(code) & HEAVY == set()


@pytest.mark.parametrize("code", [MODEL, EXACT_LAW], ids=["model", "exact law"])
def test_the_model_stays_by_itself(code):
    others = {f"adjourn.{room}" for room in ROOMS if room != "model"}
    assert modules_after(code) & (HEAVY | TERMINAL | others) == set()


def test_the_watch_sees_a_heavy_module():
    assert "scipy.stats" in modules_after("import scipy.stats")
