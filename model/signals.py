r"""Steps and their uncertainty signals.

A candidate solution has K steps. A wrong candidate has its error in step J, uniform on 1..K; a right one has none. Step k shows

* h(k), the normalised token entropy: Beta with given mean and concentration on clean steps, the same concentration and a higher
  mean on the faulty step;
* d(k), the mean contradiction probability: likewise;
* q = 1 - (dominant share of the M chains), the same for all steps.

The faulty step's mean is solved from an AUROC, P(signal of a faulty step > signal of a clean step), which people can read: 0.5 is
uninformative. A shared misconception shows as faulty only with probability ``visibility``; otherwise its signals are those of a
clean solution. Signals never read correctness directly.

In black-box mode h(k) is the normalised entropy of the clusters of M' aligned variants of the step: each variant agrees with the
main wording with probability v (clean or faulty) and is otherwise unique, so with a ~ Binomial(M', v) agreeing,

.. math:: h = \Bigl[-\tfrac{a}{M'} \log \tfrac{a}{M'} + \tfrac{M' - a}{M'} \log M'\Bigr] / \log M'.

The risk of step k is u(k) = 0.45 h(k) + 0.35 q + 0.20 d(k), and U = max over k (UAAD, step risk; see :mod:`.scheduling`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import betainc, binom

from .checks import require_count, require_one_of, require_positive, require_probability, require_range
from .errors import ParameterError
from .quadrature import beta_quantile, tanh_sinh

__all__ = ["MOST_STEPS", "Signals", "beta_shapes", "faulty_agreement", "faulty_mean", "variant_entropy"]

Floats = npt.NDArray[np.float64]

MOST_STEPS = 64
_MEAN_EDGE = 1e-3
LEAST_SHAPES = (0.1, 0.5)
"""Smallest shape parameters of a clean step's Beta law: below, double precision cannot tell scores near 0 or 1 apart."""


@dataclass(frozen=True, kw_only=True)
class Signals:
    """Laws of the step signals.

    Parameters
    ----------
    steps : int
        Number of steps K of a solution, 1 to 64. Not published; 6 is our assumption.
    mean_h, concentration_h, mean_d, concentration_d : float
        Mean and concentration of the Beta laws on clean steps.
    auroc_h, auroc_d : float
        P(faulty step's signal exceeds a clean step's), 0.5 to below 1. Nobody has published these; 0.75 is our assumption, to be
        swept.
    visibility : float
        Probability that a shared misconception shows as faulty. 0.5 is our assumption, to be swept.
    mode : {"white-box", "black-box"}
        White-box h is token entropy; black-box h is the entropy of the clusters of step variants.
    variants : int
        Number M' of aligned variants of a step (black-box), 2 to 32.
    agreement : float
        Probability that a variant of a clean step agrees with the main wording (black-box).
    """

    steps: int = 6
    mean_h: float = 0.20
    concentration_h: float = 10.0
    mean_d: float = 0.10
    concentration_d: float = 10.0
    auroc_h: float = 0.75
    auroc_d: float = 0.75
    visibility: float = 0.5
    mode: str = "white-box"
    variants: int = 5
    agreement: float = 0.8

    def __post_init__(self) -> None:
        require_count("steps", self.steps, 1, MOST_STEPS)
        for field in ("mean_h", "mean_d", "agreement"):
            require_range(field, getattr(self, field), _MEAN_EDGE, 1 - _MEAN_EDGE)
        for field in ("concentration_h", "concentration_d"):
            require_positive(field, getattr(self, field), high=1e4, low=0.1)
        for signal in ("h", "d"):
            self._require_shapes(
                f"mean_{signal}, concentration_{signal}", getattr(self, f"mean_{signal}"), getattr(self, f"concentration_{signal}")
            )
        for field in ("auroc_h", "auroc_d"):
            require_range(field, getattr(self, field), 0.5, 1)
        require_probability("visibility", self.visibility)
        require_one_of("mode", self.mode, ("white-box", "black-box"))
        require_count("variants", self.variants, 2, 32)
        # Solved here, once, so that an AUROC out of reach is refused at the edge.
        if self.mode == "black-box":
            faulty_agreement(self.agreement, self.variants, self.auroc_h)
        else:
            faulty_mean(self.mean_h, self.concentration_h, self.auroc_h, "auroc_h")
        faulty_mean(self.mean_d, self.concentration_d, self.auroc_d, "auroc_d")

    @staticmethod
    def _require_shapes(fields: str, mean: float, concentration: float) -> None:
        low, high = beta_shapes(mean, concentration)
        if low < LEAST_SHAPES[0] or high < LEAST_SHAPES[1]:
            allowed = f"mean * concentration of at least {LEAST_SHAPES[0]:g} and (1 - mean) * concentration of at least {LEAST_SHAPES[1]:g}"
            raise ParameterError(fields, (mean, concentration), allowed, "Below, steps tie at 0 or at 1: raise the concentration.")

    @property
    def black_box(self) -> bool:
        """True where h is the entropy of step variants."""
        return self.mode == "black-box"

    def shapes_h(self, faulty: bool) -> tuple[float, float]:
        """Beta shape parameters of h (white-box)."""
        mean = faulty_mean(self.mean_h, self.concentration_h, self.auroc_h, "auroc_h") if faulty else self.mean_h
        return beta_shapes(mean, self.concentration_h)

    def shapes_d(self, faulty: bool) -> tuple[float, float]:
        """Beta shape parameters of d."""
        mean = faulty_mean(self.mean_d, self.concentration_d, self.auroc_d, "auroc_d") if faulty else self.mean_d
        return beta_shapes(mean, self.concentration_d)

    def variant_law(self, faulty: bool) -> Floats:
        """P(a variants agree), a = 0..variants (black-box); shape (variants + 1,)."""
        v = faulty_agreement(self.agreement, self.variants, self.auroc_h) if faulty else self.agreement
        return _binomial(self.variants, v)


