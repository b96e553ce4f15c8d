r"""UAAD's tables: the replay that it describes, and beside it the stochastic model on calibrated populations.

Model values are exact laws at the chosen unknowns. Their interval is the central 95 % of what the paper's 100 questions a set would show
(binomial for shares, normal for means); their spread is over all combinations of the unknowns M, K, AUROC and mean entropy; and the truth's
advantage lambda runs over its published interval. Averages weigh the four sets alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ...model import FileFormatError, Population, Protocol, load_population, load_protocol
from ...model.exact import ExactLaw
from ...model.outcomes import Costs, OutcomeSpace
from ...model.response import Copying
from ...model.result import Z95
from ..saved import provenance
from .replay import Replay, replay
from .rows import FITTED, NOT_POSSIBLE, PREDICTED, Choice, Reproduction, Row, Simulated, make_row, read_choices, read_file

__all__ = ["reproduce_uaad"]

_SECTIONS = ("paper", "source", "choices", "datasets", "replay", "row")
_PROTOCOLS = (
    "fixed_mad",
    "cot_sc",
    "down",
    "uaad",
    "uaad_no_entropy",
    "uaad_no_consistency",
    "uaad_uniform_target",
    "uaad_no_stop",
)
_UNKNOWNS = ("chains", "steps", "auroc", "mean_h", "lam", "phi", "budget")
_FLAT = 0.01


@dataclass(frozen=True)
class _Setting:
    """One value of every unknown."""

    chains: int
    steps: int
    auroc: float
    mean_h: float
    lam: float
    phi: float
    budget: int
    stress: bool = False


@dataclass(frozen=True)
class _Law:
    """What the exact law of one protocol on one set says: means, and variances over questions."""

    mean: Mapping[str, float]
    variance: Mapping[str, float]


class _Model:
    """Exact laws of all protocols on all sets, each made once."""

    def __init__(self, datasets: Mapping[str, str]) -> None:
        self.populations = {name: load_population(source) for name, source in datasets.items()}
        self.law: Callable[[str, str, _Setting], _Law] = lru_cache(maxsize=None)(self._law)

    @property
    def sets(self) -> list[str]:
        """Names of the sets."""
        return list(self.populations)

    def pair(self, protocol: str, dataset: str, s: _Setting) -> tuple[Protocol, Population]:
        """Protocol and population at one setting."""
        policy, law = load_protocol(protocol), self.populations[dataset]
        if protocol == "cot_sc":
            policy = replace(policy, chains=s.budget)
        elif protocol.startswith("uaad"):
            policy = replace(policy, chains=s.chains)
        response = law.response
        assert isinstance(response, Copying)
        response = replace(response, lam=s.lam, phi=s.phi if s.stress else response.phi)
        signals = replace(law.signals, steps=s.steps, auroc_h=s.auroc, auroc_d=s.auroc, mean_h=s.mean_h)
        return policy, replace(law, response=response, signals=signals)

    def _law(self, protocol: str, dataset: str, s: _Setting) -> _Law:
        policy, law = self.pair(protocol, dataset, s)
        space = OutcomeSpace(policy)
        mass = ExactLaw(policy, law).masses().ravel()
        mass = mass / mass.sum()
        costs = Costs(space, law)
        _, tier, _, _, candidate, right = space.coordinates
        several = np.array([False, *(t.agents > 1 for t in policy.tiers)])[tier]
        wrong_after_right = float(mass[(candidate == 1) & (right == 0)].sum() / mass[candidate == 1].sum())
        sent = [float(mass[several & (candidate == c)].sum() / max(mass[candidate == c].sum(), 1e-300)) for c in (0, 1)]
        values = {
            "accuracy": right.astype(float),
            "debate_calls": costs.debate_calls.astype(float),
            "calls": costs.calls.astype(float),
            "depth": costs.depth.astype(float),
            "tokens": costs.prompt_tokens + costs.completion_tokens,
        }
        mean = {name: float(mass @ x) for name, x in values.items()}
        variance = {name: float(mass @ (x - mean[name]) ** 2) for name, x in values.items()}
        mean |= {"right_to_wrong": wrong_after_right, "candidate_right": float(mass[candidate == 1].sum()), "routing": sent[0] - sent[1]}
        return _Law(mean, variance)

    def average(self, protocol: str, quantity: str, s: _Setting) -> float:
        """Mean over the sets."""
        return sum(self.law(protocol, d, s).mean[quantity] for d in self.sets) / len(self.sets)


def reproduce_uaad(path: Path | None = None, advance: Callable[[int], None] = lambda steps: None) -> Reproduction:
    """Re-derive UAAD's tables.

    Parameters
    ----------
    path : Path, optional
        Input file; the shipped one by default.
    advance : callable
        Told of each row.

    Raises
    ------
    FileFormatError
        If the file is no such input.
    """
    data = read_file(path, "uaad.toml", _SECTIONS)
    where = str(path or "uaad.toml")
    choices = read_choices(data["choices"], where)
    for name in _UNKNOWNS:
        if name not in choices:
            raise FileFormatError(where, f"[choices] lacks {name}.")
    model = _Model(data["datasets"])
    base = _setting(choices)
    replays = _replays(model, data["replay"], base, where)
    figures = _Figures(model, choices, base, int(data["replay"]["questions"]), replays, data["replay"]["slots"])
    rows: list[Row] = []
    for entry in data["row"]:
        rows.append(figures.row(entry, where))
        advance(1)
    uncalibrated = [d for d, p in model.populations.items() if not p.calibrated]
    return Reproduction(
        paper=str(data["paper"]),
        source=str(data["source"]),
        rows=tuple(rows),
        choices=tuple(choices.values()),
        notes=(
            "The replay's accuracies are inputs: base level and correction slots are assigned, so its gain over Fixed MAD is put in.",
            "Calls 7.6, calls without the stop 11.4 and depth 1.67 are jointly impossible for every M (adjourn audit uaad).",
            f"Not calibrated, so illustrations only: {', '.join(uncalibrated)}. No public data fix them on GPT-3.5.",
            "Model intervals: what 100 questions a set would show. Spreads: over M, K, AUROC and mean entropy; lambda over its interval.",
        ),
        provenance=provenance(command="reproduce uaad", file=where, contents=data),
    )


def _setting(choices: Mapping[str, Choice], **changes: float) -> _Setting:
    taken = {name: choice.value for name, choice in choices.items()} | changes
    return _Setting(
        chains=int(taken["chains"]),
        steps=int(taken["steps"]),
        auroc=taken["auroc"],
        mean_h=taken["mean_h"],
        lam=taken["lam"],
        phi=taken["phi"],
        budget=int(taken["budget"]),
    )


def _replays(model: _Model, table: Mapping[str, Any], base: _Setting, where: str) -> dict[str, dict[str, Replay]]:
    found = {}
    for dataset in model.sets:
        try:
            numbers = {key: int(table[key][dataset]) for key in ("initial", "slots")}
            seed, questions = int(table["seed"]), int(table["questions"])
        except (KeyError, TypeError, ValueError):
            raise FileFormatError(where, f"[replay] needs seed, questions, and initial and slots of {dataset}.") from None
        if not 0 <= numbers["initial"] + numbers["slots"] <= questions <= 10_000:
            raise FileFormatError(where, f"[replay] of {dataset}: initial + slots must lie between 0 and {questions} questions.")
        pairs = {name: model.pair(name, dataset, base) for name in _PROTOCOLS}
        protocols = {name: pair[0] for name, pair in pairs.items()}
        found[dataset] = replay(protocols, pairs["uaad"][1], seed=seed, questions=questions, **numbers)
    return found


@dataclass(frozen=True)
class _Figures:
    """Computes the figures that rows name."""

    model: _Model
    choices: Mapping[str, Choice]
    base: _Setting
    questions: int
    replays: Mapping[str, Mapping[str, Replay]]
    slots: Mapping[str, int]

    def row(self, entry: Mapping[str, Any], where: str) -> Row:
        """Work out one row."""
        kind, *words = entry["figure"].split()
        makers: dict[str, Callable[..., _Found]] = {
            "accuracy": self._accuracy,
            "debate_calls": self._mean,
            "calls": self._mean,
            "depth": self._mean,
            "change": self._change,
            "stress": self._stress,
            "largest_drop": self._largest_drop,
            "routing": self._routing,
            "accuracy_change": self._accuracy_change,
        }
        try:
            replayed, modelled, note = makers[kind](kind, *words)
        except (KeyError, TypeError) as error:
            raise FileFormatError(where, f"row {entry['id']}: cannot work out figure = {entry['figure']!r} ({error}).") from None
        if "reported" not in entry:
            replayed, modelled = (replayed[0], NOT_POSSIBLE), (modelled[0], NOT_POSSIBLE)
        return make_row(entry, replayed, modelled, note, where)

    # -- values ---------------------------------------------------------------------------------------------------------------------------

    def _spread(self, value: Callable[[_Setting], float]) -> dict[str, float]:
        """Smallest and largest over the unknowns, and over lambda."""
        names = ("chains", "steps", "auroc", "mean_h")
        grid = product(*(self.choices[name].values for name in names))
        over = [value(self.base), *(value(_setting(self.choices, **dict(zip(names, point, strict=True)))) for point in grid)]
        lam = [value(_setting(self.choices, lam=x)) for x in self.choices["lam"].values]
        return {"choices_low": min(over), "choices_high": max(over), "lam_low": min(lam), "lam_high": max(lam)}

    def _simulated(self, value: Callable[[_Setting], float], error: float) -> Simulated:
        """Model value with the interval of ``error`` standard errors' width around it."""
        at = value(self.base)
        return Simulated(at, at - Z95 * error, at + Z95 * error, **self._spread(value))

    def _of_replay(self, value: Callable[[Mapping[str, Replay]], float]) -> Simulated:
        at = sum(value(r) for r in self.replays.values()) / len(self.replays)
        return Simulated(at, at, at)

    def _accuracy(self, _: str, protocol: str, dataset: str) -> _Found:
        from scipy.stats import binom

        def value(s: _Setting) -> float:
            return 100 * self.model.law(protocol, dataset, s).mean["accuracy"]

        at = value(self.base)
        low, high = (100 * float(binom.ppf(q, self.questions, at / 100)) / self.questions for q in (0.025, 0.975))
        simulated = Simulated(at, min(low, at), max(high, at), **self._spread(value))
        replayed = 100 * self.replays[dataset][protocol].accuracy
        assigned = protocol == "fixed_mad" or protocol.startswith("uaad")
        note = "" if self.model.populations[dataset].calibrated else "The population is not calibrated: an illustration."
        if protocol == "uaad" and self.replays[dataset][protocol].slots < self.slots[dataset]:
            used = self.replays[dataset][protocol].slots
            note += f" Only {used} of {self.slots[dataset]} slots found a wrong question that several agents debate."
        return (Simulated(replayed, replayed, replayed), FITTED if assigned else PREDICTED), (simulated, PREDICTED), note

    def _mean(self, quantity: str, protocol: str) -> _Found:
        simulated = self._simulated(lambda s: self.model.average(protocol, quantity, s), self._error(protocol, quantity))
        return (self._of_replay(lambda r: getattr(r[protocol], quantity)), PREDICTED), (simulated, PREDICTED), ""

    def _error(self, protocol: str, quantity: str) -> float:
        """Return the standard error of the mean over the sets, each of the paper's number of questions."""
        variances = [self.model.law(protocol, d, self.base).variance[quantity] for d in self.model.sets]
        return math.sqrt(sum(variances) / self.questions) / len(variances)

    def _change(self, _: str, quantity: str) -> _Found:
        def value(s: _Setting) -> float:
            return 100 * (self.model.average("uaad", quantity, s) / self.model.average("fixed_mad", quantity, s) - 1)

        error = 100 * self._error("uaad", quantity) / self.model.average("fixed_mad", quantity, self.base)
        before = self._of_replay(lambda r: getattr(r["fixed_mad"], quantity)).value
        after = self._of_replay(lambda r: getattr(r["uaad"], quantity)).value
        change = 100 * (after / before - 1)
        return (Simulated(change, change, change), PREDICTED), (self._simulated(value, error), PREDICTED), ""

    def _stress(self, _: str, protocol: str) -> _Found:
        def value(s: _Setting) -> float:
            return 100 * self.model.average(protocol, "right_to_wrong", replace(s, stress=True))

        under = replace(self.base, stress=True)
        laws = [self.model.law(protocol, d, under).mean for d in self.model.sets]
        variances = [m["right_to_wrong"] * (1 - m["right_to_wrong"]) / (self.questions * m["candidate_right"]) for m in laws]
        error = 100 * math.sqrt(sum(variances)) / len(variances)
        simulated = self._simulated(value, error)
        phi = [value(_setting(self.choices, phi=x)) for x in self.choices["phi"].values]
        note = f"Over phi {min(self.choices['phi'].values):g} to {max(self.choices['phi'].values):g}: {min(phi):.1f} to {max(phi):.1f} %."
        fitted = protocol == "fixed_mad"
        return (None, NOT_POSSIBLE), (simulated, FITTED if fitted else PREDICTED), note

    def _accuracy_change(self, _: str, protocol: str) -> _Found:
        def value(s: _Setting) -> float:
            return 100 * (self.model.average(protocol, "accuracy", s) - self.model.average("uaad", "accuracy", s))

        simulated = Simulated(value(self.base), value(self.base), value(self.base), **self._spread(value))
        if protocol == "uaad_uniform_target":
            return (None, NOT_POSSIBLE), (simulated, NOT_POSSIBLE), ""
        return (None, NOT_POSSIBLE), (simulated, PREDICTED), _direction(simulated.value)

    def _largest_drop(self, _: str, protocol: str, dataset: str) -> _Found:
        def drop(d: str, s: _Setting) -> float:
            return 100 * (self.model.law(protocol, d, s).mean["accuracy"] - self.model.law("uaad", d, s).mean["accuracy"])

        simulated = Simulated(*[drop(dataset, self.base)] * 3, **self._spread(lambda s: drop(dataset, s)))
        drops = {d: drop(d, self.base) for d in self.model.sets}
        listed = ", ".join(f"{d} {x:+.2f}" for d, x in drops.items())
        return (
            (None, NOT_POSSIBLE),
            (simulated, PREDICTED),
            f"Simulated changes: {listed}; the largest drop is on {min(drops, key=lambda d: drops[d])}.",
        )

    def _routing(self, _: str, protocol: str, dataset: str) -> _Found:
        def value(s: _Setting) -> float:
            return 100 * (self.model.law(protocol, dataset, s).mean["routing"] - self.model.law("uaad", dataset, s).mean["routing"])

        at = value(self.base)
        simulated = Simulated(at, at, at, **self._spread(value))
        return (None, NOT_POSSIBLE), (simulated, PREDICTED), "Simulated: " + ("weaker." if at < 0 else "not weaker.")


_Found = tuple[tuple[Simulated | None, str], tuple[Simulated | None, str], str]
"""(replay, status), (model, status), note."""


def _direction(value: float) -> str:
    return f"Simulated: {'rises' if value > _FLAT else 'falls' if value < -_FLAT else f'changes by less than {_FLAT:g} points'}."
