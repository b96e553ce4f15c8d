"""The compiled engine against NumPy, the reference engine and the floor of its own random numbers. Run by `make bench`.

Times are the best of many short rounds, in processor time where there is one thread: other work on the machine can only add to them.
Ratios are what counts; the two bars (8 times NumPy on two threads, 1.6 times the floor on one) are asserted at the end.
"""

import os
import subprocess
import sys
import time
from collections import Counter

import numba
import numpy as np
import pytest
from floors import in_c, lanes, looking
from numpy_uaad import NumpyUaad, TunedUaad
from report import processor

import adjourn.model.difficulty as difficulty_module
import adjourn.model.reference as reference_module
from adjourn.model import load_population, load_protocol, protocol_names
from adjourn.model.exact import simulate as exact_simulate
from adjourn.vectorized import simulate
from adjourn.vectorized.run import Job
from adjourn.vectorized.tile import TILE
from adjourn.vectorized.variance import estimate_accuracy

pytestmark = pytest.mark.benchmark(timer=time.process_time)
WALL = pytest.mark.benchmark(timer=time.perf_counter)

UAAD = load_protocol("uaad")
GSM8K = load_population("gsm8k-gpt35")
QUESTIONS = 2**17
BLOCKS = 2**19


@pytest.fixture
def nanoseconds(benchmark):
    """Best time of a call, in ns for each of ``number`` things."""

    def measure(call, number, rounds=40):
        benchmark.pedantic(call, rounds=rounds, iterations=1, warmup_rounds=1)
        return 1e9 * benchmark.stats.stats.min / number

    return measure


# --- floors -------------------------------------------------------------------------------------------------------------


def test_floor_looking(nanoseconds, figures):
    k0, k1, below = np.uint32(5), np.uint32(7), np.uint32(2**31)
    figures["looking"] = nanoseconds(lambda: looking(BLOCKS, k0, k1, below), 4 * BLOCKS)


def test_floor_lanes(nanoseconds, figures):
    words = np.zeros(4 * TILE, dtype=np.uint32)
    figures["lanes"] = nanoseconds(lambda: lanes(words, BLOCKS, np.uint32(5), np.uint32(7)), 4 * BLOCKS)


@pytest.mark.parametrize("flags", [["-O3"], ["-O3", "-march=native"]], ids=" ".join)
def test_floor_c(nanoseconds, figures, tmp_path, flags):
    count = in_c(flags, tmp_path)
    if count is None:
        pytest.skip("no C compiler")
    assert count(BLOCKS, 2**31) == looking(BLOCKS, np.uint32(5), np.uint32(7), np.uint32(2**31))
    figures["C " + " ".join(flags)] = nanoseconds(lambda: count(BLOCKS, 2**31), 4 * BLOCKS)


# --- engines ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", protocol_names())
def test_one_thread(nanoseconds, figures, name):
    job = Job.of(load_protocol(name), GSM8K, 1)
    room = job.room()
    figures[name] = nanoseconds(lambda: job.count(0, QUESTIONS, room), QUESTIONS)


def two_threads(samples=2**21):
    return simulate(UAAD, GSM8K, samples=samples, threads=2, chunk=2**16)


@WALL
def test_uaad_two_threads(nanoseconds, figures):
    figures["uaad, 2 threads"] = nanoseconds(two_threads, 2**21, rounds=60)


def test_uaad_two_threads_processor_time(nanoseconds, figures):
    figures["uaad, both threads"] = nanoseconds(two_threads, 2**21, rounds=20)


@pytest.mark.parametrize("engine", [NumpyUaad, TunedUaad])
def test_numpy(nanoseconds, figures, engine):
    uaad = engine(UAAD, GSM8K)
    accuracy, calls = uaad.accuracy_and_calls(10**6, 3)
    known = exact_simulate(UAAD, GSM8K)
    assert accuracy == pytest.approx(known.accuracy.mean, abs=5 * 0.38e-3)
    assert calls == pytest.approx(known.calls.mean, abs=5 * 0.8e-3)
    figures[engine.__name__] = nanoseconds(lambda: uaad.accuracy_and_calls(QUESTIONS, 3), QUESTIONS, rounds=20)


def test_reference(nanoseconds, figures):
    call = lambda: list(reference_module.trajectories(UAAD, GSM8K, range(2000), 1))  # noqa: E731
    figures["reference"] = nanoseconds(call, 2000, rounds=5)


# --- tables -------------------------------------------------------------------------------------------------------------


def numbers_read(name, questions=4000):
    """Random numbers that a question needs, counted in the reference engine, which reads none without need."""
    read = Counter()
    drawn = reference_module.uniform

    def counting(*arguments):
        read["all"] += 1
        return drawn(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference_module, "uniform", counting)
        patch.setattr(difficulty_module, "uniform", counting)
        list(reference_module.trajectories(load_protocol(name), GSM8K, range(questions), 1))
    return read["all"] / questions


