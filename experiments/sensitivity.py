r"""Which inputs move an output: Sobol' indices of first and total order, with intervals.

For independent inputs X and Y = f(X),

.. math:: S_i = \frac{\mathrm{Var}(E[Y \mid X_i])}{\mathrm{Var}(Y)}, \qquad S_{Ti} = 1 - \frac{\mathrm{Var}(E[Y \mid X_{\sim
i}])}{\mathrm{Var}(Y)},

estimated from two Sobol' sequences of n points (Saltelli et al. 2010, :func:`scipy.stats.sobol_indices`) by n (d + 2) evaluations.
Intervals are the 2.5 and 97.5 % points of a seeded bootstrap over the n points. n doubles, reusing what was evaluated, until every
interval is narrow enough or the evaluations are used up; which of the two happened is said. Inputs whose intervals of the total index
overlap are not ranked against each other. A constant output is said to be constant; a value that is no number is an error that names
the inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..model import Estimate, InputError, ParameterError, Result
from ..model.result import from_draws
from .families import Case, find_case
from .inputs import Input, studied_inputs
from .saved import SavedResult, provenance

__all__ = ["ISHIGAMI", "SOBOL_G", "Index", "KnownFunction", "Sensitivity", "analyse", "sensitivity"]

Floats = npt.NDArray[np.float64]
Function = Callable[[Floats], Floats]
"""From points, shape (n, d), to outputs, shape (n, outputs)."""

_RESAMPLES = 400
_SAMPLES = 100_000


@dataclass(frozen=True)
class Index:
    """Indices of one input for one output.

    Parameters
    ----------
    output, input : str
        Names.
    first, total : Estimate
        First and total order index with 95 % interval.
    """

    output: str
    input: str
    first: Estimate
    total: Estimate


@dataclass(frozen=True, kw_only=True)
class Sensitivity(SavedResult):
    """What moves the outputs.

    Parameters
    ----------
    subject : str
        What was studied.
    outputs : tuple of str
        Outputs.
    inputs : tuple of Input
        Inputs with their laws.
    indices : tuple of Index
        For each output that is not constant, each input.
    ranking : mapping of str to tuple of tuple of str
        For each output, groups of inputs in falling order of influence; within a group the intervals overlap and nothing is said.
    constant : mapping of str to float
        Outputs that do not vary, with their value.
    spread : mapping of str to tuple of float
        For each output, mean and standard deviation over the inputs.
    points, evaluations : int
        n, and how many distinct evaluations were made.
    width : float
        Largest half-width that was asked for.
    narrow_enough : bool
        Whether it was reached for every index.
    seed : int
        Seed.
    notes : tuple of str
        What a reader must know.
    provenance : mapping
        Version and parameters.
    """

    kind: ClassVar[str] = "sensitivity"

    subject: str
    outputs: tuple[str, ...]
    inputs: tuple[Input, ...]
    indices: tuple[Index, ...]
    ranking: Mapping[str, tuple[tuple[str, ...], ...]]
    constant: Mapping[str, float]
    spread: Mapping[str, tuple[float, float]]
    points: int
    evaluations: int
    width: float
    narrow_enough: bool
    seed: int
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    def to_records(self) -> list[dict[str, Any]]:
        """One row for each output, input and order."""
        return [
            {"output": i.output, "input": i.input, "order": order, "index": e.mean, "low": e.low, "high": e.high}
            for i in self.indices
            for order, e in (("first", i.first), ("total", i.total))
        ]


class _Evaluations:
    """The function, each distinct point once."""

    def __init__(self, function: Function, inputs: Sequence[Input], outputs: int, advance: Callable[[int], None]) -> None:
        self._function = function
        self._inputs = inputs
        self._outputs = outputs
        self._advance = advance
        self._known: dict[bytes, Floats] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __call__(self, points: Floats) -> Floats:
        """Return the outputs, shape (outputs, n), at points of shape (n, d)."""
        keys = [row.tobytes() for row in points]
        new = {key: i for i, key in reversed(list(enumerate(keys))) if key not in self._known}
        if new:
            order = sorted(new.values())
            values = np.asarray(self._function(points[order]), dtype=float).reshape(len(order), self._outputs)
            self._refuse_missing(points[order], values)
            self._known.update({keys[i]: value for i, value in zip(order, values, strict=True)})
        self._advance(len(keys))
        return np.array([self._known[key] for key in keys]).T

    def _refuse_missing(self, points: Floats, values: Floats) -> None:
        bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if len(bad):
            row = points[bad[0]]
            where = ", ".join(f"{i.name} = {i.text(x)}" for i, x in zip(self._inputs, row, strict=True))
            raise InputError(
                f"{len(bad)} of {len(values)} evaluations are no numbers; the first is {values[bad[0]].tolist()} at {where}. "
                "Narrow the inputs to where the output exists, or choose another output."
            )


def analyse(
    function: Function,
    inputs: Sequence[Input],
    outputs: Sequence[str] = ("y",),
    *,
    subject: str = "function",
    width: float = 0.05,
    points: int = 64,
    most_evaluations: int = 100_000,
    seed: int = 0,
    notes: tuple[str, ...] = (),
    about: Mapping[str, Any] | None = None,
    advance: Callable[[int], None] = lambda steps: None,
) -> Sensitivity:
    """Estimate Sobol' indices, doubling the points until the intervals are narrow enough.

    Parameters
    ----------
    function : callable
        From points, shape (n, d), to outputs, shape (n, outputs).
    inputs : sequence of Input
        Laws of the inputs.
    outputs : sequence of str
        Names of the outputs.
    subject : str
        What is studied, for the reader.
    width : float
        Largest half-width of a 95 % interval.
    points : int
        First n, a power of 2.
    most_evaluations : int
        No doubling beyond n (d + 2) of these.
    seed : int
        Seed of the sequences and of the bootstrap; 0 is a seed like any other.
    notes, about
        Kept in the result.
    advance : callable
        Told how many evaluations are done.

    Raises
    ------
    InputError
        If an output is no number somewhere; the inputs are named.
    """
    if not inputs:
        raise ParameterError("--over", None, "at least one input")
    if points < 4 or points & (points - 1):
        raise ParameterError("points", points, "a power of 2, at least 4")
    if not 0 < width < 1:
        raise ParameterError("--width", width, "a number between 0 and 1")
    evaluate = _Evaluations(function, inputs, len(outputs), advance)
    n = points
    while True:
        f_a, f_b, f_ab = _evaluate_matrices(evaluate, inputs, n, seed)
        both = np.concatenate([f_a, f_b], axis=1)
        constant = [bool(np.ptp(both[k]) <= 1e-12 * max(1.0, float(np.abs(both[k]).max()))) for k in range(len(outputs))]
        constant = [c and bool(np.ptp(f_ab[:, k]) <= 1e-12) for k, c in enumerate(constant)]
        rows = [
            row
            for k, name in enumerate(outputs)
            if not constant[k]
            for row in _indices(name, inputs, f_a[[k]], f_b[[k]], f_ab[:, [k]], seed)
        ]
        enough = all(e.half_width <= width for row in rows for e in (row.first, row.total))
        if enough or 2 * n * (len(inputs) + 2) > most_evaluations:
            break
        n *= 2
    return Sensitivity(
        subject=subject,
        outputs=tuple(outputs),
        inputs=tuple(inputs),
        indices=tuple(rows),
        ranking={name: rank([r for r in rows if r.output == name]) for k, name in enumerate(outputs) if not constant[k]},
        constant={name: float(f_a[k, 0]) for k, name in enumerate(outputs) if constant[k]},
        spread={name: (float(both[k].mean()), float(both[k].std())) for k, name in enumerate(outputs)},
        points=n,
        evaluations=len(evaluate),
        width=width,
        narrow_enough=enough,
        seed=seed,
        notes=notes,
        provenance=provenance(**(about or {"command": "sensitivity"})),
    )


def _evaluate_matrices(evaluate: _Evaluations, inputs: Sequence[Input], n: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Evaluate at A, B and AB (column i of A from B): shapes (s, n), (s, n), (d, s, n)."""
    from scipy.stats import qmc

    d = len(inputs)
    u = qmc.Sobol(d=2 * d, scramble=True, rng=np.random.default_rng(seed)).random(n)
    a, b = (np.column_stack([x.at(part[:, i]) for i, x in enumerate(inputs)]) for part in (u[:, :d], u[:, d:]))
    f_ab = []
    for i in range(d):
        mixed = a.copy()
        mixed[:, i] = b[:, i]
        f_ab.append(evaluate(mixed))
    return evaluate(a), evaluate(b), np.array(f_ab)


