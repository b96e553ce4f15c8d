"""The exact law against formulas that can be written down."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from adjourn.model.judging import (
    BetaGap,
    Debate,
    DebateLaw,
    FixedRounds,
    GapStable,
    GaussianGap,
    ItemLaw,
    Judge,
    JudgingPopulation,
    JuryLaw,
    LeadBy,
    Panel,
    SignAgreement,
    beta_binomial_majority,
    effective_number,
    evaluate_judging,
    judging_protocol_names,
    load_judging_population,
    load_judging_protocol,
    majority,
    probit_majority,
    simulate_exact,
    simulate_reference,
)
from adjourn.model.judging.chain import Rounds, rounds_law
from adjourn.model.judging.gaps import Shifts
from adjourn.model.judging.outcomes import JUDGING_REASONS
from adjourn.model.judging.stopping import JudgingStopReason


def judged(gap=None, sigma_b=0.0, **changes):
    return JudgingPopulation(name="p", judges=(Judge(sigma_b=sigma_b, gap=gap or GaussianGap(0.6)),), **changes)


def accuracy(protocol, population):
    return simulate_exact(protocol, population).mean("accuracy").mean


def independent_signs(stop, p, rounds=60):
    """P(right) and E[rounds] for rounds whose signs are right with probability p."""
    protocol = Debate(name="d", rounds=rounds, stop=stop, decision="last")
    law = GaussianGap(1.0)
    held = rounds_law(protocol, Rounds(law, [Shifts.of(0.0)] * rounds, 0.0, rounds), np.array([float(ndtri(p))]), True)[0]
    return held[..., 0].sum(), (held.sum(axis=(1, 2)) * np.arange(rounds + 1)).sum()


# --- signs ---


@pytest.mark.parametrize("p", [0.5, 0.6, 0.7, 0.9])
def test_two_equal_signs_in_a_row(p):
    right, rounds = independent_signs(SignAgreement(2), p)
    assert right == pytest.approx(p**2 * (2 - p) / (1 - p + p**2), abs=1e-9)
    assert rounds == pytest.approx((2 + p - p**2) / (1 - p + p**2), abs=1e-9)


def test_two_equal_signs_at_seven_tenths():
    assert independent_signs(SignAgreement(2), 0.7) == pytest.approx((0.8063, 2.797), abs=5e-4)


@pytest.mark.parametrize("p", [0.55, 0.7, 0.9])
def test_a_lead_of_two(p):
    q = 1 - p
    right, rounds = independent_signs(LeadBy(2), p, rounds=64)
    assert right == pytest.approx(p**2 / (p**2 + q**2), abs=1e-5)
    assert rounds == pytest.approx(2 / (1 - 2 * p * q), abs=1e-3)


# --- juries ---


def test_an_independent_majority_of_five():
    assert majority(5, 0.725) == pytest.approx(0.868, abs=5e-4)
    assert majority(5, 0.775) == pytest.approx(0.921, abs=5e-4)


def test_beta_binomial_juries_and_their_limits():
    for base, rho, limit in ((0.775, 0.144, 0.933), (0.725, 0.1326, 0.895)):
        gain = beta_binomial_majority(5, base, rho) - base
        assert gain == pytest.approx(0.088, abs=1e-3)
        assert beta_binomial_majority(None, base, rho) == pytest.approx(limit, abs=2e-3)
    assert beta_binomial_majority(5, 0.725, 1e-6) == pytest.approx(majority(5, 0.725), abs=1e-5)
    assert beta_binomial_majority(5, 0.725, 1 - 1e-6) == pytest.approx(0.725, abs=1e-5)
    many = [beta_binomial_majority(n, 0.7, 0.2) for n in (1, 11, 101, 1001 - 2)]
    assert many[-1] == pytest.approx(beta_binomial_majority(None, 0.7, 0.2), abs=2e-3)
    assert many == sorted(many)


def test_probit_juries_lie_between_one_juror_and_independent_ones():
    assert probit_majority(5, 0.725, 0.0) == pytest.approx(majority(5, 0.725), abs=1e-10)
    assert probit_majority(5, 0.725, 1.0) == 0.725
    assert probit_majority(999, 0.725, 0.25) == pytest.approx(probit_majority(None, 0.725, 0.25), abs=2e-3)
    assert probit_majority(5, 0.725, 0.23) - 0.725 == pytest.approx(0.088, abs=1e-3)


def test_a_jury_with_known_evidence_is_the_probit_majority():
    """Items whose difference is nearly certain: the debate's jury is the closed form."""
    population = replace(judged(), items=ItemLaw(mean_x=0.6, sigma_x=1e-3), jury=JuryLaw(sensitivity=1.0, rho=0.25, rho_arguments=1.0))
    protocol = Debate(name="d", jurors=5)
    assert accuracy(protocol, population) == pytest.approx(probit_majority(5, float(ndtr(0.6)), 0.25), abs=1e-6)


