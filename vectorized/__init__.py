"""The Monte Carlo engine: counter-based random numbers, compiled kernels, chunked and distributed runs.

:func:`simulate` runs a protocol on millions of questions, :func:`simulate_judging` a judging protocol on millions of items;
:func:`estimate_accuracy` needs fewer of them. Importing this package compiles nothing and does not import numba.
"""

from .driver import simulate as simulate
from .judging import simulate_judging as simulate_judging
from .run import warm_up as warm_up
from .variance import ReducedEstimate as ReducedEstimate
from .variance import estimate_accuracy as estimate_accuracy
