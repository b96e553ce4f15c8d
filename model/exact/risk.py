r"""The law of the tier, and of whether the target hits the faulty step, given the chains.

The score of a step is s = weight_h h + weight_d d, with distribution function :math:`G_0` on clean and :math:`G_1` on faulty steps; the
risk is :math:`U = \max_k s(k) + weight_q q`. With x the bound less the constant part,

.. math:: P(U < x) = G_0(x)^K \text{ (no fault shows)}, \qquad P(U < x) = G_1(x) G_0(x)^{K-1} \text{ (a fault shows)},

and the riskiest step is the faulty one, with U below x, with probability :math:`H(x) = \int^x G_0^{K-1} dG_1`. Where no fault shows, the
faulty step is any of the K alike: 1/K. A uniform target hits with probability 1/K.

H is summed over cells in each of which :math:`G_0` is taken to be linear in :math:`G_1`. Their edges crowd doubly exponentially to the
kinks of both; what remains is an expansion in even powers of the spacing, of which Romberg's scheme removes the first two terms.

G is the law of a weighted sum of two independent Beta variables (white box), :math:`G(x) = \int_0^1 F_h((x - B Q_d(v)) / A)\,dv` by
tanh-sinh quadrature between its two kinks, or a finite mixture of Beta laws (black box), or a law of atoms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from ..quadrature import beta_quantile, frozen, tanh_sinh
from ..scheduling import UncertaintyGate
from ..signals import Signals, variant_entropy
from .chains import MISCONCEPTION, RIGHT

__all__ = ["ScoreLaw", "tier_law"]

Floats = npt.NDArray[np.float64]

_CELLS = 192
"""Half the number of cells of a piece: hits are right to about 1e-8 or better."""


@dataclass(frozen=True)
class ScoreLaw:
    """Law of a step's score s = weight_h h + weight_d d.

    Parameters
    ----------
    weight_h, weight_d : float
        Weights.
    signals : Signals
        Laws of h and d.
    faulty : bool
        Whether the step is faulty.
    """

    weight_h: float
    weight_d: float
    signals: Signals
    faulty: bool

    @property
    def atoms(self) -> tuple[Floats, Floats] | None:
        """Values and masses where the law is discrete, else None."""
        if self.weight_d == 0 and self.weight_h == 0:
            return np.zeros(1), np.ones(1)
        if self.weight_d == 0 and self.signals.black_box:
            return self.weight_h * variant_entropy(self.signals.variants), self.signals.variant_law(self.faulty)
        return None

    @property
    def top(self) -> float:
        """Largest possible score."""
        return self.weight_h + self.weight_d

    @property
    def kinks(self) -> list[float]:
        """Scores where G is not smooth, ascending from 0 to the top."""
        values = variant_entropy(self.signals.variants) if self.signals.black_box else np.array([0.0, 1.0])
        return sorted({float(x) for x in np.add.outer(self.weight_h * values, [0.0, self.weight_d]).ravel()} | {0.0, self.top})

    def below(self, bound: float, offset: float) -> float:
        """P(s + offset < bound)."""
        atoms = self.atoms
        if atoms is not None:
            values, masses = atoms
            return float(min(1.0, masses[values + offset < bound].sum()))
        return float(self.cdf(np.array([bound - offset]))[0])

    def cdf(self, x: Floats) -> Floats:
        """G at each x (continuous laws); same shape."""
        x = np.asarray(x, dtype=float)
        if self.weight_d == 0:
            return _beta_cdf(self.signals.shapes_h(self.faulty), x / self.weight_h)
        shapes_d = self.signals.shapes_d(self.faulty)
        if self.weight_h == 0:
            return _beta_cdf(shapes_d, x / self.weight_d)
        if self.signals.black_box:
            entropies = self.weight_h * variant_entropy(self.signals.variants)
            parts = _beta_cdf(shapes_d, (x[..., None] - entropies) / self.weight_d)
            return np.asarray(parts @ self.signals.variant_law(self.faulty))
        start = _beta_cdf(shapes_d, (x - self.weight_h) / self.weight_d)[..., None]
        end = _beta_cdf(shapes_d, x / self.weight_d)[..., None]
        node, weight = tanh_sinh()
        d = beta_quantile(*shapes_d, start + (end - start) * node)
        inner = _beta_cdf(self.signals.shapes_h(self.faulty), (x[..., None] - self.weight_d * d) / self.weight_h)
        return np.asarray(start[..., 0] + (end - start)[..., 0] * (inner @ weight))


def _beta_cdf(shapes: tuple[float, float], x: Floats) -> Floats:
    return np.asarray(betainc(*shapes, np.clip(x, 0.0, 1.0)))


def _hits_below(clean: ScoreLaw, faulty: ScoreLaw, steps: int, bounds: Sequence[float], offset: float) -> list[float]:
    """P(the faulty step is the riskiest and U < bound), a fault showing, for each bound."""
    if faulty.atoms is not None and clean.atoms is not None:
        return [_atom_hits(clean.atoms, faulty.atoms, steps, bound, offset) for bound in bounds]
    return [_hits(clean, faulty, steps, min(max(bound - offset, 0.0), clean.top)) for bound in bounds]


def _atom_hits(clean: tuple[Floats, Floats], faulty: tuple[Floats, Floats], steps: int, bound: float, offset: float) -> float:
    total = 0.0
    for value, mass in zip(*faulty, strict=True):
        if value + offset < bound:
            lower = float(clean[1][clean[0] < value].sum())
            upto = float(clean[1][clean[0] <= value].sum())
            # The first of equal scores is targeted: j earlier steps lie below, the others not above.
            total += mass * sum(lower**j * upto ** (steps - 1 - j) for j in range(steps)) / steps
    return total


def _hits(clean: ScoreLaw, faulty: ScoreLaw, steps: int, top: float) -> float:
    """H(top), piece by piece between the kinks."""
    edges = [*(kink for kink in clean.kinks if kink < top), top]
    return math.fsum(_piece(clean, faulty, steps, low, high) for low, high in pairwise(edges))


@lru_cache(maxsize=4096)
def _piece(clean: ScoreLaw, faulty: ScoreLaw, steps: int, low: float, high: float) -> float:
    unit = _cell_edges()
    x = np.where(unit[0] < 0.5, low + (high - low) * unit[0], high - (high - low) * unit[1])
    g0, g1 = clean.cdf(x), faulty.cdf(x)
    return _romberg([_cells(g0[::skip], g1[::skip], steps) for skip in (4, 2, 1)])


@lru_cache(maxsize=1)
def _cell_edges() -> tuple[Floats, Floats]:
    """Edges of cells on [0, 1] and their distances from 1; 0 and 1 stand in for the first and the last of a tanh-sinh rule."""
    edges = tanh_sinh(_CELLS)[0].copy()
    edges[0], edges[-1] = 0.0, 1.0
    return edges, edges[::-1].copy()


def _cells(g0: Floats, g1: Floats, steps: int) -> float:
    """Integral of g0 ** (steps - 1) against g1 where g0 is linear in g1 within each cell."""
    low, high = g0[:-1], g0[1:]
    mean = sum(low**j * high ** (steps - 1 - j) for j in range(steps)) / steps
    return float(np.dot(mean, np.diff(g1)))


def _romberg(values: list[float]) -> float:
    """Limit of estimates whose spacing halves from one to the next."""
    order = 4.0
    while len(values) > 1:
        values = [fine + (fine - coarse) / (order - 1) for coarse, fine in pairwise(values)]
        order *= 4
    return values[0]


@lru_cache(maxsize=512)
def tier_law(gate: UncertaintyGate, signals: Signals, chains: int, target: str, *, with_hits: bool) -> Floats:
    """P(tier, target hits the faulty step | candidate kind, dominant count).

    Parameters
    ----------
    gate : UncertaintyGate
        Bounds and weights.
    signals : Signals
        Laws of the signals.
    chains : int
        M.
    target : {"riskiest", "uniform", "none"}
        Which step is targeted.
    with_hits : bool
        Whether hits matter (lam_focus is not 0); otherwise all mass is in "no hit".

    Returns
    -------
    ndarray, shape (3, M + 1, tiers, 2)
        Indexed by candidate kind, dominant count, tier, hit. Row 0 of the dominant count is empty.
    """
    steps, bounds = signals.steps, (*gate.bounds, np.inf)
    clean = ScoreLaw(gate.weight_h, gate.weight_d, signals, False)
    faulty = ScoreLaw(gate.weight_h, gate.weight_d, signals, True)
    table = np.zeros((3, chains + 1, len(bounds), 2))
    for dominant in range(1, chains + 1):
        offset = gate.weight_q * ((chains - dominant) / chains)
        clean_below = np.array([1.0 if b == np.inf else clean.below(b, offset) for b in bounds])
        faulty_below = np.array([1.0 if b == np.inf else faulty.below(b, offset) for b in bounds])
        hidden = np.diff(clean_below**steps, prepend=0.0)
        shown = np.diff(faulty_below * clean_below ** (steps - 1), prepend=0.0)
        shown_hits = shown / steps
        if with_hits and target == "riskiest":
            shown_hits = np.diff(_hits_below(clean, faulty, steps, bounds, offset), prepend=0.0)
        for kind in range(3):
            visible = 0.0 if kind == RIGHT else (signals.visibility if kind == MISCONCEPTION else 1.0)
            mass = visible * shown + (1 - visible) * hidden
            hits = visible * shown_hits + (1 - visible) * hidden / steps
            if not with_hits or kind == RIGHT or target == "none":
                hits = np.zeros_like(mass)
            table[kind, dominant, :, 0] = np.maximum(mass - hits, 0.0)
            table[kind, dominant, :, 1] = hits
    return frozen(table)