def test_an_even_jury_falls_back_on_the_judges_score_then_on_a_coin():
    certain = replace(judged(GaussianGap(1e-3)), items=ItemLaw(mean_x=0.5, sigma_x=1e-3), jury=JuryLaw(sensitivity=1.0, rho=0.0))
    p = float(ndtr(0.5))
    tie = 2 * p * (1 - p)
    assert accuracy(Debate(name="d", jurors=2), certain) == pytest.approx(p**2 + tie, abs=1e-5)
    undecided = replace(certain, judges=(Judge(sigma_b=0.0, undecided=1.0),))
    assert accuracy(Debate(name="d", jurors=2), undecided) == pytest.approx(p**2 + tie / 2, abs=1e-5)


@pytest.mark.parametrize("simulate", [simulate_exact, partial(simulate_reference, samples=1500)], ids=["exact", "reference"])
def test_the_engines_give_the_independent_majority_and_the_two_signs(simulate):
    """Items of one difference: a debate's jury of five is Condorcet's, its two equal signs in a row the closed form's (4.5 errors)."""

    def near(estimate, expected, spread):
        assert estimate.mean == pytest.approx(expected, abs=1e-4 if simulate is simulate_exact else 4.5 * spread / math.sqrt(1500))

    p = 0.725
    right = replace(judged(GaussianGap(1.0)), items=ItemLaw(mean_x=float(ndtri(p)), sigma_x=1e-3), jury=JuryLaw(rho=0.0, rho_arguments=1.0))
    near(simulate(Debate(name="d", jurors=5), right).mean("accuracy"), 0.868382, 0.34)
    p = 0.7
    sign = replace(right, items=ItemLaw(mean_x=float(ndtri(p)), sigma_x=1e-3))
    result = simulate(Debate(name="d", rounds=60, stop=SignAgreement(2), decision="last"), sign)
    near(result.mean("accuracy"), p**2 * (2 - p) / (1 - p + p**2), 0.4)
    near(result.mean("rounds"), (2 + p - p**2) / (1 - p + p**2), 1.4)


# --- biases, noise, rounds ---


