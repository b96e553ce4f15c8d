"""Dask workers: the same bits on one, two and three, and when one of them is killed."""

import os
import signal

import pytest

from adjourn.model import InputError, load_population, load_protocol
from adjourn.vectorized import cluster, simulate

distributed = pytest.importorskip("distributed")

UAAD = load_protocol("uaad")
GSM8K = load_population("gsm8k-gpt35")
SAMPLES = 300_007


@pytest.fixture(scope="module")
def expected():
    return simulate(UAAD, GSM8K, samples=SAMPLES, seed=2, threads=1).to_json()


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_local_cluster_does_not_change_a_bit(expected, workers):
    assert simulate(UAAD, GSM8K, samples=SAMPLES, seed=2, local_cluster=workers).to_json() == expected


@pytest.fixture
def two_workers():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50) as local:
        yield local


def test_a_worker_killed_in_mid_run_changes_nothing(expected, two_workers):
    victims = []

    def kill_one(_):
        if not victims:
            victims.append(next(iter(two_workers.workers.values())).process.pid)
            os.kill(victims[0], signal.SIGKILL)

    result = simulate(UAAD, GSM8K, samples=SAMPLES, seed=2, scheduler=two_workers.scheduler_address, chunk=10_000, progress=kill_one)
    assert victims
    assert result.to_json() == expected


def test_a_scheduler_that_does_not_answer_is_refused(monkeypatch):
    monkeypatch.setattr(cluster, "_PATIENCE", "1s")
    with pytest.raises(InputError, match=r"no Dask scheduler at tcp://127\.0\.0\.1:9"):
        simulate(UAAD, GSM8K, samples=10, scheduler="tcp://127.0.0.1:9")


def test_a_scheduler_without_workers_is_refused():
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None, silence_logs=50) as empty,
        pytest.raises(InputError, match="has no workers"),
    ):
        simulate(UAAD, GSM8K, samples=10, scheduler=empty.scheduler_address)


def test_without_dask_the_extra_is_named(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(cluster.importlib, "import_module", missing)
    with pytest.raises(InputError, match=r"adjourn\[dask\]"):
        simulate(UAAD, GSM8K, samples=10, local_cluster=1)
