"""A calibration of judges in words, and as plain values for scripts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...model import Estimate
from ...model.judging import GaussianGap, Judge
from .judge_fit import JudgeFit
from .judges import FACTS, JudgeCalibration
from .report import with_interval

__all__ = ["goodness", "paragraphs", "to_json"]

_GOOD, _FAIR = 0.10, 0.20
"""Total variation distances up to which a gap law is called good and fair."""


def goodness(fit: JudgeFit) -> tuple[float, str]:
    """Total variation between the observed and the fitted law of the observations, and a word for it."""
    observed = np.bincount(fit.data.symbol, minlength=fit.data.symbols) / len(fit.data.symbol)
    fitted = fit.marginal()
    distance = float(np.abs(observed - fitted / fitted.sum()).sum() / 2)
    return distance, "good" if distance <= _GOOD else ("fair" if distance <= _FAIR else "poor")


def _percent(estimate: Estimate) -> str:
    if not math.isfinite(estimate.mean):
        return "unknown"
    text = f"{100 * estimate.mean:.1f} %"
    if math.isfinite(estimate.low) and math.isfinite(estimate.high):
        text += f" [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"
    return text


def paragraphs(fit: JudgeCalibration) -> tuple[str, ...]:
    """Tell the findings, one paragraph an entry."""
    names = [judge.name for judge in fit.population.judges]
    parts = [_log_words(fit)]
    parts += [_judge_words(fit, name) for name in names]
    if len(names) > 1:
        parts.append(_panel_words(fit))
    parts += [_gap_words(fit, name) for name in names]
    if fit.jurors is not None:
        parts.append(_jury_words(fit))
    parts.append(
        "The label is taken without noise of its own: bias that all judges share and noise of the label cannot be told apart from a log "
        "like this; both are held by the shared part of the biases."
    )
    parts += [f"Borrowed {part}: {where}." for part, where in fit.population.borrowed.items()]
    if fit.borrowed_repeat:
        parts.append(f"Borrowed repeat correlation: {fit.borrowed_repeat}.")
    return tuple(parts)


def _log_words(fit: JudgeCalibration) -> str:
    label = fit.facts.label[np.isfinite(fit.facts.label)]
    shares = [float(np.mean(label == value)) for value in (1, 0, -1)]
    calls = fit.log
    repeated = int((calls.repeat > 0).sum())
    return (
        f"{fit.items} items, {len(calls)} judgements by {len(calls.judges)} judge{'s' if len(calls.judges) > 1 else ''}; "
        f"labels A {100 * shares[0]:.1f} %, tie {100 * shares[1]:.1f} % (kept as ties), B {100 * shares[2]:.1f} %. "
        f"{repeated} judgements repeat an item, judge and order: they are samples of the same judgement. "
        "Accuracies are on items with a decided label; a tied verdict earns half a credit."
    )


def _judge_words(fit: JudgeCalibration, name: str) -> str:
    at = fit.intervals
    judge = fit.population.judge(name)
    text = f"{name}: one order {_percent(at[f'one_order.{name}'])} right"
    if math.isfinite(at[f"averaged.{name}"].mean):
        gain = at[f"gain.{name}"]
        text += (
            f", both orders averaged {_percent(at[f'averaged.{name}'])} (gain {100 * gain.mean:+.1f} points"
            + (f" [{100 * gain.low:+.1f}, {100 * gain.high:+.1f}]" if math.isfinite(gain.low) else "")
            + f"); swap consistency {_percent(at[f'swap.{name}'])}, "
            + f"{100 * fit.predicted.get(f'swap.{name}', math.nan):.1f} % predicted by the fit"
        )
    text += (
        f"; prefers the answer shown first in {_percent(at[f'first_shown.{name}'])} and the second in "
        f"{_percent(at[f'second_shown.{name}'])} of its calls, ties in {_percent(at[f'ties.{name}'])}"
    )
    if math.isfinite(at[f"repeats.{name}"].mean):
        text += f"; repeated calls of one order say the same in {_percent(at[f'repeats.{name}'])}"
    return text + f". {_parameter_words(fit, judge)}"


def _parameter_words(fit: JudgeCalibration, judge: Judge) -> str:
    at, name = fit.intervals, judge.name
    own = fit.fits[fit.log.judges.index(name)]
    repeat = f"{own.repeat_correlation():.2f} (borrowed)" if own.borrows_repeat else with_interval(at[f"repeat_correlation.{name}"], 2)
    return (
        f"In units of the true difference's spread: bias on an item {with_interval(at[f'sigma_b.{name}'], 2)}, position shift "
        f"{with_interval(at[f'position.{name}'], 2)} with spread {with_interval(at[f'position_sd.{name}'], 2)} over items, noise of a call "
        f"{with_interval(at[f'noise.{name}'], 2)}; {_percent(at[f'undecided.{name}'])} of the items are ties whatever it is shown; "
        f"repeat correlation {repeat}."
    )


def _panel_words(fit: JudgeCalibration) -> str:
    at, sizes = fit.intervals, range(1, len(fit.log.judges) + 1)
    own = ", ".join(f"{k}: {100 * at[f'panel.{k}'].mean:.1f}" for k in sizes)
    text = f"Panels (mean over all subsets of a size, both orders averaged, ties half a credit), % right by size: {own}"
    if "panel.1" in fit.predicted:
        predicted = ", ".join(f"{100 * fit.predicted[f'panel.{k}']:.1f}" for k in sizes)
        worst = max(abs(fit.predicted[f"panel.{k}"] - at[f"panel.{k}"].mean) for k in sizes)
        text += f"; predicted by the fit: {predicted} (largest miss {100 * worst:.1f} points)"
    one, both = at["correlation.one_order"], at["correlation.averaged"]
    text += (
        f". Correlation of being right between judges: {with_interval(one, 2)} in one order, {with_interval(both, 2)} with both averaged"
    )
    if "correlation.averaged" in fit.predicted:
        text += f" (predicted {fit.predicted['correlation.one_order']:.2f} and {fit.predicted['correlation.averaged']:.2f})"
    return text + ". Judges differ: they are not exchangeable."


def _gap_words(fit: JudgeCalibration, name: str) -> str:
    j = fit.log.judges.index(name)
    chosen, laws = fit.fits[j], fit.compared[j]
    if chosen.family == "verdict":
        distance, word = goodness(chosen)
        return (
            f"{name}: verdicts only, so the law of the gap is a Gaussian with a band of ties; "
            f"it fits the shares of A, tie and B {_adverb(word)} (total variation {distance:.3f})."
        )
    rows = []
    for family, law in laws.items():
        distance, word = goodness(law)
        rows.append(f"{family.replace('_', ' ')} {word} (total variation {distance:.3f}, AIC {law.aic:.0f})")
    equal = float(np.mean(chosen.data.symbol == chosen.data.tie_symbol)) if chosen.data.tie_symbol >= 0 else 0.0
    taken = chosen.family.replace("_", " ")
    return f"{name}: law of the score gap, {100 * equal:.1f} % equal scores: {'; '.join(rows)}. Taken: {taken}."


def _jury_words(fit: JudgeCalibration) -> str:
    assert fit.jurors is not None
    at, jury = fit.intervals, fit.population.jury
    sensitivity, rho = with_interval(at["jury.sensitivity"], 2), with_interval(at["jury.rho"], 2)
    return (
        f"{fit.jurors.votes} votes of {fit.jurors.jurors} jurors are told apart from judgements: jurors read a debate and are no judges. "
        f"They are right in {_percent(at['jury.accuracy'])} of their votes and two of them agree in {_percent(at['jury.agreement'])}; "
        f"given the judge's bias, the jury has a sensitivity of {sensitivity} and its jurors a correlation of {rho}, taken with and "
        f"without personas, since the log does not say which they had. The arguments' correlation ({jury.rho_arguments:.2f}) and the "
        f"jurors' position shift ({jury.position:g}) are Adjourn's defaults."
    )


def _adverb(word: str) -> str:
    return {"good": "well", "fair": "fairly", "poor": "poorly"}[word]


def to_json(fit: JudgeCalibration) -> dict[str, Any]:
    """Everything as plain values; what does not exist is null."""
    names = [judge.name for judge in fit.population.judges]
    sizes = range(1, len(names) + 1)

    def estimate(key: str) -> dict[str, Any]:
        value = fit.intervals[key].to_json()
        return {**value, "predicted": fit.predicted[key]} if key in fit.predicted else value

    return {
        "log": fit.log.path,
        "family": "judging",
        "items": fit.items,
        "judgements": len(fit.log),
        "labels": {word: int((fit.facts.label == value).sum()) for word, value in (("A", 1), ("tie", 0), ("B", -1))},
        "judges": {name: _judge_json(fit, name, estimate) for name in names},
        "between_judge_correlation": {
            "one_order": estimate("correlation.one_order"),
            "both_orders": estimate("correlation.averaged"),
            "pairs": _pairs(fit, names),
        },
        "jury": None if fit.jurors is None else _jury_json(fit, estimate),
        "panels": [{"size": k, "accuracy": estimate(f"panel.{k}")} for k in sizes],
        "population": fit.population.to_dict(),
        "report": list(fit.report),
        "warnings": list(fit.warnings),
        "provenance": {"bootstrap_draws": fit.draws, "seed": fit.seed},
    }


PARAMETERS = ("sigma_b", "position", "position_sd", "undecided", "noise", "rho_round", "repeat_correlation", "nu", "zero", "scale", "tie")

_JSON_NAMES = {
    "one_order": "accuracy_one_order",
    "averaged": "accuracy_both_orders",
    "three_class": "accuracy_three_class",
    "swap": "swap_consistency",
    "repeats": "repeat_agreement",
    "ties": "tie_share",
}


def _judge_json(fit: JudgeCalibration, name: str, estimate: Any) -> dict[str, Any]:
    j = fit.log.judges.index(name)
    judge, own = fit.population.judge(name), fit.fits[j]
    return {
        **{_JSON_NAMES.get(fact, fact): estimate(f"{fact}.{name}") for fact in FACTS},
        "both_order_gain": estimate(f"gain.{name}"),
        "parameters": {key: estimate(f"{key}.{name}") for key in PARAMETERS if f"{key}.{name}" in fit.intervals},
        "loading": judge.loading,
        "repeat_correlation_borrowed": own.borrows_repeat,
        "gap_law": "gaussian with ties" if isinstance(judge.gap, GaussianGap) else judge.gap.law,
        "gap_laws_compared": [
            {"law": family, "aic": law.aic, "total_variation": goodness(law)[0], "fit": goodness(law)[1]}
            for family, law in fit.compared[j].items()
        ],
    }


def _jury_json(fit: JudgeCalibration, estimate: Any) -> dict[str, Any]:
    assert fit.jurors is not None
    figures = {key: estimate(f"jury.{key}") for key in ("accuracy", "agreement", "sensitivity", "rho")}
    return {"jurors": fit.jurors.jurors, "votes": fit.jurors.votes, **figures}


def _pairs(fit: JudgeCalibration, names: list[str]) -> list[dict[str, Any]]:
    """Correlation of being right, pair by pair."""
    weight = np.ones(fit.items)
    one, both = fit.facts.correlations(weight, False), fit.facts.correlations(weight, True)
    place = [fit.log.judges.index(name) for name in names]
    return [
        {
            "judges": [names[a], names[b]],
            "one_order": _known(one[place[a], place[b]]),
            "both_orders": _known(both[place[a], place[b]]),
        }
        for a in range(len(names))
        for b in range(a + 1, len(names))
    ]


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
