"""A calibration as plain values for scripts; what does not exist is null."""

from __future__ import annotations

from typing import Any

import numpy as np

from .calibration import Calibration
from .choice import Score

__all__ = ["to_json"]


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
            "a": plain.a.to_json(),
            "b": plain.b.to_json(),
            "mean": plain.mean,
            "own_mean": plain.own_mean,
            "intra_class_correlation": plain.rho,
            "understates_mean_by": plain.own_mean - plain.mean,
            "words": plain.words,
        }
    if fit.debate:
        value = fit.debate
        data["debate_minus_vote"] = {
            **value.difference.to_json(),
            "questions": value.questions,
            "debated": value.debated,
            "vote": value.vote.to_json(),
            "decision": value.decision.to_json(),
            "debated_only": value.difference_debated.to_json(),
        }
    return data


def _score_json(score: Score, chosen: bool) -> dict[str, Any]:
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
                "beyond_chance": c.excess,
            }
            for c in response.cells
        ],
    }
