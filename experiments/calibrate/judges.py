"""Fit a population of items and judges to a log of judgements, with intervals and goodness of fit.

1. What the log says by itself is counted (:mod:`.judge_facts`).
2. Each judge's parameters are fitted given the labels (:mod:`.judge_fit`); scores under each gap law, of which the one of lowest AIC
   is taken.
3. What judges share is fitted to how their votes move together (:mod:`.judge_panel`). Jurors of debates are told apart from judges and
   give the jury's law (:mod:`.judge_jury`).
4. Intervals are percentiles over a bootstrap of items: counts are recounted, parameters move by one step of Fisher scoring.
5. The fit is asked to predict what was counted: swap consistency, accuracies, panels; the misses are shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...model import Estimate, InputError
from ...model.judging import GaussianGap, ItemLaw, JudgingPopulation, Panel
from ...model.judging.panel import evaluate_panel
from ...model.judging.panel_nodes import PanelNodes
from ...model.judging.tokens import JudgingTokens
from ..logs.columns import ABSTAINED, JudgeLog
from .judge_facts import JudgeFacts, panels_of, weighted_mean
from .judge_fit import BORROWED_REPEAT, GAP_FAMILIES, JudgeData, JudgeFit, fit_judge, label_law
from .judge_jury import JuryVotes, split_jurors
from .judge_panel import loadings, pair_products
from .judge_scores import score_range

__all__ = ["JudgeCalibration", "calibrate_judges"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FACTS = ("one_order", "averaged", "three_class", "swap", "repeats", "ties", "first_shown", "second_shown")
FEW_ITEMS = 50


@dataclass(frozen=True, kw_only=True)
class JudgeCalibration:
    """What a log of judges says, as a population with its uncertainty.

    Attributes
    ----------
    log : JudgeLog
        The log, without jurors' rows.
    jurors : JuryVotes or None
        Votes of the jurors; None where the log has none beside its judges.
    facts : JudgeFacts
        Its counts.
    fits : tuple of JudgeFit
        Chosen fit of each judge, in the log's order.
    compared : tuple of mapping of str to JudgeFit
        All gap laws of each judge; one entry for logs of verdicts.
    population : JudgingPopulation
        What every command accepts; the best judge first.
    intervals : mapping of str to Estimate
        Figures with 95 % intervals: ``fact.judge``, ``parameter.judge``, ``panel.size`` and so on.
    predicted : mapping of str to float
        What the fit predicts for the counted figures of the same names.
    warnings : tuple of str
        What the log cannot tell.
    borrowed_repeat : str
        Where repeat correlations of judges without repeats come from.
    draws, seed : int
        Of the bootstrap.
    """

    log: JudgeLog
    jurors: JuryVotes | None
    facts: JudgeFacts
    fits: tuple[JudgeFit, ...]
    compared: tuple[Mapping[str, JudgeFit], ...]
    population: JudgingPopulation
    intervals: Mapping[str, Estimate]
    predicted: Mapping[str, float]
    warnings: tuple[str, ...]
    borrowed_repeat: str
    draws: int
    seed: int

    @property
    def items(self) -> int:
        """Number of items of the log, the range that :meth:`refit` draws from."""
        return len(self.log.items)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Judges by their place in the log, the best first."""
        names = [judge.name for judge in self.population.judges]
        return tuple(self.log.judges.index(name) for name in names)

    def refit(self, item_index: Ints) -> JudgingPopulation:
        """Return the population of a resample of items (one step of Fisher scoring from the fit)."""
        weight = np.bincount(item_index, minlength=self.items).astype(float)
        return _assemble(self.facts, self.fits, self.jurors, weight, self.population, self.order)

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        from .judge_report import to_json

        return to_json(self)

    @property
    def report(self) -> tuple[str, ...]:
        """Findings in words and numbers, one paragraph an entry."""
        from .judge_report import paragraphs

        return paragraphs(self)


