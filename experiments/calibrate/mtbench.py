r"""Fit a population of judges to D3's published MT-Bench figures; it makes the preset ``mtbench-gpt4``.

Seven figures fix seven parameters, in two steps; the others are then predicted.

=============================================== ============================================================
figure                                          parameter
=============================================== ============================================================
single judge right                              the judge's bias on an item, sigma_b
debates stopped by round 2 (SAMRE)              concentration nu of its gap
swap consistency of a single judge              its position shift
MORE right                                      sensitivity of a juror
gain of five jurors over one (MORE)             correlation of jurors with personas
gain of personas (MORE)                         correlation of jurors without
swap consistency of five jurors with personas   share of the position shift that anonymised sides keep
=============================================== ============================================================

Assumed, not published: balanced labels without noise or ties; gap scale .285 (a gap's spread over items of 25.7 of 114 points, measured
on public SAMRE data of another model); arguments correlated .85 (the same data's rounds); arguments take away all but 5 % of the judge's
bias (with more left the jury's figures cannot be met). Swap consistencies are read with the noise held fixed: with fresh noise they
cannot be met together with the gains of the jury, since jurors who gain so much from numbers differ by chance as much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares
from scipy.special import expit, logit

from ...model.judging import (
    BetaGap,
    Debate,
    DebateLaw,
    Judge,
    JudgingPopulation,
    JudgingTally,
    JuryLaw,
    evaluate_judging,
    load_judging_protocol,
    simulate_exact,
)

__all__ = ["ASSUMED", "fit_mtbench", "stopped_by"]

Floats = npt.NDArray[np.float64]

ASSUMED = {"scale": 0.285, "rho_arguments": 0.85, "bias_factor": 0.05}
"""Parameters that no published figure fixes."""


def stopped_by(law: JudgingTally, round_: int) -> float:
    """P(the debate has ended by a round)."""
    return float(law.masses.sum(axis=(0, 1, 3))[: round_ + 1].sum())


def _population(values: Mapping[str, float]) -> JudgingPopulation:
    judge = Judge(
        name="gpt4",
        sigma_b=values["sigma_b"],
        position=values["position"],
        gap=BetaGap(values["nu"], values.get("scale", ASSUMED["scale"])),
    )
    jury = JuryLaw(
        sensitivity=values.get("sensitivity", 1.0),
        rho=values.get("rho", 0.3),
        rho_personas=values.get("rho_personas", 0.1),
        position=values["position"],
        rho_arguments=ASSUMED["rho_arguments"],
    )
    debate = DebateLaw(bias_factor=ASSUMED["bias_factor"])
    return JudgingPopulation(name="mtbench-gpt4", judges=(judge,), debate=debate, jury=jury, anonymity=values.get("anonymity", 1.0))


def fit_mtbench(reported: Mapping[str, float]) -> tuple[JudgingPopulation, dict[str, float]]:
    """Fit the seven parameters.

    Parameters
    ----------
    reported : mapping of str to float
        ``single``, ``stopped_by_2``, ``swap_single``, ``more``, ``jury_gain``, ``personas_gain``, ``swap_jury``, as shares.

    Returns
    -------
    population : JudgingPopulation
        With the one judge; other judges and discussions keep their defaults.
    misses : dict of str to float
        Fitted less reported.
    """
    single = load_judging_protocol("single_judge")
    samre, more = load_judging_protocol("samre"), load_judging_protocol("more")
    assert isinstance(samre, Debate)
    assert isinstance(more, Debate)
    timing = replace(samre, jurors=1, anonymised=False)

    def judge_of(y: Floats) -> dict[str, float]:
        return {"nu": math.exp(y[0]), "sigma_b": math.exp(y[1]), "position": float(y[2])}

    def judge_misses(y: Floats) -> list[float]:
        population = _population(judge_of(y))
        one = simulate_exact(single, population)
        return [
            one.mean("accuracy").mean - reported["single"],
            one.mean("swap_consistency").mean - reported["swap_single"],
            stopped_by(evaluate_judging(timing, population), 2) - reported["stopped_by_2"],
        ]

    first = least_squares(judge_misses, [6.5, 0.1, 0.35], diff_step=[1e-4] * 3, xtol=1e-10)
    values = judge_of(first.x)

    def jury_of(y: Floats) -> dict[str, float]:
        rho, rho_personas, anonymity = (0.99 * float(x) for x in expit(y[1:]))
        return {**values, "sensitivity": math.exp(y[0]), "rho": rho, "rho_personas": rho_personas, "anonymity": anonymity}

    def jury_misses(y: Floats) -> list[float]:
        population = _population(jury_of(y))
        full = simulate_exact(more, population)
        accuracy = full.mean("accuracy").mean
        plain = replace(more, personas=False)
        return [
            accuracy - reported["more"],
            accuracy - simulate_exact(replace(plain, jurors=1), population).mean("accuracy").mean - reported["jury_gain"],
            accuracy - simulate_exact(plain, population).mean("accuracy").mean - reported["personas_gain"],
            full.mean("swap_consistency").mean - reported["swap_jury"],
        ]

    second = least_squares(jury_misses, [0.0, *logit([0.3, 0.02, 0.2])], diff_step=[1e-4] * 4, xtol=1e-10)
    names = ("single", "swap_single", "stopped_by_2", "more", "jury_gain", "personas_gain", "swap_jury")
    misses = dict(zip(names, (float(x) for x in [*first.fun, *second.fun]), strict=True))
    return _population(jury_of(second.x)), misses
