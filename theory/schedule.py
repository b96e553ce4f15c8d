r"""UAAD's risk, its calls, and that it ends (claims U1 to U3).

:math:`u(k) = 0.45\,h(k) + 0.35\,q + 0.20\,d(k)`, :math:`U = \max_k u(k)`; q is one minus the dominant share of the M chains, the same
for every step. A question of a tier with N agents that ends after r rounds takes :math:`Q = M + N r + 1` calls.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import sympy

from ..model import FixedRounds, Protocol, StableConsensus, StopReason, Tier, UncertaintyGate, load_population, load_protocol, run
from ..model import exact as exact_law
from ..model.outcomes import Costs, OutcomeSpace
from .claim import Assumption, Check, Choice, Claim, Integers, Reals, at_most, equal, fact, near
from .scripted import Script

__all__ = ["CLAIMS", "expected_calls", "largest_risk"]

Weights = tuple[float, float, float]

PUBLISHED: Weights = (0.45, 0.35, 0.20)
"""Weights of h, q and d."""


# -- U1 --


def largest_risk(chains: int) -> float:
    """Largest U that M chains allow: 1 - .35/M, because at least one chain is the dominant one."""
    return 1 - 0.35 / chains


def _risk(h: Sequence[float], q: Sequence[float], d: Sequence[float], weights: Weights) -> tuple[float, int]:
    """U and the riskiest step, for q that might differ between steps."""
    u = [weights[0] * a + weights[1] * b + weights[2] * c for a, b, c in zip(h, q, d, strict=True)]
    return max(u), u.index(max(u))


def _u1_conclusion(*, weights: Weights, common: bool) -> Iterator[Check]:
    steps, chains = 4, 5
    rng = np.random.default_rng(11)
    top = _risk((1.0,) * steps, (1 - 1 / chains,) * steps, (1.0,) * steps, weights)[0]
    yield at_most("largest U at five chains", top, largest_risk(chains), 1e-12)
    moved, falls = 0, 0
    for _ in range(200):
        h, d = rng.random(steps).tolist(), rng.random(steps).tolist()
        q = (rng.integers(0, chains, steps) / chains).tolist()
        low, high = ((0.0,) * steps, (0.8,) * steps) if common else ([0.0] * steps, q)
        moved += _risk(h, low, d, weights)[1] != _risk(h, high, d, weights)[1]
        raised = [min(1.0, x + 0.1) for x in d]
        falls += _risk(h, low, raised, weights)[0] < _risk(h, low, d, weights)[0] - 1e-12
    yield equal("cases of 200 in which q moves the target", moved, 0)
    yield equal("cases of 200 in which U falls when every d rises", falls, 0)


def _u1_derive() -> Iterator[Check]:
    gate = UncertaintyGate()
    weights = [Fraction(str(x)) for x in (gate.weight_h, gate.weight_q, gate.weight_d)]
    yield equal("the weights sum to", sum(weights), Fraction(1))
    yield equal("none is negative", all(w >= 0 for w in weights), True)
    h, d, q, h2, d2, m = sympy.symbols("h d q h_2 d_2 M", positive=True)
    wh, wq, wd = (sympy.Rational(w.numerator, w.denominator) for w in weights)
    u, u2 = wh * h + wq * q + wd * d, wh * h2 + wq * q + wd * d2
    yield equal("slopes of u in h, q, d", tuple(sympy.diff(u, x) for x in (h, q, d)), (wh, wq, wd))
    yield equal("q drops out of the difference of two steps", sympy.diff(sympy.expand(u - u2), q), 0)
    yield equal("u at h = d = 1, q = 1 - 1/M", u.subs({h: 1, d: 1, q: 1 - 1 / m}), 1 - wq / m)
    yield equal("u at q = 0 is at most", u.subs({h: 1, d: 1, q: 0}), sympy.Rational(13, 20))


def _u1_witness() -> Iterator[Check]:
    protocol, population = load_protocol("uaad"), load_population("gsm8k-gpt35")
    for chains in ((0, 0, 0, 0, 0), (0, 1, 0, 2, 0), (1, 2, 3, 4, 5)):
        script = Script(chains, [[0] * 6], h=(0.3, 0.9, 0.5), d=(0.2, 0.1, 0.6))
        found = run(protocol, population, script)
        expected, target = _risk(script.h, (1 - max(map(chains.count, chains)) / 5,) * 3, script.d, PUBLISHED)
        yield near(f"U of chains {chains} by the reference engine", found.risk if found.risk is not None else math.nan, expected, 1e-12)
        yield equal("its target", found.target, target)
    split = run(protocol, population, Script((1, 2, 3, 4, 5), [[0] * 6], h=(1.0,), d=(1.0,)))
    yield near("largest U at five chains, by the reference engine", split.risk or math.nan, largest_risk(5), 1e-12)


def _u1_law(*, h: float, d: float, other_h: float, other_d: float, split: int, chains: int) -> Iterator[Check]:
    q = min(split, chains - 1) / chains
    (risk, target), (_, alone) = (_risk((h, other_h), (x, x), (d, other_d), PUBLISHED) for x in (q, 0.0))
    yield at_most("0 <= U", 0.0, risk)
    yield at_most("U <= 1 - .35/M", risk, largest_risk(chains), 1e-12)
    steady = abs(0.45 * (h - other_h) + 0.20 * (d - other_d)) > 1e-9  # else the two steps tie but for rounding
    yield fact("q leaves the target where it is", target == alone or not steady)


U1 = Claim(
    id="U1",
    title="Risk is bounded and monotone; q moves the tier only",
    statement=(
        "U lies in [0, 1], rises with every h, q and d, and is at most 1 - .35/M with M chains; q is the same for all steps, so it can "
        "change the tier but never the targeted step."
    ),
    latex=r"0 \le U \le 1 - \tfrac{0.35}{M}, \qquad \arg\max_k u(k) = \arg\max_k \bigl(0.45\,h(k) + 0.20\,d(k)\bigr)",
    source="Step risk: UAAD (2026). Bounds and the remark on q: ours",
    derive=_u1_derive,
    witness=_u1_witness,
    domain={
        "h": Reals(0.0, 1.0),
        "d": Reals(0.0, 1.0),
        "other_h": Reals(0.0, 1.0),
        "other_d": Reals(0.0, 1.0),
        "split": Integers(0, 9),
        "chains": Integers(1, 10),
    },
    law=_u1_law,
    world={"weights": PUBLISHED, "common": True},
    assumptions=(
        Assumption("convex weights", "weights sum to 1", {"weights": (0.45, 0.35, 0.40)}, by_definition=True),
        Assumption("non-negative weights", "no weight is negative", {"weights": (0.85, 0.35, -0.20)}, by_definition=True),
        Assumption("answer-level q", "q is the same for all steps", {"common": False}, by_definition=True),
    ),
    conclusion=_u1_conclusion,
)


# -- U2 --


def expected_calls(chains: int, masses: dict[str, float], depth: float) -> float:
    """E[Q] of UAAD's three tiers from tier masses and mean depth: rounds of the high tier are depth less one for each other question.

    Parameters
    ----------
    chains : int
        M.
    masses : dict
        Tier masses ``low``, ``medium``, ``high``.
    depth : float
        Mean number of debate rounds.
    """
    return chains + 1 + masses["low"] + 3 * masses["medium"] + 6 * (depth - masses["low"] - masses["medium"])


def _u2_conclusion(*, synthesiser: bool, medium_rounds: int) -> Iterator[Check]:
    uaad = load_protocol("uaad")
    tiers = tuple(replace(t, rounds=medium_rounds) if t.name == "medium" else t for t in uaad.tiers)
    result = exact_law.simulate(replace(uaad, synthesiser=synthesiser, tiers=tiers), load_population("gsm8k-gpt35"))
    masses = {name: estimate.mean for name, estimate in result.shares["tiers"].items()}
    formula = expected_calls(uaad.chains, masses, result.mean("depth").mean)
    yield near("E[Q] of the exact law against the formula", result.mean("calls").mean, formula, 1e-9)


def _u2_derive() -> Iterator[Check]:
    m, low, medium, rho = sympy.symbols("M p_L p_M rho", positive=True)
    high = 1 - low - medium
    calls = low * (m + 1 + 1) + medium * (m + 3 + 1) + high * (m + 6 * rho + 1)
    yield equal("E[Q] is linear in the masses", calls, m + 1 + low + 3 * medium + 6 * rho * high)
    depth = low + medium + high * rho
    yield equal("and in depth: 6 (depth - p_L - p_M) is the high tier's part", 6 * (depth - low - medium), 6 * rho * high)
    yield equal("least: everything low", calls.subs({low: 1, medium: 0}), m + 2)
    yield equal("most: everything high for three rounds", calls.subs({low: 0, medium: 0, rho: 3}), m + 19)


def _u2_witness() -> Iterator[Check]:
    protocol, population = load_protocol("uaad"), load_population("math-gpt35")
    space = OutcomeSpace(protocol)
    costs = Costs(space, population)
    wrong, inside = 0, 0
    for i in range(space.size):
        o = space.outcome(i)
        if o.chains != protocol.chains or o.tier < 0 or not 1 <= o.rounds <= protocol.tiers[o.tier].rounds:
            continue
        inside += 1
        wrong += int(costs.calls[i]) != protocol.chains + protocol.tiers[o.tier].agents * o.rounds + 1
    yield at_most("outcomes of UAAD with five chains looked at", 100, inside)
    yield equal("outcomes whose calls are not M + N r + 1", wrong, 0)
    result = exact_law.simulate(protocol, population)
    masses = {name: estimate.mean for name, estimate in result.shares["tiers"].items()}
    yield near("E[Q] on math-gpt35", result.mean("calls").mean, expected_calls(5, masses, result.mean("depth").mean), 1e-9)
    yield equal("worst case at five chains", int(result.quantiles["calls"]["max"]), 5 + 19)


def _u2_law(*, chains: int, low: float, medium: float, rounds: float) -> Iterator[Check]:
    masses = {"low": low, "medium": (1 - low) * medium}
    masses["high"] = 1 - masses["low"] - masses["medium"]
    calls = expected_calls(chains, masses, masses["low"] + masses["medium"] + masses["high"] * rounds)
    yield at_most("M + 2 <= E[Q]", chains + 2, calls, 1e-9)
    yield at_most("E[Q] <= M + 19", calls, chains + 19, 1e-9)


U2 = Claim(
    id="U2",
    title="Calls",
    statement=(
        "A question takes Q = M + N r + 1 calls; the expectation is linear in the tier masses and in the high tier's mean rounds, and "
        "lies between M + 2 and M + 19."
    ),
    latex=r"\mathrm{E}Q = M + 1 + p_L + 3 p_M + 6 \rho\, p_H, \qquad M + 2 \le Q \le M + 19",
    source="Q = M + N R + 1: UAAD (2026), debate contract, with rounds run for R. Linearity and bounds: ours",
    derive=_u2_derive,
    witness=_u2_witness,
    domain={"chains": Integers(0, 40), "low": Reals(0.0, 1.0), "medium": Reals(0.0, 1.0), "rounds": Reals(1.0, 3.0)},
    law=_u2_law,
    world={"synthesiser": True, "medium_rounds": 1},
    assumptions=(
        Assumption("synthesiser", "one call writes the answer", {"synthesiser": False}, by_definition=True),
        Assumption("one medium round", "the medium tier has one round", {"medium_rounds": 2}, by_definition=True),
    ),
    conclusion=_u2_conclusion,
)


# -- U3 --

_ALTERNATING = ((0, 0, 0, 1, 1, 1), (0, 0, 0, 0, 0, 0))
"""A panel that swings between 3 of 6 and 6 of 6 for ever."""


def _one_tier(rounds: int, agents: int = 6, rule: StableConsensus | None = None) -> Protocol:
    """Return a debate of one tier without gate."""
    stop = rule or StableConsensus()
    return Protocol(name="debate", chains=1, tiers=(Tier("all", agents, rounds),), initial="chains", round_stop=stop, vote="plurality")


def _u3_conclusion(*, limit: int) -> Iterator[Check]:
    rounds = [_ALTERNATING[r % 2] for r in range(limit)]
    found = run(_one_tier(limit), load_population("gsm8k-gpt35"), Script((0,), rounds))
    yield at_most("rounds of a panel that never settles", found.outcome.rounds, 3)


def _u3_derive() -> Iterator[Check]:
    table = StableConsensus().table(6)
    counts = [max(answers.count(0), answers.count(1)) for answers in _ALTERNATING]
    pairs = [(counts[0], counts[1]), (counts[1], counts[0])]
    yield equal(
        "the consensus rule fires on neither step of the swinging panel", tuple(bool(table[a, b]) for a, b in pairs), (False, False)
    )
    yield equal("a panel of one agent has no consensus", bool(StableConsensus().table(1).any()), False)
    yield equal("every tier has a last round", all(t.rounds >= 1 for t in load_protocol("uaad").tiers), True)


def _u3_witness() -> Iterator[Check]:
    population = load_population("gsm8k-gpt35")
    swinging = run(_one_tier(3), population, Script((0,), [_ALTERNATING[0], _ALTERNATING[1]] * 2))
    yield equal("a swinging panel ends after round", swinging.outcome.rounds, 3)
    yield equal("because of", swinging.stop_reason.value, StopReason.ROUND_LIMIT.value)
    settled = run(_one_tier(3), population, Script((0,), [[0] * 6]))
    yield equal("a settled one ends after round", settled.outcome.rounds, 1)
    yield equal("because of", settled.stop_reason.value, StopReason.CONSENSUS.value)
    endless = run(_one_tier(64), population, Script((0,), [_ALTERNATING[r % 2] for r in range(64)]))
    yield equal("without a limit the rule alone would not have stopped it in 64 rounds", endless.outcome.rounds, 64)
    masses = exact_law.evaluate(load_protocol("uaad"), population)
    yield near("all probability of the exact law lies on outcomes with at most three rounds", float(masses.sum()), 1.0, 1e-9)


def _u3_law(*, first: int, second: int, third: int, rounds: int, tau: str) -> Iterator[Check]:
    written = [[0] * n + [1] * (6 - n) for n in (first, second, third)]
    found = run(_one_tier(rounds, rule=StableConsensus(tau_c=tau)), load_population("gsm8k-gpt35"), Script((0,), written))
    yield at_most("rounds held", found.outcome.rounds, rounds)
    ended = {StopReason.CONSENSUS, StopReason.ROUND_LIMIT}
    yield fact("and a reason is given", found.stop_reason in ended, found.stop_reason.value)
    fixed = run(replace(_one_tier(rounds), round_stop=FixedRounds()), load_population("gsm8k-gpt35"), Script((0,), written))
    yield at_most("never more than without the rule", found.outcome.rounds, fixed.outcome.rounds)


U3 = Claim(
    id="U3",
    title="UAAD terminates",
    statement=(
        "Whatever agents answer, a debate ends after at most its tier's R rounds, and the trajectory says why. The limit is needed: "
        "the consensus rule alone may never fire."
    ),
    latex=r"\inf\{r : C(r) \ge \tau_c,\ |C(r) - C(r-1)| \le \epsilon\} \wedge R \le R < \infty",
    source="Termination rule: UAAD (2026). Statement: ours",
    derive=_u3_derive,
    witness=_u3_witness,
    domain={
        "first": Integers(0, 6),
        "second": Integers(0, 6),
        "third": Integers(0, 6),
        "rounds": Integers(1, 5),
        "tau": Choice(("1/2", "0.8", "5/6", "1")),
    },
    law=_u3_law,
    world={"limit": 3},
    assumptions=(Assumption("round limit", "a tier has a last round, R <= 3", {"limit": 60}, by_definition=True),),
    conclusion=_u3_conclusion,
)

CLAIMS = (U1, U2, U3)
