"""The Monte Carlo engine: counter-based random numbers, compiled kernels, chunked and distributed runs.

:func:`simulate` runs a protocol on millions of questions; importing this package compiles nothing and does not import numba.
"""

from .driver import simulate as simulate
from .run import warm_up as warm_up
