r"""Nodes and weights over items: the judge's effective difference together with the human label.

With :math:`e = k x + B`, B normal with variance :math:`\sigma_B^2` (biases that persist), e is normal and the human side
:math:`h | e` is too, so the label's probabilities given e are in closed form; where nothing but e makes the label (no bias, no human noise)
they are steps. :func:`evidence` integrates over e by Gauss-Legendre panels that end at such steps and grow with the distance from the
places where the integrand bends.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from ..errors import InputError
from .items import ItemLaw

__all__ = ["Bend", "Evidence", "evidence", "normal_nodes", "shift_nodes"]

Floats = npt.NDArray[np.float64]

REACH = 8.5
MOST_SHIFTS, MOST_DEAR_SHIFTS = 2000, 300
"""Most nodes of a position shift: where a node costs little, and where it costs a law of its own."""
NODES = 12
_HERMITE = ((0.25, 6), (0.5, 10), (0.8, 16))
"""Largest sd in units of the integrand's width, and nodes that are exact to about 1e-9 there."""


@dataclass(frozen=True)
class Bend:
    """A place where an integrand bends, and over what width."""

    at: float
    width: float


@dataclass(frozen=True, eq=False)
class Evidence:
    """Nodes of the effective difference.

    Attributes
    ----------
    e : ndarray of float, shape (n,)
        Effective difference.
    weight : ndarray of float, shape (n, 3)
        Joint probability with the label (A, tie, B); sums to 1.
    """

    e: Floats
    weight: Floats


def evidence(items: ItemLaw, bias_variance: float, bends: Sequence[Bend], scale: float = 1.0, nodes: int = NODES) -> Evidence:
    r"""Nodes over :math:`e = scale\, x + B` and the label.

    Parameters
    ----------
    items : ItemLaw
        Law of x and of the label.
    bias_variance : float
        Variance of B.
    bends : sequence of Bend
        Where what will be integrated bends.
    scale : float
        Factor on x.
    nodes : int
        Nodes of a panel.
    """
    mean, spread = scale * items.mean_x, (scale * items.sigma_x) ** 2 + bias_variance
    sd = math.sqrt(spread)
    slope = scale * items.sigma_x**2 / spread
    rest = math.sqrt(max(items.sigma_x**2 - slope * scale * items.sigma_x**2, 0.0) + items.human_sd**2)
    steps = [mean + (band - items.mean_x) / slope for band in {-items.tie_band, items.tie_band}]
    smooth = [Bend(at, rest / slope) for at in steps] if rest > 1e-9 else []  # without a rest they are steps, and panels end there
    panels = _panels(mean - REACH * sd, mean + REACH * sd, sd, [*smooth, *bends], steps)
    node, weight = np.polynomial.legendre.leggauss(nodes)
    half = np.diff(panels) / 2
    e = (panels[:-1, None] + half[:, None] * (node[None, :] + 1)).ravel()
    density = (half[:, None] * weight[None, :]).ravel() * np.exp(-(((e - mean) / sd) ** 2) / 2)
    human = items.mean_x + slope * (e - mean)
    if rest > 1e-9:
        a, b = ndtr((human - items.tie_band) / rest), ndtr((-items.tie_band - human) / rest)
    else:
        a, b = (human > items.tie_band).astype(float), (human <= -items.tie_band).astype(float)
    label = np.stack([a, np.maximum(1 - a - b, 0.0), b], axis=1)
    return Evidence(e, label * (density / density.sum())[:, None])


def _panels(low: float, high: float, sd: float, bends: Sequence[Bend], steps: Sequence[float]) -> Floats:
    """Edges of panels, each no longer than 1.5 sd and than 1.5 times the distance to, or width of, every bend."""
    edges = sorted({low, high, *(at for at in (*steps, *(b.at for b in bends)) if low < at < high)})
    done = [edges[0]]
    stack = list(itertools.pairwise(edges))[::-1]
    while stack:
        a, b = stack.pop()
        allowed = 1.5 * sd
        for bend in bends:
            away = max(a - bend.at, bend.at - b, 0.0)
            allowed = min(allowed, 1.5 * max(bend.width, away, sd * 1e-6))
        if b - a > allowed:
            stack += [((a + b) / 2, b), (a, (a + b) / 2)]
        else:
            done.append(b)
    return np.array(done)


def normal_nodes(sd: float, width: float) -> tuple[Floats, Floats]:
    """Nodes and weights of Normal(0, sd^2) for an integrand that bends over ``width``.

    Gauss-Hermite quadrature where the integrand is smooth on the scale of sd, else the trapezoidal rule (spectrally accurate here).
    """
    if sd == 0:
        return np.zeros(1), np.ones(1)
    ratio = sd / max(width, 1e-3 * sd)
    for most, count in _HERMITE:
        if ratio <= most:
            node, weight = np.polynomial.hermite_e.hermegauss(count)
            return np.asarray(sd * node), np.asarray(weight / weight.sum())
    step = 0.7 / ratio
    half = math.ceil(7.5 / step)
    places = np.arange(-half, half + 1) * step
    density = np.exp(-(places**2) / 2)
    return np.asarray(sd * places, dtype=np.float64), np.asarray(density / density.sum())


def shift_nodes(sd: float, width: float, dear: bool) -> tuple[Floats, Floats]:
    """Nodes and weights of a position shift of this spread over items; ``dear`` where each costs a law of its own.

    Raises
    ------
    InputError
        If there would be too many of them.
    """
    nodes, weight = normal_nodes(sd, width)
    if len(nodes) > (MOST_DEAR_SHIFTS if dear else MOST_SHIFTS):
        raise InputError(
            f"the exact law does not reach a position shift that spreads so far over items (sd {sd:g}) beside a noise of {width:.2g}; "
            "use --engine mc or --engine reference."
        )
    return nodes, weight
