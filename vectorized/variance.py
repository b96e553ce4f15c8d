r"""Accuracy with fewer questions: what is known exactly need not be sampled.

Four ways to estimate E[Y], Y = 1 where the answer is right, and how much less variance they had than plain counting, measured by the
spread of 400 runs of 4,096 questions (three populations; ``benchmarks/README.md``):

============  ==========================================================================  ===========================================
method        how                                                                         variance divided by
============  ==========================================================================  ===========================================
``exact``     the exact law; nothing is sampled                                           everything (panels of up to 8 agents)
``strata``    control whose mean is known: the composition of the first answers           4.4 to 5.1 ``uaad``, 3.3 to 4.3 ``fixed_mad``
``sobol``     scrambled Sobol points for (p, w)                                           2.1 to 3.2 ``uaad``, 2.1 to 2.7 ``fixed_mad``
``both``      strata on Sobol points                                                      4.6 to 5.1 ``uaad``, 3.7 to 4.2 ``fixed_mad``
============  ==========================================================================  ===========================================

*Strata.* Every question reads S independent answers; let (i, j) of them be right and on the misconception. The law of that composition
is a polynomial in p and w, so

.. math:: P(i, j) = \binom{S}{i, j, S-i-j} E\bigl[p^i ((1-p) w)^j ((1-p)(1-w))^{S-i-j}\bigr]

is exact by quadrature however large the panel, and :math:`\hat\theta = \sum_{ij} P(i,j)\, \bar Y_{ij}` (post-stratification: the
regression estimator whose controls are the indicators of the compositions). Rare compositions are pooled. Its variance is :math:`\sum
P^2 s^2_{ij} / n_{ij}`.

*Sobol.* p and w of question k come from point k of a scrambled Sobol sequence (Owen 1995) instead of their own counters; everything
else keeps its counters. Independently scrambled replicates give the interval (Student's t). Conditioning on p this finely leaves little
for points to add once there are strata.

``None`` takes the exact law where it is in reach, else ``strata`` (``sobol`` where a sampling stop makes the number of answers vary),
and says so.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, stdtrit, xlogy

from ..model import exact as exact_law
from ..model.checks import require_count
from ..model.difficulty import question_law
from ..model.errors import InputError, ParameterError
from ..model.outcomes import OutcomeSpace
from ..model.population import Population
from ..model.protocol import Protocol
from ..model.result import Estimate, exact, share
from .backends import Where
from .driver import Run
from .run import Counts, Job
from .tile import Tile, Words

__all__ = ["METHODS", "ReducedEstimate", "composition_law", "estimate_accuracy"]

Floats = npt.NDArray[np.float64]

METHODS = ("exact", "strata", "sobol", "both", "plain")
REPLICATES = 32
_LEAST_IN_STRATUM = 8
_MOST_ANSWERS = 128
_Z95 = 1.959963984540054


@dataclass(frozen=True)
class ReducedEstimate:
    """Accuracy, and how it was found.

    Attributes
    ----------
    accuracy : Estimate
        Mean with its 95 % interval.
    method : str
        One of ``METHODS``.
    samples : int
        Questions simulated; 0 for the exact law.
    note : str
        Why this method.
    """

    accuracy: Estimate
    method: str
    samples: int
    note: str


def composition_law(population: Population, answers: int) -> Floats:
    """Exact P(i of the independent answers right, j on the misconception); shape (answers + 1, answers + 1)."""
    p, w, weight = question_law(population.difficulty, population.misconception, answers)
    kinds = np.stack([p, (1 - p) * w, (1 - p) * (1 - w)])
    law = np.zeros((answers + 1, answers + 1))
    for i in range(answers + 1):
        for j in range(answers + 1 - i):
            powers = np.array([i, j, answers - i - j])
            ways = gammaln(answers + 1) - gammaln(powers + 1).sum()
            law[i, j] = weight @ np.exp(ways + xlogy(powers[:, None], kinds).sum(axis=0))
    return law


def _strata(law: Floats, questions: int) -> tuple[Counts, Floats]:
    """Stratum of each composition, and the strata's probabilities; rare compositions share stratum 0."""
    rare = law * questions < _LEAST_IN_STRATUM
    if law[rare].sum() * questions < _LEAST_IN_STRATUM:  # too few together: they join the rarest that stands alone
        rare |= law == np.min(law[~rare])
    stratum: Counts = np.zeros(law.shape, dtype=np.int64)
    stratum[~rare] = 1 + np.arange(int((~rare).sum()))
    return stratum, np.bincount(stratum.ravel(), weights=law.ravel()).astype(float)


