r"""Compilation: all jit options and the cache of compiled kernels, in one place.

Options, and why:

* ``nogil``: kernels run side by side in ordinary threads. numba's own thread pool is not used at all, so there is no threading layer
  that aborts on concurrent launches, and a forked process inherits no dead pool.
* ``error_model="numpy"``: no test for division by zero in the loops.
* ``fastmath`` and contraction stay off: the kernels must do the reference engine's arithmetic bit by bit.
* ``_nrt=False``: kernels allocate nothing, so arrays need no reference counts (with them the same kernel is forty times slower).
* ``forceinline`` for helpers: an encoding is a tuple of some fifty numbers and arrays; inlined, it costs nothing to hand on.

Kernels are kept in a user's cache folder, under a key made of their sources, the versions of numba and Python and the processor:
another version never reads them, and a changed helper never leaves a stale kernel behind. ``ADJOURN_CACHE_DIR`` overrides the place.
Where no folder can be written, kernels are compiled in memory, with a warning; a folder that cannot be read back is emptied and made
anew.
"""

from __future__ import annotations

import ast
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

from ..model.errors import InputError

__all__ = ["cache_folder", "cache_key", "called", "entry", "helper", "ready", "sources_of"]

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False, "_nrt": False}

_INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

helper = numba.njit(forceinline=True, **_OPTIONS, **_INNER)
"""A function that melts into the kernel that calls it."""

called = numba.njit(**_OPTIONS, **_INNER)
"""A function of a kernel that stays a function: long, or seldom needed."""

entry = numba.njit(**_OPTIONS)
"""A kernel that Python calls; :func:`ready` gives it its cache and compiles it."""

_lock = threading.Lock()


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)  # a fork must not inherit a lock that another thread held


@lru_cache
def sources_of(module: Path) -> tuple[Path, ...]:
    """Files that a kernel's module is made of: all that it reaches by imports in this room, and what those import of the model."""
    room, found, waiting = Path(__file__).parent, set(), [module]
    while waiting:
        source = waiting.pop()
        if source in found or not source.is_file():
            continue
        found.add(source)
        if source.parent == room:
            waiting += _imported(source)
    return tuple(sorted(found))


def _imported(source: Path) -> list[Path]:
    """Files that a module of this room imports relatively."""
    files = []
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = source.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            files += [folder.with_suffix(".py"), *(folder / f"{name.name}.py" for name in node.names)]
    return files


@lru_cache
def cache_key(module: Path) -> str:
    """Hash of the sources of a kernel's module (with the model's numbers in them), of versions and of the processor."""
    digest = hashlib.sha256()
    for source in sources_of(module):
        digest.update(source.read_bytes())
    features = binding.get_host_cpu_features().flatten()
    versions = (numba.__version__, binding.llvm_version_info, platform.python_version())
    for part in (*versions, platform.machine(), binding.get_host_cpu_name(), features):
        digest.update(repr(part).encode())
    return digest.hexdigest()[:20]


def _home() -> Path:
    if os.environ.get("ADJOURN_CACHE_DIR"):
        return Path(os.environ["ADJOURN_CACHE_DIR"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adjourn"


@lru_cache
def cache_folder(module: Path | None = None) -> Path | None:
    """Folder of the compiled kernels (of a module); None, with a warning, where it cannot be written."""
    try:
        folder = _home() / "kernels"
        folder = folder if module is None else folder / cache_key(module)
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

    Raises
    ------
    InputError
        If numba is told not to compile.
    """
    if not hasattr(kernel, "signatures"):
        raise InputError("NUMBA_DISABLE_JIT is set, and the compiled engine cannot run uncompiled. Unset it, or use --engine reference.")
    if kernel.signatures:
        return
    with _lock:
        if kernel.signatures:
            return
        folder = cache_folder(Path(kernel.py_func.__code__.co_filename))
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