def _indices(output: str, inputs: Sequence[Input], f_a: Floats, f_b: Floats, f_ab: Floats, seed: int) -> list[Index]:
    """Return the indices of one output with bootstrap intervals."""
    first, total = _saltelli(f_a, f_b, f_ab)
    rng = np.random.default_rng([seed, 1])
    n = f_a.shape[1]
    samples = np.array([_saltelli(f_a[:, i], f_b[:, i], f_ab[..., i]) for i in (rng.integers(n, size=n) for _ in range(_RESAMPLES))])
    return [
        Index(output, x.name, from_draws(first[i], samples[:, 0, i]), from_draws(total[i], samples[:, 1, i])) for i, x in enumerate(inputs)
    ]


def _saltelli(f_a: Floats, f_b: Floats, f_ab: Floats) -> tuple[Floats, Floats]:
    from scipy.stats import sobol_indices

    found = sobol_indices(func={"f_A": f_a, "f_B": f_b, "f_AB": f_ab}, n=f_a.shape[1])
    return np.atleast_1d(found.first_order), np.atleast_1d(found.total_order)


def rank(rows: Sequence[Index]) -> tuple[tuple[str, ...], ...]:
    """Group the inputs in falling order of the total index; a new group begins where an interval lies below all earlier ones."""
    groups: list[list[str]] = []
    lowest = math.inf
    for row in sorted(rows, key=lambda r: -r.total.mean):
        if not groups or row.total.high < lowest:
            groups.append([])
        groups[-1].append(row.input)
        lowest = min(lowest, row.total.low)
    return tuple(tuple(group) for group in groups)


