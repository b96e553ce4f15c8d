r"""P(the decision is right) in each state of a panel.

Plurality: the right cluster wins if it is the single largest; in a tie the candidate's cluster wins if it is tied, else a fair draw.

Weighted vote: cluster c of size n has :math:`S_c`, the sum of n independent confidences; the sums of different clusters are
independent. The right cluster wins with

.. math:: \sum_v P(S_R = v) \cdot E\Bigl[\frac{1}{1 + T_v};\ \text{no } S_c > v,\ \text{candidate not tied}\Bigr],

T_v the number of other clusters at v; where the right answer is the candidate, a tie is won for certain.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..deciding import ConfidenceLaw
from ..quadrature import frozen
from .panel import LOST, MARK_MISCONCEPTION, MARK_RIGHT, State, panel

__all__ = ["decision_right"]

Floats = npt.NDArray[np.float64]


@lru_cache(maxsize=64)
def decision_right(agents: int, confidence: ConfidenceLaw | None) -> Floats:
    """P(decision right | state).

    Parameters
    ----------
    agents : int
        N; the states are those of ``panel(N)``.
    confidence : ConfidenceLaw or None
        Law of the weights; None is plurality (every weight 1).

    Returns
    -------
    ndarray, shape (S,)
    """
    if confidence is None:
        one = np.array([0.0, 1.0])
        right_sums, wrong_sums = _sums(one, agents), _sums(one, agents)
    else:
        right_sums = _sums(np.array([0.0, *confidence.right]), agents)
        wrong_sums = _sums(np.array([0.0, *confidence.wrong]), agents)
    return frozen(np.array([_right_wins(state, right_sums, wrong_sums) for state in panel(agents).states]))


def _sums(law: Floats, most: int) -> list[Floats]:
    """Laws of the sum of 0 .. ``most`` independent values; all arrays of one length."""
    length = (len(law) - 1) * most + 1
    sums = [np.eye(1, length)[0]]
    for _ in range(most):
        sums.append(np.convolve(sums[-1], law)[:length])
    return sums


def _right_wins(state: State, right_sums: list[Floats], wrong_sums: list[Floats]) -> float:
    right, misc, strays, mark = state
    if right == 0:
        return 0.0
    mine = right_sums[right]
    others = [(misc, mark == MARK_MISCONCEPTION)] if misc else []
    marked = strays.index(mark) if mark > LOST else -1
    others += [(size, i == marked) for i, size in enumerate(strays)]
    # ties[k]: P(no other cluster is ahead, k of the unmarked others are level), by value of the right cluster's sum.
    ties = [np.ones_like(mine)]
    for size, is_candidate in others:
        law = wrong_sums[size]
        below = np.concatenate([[0.0], np.cumsum(law)[:-1]])
        level = np.zeros_like(law) if is_candidate else law
        if mark == MARK_RIGHT:
            ties = [ties[0] * (below + level)]
            continue
        grown = [ties[0] * below]
        for k in range(1, len(ties) + 1):
            grown.append((ties[k] * below if k < len(ties) else 0.0) + ties[k - 1] * level)
        ties = grown
    return float(sum(np.dot(mine, term) / (1 + k) for k, term in enumerate(ties)))
