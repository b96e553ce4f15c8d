r"""The best tier for a question whose (p, w) is known.

P(right | p, w, tier) is a polynomial: the sum over chain compositions (i, j, s) of their probability times P(right | composition, tier).
The router takes the tier where it is highest, the cheapest (first) on ties.

What depends on the choice is smooth between the questions where the choice changes, but jumps there. These switches are found on a grid
and by bisection; between them the question's law is integrated by tanh-sinh quadrature in its quantiles. Where w has a Beta law, w is cut
in the same way where the sequence of choices along p changes, so that both integrals see smooth functions only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from ..difficulty import BetaDifficulty, BetaShare, FixedShare, question_law
from ..errors import ParameterError
from ..population import Population
from ..protocol import Protocol
from ..quadrature import beta_quantile, tanh_sinh
from ..tables import plain

__all__ = ["OracleRouter", "oracle_router"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_TIE = 1e-12
_GRID, _COARSE = 2001, 101
"""Points of the grids on which switches of the choice, and of its pattern, are looked for."""
_HALVINGS = 52
_INNER, _OUTER = 48, 16
"""Half the number of nodes in a piece of the inner and of the outer integral."""


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

    def right(self, p: npt.ArrayLike, w: npt.ArrayLike) -> Floats:
        """P(right | p, w) by tier; shape (tiers, ...) for p and w that broadcast to (...)."""
        p, w = np.broadcast_arrays(np.asarray(p, dtype=float), np.asarray(w, dtype=float))
        powers = [_powers(x, int(top.max())) for x, top in zip((p, (1 - p) * w, (1 - p) * (1 - w)), self.exponents.T, strict=True)]
        i, j, s = self.exponents.T
        terms = powers[0][i] * powers[1][j] * powers[2][s]
        # Sums one after the other, which a compiled kernel can repeat bit for bit.
        return np.stack([np.cumsum(row.reshape(-1, *(1,) * p.ndim) * terms, axis=0)[-1] for row in self.coefficients])

    def tiers(self, p: npt.ArrayLike, w: npt.ArrayLike) -> Ints:
        """Return the cheapest tier within rounding of the best, for p and w that broadcast."""
        right = self.right(p, w)
        return np.asarray((right >= right.max(axis=0) - _TIE).argmax(axis=0))

    def tier(self, p: float, w: float) -> int:
        """Return :meth:`tiers` of one question."""
        return int(self.tiers(p, w))

    def switches(self, w: float) -> list[float]:
        """Difficulties p in (0, 1) where the choice changes, ascending."""
        return _switches(lambda p: self.tiers(p, w).tolist(), _GRID)

    def question_law(self, degree: int) -> tuple[Floats, Floats, Floats]:
        """Nodes (p, w) and weights for functions that are polynomials of ``degree`` between the switches."""
        difficulty, share = self.population.difficulty, self.population.misconception
        lines: list[tuple[Floats, Floats, Floats]] = []
        if isinstance(difficulty, BetaDifficulty) and isinstance(share, FixedShare):
            lines = [self._line_of_difficulty(difficulty, float(share.w), 1.0)]
        elif isinstance(difficulty, BetaDifficulty) and isinstance(share, BetaShare):
            nodes = _nodes_between(share.a, share.b, _switches(self._patterns, _COARSE), _OUTER)
            lines = [self._line_of_difficulty(difficulty, float(w), float(weight)) for w, weight in zip(*nodes, strict=True)]
        elif isinstance(share, BetaShare):
            points = zip(*difficulty.nodes(degree), strict=True)
            lines = [self._line_of_share(share, float(p), float(weight)) for p, weight in points]
        if not lines:
            return question_law(difficulty, share, degree)
        p, w, weights = (np.concatenate(parts) for parts in zip(*lines, strict=True))
        return p, w, weights

    def _patterns(self, w: Floats) -> list[tuple[int, ...]]:
        """Sequence of choices along p, for each w."""
        grid = np.linspace(0.0, 1.0, _GRID)
        choices = (self.tiers(grid, x) for x in w)
        return [tuple(row[np.flatnonzero(np.diff(row, prepend=-1))].tolist()) for row in choices]

    def _line_of_difficulty(self, law: BetaDifficulty, w: float, mass: float) -> tuple[Floats, Floats, Floats]:
        p, weight = _nodes_between(law.a, law.b, self.switches(w), _INNER)
        inner = 1 - law.mass_zero - law.mass_one
        p, weight = np.array([0.0, 1.0, *p]), np.array([law.mass_zero, law.mass_one, *(inner * weight)])
        held = weight > 0
        return p[held], np.full(int(held.sum()), w), mass * weight[held]

    def _line_of_share(self, law: BetaShare, p: float, mass: float) -> tuple[Floats, Floats, Floats]:
        w, weight = _nodes_between(law.a, law.b, _switches(lambda x: self.tiers(p, x).tolist(), _GRID), _INNER)
        return np.full_like(w, p), w, mass * weight


def _powers(x: Floats, top: int) -> Floats:
    """Powers 0 to ``top`` of x by one product after the other; shape (top + 1, ...)."""
    return np.asarray(np.cumprod(np.stack([np.ones_like(x), *[x] * top]), axis=0), dtype=float)


def _switches(choose: Callable[[Floats], Sequence[object]], points: int) -> list[float]:
    """Points of (0, 1) where a choice changes, ascending: one in each cell of a grid, by bisection."""
    grid = np.linspace(0.0, 1.0, points)
    choice = choose(grid)
    cells = [k for k, (before, after) in enumerate(pairwise(choice)) if before != after]
    low, high = grid[cells], grid[[k + 1 for k in cells]]
    for _ in range(_HALVINGS if cells else 0):
        middle = (low + high) / 2
        stays = np.array([now == choice[k] for now, k in zip(choose(middle), cells, strict=True)])
        low, high = np.where(stays, middle, low), np.where(stays, high, middle)
    return [float(x) for x in (low + high) / 2]


def _nodes_between(a: float, b: float, switches: Sequence[float], half: int) -> tuple[Floats, Floats]:
    """Nodes and weights of Beta(a, b), piece by piece between the switches."""
    edges = betainc(a, b, np.array([0.0, *switches, 1.0]))
    node, weight = tanh_sinh(half)
    nodes = [beta_quantile(a, b, low + (high - low) * node) for low, high in pairwise(edges)]
    return np.concatenate(nodes), np.concatenate([(high - low) * weight for low, high in pairwise(edges)])


def _right_by_composition(protocol: Protocol, population: Population) -> dict[tuple[int, int, int], float]:
    """Count the chain sequences of each composition that end right, for a protocol of one tier without gate."""
    from .law import ExactLaw

    law = ExactLaw(protocol, population)
    opening = law.tier_openings[0]
    table: dict[tuple[int, int, int], float] = {}
    columns = (opening.right, opening.misconception, opening.stray, np.exp(opening.log_number), law.right_by_opening(0))
    for i, j, s, number, right in zip(*columns, strict=True):
        key = (int(i), int(j), int(s))
        table[key] = table.get(key, 0.0) + float(number * right)
    return table


@lru_cache(maxsize=32)
def _cached(protocol_key: str, population_key: str) -> OracleRouter:
    return OracleRouter(Protocol.from_dict(json.loads(protocol_key)), Population.from_dict(json.loads(population_key)))


def oracle_router(protocol: Protocol, population: Population) -> OracleRouter:
    """Return the router of a protocol on a population, made once."""
    return _cached(json.dumps(plain(protocol.to_dict())), json.dumps(plain(population.to_dict())))
