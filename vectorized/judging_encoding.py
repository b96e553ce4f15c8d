"""A judging protocol and a population as plain numbers and arrays: what the judging kernel reads."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..model.draws import normal_table
from ..model.judging import (
    BetaGap,
    Debate,
    Discussion,
    GapStable,
    GaussianGap,
    Judge,
    JudgingPopulation,
    JudgingProtocol,
    LeadBy,
    Panel,
    ReleasedCode,
    RubricGap,
    SignAgreement,
    ZeroInflatedBetaGap,
    effective_number,
)
from ..model.judging.cost import last_round, panel_judges
from ..model.judging.outcomes import JUDGING_REASONS, outcome_shape
from ..model.judging.protocols import AGGREGATORS
from ..model.judging.sampling import beta_gap_table, gap_of_z
from ..model.judging.stopping import REASONS, JudgingStopReason
from ..model.judging.weights import panel_weights

__all__ = ["JudgingEncoding", "encode_judging"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

PANEL, DISCUSSION, DEBATE = 0, 1, 2
FIXED, RANDOM, ALTERNATE = 0, 1, 2
BETA, GAUSSIAN, RUBRIC = 0, 1, 2
NO_STOP, GAP_STABLE, SIGN_AGREEMENT, LEAD_BY, RELEASED = 0, 1, 2, 3, 4
MAXIMUM, SUM = AGGREGATORS.index("max"), AGGREGATORS.index("sum")

_ORDERS = {"fixed": FIXED, "random": RANDOM, "both": ALTERNATE, "alternate": ALTERNATE}
_STOPS: dict[type, int] = {GapStable: GAP_STABLE, SignAgreement: SIGN_AGREEMENT, LeadBy: LEAD_BY, ReleasedCode: RELEASED}


class JudgingEncoding(NamedTuple):
    """Data of a judging protocol on a population; see :mod:`adjourn.model.judging` for what each means.

    J judges asked, R most rounds. Fields always have the same types, so one compiled kernel serves every protocol.
    """

    kind: int
    shape: Integers
    order: int
    moves: int  # 1 if any position shift is not 0
    # items
    mean_x: float
    sigma_x: float
    human_sd: float
    tie_band: float
    anonymity: float
    normal: Floats  # (2, cells)
    # judges
    place: Integers  # (J,)
    sigma_b: Floats
    loading: Floats
    own_loading: Floats
    position: Floats
    position_sd: Floats
    verbosity: Floats
    undecided: Floats
    weight: Integers
    gap: Integers
    gap_sd: Floats  # (J, R): by call of a debate
    tie: Floats
    mean_tie: Floats  # (n + 1,): of the first judge's mean of n gaps
    scale: Floats
    zero: Floats
    level: Floats
    table: Integers  # (J,): which of the Beta tables
    tables: Floats  # (tables, rows, cells)
    gap_of_z: Floats
    # panels
    calls: int
    scores: int
    # debates
    advocates: int
    aggregator: int
    score_scale: float
    limit: int
    by_budget: int
    stop: int
    epsilon: float
    window: int
    min_rounds: int
    signed: int
    parse_failure: float
    bias_factor: float
    argument_sd: float
    gain: float
    last: int
    jurors: int
    slope: Floats  # (R + 1,)
    jury_position: float
    root_rho: float
    root_rest: float
    # discussions
    agents: int
    turns: int
    pull: float
    until_agreement: int
    root_shared: float
    root_own: float
    # reasons: nothing could stop, the rule fired, the budget, the limit, agreement
    reasons: Integers


def _judges(protocol: JudgingProtocol, population: JudgingPopulation) -> list[int]:
    return panel_judges(protocol, population) if isinstance(protocol, Panel) else [0]


def _gaps(judges: list[Judge], rounds: int, debate: bool) -> dict[str, Any]:
    kinds, sds, ties, scales, zeros, levels, table = [], [], [], [], [], [], []
    nus: list[float] = []
    for judge in judges:
        gap: Any = judge.gap
        kinds.append(GAUSSIAN if isinstance(gap, GaussianGap) else (RUBRIC if isinstance(gap, RubricGap) else BETA))
        sd = float(getattr(gap, "sd", 0.0))
        factor = gap.factor if isinstance(gap, GaussianGap) and debate else 1.0
        sds.append([sd * factor**call for call in range(rounds)])
        ties.append(float(gap.tie_gap))
        scales.append(float(getattr(gap, "scale", 1.0)))
        zeros.append(float(gap.zero) if isinstance(gap, ZeroInflatedBetaGap) else 0.0)
        levels.append(float(getattr(gap, "level", 0.0)))
        if isinstance(gap, (BetaGap, ZeroInflatedBetaGap)):
            if gap.nu not in nus:
                nus.append(gap.nu)
            table.append(nus.index(gap.nu))
        else:
            table.append(0)
    return {
        "gap": np.array(kinds, dtype=np.int64),
        "gap_sd": np.array(sds),
        "tie": np.array(ties),
        "scale": np.array(scales),
        "zero": np.array(zeros),
        "level": np.array(levels),
        "table": np.array(table, dtype=np.int64),
        "tables": np.array([beta_gap_table(float(nu)) for nu in nus]) if nus else np.zeros((1, 1, 1)),
        "gap_of_z": gap_of_z(),
    }


def _debate(protocol: Debate, population: JudgingPopulation) -> dict[str, Any]:
    stop: Any = protocol.stop
    limit, by_budget = last_round(protocol, population)
    jury = population.jury
    rho = jury.rho_personas if protocol.personas else jury.rho
    read = [effective_number(max(r, 1) * protocol.advocates, jury.rho_arguments) for r in range(protocol.rounds + 1)]
    released = isinstance(stop, ReleasedCode)
    return {
        "advocates": protocol.advocates,
        "aggregator": AGGREGATORS.index(protocol.aggregator),
        "score_scale": float(protocol.advocates if protocol.aggregator == "sum" else 1),
        "limit": limit,
        "by_budget": int(by_budget),
        "stop": _STOPS.get(type(stop), NO_STOP),
        "epsilon": float(stop.epsilon / stop.points) if released else float(getattr(stop, "epsilon", 0.0)),
        "window": int(getattr(stop, "window", getattr(stop, "run", getattr(stop, "lead", 0)))),
        "min_rounds": int(getattr(stop, "min_rounds", 0)),
        "signed": int(getattr(stop, "signed", True)),
        "parse_failure": float(stop.parse_failure) if released else 0.0,
        "bias_factor": float(population.debate.bias_factor),
        "argument_sd": float(population.debate.argument_sd),
        "gain": float(population.debate.gain),
        "last": int(protocol.decision == "last"),
        "jurors": protocol.jurors,
        "slope": np.array([jury.sensitivity * math.sqrt(n) for n in read]),
        "jury_position": (population.anonymity if protocol.anonymised else 1.0) * jury.position,
        "root_rho": math.sqrt(rho),
        "root_rest": math.sqrt(1 - rho),
    }


_NO_DEBATE: dict[str, Any] = {
    **dict.fromkeys(("advocates", "aggregator", "limit", "by_budget", "stop", "window", "min_rounds", "signed", "last", "jurors"), 0),
    **dict.fromkeys(
        (
            "score_scale",
            "epsilon",
            "parse_failure",
            "bias_factor",
            "argument_sd",
            "gain",
            "jury_position",
            "root_rho",
            "root_rest",
        ),
        0.0,
    ),
    "slope": np.zeros(1),
}


def _discussion(protocol: JudgingProtocol, population: JudgingPopulation) -> dict[str, Any]:
    law = population.discussion
    if not isinstance(protocol, Discussion):
        return {"agents": 0, "turns": 0, "pull": 0.0, "until_agreement": 0, "root_shared": 0.0, "root_own": 0.0}
    rho = law.rho_diverse if protocol.roles == "diverse" else law.rho_single
    return {
        "agents": protocol.agents,
        "turns": protocol.turns,
        "pull": float(law.pull),
        "until_agreement": int(protocol.until_agreement),
        "root_shared": math.sqrt(rho),
        "root_own": math.sqrt(1 - rho),
    }


def _reasons(protocol: JudgingProtocol) -> Integers:
    fired = REASONS.get(type(protocol.stop)) if isinstance(protocol, Debate) else None
    limit = JudgingStopReason.ROUND_LIMIT
    if isinstance(protocol, Debate) and protocol.rounds == 1:
        limit = JudgingStopReason.SCORED
    named = (JudgingStopReason.SCORED, fired or limit, JudgingStopReason.TOKEN_BUDGET, limit, JudgingStopReason.AGREEMENT)
    return np.array([JUDGING_REASONS.index(reason) for reason in named], dtype=np.int64)


def _most_averaged(protocol: JudgingProtocol) -> int:
    """Largest number of gaps that are averaged."""
    if isinstance(protocol, Panel):
        return protocol.calls_each
    return protocol.rounds if isinstance(protocol, Debate) else protocol.agents


def encode_judging(protocol: JudgingProtocol, population: JudgingPopulation) -> JudgingEncoding:
    """Lay out a judging protocol and a population for the kernel.

    Raises
    ------
    ParameterError
        If the population has not the judges that the protocol asks.
    """
    places = _judges(protocol, population)
    judges = [population.judges[j] for j in places]
    law = population.items
    normal = normal_table()
    shifted = any(judge.position or judge.position_sd for judge in judges)
    debate = isinstance(protocol, Debate)
    numbers: dict[str, Any] = {
        name: np.array([float(getattr(judge, name)) for judge in judges])
        for name in ("sigma_b", "loading", "position", "position_sd", "verbosity", "undecided")
    }
    return JudgingEncoding(
        kind=PANEL if isinstance(protocol, Panel) else (DEBATE if debate else DISCUSSION),
        shape=np.array(outcome_shape(protocol), dtype=np.int64),
        order=_ORDERS[protocol.order],
        moves=int(shifted or (debate and population.jury.position != 0)),
        mean_x=float(law.mean_x),
        sigma_x=float(law.sigma_x),
        human_sd=float(law.human_sd),
        tie_band=float(law.tie_band),
        anonymity=float(population.anonymity) if protocol.anonymised else 1.0,
        normal=np.ascontiguousarray([np.append(half, half[-1]) for half in (normal.lower, normal.upper)]),
        place=np.array(places, dtype=np.int64),
        own_loading=np.array([math.sqrt(1 - judge.loading**2) for judge in judges]),
        weight=np.array(panel_weights(protocol, population) if isinstance(protocol, Panel) else (1,), dtype=np.int64),
        **numbers,
        **_gaps(judges, max(protocol.most_rounds, 1), debate),
        mean_tie=np.array([judges[0].gap.mean_tie(max(n, 1)) for n in range(_most_averaged(protocol) + 1)]),
        calls=protocol.calls_each if isinstance(protocol, Panel) else 0,
        scores=int(isinstance(protocol, Panel) and protocol.combine == "score"),
        **(_debate(protocol, population) if isinstance(protocol, Debate) else _NO_DEBATE),
        **_discussion(protocol, population),
        reasons=_reasons(protocol),
    )