def calibrate_judges(
    log: JudgeLog, draws: int = 200, seed: int = 0, advance: Callable[[int], None] = lambda steps: None
) -> JudgeCalibration:
    """Fit a log of judges.

    Parameters
    ----------
    log : JudgeLog
        From :func:`..logs.read_log`.
    draws, seed : int
        Of the bootstrap over items; 0 draws leave the intervals out.
    advance : callable
        Told each finished draw.

    Raises
    ------
    InputError
        If no row has a label, none a decided one, or a judge has no verdict.
    """
    log, jurors = split_jurors(log)
    facts = JudgeFacts.of(log)
    _refuse(log, facts)
    items = _items(facts, np.ones(len(log.items)))
    data = [_data(log, facts, j) for j in range(len(log.judges))]
    compared, borrowed = _fit_all(data, items)
    fits = tuple(_best(laws) for laws in compared)
    accuracy = weighted_mean(facts.one_order, np.ones(len(log.items)))
    order = tuple(int(j) for j in np.argsort(-np.nan_to_num(accuracy), kind="stable"))
    base = _base_population(log, facts, jurors)
    population = _assemble(facts, fits, jurors, np.ones(len(log.items)), base, order)
    bare = JudgeCalibration(
        log=log,
        jurors=jurors,
        facts=facts,
        fits=fits,
        compared=tuple(compared),
        population=population,
        intervals={},
        predicted=_predictions(population, facts, order, log.judges),
        warnings=log.warnings + _warnings(log, facts, fits),
        borrowed_repeat=borrowed,
        draws=draws,
        seed=seed,
    )
    return replace(bare, intervals=_intervals(bare, advance))


def _refuse(log: JudgeLog, facts: JudgeFacts) -> None:
    if not np.any(np.isfinite(facts.label)):
        raise InputError(f"{log.path}: no row has a label; accuracy cannot be calibrated. Add what humans say (A, B or tie) as label.")
    if not np.any(np.nan_to_num(facts.label)):
        raise InputError(f"{log.path}: every label is a tie; accuracy is counted on items with a decided label (A or B), so add some.")
    silent = [name for j, name in enumerate(log.judges) if not np.any(log.verdict[log.judge == j] != ABSTAINED)]
    if silent and len(silent) < len(log.judges):
        raise InputError(f"{log.path}: no row of {', '.join(silent)} has a verdict or both scores; leave such judges out of the log.")
    if not np.any(log.verdict != ABSTAINED):
        raise InputError(f"{log.path}: no row has a verdict or both scores; there is nothing to calibrate.")


def _items(facts: JudgeFacts, weight: Floats) -> ItemLaw:
    """Law of labels, each label seen at least half a time so that none is impossible."""
    known = np.isfinite(facts.label)
    count = np.array([weight[known & (facts.label == value)].sum() for value in (1, 0, -1)])
    count = np.array([max(count[0], 0.5), count[1], max(count[2], 0.5)])
    return label_law(count / count.sum())


def _data(log: JudgeLog, facts: JudgeFacts, judge: int) -> JudgeData:
    label = np.where(np.isfinite(facts.label), 1 - np.nan_to_num(facts.label), -1).astype(np.int64)
    mine = (log.judge == judge) & (log.verdict != ABSTAINED)
    scored = mine & np.isfinite(log.score_a) & np.isfinite(log.score_b)
    name = log.judges[judge]
    if scored.sum() >= 0.9 * mine.sum() > 0:
        low, high, step = score_range(log.score_a[scored], log.score_b[scored])
        gap = (log.score_a[scored] - log.score_b[scored]) / (high - low)
        gaps, symbol = np.unique(np.round(gap / (step / (high - low))).astype(np.int64), return_inverse=True)
        unit = step / (high - low)
        return JudgeData(name, log.item[scored], log.swapped[scored].astype(np.int64), symbol.ravel(), label, gaps * unit, unit)
    return JudgeData(name, log.item[mine], log.swapped[mine].astype(np.int64), log.verdict[mine] + 1, label)


def _fit_all(data: list[JudgeData], items: ItemLaw) -> tuple[list[dict[str, JudgeFit]], str]:
    """Fit every judge, those with repeats first: the others borrow their repeat correlation."""
    laws: dict[int, dict[str, JudgeFit]] = {}
    for j, one in enumerate(data):
        if one.has_repeats:
            laws[j] = _families(one, items, BORROWED_REPEAT)
    own = [_best(fits).repeat_correlation() for fits in laws.values()]
    repeat = float(np.mean(own)) if own else BORROWED_REPEAT
    for j, one in enumerate(data):
        if j not in laws:
            laws[j] = _families(one, items, repeat)
    names = ", ".join(data[j].name for j in laws if data[j].has_repeats)
    where = f"{repeat:.2f}, as of {names} in the same log" if own else f"{repeat:.2f}, GPT-4 scoring texts five times over"
    borrows = any(_best(fits).borrows_repeat for fits in laws.values())
    return [laws[j] for j in range(len(data))], where if borrows else ""


