"""A calibration in words and numbers."""

from __future__ import annotations

import math

from ...model.result import Estimate
from .calibration import Calibration
from .responses import OrderEvidence, ResponseFit

__all__ = ["paragraphs", "with_interval"]

_SCALE = "It weighs peers by their number, so for other panel sizes than the log's it extrapolates (copying would carry over). "
_GOOD, _FAIR = 0.01, 0.05
"""Misses of P(next answer right), beyond what chance explains, below which a fit is called good and fair."""


def with_interval(value: Estimate, digits: int = 3) -> str:
    """Return a value with its interval as text; without one where none was computed."""
    if not math.isfinite(value.mean):
        return "unknown"
    if not (math.isfinite(value.low) and math.isfinite(value.high)):
        return f"{value.mean:.{digits}f}"
    return f"{value.mean:.{digits}f} [{value.low:.{digits}f}, {value.high:.{digits}f}]"


def paragraphs(fit: Calibration) -> tuple[str, ...]:
    """Tell the findings, one paragraph an entry."""
    parts = [_log_words(fit)]
    if fit.plain:
        parts.append(fit.plain.words)
    parts += [_law_words(fit), _curve_words(fit), _response_words(fit)]
    if fit.debate:
        value = fit.debate
        parts.append(
            f"Debate minus vote on the same first answers: {with_interval(value.difference, 4)} over {value.questions} questions "
            f"(accuracy of the decision {value.decision.mean:.3f}, of the vote {value.vote.mean:.3f}); "
            f"{with_interval(value.difference_debated, 4)} over the {value.debated} that went on to a second round."
        )
    parts += [f"{sentence[0].upper()}{sentence[1:]}." for sentence in fit.facts.found]
    parts += [f"Borrowed {part}: {where}." for part, where in fit.population.borrowed.items()]
    return tuple(parts)


def _log_words(fit: Calibration) -> str:
    first, rounds = fit.first, len(fit.log.rounds)
    low, high = int(first.size.min()), int(first.size.max())
    each = f"{low}" if low == high else f"{low} to {high}"
    return (
        f"{len(first)} questions with {each} independent answer{'s' if high > 1 else ''} each (round {first.round}), accuracy of a "
        f"single answer {first.accuracy:.3f}; {len(fit.log)} messages in {rounds} round{'s' if rounds > 1 else ''}."
    )


def _law_words(fit: Calibration) -> str:
    rho, same = fit.intervals["intra_class_correlation"], fit.intervals["coincidence"]
    fitted = [f"accuracy {with_interval(fit.intervals['accuracy'])}"]
    if math.isfinite(rho.mean):
        fitted.append(f"intra-class correlation {with_interval(rho)}")
    if math.isfinite(same.mean) and "misconception" not in fit.population.borrowed:
        fitted.append(f"P(two wrong answers coincide) {with_interval(same)}")
    how = f" (95 % intervals: bootstrap of questions, {fit.draws} draws)" if fit.draws else ""
    return f"Law chosen: {fit.choice.chosen.family.name}: {fit.choice.reason}. Fitted: {', '.join(fitted)}{how}."


def _curve_words(fit: Calibration) -> str:
    rows = [
        f"n = {n}: {fit.intervals[f'plurality_{n}'].mean:.3f} fitted, {with_interval(fit.intervals[f'own_plurality_{n}'])} own"
        for n in fit.choice.sizes
    ]
    worst = max(abs(miss) for miss in fit.choice.chosen.misses)
    return (
        f"Accuracy of a plurality of n answers, fitted and the log's own (subsets without replacement, fair ties): {'; '.join(rows)}. "
        f"Largest miss {100 * worst:.1f} points."
    )


def _response_words(fit: Calibration) -> str:
    response = fit.response
    if response is None:
        return f"Response rule: borrowed, not fitted ({fit.population.borrowed['response']}). What a plan says of debates rests on it."
    chosen = response.chosen
    values = ", ".join(f"{key} = {with_interval(fit.intervals[f'response_{key}'])}" for key in chosen.free)
    scale = _SCALE if chosen.rule.rule == "logit" else ""
    left = "; ".join(f"{count} because {why}" for why, count in response.moves.left_out.items()) or "none"
    return (
        f"Response rule: {chosen.rule.rule}, fitted by maximum likelihood to {len(response.moves)} moves in "
        f"{_order_words(response.order)}: {values}. Moves left out: {left}. That a debate stopped early decides which moves exist, not "
        "what an agent did given what it saw, so the fit needs no correction for it. "
        f"{scale}{_comparison(response)}{_fitness_words(response)}"
    )


def _order_words(order: OrderEvidence) -> str:
    if order.asked:
        return f"{order.order} rounds (as asked)"
    if not order.moves:
        return f"{order.order} rounds (taken for granted: too few moves to tell)"
    return (
        f"{order.order} rounds (log-likelihood of sequential minus simultaneous rounds {order.advantage:+.1f}, on {order.moves} moves "
        "that are complete under both)"
    )


def _comparison(response: ResponseFit) -> str:
    chosen = response.chosen
    parts = []
    for rival in response.fits:
        if rival is chosen:
            continue
        if rival.impossible:
            parts.append(f"{rival.rule.rule} rules out {rival.impossible} moves that happened")
        elif math.isfinite(chosen.aic):
            gap = rival.aic - chosen.aic
            parts.append(f"the AIC of {rival.rule.rule} is {abs(gap):.1f} {'higher' if gap >= 0 else 'lower'}")
    return f"Compared with {chosen.rule.rule}: {'; '.join(parts)}. "


def _fitness_words(response: ResponseFit) -> str:
    worst = response.worst
    verdict = "good" if worst.excess < _GOOD else ("fair" if worst.excess < _FAIR else "poor")
    beyond = f"{100 * worst.excess:.1f} points more than chance explains" if worst.excess else "which chance explains"
    return (
        f"Goodness of fit: {verdict}. P(next answer right), by own answer and number of right peers, is missed by "
        f"{100 * response.mean_miss:.1f} points on average; worst where the own answer is {'right' if worst.own_right else 'wrong'} and "
        f"{worst.right_peers} of {worst.agents - 1} peers are right: observed {worst.observed:.3f}, fitted {worst.predicted:.3f} "
        f"({worst.moves} moves), {beyond}."
    )
