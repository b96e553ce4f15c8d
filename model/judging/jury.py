r"""Majorities of correlated voters, in closed form.

Of J voters, each right with probability p, the majority is right with the probability that more than half are, plus half that of a tie.

* Independent: binomial (Condorcet).
* Beta-binomial with intra-class correlation rho: the item's own accuracy is :math:`Beta(p c, (1-p) c)`, c = 1/rho - 1. As J grows the
  majority's accuracy tends to :math:`P(Beta > 1/2)`.
* One-factor probit: voter j is right where :math:`a + \sqrt\rho F + \sqrt{1 - \rho}\,\epsilon_j > 0`, :math:`\Phi(a) = p`; the limit is
  :math:`\Phi(a / \sqrt\rho)`.

Averaging R measurements of equal variance and common correlation rho is worth :math:`R / (1 + (R - 1) \rho)` independent ones.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaln, gammaln, ndtr, ndtri

from ..checks import require_count, require_probability, require_range

__all__ = ["beta_binomial_majority", "effective_number", "majority", "probit_majority", "vote_masses"]

Floats = npt.NDArray[np.float64]

MOST_RHO = 0.999
"""Largest correlation of jurors' errors; above it they are one juror."""


def effective_number(rounds: float | Floats, rho: float) -> float | Floats:
    """Return how many independent measurements ``rounds`` of common correlation ``rho`` are worth when averaged."""
    return rounds / (1 + (rounds - 1) * rho)


def vote_masses(p: Floats, voters: int) -> tuple[Floats, Floats]:
    """P(more than half for A) and P(a tie) of independent voters.

    Parameters
    ----------
    p : ndarray of float
        P(one voter is for A).
    voters : int
        J, at least 1.

    Returns
    -------
    majority, tie : ndarray of float, shape of p
    """
    half = voters // 2
    more = np.asarray(betainc(half + 1, voters - half, p))
    if voters % 2:
        return more, np.zeros_like(more)
    log_choose = gammaln(voters + 1) - 2 * gammaln(half + 1)
    tie = np.exp(log_choose) * p**half * (1 - p) ** half if voters <= 1000 else np.zeros_like(more)
    return more, np.asarray(tie)


def _majority(p: Floats, voters: int) -> Floats:
    more, tie = vote_masses(p, voters)
    return more + tie / 2


def majority(voters: int, p: float) -> float:
    """P(the majority is right) for independent voters, ties by a coin."""
    require_count("voters", voters, 1, 1000)
    require_probability("p", p)
    return float(_majority(np.array(p), voters))


def beta_binomial_majority(voters: int | None, p: float, rho: float) -> float:
    """P(the majority is right) for beta-binomial voters of intra-class correlation ``rho``; ``voters=None`` is the limit of many.

    Raises
    ------
    ParameterError
        If p or rho is not inside (0, 1).
    """
    require_range("p", p, 1e-9, 1 - 1e-9)
    require_range("rho", rho, 1e-6, 1 - 1e-6)
    c = 1 / rho - 1
    a, b = p * c, (1 - p) * c
    if voters is None:
        return float(betainc(b, a, 0.5))
    require_count("voters", voters, 1, 1000)
    k = np.arange(voters + 1)
    log_mass = gammaln(voters + 1) - gammaln(k + 1) - gammaln(voters - k + 1) + betaln(k + a, voters - k + b) - betaln(a, b)
    return float(np.exp(log_mass) @ np.where(2 * k > voters, 1.0, np.where(2 * k == voters, 0.5, 0.0)))


def probit_majority(voters: int | None, p: float, rho: float) -> float:
    """P(the majority is right) for one-factor probit voters of correlation ``rho``; ``voters=None`` is the limit of many.

    Raises
    ------
    ParameterError
        If p is not inside (0, 1) or rho not in [0, 1].
    """
    require_range("p", p, 1e-9, 1 - 1e-9)
    require_probability("rho", rho)
    a = float(ndtri(p))
    if voters is None:
        return float(ndtr(a / np.sqrt(rho))) if rho > 0 else float(p > 0.5) + 0.5 * (p == 0.5)
    require_count("voters", voters, 1, 1000)
    if rho > MOST_RHO:
        return p
    factor, weight = factor_nodes(rho, voters)
    return float(weight @ _majority(vote_probability(np.array(a), factor, rho), voters))


def vote_probability(lean: Floats, factor: Floats, rho: float) -> Floats:
    """P(a juror votes A) given its lean and the shared factor, rho below 1; broadcasts."""
    return np.asarray(ndtr((lean + np.sqrt(rho) * factor) / np.sqrt(1 - rho)))


def factor_nodes(rho: float, voters: int) -> tuple[Floats, Floats]:
    """Nodes and weights of the voters' shared factor: the trapezoidal rule, fine enough for a majority of so many."""
    if rho <= 0:
        return np.zeros(1), np.ones(1)
    width = min(1.0, float(np.sqrt((1 - rho) / rho)) * majority_width(voters))
    half = int(8.5 / (0.7 * width)) + 1
    nodes = 0.7 * width * np.arange(-half, half + 1)
    weight = np.exp(-(nodes**2) / 2)
    return np.asarray(nodes, dtype=np.float64), np.asarray(weight / weight.sum(), dtype=np.float64)


def majority_width(voters: int) -> float:
    """Width over which a majority turns, in units of one voter's: its slope grows with the square root of their number."""
    return min(1.0, float(np.sqrt(np.pi / (2 * voters))))
