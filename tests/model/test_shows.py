"""What the exact law must show: known accuracies, the martingale, and the lattice of stopping rules."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from adjourn.model import (
    BetaDifficulty,
    BetaShare,
    Copying,
    FixedRounds,
    FixedShare,
    MixtureDifficulty,
    Population,
    Protocol,
    StableConsensus,
    StopReason,
    Tier,
    load_population,
    load_protocol,
    population_names,
    protocol_names,
)
from adjourn.model.exact import ExactLaw, evaluate, vote_accuracy
from adjourn.model.exact import simulate as exact

TWO_ONE = BetaDifficulty(2, 1)


def questions(difficulty=TWO_ONE, w=1.0, **changes):
    return Population(name="x", difficulty=difficulty, misconception=FixedShare(w), **changes)


def vote(n, law):
    return exact(Protocol(name="cot_sc", chains=n), law).accuracy.mean


# --- plurality -----------------------------------------------------------------------------------------------------------


def test_one_chain_is_right_in_the_mean_of_p():
    assert exact(load_protocol("cot"), questions()).accuracy.mean == pytest.approx(2 / 3, abs=1e-12)


def test_three_samples_of_binary_answers_are_right_in_seven_of_ten():
    # E[p^3 + 3 p^2 (1 - p)] under Beta(2, 1) = 2/5 + 3 (2/4 - 2/5) = 0.7.
    assert vote(3, questions(w=1.0)) == pytest.approx(0.7, abs=1e-9)


@pytest.mark.parametrize("n", range(2, 12))
def test_strays_never_outvote_two_right_answers(n):
    # w = 0: two right answers win; one wins a draw among n.
    for p in (0.1, 0.5, 0.9):
        law = questions(MixtureDifficulty((p,), (1.0,)), w=0.0)
        none, one = (1 - p) ** n, n * p * (1 - p) ** (n - 1)
        assert vote(n, law) == pytest.approx(1 - none - one + one / n, abs=1e-12)


@pytest.mark.parametrize("n", [1, 3, 5, 9, 101])
def test_binary_votes_are_condorcets_sum(n):
    p = 0.6
    law = questions(MixtureDifficulty((p,), (1.0,)), w=1.0)
    assert vote(n, law) == pytest.approx(stats.binom(n, p).sf(n // 2), abs=1e-12)


@pytest.mark.parametrize("w", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("a", "b"), [(2, 1), (0.684, 0.199), (0.31, 0.51)])
def test_votes_tend_to_the_share_of_questions_whose_right_answer_leads(a, b, w):
    limit = stats.beta(a, b).sf(w / (1 + w))
    gaps = [abs(vote(n, questions(BetaDifficulty(a, b), w)) - limit) for n in (9, 33, 129, 513)]
    assert gaps == sorted(gaps, reverse=True)
    if w > 0:
        assert gaps[-1] < 1e-2
    else:  # P(at most one right of n) falls like n^-a only
        assert gaps[-1] < gaps[-2] * 4 ** -(0.9 * a)


@given(st.floats(0.1, 5), st.floats(0.1, 5), st.floats(0, 1), st.integers(1, 9))
def test_the_formula_for_votes_is_the_count_of_sequences(a, b, w, n):
    law = questions(BetaDifficulty(a, b), w)
    counted = Protocol(name="counted", chains=n, tiers=(Tier("all", 1, 1),), round_stop=FixedRounds())
    assert vote_accuracy(law, n) == pytest.approx(exact(counted, law).candidate_accuracy.mean, abs=1e-11)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_votes_average_over_a_beta_law_of_w(n):
    law = replace(questions(), misconception=BetaShare(1.5, 2.5))
    w, weight = BetaShare(1.5, 2.5).nodes(60)
    assert vote(n, law) == pytest.approx(sum(m * vote(n, questions(w=float(x))) for x, m in zip(w, weight, strict=True)), abs=1e-12)


# --- the martingale ------------------------------------------------------------------------------------------------------


def shares_after_each_round(law, agents, rounds):
    """Expected share of right agents after rounds 0 .. ``rounds``, by the exact law's own matrices."""
    protocol = Protocol(name="p", chains=5, tiers=(Tier("all", agents, rounds),))
    engine = ExactLaw(protocol, law)
    start = engine.starts[0]
    shares = []
    alive = sum(np.bincount(start.openings.state[rows], mass[:, 0], len(start.panel)) for rows, mass in start.mass.values())
    for _ in range(rounds + 1):
        shares.append(float(alive @ start.panel.right_share))
        alive = alive @ start.moves(0, False)[0]
    return shares


