r"""Agreement with labels when there are ties: accuracy, Cohen's kappa, and what a reported pair of them implies.

Verdicts and labels are A, tie or B; a verdict may also be missing. With a table :math:`P_{lv}` of labels l and verdicts v, a credit
:math:`W_{lv}` and margins q (labels), m (verdicts),

.. math:: a = \sum W_{lv} P_{lv}, \qquad p_e = \sum W_{lv} q_l m_v, \qquad \kappa = \frac{a - p_e}{1 - p_e}

(Cohen 1960; weighted, 1968). Ties are counted in one of three usual ways:

* ``decisive``: items with a tied label are left out; a tied verdict earns half, as a coin would. With balanced labels
  :math:`p_e = 1/2` and :math:`\kappa = 2a - 1`, whatever the judge does.
* ``half``: all items; a tie on one side only earns half (linearly weighted kappa).
* ``three_class``: all items; the verdict must be the label.

A missing verdict earns half where a tie would against A or B, and nothing in ``three_class``.

*Implied class shares.* Two classes with label share q and verdict share m agree by chance with :math:`p_e = q m + (1 - q)(1 - m)`, and
:math:`|q - m| \le 1 - a`. A reported pair (a, kappa) fixes :math:`p_e = (a - \kappa)/(1 - \kappa)`; since :math:`p_e \le \max q` for
any number of classes, that is the easy bound on the largest class; the constraint on q - m gives the sharp one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..checks import require_range
from ..errors import ParameterError
from ..result import Z95, Estimate, exact, share

__all__ = ["LABELS", "TIES", "VERDICTS", "ClassShares", "agreement", "class_shares", "credits"]

Floats = npt.NDArray[np.float64]

LABELS = ("A", "tie", "B")
VERDICTS = ("A", "tie", "B", "none")
TIES = ("decisive", "half", "three_class")

_CREDITS = {
    "decisive": ((1.0, 0.5, 0.0, 0.5), (0.0, 0.0, 0.0, 0.0), (0.0, 0.5, 1.0, 0.5)),
    "half": ((1.0, 0.5, 0.0, 0.5), (0.5, 1.0, 0.5, 0.5), (0.0, 0.5, 1.0, 0.5)),
    "three_class": ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0)),
}


def credits(ties: str) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return credit by label and verdict, shape (3, 4), and which labels count."""
    counted = np.array([True, ties != "decisive", True])
    return np.array(_CREDITS[ties]), counted


def agreement(
    table: npt.NDArray[np.float64] | npt.NDArray[np.int64], ties: str, samples: int | None
) -> tuple[Estimate | None, Estimate | None]:
    """Accuracy and kappa of a table of labels and verdicts.

    Parameters
    ----------
    table : ndarray, shape (3, 4)
        Probabilities, or counts that sum to ``samples``; rows are labels, columns verdicts.
    ties : {"decisive", "half", "three_class"}
        How ties are counted.
    samples : int or None
        Number of items; None for an exact law.

    Returns
    -------
    accuracy, kappa : Estimate or None
        None where no item counts, and kappa where agreement by chance is certain (every label the same). Intervals: Wilson's where every
        credit is 0 or 1, else normal; kappa's by the delta method.
    """
    weight, counted = credits(ties)
    kept = table * counted[:, None]
    total = kept.sum()
    if total == 0:
        return None, None
    p = kept / total
    a, q, m = float((weight * p).sum()), p.sum(axis=1), p.sum(axis=0)
    chance = float(q @ weight @ m)
    kappa = (a - chance) / (1 - chance) if chance < 1 - 1e-12 else None
    if samples is None:
        return exact(min(a, 1.0)), None if kappa is None else exact(kappa)
    n = int(total)
    whole = bool(np.all((p == 0) | (weight == 0) | (weight == 1)))
    accuracy = share(int((weight * kept).sum()), n) if whole else _normal(a, float((weight**2 * p).sum()) - a**2, n)
    if kappa is None:
        return accuracy, None
    slope = (weight - (1 - kappa) * ((weight @ m)[:, None] + (q @ weight)[None, :])) / (1 - chance)
    variance = float((p * slope**2).sum() - (p * slope).sum() ** 2)
    return accuracy, _normal(kappa, variance, n)


def _normal(mean: float, variance: float, n: int) -> Estimate:
    half = Z95 * math.sqrt(max(variance, 0.0) / n)
    return Estimate(mean, mean - half, mean + half)


@dataclass(frozen=True)
class ClassShares:
    """What a reported accuracy and kappa imply for the share of the larger of two label classes.

    Attributes
    ----------
    chance : float
        Agreement by chance that the pair fixes.
    easy : float
        The largest class holds at least the chance agreement, for any number of classes.
    smallest, largest : float
        Range of the larger class's share that admits the pair.
    """

    chance: float
    easy: float
    smallest: float
    largest: float


_ROUNDING = 1e-9
"""An attainable pair at the edge may seem this far outside."""


def class_shares(accuracy: float, kappa: float) -> ClassShares:
    r"""Range of the larger label class's share that a reported pair (accuracy, kappa) admits, for two classes.

    With s = 2q - 1 and t = 2m - 1, :math:`p_e = (1 + st)/2`: the product st is fixed, :math:`|s - t| \le 2(1 - a)` and
    :math:`|s + t| \le 2a`. The smallest and the largest s lie where these bind.

    Raises
    ------
    ParameterError
        If no two-class table has that pair.
    """
    require_range("accuracy", accuracy, 0, 1)
    require_range("kappa", kappa, -1, 1)
    if kappa == 1.0 or accuracy == 1.0:
        raise ParameterError("kappa", kappa, "below 1, with an accuracy below 1")
    chance = (accuracy - kappa) / (1 - kappa)
    product, gap = 2 * chance - 1, 2 * (1 - accuracy)
    if abs(product) > 1 + _ROUNDING:
        raise ParameterError("kappa", kappa, f"one that an accuracy of {accuracy:g} admits")
    ranges = (_range_of_s(product, gap), _range_of_s(-product, 2 * accuracy))
    low, high = max(r[0] for r in ranges), min(r[1] for r in ranges)
    if low > min(high, 1.0) + _ROUNDING:
        raise ParameterError("kappa", kappa, f"one that an accuracy of {accuracy:g} admits")
    high = min(high, 1.0)
    return ClassShares(chance, max(chance, 0.5), (1 + min(low, high)) / 2, (1 + high) / 2)


def _range_of_s(product: float, gap: float) -> tuple[float, float]:
    """Range of s >= 0 with t = product / s and |s - t| <= gap; above 1 where there is none."""
    inner = gap**2 / 4 + product
    if inner < -_ROUNDING:
        return 2.0, 2.0
    root = math.sqrt(max(inner, 0.0))
    return (root - gap / 2, root + gap / 2) if product >= 0 else (gap / 2 - root, gap / 2 + root)
