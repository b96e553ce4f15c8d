"""Hypothesis strategies for protocols and populations of reasoning debates: every option that the two values have.

Sizes are small (N up to 6, R up to 3, M up to 5), so that the exact law is quick; all gates, kinds of first answers, stops, votes, targets,
response rules and laws of difficulty occur, with their borders (0, 1, empty, equal bounds) drawn on purpose.
"""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from adjourn.model import (
    AdaptiveConsistency,
    BetaDifficulty,
    BetaShare,
    ConfidenceGate,
    ConfidenceLaw,
    Copying,
    FixedRounds,
    FixedShare,
    Follower,
    Logit,
    MixtureDifficulty,
    OracleGate,
    Population,
    Protocol,
    Signals,
    StableConsensus,
    Tier,
    TokenBudget,
    Tokens,
    UncertaintyGate,
    Window,
)
from adjourn.model.cost import PROMPTS
from adjourn.model.deciding import VOTES
from adjourn.model.protocol import TARGETS

MOST_CHAINS = 5
MOST_AGENTS = 6
MOST_ROUNDS = 3


def probabilities(low: float = 0.0, high: float = 1.0) -> st.SearchStrategy[float]:
    """Probabilities of three decimals, with the ends drawn often."""
    steps = st.integers(0, 1000).map(lambda k: low + (high - low) * (k / 1000))
    return st.one_of(steps, st.sampled_from([low, high]))


def _weights(length: int) -> st.SearchStrategy[tuple[float, ...]]:
    """Probability distributions over ``length`` points, zeros among them."""
    counts = st.lists(st.integers(0, 20), min_size=length, max_size=length).filter(any)
    return counts.map(lambda c: tuple(k / sum(c) for k in c))


# --- protocols -----------------------------------------------------------------------------------------------------------


@st.composite
def tiers(draw: st.DrawFn, count: int) -> tuple[Tier, ...]:
    """Panels of 1 to 6 agents and 1 to 3 rounds, in any order."""
    return tuple(Tier(f"tier{t}", draw(st.integers(1, MOST_AGENTS)), draw(st.integers(1, MOST_ROUNDS))) for t in range(count))


def sampling_stops() -> st.SearchStrategy[AdaptiveConsistency | Window | None]:
    """None, or one of the sampling stops."""
    level = st.integers(50, 100).map(lambda k: Fraction(k, 100))
    return st.one_of(st.none(), st.builds(AdaptiveConsistency, level), st.builds(Window, st.integers(1, 4)))


def round_stops() -> st.SearchStrategy[StableConsensus | FixedRounds | TokenBudget]:
    """Consensus stops with all their options, fixed rounds, token budgets that bind and that do not."""
    shares = st.one_of(st.integers(0, 60).map(lambda k: Fraction(k, 60)), st.sampled_from(["0.8", "5/6", "2/3", "0.05"]))
    consensus = st.builds(StableConsensus, shares, shares, st.booleans(), st.sampled_from(["agents", "chains", "none"]))
    return st.one_of(consensus, consensus, st.just(FixedRounds()), st.builds(TokenBudget, st.integers(1, 20_000)))


@st.composite
def uncertainty_gates(draw: st.DrawFn) -> UncertaintyGate:
    """Gates of one to four tiers, with any weights."""
    bounds = sorted(draw(st.lists(probabilities(0.0, 1.2), max_size=3)))
    return UncertaintyGate(tuple(bounds), draw(probabilities()), draw(probabilities()), draw(probabilities()))


@st.composite
def _sampling_only(draw: st.DrawFn) -> Protocol:
    return Protocol(
        name="drawn", chains=draw(st.integers(1, MOST_CHAINS)), sampling_stop=draw(sampling_stops()), vote=draw(st.sampled_from(VOTES))
    )


@st.composite
def _debates(draw: st.DrawFn, oracle: bool) -> Protocol:
    kinds = ["none", "none", "uncertainty", "uncertainty", "confidence", *(["oracle"] if oracle else [])]
    kind = draw(st.sampled_from(kinds))
    gate: UncertaintyGate | ConfidenceGate | OracleGate | None = None
    count, least_chains, most_chains = 1, 0, MOST_CHAINS
    if kind == "uncertainty":
        gate, least_chains = draw(uncertainty_gates()), 1
        count = len(gate.bounds) + 1
    elif kind == "confidence":
        gate, least_chains, most_chains = ConfidenceGate(draw(st.integers(1, 11))), 1, 1
    elif kind == "oracle":
        gate, least_chains = OracleGate(), 1
        count = draw(st.integers(1, 3))
    chains = draw(st.integers(least_chains, most_chains))
    starts = ["fresh"] if chains == 0 else (["fresh", "chains", "restated"] if chains == 1 else ["fresh", "chains", "chains"])
    return Protocol(
        name="drawn",
        chains=chains,
        sampling_stop=draw(sampling_stops()),
        gate=gate,
        tiers=draw(tiers(count)),
        initial=draw(st.sampled_from(starts)),
        target=draw(st.sampled_from([t for t in TARGETS if chains or t != "riskiest"])),
        round_stop=draw(round_stops()),
        vote=draw(st.sampled_from(VOTES)),
        synthesiser=draw(st.booleans()),
        prompts=draw(st.sampled_from(PROMPTS)),
    )


