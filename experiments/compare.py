r"""Protocols side by side on the same questions, at equal cost where asked.

Every draw is a function of (seed, question, purpose, slot), so two protocols on one seed meet the same questions, the same chains and
the same signals (common random numbers): their difference D is sampled question by question, and its variance :math:`V(A) + V(B) -
2\,Cov(A, B)` is far below that of two separate runs. What is counted is the joint table of both protocols' outcomes, in integers.

Where the exact law is within reach of both, the difference of the *means* is exact and said to be so; sampling then serves what the two
laws alone do not know: how often the two disagree on a question, and how a study of n questions would see it.

**Equal cost.** The dearer of two protocols is thinned: each question, by a coin that knows nothing of it, gets that protocol with the
probability that makes the mean costs equal, and a single chain otherwise (for judging: a single judge); see :mod:`.thinning`. This is a
budget that every user of the dearer one could choose; cleverer ways to spend less (a smaller panel, an earlier stop) are protocols of
their own: name them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..model import Estimate, InputError, InterruptedRunError, ParameterError, Protocol, Result
from ..model.checks import require_count, require_range
from ..model.result import exact, share
from .families import Case, find_case, judging_case, reasoning_case
from .options import read_settings
from .paired import mcnemar, paired_mean, tango
from .pairing import classes_of, joint_task
from .saved import SavedResult, provenance
from .thinning import thin_exact, thin_sampled

__all__ = ["COSTS", "Comparison", "EqualCost", "PairedDifference", "compare", "find_cases"]

COSTS = ("calls", "tokens", "usd")
_MEANS = ("calls", "debate_calls", "depth", "prompt_tokens", "completion_tokens", "usd")
_MOST_PROTOCOLS = 12


@dataclass(frozen=True, kw_only=True)
class EqualCost:
    """Two protocols at the mean cost of the cheaper one.

    Parameters
    ----------
    by : str
        What is equal: calls, tokens (prompt and completion) or usd.
    thinned : str
        The dearer protocol, thinned.
    otherwise : str
        What the other questions get.
    share : Estimate
        Share of questions that get the dearer protocol.
    accuracy : Estimate
        Accuracy of the first minus that of the second, one of them thinned.
    """

    by: str
    thinned: str
    otherwise: str
    share: Estimate
    accuracy: Estimate


@dataclass(frozen=True, kw_only=True)
class PairedDifference:
    """First minus second, question by question.

    Parameters
    ----------
    first, second : str
        Names.
    accuracy : Estimate
        Difference of accuracies: exact where both exact laws are known, else as sampled.
    sampled : Estimate
        The sampled difference with its McNemar-style (Tango) 95 % interval.
    p_value : float or None
        McNemar's exact test of no difference, on the sampled questions; None where credit may be half.
    only_first, only_second : Estimate
        Share of questions where the first, and the second, earns more.
    costs : mapping of str to Estimate
        Differences of calls, debate calls, depth, tokens and money: exact or sampled as ``accuracy``.
    equal_cost : EqualCost or None
        Where asked.
    """

    first: str
    second: str
    accuracy: Estimate
    sampled: Estimate
    p_value: float | None
    only_first: Estimate
    only_second: Estimate
    costs: Mapping[str, Estimate]
    equal_cost: EqualCost | None = None


@dataclass(frozen=True, kw_only=True)
class Comparison(SavedResult):
    """Protocols on the same questions.

    Parameters
    ----------
    population : str
        Name.
    samples, seed : int
        Questions sampled, and the key.
    protocols : tuple of Result JSON
        Each protocol by itself: the exact law where it applies, else the same questions.
    differences : tuple of PairedDifference
        All pairs.
    notes : tuple of str
        What a reader must know.
    provenance : mapping
        Enough to run it again.
    """

    kind: ClassVar[str] = "comparison"

    population: str
    samples: int
    seed: int
    protocols: tuple[Mapping[str, Any], ...]
    differences: tuple[PairedDifference, ...]
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any]

    def to_records(self) -> list[dict[str, Any]]:
        """Rows (first, second, quantity, mean, low, high)."""
        rows = []
        for pair in self.differences:
            values = {"accuracy": pair.accuracy, "accuracy_sampled": pair.sampled, **pair.costs}
            if pair.equal_cost is not None:
                values[f"accuracy_at_equal_{pair.equal_cost.by}"] = pair.equal_cost.accuracy
            rows += [
                {"first": pair.first, "second": pair.second, "quantity": key, "mean": e.mean, "low": e.low, "high": e.high}
                for key, e in values.items()
            ]
        return rows


def find_cases(
    protocols: Sequence[str],
    population: str | None = None,
    settings: Mapping[str, str] | None = None,
    prices: Path | None = None,
    model: str | None = None,
) -> list[Case]:
    """Put together the cases of a comparison.

    Parameters
    ----------
    protocols : sequence of str
        ``NAME`` or ``NAME:key=value,key=value``; the latter's settings are its own, and its name in results.
    population, prices, model
        As for a single case.
    settings : mapping
        For every protocol that a key means something for.

    Raises
    ------
    InputError
        If a name or a setting is unknown, or a shared setting means nothing for any of them.
    """
    shared = dict(settings or {})
    split = [_split(text) for text in protocols]
    for key, value in shared.items():
        refusals = []
        for name, own in split:
            try:
                find_case(name, population, {key: value} | own, prices, model)
            except ParameterError as error:
                refusals.append(error)
        if len(refusals) == len(split):
            raise refusals[0]
    cases = []
    for text, (name, own) in zip(protocols, split, strict=True):
        find_case(name, population, own, prices, model)  # what is its own must mean something
        case = find_case(name, population, shared | own, prices, model, skip_meaningless=True)
        cases.append(_renamed(case, text, prices, model) if own else case)
    return cases


def _renamed(case: Case, name: str, prices: Path | None, model: str | None) -> Case:
    make: Callable[..., Case] = reasoning_case if isinstance(case.protocol, Protocol) else judging_case
    return make(replace(case.protocol, name=name), case.population, prices=prices, model=model)


def _split(text: str) -> tuple[str, dict[str, str]]:
    name, _, own = text.partition(":")
    return name.strip(), read_settings(own.split(",")) if own else {}


def _require_pairs(cases: Sequence[Case]) -> str:
    """Family of the cases, which must meet the same questions."""
    if not 2 <= len(cases) <= _MOST_PROTOCOLS:
        raise ParameterError("protocols", len(cases), f"2 to {_MOST_PROTOCOLS} of them")
    names = [case.protocol.name for case in cases]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError("protocols", name, "each once", f"Give one of them settings of its own: {name}:key=value.")
    families = {isinstance(case.protocol, Protocol) for case in cases}
    if len(families) > 1:
        raise ParameterError("protocols", ", ".join(names), "protocols of one family (questions, or judging pairs of answers)")
    reasoning = families.pop()
    laws = {repr(_question_law(case)) for case in cases}
    if len(laws) > 1:
        raise ParameterError("population", "different question laws", "one for all", "Set a, b and w for all protocols with --set.")
    return "reasoning" if reasoning else "judging"


def _question_law(case: Case) -> object:
    if isinstance(case.protocol, Protocol):
        return case.population.difficulty, case.population.misconception
    return case.population


def _exact_or_none(case: Case) -> Result | None:
    """Return the exact law's result; None where it is out of reach (large panels)."""
    try:
        return case.exact()
    except InputError:
        return None


