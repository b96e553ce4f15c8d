"""Dask workers: the same bits on one, two and three, and when one of them is killed."""

import json
import os
import signal

import pytest
from interrupting import interrupt_once_saved

from adjourn.model import AdjournError, InputError, load_population, load_protocol
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


def test_local_clusters_stand_side_by_side():
    """Each takes a free port; Dask's own choice is one port for all, and the second then warns, which is an error here."""
    first = cluster.dask_local(1)
    second = cluster.dask_local(1)
    assert first.workers == second.workers == 1
    second.close()
    first.close()


@pytest.fixture
def two_workers():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=50
    ) as local:
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
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0", silence_logs=50) as empty,
        pytest.raises(InputError, match="has no workers"),
    ):
        simulate(UAAD, GSM8K, samples=10, scheduler=empty.scheduler_address)


def test_without_dask_the_extra_is_named(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(cluster.importlib, "import_module", missing)
    with pytest.raises(InputError, match=r"adjourn\[dask\]"):
        simulate(UAAD, GSM8K, samples=10, local_cluster=1)


def test_a_scheduler_that_is_lost_leaves_the_checkpoint_of_what_was_done(tmp_path):
    """Errors of Dask become the product's own, and the work is not lost."""
    path = tmp_path / "run.checkpoint"
    local = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=60)
    told = []

    def close(steps):
        told.append(steps)
        if len(told) == 4:
            local.close()

    with pytest.raises(AdjournError, match="lost the Dask scheduler"):
        simulate(UAAD, GSM8K, samples=10**9, seed=2, scheduler=local.scheduler_address, chunk=10_000, progress=close, checkpoint=path)
    done = json.loads(path.read_text())["done"]
    assert done >= 40_000
    resumed = simulate(UAAD, GSM8K, samples=done + 5000, seed=2, checkpoint=path)
    assert resumed.to_json() == simulate(UAAD, GSM8K, samples=done + 5000, seed=2).to_json()


def test_control_c_in_a_terminal_reaches_only_the_command_and_not_its_workers(tmp_path):
    """A terminal sends it to the whole process group; workers must not answer with tracebacks of their own."""
    words = ["simulate", "uaad", "--samples", str(10**12), "--local-cluster", "1", "--json"]
    code, out, err = interrupt_once_saved(words, tmp_path / "run.checkpoint", group=True)
    assert code == 3, err
    assert json.loads(out)["samples"] > 0
    assert "Traceback" not in err
    assert err.strip().splitlines()[-1].startswith("error: interrupted after")