def protocols(*, oracle: bool = False) -> st.SearchStrategy[Protocol]:
    """Protocols with and without debate.

    Parameters
    ----------
    oracle : bool
        Also draw the oracle gate, whose tables make a run slower.
    """
    return st.one_of(_sampling_only(), _debates(oracle), _debates(oracle), _debates(oracle))


# --- populations ---------------------------------------------------------------------------------------------------------


@st.composite
def _beta_difficulties(draw: st.DrawFn) -> BetaDifficulty:
    a, b = draw(st.integers(1, 60)) / 20, draw(st.integers(1, 60)) / 20
    zero = draw(st.one_of(st.just(0.0), probabilities(0.0, 0.5)))
    one = draw(st.one_of(st.just(0.0), probabilities(0.0, 0.5)))
    return BetaDifficulty(a, b, zero, one)


@st.composite
def _mixtures(draw: st.DrawFn, joint: bool) -> MixtureDifficulty:
    size = draw(st.integers(1, 4))
    points = st.lists(probabilities(), min_size=size, max_size=size).map(tuple)
    return MixtureDifficulty(draw(points), draw(_weights(size)), draw(points) if joint else ())


def shares() -> st.SearchStrategy[FixedShare | BetaShare]:
    """Laws of w: fixed (0 and 1 among them) and Beta."""
    shape = st.integers(1, 60).map(lambda k: k / 20)
    return st.one_of(st.builds(FixedShare, probabilities()), st.builds(BetaShare, shape, shape))


@st.composite
def response_rules(draw: st.DrawFn) -> Copying | Logit | Follower:
    """All three rules, with renewals, lapses and focused rebuttal."""
    events = {
        "iota": draw(st.one_of(st.just(0.0), probabilities())),
        "phi": draw(st.one_of(st.just(0.0), probabilities())),
        "lam_focus": draw(st.one_of(st.just(0.0), st.integers(-30, 30).map(lambda k: k / 10))),
    }
    number = st.integers(-20, 30).map(lambda k: k / 10)
    positive = st.integers(0, 30).map(lambda k: k / 10)
    rule = draw(st.sampled_from([Copying, Logit, Follower]))
    if rule is Copying:
        return Copying(theta=draw(positive), sigma=draw(positive), lam=draw(number), **events)
    if rule is Logit:
        fresh = draw(st.one_of(st.none(), number))
        return Logit(lam_self=draw(number), lam_peer=draw(number), lam_truth=draw(number), lam_fresh=fresh, **events)
    return Follower(adopt=draw(probabilities()), **events)


@st.composite
def signals(draw: st.DrawFn) -> Signals:
    """White-box and black-box signals; AUROCs that these means can reach."""
    auroc = st.integers(50, 85).map(lambda k: k / 100)
    black_box = draw(st.booleans())
    return Signals(
        steps=draw(st.integers(1, 8)),
        mean_h=draw(st.integers(5, 40)) / 100,
        concentration_h=draw(st.integers(4, 40)) / 2,
        mean_d=draw(st.integers(5, 40)) / 100,
        concentration_d=draw(st.integers(4, 40)) / 2,
        auroc_h=draw(st.integers(50, 70)) / 100 if black_box else draw(auroc),
        auroc_d=draw(auroc),
        visibility=draw(probabilities()),
        mode="black-box" if black_box else "white-box",
        variants=draw(st.integers(3, 6)),
        agreement=draw(st.integers(60, 90)) / 100,
    )


def confidence_laws() -> st.SearchStrategy[ConfidenceLaw]:
    """The shipped law, and pairs of laws that differ, with impossible values among them."""
    return st.one_of(st.just(ConfidenceLaw()), st.builds(ConfidenceLaw, _weights(10), _weights(10)))


@st.composite
def populations(draw: st.DrawFn) -> Population:
    """Populations: Beta with and without point masses, mixtures with and without their own w, every response rule and signal mode."""
    kind = draw(st.sampled_from(["beta", "beta", "mixture", "joint"]))
    return Population(
        name="drawn",
        difficulty=draw(_beta_difficulties()) if kind == "beta" else draw(_mixtures(kind == "joint")),
        misconception=None if kind == "joint" else draw(shares()),
        response=draw(response_rules()),
        signals=draw(signals()),
        confidence=draw(confidence_laws()),
        tokens=Tokens(),
    )