def sensitivity(
    protocol: str,
    population: str | None = None,
    over: Sequence[str] = (),
    outputs: Sequence[str] = ("accuracy", "calls"),
    settings: Mapping[str, str] | None = None,
    *,
    prices: Path | None = None,
    model: str | None = None,
    samples: int | None = None,
    width: float = 0.05,
    most_evaluations: int = 4000,
    seed: int = 0,
    advance: Callable[[int], None] = lambda steps: None,
) -> Sensitivity:
    """Study a protocol on a population by the exact law.

    Parameters
    ----------
    protocol, population, settings, prices, model
        As for one simulation.
    over : sequence of str
        Inputs, ``key=low:high`` or ``key=value,...``; by default all that is uncertain or unpublished.
    outputs : sequence of str
        Means of a result.
    samples : int, optional
        Use Monte Carlo with this many questions for each evaluation; all evaluations share their random numbers. By default the exact law,
        and 100,000 questions where a panel is too large for it.
    width, most_evaluations, seed, advance
        As of :func:`analyse`.

    Raises
    ------
    ParameterError
        If an input or an output means nothing here.
    """
    fixed = dict(settings or {})
    case = find_case(protocol, population, fixed, prices, model)
    inputs = studied_inputs(over, case.protocol, case.population, fixed)

    def one(row: Floats) -> list[float]:
        here = {**fixed, **{x.name: x.text(v) for x, v in zip(inputs, row, strict=True)}}
        result = _law(find_case(protocol, population, here, prices, model), samples, seed)
        for name in outputs:
            if name not in result.means:
                raise ParameterError("--output", name, "one of " + ", ".join(result.means))
        return [math.nan if (e := result.means[name]) is None else e.mean for name in outputs]

    notes = _law(case, samples, seed).notes
    return analyse(
        lambda points: np.array([one(row) for row in points]),
        inputs,
        outputs,
        subject=f"{case.protocol.name} on {case.population.name}",
        width=width,
        most_evaluations=most_evaluations,
        seed=seed,
        notes=tuple(notes),
        about={
            "command": "sensitivity",
            "protocol": case.protocol.to_dict(),
            "population": case.population.to_dict(),
            "settings": fixed,
            "over": [[x.name, x.low, x.high, list(x.levels)] for x in inputs],
            "samples": samples,
            "seed": seed,
        },
        advance=advance,
    )


