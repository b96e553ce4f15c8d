"""The law of the tier and of hits, against simulated steps and against numerical integration."""

import numpy as np
import pytest
from scipy import integrate, stats

from adjourn.model import Signals, UncertaintyGate
from adjourn.model.exact.risk import ScoreLaw, tier_law
from adjourn.model.signals import variant_entropy

SAMPLES = 100_000
GATE = UncertaintyGate((0.35, 0.62))
SIGNALS = {
    "defaults": Signals(),
    "steep at 0": Signals(steps=3, mean_h=0.05, concentration_h=2, mean_d=0.05, concentration_d=2),
    "U-shaped": Signals(steps=4, mean_h=0.4, concentration_h=1, mean_d=0.3, concentration_d=1, auroc_h=0.8, auroc_d=0.6),
    "one step": Signals(steps=1),
    "black box": Signals(steps=5, mode="black-box", auroc_h=0.65),
    "black box, steep d": Signals(steps=3, mode="black-box", auroc_h=0.6, mean_d=0.05, concentration_d=2, variants=3),
}
GATES = {
    "published": GATE,
    "no entropy": GATE.without("h"),
    "no contradiction": GATE.without("d"),
    "no consistency": GATE.without("q"),
    "q alone": UncertaintyGate((0.1, 0.3), 0.0, 0.5, 0.0),
    "four tiers": UncertaintyGate((0.2, 0.35, 0.5), 0.3, 0.5, 0.9),
}


def simulated_tiers(gate, signals, chains, kind, dominant, rng):
    """Shares of (tier, hit): draw all steps, take the first riskiest, compare."""
    steps = signals.steps
    visible = {0: 0.0, 1: signals.visibility, 2: 1.0}[kind]
    shows = rng.random(SAMPLES) < visible
    faulty_step = rng.integers(steps, size=SAMPLES)
    is_faulty = (np.arange(steps)[None, :] == faulty_step[:, None]) & shows[:, None]

    def draw(shapes):
        return np.where(is_faulty, rng.beta(*shapes(True), (SAMPLES, steps)), rng.beta(*shapes(False), (SAMPLES, steps)))

    if signals.black_box:
        h = variant_entropy(signals.variants)
        agree = [rng.choice(signals.variants + 1, p=signals.variant_law(f), size=(SAMPLES, steps)) for f in (False, True)]
        entropy = np.where(is_faulty, h[agree[1]], h[agree[0]])
    else:
        entropy = draw(signals.shapes_h)
    scores = gate.weight_h * entropy + gate.weight_d * draw(signals.shapes_d)
    risk = scores.max(axis=1) + gate.weight_q * ((chains - dominant) / chains)
    tier = (risk[:, None] >= np.array(gate.bounds)[None, :]).sum(axis=1)
    hit = (scores.argmax(axis=1) == faulty_step) & (kind != 0)
    shares = np.zeros((len(gate.bounds) + 1, 2))
    np.add.at(shares, (tier, hit.astype(int)), 1 / SAMPLES)
    return shares


@pytest.mark.parametrize("gate", GATES.values(), ids=GATES)
@pytest.mark.parametrize("signals", SIGNALS.values(), ids=SIGNALS)
def test_tiers_and_hits_agree_with_simulated_steps(signals, gate):
    # 36 cases x 3 situations x at most 8 cells, 4.5 standard errors each: any false alarm at all has a chance below 0.6 %.
    rng = np.random.default_rng(20)
    table = tier_law(gate, signals, 5, "riskiest", with_hits=True)
    for kind, dominant in ((0, 4), (1, 3), (2, 1)):
        exact = table[kind, dominant]
        error = np.sqrt(exact * (1 - exact) / SAMPLES)
        seen = simulated_tiers(gate, signals, 5, kind, dominant, rng)
        assert np.all(np.abs(seen - exact) <= 4.5 * error + 1e-9), (kind, dominant, seen, exact)


