"""Estimates with intervals, and the one result type that every engine and every family of protocols returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from .tables import plain

__all__ = ["Z95", "Estimate", "Result", "exact", "from_draws", "from_moments", "share"]

Z95 = float(ndtri(0.975))
"""Half-width of a normal 95 % interval, in standard errors."""


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval; an exact value has ``low == mean == high``.

    Parameters
    ----------
    mean, low, high : float
        The value and the ends of its 95 % confidence interval, in the unit of the quantity.
    """

    mean: float
    low: float
    high: float

    @property
    def is_exact(self) -> bool:
        """True where there is no sampling error."""
        return self.low == self.high

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2

    def to_json(self) -> dict[str, Any]:
        """``{"mean": x, "ci95": [low, high]}``; what is no number becomes null."""
        return {"mean": _finite(self.mean), "ci95": [_finite(self.low), _finite(self.high)]}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def exact(value: float) -> Estimate:
    """Return an estimate without sampling error."""
    return Estimate(float(value), float(value), float(value))


def share(count: int, samples: int) -> Estimate:
    """Estimate a probability from a count: Wilson's 95 % interval (Wilson 1927)."""
    if samples == 0:
        return Estimate(math.nan, 0.0, 1.0)
    p = count / samples
    z2 = Z95**2 / samples
    centre = (p + z2 / 2) / (1 + z2)
    half = Z95 * math.sqrt(p * (1 - p) / samples + z2 / (4 * samples)) / (1 + z2)
    low = 0.0 if count == 0 else centre - half
    high = 1.0 if count == samples else centre + half
    return Estimate(p, low, high)


def from_moments(total: float, total_of_squares: float, samples: int) -> Estimate:
    """Estimate a mean from sums over independent samples: normal 95 % interval.

    Parameters
    ----------
    total, total_of_squares : float
        Sum of the values and of their squares.
    samples : int
        Their number.
    """
    if samples == 0:
        return Estimate(math.nan, math.nan, math.nan)
    mean = total / samples
    if samples == 1:
        return Estimate(mean, -math.inf, math.inf)
    variance = max(total_of_squares - samples * mean**2, 0.0) / (samples - 1)
    half = Z95 * math.sqrt(variance / samples)
    return Estimate(mean, mean - half, mean + half)


def from_draws(value: float, drawn: npt.ArrayLike) -> Estimate:
    """Estimate with the percentile interval of resampled values (2.5 to 97.5 %), widened where it must be to hold the value itself.

    Parameters
    ----------
    value : float
        The estimate from all data.
    drawn : array_like of float, shape (draws,)
        The same figure on each resample.
    """
    low, high = np.quantile(np.asarray(drawn, dtype=float), [0.025, 0.975])
    return Estimate(float(value), min(float(low), float(value)), max(float(high), float(value)))


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a simulation found.

    Parameters
    ----------
    protocol, population : str
        Names.
    engine : {"exact", "mc", "reference"}
        Which engine ran.
    samples : int or None
        Number of simulated questions or items; None for the exact law.
    seed : int or None
        Seed of the random numbers; None for the exact law.
    means : mapping of str to Estimate or None
        By JSON key (``accuracy``, ``calls``, ``debate_calls``, ``depth``, ``prompt_tokens``, ...); None where the quantity does not exist
        (flips of a protocol without debate, kappa where every label is the same).
    shares : mapping of str to mapping of str to Estimate
        ``tiers`` and ``stop_reasons``: name to mass.
    quantiles : mapping of str to mapping of str to float
        For cost quantities: ``p50``, ``p95``, ``max`` per question.
    by_round : mapping of str to mapping of str to list of float
        Exact laws of debates: ``right_share``, by tier the expected share of right agents after each round if nothing stops it early.
    provenance : mapping
        Version, parameters, seed and engine: enough to run it again.
    notes : tuple of str
        What a reader must know (not calibrated, borrowed, conditional on the AUROC, interrupted).
    """

    protocol: str
    population: str
    engine: str
    samples: int | None
    seed: int | None
    means: Mapping[str, Estimate | None]
    shares: Mapping[str, Mapping[str, Estimate]]
    quantiles: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    by_round: Mapping[str, Mapping[str, list[float]]] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Estimate | None:
        """Give a mean by attribute: ``result.accuracy``."""
        if name.startswith("_") or name == "means":
            raise AttributeError(name)
        try:
            return self.means[name]
        except KeyError:
            raise AttributeError(name) from None

    def mean(self, name: str) -> Estimate:
        """Return a mean that must exist; raises KeyError if it does not."""
        estimate = self.means[name]
        if estimate is None:
            raise KeyError(name)
        return estimate

    def to_json(self) -> dict[str, Any]:
        """One plain object with the documented keys."""
        data: dict[str, Any] = {
            "protocol": self.protocol,
            "population": self.population,
            "engine": self.engine,
            "samples": self.samples,
            "seed": self.seed,
        }
        data.update({key: None if value is None else value.to_json() for key, value in self.means.items()})
        for key, masses in self.shares.items():
            data[key] = {name: estimate.mean for name, estimate in masses.items()}
            data[f"{key}_ci95"] = {name: [estimate.low, estimate.high] for name, estimate in masses.items()}
        data["quantiles"] = plain(self.quantiles)
        data.update({f"{key}_by_round": plain(tiers) for key, tiers in self.by_round.items()})
        data["notes"] = list(self.notes)
        data["provenance"] = plain(self.provenance)
        return data

    def to_records(self) -> list[dict[str, Any]]:
        """Rows (quantity, name, mean, low, high): one call turns them into a data frame."""
        rows = [
            {"quantity": key, "name": "", "mean": e.mean, "low": e.low, "high": e.high} for key, e in self.means.items() if e is not None
        ]
        rows += [
            {"quantity": key, "name": name, "mean": e.mean, "low": e.low, "high": e.high}
            for key, masses in self.shares.items()
            for name, e in masses.items()
        ]
        return rows
