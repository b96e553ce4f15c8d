r"""Predicted against actual: fit on half of a log's questions, predict the other half, many times.

In each split the population is fitted on a random half and predicts, by the exact law, what the other half shows: accuracy of a plurality
by number of samples; accuracy and calls of sampling protocols that stop early, replayed on the logged answers by exact resampling
(:mod:`.resampling`); and, where the log holds a debate that may end early, in which round it ends, its calls and its accuracy
(:mod:`.within`).

Every actual figure is a mean of one number :math:`x_i` a question. A prediction that follows its training half has, by random halves of one
log,

.. math:: \mathrm{Var}(\bar x_{test} - \bar x_{train}) = S^2 (1/n_{test} + 1/n_{train}),

so the 95 % band is predicted :math:`\pm 1.96\, S \sqrt{1/n_{test} + 1/n_{train}}` with S the standard deviation over the training
questions. Coverage is the share of splits whose actual figure lies inside; a model that cannot follow its own training half falls below 95
%.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..model import Estimate, InputError, ParameterError, Population, Protocol, load_protocol
from ..model.exact import simulate, vote_accuracy
from ..model.result import Z95, from_draws
from .calibrate import Calibration, calibrate
from .calibrate.first_answers import FirstAnswers
from .calibrate.plurality import own_shares
from .logged_debate import OWN, Quantity, debate_quantities, own_debate
from .logs import ReasoningLog
from .resampling import replay
from .saved import SavedResult, provenance

__all__ = ["Check", "Validation", "validate"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_FEWEST = 20


@dataclass(frozen=True)
class Check:
    """One quantity over all splits.

    Parameters
    ----------
    name, unit : str
        What it is.
    actual : float
        On the whole log.
    predicted : float
        Mean prediction over the splits.
    error : Estimate
        Predicted minus actual of the held-out half: mean, and the central 95 % over the splits.
    band : float
        Mean half-width of the 95 % band.
    inside : float
        Share of splits inside their band.
    """

    name: str
    unit: str
    actual: float
    predicted: float
    error: Estimate
    band: float
    inside: float


@dataclass(frozen=True, kw_only=True)
class Validation(SavedResult):
    """How well a log's halves predict each other.

    Parameters
    ----------
    log : str
        File.
    questions, left_out : int
        Questions used, and those that lack one of the first answers that may be counted.
    splits, seed : int
        Number of random halves, and their seed.
    law : str
        Family of laws that the whole log chose; each half is fitted in it.
    debate : mapping
        The log's own debate, empty without one.
    checks : tuple of Check
        All quantities.
    inside : float
        Share of all (split, quantity) pairs of the sampling curves inside their band.
    debate_inside : float or None
        The same of the log's own debate; None without one.
    notes : tuple of str
        What a reader must know.
    provenance : mapping
        Version and parameters.
    """

    kind: ClassVar[str] = "validation"

    log: str
    questions: int
    left_out: int
    splits: int
    seed: int
    law: str
    debate: Mapping[str, Any]
    checks: tuple[Check, ...]
    inside: float
    debate_inside: float | None
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    def curves(self) -> dict[str, list[tuple[float, float, float, float]]]:
        """Predicted, actual, and the central 95 % of the actual halves around it, of all shares: points of a calibration plot."""
        found: dict[str, list[tuple[float, float, float, float]]] = {}
        for c in self.checks:
            if c.unit != "calls":
                kind = OWN if c.name.startswith(OWN) else c.name.partition(" ")[0].replace("_", " ")
                point = (c.predicted, c.actual, c.predicted - c.error.high, c.predicted - c.error.low)
                found.setdefault(kind, []).append(point)
        return found

    def to_records(self) -> list[dict[str, Any]]:
        """One row for each quantity."""
        return [
            {
                "quantity": c.name,
                "unit": c.unit,
                "actual": c.actual,
                "predicted": c.predicted,
                "error": c.error.mean,
                "error_low": c.error.low,
                "error_high": c.error.high,
                "band": c.band,
                "inside": c.inside,
            }
            for c in self.checks
        ]


def validate(
    log: ReasoningLog,
    *,
    splits: int = 200,
    seed: int = 0,
    debate: str | None = None,
    advance: Callable[[int], None] = lambda steps: None,
) -> Validation:
    """Validate on random half splits.

    Parameters
    ----------
    log : ReasoningLog
        The log.
    splits : int
        Number of random halves.
    seed : int
        Their seed.
    debate : str, optional
        Preset that the log's debate followed; by default it is read off the log.
    advance : callable
        Told of each split.

    Raises
    ------
    InputError
        If the log has fewer than 20 questions.
    """
    if not 2 <= splits <= 100_000:
        raise ParameterError("--splits", splits, "from 2 to 100000")
    fit = calibrate(log, draws=0)
    first = fit.first
    if len(first) < _FEWEST:
        raise InputError(f"{log.path} has {len(first)} questions that can be used; at least {_FEWEST} are needed for halves.")
    own, notes = own_debate(log, fit, debate)
    quantities = [*_sampling(first), *(debate_quantities(log, first, own) if own else [])]
    rng = np.random.default_rng(seed)
    rows = np.array([_one_split(fit, quantities, rng, advance) for _ in range(splits)])
    checks = tuple(_check(q, rows[:, k]) for k, q in enumerate(quantities))
    return Validation(
        log=str(log.path),
        questions=len(first),
        left_out=first.left_out,
        splits=splits,
        seed=seed,
        law=fit.choice.chosen.family.name,
        debate={} if own is None else dict(vars(own)),
        checks=checks,
        inside=float(np.mean([c.inside for c in checks if not c.name.startswith(OWN)])),
        debate_inside=float(np.mean([c.inside for c in checks if c.name.startswith(OWN)])) if own else None,
        notes=(*notes, *fit.warnings),
        provenance=provenance(command="validate", log=str(log.path), splits=splits, seed=seed, debate=debate),
    )


def _one_split(
    fit: Calibration, quantities: Sequence[Quantity], rng: np.random.Generator, advance: Callable[[int], None]
) -> list[list[float]]:
    """(predicted, actual of the other half, half-width of the band) of each quantity."""
    order = rng.permutation(len(fit.first))
    train, test = order[: len(order) // 2], order[len(order) // 2 :]
    population = fit.refit(fit.first.question[train])
    scale = math.sqrt(1 / len(train) + 1 / len(test))
    advance(1)
    return [
        [q.predict(population, train), float(q.actual[test].mean()), Z95 * float(q.actual[train].std(ddof=1)) * scale] for q in quantities
    ]


def _check(quantity: Quantity, rows: Floats) -> Check:
    predicted, actual, band = rows.T
    error = predicted - actual
    return Check(
        quantity.name,
        quantity.unit,
        float(quantity.actual.mean()),
        float(predicted.mean()),
        from_draws(float(error.mean()), error),
        float(band.mean()),
        float((np.abs(error) <= band + 1e-12).mean()),
    )


def _sampling(first: FirstAnswers) -> list[Quantity]:
    """Plurality by number of samples; early-stopping sampling, at most as long as nearly all questions have answers."""
    most = int(first.size.min())
    sizes = sorted({n for n in (1, 3, 5, 10, 16, 20, 40) if n <= most} | {most})
    found = [Quantity(f"plurality of {n}", "accuracy", own_shares(first, n), _vote_predictor(n)) for n in sizes]
    if most < 5:
        return found
    for name in ("adaptive_consistency", "esc"):
        protocol = replace(load_protocol(name), chains=most)
        exact = [replay(protocol, int(k), c) for k, c in zip(first.right, first.clusters, strict=True)]
        for unit in ("accuracy", "calls"):
            actual = np.array([getattr(r, unit) for r in exact])
            found.append(Quantity(f"{name} up to {most}", unit, actual, _predictor(protocol, unit)))
    return found


def _vote_predictor(n: int) -> Callable[[Population, Ints], float]:
    return lambda law, _: vote_accuracy(law, n)


def _predictor(protocol: Protocol, unit: str) -> Callable[[Population, Ints], float]:
    return lambda law, _: simulate(protocol, law).mean(unit).mean