def _binomial(n: int, v: float) -> Floats:
    a = np.arange(n + 1)
    return np.asarray(binom(n, a) * v**a * (1.0 - v) ** (n - a), dtype=float)


def beta_shapes(mean: float, concentration: float) -> tuple[float, float]:
    """Shape parameters of the Beta law with given mean and concentration a + b."""
    return mean * concentration, (1 - mean) * concentration


def variant_entropy(variants: int) -> Floats:
    """Normalised entropy h when a = 0..variants of the variants agree; shape (variants + 1,). Not monotone at a = 0, 1 (both 1)."""
    values = [1.0, 1.0]
    for a in range(2, variants + 1):
        share = a / variants
        values.append((-share * math.log(share) + (1 - share) * math.log(variants)) / math.log(variants))
    return np.asarray(np.clip(values, 0.0, 1.0))


@lru_cache(maxsize=1024)
def faulty_mean(mean: float, concentration: float, auroc: float, field: str) -> float:
    """Mean of the faulty step's Beta law that gives the AUROC against the clean law of the same concentration.

    Parameters
    ----------
    mean, concentration : float
        Of the clean step's Beta law.
    auroc : float
        P(faulty step's signal exceeds a clean step's), 0.5 to below 1.
    field : str
        Name of the AUROC, for messages.

    Raises
    ------
    ParameterError
        If no mean up to 0.999 gives so high an AUROC.
    """
    if auroc == 0.5:
        return mean
    clean = beta_shapes(mean, concentration)
    v, weight = tanh_sinh()

    def excess(candidate: float) -> float:
        faulty = beta_shapes(candidate, concentration)
        return float(np.dot(weight, betainc(*clean, beta_quantile(*faulty, v)))) - auroc

    top = 1 - _MEAN_EDGE
    if excess(top) < 0:
        raise ParameterError(field, auroc, f"from 0.5 to {excess(top) + auroc:.4f} with these means and concentrations")
    return _root(excess, mean, top)


def _root(excess: Callable[[float], float], uninformative: float, extreme: float) -> float:
    """Root between the value whose AUROC is 1/2 and the most extreme one; an AUROC within rounding of 1/2 changes nothing."""
    if excess(uninformative) >= 0:
        return uninformative
    return float(brentq(excess, min(uninformative, extreme), max(uninformative, extreme), xtol=1e-13, rtol=1e-13))


@lru_cache(maxsize=1024)
def faulty_agreement(agreement: float, variants: int, auroc: float) -> float:
    """Agreement probability on a faulty step that gives the AUROC of the black-box entropy (ties count half).

    Parameters
    ----------
    agreement : float
        Probability that a variant of a clean step agrees with the main wording.
    variants : int
        Number of variants.
    auroc : float
        P(faulty step's entropy exceeds a clean step's), 0.5 to below 1.

    Raises
    ------
    ParameterError
        If even an agreement of 0 does not give so high an AUROC.
    """
    if auroc == 0.5:
        return agreement
    h = variant_entropy(variants)
    clean = _binomial(variants, agreement)
    greater = (h[:, None] > h[None, :]) + 0.5 * (h[:, None] == h[None, :])

    def excess(v: float) -> float:
        return float(_binomial(variants, v) @ greater @ clean) - auroc

    if excess(0.0) < 0:
        raise ParameterError("auroc_h", auroc, f"from 0.5 to {excess(0.0) + auroc:.4f} with this agreement and number of variants")
    return _root(excess, agreement, 0.0)
