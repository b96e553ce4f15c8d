"""The same bits for every way to run; precision, progress, Ctrl-C."""

import itertools
import json
import multiprocessing
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from interrupting import interrupt_once_saved

from adjourn.model import InterruptedRunError, ParameterError, load_population, load_protocol
from adjourn.vectorized import driver, simulate
from adjourn.vectorized.driver import next_look
from adjourn.vectorized.run import Job

UAAD = load_protocol("uaad")
GSM8K = load_population("gsm8k-gpt35")
SAMPLES = 100_003


@pytest.fixture(scope="module")
def expected():
    return simulate(UAAD, GSM8K, samples=SAMPLES, seed=9, threads=1)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_change_a_bit(expected, threads):
    assert simulate(UAAD, GSM8K, samples=SAMPLES, seed=9, threads=threads).to_json() == expected.to_json()


@pytest.mark.parametrize("chunk", [1000, 8192, 65_536])
def test_chunks_do_not_change_a_bit(expected, chunk):
    assert simulate(UAAD, GSM8K, samples=SAMPLES, seed=9, threads=2, chunk=chunk).to_json() == expected.to_json()


def test_ranges_may_run_in_any_order_and_size():
    job = Job.of(UAAD, GSM8K, 9)
    cuts = sorted(random.Random(3).sample(range(1, SAMPLES), 40))
    ranges = list(zip([0, *cuts], [*cuts, SAMPLES], strict=True))
    random.Random(4).shuffle(ranges)
    total = sum(job.count(lo, hi) for lo, hi in ranges)
    assert (total == job.count(0, SAMPLES)).all()
    assert total.sum() == SAMPLES


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_forked_and_spawned_workers_do_not_change_a_bit(expected, method):
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert simulate(UAAD, GSM8K, samples=SAMPLES, seed=9, pool=pool, chunk=30_000).to_json() == expected.to_json()


def test_anything_with_a_map_will_do(expected):
    class Backwards:
        """Runs the last piece first, but keeps the order of the results."""

        def map(self, function, pieces):
            return list(reversed([function(piece) for piece in reversed(pieces)]))

    with ThreadPoolExecutor(2) as executor:
        for pool in (executor, Backwards()):
            assert simulate(UAAD, GSM8K, samples=SAMPLES, seed=9, pool=pool, chunk=9999).to_json() == expected.to_json()


def test_another_seed_gives_other_counts(expected):
    """The control of the equalities above."""
    assert simulate(UAAD, GSM8K, samples=SAMPLES, seed=10, threads=1).means != expected.means


def test_concurrent_launches_from_threads_of_the_caller_are_safe(expected):
    with ThreadPoolExecutor(4) as executor:
        runs = [executor.submit(simulate, UAAD, GSM8K, samples=SAMPLES, seed=9, threads=2) for _ in range(4)]
        assert all(run.result().to_json() == expected.to_json() for run in runs)


# --- precision ----------------------------------------------------------------------------------------------------------


def test_precision_is_reached_at_the_first_look_that_finds_it():
    result = simulate(UAAD, GSM8K, precision=0.003, threads=2)
    assert result.accuracy.half_width <= 0.003
    assert next_look(result.samples - 1) == result.samples
    before = max(n for n in looks(result.samples) if n < result.samples)
    assert simulate(UAAD, GSM8K, samples=before).accuracy.half_width > 0.003


@pytest.mark.parametrize("options", [{"threads": 1}, {"threads": 2, "chunk": 1000}, {"chunk": 65_536}])
def test_precision_needs_the_same_samples_however_it_runs(options):
    result = simulate(UAAD, GSM8K, precision=0.004, seed=1, **options)
    assert result.to_json() == simulate(UAAD, GSM8K, precision=0.004, seed=1, threads=3, chunk=777).to_json()


def test_precision_that_is_not_reached_is_said():
    result = simulate(UAAD, GSM8K, precision=0.001, samples=20_000)
    assert result.samples == 20_000
    assert any("was not reached" in note for note in result.notes)


def looks(upto):
    found = [next_look(0)]
    while found[-1] < upto:
        found.append(next_look(found[-1]))
    return found


