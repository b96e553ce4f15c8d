"""Hypothesis strategies for judging protocols and populations: every option that the values have.

Sizes are small, so that the exact law is quick. ``exact_reaches`` leaves out what the exact law refuses.
"""

from __future__ import annotations

from hypothesis import strategies as st

from adjourn.model.judging import (
    BetaGap,
    Debate,
    DebateLaw,
    Discussion,
    DiscussionLaw,
    FixedRounds,
    GapStable,
    GaussianGap,
    ItemLaw,
    Judge,
    JudgingPopulation,
    JuryLaw,
    LeadBy,
    Panel,
    ReleasedCode,
    RubricGap,
    SignAgreement,
    TokenBudget,
    ZeroInflatedBetaGap,
)
from adjourn.model.judging.agreement import TIES


def numbers(low: float, high: float) -> st.SearchStrategy[float]:
    """Two decimals, with the lower end drawn often."""
    return st.one_of(st.integers(round(100 * low), round(100 * high)).map(lambda k: k / 100), st.just(low))


def gaps() -> st.SearchStrategy:
    return st.one_of(
        st.builds(BetaGap, st.sampled_from([0.8, 3.0, 12.0, 60.0]), st.sampled_from([0.4, 1.0]), st.sampled_from([0.0, 0.06, 0.25])),
        st.builds(
            ZeroInflatedBetaGap, st.sampled_from([2.0, 15.0]), numbers(0, 0.6), st.sampled_from([0.5, 1.0]), st.sampled_from([0.0, 0.1])
        ),
        st.builds(GaussianGap, numbers(0.1, 1.5), numbers(0, 0.5), st.sampled_from([1.0, 1.0, 0.7, 1.4])),
        st.builds(RubricGap, numbers(10, 18), numbers(1, 4), numbers(0.5, 4), st.sampled_from([0.0, 3.0])),
    )


@st.composite
def judges(draw, name: str = "j0"):
    shifted = draw(st.booleans())
    return Judge(
        name=name,
        sigma_b=draw(numbers(0, 1.5)),
        loading=draw(st.sampled_from([-0.3, 0.0, 0.6, 1.0])),
        position=draw(numbers(-0.6, 0.6)) if shifted else 0.0,
        position_sd=draw(numbers(0, 0.6)) if shifted and draw(st.booleans()) else 0.0,
        verbosity=draw(st.sampled_from([0.0, 0.0, 0.4])),
        undecided=draw(st.sampled_from([0.0, 0.0, 0.15])),
        gap=draw(gaps()),
    )


@st.composite
def judging_populations(draw, gain: bool = True):
    return JudgingPopulation(
        name="drawn",
        items=ItemLaw(
            mean_x=draw(numbers(-0.5, 0.5)),
            sigma_x=draw(numbers(0.5, 1.5)),
            human_sd=draw(st.sampled_from([0.0, 0.4])),
            tie_band=draw(st.sampled_from([0.0, 0.2])),
        ),
        judges=tuple(draw(judges(f"j{k}")) for k in range(3)),
        debate=DebateLaw(
            bias_factor=draw(st.sampled_from([1.0, 0.4])),
            argument_sd=draw(st.sampled_from([0.0, 0.0, 0.4])),
            gain=draw(st.sampled_from([0.0, 0.0, 0.0, 0.3])) if gain else 0.0,
        ),
        jury=JuryLaw(
            sensitivity=draw(numbers(0.3, 2)),
            rho=draw(numbers(0, 0.9)),
            rho_personas=draw(numbers(0, 0.5)),
            position=draw(st.sampled_from([0.0, 0.3])),
            rho_arguments=draw(numbers(0, 1)),
        ),
        discussion=DiscussionLaw(pull=draw(numbers(0, 1)), rho_diverse=draw(numbers(0, 1)), rho_single=draw(numbers(0, 1))),
        anonymity=draw(st.sampled_from([1.0, 0.5, 0.0])),
        ties=draw(st.sampled_from(TIES)),
    )


def panels() -> st.SearchStrategy[Panel]:
    order = st.sampled_from(["fixed", "random", "both"])
    one = st.builds(
        Panel,
        name=st.just("one"),
        samples=st.integers(1, 3),
        order=order,
        combine=st.sampled_from(["vote", "score"]),
        anonymised=st.booleans(),
    )
    many = st.builds(
        Panel,
        name=st.just("many"),
        judges=st.sampled_from([2, 3, ("j2",), ("j1", "j0")]),
        samples=st.integers(1, 2),
        order=order,
        weights=st.sampled_from(["equal", "learnt"]),
        anonymised=st.booleans(),
    )
    return st.one_of(one, many)


def discussions() -> st.SearchStrategy[Discussion]:
    return st.builds(
        Discussion,
        name=st.just("talk"),
        agents=st.sampled_from([2, 2, 3]),
        turns=st.integers(1, 3),
        roles=st.sampled_from(["diverse", "single"]),
        until_agreement=st.booleans(),
        order=st.sampled_from(["fixed", "random"]),
        anonymised=st.booleans(),
    )


def stops(long: bool = False) -> st.SearchStrategy:
    epsilons = st.sampled_from([0.02, 0.1, 0.3])
    rules = [
        st.builds(GapStable, epsilons, st.just(2), st.integers(1, 3), st.booleans()),
        st.builds(SignAgreement, st.integers(1, 3)),
        st.builds(LeadBy, st.integers(1, 3)),
        st.builds(ReleasedCode, st.sampled_from([5.0, 25.0]), st.just(3), st.integers(1, 4)),
        st.builds(TokenBudget, st.sampled_from([5000, 12000, 100000])),
        st.just(FixedRounds()),
    ]
    if long:
        rules.append(st.builds(GapStable, epsilons, st.just(3), st.integers(1, 3), st.booleans()))
        rules.append(st.builds(ReleasedCode, st.just(25.0), st.just(3), st.just(3), parse_failure=st.just(0.2)))
    return st.one_of(rules)


def debates(long: bool = False) -> st.SearchStrategy[Debate]:
    return st.builds(
        Debate,
        name=st.just("debate"),
        advocates=st.integers(1, 3),
        aggregator=st.sampled_from(["merge", "mean", "max", "sum"]),
        rounds=st.integers(1, 4),
        stop=stops(long),
        jurors=st.sampled_from([0, 1, 3, 4, 5]),
        personas=st.booleans(),
        decision=st.sampled_from(["mean", "last"]),
        order=st.sampled_from(["fixed", "random", "alternate"]),
        anonymised=st.booleans(),
    )


def judging_protocols(long: bool = False) -> st.SearchStrategy:
    return st.one_of(panels(), discussions(), debates(long), debates(long))
