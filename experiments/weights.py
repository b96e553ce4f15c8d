r"""Risk weights and tier thresholds from a log of steps that says which steps were faulty.

A step's risk is :math:`u = w_h h + w_q q + w_d d`, weights on the simplex. It is calibrated where P(faulty | u) = u, measured by the
expected calibration error over bins of equal mass,

.. math:: ECE = \sum_b \frac{n_b}{n} \, |\bar y_b - \bar u_b| .

The questions are split in halves. On one half weights are fitted: of all weights on a grid of .05 (and of .01 around the least-squares
weights), those whose ECE lies within its standard error of the least and that keep the order of high-risk steps (the concordance of u with
faults among the riskiest third within its standard error of the best) are as good by that criterion; among them the one with the least
Brier score :math:`\overline{(y - u)^2}` is taken, which is minimal at the true weights. Thresholds are the two cuts of U = max u that tell
questions with a faulty step best from those without, rising from tier to tier, each tier holding at least 5 % of the questions. The other
half shows reliability.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..model import Estimate, InputError, ParameterError, UncertaintyGate
from ..model.errors import FileFormatError
from ..model.result import from_draws, share
from .logs.rows import open_binary, open_table
from .logs.values import Record
from .saved import SavedResult, provenance

__all__ = ["Reliability", "StepLog", "Tiering", "WeightFit", "expected_calibration_error", "fit_weights", "read_steps"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_COLUMNS = ("question_id", "step", "h", "q", "d", "faulty")
_BINS = 15
_RESAMPLES = 100
_FEWEST = 40


@dataclass(frozen=True)
class StepLog:
    """Steps of candidate solutions.

    Attributes
    ----------
    path : str
        File.
    question : ndarray of int, shape (steps,)
        Which question.
    signals : ndarray of float, shape (steps, 3)
        h, q and d, each from 0 to 1.
    faulty : ndarray of bool, shape (steps,)
        Whether the step holds the error.
    """

    path: str
    question: Ints
    signals: Floats
    faulty: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Reliability:
    """One bin of a reliability diagram: mean risk, share of faulty steps with its 95 % interval, number of steps."""

    risk: float
    faulty: Estimate
    steps: int


@dataclass(frozen=True)
class Tiering:
    """What thresholds do to the held-out questions.

    Parameters
    ----------
    low, high : float
        Thresholds on U.
    shares : tuple of float
        Share of the questions in the low, medium and high tier.
    faulty : tuple of Estimate
        Share of each tier's questions that hold a faulty step.
    """

    low: float
    high: float
    shares: tuple[float, ...]
    faulty: tuple[Estimate, ...]


@dataclass(frozen=True, kw_only=True)
class WeightFit(SavedResult):
    """Fitted weights and thresholds.

    Parameters
    ----------
    log : str
        File.
    steps, questions : int
        Size of the log.
    weights : mapping of str to Estimate
        ``weight_h``, ``weight_q``, ``weight_d`` with 95 % bootstrap intervals.
    ece_fit : float
        Expected calibration error on the half that was fitted.
    ece : mapping of str to Estimate
        On the other half, of the fitted and of the published weights, with bootstrap intervals.
    concordance : mapping of str to float
        P(a faulty step's risk exceeds a clean step's) on the other half.
    reliability : mapping of str to tuple of Reliability
        Diagrams on the other half.
    tiers : mapping of str to Tiering
        Fitted and published thresholds, each with its own weights, on the other half.
    seed : int
        Of the split and the bootstrap.
    notes : tuple of str
        What a reader must know.
    provenance : mapping
        Version and parameters.
    """

    kind: ClassVar[str] = "weights"

    log: str
    steps: int
    questions: int
    weights: Mapping[str, Estimate]
    ece_fit: float
    ece: Mapping[str, Estimate]
    concordance: Mapping[str, float]
    reliability: Mapping[str, tuple[Reliability, ...]]
    tiers: Mapping[str, Tiering]
    seed: int
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    def curves(self) -> dict[str, list[tuple[float, float, float, float]]]:
        """Points of the reliability diagram: risk, observed share, its interval."""
        return {name: [(r.risk, r.faulty.mean, r.faulty.low, r.faulty.high) for r in rows] for name, rows in self.reliability.items()}

    def settings(self) -> str:
        """Options that make a simulation use the fit."""
        tiers = self.tiers["fitted"]
        words = [f"--set {name}={e.mean:.3g}" for name, e in self.weights.items()]
        return " ".join([*words, f"--set tau_low={tiers.low:.3g}", f"--set tau_high={tiers.high:.3g}"])

    def to_records(self) -> list[dict[str, Any]]:
        """One row for each bin of the diagrams."""
        return [
            {"weights": name, "risk": r.risk, "faulty": r.faulty.mean, "low": r.faulty.low, "high": r.faulty.high, "steps": r.steps}
            for name, rows in self.reliability.items()
            for r in rows
        ]


def read_steps(path: str | Path, column_map: Mapping[str, str] | None = None) -> StepLog:
    """Read a log of steps: CSV or JSON Lines with question_id, step, h, q, d (from 0 to 1) and faulty (yes or no).

    Raises
    ------
    FileFormatError
        If a column is missing or a value is none.
    ParameterError
        If ``column_map`` names a column that is not ours.
    """
    path = Path(path)
    names = dict(column_map or {})
    for ours, theirs in names.items():
        if ours not in _COLUMNS:
            raise ParameterError("--map", f"{ours}={theirs}", "a column of ours on the left: " + ", ".join(_COLUMNS))
    rows: list[tuple[str, float, float, float, bool]] = []
    with open_binary(path) as file:
        table = open_table(path, file)
        missing = [c for c in _COLUMNS if names.get(c, c) not in table.columns and c != "step"]
        if missing:
            raise FileFormatError(path, f"a log of steps needs {', '.join(missing)}; columns are {', '.join(table.columns)}. Use --map.", 1)
        for line, row in table.rows:
            record = Record(path, line, row, names)
            faulty = record.flag("faulty")
            h, q, d = (record.number(name, 0, 1) for name in ("h", "q", "d"))
            if faulty is None or math.isnan(h + q + d):
                raise FileFormatError(path, "a signal or the flag is missing; every step needs h, q, d and faulty.", line)
            rows.append((record.required("question_id"), h, q, d, faulty))
    if not rows:
        raise FileFormatError(path, "the file has a header but no rows.", 1)
    codes = {name: k for k, name in enumerate(dict.fromkeys(r[0] for r in rows))}
    return StepLog(
        str(path),
        np.array([codes[r[0]] for r in rows], dtype=np.int64),
        np.array([r[1:4] for r in rows], dtype=float),
        np.array([r[4] for r in rows]),
    )


def expected_calibration_error(risk: Floats, faulty: Floats, bins: int = _BINS) -> float:
    """Return the expected calibration error over bins of equal mass."""
    order = np.argsort(risk, kind="stable")
    parts = np.array_split(order, min(bins, len(order)))
    return float(sum(abs(float(faulty[p].sum() - risk[p].sum())) for p in parts) / len(order))


def concordance(risk: Floats, faulty: npt.NDArray[np.bool_]) -> float:
    """P(a faulty step's risk exceeds a clean step's), ties count half; NaN without both."""
    from scipy.stats import rankdata

    bad, good = int(faulty.sum()), int((~faulty).sum())
    if not bad or not good:
        return math.nan
    return float((rankdata(risk)[faulty].sum() - bad * (bad + 1) / 2) / (bad * good))


def fit_weights(log: StepLog, seed: int = 0) -> WeightFit:
    """Fit weights and thresholds on half of the questions; judge them on the other half.

    Raises
    ------
    InputError
        If there are fewer than 40 questions, or one half holds no faulty or no clean step.
    """
    questions = int(log.question.max()) + 1
    if questions < _FEWEST:
        raise InputError(f"{log.path} has {questions} questions; at least {_FEWEST} are needed for halves.")
    rng = np.random.default_rng(seed)
    half = np.zeros(questions, dtype=bool)
    half[rng.permutation(questions)[: questions // 2]] = True
    fit, test = half[log.question], ~half[log.question]
    for part, name in ((fit, "fitted"), (test, "held-out")):
        if log.faulty[part].all() or not log.faulty[part].any():
            raise InputError(
                f"{log.path}: the {name} half has no {'clean' if log.faulty[part].all() else 'faulty'} step; nothing can be told apart."
            )
    x, y = log.signals[fit], log.faulty[fit]
    weights = _best_weights(x, y, rng)
    published = UncertaintyGate()
    pairs = {
        "fitted": (weights, _best_thresholds(log, fit, weights)),
        "published": (np.array([published.weight_h, published.weight_q, published.weight_d]), published.bounds),
    }
    return WeightFit(
        log=log.path,
        steps=len(log.faulty),
        questions=questions,
        weights=_with_intervals(log, fit, weights, rng),
        ece_fit=expected_calibration_error(x @ weights, y.astype(float)),
        ece={name: _ece_interval(log, test, w, rng) for name, (w, _) in pairs.items()},
        concordance={name: concordance(log.signals[test] @ w, log.faulty[test]) for name, (w, _) in pairs.items()},
        reliability={name: _diagram(log.signals[test] @ w, log.faulty[test]) for name, (w, _) in pairs.items()},
        tiers={name: _tiering(log, test, w, bounds) for name, (w, bounds) in pairs.items()},
        seed=seed,
        notes=("Weights and thresholds are fitted on one random half of the questions; everything else is shown on the other half.",),
        provenance=provenance(command="calibrate-weights", log=log.path, seed=seed),
    )


def least_squares(x: Floats, y: Floats) -> Floats:
    """Weights on the simplex of the least mean squared error; exact, by trying every set of weights that are not 0."""
    best, best_loss = np.eye(3)[0], math.inf
    for size in (1, 2, 3):
        for support in combinations(range(3), size):
            w = _on_support(x, y, support)
            loss = float(np.mean((y - x @ w) ** 2))
            if (w >= -1e-12).all() and loss < best_loss:
                best, best_loss = np.maximum(w, 0), loss
    return np.asarray(best / best.sum())


def _on_support(x: Floats, y: Floats, support: Sequence[int]) -> Floats:
    """Least squares with sum 1 on a support: Lagrange's equations."""
    a = x[:, list(support)]
    k = len(support)
    system = np.block([[a.T @ a, np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]])
    solution = np.linalg.lstsq(system, np.append(a.T @ y, 1.0), rcond=None)[0]
    w = np.zeros(3)
    w[list(support)] = solution[:k]
    return w