def _best(laws: Mapping[str, JudgeFit]) -> JudgeFit:
    return min(laws.values(), key=lambda fit: fit.aic)


def _families(data: JudgeData, items: ItemLaw, repeat: float) -> dict[str, JudgeFit]:
    names = ("verdict",) if data.gaps is None else GAP_FAMILIES
    return {name: fit_judge(data, items, name, repeat) for name in names}


def _base_population(log: JudgeLog, facts: JudgeFacts, jurors: JuryVotes | None) -> JudgingPopulation:
    borrowed = {
        "debate": "Adjourn's defaults: the log does not say what arguments change",
        "discussion": "Adjourn's defaults: the log holds no discussions",
    }
    if jurors is None or not math.isfinite(jurors.accuracy(np.ones(len(log.items)))):
        borrowed["jury"] = "Adjourn's defaults: the log holds no jurors"
    elif not jurors.has_pairs:
        borrowed["jury"] = "Adjourn's default for their correlation: no two jurors voted on one item"
    prompt, completion = log.prompt_tokens, log.completion_tokens
    tokens = JudgingTokens()
    if np.isfinite(prompt).any() and np.isfinite(completion).any():
        mean, sd = float(np.nanmean(completion)), float(np.nanstd(completion))
        tokens = replace(
            tokens,
            item=max(float(np.nanmean(prompt)) - tokens.instructions, 0.0),
            verdict=mean,
            spread=sd / mean if mean > 0 else 0.0,
            max_completion=max(int(np.nanmax(completion)), tokens.max_completion),
            source=f"{log.path}: means of the log; roles of debates assumed",
        )
    else:
        borrowed["tokens"] = f"Adjourn's defaults ({tokens.source})"
    return JudgingPopulation(
        name=_name(log.path),
        tokens=tokens,
        calibrated=bool(np.any(facts.label == 1) and np.any(facts.label == -1)),
        source=f"calibrated on {log.path}: {len(log.items)} items, {len(log.judges)} judges, {len(log)} judgements",
        borrowed=borrowed,
    )


def _name(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1].rsplit(".", 1)[0] or "log"


def _assemble(
    facts: JudgeFacts,
    fits: tuple[JudgeFit, ...],
    jurors: JuryVotes | None,
    weight: Floats,
    base: JudgingPopulation,
    order: tuple[int, ...],
) -> JudgingPopulation:
    """Put together the population of a reweighted log."""
    items = _items(facts, weight)
    plain = bool(np.all(weight == 1.0))
    judges = [fit.judge(None if plain else fit.step(weight)) for fit in fits]
    products, size = pair_products(facts.votes, weight)
    found = loadings(judges, items, products, size)
    placed = tuple(replace(judges[j], loading=float(found[j])) for j in order)
    if jurors is None:
        return replace(base, items=items, judges=placed)
    jury = jurors.law(base.jury, items, base.debate.bias_factor * placed[0].sigma_b, weight)
    return replace(base, items=items, judges=placed, jury=jury)


# --- predictions and intervals ---


def _predictions(population: JudgingPopulation, facts: JudgeFacts, order: tuple[int, ...], names: tuple[str, ...]) -> dict[str, float]:
    """Predict the figures that the log gives by itself."""
    predicted: dict[str, float] = {}
    for place, j in enumerate(order):
        judge = population.judges[place]
        one = evaluate_panel(Panel(name="one", judges=(judge.name,)), population)
        table = one.masses.sum(axis=(2, 3))
        predicted[f"one_order.{names[j]}"] = _decisive(table, facts, j, population)
        predicted[f"ties.{names[j]}"] = float(table[:, 1].sum())
        if one.fresh is not None and np.any(facts.both_orders[:, j]):
            predicted[f"swap.{names[j]}"] = float(one.fresh)
            both = evaluate_panel(Panel(name="both", judges=(judge.name,), order="both"), population)
            predicted[f"averaged.{names[j]}"] = _accuracy(both.masses.sum(axis=(2, 3)))
    if np.all(np.any(facts.both_orders, axis=0)):
        predicted |= _panel_predictions(population, order)
    return predicted