@pytest.mark.parametrize("agents", [2, 3, 6, 7])
@pytest.mark.parametrize("sigma", [0.0, 1.0, 3.0])
def test_the_voter_model_keeps_the_expected_right_share_in_every_round(agents, sigma):
    law = questions(BetaDifficulty(0.684, 0.199), 0.6, response=Copying(theta=1, sigma=sigma, lam=0))
    shares = shares_after_each_round(law, agents, 5)
    assert shares == pytest.approx([shares[0]] * 6, abs=1e-10)


@pytest.mark.parametrize("rounds", [1, 2, 3, 5])
def test_debate_under_the_voter_model_adds_nothing_to_a_single_answer(rounds):
    # Fresh first answers, and one agent's answer after the debate: the same accuracy as before it. Plurality after it is worse than before.
    law = questions(BetaDifficulty(0.684, 0.199), 1.0, response=Copying(theta=1, sigma=1, lam=0))
    debate = Protocol(name="p", initial="fresh", tiers=(Tier("all", 5, rounds + 1),))
    assert exact(debate, law).accuracy.mean <= vote(5, law) - 1e-4


def test_truths_advantage_breaks_the_martingale():
    law = questions(BetaDifficulty(0.684, 0.199), 0.6, response=Copying(theta=1, sigma=1, lam=0.1))
    shares = shares_after_each_round(law, 6, 3)
    assert all(later > earlier + 1e-4 for earlier, later in pairwise(shares))


# --- the lattice of rules ------------------------------------------------------------------------------------------------


def six_by_three():
    return Protocol(
        name="p", chains=5, tiers=(Tier("all", 6, 3),), round_stop=StableConsensus(), vote="weighted_after_stability", synthesiser=True
    )


INSIDE_TAU = ["2/3", Fraction(2, 3) + Fraction(1, 10**9), "0.7", "0.8", 0.8, "0.83", "5/6", 5 / 6]
INSIDE_EPSILON = [0, "0.05", 0.1, "0.1666", Fraction(1, 6) - Fraction(1, 10**9)]


@pytest.mark.parametrize("population", ["gsm8k-gpt35", "math-gpt35"])
def test_every_rule_inside_the_published_cell_has_one_law_bit_for_bit(population):
    law = load_population(population)
    reference = evaluate(six_by_three(), law)
    assert reference[..., list(StopReason).index(StopReason.CONSENSUS), :, :].sum() > 1e-3
    for tau, epsilon in product(INSIDE_TAU[1:], INSIDE_EPSILON):
        other = evaluate(replace(six_by_three(), round_stop=StableConsensus(tau, epsilon)), law)
        assert np.array_equal(other, reference), (tau, epsilon)


@pytest.mark.parametrize(("tau", "epsilon"), [("2/3", "0.05"), ("0.8334", "0.05"), ("0.8", "1/6")])
def test_the_published_cell_ends_at_its_borders(tau, epsilon):
    law = load_population("math-gpt35")
    other = evaluate(replace(six_by_three(), round_stop=StableConsensus(tau, epsilon)), law)
    assert np.abs(other - evaluate(six_by_three(), law)).max() > 1e-6


def sweep(protocol, law):
    """Distinct laws on the 71 x 101 grid, and the engine that worked them out."""
    engine = ExactLaw(protocol, law)
    laws = set()
    for i, j in product(range(71), range(101)):
        rule = StableConsensus(Fraction(30 + i, 100), Fraction(j, 100))
        laws.add(engine.masses(rule).tobytes())
    return laws, engine


