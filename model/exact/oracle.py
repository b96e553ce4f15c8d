r"""The best tier for a question whose (p, w) is known.

P(right | p, w, tier) is a polynomial: the sum over chain compositions (i, j, s) of their probability times P(right | composition, tier). The router takes
the tier where it is highest, the cheapest (first) on ties. Where the choice changes is found on a fine grid and by bisection, so that the
question's law can be integrated piece by piece.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from ..difficulty import BetaDifficulty
from ..errors import ParameterError
from ..population import Population
from ..protocol import Protocol
from ..quadrature import beta_quantile, tanh_sinh

__all__ = ["OracleRouter", "oracle_router"]

Floats = npt.NDArray[np.float64]

_TIE = 1e-12
_GRID = 2001


class OracleRouter:
    """Tier of highest exact P(right | p, w).

    Parameters
    ----------
    protocol : Protocol
        With an oracle gate.
    population : Population
        Gives the response rule, the confidence law and the question's law.

    Attributes
    ----------
    exponents : ndarray of int, shape (E, 3)
        Compositions (right, misconception, stray) of the chains.
    coefficients : ndarray of float, shape (tiers, E)
        Number of sequences of the composition that end right.

    Raises
    ------
    ParameterError
        If moves depend on the question (iota > 0 or a fresh weight): the router is defined for copied answers only.
    """

    def __init__(self, protocol: Protocol, population: Population) -> None:
        rule = population.response
        if rule.iota > 0 or rule.fresh_weight > 0:
            raise ParameterError("iota", rule.iota, "0 for the oracle router", "It is defined where agents answer from what they see.")
        self.population = population
        tables = [_right_by_composition(replace(protocol, gate=None, tiers=(tier,)), population) for tier in protocol.tiers]
        keys = sorted(set().union(*tables))
        self.exponents = np.array(keys, dtype=np.int64)
        self.coefficients = np.array([[table.get(key, 0.0) for key in keys] for table in tables])

    def right(self, p: float, w: float) -> Floats:
        """P(right | p, w) by tier."""
        i, j, s = self.exponents.T
        powers = [np.cumprod([1.0, *[x] * int(top.max())]) for x, top in zip((p, (1 - p) * w, (1 - p) * (1 - w)), (i, j, s), strict=True)]
        # products and sums one after the other, which a compiled kernel can repeat bit for bit
        return np.asarray(np.cumsum(self.coefficients * (powers[0][i] * powers[1][j] * powers[2][s]), axis=1)[:, -1])

    def tier(self, p: float, w: float) -> int:
        """Return the cheapest tier within rounding of the best."""
        right = self.right(p, w)
        return int(np.flatnonzero(right >= right.max() - _TIE)[0])

    def breakpoints(self, w: float) -> list[float]:
        """Difficulties p in (0, 1) where the choice changes, ascending."""
        grid = np.linspace(0.0, 1.0, _GRID)
        choice = [self.tier(p, w) for p in grid]
        found = []
        for left, right, a, b in zip(grid[:-1], grid[1:], choice[:-1], choice[1:], strict=True):
            if a != b:
                found.append(self._switch(left, right, a, w))
        return found

    def _switch(self, left: float, right: float, before: int, w: float) -> float:
        for _ in range(60):
            middle = (left + right) / 2
            if self.tier(middle, w) == before:
                left = middle
            else:
                right = middle
        return (left + right) / 2

    def question_law(self, degree: int) -> tuple[Floats, Floats, Floats]:
        """Nodes (p, w) and weights that integrate piecewise polynomials with the router's breakpoints."""
        difficulty, share = self.population.difficulty, self.population.misconception
        if not isinstance(difficulty, BetaDifficulty):
            from ..difficulty import question_law

            return question_law(difficulty, share, degree)
        assert share is not None
        pieces: list[tuple[Floats, Floats, Floats]] = []
        for w, weight in zip(*share.nodes(max(degree, 40)), strict=True):
            p, weight_p = self._beta_pieces(difficulty, float(w))
            pieces.append((p, np.full_like(p, w), weight * weight_p))
        p, w_nodes, weights = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        return p, w_nodes, weights

    def _beta_pieces(self, difficulty: BetaDifficulty, w: float) -> tuple[Floats, Floats]:
        a, b = difficulty.a, difficulty.b
        inner = 1 - difficulty.mass_zero - difficulty.mass_one
        edges = betainc(a, b, np.array([0.0, *self.breakpoints(w), 1.0]))
        node, weight = tanh_sinh()
        points, weights = [np.array([0.0, 1.0])], [np.array([difficulty.mass_zero, difficulty.mass_one])]
        for low, high in zip(edges[:-1], edges[1:], strict=True):
            points.append(beta_quantile(a, b, low + (high - low) * node))
            weights.append(inner * (high - low) * weight)
        p, weight_p = np.concatenate(points), np.concatenate(weights)
        keep = weight_p > 0
        return p[keep], weight_p[keep]


def _right_by_composition(protocol: Protocol, population: Population) -> dict[tuple[int, int, int], float]:
    """Number of chain sequences of each composition that end right, for a protocol of one tier without gate."""
    from .law import ExactLaw

    law = ExactLaw(protocol, population)
    opening = law._tier_openings[0]
    table: dict[tuple[int, int, int], float] = {}
    columns = (opening.right, opening.misconception, opening.stray, np.exp(opening.log_number), law.right_by_opening(0))
    for i, j, s, number, right in zip(*columns, strict=True):
        key = (int(i), int(j), int(s))
        table[key] = table.get(key, 0.0) + float(number * right)
    return table


@lru_cache(maxsize=32)
def _cached(protocol_key: str, population_key: str) -> OracleRouter:
    import json

    return OracleRouter(Protocol.from_dict(json.loads(protocol_key)), Population.from_dict(json.loads(population_key)))


def oracle_router(protocol: Protocol, population: Population) -> OracleRouter:
    """Return the router of a protocol on a population, made once."""
    import json

    from ..tables import plain

    return _cached(json.dumps(plain(protocol.to_dict())), json.dumps(plain(population.to_dict())))