def _simplex(step: float) -> Floats:
    count = round(1 / step)
    return np.array([[i, j, count - i - j] for i in range(count + 1) for j in range(count + 1 - i)]) / count


def _best_weights(x: Floats, y: npt.NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    values = y.astype(float)
    start = least_squares(x, values)
    fine = _simplex(0.01)
    grid = np.vstack([_simplex(0.05), fine[np.abs(fine - start).max(axis=1) <= 0.05], start])
    errors = np.array([expected_calibration_error(x @ w, values) for w in grid])
    order = np.array([_high_risk_concordance(x @ w, y) for w in grid])
    least, best = grid[int(errors.argmin())], grid[int(np.nanargmax(order))]
    ece_error, order_error = _noise(x, y, least, best, rng)
    as_good = (errors <= errors.min() + ece_error) & ~(order < np.nanmax(order) - order_error)
    if not as_good.any():
        as_good = errors <= errors.min() + ece_error
    brier = np.array([np.mean((values - x @ w) ** 2) for w in grid[as_good]])
    return np.asarray(grid[as_good][int(brier.argmin())])


def _high_risk_concordance(risk: Floats, faulty: npt.NDArray[np.bool_]) -> float:
    high = risk >= np.quantile(risk, 2 / 3)
    return concordance(risk[high], faulty[high])


def _noise(x: Floats, y: npt.NDArray[np.bool_], least: Floats, best: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """Return the standard errors, by bootstrap, of the least ECE and of the best concordance."""
    errors, orders = [], []
    for _ in range(50):
        rows = rng.integers(len(y), size=len(y))
        errors.append(expected_calibration_error(x[rows] @ least, y[rows].astype(float)))
        orders.append(_high_risk_concordance(x[rows] @ best, y[rows]))
    return float(np.std(errors)), float(np.nanstd(orders))


def _with_intervals(log: StepLog, fit: npt.NDArray[np.bool_], weights: Floats, rng: np.random.Generator) -> dict[str, Estimate]:
    """Bootstrap over questions of the least-squares weights, whose spread stands for the fit's."""
    rows = _rows_of(log.question, fit)
    spread = []
    for _ in range(_RESAMPLES):
        drawn = np.concatenate([rows[i] for i in rng.integers(len(rows), size=len(rows))])
        spread.append(least_squares(log.signals[drawn], log.faulty[drawn].astype(float)))
    names = ("weight_h", "weight_q", "weight_d")
    return {name: from_draws(weight, drawn) for name, weight, drawn in zip(names, weights, np.transpose(spread), strict=True)}


def _rows_of(question: Ints, part: npt.NDArray[np.bool_]) -> list[Ints]:
    rows = np.flatnonzero(part)
    rows = rows[np.argsort(question[rows], kind="stable")]
    return np.split(rows, np.flatnonzero(np.diff(question[rows])) + 1)


def _ece_interval(log: StepLog, part: npt.NDArray[np.bool_], weights: Floats, rng: np.random.Generator) -> Estimate:
    rows = _rows_of(log.question, part)
    y = log.faulty.astype(float)
    value = expected_calibration_error(log.signals[part] @ weights, y[part])
    spread = []
    for _ in range(_RESAMPLES):
        drawn = np.concatenate([rows[i] for i in rng.integers(len(rows), size=len(rows))])
        spread.append(expected_calibration_error(log.signals[drawn] @ weights, y[drawn]))
    return from_draws(value, spread)


def _diagram(risk: Floats, faulty: npt.NDArray[np.bool_]) -> tuple[Reliability, ...]:
    order = np.argsort(risk, kind="stable")
    parts = np.array_split(order, min(10, len(order)))
    return tuple(Reliability(float(risk[p].mean()), share(int(faulty[p].sum()), len(p)), len(p)) for p in parts)


def _questions(log: StepLog, part: npt.NDArray[np.bool_], weights: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """U and whether any step is faulty, of each question."""
    rows = _rows_of(log.question, part)
    risk = log.signals @ weights
    return np.array([risk[r].max() for r in rows]), np.array([log.faulty[r].any() for r in rows])


def _best_thresholds(log: StepLog, part: npt.NDArray[np.bool_], weights: Floats) -> tuple[float, float]:
    """Two cuts of U with the largest variance of fault rates between the tiers, rising from tier to tier."""
    u, bad = _questions(log, part, weights)
    cuts = np.unique(np.quantile(u, np.linspace(0.05, 0.95, 46)))
    best, best_between = (float(cuts[0]), float(cuts[-1])), -1.0
    for low, high in combinations(cuts.tolist(), 2):
        tiers = [bad[u < low], bad[(u >= low) & (u < high)], bad[u >= high]]
        if min(len(t) for t in tiers) < 0.05 * len(u):
            continue
        rates = [float(t.mean()) for t in tiers]
        between = sum(len(t) * (r - bad.mean()) ** 2 for t, r in zip(tiers, rates, strict=True))
        if rates == sorted(rates) and between > best_between:
            best, best_between = (low, high), between
    return best


def _tiering(log: StepLog, part: npt.NDArray[np.bool_], weights: Floats, bounds: Sequence[float]) -> Tiering:
    u, bad = _questions(log, part, weights)
    low, high = bounds
    tiers = [bad[u < low], bad[(u >= low) & (u < high)], bad[u >= high]]
    return Tiering(float(low), float(high), tuple(len(t) / len(u) for t in tiers), tuple(share(int(t.sum()), len(t)) for t in tiers))