@pytest.mark.parametrize("initial", ["chains", "fresh"])
@pytest.mark.parametrize(("agents", "rules"), [(6, 30), (3, 9)])
def test_a_grid_of_71_by_101_thresholds_holds_few_rules_and_costs_as_few_evaluations(agents, rules, initial):
    # Laws can be fewer than rules: six agents who start from five chains never hold six different answers.
    protocol = replace(six_by_three(), tiers=(Tier("all", agents, 3),), initial=initial)
    laws, engine = sweep(protocol, load_population("gsm8k-gpt35"))
    assert engine.evaluations == rules <= 40
    assert len(laws) == {("chains", 6): 25}.get((initial, agents), rules)


@pytest.mark.parametrize(("agents", "rules"), [(6, 30), (3, 9)])
def test_the_grid_holds_few_tables(agents, rules):
    grid = product(range(30, 101), range(101))
    tables = {StableConsensus(Fraction(i, 100), Fraction(j, 100)).table(agents).tobytes() for i, j in grid}
    assert len(tables) == rules


def test_three_tiers_share_the_rules_of_their_largest_panels():
    laws, engine = sweep(load_protocol("uaad"), load_population("gsm8k-gpt35"))
    assert engine.evaluations <= 40
    assert len(laws) <= engine.evaluations


@pytest.mark.parametrize("response", [Copying(), Copying(iota=0.1)])
def test_a_sweep_gives_what_single_evaluations_give(response):
    law = replace(load_population("gsm8k-gpt35"), response=response)
    engine = ExactLaw(six_by_three(), law)
    for rule in (StableConsensus("0.5", "1/3"), StableConsensus("0.9", 1), FixedRounds(), StableConsensus("0.5", "0.4", True, "chains")):
        assert np.array_equal(engine.masses(rule), evaluate(replace(six_by_three(), round_stop=rule), law))


@given(st.fractions(0, 1, max_denominator=200), st.fractions(0, 1, max_denominator=200), st.integers(2, 7))
def test_rules_with_one_table_have_one_signature(tau, epsilon, agents):
    engine = ExactLaw(replace(six_by_three(), tiers=(Tier("all", agents, 2),)), questions())
    rule = StableConsensus(tau, epsilon)
    same = StableConsensus(Fraction(-(-tau * agents // 1), agents), Fraction(epsilon * agents // 1, agents))
    assert engine.signature(rule) == engine.signature(same)


# --- every preset --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", protocol_names())
@pytest.mark.parametrize("population", population_names())
def test_every_preset_has_an_exact_law_on_every_population(protocol, population):
    masses = evaluate(load_protocol(protocol), load_population(population))
    assert masses.sum() == pytest.approx(1, abs=1e-10)
    assert masses.min() >= -1e-15


def test_the_stop_saves_calls_and_ablations_change_what_they_should():
    law = load_population("math-gpt35")
    results = {name: exact(load_protocol(name), law) for name in protocol_names() if name.startswith("uaad")}
    assert results["uaad"].calls.mean < results["uaad_no_stop"].calls.mean
    assert results["uaad"].shares["tiers"]["high"].mean != results["uaad_no_entropy"].shares["tiers"]["high"].mean
    assert results["uaad_uniform_target"].to_json()["accuracy"] == results["uaad"].to_json()["accuracy"]


def test_fixed_debate_costs_eighteen_calls():
    result = exact(load_protocol("fixed_mad"), load_population("gsm8k-gpt35"))
    assert (result.calls.mean, result.debate_calls.mean, result.depth.mean) == pytest.approx((18, 18, 3))


def test_down_costs_one_call_or_seven():
    result = exact(load_protocol("down"), load_population("gsm8k-gpt35"))
    debated = result.shares["tiers"]["debate"].mean
    assert result.calls.mean == pytest.approx(1 + 6 * debated)
    assert result.quantiles["calls"]["max"] == 7


def test_debate_for_everybody_is_m_plus_n_r_plus_one():
    protocol = replace(load_protocol("uaad_no_stop"), gate=None, tiers=(Tier("all", 6, 3),))
    assert exact(protocol, load_population("gsm8k-gpt35")).calls.mean == pytest.approx(5 + 18 + 1)