@dataclass(frozen=True, eq=False)
class Stratified:
    """Counts of right answers by replicate and stratum; a task for :class:`.driver.Run`.

    Parameters
    ----------
    job : Job
        What to run.
    right : ndarray of bool
        Which lattice points are right.
    stratum : ndarray of int
        Stratum of each composition of the first answers.
    points : int
        Questions of a replicate.
    replicates : int
        Number of replicates.
    sobol : bool
        Whether p and w come from Sobol points.
    """

    job: Job
    right: npt.NDArray[np.bool_]
    stratum: Counts
    points: int
    replicates: int
    sobol: bool

    @property
    def seed(self) -> int:
        """64-bit key."""
        return self.job.seed

    @property
    def shape(self) -> tuple[int, int, int]:
        """Replicates, strata, and wrong or right."""
        return self.replicates, int(self.stratum.max()) + 1, 2

    @property
    def size(self) -> int:
        """Number of counts."""
        return math.prod(self.shape)

    def room(self) -> Tile:
        """Working memory for one thread."""
        return self.job.room()

    def count(self, lo: int, hi: int, room: Tile | None = None) -> Counts:
        """Count questions lo .. hi - 1, replicate by replicate."""
        counts = np.zeros(self.shape, dtype=np.int64)
        for replicate in range(lo // self.points, (hi - 1) // self.points + 1):
            first, last = max(lo, replicate * self.points), min(hi, (replicate + 1) * self.points)
            paths = self.job.trace(first, last, room, self._latent(replicate, first % self.points, last - first))
            cells = 2 * self.stratum[paths.right, paths.shared] + self.right[paths.outcome]
            counts[replicate] = np.bincount(cells, minlength=2 * self.shape[1]).reshape(self.shape[1:])
        return counts.ravel()

    def _latent(self, replicate: int, first: int, count: int) -> Words | None:
        if not self.sobol:
            return None
        from scipy.stats import qmc  # takes seconds to import

        points = qmc.Sobol(2, scramble=True, bits=32, rng=np.random.default_rng([self.seed, replicate]))
        if first:
            points.fast_forward(first)
        return np.ascontiguousarray((points.random(count) * 2.0**32).astype(np.uint32).T)

    def fingerprint(self) -> str:
        """Hash of the job and of how it is cut."""
        return hashlib.sha256(f"{self.job.fingerprint()} {self.points} {self.replicates} {self.sobol}".encode()).hexdigest()


def _post_stratified(counts: npt.NDArray[Any], probability: Floats) -> tuple[float, float]:
    """Estimate and its variance from counts (strata, 2)."""
    n = counts.sum(axis=1)
    held = n > 0
    weight = probability[held] / probability[held].sum()
    mean = counts[held, 1] / n[held]
    spread = mean * (1 - mean) * n[held] / np.maximum(n[held] - 1, 1)
    return float(weight @ mean), float((weight**2 * spread / n[held]).sum())


def _replicated(values: Floats) -> Estimate:
    """Mean of independent replicates with Student's 95 % interval."""
    mean = float(values.mean())
    half = float(stdtrit(len(values) - 1, 0.975)) * float(values.std(ddof=1)) / math.sqrt(len(values))
    return Estimate(mean, mean - half, mean + half)


def _stratifies(protocol: Protocol) -> bool:
    return protocol.sampling_stop is None and protocol.chains + protocol.most_agents <= _MOST_ANSWERS


def _choose(protocol: Protocol, population: Population) -> tuple[str, str, Estimate | None]:
    """Choose a method, say why, and give the exact accuracy where it is in reach."""
    try:
        known = exact_law.simulate(protocol, population).accuracy
        return "exact", "the exact law is in reach: nothing was sampled", known
    except InputError:
        if not _stratifies(protocol):
            return "sobol", "the exact law is out of reach, and the first answers are too many, or their number varies", None
        return "strata", "the exact law is out of reach; that of the first answers is not, and served as control", None


def estimate_accuracy(
    protocol: Protocol,
    population: Population,
    *,
    samples: int = 2**18,
    seed: int = 0,
    method: str | None = None,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> ReducedEstimate:
    """Estimate accuracy with less variance than plain counting.

    Parameters
    ----------
    protocol, population
        What to run.
    samples : int
        Questions, at least 1,024; for Sobol points rounded down to 32 replicates of a power of two.
    seed : int
        64-bit key.
    method : {"exact", "strata", "sobol", "both", "plain"}, optional
        How; by default the exact law where it is in reach, else strata.
    threads : int, optional
        Threads; all processors by default.
    progress : callable, optional
        Told the number of questions done since the last time.

    Raises
    ------
    ParameterError
        If the method does not apply.
    """
    require_count("samples", samples, 1024, 10**12)
    if method is not None and method not in METHODS:
        raise ParameterError("method", method, "one of " + ", ".join(METHODS))
    if method in ("strata", "both") and not _stratifies(protocol):
        remedy = f"Strata need a fixed number of first answers, at most {_MOST_ANSWERS}."
        raise ParameterError("method", method, "exact, sobol or plain for this protocol", remedy)
    note, known = "as asked", None
    if method is None:
        method, note, known = _choose(protocol, population)
    if method == "exact":
        found = known or exact_law.simulate(protocol, population).mean("accuracy")
        return ReducedEstimate(exact(found.mean), method, 0, note)
    task, probability = _task(protocol, population, samples, seed, method)
    chunk = min(task.points, 2**24) if task.sobol else None  # Sobol points are balanced by the whole replicate
    counts = Run(task, progress=progress, chunk=chunk).upto(task.points * task.replicates, Where(threads)).counts.reshape(task.shape)
    return ReducedEstimate(_estimate(counts, probability, method), method, task.points * task.replicates, note)


def _task(protocol: Protocol, population: Population, samples: int, seed: int, method: str) -> tuple[Stratified, Floats]:
    job = Job.of(protocol, population, seed)
    sobol = method in ("sobol", "both")
    replicates = REPLICATES if sobol else 1
    points = 2 ** int(math.log2(samples // replicates)) if sobol else samples
    if method in ("strata", "both"):
        stratum, probability = _strata(composition_law(population, job.plan.samples), points)
    else:
        stratum, probability = np.zeros((job.plan.samples + 1,) * 2, dtype=np.int64), np.ones(1)
    right = OutcomeSpace(protocol).coordinates[-1] == 1
    return Stratified(job, right, stratum, points, replicates, sobol), probability


def _estimate(counts: npt.NDArray[np.int64], probability: Floats, method: str) -> Estimate:
    if method == "plain":
        return share(int(counts[..., 1].sum()), int(counts.sum()))
    if method == "strata":
        mean, variance = _post_stratified(counts[0], probability)
        half = _Z95 * math.sqrt(variance)
        return Estimate(mean, mean - half, mean + half)
    return _replicated(np.array([_post_stratified(replicate, probability)[0] for replicate in counts]))