@pytest.mark.parametrize(("bias", "noise"), [(0.3, 0.5), (1.0, 0.2), (0.0, 0.4), (2.0, 1.0)])
def test_one_judge_errs_with_the_arctangent_of_its_error(bias, noise):
    expected = 1 - math.atan(math.hypot(bias, noise)) / math.pi
    assert accuracy(Panel(name="one"), judged(GaussianGap(noise), bias)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("ratio", [0.3, 1.0, 2.0])
def test_more_rounds_end_at_the_floor_that_bias_sets(ratio):
    many = Debate(name="d", rounds=64)
    floor = math.atan(math.sqrt(ratio**2 + 0.01**2 / 64)) / math.pi
    assert 1 - accuracy(many, judged(GaussianGap(0.01), ratio)) == pytest.approx(floor, abs=1e-10)


@pytest.mark.parametrize("rounds", [1, 3, 5])
def test_averaged_rounds_of_correlation_rho_are_worth_their_effective_number(rounds):
    sigma, rho = 0.8, 0.83
    population = judged(GaussianGap(sigma * math.sqrt(1 - rho)), sigma * math.sqrt(rho))
    assert population.judges[0].rho_round == pytest.approx(rho)
    expected = 1 - math.atan(sigma / math.sqrt(effective_number(rounds, rho))) / math.pi
    assert accuracy(Debate(name="d", rounds=rounds), population) == pytest.approx(expected, abs=1e-12)


def test_five_rounds_at_the_measured_correlation_are_worth_little_more_than_one():
    assert effective_number(5, 0.82) == pytest.approx(1.17, abs=5e-3)
    assert effective_number(5, 0.86) == pytest.approx(1.13, abs=5e-3)


def test_a_gain_that_takes_the_difference_in_again_lowers_the_error():
    plain = judged(GaussianGap(1.0))
    last = Debate(name="d", rounds=4, decision="last")
    errors = [1 - accuracy(last, replace(plain, debate=DebateLaw(gain=gain))) for gain in (0.0, 0.5, 1.2)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] == pytest.approx(math.atan(1.0) / math.pi, abs=1e-12)


def test_a_lattice_gives_what_the_closed_form_gives():
    """Shifts that toss a coin of width 0 keep the law but leave the closed form."""
    protocol = Debate(name="d", rounds=3)
    law, e = GaussianGap(0.7, 0.1), np.linspace(-2, 2, 9)
    closed = rounds_law(protocol, Rounds(law, [Shifts.of(0.0)] * 3, 0.0, 3), e, True)
    lattice = rounds_law(protocol, Rounds(law, [Shifts.of(0.0, 0.0)] * 3, 0.0, 3), e, True)
    assert lattice == pytest.approx(closed, abs=2e-4)


@pytest.mark.parametrize("simulate", [simulate_exact, partial(simulate_reference, samples=300)], ids=["exact", "reference"])
def test_scores_that_are_added_rank_as_their_mean_does(simulate):
    """k scores of a side hold the judge's bias and its position shift k times: only its noise counts for less."""
    population = replace(judged(GaussianGap(1e-3), 0.8).with_judges(position=0.3), debate=DebateLaw(argument_sd=0.5))
    mean, added = (simulate(Debate(name="d", advocates=3, aggregator=how), population) for how in ("mean", "sum"))
    assert added.mean("accuracy").mean == pytest.approx(mean.mean("accuracy").mean, abs=1e-5)
    noisy = replace(population, judges=(Judge(sigma_b=0.0, gap=GaussianGap(0.6)),), debate=DebateLaw())
    expected = 1 - math.atan(0.6 / 3) / math.pi
    found = simulate(Debate(name="d", advocates=3, aggregator="sum"), noisy).mean("accuracy")
    assert found.mean == pytest.approx(expected, abs=1e-9 if simulate is simulate_exact else 4.5 * 0.25 / math.sqrt(300))


# --- stopping on a stable gap ---


def given_stopped(population, decision="mean", epsilon=0.3, signed=True, rounds=3):
    """Accuracy of debates that stopped at each round, and accuracy of as many fixed rounds."""
    protocol = Debate(name="d", rounds=rounds, stop=GapStable(epsilon, signed=signed), decision=decision)
    masses = evaluate_judging(protocol, population).masses[:, :, :, JUDGING_REASONS.index(JudgingStopReason.STABLE_GAP)]
    found = []
    for r in range(2, rounds + 1):
        stopped = masses[[0, 2], :, r]
        right = stopped[0, 0] + stopped[1, 2] + (stopped[0, 1] + stopped[1, 1]) / 2
        fixed = accuracy(Debate(name="d", rounds=r, stop=FixedRounds(), decision=decision), population)
        found.append((right / stopped.sum(), fixed))
    return np.array(found)


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0])
def test_a_stable_signed_gap_of_gaussian_rounds_says_nothing_about_being_right(epsilon):
    found = given_stopped(judged(GaussianGap(0.6), 0.5), epsilon=epsilon)
    assert found[:, 0] == pytest.approx(found[:, 1], abs=2e-4)


def test_it_does_where_the_last_round_decides():
    found = given_stopped(judged(GaussianGap(0.6), 0.5), decision="last")
    assert np.all(np.abs(found[:, 0] - found[:, 1]) > 5e-3)