def compare(
    cases: Sequence[Case],
    *,
    samples: int | None = None,
    seed: int = 0,
    equal_cost: str | None = None,
    precision: float | None = None,
    progress: Callable[[int], None] | None = None,
    **where: Any,
) -> Comparison:
    """Compare protocols on the same questions.

    Parameters
    ----------
    cases : sequence of Case
        Two or more, of one family, with one law of the question.
    samples : int, optional
        Questions (items for judging); 1,000,000 by default.
    seed : int
        64-bit key.
    equal_cost : {"calls", "tokens", "usd"}, optional
        Also compare each pair at equal mean cost.
    precision : float, optional
        Stop as soon as the 95 % half-width of every difference of accuracies is at most this.
    progress : callable, optional
        Told the number of questions done since the last time.
    **where
        ``threads``, ``scheduler``, ``local_cluster`` or ``pool``, as for ``adjourn.vectorized.simulate``.

    Returns
    -------
    Comparison

    Raises
    ------
    ParameterError
        If the cases cannot be paired, or an option lies outside its range.
    InterruptedRunError
        On Ctrl-C; ``partial`` holds the comparison of what was done.
    """
    from ..vectorized.backends import Where
    from ..vectorized.driver import DEFAULT_SAMPLES, Interrupted, Run, State

    family = _require_pairs(cases)
    most = DEFAULT_SAMPLES if samples is None else samples
    require_count("samples", most, 1, 10**12)
    if precision is not None:
        require_range("precision", precision, 1e-6, 0.5)
    if equal_cost is not None and equal_cost not in COSTS:
        raise ParameterError("equal_cost", equal_cost, "one of " + ", ".join(COSTS))
    study = _Study(cases, family, seed, equal_cost)

    def precise(state: State) -> bool:
        return all(d.sampled.half_width <= (precision or 0) for d in study.comparison(state, results=False).differences)

    try:
        state = Run(study.task, progress=progress).upto(most, Where(**where), None if precision is None else precise)
    except Interrupted as stop:
        partial = study.comparison(stop.state, f"{stop} of at most {most:,}") if stop.state.done else None
        raise InterruptedRunError(f"{stop}.", partial) from None
    return study.comparison(state)