def _accuracy(table: Floats) -> float:
    decided = table[0].sum() + table[2].sum()
    return float((table[0, 0] + table[2, 2] + (table[0, 1] + table[2, 1]) / 2) / decided)


def _decisive(table: Floats, facts: JudgeFacts, judge: int, population: JudgingPopulation) -> float:
    """Accuracy of one call: mean over the orders that the log holds."""
    held = np.any(np.isfinite(facts.shares[:, judge, :, 0]), axis=0)
    if not held.all():
        return _accuracy(table)
    place = [j.name for j in population.judges].index(facts.log.judges[judge])
    turned = replace(population, judges=tuple(replace(j, position=-j.position) for j in population.judges))
    other = evaluate_panel(Panel(name="one", judges=(turned.judges[place].name,)), turned)
    return (_accuracy(table) + _accuracy(other.masses.sum(axis=(2, 3)))) / 2


def _panel_predictions(population: JudgingPopulation, order: tuple[int, ...]) -> dict[str, float]:
    """Accuracy of panels by size, and the mean correlation of being right between two judges, both orders averaged."""
    n = len(population.judges)
    nodes = PanelNodes(population, Panel(name="panel", judges=n, order="both"), range(n))
    predicted = {}
    place = {j: p for p, j in enumerate(order)}
    for size in range(1, n + 1):
        panels = [[place[j] for j in panel] for panel in panels_of(n, size)]
        predicted[f"panel.{size}"] = float(np.mean([nodes.accuracy(panel, [1] * size) for panel in panels]))
    if n > 1:
        predicted["correlation.averaged"] = _mean_pair(_predicted_correlation(nodes))
        single = PanelNodes(population, Panel(name="panel", judges=n), range(n))
        turned = replace(population, judges=tuple(replace(j, position=-j.position) for j in population.judges))
        back = PanelNodes(turned, Panel(name="panel", judges=n), range(n))
        predicted["correlation.one_order"] = (_mean_pair(_predicted_correlation(single)) + _mean_pair(_predicted_correlation(back))) / 2
    return predicted


def _predicted_correlation(nodes: PanelNodes) -> Floats:
    """Correlation of being right, on items with a decided label; votes of 0 are half right."""
    half = nodes.protocol.calls_each
    right_a = np.stack([v[:, half + 1 :].sum(axis=1) + v[:, half] / 2 for v in nodes.votes], axis=1)
    squares = np.stack([v[:, half + 1 :].sum(axis=1) + v[:, half] / 4 for v in nodes.votes], axis=1)
    squares_b = np.stack([v[:, :half].sum(axis=1) + v[:, half] / 4 for v in nodes.votes], axis=1)
    a, b = nodes.label[:, 0], nodes.label[:, 2]
    total = a.sum() + b.sum()
    mean = (a @ right_a + b @ (1 - right_a)) / total
    second = ((right_a * a[:, None]).T @ right_a + ((1 - right_a) * b[:, None]).T @ (1 - right_a)) / total
    np.fill_diagonal(second, (a @ squares + b @ squares_b) / total)
    covariance = second - np.outer(mean, mean)
    sd = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(sd, sd))


def _mean_pair(matrix: Floats) -> float:
    return float(np.mean(matrix[np.triu_indices(len(matrix), 1)])) if len(matrix) > 1 else math.nan


