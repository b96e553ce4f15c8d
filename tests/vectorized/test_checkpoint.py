"""Checkpoints survive kill -9 and resume to the same bits; damaged and foreign ones are refused by name."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from adjourn.model import FileFormatError, InputError, InterruptedRunError, ParameterError, load_population, load_protocol
from adjourn.vectorized import driver, simulate
from adjourn.vectorized.checkpoint import Checkpoint
from adjourn.vectorized.run import Job

UAAD = load_protocol("uaad")
GSM8K = load_population("gsm8k-gpt35")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


@pytest.fixture
def saved(path):
    simulate(UAAD, GSM8K, samples=5000, seed=3, checkpoint=path)
    return path


def test_resuming_gives_the_bits_of_one_run(saved):
    assert (
        simulate(UAAD, GSM8K, samples=12_345, seed=3, checkpoint=saved).to_json() == simulate(UAAD, GSM8K, samples=12_345, seed=3).to_json()
    )


def test_a_finished_run_is_read_back_without_work(saved):
    told = []
    again = simulate(UAAD, GSM8K, samples=5000, seed=3, checkpoint=saved, progress=told.append)
    assert again.to_json() == simulate(UAAD, GSM8K, samples=5000, seed=3).to_json()
    assert told == [5000]


def test_an_interrupted_run_resumes(path):
    def stop(steps):
        raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError, match=r"run\.checkpoint holds them"):
        simulate(UAAD, GSM8K, samples=9000, seed=3, chunk=1000, checkpoint=path, progress=stop)
    assert json.loads(path.read_text())["done"] == 1000
    assert simulate(UAAD, GSM8K, samples=9000, seed=3, checkpoint=path).means == simulate(UAAD, GSM8K, samples=9000, seed=3).means


def test_precision_resumes_to_the_same_number_of_samples(path):
    simulate(UAAD, GSM8K, samples=11_000, seed=3, checkpoint=path)
    resumed = simulate(UAAD, GSM8K, precision=0.004, seed=3, checkpoint=path)
    assert resumed.to_json() == simulate(UAAD, GSM8K, precision=0.004, seed=3).to_json()


def test_kill_9_at_any_moment_resumes_to_the_same_bits(path):
    """Three processes in a row are killed while they save all the time; a fourth run ends the work."""
    code = f"""
from adjourn.model import load_population, load_protocol
from adjourn.vectorized import driver, simulate
driver._SAVE_SECONDS = 0.0
simulate(load_protocol("uaad"), load_population("gsm8k-gpt35"), samples=10**12, seed=3, chunk=500, checkpoint={str(path)!r})
"""
    Job.of(UAAD, GSM8K, 3).count(0, 1)  # the kernel is in the cache from here on
    done = 0
    for pause in (0.05, 0.11, 0.23):
        with subprocess.Popen([sys.executable, "-c", code]) as process:
            deadline = time.monotonic() + 60
            while done_in(path) <= done and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(pause)
            process.send_signal(signal.SIGKILL)
        assert done_in(path) > done
        done = done_in(path)
    total = done + 3000
    assert simulate(UAAD, GSM8K, samples=total, seed=3, checkpoint=path).to_json() == simulate(UAAD, GSM8K, samples=total, seed=3).to_json()


def done_in(path):
    return json.loads(path.read_text())["done"] if path.exists() else 0


def test_a_write_that_fails_half_way_leaves_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()

    def broken(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", broken)
    with pytest.raises(InputError, match="No space left"):
        simulate(UAAD, GSM8K, samples=6000, seed=3, checkpoint=saved)
    assert saved.read_bytes() == before


DAMAGES = {
    "cut": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "one count changed": lambda data: data.replace(b'"done": 5000', b'"done": 5001'),
    "a byte flipped": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "no text": lambda data: b"\xff\xfe\x00" + data,
    "other JSON": lambda data: b'{"accuracy": 0.8}',
    "a list": lambda data: b"[1, 2, 3]",
    "a deep nest": lambda data: b"[" * 100_000,
    "another format": lambda data: data.replace(b"adjourn checkpoint 1", b"adjourn checkpoint 9"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_checkpoint_is_refused_by_name_and_left_alone(saved, damage):
    saved.write_bytes(damage(saved.read_bytes()))
    before = saved.read_bytes()
    with pytest.raises(FileFormatError, match=r"run\.checkpoint: .*(damaged|checksum)"):
        simulate(UAAD, GSM8K, samples=9000, seed=3, checkpoint=saved)
    assert saved.read_bytes() == before


@pytest.mark.parametrize(
    ("protocol", "population", "seed"),
    [("uaad", "gsm8k-gpt35", 4), ("uaad_no_stop", "gsm8k-gpt35", 3), ("uaad", "math-gpt35", 3)],
)
def test_a_checkpoint_of_another_run_is_refused_by_name(saved, protocol, population, seed):
    before = saved.read_bytes()
    with pytest.raises(FileFormatError, match=r"run\.checkpoint: .*another run \(protocol uaad, population gsm8k-gpt35, seed 3\)"):
        simulate(load_protocol(protocol), load_population(population), samples=9000, seed=seed, checkpoint=saved)
    assert saved.read_bytes() == before


def test_fewer_samples_than_it_holds_are_refused(saved):
    with pytest.raises(ParameterError, match="at least 5000"):
        simulate(UAAD, GSM8K, samples=4999, seed=3, checkpoint=saved)


@pytest.mark.parametrize("place", ["missing/run.checkpoint", "."])
def test_a_place_that_cannot_be_written_is_refused_before_the_work(tmp_path, place, monkeypatch):
    monkeypatch.setattr(driver.Run, "_work", lambda *_, **__: pytest.fail("work began"))
    with pytest.raises(InputError, match="cannot"):
        simulate(UAAD, GSM8K, samples=100, checkpoint=tmp_path / place)


def test_the_fingerprint_holds_every_number_that_counts_depend_on():
    job = Job.of(UAAD, GSM8K, 3)
    encoding = job.encoding
    assert Job.of(UAAD, GSM8K, 3).fingerprint() == job.fingerprint()
    for name, value in zip(encoding._fields, encoding, strict=True):
        other = Job(encoding._replace(**{name: value + 1}), 3, job.size)
        assert other.fingerprint() != job.fingerprint(), name


def test_no_part_is_left_beside_a_checkpoint(saved):
    assert os.listdir(saved.parent) == ["run.checkpoint"]


def test_a_checkpoint_that_is_not_there_starts_from_nothing(path):
    counts, done = Checkpoint(path, Job.of(UAAD, GSM8K, 0)).load()
    assert (int(counts.sum()), done) == (0, 0)