def _law(case: Case, samples: int | None, seed: int) -> Result:
    """Return the exact law; Monte Carlo where it is asked for, or where a panel is too large for the exact law."""
    if samples is None:
        try:
            return case.exact()
        except ParameterError as error:
            if "for the exact law" not in error.allowed:
                raise
    return case.monte_carlo(samples=samples or _SAMPLES, seed=seed)


@dataclass(frozen=True)
class KnownFunction:
    """A test function whose indices are known in closed form.

    Parameters
    ----------
    name : str
        Name.
    inputs : tuple of Input
        Laws.
    function : callable
        From points, shape (n, d), to values, shape (n,).
    first, total : tuple of float
        Its indices.
    """

    name: str
    inputs: tuple[Input, ...]
    function: Callable[[Floats], Floats]
    first: tuple[float, ...]
    total: tuple[float, ...]


def _ishigami() -> KnownFunction:
    a, b = 7.0, 0.1
    v1 = (1 + b * math.pi**4 / 5) ** 2 / 2
    v2 = a**2 / 8
    v13 = b**2 * math.pi**8 * (1 / 18 - 1 / 50)
    v = v1 + v2 + v13
    inputs = tuple(Input(f"x{i}", -math.pi, math.pi) for i in (1, 2, 3))

    def f(x: Floats) -> Floats:
        return np.asarray(np.sin(x[:, 0]) + a * np.sin(x[:, 1]) ** 2 + b * x[:, 2] ** 4 * np.sin(x[:, 0]))

    return KnownFunction("ishigami", inputs, f, (v1 / v, v2 / v, 0.0), ((v1 + v13) / v, v2 / v, v13 / v))


def _sobol_g() -> KnownFunction:
    a = np.array([0.0, 1.0, 4.5, 9.0, 99.0, 99.0])
    part = 1 / (3 * (1 + a) ** 2)
    v = float(np.prod(1 + part) - 1)
    total = part * np.array([np.prod(1 + np.delete(part, i)) for i in range(len(a))])
    inputs = tuple(Input(f"x{i + 1}", 0.0, 1.0) for i in range(len(a)))

    def f(x: Floats) -> Floats:
        return np.asarray(np.prod((np.abs(4 * x - 2) + a) / (1 + a), axis=1))

    return KnownFunction("sobol-g", inputs, f, tuple((part / v).tolist()), tuple((total / v).tolist()))


ISHIGAMI = _ishigami()
"""sin x1 + 7 sin^2 x2 + 0.1 x3^4 sin x1 on [-pi, pi]^3 (Ishigami and Homma 1990)."""

SOBOL_G = _sobol_g()
"""Product of (|4 x_i - 2| + a_i)/(1 + a_i), a = 0, 1, 4.5, 9, 99, 99 (Saltelli and Sobol' 1995)."""