def _figures(fit: JudgeCalibration, weight: Floats) -> dict[str, float]:
    """Return counted and fitted figures of a reweighted log."""
    facts, names = fit.facts, fit.log.judges
    figures: dict[str, float] = {}
    for fact in FACTS:
        values = weighted_mean(getattr(facts, fact), weight)
        figures |= {f"{fact}.{name}": float(value) for name, value in zip(names, values, strict=True)}
    gain = np.where(np.isfinite(facts.averaged), facts.averaged - facts.one_order, np.nan)
    figures |= {f"gain.{name}": float(value) for name, value in zip(names, weighted_mean(gain, weight), strict=True)}
    figures |= {f"panel.{k + 1}": float(value) for k, value in enumerate(weighted_mean(facts.panels, weight))}
    for averaged, name in ((False, "one_order"), (True, "averaged")):
        figures[f"correlation.{name}"] = _mean_pair(facts.correlations(weight, averaged))
    plain = bool(np.all(weight == 1.0))
    for name, one in zip(names, fit.fits, strict=True):
        theta = one.theta if plain else one.step(weight)
        judge = one.judge(theta)
        figures |= {f"{key}.{name}": float(getattr(judge, key)) for key in ("sigma_b", "position", "position_sd", "undecided", "rho_round")}
        figures[f"noise.{name}"] = math.sqrt(judge.gap.error_variance)
        figures[f"repeat_correlation.{name}"] = one.repeat_correlation(theta)
        for key in ("nu", "zero", "scale", "tie"):
            if hasattr(judge.gap, key) and not (key == "tie" and not isinstance(judge.gap, GaussianGap)):
                figures[f"{key}.{name}"] = float(getattr(judge.gap, key))
    return figures | _jury_figures(fit, weight)


def _jury_figures(fit: JudgeCalibration, weight: Floats) -> dict[str, float]:
    if fit.jurors is None:
        return {}
    best = fit.fits[fit.order[0]]
    bias = fit.population.debate.bias_factor * best.judge(best.step(weight)).sigma_b
    jury = fit.jurors.law(fit.population.jury, _items(fit.facts, weight), bias, weight)
    return {
        "jury.accuracy": fit.jurors.accuracy(weight),
        "jury.agreement": fit.jurors.agreement(weight),
        "jury.sensitivity": jury.sensitivity,
        "jury.rho": jury.rho,
    }


def _intervals(fit: JudgeCalibration, advance: Callable[[int], None]) -> dict[str, Estimate]:
    point = _figures(fit, np.ones(fit.items))
    generator = np.random.Generator(np.random.Philox(fit.seed))
    drawn: dict[str, list[float]] = {key: [] for key in point}
    for _ in range(fit.draws):
        weight = np.bincount(generator.integers(0, fit.items, fit.items), minlength=fit.items).astype(float)
        for key, value in _figures(fit, weight).items():
            drawn[key].append(value)
        advance(1)
    return {key: _interval(value, np.array(drawn[key])) for key, value in point.items()}


def _interval(value: float, drawn: Floats) -> Estimate:
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) < 3 or not math.isfinite(value):
        return Estimate(value, -math.inf, math.inf)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Estimate(value, min(float(low), value), max(float(high), value))


def _warnings(log: JudgeLog, facts: JudgeFacts, fits: tuple[JudgeFit, ...]) -> tuple[str, ...]:
    notes = []
    known = np.isfinite(facts.label)
    if not known.all():
        notes.append(f"{int((~known).sum())} of {len(known)} items have no label; they count for order and repeats, not for accuracy.")
    decided = int((known & (facts.label != 0)).sum())
    if decided < FEW_ITEMS:
        notes.append(f"Only {decided} items have a decided label: intervals are wide, and normal approximations poor.")
    for side, name in ((1, "A"), (-1, "B")):
        if not np.any(facts.label == side):
            notes.append(f"No item is labelled {name}: kappa and the law of true differences cannot be told from this log.")
    abstained = int((log.verdict == ABSTAINED).sum())
    if abstained:
        notes.append(f"{abstained} judgements have no verdict; they are left out, not counted as ties.")
    one_order = [fit.data.name for fit in fits if not fit.data.has_both_orders]
    if one_order:
        notes.append(f"Position shift cannot be told for {', '.join(one_order)}: all calls show the same order. It is taken as 0.")
    single = [fit.data.name for fit in fits if fit.borrows_repeat]
    if single:
        notes.append(
            f"No call of {', '.join(single)} was repeated in the same order, so noise cannot be told from shifts that differ from item "
            "to item; their repeat correlation is borrowed, and so is what repeated calls would be worth."
        )
    if len(np.unique(log.round)) > 1:
        notes.append("Rounds are taken as repeated judgements; a gain from one round to the next is not fitted.")
    return tuple(notes)
