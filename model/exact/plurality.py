r"""Protocols without debate: the law of the plurality of independent answers.

With i >= 2 right answers of n, and j of the others on the misconception, the right answer wins for j < i and in half of the draws for
j = i: strays never outvote two. With i = 1 it wins a draw among n where no answer occurs twice. So

.. math:: P(right) = \sum_i P(i \text{ right}) \; E_w[P(\text{win} \mid i, w)] ,

a sum of n + 1 terms. Where a sampling stop may end the sampling early, the sequences are counted (:mod:`.chains`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr

from ..difficulty import MixtureDifficulty, question_law
from ..outcomes import REASONS
from ..population import Population
from ..protocol import Protocol
from ..stopping import StopReason
from .chains import RIGHT, Openings, openings

__all__ = ["add_votes", "vote_accuracy"]

Floats = npt.NDArray[np.float64]

_SAMPLE_LIMIT = REASONS.index(StopReason.SAMPLE_LIMIT)
_SAMPLING_STOP = REASONS.index(StopReason.SAMPLING_STOP)
_BLOCK = 2_000_000
"""Entries of a table over questions that are held at once."""


def add_votes(masses: Floats, protocol: Protocol, population: Population) -> None:
    """Add the law of the chains' plurality to the outcome lattice ``masses``."""
    if protocol.sampling_stop is None:
        accuracy = vote_accuracy(population, protocol.chains)
        masses[protocol.chains, 0, 0, _SAMPLE_LIMIT, 1, 1] = accuracy
        masses[protocol.chains, 0, 0, _SAMPLE_LIMIT, 0, 0] = 1 - accuracy
        return
    opening = openings(protocol.chains, protocol.sampling_stop, protocol.initial, None)
    p, w, weight = question_law(population.difficulty, population.misconception, opening.degree)
    probability = np.empty(len(opening.kind))
    for part in np.array_split(np.arange(len(opening.kind)), len(opening.kind) * len(p) // _BLOCK + 1):
        sub = Openings(*(getattr(opening, f)[part] for f in Openings.__dataclass_fields__))
        probability[part] = sub.probabilities(p, w) @ weight
    right = (opening.kind == RIGHT).astype(np.int64)
    reason = np.where(opening.stopped, _SAMPLING_STOP, _SAMPLE_LIMIT)
    none = np.zeros_like(right)
    np.add.at(masses, (opening.chains, none, none, reason, right, right), probability)


def vote_accuracy(population: Population, n: int) -> float:
    """P(the plurality of n independent answers is right), fair ties."""
    difficulty, share = population.difficulty, population.misconception
    if share is None:
        assert isinstance(difficulty, MixtureDifficulty)
        wins = np.array([_wins(n, w) for w in difficulty.w])
        total = float(np.array(difficulty.weight) @ (difficulty.number_right_by_point(n) * wins).sum(axis=1))
    else:
        shares, weight = share.nodes(n)
        total = float(difficulty.number_right(n) @ (weight @ np.array([_wins(n, w) for w in shares])))
    return min(max(total, 0.0), 1.0)


def _wins(n: int, w: float) -> Floats:
    """P(right wins | i right answers of n), by i = 0 .. n."""
    i = np.arange(n + 1)
    others = n - i
    upto = np.where(i >= 1, bdtr(np.minimum(i - 1, others), others, w), 0.0)
    level_count = np.minimum(i, others)
    level = np.where(i <= others, bdtr(level_count, others, w) - upto, 0.0)
    wins = upto + level / 2
    wins[0] = 0.0
    if n >= 1:
        # One right answer: no answer may occur twice, and the draw is among all n.
        no_pair = (1 - w) ** (n - 1) + (n - 1) * w * (1 - w) ** (n - 2) if n >= 2 else 1.0
        wins[1] = no_pair / n
    return np.asarray(wins)
