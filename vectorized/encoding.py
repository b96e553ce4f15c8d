r"""A protocol and a population as plain numbers and arrays: what the kernels read.

The kernels know no protocol by name. An :class:`Encoding` lists the data of any (protocol, population) pair; its fields always have the
same types, so one compiled kernel serves them all. Everything that can be decided before the first question is decided here, with the
model's own functions: the weights of the response rule, the integer thresholds of the stops, the quantile tables.

Signals are screened before they are evaluated. A word of 32 bits falls into one of :math:`2^9` cells by its leading bits; ``screen``
bounds the weighted signal over the cell from below and above, in units of :math:`2^{-24}` rounded outwards. Since floating-point addition
is monotone,

.. math:: \max_k (\underline h_k + \underline d_k) \le \max_k (w_h h(k) + w_d d(k)) \le \max_k (\overline h_k + \overline d_k)

holds bit for bit, and where both ends lead to the same tier the signals themselves need not be evaluated. The two bounds share one
64-bit integer, :math:`2^{32} \underline h + \overline h`, so that one addition adds both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..model.deciding import VOTES, cumulative
from ..model.difficulty import BetaDifficulty, FixedShare
from ..model.draws import QuantileTable, beta_table, cell_edges
from ..model.outcomes import REASONS, OutcomeSpace, last_round
from ..model.population import Population
from ..model.protocol import INITIAL, TARGETS, Protocol
from ..model.scheduling import ConfidenceGate, OracleGate, UncertaintyGate
from ..model.signals import Signals, variant_entropy
from ..model.stopping import AdaptiveConsistency, StableConsensus, StopReason, Window
from ..model.thresholds import as_fraction, largest_change, smallest_count

__all__ = ["Encoding", "encode"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

BETA, MIXTURE, JOINT, FIXED = 0, 1, 2, 3
NO_STOP, ADAPTIVE, WINDOW = 0, 1, 2
NO_DEBATE, ONE_TIER, UNCERTAINTY, CONFIDENCE, ORACLE = 0, 1, 2, 3, 4
FIRST_SHARES = ("agents", "chains", "none")

SCREEN_BITS = 9
SCREEN_UNIT = 2.0**-24


class Encoding(NamedTuple):
    """Data of a protocol on a population; see :mod:`adjourn.model` for what each means. Codes are those of this module.

    T tiers, N the largest panel, M chains; ``[own, peers, right]`` as in :meth:`ResponseRule.weights`.
    """

    # the question's law
    difficulty: int
    mass_zero: float
    mass_one: float
    p_table: Floats  # (2, cells): Q(t) and Q(1 - t)
    point_upto: Floats
    point_p: Floats
    point_w: Floats
    share: int
    w_fixed: float
    w_table: Floats
    # chains
    chains: int
    samples: int  # independent answers that every question reads; slots 0 .. samples - 1
    sampling: int
    sure_at: Integers  # (M + 1,): smallest v1 that is sure against v2
    window: int
    # gate and signals
    gate: int
    bounds: Floats
    weight_h: float
    weight_q: float
    weight_d: float
    threshold: int
    steps: int
    visibility: float
    black_box: int
    h_table: Floats  # (2, 2, cells): clean and faulty
    d_table: Floats
    variants_upto: Floats  # (2, variants + 1): clean and faulty
    variants_entropy: Floats
    screen: Integers  # (2 * 2 * 2**SCREEN_BITS,): clean h, clean d, faulty h, faulty d
    screen_top: Integers  # (2 * 2**SCREEN_BITS,): highest of clean h, and of clean d, in this cell and below
    oracle_exponents: Integers  # (compositions, 3)
    oracle_coefficients: Floats  # (T, compositions)
    # tiers
    agents: Integers  # (T,)
    limit: Integers  # (T,): last round
    by_budget: Integers  # (T,): whether a token budget ends it there
    initial: int
    target: int
    focus_matters: int
    weights: Floats  # (T, focused, own, N + 1, right)
    iota: float
    phi: float
    fresh_weight: float
    # round stop
    consensus: int
    need: Integers  # (T,): smallest dominant count
    change: Integers  # (T, max(M, N) + 1): largest change against an earlier share of that denominator
    same_leader: int
    first_share: int
    inert: int  # 1 where agents inherit chains and nobody leaves a unanimous panel
    settled_rounds: Integers  # (T,): rounds held and reason of such a panel
    settled_reason: Integers
    # decision
    vote: int
    confidence_upto: Floats  # (2, 10): wrong and right
    # outcome lattice
    shape: Integers


def _pad(table: QuantileTable) -> Floats:
    """Both halves, with the last value twice, so that the cell above the last edge needs no test."""
    half = [np.append(values, values[-1]) for values in (table.lower, table.upper)]
    return np.ascontiguousarray(half, dtype=np.float64)


_NO_TABLE = np.zeros((2, 1))


def _question(population: Population) -> dict[str, Any]:
    difficulty, share = population.difficulty, population.misconception
    data: dict[str, Any] = {
        "mass_zero": 0.0,
        "mass_one": 0.0,
        "p_table": _NO_TABLE,
        "point_upto": np.zeros(1),
        "point_p": np.zeros(1),
        "point_w": np.zeros(1),
        "w_fixed": 0.0,
        "w_table": _NO_TABLE,
    }
    if isinstance(difficulty, BetaDifficulty):
        data |= {"difficulty": BETA, "mass_zero": float(difficulty.mass_zero), "mass_one": float(difficulty.mass_one)}
        data["p_table"] = _pad(beta_table(float(difficulty.a), float(difficulty.b)))
    else:
        data |= {"difficulty": MIXTURE, "point_upto": difficulty.cumulative(), "point_p": np.array(difficulty.p, dtype=float)}
    if share is None:
        data |= {"share": JOINT, "point_w": np.array(difficulty.w, dtype=float)}  # type: ignore[union-attr]
    elif isinstance(share, FixedShare):
        data |= {"share": FIXED, "w_fixed": float(share.w)}
    else:
        data |= {"share": BETA, "w_table": _pad(beta_table(float(share.a), float(share.b)))}
    return data


def _chains(protocol: Protocol) -> dict[str, Any]:
    stop, most = protocol.sampling_stop, protocol.chains
    sampling, window, sure_at = NO_STOP, 0, np.zeros(1, dtype=np.int64)
    if isinstance(stop, AdaptiveConsistency) and most > 1:
        sampling, sure_at = ADAPTIVE, _sure_at(stop, most)
    elif isinstance(stop, Window) and most > stop.window:
        sampling, window = WINDOW, stop.window
    samples = most
    if protocol.tiers and protocol.initial == "fresh":
        samples = most + protocol.most_agents
    elif protocol.tiers and protocol.initial == "restated":
        samples = max(most, protocol.most_agents)
    return {"chains": most, "samples": samples, "sampling": sampling, "sure_at": sure_at, "window": window}


def _sure_at(stop: AdaptiveConsistency, most: int) -> Integers:
    r"""Smallest v1 >= v2 that is sure against v2, by v2; most + 1 where no pair of at most ``most`` answers is.

    It never falls as v2 grows, so one walk finds all. With n = v1 + v2 + 1 and k = v1 the walk keeps :math:`\binom{n}{k}` and
    :math:`S = \sum_{j \le k} \binom{n}{j}`, which is :math:`2 S + \binom{n}{k+1}` for the next v1 and :math:`2 S - \binom{n}{k}` for the
    next v2.
    """
    level = as_fraction(stop.level, "level")
    found = np.full(most + 1, most + 1, dtype=np.int64)
    n, k, choose, total = 1, 0, 1, 1
    for v2 in range(most + 1):
        while k + v2 <= most and (k < v2 or total * level.denominator < level.numerator << n):
            total = 2 * total + choose * (n - k) // (k + 1)
            choose = choose * (n + 1) // (k + 1)
            n, k = n + 1, k + 1
        if k + v2 > most:
            break
        found[v2] = k
        total -= choose - total
        choose = choose * (n + 1) // (n + 1 - k)
        n += 1
    return found


def _gate(protocol: Protocol, population: Population) -> dict[str, Any]:
    gate = protocol.gate
    weights = gate if isinstance(gate, UncertaintyGate) else UncertaintyGate()
    kind = NO_DEBATE if not protocol.tiers else ONE_TIER
    exponents, coefficients = np.zeros((1, 3), dtype=np.int64), np.zeros((1, 1))
    if isinstance(gate, UncertaintyGate):
        kind = UNCERTAINTY if gate.bounds else ONE_TIER
    elif isinstance(gate, ConfidenceGate):
        kind = CONFIDENCE
    elif isinstance(gate, OracleGate):
        from ..model.exact.oracle import oracle_router

        router = oracle_router(protocol, population)
        kind, exponents, coefficients = ORACLE, router.exponents, router.coefficients
    return {
        "gate": kind,
        "bounds": np.array(weights.bounds, dtype=float),
        "weight_h": float(weights.weight_h),
        "weight_q": float(weights.weight_q),
        "weight_d": float(weights.weight_d),
        "threshold": gate.threshold if isinstance(gate, ConfidenceGate) else 0,
        "oracle_exponents": np.ascontiguousarray(exponents, dtype=np.int64),
        "oracle_coefficients": np.ascontiguousarray(coefficients, dtype=float),
        **_signals(population.signals, float(weights.weight_h), float(weights.weight_d)),
    }


def _signals(law: Signals, weight_h: float, weight_d: float) -> dict[str, Any]:
    h, d, upto, screen = [], [], [], []
    entropy = variant_entropy(law.variants)
    for faulty in (False, True):
        if law.black_box:
            upto.append(np.cumsum(law.variant_law(faulty)))
            screen.append(_screen_steps(weight_h, upto[-1], entropy))
        else:
            token_entropy = beta_table(*law.shapes_h(faulty))
            h.append(_pad(token_entropy))
            screen.append(_screen(weight_h, token_entropy))
        contradiction = beta_table(*law.shapes_d(faulty))
        d.append(_pad(contradiction))
        screen.append(_screen(weight_d, contradiction))
    return {
        "steps": law.steps,
        "visibility": float(law.visibility),
        "black_box": int(law.black_box),
        "h_table": np.array(h) if h else np.zeros((2, 2, 1)),
        "d_table": np.array(d),
        "variants_upto": np.array(upto) if upto else np.zeros((2, 1)),
        "variants_entropy": entropy,
        "screen": np.concatenate(screen),
        "screen_top": np.concatenate([np.maximum.accumulate(cells & 0xFFFFFFFF) for cells in screen[:2]]),
    }


def _cells() -> tuple[Floats, Floats]:
    """Uniform numbers of the first and the last word of every screening cell."""
    width = 2.0 ** (32 - SCREEN_BITS)
    first = np.arange(2**SCREEN_BITS) * width
    return (first + 0.5) * 2.0**-32, (first + width - 0.5) * 2.0**-32


def _bounds(below: Floats, above: Floats) -> Integers:
    """Bounds in units of SCREEN_UNIT, with room for the rounding of a linear interpolation."""
    low = np.maximum(np.floor((below - 1e-12) / SCREEN_UNIT), 0.0).astype(np.int64)
    high = np.ceil((above + 1e-12) / SCREEN_UNIT).astype(np.int64)
    return (low << 32) + high


def _screen(weight: float, quantile: QuantileTable) -> Integers:
    first, last = _cells()
    return _bounds(weight * _quantiles(quantile, first), weight * _quantiles(quantile, last))


def _quantiles(table: QuantileTable, u: Floats) -> Floats:
    """Values of a table at many u, but for rounding."""
    edges = cell_edges()
    return np.where(u < 0.5, np.interp(u, edges, table.lower), np.interp(1.0 - u, edges, table.upper))


def _screen_steps(weight: float, upto: Floats, entropy: Floats) -> Integers:
    """As :func:`_screen` for the entropy of a number of agreeing variants, which is not monotone."""
    first, last = (np.minimum(np.searchsorted(upto, u, side="right"), len(entropy) - 1) for u in _cells())
    spans = [weight * entropy[a : b + 1] for a, b in zip(first, last, strict=True)]
    return _bounds(np.array([span.min() for span in spans]), np.array([span.max() for span in spans]))


def _debate(protocol: Protocol, population: Population) -> dict[str, Any]:
    tiers, rule = protocol.tiers, population.response
    size = max(protocol.most_agents, 1)
    weights = np.zeros((max(len(tiers), 1), 2, 2, size + 1, 2))
    limits = [last_round(protocol, population, tier) for tier in tiers]
    for t, tier in enumerate(tiers):
        for focused in (0, 1):
            weights[t, focused, :, : tier.agents] = rule.weights(tier.agents, bool(focused))
    return {
        "agents": np.array([tier.agents for tier in tiers] or [0], dtype=np.int64),
        "limit": np.array([rounds for rounds, _ in limits] or [0], dtype=np.int64),
        "by_budget": np.array([int(ends) for _, ends in limits] or [0], dtype=np.int64),
        "initial": INITIAL.index(protocol.initial),
        "target": TARGETS.index(protocol.target),
        "focus_matters": int(bool(tiers) and protocol.target != "none" and rule.lam_focus != 0),
        "weights": weights,
        "iota": float(rule.iota),
        "phi": float(rule.phi),
        "fresh_weight": float(rule.fresh_weight),
    }


def _settled(protocol: Protocol, population: Population) -> dict[str, Any]:
    """Tell what becomes of a panel that is unanimous from the first and stays so: the same in every question."""
    stop, rule = protocol.round_stop, population.response
    rounds, reasons = [], []
    for tier in protocol.tiers:
        limit, by_budget = last_round(protocol, population, tier)
        held, reason = limit, StopReason.TOKEN_BUDGET if by_budget else StopReason.ROUND_LIMIT
        first = 2 if isinstance(stop, StableConsensus) and stop.first_share == "none" else 1
        if isinstance(stop, StableConsensus) and tier.agents > 1 and first <= limit:
            held, reason = first, StopReason.CONSENSUS
        rounds.append(held)
        reasons.append(REASONS.index(reason))
    return {
        "inert": int(protocol.inherits and rule.iota == 0 and rule.phi == 0 and rule.fresh_weight == 0),
        "settled_rounds": np.array(rounds or [0], dtype=np.int64),
        "settled_reason": np.array(reasons or [0], dtype=np.int64),
    }


def _round_stop(protocol: Protocol) -> dict[str, Any]:
    stop, tiers = protocol.round_stop, protocol.tiers
    most = max(protocol.chains, protocol.most_agents, 1)
    need = np.zeros(max(len(tiers), 1), dtype=np.int64)
    change = np.zeros((max(len(tiers), 1), most + 1), dtype=np.int64)
    if not isinstance(stop, StableConsensus):
        return {"consensus": 0, "need": need, "change": change, "same_leader": 0, "first_share": 0}
    tau, epsilon = as_fraction(stop.tau_c, "tau_c"), as_fraction(stop.epsilon, "epsilon")
    for t, tier in enumerate(tiers):
        need[t] = max(smallest_count(tau, tier.agents), 1)
        change[t] = [largest_change(epsilon, tier.agents * earlier) for earlier in range(most + 1)]
    return {
        "consensus": 1,
        "need": need,
        "change": change,
        "same_leader": int(stop.same_leader),
        "first_share": FIRST_SHARES.index(stop.first_share),
    }


def encode(protocol: Protocol, population: Population) -> Encoding:
    """Lay out a protocol and a population for the kernels.

    Parameters
    ----------
    protocol, population
        Validated values.

    Returns
    -------
    Encoding

    Raises
    ------
    ParameterError
        If the protocol has an oracle gate that is not defined on this population.
    """
    law = population.confidence
    return Encoding(
        **_question(population),
        **_chains(protocol),
        **_gate(protocol, population),
        **_debate(protocol, population),
        **_round_stop(protocol),
        **_settled(protocol, population),
        vote=VOTES.index(protocol.vote),
        confidence_upto=np.array([cumulative(law.wrong), cumulative(law.right)]),
        shape=np.array(OutcomeSpace(protocol).shape, dtype=np.int64),
    )