FLOORS = {
    "looking": "numba, each block looked at before the next",
    "lanes": "numba, eight blocks at a time, nothing looked at",
    "C -O3": "C, -O3",
    "C -O3 -march=native": "C, -O3 -march=native",
}
PEERS = {
    "NumpyUaad": "NumPy (Beta variates)",
    "TunedUaad": "NumPy (16-bit tables)",
    "reference": "reference engine, plain Python",
}


def test_table_of_floors(figures, benchmark):
    numbers = benchmark.pedantic(lambda: numbers_read("uaad"), rounds=1)
    rows = []
    for key in FLOORS:
        if key in figures:
            floor = figures[key] * numbers
            rows.append((FLOORS[key], f"{figures[key]:.2f}", f"{floor:.1f}", f"{figures['uaad'] / floor:.2f}"))
    head = ("floor", "ns a number", f"ns for the {numbers:.1f} numbers of a `uaad` question", "`uaad`, 1 thread, over it")
    figures.table("floors", head, rows)
    assert figures["uaad"] / (figures["looking"] * numbers) <= 1.6


def test_table_of_peers(figures, benchmark):
    benchmark.pedantic(lambda: None, rounds=1)
    names = {
        "uaad, 2 threads": "this engine, 2 threads",
        "uaad, both threads": "the same, processor time of both threads together",
        "uaad": "this engine, 1 thread",
        **PEERS,
    }
    two = figures["uaad, 2 threads"]
    rows = [(words, f"{figures[key]:.1f}", f"{1e3 / figures[key]:.3g}", f"{figures[key] / two:.1f}") for key, words in names.items()]
    figures.table("peers", ("`uaad` on `gsm8k-gpt35`", "ns a question", "million questions/s", "times the engine on 2 threads"), rows)
    assert figures["NumpyUaad"] / two >= 8


def test_table_of_protocols(figures, benchmark):
    numbers = benchmark.pedantic(lambda: {name: numbers_read(name) for name in protocol_names()}, rounds=1)
    rows = []
    for name, read in numbers.items():
        rows.append((f"`{name}`", f"{read:.1f}", f"{figures[name]:.1f}", f"{figures[name] / (figures['looking'] * read):.2f}"))
    figures.table("protocols", ("protocol", "random numbers a question", "ns a question, 1 thread", "over the first floor"), rows)


def test_table_of_the_machine(figures, benchmark):
    benchmark.pedantic(lambda: None, rounds=1)
    versions = f"{sys.version.split()[0]}, {np.__version__}, {numba.__version__}"
    rows = [("Python, NumPy, numba", versions), ("load average while it ran", f"{os.getloadavg()[0]:.1f}")]
    figures.table("machine", ("machine", f"{processor()}, {os.cpu_count()} cores"), rows)


def test_variance_reduction(figures, benchmark):
    """Spread of 300 runs of 4,096 questions by each method."""

    def spread(pair, method):
        runs = [estimate_accuracy(*pair, samples=4096, seed=seed, method=method, threads=1) for seed in range(300)]
        return np.var([run.accuracy.mean for run in runs])

    def gains():
        rows = []
        for protocol in ("uaad", "fixed_mad", "down"):
            for population in ("gsm8k-gpt35", "math-gpt35", "csqa-gpt35"):
                pair = load_protocol(protocol), load_population(population)
                plain = spread(pair, "plain")
                found = [f"{plain / spread(pair, method):.1f}" for method in ("strata", "sobol", "both")]
                rows.append((f"`{protocol}` on `{population}`", *found))
        return rows

    rows = benchmark.pedantic(gains, rounds=1)
    figures.table("variance", ("plain variance divided by that of", "strata", "sobol", "both"), rows)


@WALL
def test_start(figures, benchmark, tmp_path):
    """Cold compile on an empty cache, and warm starts of the command."""

    def run(samples, folder):
        code = "import sys; from adjourn.experiments.cli import main; sys.argv[0] = 'adjourn'; sys.exit(main())"
        command = [sys.executable, "-c", code, "simulate", "uaad", "--engine", "mc", "--samples", str(samples), "--json"]
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "ADJOURN_CACHE_DIR": str(folder)})
        return time.perf_counter() - start

    cold = benchmark.pedantic(lambda: run(1000, tmp_path), rounds=1)
    warm = {samples: min(run(samples, tmp_path) for _ in range(5)) for samples in (1000, 10**6)}
    rows = [
        ("first compile, empty cache, 1,000 samples", f"{cold:.1f}"),
        ("warm, 1,000 samples", f"{warm[1000]:.2f}"),
        ("warm, 1,000,000 samples", f"{warm[10**6]:.2f}"),
    ]
    figures.table("start", ("`adjourn simulate uaad --engine mc`, whole process", "s"), rows)
    assert warm[10**6] <= 2 * warm[1000] + 1
