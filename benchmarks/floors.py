"""Floors: the time to draw the numbers and do nothing with them.

* :func:`looking`: Philox4x32-10 in numba, a block of four numbers after the other, each looked at before the next is drawn, as a
  simulation of one question has to: what it needs next depends on what it saw.
* :func:`lanes`: the same in numba with nothing looked at, so that the compiler makes eight blocks at a time. Numbers go to the cache.
* :func:`in_c`: a loop in C that only counts, by the system's compiler, with -O3 and with -O3 -march=native; it vectorises too.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np

from adjourn.vectorized.jit import entry
from adjourn.vectorized.philox import fill_tile, philox4x32
from adjourn.vectorized.tile import TILE

_C = Path(__file__).with_name("philox.c")


@entry
def looking(blocks, k0, k1, below):
    found = 0
    for i in range(blocks):
        low, high = np.uint32(i), np.uint32(np.uint64(i) >> np.uint64(32))
        x0, x1, x2, x3 = philox4x32(low, high, np.uint32(0), np.uint32(0), k0, k1)
        if x0 == x1 and x1 == x2 and x2 == x3:  # once in 2**96 blocks, which the compiler does not know
            return -found
        found += x0 < below
        found += x1 < below
        found += x2 < below
        found += x3 < below
    return found


@entry
def lanes(words, blocks, k0, k1):
    for start in range(0, blocks, TILE):
        fill_tile(words, 0, start, 0, 0, k0, k1)


def in_c(flags: list[str], folder: Path):
    """Compile the C loop; returns a function of (blocks, below), or None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    library = folder / ("philox" + "".join(flags).replace("=", "") + ".so")
    subprocess.run([compiler, *flags, "-shared", "-fPIC", str(_C), "-o", str(library)], check=True)
    count = ctypes.CDLL(str(library)).count_below
    count.restype = ctypes.c_int64
    count.argtypes = (ctypes.c_int64, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32)
    return lambda blocks, below: count(blocks, 5, 7, below)
