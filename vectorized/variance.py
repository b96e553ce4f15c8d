r"""Accuracy with fewer questions: what is known exactly need not be sampled.

Ways to estimate E[Y], Y = 1 where the answer is right, and how much less variance than plain counting they had, by the spread of 300
runs of 4,096 questions on three populations (``benchmarks/README.md``):

==========  =========================================================================  ==========  =============  ==========
method      how                                                                        ``uaad``    ``fixed_mad``  ``down``
==========  =========================================================================  ==========  =============  ==========
``exact``   the exact law (panels of up to 8 agents); nothing is sampled               no error    no error       no error
``strata``  control whose mean is known: what the first answers were                   4.6 to 5.4  3.5 to 4.2     6.7 to 9.9
``sobol``   scrambled Sobol points for the latent p and w                              2.0 to 3.3  2.3 to 2.8     1.8 to 2.3
``both``    strata on Sobol points                                                     4.7 to 5.3  3.8 to 4.4     7.1 to 9.7
==========  =========================================================================  ==========  =============  ==========

*Strata.* Every question reads S independent answers; let (i, j) of them be right and on the misconception. The law of that composition
is a polynomial in p and w, so

.. math:: P(i, j) = \binom{S}{i, j, S-i-j} E\bigl[p^i ((1-p) w)^j ((1-p)(1-w))^{S-i-j}\bigr]

is exact by quadrature however large the panel. Given the composition, the candidate is right with a known probability (the plurality of
all S answers, ties fair; or one of them), which splits each cell once more. Then :math:`\hat\theta = \sum_s P_s \bar Y_s`
(post-stratification: the regression estimator whose controls are the indicators of the strata; rare ones are pooled), with variance
:math:`\sum P_s^2 s_s^2 / n_s`.

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
from ..model.result import Z95, Estimate, exact, share
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


def _candidate_right(protocol: Protocol, right: int, shared: int, answers: int) -> float | None:
    """P(candidate right) given the composition of the answers; None where it takes more than the composition to tell."""
    if protocol.chains == 1:
        return right / answers
    if protocol.chains not in (0, answers):
        return None
    sizes = [right, shared] + [1] * (answers - right - shared)
    return float(right == max(sizes)) / sizes.count(max(sizes))


def joint_law(protocol: Protocol, composition: Floats) -> Floats:
    """Exact law of (candidate wrong or right, composition); shape (2, answers + 1, answers + 1).

    Where the composition does not settle how likely the candidate is right, all mass stands under "wrong" and the candidate is not used.
    """
    answers = composition.shape[0] - 1
    law = np.zeros((2, *composition.shape))
    for i, j in np.ndindex(composition.shape):
        share_right = _candidate_right(protocol, i, j, answers) if i + j <= answers else 0.0
        law[1, i, j] = composition[i, j] * (share_right or 0.0)
        law[0, i, j] = composition[i, j] - law[1, i, j]
    return law


def _strata(law: Floats, questions: int) -> tuple[Counts, Floats]:
    """Stratum of each cell of a law, and the strata's probabilities; rare cells share stratum 0."""
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
    stratum : ndarray of int, shape (2, answers + 1, answers + 1)
        Stratum of each (candidate wrong or right, composition of the first answers).
    points : int
        Questions of a replicate.
    replicates : int
        Number of replicates.
    sobol : bool
        Whether p and w come from Sobol points.
    uses_candidate : bool
        Whether strata tell right candidates from wrong ones.
    """

    job: Job
    right: npt.NDArray[np.bool_]
    stratum: Counts
    points: int
    replicates: int
    sobol: bool
    uses_candidate: bool

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
        if lo == hi:
            self.job.count(lo, hi)  # an empty range still makes the kernel ready
        for replicate in range(lo // self.points, (hi - 1) // self.points + 1):
            first, last = max(lo, replicate * self.points), min(hi, (replicate + 1) * self.points)
            paths = self.job.trace(first, last, room, self._latent(replicate, first % self.points, last - first))
            candidate = (paths.candidate == 0).astype(np.intp) * self.uses_candidate
            cells = 2 * self.stratum[candidate, paths.right, paths.shared] + self.right[paths.outcome]
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


def _jackknife(counts: npt.NDArray[Any], probability: Floats) -> Estimate:
    """Estimate from independent replicates (R, strata, 2) with Student's 95 % interval by leaving out one at a time."""
    total = counts.sum(axis=0)
    replicates = len(counts)
    without = np.array([_post_stratified(total - one, probability)[0] for one in counts])
    error = math.sqrt((replicates - 1) / replicates * float(((without - without.mean()) ** 2).sum()))
    mean = _post_stratified(total, probability)[0]
    half = float(stdtrit(replicates - 1, 0.975)) * error
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
    answers = job.encoding.samples
    stratum, probability = np.zeros((2, answers + 1, answers + 1), dtype=np.int64), np.ones(1)
    uses_candidate = _candidate_right(protocol, 0, 0, answers) is not None
    if method in ("strata", "both"):
        stratum, probability = _strata(joint_law(protocol, composition_law(population, answers)), points * replicates)
    right = OutcomeSpace(protocol).coordinates[-1] == 1
    return Stratified(job, right, stratum, points, replicates, sobol, uses_candidate), probability


def _estimate(counts: npt.NDArray[np.int64], probability: Floats, method: str) -> Estimate:
    if method == "plain":
        return share(int(counts[..., 1].sum()), int(counts.sum()))
    if method == "strata":
        mean, variance = _post_stratified(counts[0], probability)
        half = Z95 * math.sqrt(variance)
        return Estimate(mean, mean - half, mean + half)
    return _jackknife(counts, probability)
