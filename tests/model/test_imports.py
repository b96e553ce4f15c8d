"""What importing the model costs: numpy and scipy's special functions, nothing heavy."""

import subprocess
import sys

import pytest

HEAVY = ["numba", "llvmlite", "sympy", "matplotlib", "typer", "rich", "dask", "distributed", "pyarrow", "httpx2", "pandas", "scipy.stats"]
ROOMS = ["adjourn.theory", "adjourn.vectorized", "adjourn.experiments", "adjourn.live"]


def loaded(code):
    done = subprocess.run([sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def modules():
    return loaded("import adjourn.model, adjourn.model.exact, adjourn.model.reference, adjourn.model.settings")


@pytest.mark.parametrize("package", [*HEAVY, *ROOMS])
def test_importing_the_model_leaves_out(modules, package):
    assert package not in modules


def test_simulating_by_the_exact_law_leaves_the_heavy_packages_out():
    code = "from adjourn.model import *; from adjourn.model.exact import simulate;"
    code += "simulate(load_protocol('oracle_router'), load_population('math-gpt35'))"
    assert not loaded(code) & set(HEAVY)


def test_the_command_line_loads_the_compiled_engine_only_when_it_is_asked_for():
    assert not loaded("import adjourn.experiments.cli") & {"numba", "sympy", "matplotlib", "dask"}
