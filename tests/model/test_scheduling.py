"""Gates: which tier a risk buys, and what the ablations do to the weights."""

import math
from dataclasses import replace

import pytest

from adjourn.model import ConfidenceGate, ParameterError, Tier, UncertaintyGate, load_population, load_protocol
from adjourn.model.reference import run


class Steps:
    """An answer source with given chains and signals; every debate keeps its answers."""

    def __init__(self, h, d, chains=("a",) * 5):
        self.h, self.d, self.chains, self.steps = h, d, chains, len(h)

    def sample(self, index):
        return self.chains[index]

    def signals(self, candidate):
        return self.h, self.d

    def confidence(self, round_, agent, answer):
        return 8

    def respond(self, round_, answers, candidate, target):
        return list(answers)

    def fair(self, purpose):
        return 0.5

    def is_right(self, answer):
        return answer == "a"

    def oracle_tier(self):
        raise AssertionError


def tier_of(h, d, chains=("a",) * 5, name="uaad"):
    trajectory = run(load_protocol(name), load_population("gsm8k-gpt35"), Steps(h, d, chains))
    return trajectory.tier.name, trajectory.risk, trajectory.target


def tier_at(risk):
    """Tier of a risk that is met exactly: one step, weight 1 on its entropy."""
    protocol = replace(load_protocol("uaad"), gate=UncertaintyGate((0.35, 0.62), 1.0, 0.0, 0.0))
    return run(protocol, load_population("gsm8k-gpt35"), Steps([risk], [0.0])).tier.name


@pytest.mark.parametrize(
    ("risk", "tier"), [(0.0, "low"), (0.3499, "low"), (0.35, "medium"), (0.6199, "medium"), (0.62, "high"), (1.0, "high")]
)
def test_a_risk_at_a_bound_belongs_to_the_higher_tier(risk, tier):
    assert tier_at(risk) == tier


def test_risk_is_the_largest_weighted_step():
    _, risk, target = tier_of([0.1, 0.8, 0.2], [0.9, 0.1, 0.2], ("a", "a", "a", "b", "c"))
    assert risk == pytest.approx(0.45 * 0.8 + 0.35 * 0.4 + 0.20 * 0.1)
    assert target == 1


def test_disagreement_moves_the_tier_but_never_the_target():
    agreeing = tier_of([0.5, 0.6, 0.4], [0.5, 0.2, 0.1])
    split = tier_of([0.5, 0.6, 0.4], [0.5, 0.2, 0.1], ("a", "b", "c", "d", "e"))
    assert agreeing[2] == split[2]
    assert split[1] == pytest.approx(agreeing[1] + 0.35 * 0.8)
    assert (agreeing[0], split[0]) == ("low", "medium")


def test_equal_risks_target_the_first_step():
    assert tier_of([0.5, 0.5], [0.5, 0.5])[2] == 0


def test_dropping_a_signal_keeps_the_sum_of_the_weights():
    gate = UncertaintyGate()
    for signal in "hqd":
        ablated = gate.without(signal)
        assert getattr(ablated, f"weight_{signal}") == 0
        assert ablated.weight_h + ablated.weight_q + ablated.weight_d == pytest.approx(1)
    assert gate.without("h").weight_q / gate.without("h").weight_d == pytest.approx(0.35 / 0.20)


def test_raw_zeroing_empties_the_high_tier():
    raw = UncertaintyGate().without("h", renormalise=False)
    assert (raw.weight_h, raw.weight_q, raw.weight_d) == (0, 0.35, 0.20)
    assert raw.weight_q + raw.weight_d < raw.bounds[1]


@pytest.mark.parametrize(("name", "signal"), [("uaad_no_entropy", "h"), ("uaad_no_consistency", "q")])
def test_shipped_ablations_are_the_renormalised_gate(name, signal):
    gate, expected = load_protocol(name).gate, UncertaintyGate().without(signal)
    assert gate.bounds == expected.bounds
    for weight in ("weight_h", "weight_q", "weight_d"):
        assert getattr(gate, weight) == pytest.approx(getattr(expected, weight), abs=1e-15)


@pytest.mark.parametrize(
    "make",
    [
        lambda: UncertaintyGate((0.6, 0.3)),
        lambda: UncertaintyGate((0.3, math.nan)),
        lambda: UncertaintyGate((0.3, 2.1)),
        lambda: UncertaintyGate(weight_h=1.1),
        lambda: UncertaintyGate(weight_q="1"),
        lambda: ConfidenceGate(0),
        lambda: ConfidenceGate(12),
        lambda: ConfidenceGate(8.0),
        lambda: Tier("all", 0, 1),
        lambda: Tier("all", 65, 1),
        lambda: Tier("all", 3, 0),
        lambda: Tier("all", 3, True),
    ],
)
def test_impossible_gates_and_tiers_are_refused(make):
    with pytest.raises(ParameterError):
        make()
