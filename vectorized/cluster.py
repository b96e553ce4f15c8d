"""Runs spread over Dask workers (the extra ``dask``): several processes of this machine, or many machines.

What runs is a pure function of (task, lo, hi), so that a worker that dies costs time and nothing else: the scheduler gives its task to
another one.
"""

from __future__ import annotations

import importlib
import logging
import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from importlib import metadata
from typing import Any

from ..model.errors import AdjournError, InputError
from .backends import Worked, in_order, work
from .run import Task

__all__ = ["Dask", "dask_local", "dask_scheduler"]

_PATIENCE = "15s"


class Dask:
    """A Dask client as a backend.

    Parameters
    ----------
    client : distributed.Client
        Connected; closed at the end.
    cluster : distributed.LocalCluster, optional
        Closed at the end too.
    """

    piece_seconds = 1.0

    def __init__(self, client: Any, cluster: Any = None) -> None:
        self._client = client
        self._cluster = cluster
        self.workers = max(1, sum(client.nthreads().values()))

    def run(self, task: Task, pieces: Iterable[tuple[int, int]]) -> Iterator[Worked]:
        """Run pieces; see :class:`.backends.Backend`."""
        distributed = _distributed()
        try:
            yield from in_order(lambda lo, hi: self._client.submit(work, task, lo, hi, pure=False), pieces, 3 * self.workers)
        except distributed.KilledWorker as error:
            lost = f"Dask gave up: the same task lost its worker again and again ({error}). Give the workers more memory."
            raise AdjournError(lost) from None
        except (OSError, TimeoutError, CancelledError, distributed.client.FutureCancelledError) as error:
            lost = f"lost the Dask scheduler ({type(error).__name__}). A run with --checkpoint goes on where its file ends."
            raise AdjournError(lost) from None

    def close(self) -> None:
        """Cancel what is still running and disconnect."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise InputError('this needs Dask; install it with: pip install "adjourn[dask]"') from None


def dask_scheduler(address: str) -> Dask:
    """Connect to a running scheduler.

    Raises
    ------
    InputError
        If Dask is not installed, or no scheduler with workers answers there.
    """
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout=_PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(f"no Dask scheduler at {address} ({type(error).__name__}). Give an address such as tcp://host:8786.") from None
    if not client.nthreads():
        client.close()
        raise InputError(f"the Dask scheduler at {address} has no workers. Start some: dask worker {address}")
    _require_same_version(client)
    return Dask(client)


def _version() -> str:
    return metadata.version("adjourn")


def _require_same_version(client: Any) -> None:
    """Refuse workers that have no Adjourn, or another one."""
    try:
        versions = client.run(_version)
    except Exception as error:
        client.close()
        raise InputError(f"a Dask worker cannot import Adjourn ({type(error).__name__}: {error}). Install it there.") from None
    others = {address: version for address, version in versions.items() if version != _version()}
    if others:
        client.close()
        raise InputError(f"Dask workers have another version of Adjourn ({others}); here it is {_version()}. Install the same everywhere.")


def _deaf(distributed: Any) -> Any:
    """Worker plugin: Ctrl-C reaches every process of a terminal; workers leave it to the one that asked for the work."""

    class Deaf(distributed.WorkerPlugin):  # type: ignore[misc]
        def setup(self, worker: Any) -> None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    return Deaf()


def dask_local(workers: int) -> Dask:
    """Start worker processes on this machine, one thread each.

    Raises
    ------
    InputError
        If Dask is not installed.
    """
    distributed = _distributed()
    # A free port of this machine alone: given no address, Dask takes port 8787 on all interfaces, and warns where it is taken.
    cluster = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL
    )
    client = distributed.Client(cluster)
    client.register_plugin(_deaf(distributed))
    return Dask(client, cluster)
