r"""Who debates, and for how long: gates that send a question to a tier.

A tier buys N agents and at most R rounds. A gate chooses the tier (or no debate):

* :class:`UncertaintyGate`: by the risk U = max_k u(k), u(k) = weight_h h(k) + weight_q q + weight_d d(k), against ascending bounds
  (UAAD, scheduler: U < .35, .35 <= U < .62, U >= .62).
* :class:`ConfidenceGate`: debate if the single chain states a confidence below a threshold (DOWN).
* :class:`OracleGate`: the tier with the highest probability of a right answer given the question's own (p, w), the cheapest on
  ties; no real router can know it, so it bounds what routing may gain.

q is the same for all steps: it moves the tier, never the target.
"""

from __future__ import annotations

from dataclasses import dataclass

from .checks import require_count, require_range
from .errors import ParameterError

__all__ = ["ConfidenceGate", "Gate", "OracleGate", "Tier", "UncertaintyGate"]

MOST_AGENTS = 64
MOST_ROUNDS = 64


@dataclass(frozen=True)
class Tier:
    """A size of debate.

    Parameters
    ----------
    name : str
        Name in results (``low``, ``medium``, ``high``; ``all`` where there is one tier only).
    agents : int
        Number of agents N, 1 to 64 (the exact law: up to 8).
    rounds : int
        Largest number of rounds R, 1 to 64 (the exact law: any; it is quick up to 5).
    """

    name: str
    agents: int
    rounds: int

    def __post_init__(self) -> None:
        require_count(f"tiers.{self.name}.agents", self.agents, 1, MOST_AGENTS)
        require_count(f"tiers.{self.name}.rounds", self.rounds, 1, MOST_ROUNDS)


@dataclass(frozen=True)
class UncertaintyGate:
    """Tier by step risk (UAAD).

    Parameters
    ----------
    bounds : tuple of float
        Ascending; tier t is chosen where exactly t bounds are at most U.
    weight_h, weight_q, weight_d : float
        Weights of token entropy, of the chains' disagreement and of contradiction, as used. An ablation drops one and renormalises the
        others to 1 (:meth:`without`).
    """

    bounds: tuple[float, ...] = (0.35, 0.62)
    weight_h: float = 0.45
    weight_q: float = 0.35
    weight_d: float = 0.20

    def __post_init__(self) -> None:
        for field in ("weight_h", "weight_q", "weight_d"):
            require_range(field, getattr(self, field), 0, 1)
        for bound in self.bounds:
            require_range("tau_low, tau_high", bound, 0, 2)
        if list(self.bounds) != sorted(self.bounds):
            raise ParameterError("tau_low, tau_high", self.bounds, "ascending bounds", "Give tau_low <= tau_high.")

    def without(self, signal: str, *, renormalise: bool = True) -> UncertaintyGate:
        """Drop a signal ("h", "q" or "d"); the other weights are scaled to the same sum unless ``renormalise`` is false."""
        weights = {"weight_h": self.weight_h, "weight_q": self.weight_q, "weight_d": self.weight_d}
        total = sum(weights.values())
        weights[f"weight_{signal}"] = 0.0
        rest = sum(weights.values())
        if renormalise and rest > 0:
            weights = {field: value * total / rest for field, value in weights.items()}
        return UncertaintyGate(self.bounds, **weights)


@dataclass(frozen=True)
class ConfidenceGate:
    """Debate only where the single chain's stated confidence (1 to 10) lies below a threshold (DOWN).

    Parameters
    ----------
    threshold : int
        1 (never debate) to 11 (always). Not published; 8 is our default, to be swept.
    """

    threshold: int = 8

    def __post_init__(self) -> None:
        require_count("threshold", self.threshold, 1, 11)


@dataclass(frozen=True)
class OracleGate:
    """Tier by the question's own exact P(right | p, w); the cheapest tier on ties."""


Gate = UncertaintyGate | ConfidenceGate | OracleGate
