r"""Compilation: all jit options and the cache of compiled kernels, in one place.

Options, and why:

* ``nogil``: kernels run side by side in ordinary threads. numba's own thread pool is not used at all, so there is no threading layer
  that aborts on concurrent launches, and a forked process inherits no dead pool.
* ``error_model="numpy"``: no test for division by zero in the loops.
* ``fastmath`` and contraction stay off: the kernels must do the reference engine's arithmetic bit by bit.
* ``_nrt=False``: kernels allocate nothing, so arrays need no reference counts (with them the same kernel is forty times slower).
* ``forceinline`` for helpers: a plan is a tuple of some fifty numbers and arrays; inlined, it costs nothing to hand on.

Kernels are kept in a user's cache folder, under a key made of their sources, the versions of numba and Python and the processor:
another version never reads them, and a changed helper never leaves a stale kernel behind. ``ADJOURN_CACHE_DIR`` overrides the place.
Where no folder can be written, kernels are compiled in memory, with a warning; a folder that cannot be read back is emptied and made
anew.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import tempfile
import threading
import time
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding

from ..model import draws

__all__ = ["cache_folder", "cache_key", "called", "entry", "helper", "ready"]

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False, "_nrt": False}

_INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

helper = numba.njit(forceinline=True, **_OPTIONS, **_INNER)
"""A function that melts into the kernel that calls it."""

called = numba.njit(**_OPTIONS, **_INNER)
"""A function of a kernel that stays a function: long, or seldom needed."""

entry = numba.njit(**_OPTIONS)
"""A kernel that Python calls; :func:`ready` gives it its cache and compiles it."""

_SOURCES = (
    *("vectorized/" + name for name in ("debate", "gate", "jit", "kernel", "philox", "plan", "question", "tile")),
    *("vectorized/" + name for name in ("judging_kernel", "judging_plan")),
    *("model/" + name for name in ("deciding", "draws", "outcomes", "protocol", "scheduling", "stopping")),
    *("model/judging/" + name for name in ("gaps", "outcomes", "protocols", "sampling", "stopping")),
)
_lock = threading.Lock()


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)  # a fork must not inherit a lock that another thread held


@lru_cache(maxsize=1)
def cache_key() -> str:
    """Hash of the kernels' sources (and of the model's numbers that they contain), of versions and of the processor."""
    rooms = {"vectorized": Path(__file__).parent, "model": Path(draws.__file__).parent}
    digest = hashlib.sha256()
    for source in _SOURCES:
        room, name = source.split("/", 1)
        digest.update((rooms[room] / f"{name}.py").read_bytes())
    features = binding.get_host_cpu_features().flatten()
    for part in (
        numba.__version__,
        binding.llvm_version_info,
        platform.python_version(),
        platform.machine(),
        binding.get_host_cpu_name(),
        features,
    ):
        digest.update(repr(part).encode())
    return digest.hexdigest()[:20]


def _home() -> Path:
    if "ADJOURN_CACHE_DIR" in os.environ:
        return Path(os.environ["ADJOURN_CACHE_DIR"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adjourn"


@lru_cache(maxsize=1)
def cache_folder() -> Path | None:
    """Folder of the compiled kernels; None, with a warning, where it cannot be written."""
    try:
        folder = _home() / "kernels" / cache_key()
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except (OSError, RuntimeError) as error:
        told = f"no folder for compiled kernels ({error}); every process compiles them anew."
        warnings.warn(f"{told} Set ADJOURN_CACHE_DIR to a folder that can be written.", RuntimeWarning, stacklevel=2)
        return None
    return folder


def ready(kernel: Any, *nothing: Any) -> None:
    """Compile a kernel, or load it from the cache, before it is launched.

    The first compile says on standard error what it is doing. Safe to call from several threads.

    Parameters
    ----------
    kernel
        Marked with :data:`entry`.
    *nothing
        Arguments of the right types for which the kernel has nothing to do.
    """
    if kernel.signatures:
        return
    with _lock:
        if kernel.signatures:
            return
        folder = cache_folder()
        if folder is None:
            _announced(kernel, nothing, "in memory")
            return
        _enable_cache(kernel, folder)
        if any(folder.rglob(f"*{kernel.py_func.__name__}*.nbc")) and _loaded(kernel, nothing, folder):
            return
        _announced(kernel, nothing, f"in {folder}")


def _enable_cache(kernel: Any, folder: Path) -> None:
    config: Any = numba.config
    previous = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        kernel.enable_caching()
    finally:
        config.CACHE_DIR = previous


def _loaded(kernel: Any, nothing: tuple[Any, ...], folder: Path) -> bool:
    """Load a kernel from the cache; a damaged cache is emptied."""
    try:
        kernel(*nothing)
    except Exception:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        _enable_cache(kernel, folder)
        return False
    return True


def _announced(kernel: Any, nothing: tuple[Any, ...], kept: str) -> None:
    """Compile a kernel, saying so."""
    sys.stderr.write(f"compiling the Monte Carlo kernel (once for this version and processor, up to a minute; kept {kept}) ... ")
    sys.stderr.flush()
    start = time.perf_counter()
    kernel(*nothing)
    sys.stderr.write(f"{time.perf_counter() - start:.0f} s\n")
