"""A calibration in words and numbers, and as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...model.result import Estimate
from .calibration import Calibration
from .rules import FitnessCell, RuleFit

__all__ = ["paragraphs", "to_json"]


def _interval(value: Estimate, digits: int = 3) -> str:
    if value.low == value.high == value.mean:
        return f"{value.mean:.{digits}f} (exact)"
    return f"{value.mean:.{digits}f} [{value.low:.{digits}f}, {value.high:.{digits}f}]"


def paragraphs(fit: Calibration) -> tuple[str, ...]:
    """Findings, one paragraph an entry."""
    parts = [_log_words(fit)]
    if fit.plain:
        parts.append(fit.plain.words)
    parts += [_law_words(fit), _curve_words(fit), _response_words(fit)]
    if fit.debate:
        value = fit.debate
        parts.append(
            f"Debate minus vote on the same first answers: {_interval(value.difference, 4)} over {value.questions} questions "
            f"(decision {value.decision.mean:.3f}, vote {value.vote.mean:.3f}); over the {value.debated} that went on to a second round {_interval(value.difference_debated, 4)}."
        )
    parts += [sentence[0].upper() + sentence[1:] + "." for sentence in fit.facts.found]
    parts += [f"Borrowed: {part}: {where}." for part, where in fit.population.borrowed.items()]
    return tuple(parts)


def _log_words(fit: Calibration) -> str:
    first = fit.first
    sizes = f"{first.size.min()}" if first.size.min() == first.size.max() else f"{first.size.min()} to {first.size.max()}"
    return (
        f"{len(first)} questions with {sizes} independent answers each (round {first.round}), accuracy of a single answer "
        f"{first.accuracy:.3f}; {len(fit.log)} messages in {len(fit.log.rounds)} round{'s' if len(fit.log.rounds) > 1 else ''}."
    )


def _law_words(fit: Calibration) -> str:
    chosen = fit.choice.chosen
    rho, same = fit.intervals["intra_class_correlation"], fit.intervals["coincidence"]
    text = f"Law chosen: {chosen.family.name} ({fit.choice.reason}). Fitted: accuracy {_interval(fit.intervals['accuracy'])}"
    if np.isfinite(rho.mean):
        text += f", intra-class correlation {_interval(rho)}"
    if np.isfinite(same.mean):
        text += f", P(two wrong answers coincide) {_interval(same)}"
    return text + f" (95 % intervals: bootstrap of questions, {fit.draws} draws)."


def _curve_words(fit: Calibration) -> str:
    rows = [
        f"n = {n}: {fit.intervals[f'plurality_{n}'].mean:.3f} fitted, {_interval(fit.intervals[f'own_plurality_{n}'])} own"
        for n in fit.choice.sizes
    ]
    worst = max(abs(miss) for miss in fit.choice.chosen.misses)
    return f"Accuracy of a plurality of n answers: {'; '.join(rows)}. Largest miss {100 * worst:.1f} points."


def _response_words(fit: Calibration) -> str:
    response = fit.response
    if response is None:
        return "Response rule: borrowed, not fitted."
    chosen = response.chosen
    values = ", ".join(f"{key} = {_interval(fit.intervals[f'response_{key}'])}" for key in chosen.free)
    left = "; ".join(f"{count} because {why}" for why, count in response.moves.left_out.items()) or "none"
    order = response.order
    how = (
        "as asked"
        if order.asked
        else f"sequential minus simultaneous log-likelihood {order.advantage:+.1f} on {order.moves} moves complete under both"
    )
    return (
        f"Response rule: {chosen.rule.rule}, fitted by maximum likelihood to {len(response.moves)} moves in {order.order} rounds ({how}): {values}. "
        f"Moves left out: {left}. Early stopping decides which moves exist, not what they are given what was seen, so it needs no correction here. "
        f"{_comparison(response.fits)} {_fitness_words(response.cells)}"
    )


def _comparison(fits: tuple[RuleFit, ...]) -> str:
    best = fits[0]
    parts = []
    for rival in fits[1:]:
        if rival.impossible:
            parts.append(f"{rival.rule.rule} rules out {rival.impossible} moves that happened")
        else:
            parts.append(f"{rival.rule.rule} is {rival.aic - best.aic:.1f} worse in AIC")
    return f"Compared with {best.rule.rule}: {'; '.join(parts)}." if parts else ""


def _fitness_words(cells: tuple[FitnessCell, ...]) -> str:
    told = [cell for cell in cells if cell.moves >= 20]
    if not told:
        return "Goodness of fit: too few moves of any one kind to say."
    worst = max(told, key=lambda c: abs(c.observed - c.predicted))
    miss = abs(worst.observed - worst.predicted)
    verdict = "good" if miss < 0.03 else ("fair" if miss < 0.08 else "poor")
    own = "right" if worst.own_right else "wrong"
    return (
        f"Goodness of fit: {verdict}. P(next answer right) by own answer and right peers is missed by at most {100 * miss:.1f} points (own {own}, "
        f"{worst.right_peers} of {worst.agents - 1} peers right: observed {worst.observed:.3f}, fitted {worst.predicted:.3f}, {worst.moves} moves)."
    )


def to_json(fit: Calibration) -> dict[str, Any]:
    """Everything as plain values; what does not exist is null."""
    chosen = fit.choice.chosen
    data: dict[str, Any] = {
        "log": fit.log.path,
        "questions": len(fit.first),
        "answers": int(fit.first.size.sum()),
        "messages": len(fit.log),
        "rounds": list(fit.log.rounds),
        "left_out_questions": fit.first.left_out,
        "agents_used": list(fit.first.prefix) or "all",
        "abstentions": int(fit.first.abstained.sum()),
        "accuracy": fit.intervals["accuracy"].to_json(),
        "plain_beta": None,
        "law": {
            "family": chosen.family.name,
            "reason": fit.choice.reason,
            "coincidence": fit.intervals["coincidence"].to_json(),
            "intra_class_correlation": fit.intervals["intra_class_correlation"].to_json(),
        },
        "families": [_score_json(score, score is chosen) for score in fit.choice.scores],
        "plurality": [_curve_json(fit, n, miss) for n, miss in zip(fit.choice.sizes, chosen.misses, strict=True)],
        "response": _response_json(fit),
        "debate_minus_vote": None,
        "population": fit.population.to_dict(),
        "report": list(fit.report),
        "warnings": list(fit.warnings),
        "provenance": {"bootstrap_draws": fit.draws, "seed": fit.seed},
    }
    if fit.plain:
        plain = fit.plain
        data["plain_beta"] = {
            "a": plain.a.to_json(), "b": plain.b.to_json(), "mean": plain.mean, "own_mean": plain.own_mean, "intra_class_correlation": plain.rho,
            "understates_mean_by": plain.own_mean - plain.mean, "words": plain.words,
        }  # fmt: skip
    if fit.debate:
        value = fit.debate
        data["debate_minus_vote"] = {
            **value.difference.to_json(), "questions": value.questions, "debated": value.debated, "vote": value.vote.to_json(),
            "decision": value.decision.to_json(), "debated_only": value.difference_debated.to_json(),
        }  # fmt: skip
    return data


def _score_json(score: Any, chosen: bool) -> dict[str, Any]:
    return {
        "family": score.family.name,
        "chosen": chosen,
        "held_out_log_likelihood": score.held_out,
        "behind_best": score.behind,
        "standard_error": score.behind_error,
        "matches_plurality": score.adequate,
        "plurality_misses": list(score.misses),
    }


def _curve_json(fit: Calibration, n: int, miss: float) -> dict[str, Any]:
    return {"n": n, "fitted": fit.intervals[f"plurality_{n}"].to_json(), "own": fit.intervals[f"own_plurality_{n}"].to_json(), "miss": miss}


def _response_json(fit: Calibration) -> dict[str, Any]:
    response = fit.response
    if response is None:
        return {"borrowed": True, "source": fit.population.borrowed["response"], "moves": fit.unused_moves}
    return {
        "borrowed": False,
        "rule": response.chosen.rule.rule,
        "parameters": {key: fit.intervals[f"response_{key}"].to_json() for key in response.chosen.free},
        "moves": len(response.moves),
        "moves_left_out": response.moves.left_out,
        "order": response.order.order,
        "order_asked": response.order.asked,
        "sequential_minus_simultaneous_log_likelihood": response.order.advantage,
        "rules": [
            {
                "rule": f.rule.rule,
                "parameters": f.parameters(),
                "log_likelihood": f.log_likelihood,
                "aic": f.aic if np.isfinite(f.aic) else None,
                "impossible_moves": f.impossible,
                "not_bounded": list(f.at_bound),
            }
            for f in response.fits
        ],
        "goodness_of_fit": [
            {
                "agents": c.agents,
                "own_right": c.own_right,
                "right_peers": c.right_peers,
                "moves": c.moves,
                "observed": c.observed,
                "fitted": c.predicted,
                "z": c.z,
            }
            for c in response.cells
        ],  # fmt: skip
    }