class _Study:
    """Cases, what is exact about them, and what is counted."""

    def __init__(self, cases: Sequence[Case], family: str, seed: int, equal_cost: str | None) -> None:
        self.cases = list(cases)
        self.family = family
        self.seed = seed
        self.by = equal_cost
        self.exact = [_exact_or_none(case) for case in cases]
        self.pairs = list(itertools.combinations(range(len(cases)), 2))
        everyone = list(cases)
        if equal_cost is not None:
            everyone.append(_cheapest(cases[0], family))
        self.base_exact = None if equal_cost is None else _exact_or_none(everyone[-1])
        self.classes = [classes_of(case) for case in everyone]
        base = (len(cases),) if equal_cost is not None else ()
        self.task = joint_task(everyone, self.classes, [(*pair, *base) for pair in self.pairs], seed)
        self.base_name = everyone[-1].protocol.name

    def comparison(self, state: Any, *notes: str, results: bool = True) -> Comparison:
        """Turn counts into the comparison."""
        tables = self.task.tables(state.counts)
        differences = tuple(self._difference(pair, table) for pair, table in zip(self.pairs, tables, strict=True))
        singles = [self._result(c, state.done) for c in range(len(self.cases))] if results else []
        return Comparison(
            population=self.cases[0].population.name,
            samples=state.done,
            seed=self.seed,
            protocols=tuple(result.to_json() for result in singles),
            differences=differences,
            notes=(*self._notes(singles), *notes),
            provenance=provenance(samples=state.done, seed=self.seed, protocols=[c.protocol.name for c in self.cases], equal_cost=self.by),
        )

    def _result(self, c: int, done: int) -> Result:
        known = self.exact[c]
        if known is not None:
            return known
        return self.cases[c].monte_carlo(samples=done, seed=self.seed)

    def _notes(self, singles: Sequence[Result]) -> tuple[str, ...]:
        sampled = [case.protocol.name for case, known in zip(self.cases, self.exact, strict=True) if known is None]
        how = (
            f"means are sampled for {', '.join(sampled)} (the exact law is out of reach)"
            if sampled
            else "means and their differences are exact; sampling serves how often two protocols disagree on a question"
        )
        own = dict.fromkeys(note for result in singles for note in result.notes)
        return (how, *own)

    def _difference(self, pair: tuple[int, int], table: npt.NDArray[np.int64]) -> PairedDifference:
        first, second = (self.cases[c] for c in pair)
        a, b = (self.classes[c] for c in pair)
        joint = table if table.ndim == 2 else table.sum(axis=2)
        counted = joint * (a.counted[:, None] & b.counted[None, :])
        gain = a.credit[:, None] - b.credit[None, :]
        more, less, n = int(counted[gain > 0].sum()), int(counted[gain < 0].sum()), int(counted.sum())
        whole = bool(np.isin(gain[counted > 0], (-1.0, 0.0, 1.0)).all())
        sampled = tango(more, less, n) if whole and n else paired_mean(counted, gain)
        costs = {}
        for name in _MEANS:
            if name in a.costs and name in b.costs:
                known = self._exact_difference(pair, name)
                costs[name] = known or paired_mean(joint, a.costs[name][:, None] - b.costs[name][None, :])
        return PairedDifference(
            first=first.protocol.name,
            second=second.protocol.name,
            accuracy=self._exact_difference(pair, "accuracy") or sampled,
            sampled=sampled,
            p_value=mcnemar(more, less) if whole else None,
            only_first=share(more, n),
            only_second=share(less, n),
            costs=costs,
            equal_cost=None if self.by is None else self._equal_cost(pair, table),
        )

    def _exact_difference(self, pair: tuple[int, int], name: str) -> Estimate | None:
        values = [known.means.get(name) if known is not None else None for known in (self.exact[c] for c in pair)]
        if values[0] is None or values[1] is None:
            return None
        return exact(values[0].mean - values[1].mean)

    def _equal_cost(self, pair: tuple[int, int], table: npt.NDArray[np.int64]) -> EqualCost:
        names = ("prompt_tokens", "completion_tokens") if self.by == "tokens" else (str(self.by),)
        known = [self.exact[pair[0]], self.exact[pair[1]], self.base_exact]
        if all(result is not None for result in known):
            cost = [sum(result.mean(name).mean for name in names) for result in known if result is not None]
            thinned = thin_exact(cost, [result.mean("accuracy").mean for result in known if result is not None])
        else:
            classes = [self.classes[c] for c in (*pair, len(self.cases))]
            axes = [tuple(slice(None) if i == axis else None for i in range(3)) for axis in range(3)]
            costs = [np.sum([k.costs[name] for name in names], axis=0).astype(float)[at] for k, at in zip(classes, axes, strict=True)]
            counted = classes[0].counted[axes[0]] & classes[1].counted[axes[1]]
            thinned = thin_sampled(table, costs, [k.credit[at] for k, at in zip(classes, axes, strict=True)], counted.astype(float))
        name = self.cases[pair[thinned.which]].protocol.name
        return EqualCost(by=str(self.by), thinned=name, otherwise=self.base_name, share=thinned.share, accuracy=thinned.difference)


def _cheapest(case: Case, family: str) -> Case:
    """Return the single chain (for judging the single judge) on the population of a case."""
    made = reasoning_case("cot", case.population) if family == "reasoning" else judging_case("single_judge", case.population)
    return replace(made, pricing=case.pricing)