@pytest.mark.parametrize("signals", SIGNALS.values(), ids=SIGNALS)
def test_tiers_of_every_situation_sum_to_one(signals):
    for target in ("riskiest", "uniform", "none"):
        for with_hits in (False, True):
            table = tier_law(GATE, signals, 4, target, with_hits=with_hits)
            np.testing.assert_allclose(table[:, 1:].sum(axis=(2, 3)), 1, atol=1e-12)
            assert table.min() >= -1e-12


def test_hits_leave_the_tiers_as_they_are():
    with_hits = tier_law(GATE, Signals(), 5, "riskiest", with_hits=True)
    without = tier_law(GATE, Signals(), 5, "riskiest", with_hits=False)
    np.testing.assert_allclose(with_hits.sum(axis=3), without.sum(axis=3), atol=1e-15)


def test_a_uniform_target_hits_one_step_in_k():
    table = tier_law(GATE, Signals(steps=4), 5, "uniform", with_hits=True)
    np.testing.assert_allclose(table[1:, 1:, :, 1], table[1:, 1:].sum(axis=3) / 4, atol=1e-15)
    assert not table[0, :, :, 1].any()


def test_an_uninformative_signal_hits_one_step_in_k():
    signals = Signals(steps=5, auroc_h=0.5, auroc_d=0.5)
    table = tier_law(UncertaintyGate(()), signals, 5, "riskiest", with_hits=True)
    assert table[2, 3, 0, 1] == pytest.approx(1 / 5, abs=1e-8)


@pytest.mark.parametrize("signals", [SIGNALS["defaults"], SIGNALS["steep at 0"], SIGNALS["U-shaped"]], ids=["defaults", "steep", "U"])
def test_hits_agree_with_an_integral_over_the_faulty_step(signals):
    # P(hit) = E[G0(s)^(K - 1)] over the faulty step's h, given d by its quantile: nested adaptive quadrature, black on white.
    clean = ScoreLaw(0.45, 0.0, signals, False)
    law = stats.beta(*signals.shapes_h(True))
    expected = integrate.quad(lambda v: float(clean.cdf(np.array([0.45 * law.ppf(v)]))[0]) ** (signals.steps - 1), 0, 1, epsabs=1e-11)[0]
    gate = UncertaintyGate((), 0.45, 0.35, 0.0)
    assert tier_law(gate, signals, 5, "riskiest", with_hits=True)[2, 1, 0, 1] == pytest.approx(expected, abs=2e-8)


@pytest.mark.parametrize("x", [0.01, 0.1, 0.2, 0.3, 0.45, 0.6])
@pytest.mark.parametrize("faulty", [False, True])
def test_score_law_is_the_convolution_of_its_two_signals(x, faulty):
    signals = Signals()
    h, d = stats.beta(*signals.shapes_h(faulty)), stats.beta(*signals.shapes_d(faulty))
    points = sorted(p for p in ((x - 0.45) / 0.2, x / 0.2) if 0 < p < 1)
    expected = integrate.quad(lambda t: h.cdf((x - 0.2 * t) / 0.45) * d.pdf(t), 0, 1, points=points or None, epsabs=1e-12, limit=200)[0]
    assert ScoreLaw(0.45, 0.2, signals, faulty).cdf(np.array([x]))[0] == pytest.approx(expected, abs=1e-9)


def test_a_risk_that_equals_a_bound_belongs_to_the_higher_tier():
    # Without d the black-box scores are atoms: U = weight_h * h + weight_q * q, and 1.0 is one of them.
    gate = UncertaintyGate((1.0,), 1.0, 0.0, 0.0)
    signals = Signals(steps=1, mode="black-box", auroc_h=0.6)
    table = tier_law(gate, signals, 1, "none", with_hits=False)
    certain_noise = signals.variant_law(False)[:2].sum()
    assert table[0, 1, 1, 0] == pytest.approx(certain_noise, abs=1e-15)
