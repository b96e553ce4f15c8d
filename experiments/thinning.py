r"""Two protocols at equal mean cost: the dearer one thinned by a fair coin.

Let A be the dearer, B the cheaper and K a single chain. A question gets A with probability

.. math:: \lambda = \frac{E[c_B] - E[c_K]}{E[c_A] - E[c_K]}

and K otherwise. With the coin integrated out, the difference of accuracies at equal cost is

.. math:: \Delta = \lambda\, a_A + (1 - \lambda)\, a_K - a_B .

Sampled, :math:`\lambda` is estimated too. A question with costs c and credits g moves :math:`\lambda` by :math:`\dot\lambda = [(c_B -
\bar c_B) - \lambda (c_A - \bar c_A) - (1 - \lambda)(c_K - \bar c_K)] / (\bar c_A - \bar c_K)` and :math:`\Delta` by :math:`(\lambda g_A
+ (1 - \lambda) g_K - g_B - \Delta) + (a_A - a_K)\, \dot\lambda`, divided by the number of questions (delta method).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..model.result import Estimate, exact
from .paired import influence_interval

__all__ = ["Thinned", "thin_exact", "thin_sampled"]

Floats = npt.NDArray[np.float64]

FIRST, SECOND, BASE = 0, 1, 2


@dataclass(frozen=True)
class Thinned:
    """Equal cost by thinning.

    Attributes
    ----------
    which : int
        The protocol that is thinned: 0 the first, 1 the second.
    share : Estimate
        Share of questions that it still gets.
    difference : Estimate
        Accuracy of the first minus that of the second at equal cost.
    """

    which: int
    share: Estimate
    difference: Estimate


def _plan(cost: Sequence[float]) -> tuple[int, int, float]:
    """Dearer, cheaper, and the share that makes their costs equal (1 where there is nothing to thin)."""
    dear, cheap = (FIRST, SECOND) if cost[FIRST] >= cost[SECOND] else (SECOND, FIRST)
    room = cost[dear] - cost[BASE]
    share = (cost[cheap] - cost[BASE]) / room if room > 0 else 1.0
    return dear, cheap, min(1.0, max(0.0, share))


def thin_exact(cost: Sequence[float], accuracy: Sequence[float]) -> Thinned:
    """Thin by exact means.

    Parameters
    ----------
    cost, accuracy : sequence of three floats
        Means of the first, the second and the single chain.
    """
    dear, cheap, share = _plan(cost)
    mixed = share * accuracy[dear] + (1 - share) * accuracy[BASE]
    return Thinned(dear, exact(share), exact((mixed - accuracy[cheap]) * (1 if dear == FIRST else -1)))


def thin_sampled(table: npt.NDArray[np.int64], cost: Sequence[Floats], credit: Sequence[Floats], counted: Floats) -> Thinned:
    """Thin by sampled means.

    Parameters
    ----------
    table : ndarray of int, shape (classes of the first, of the second, of the single chain)
        Questions by cell.
    cost, credit : sequence of three ndarrays
        Of each protocol, shaped to broadcast against the table.
    counted : ndarray
        1 where a cell counts towards accuracy, else 0; broadcasts against the table.
    """
    weight = table / table.sum()
    mean = [float((weight * c).sum()) for c in cost]
    dear, cheap, share = _plan(mean)
    sign = 1 if dear == FIRST else -1
    base = float((weight * counted).sum())
    accuracy = [float((weight * counted * g).sum()) / base for g in credit]
    gain = sign * (share * credit[dear] + (1 - share) * credit[BASE] - credit[cheap])
    difference = float((weight * counted * gain).sum()) / base
    moved: Floats = np.zeros_like(weight)
    if mean[dear] > mean[BASE]:
        spent = cost[cheap] - mean[cheap] - share * (cost[dear] - mean[dear]) - (1 - share) * (cost[BASE] - mean[BASE])
        moved = moved + spent / (mean[dear] - mean[BASE])
    influence = counted * (gain - difference) / base + sign * (accuracy[dear] - accuracy[BASE]) * moved
    return Thinned(dear, influence_interval(table, share, moved), influence_interval(table, difference, influence))