def test_it_does_where_a_round_counts_the_difference_more_than_another():
    """Rounds that are not exchangeable: the gain of a divergent judge takes the difference in again."""
    population = replace(judged(BetaGap(200.0, 0.3), 0.5), debate=DebateLaw(gain=0.8))
    found = given_stopped(population, rounds=2, epsilon=0.05)
    assert np.all(np.abs(found[:, 0] - found[:, 1]) > 5e-3)


def test_it_does_for_beta_gaps():
    found = given_stopped(judged(BetaGap(4.0), 0.5))
    assert np.all(np.abs(found[:, 0] - found[:, 1]) > 5e-3)


def test_it_does_for_rounds_of_unequal_variance():
    found = given_stopped(judged(GaussianGap(0.6, factor=0.5), 0.5))
    assert np.all(np.abs(found[:, 0] - found[:, 1]) > 2e-3)


def test_it_does_where_judges_of_mixed_noise_are_pooled():
    """Half of the items are judged with noise .2, half with 1.2: exchangeable rounds, but no longer Gaussian."""
    parts = []
    for noise in (0.2, 1.2):
        population = judged(GaussianGap(noise), 0.3)
        protocol = Debate(name="d", rounds=2, stop=GapStable(0.3))
        masses = evaluate_judging(protocol, population).masses[:, :, 2, JUDGING_REASONS.index(JudgingStopReason.STABLE_GAP)]
        parts.append((masses.sum(), masses[0, 0] + masses[2, 2], accuracy(Debate(name="d", rounds=2), population)))
    stopped, right, plain = np.array(parts).sum(axis=0)
    assert abs(right / stopped - plain / 2) > 1e-2


def test_it_does_where_sizes_are_compared_instead_of_signed_gaps():
    found = given_stopped(judged(GaussianGap(0.6), 0.5), signed=False)
    assert np.all(np.abs(found[:, 0] - found[:, 1]) > 3e-3)


# --- order ---


@pytest.mark.parametrize("name", judging_protocol_names())
@pytest.mark.parametrize("population", ["mtbench-gpt4", "prd-vicuna80"])
def test_without_a_position_shift_the_order_changes_nothing(name, population):
    law = load_judging_population(population).with_judges(position=0.0, position_sd=0.0)
    law = replace(law, jury=replace(law.jury, position=0.0))
    protocol = load_judging_protocol(name)
    assert simulate_reference(protocol, law, 60, 5).mean("swap_consistency").mean == 1.0
    if name != "prd":  # learnt weights: too many votes to follow in pairs
        assert simulate_exact(protocol, law).mean("swap_consistency").mean == pytest.approx(1.0, abs=1e-9)


def test_a_position_shift_costs_the_same_consistency_in_closed_form():
    noise, shift = 0.5, 0.4
    population = judged(GaussianGap(noise)).with_judges(position=shift)
    error = math.hypot(1.0, noise)
    expected = 1 - (float(ndtr(shift / error)) - float(ndtr(-shift / error)))
    assert simulate_exact(Panel(name="one"), population).mean("swap_consistency").mean == pytest.approx(expected, abs=1e-10)


def test_a_discussions_table_over_shifts_gives_what_each_shift_gives():
    """Shifts that spread over items are read off one table; a mixture of fixed shifts, each worked out by itself, is the same law."""
    population = judged(BetaGap(40.0, 0.5), 0.6)
    protocol = load_judging_protocol("chateval")
    node, weight = np.polynomial.hermite_e.hermegauss(9)
    parts = [evaluate_judging(protocol, population.with_judges(position=float(0.2 * z))).masses for z in node]
    mixture = np.tensordot(weight / weight.sum(), np.array(parts), axes=1)
    assert evaluate_judging(protocol, population.with_judges(position_sd=0.2)).masses == pytest.approx(mixture, abs=1e-6)


def test_showing_both_orders_removes_a_gaussian_judges_shift():
    shifted, plain = judged(GaussianGap(0.5)).with_judges(position=0.7), judged(GaussianGap(0.5))
    both = Panel(name="both", order="both", combine="score")
    two = Panel(name="two", samples=2, combine="score")
    assert accuracy(both, shifted) == pytest.approx(accuracy(two, plain), abs=1e-10)
    assert simulate_exact(both, shifted).mean("swap_consistency").mean == pytest.approx(1.0, abs=1e-12)