def test_looks_are_never_more_than_an_eighth_apart_after_the_first_ones():
    found = looks(10**9)
    assert found[:3] == [8192, 16_384, 24_576]
    assert all(8 * (b - a) <= a or b - a == 8192 for a, b in itertools.pairwise(found))


def test_intervals_cover_at_the_stated_rate_in_spite_of_repeated_looks():
    """4000 runs at p = .82: the share of intervals that cover lies within 4 standard errors (.0138) of .95."""
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(4000):
        done = right = 0
        while True:
            right += rng.binomial(next_look(done) - done, 0.82)
            done = next_look(done)
            interval = driver.share(int(right), done)
            if interval.half_width <= 0.006:
                break
        covered += interval.low <= 0.82 <= interval.high
    assert covered / 4000 == pytest.approx(0.95, abs=0.0138)


# --- progress and Ctrl-C ------------------------------------------------------------------------------------------------


def test_progress_adds_up():
    told = []
    simulate(UAAD, GSM8K, samples=50_000, chunk=7000, progress=told.append)
    assert sum(told) == 50_000
    assert max(told) <= 7000


def interrupt_after(questions):
    done = 0

    def progress(steps):
        nonlocal done
        done += steps
        if done >= questions:
            raise KeyboardInterrupt

    return progress


def test_an_interrupt_leaves_the_result_of_a_prefix():
    with pytest.raises(InterruptedRunError) as caught:
        simulate(UAAD, GSM8K, samples=10**9, seed=9, chunk=1000, progress=interrupt_after(20_000))
    partial = caught.value.partial
    assert partial.samples == 20_000
    assert partial.means == simulate(UAAD, GSM8K, samples=20_000, seed=9).means
    assert any("interrupted after 20,000" in note for note in partial.notes)
    assert caught.value.exit_code == 3


def test_control_c_on_the_command_line_shows_the_partial_result_and_ends_with_3(tmp_path):
    words = ["simulate", "uaad", "--engine", "mc", "--samples", str(10**12), "--json"]
    code, out, err = interrupt_once_saved(words, tmp_path / "run.checkpoint")
    assert code == 3, err
    data = json.loads(out)
    assert 0 < data["samples"] < 10**12
    low, high = data["accuracy"]["ci95"]
    assert low < data["accuracy"]["mean"] < high
    assert "interrupted after" in err
    assert "Traceback" not in err


# --- memory and edges ---------------------------------------------------------------------------------------------------


def test_memory_does_not_grow_with_samples():
    """Peak memory of 10**8 samples against 10**6, each in a process of its own that finds the kernel in the cache."""
    simulate(UAAD, GSM8K, samples=1)
    assert peak(10**8) <= 1.05 * peak(10**6)


def peak(samples):
    code = f"""
import resource
from adjourn.model import load_population, load_protocol
from adjourn.vectorized import simulate
simulate(load_protocol("cot_sc"), load_population("gsm8k-gpt35"), samples={samples}, threads=2)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"samples": 0}, "samples"),
        ({"samples": 1.5}, "samples"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**64}, "seed"),
        ({"precision": 0}, "precision"),
        ({"precision": 0.7}, "precision"),
        ({"threads": 0}, "threads"),
        ({"local_cluster": 0}, "local_cluster"),
        ({"chunk": 0}, "chunk"),
        ({"threads": 1, "local_cluster": 2}, "local_cluster"),
        ({"scheduler": "tcp://127.0.0.1:1", "pool": object()}, "pool"),
    ],
)
def test_an_impossible_option_is_refused_by_name(options, field):
    with pytest.raises(ParameterError, match=f"^{field} = "):
        simulate(UAAD, GSM8K, **options)


@pytest.mark.parametrize("samples", [1, 2, 255, 256, 257])
def test_counts_sum_to_the_samples_at_the_edges_of_a_tile(samples):
    assert Job.of(UAAD, GSM8K, 0).count(5, 5 + samples).sum() == samples


def test_importing_the_engine_imports_no_compiler():
    code = "import sys, adjourn.vectorized; print([m for m in ('numba', 'distributed', 'sympy', 'matplotlib') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_importing_the_model_imports_no_heavy_package():
    code = "import sys, adjourn.model; print([m for m in ('numba', 'sympy', 'matplotlib', 'typer', 'rich') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
