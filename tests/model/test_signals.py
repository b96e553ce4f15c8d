"""Step signals: the AUROC that a faulty mean is solved from, and the entropy of step variants."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from adjourn.model import ParameterError, Signals
from adjourn.model.signals import beta_shapes, faulty_agreement, faulty_mean, variant_entropy


def auroc(mean, concentration, faulty):
    """P(faulty > clean) by adaptive quadrature over the clean law's quantiles."""
    clean, other = stats.beta(*beta_shapes(mean, concentration)), stats.beta(*beta_shapes(faulty, concentration))
    return integrate.quad(lambda v: other.sf(clean.ppf(v)), 0, 1, epsabs=1e-10, limit=500)[0]


@pytest.mark.parametrize(("mean", "concentration"), [(0.2, 10), (0.1, 10), (0.05, 2), (0.4, 2), (0.3, 1000), (0.7, 3)])
@pytest.mark.parametrize("wanted", [0.55, 0.75, 0.85])
def test_faulty_mean_gives_the_auroc_that_was_asked_for(mean, concentration, wanted):
    assert auroc(mean, concentration, faulty_mean(mean, concentration, wanted, "auroc_h")) == pytest.approx(wanted, abs=1e-7)


def test_auroc_of_one_half_changes_nothing():
    assert faulty_mean(0.2, 10, 0.5, "auroc_h") == 0.2
    assert faulty_agreement(0.8, 5, 0.5) == 0.8


def test_auroc_within_rounding_of_one_half_is_no_error():
    assert faulty_mean(0.2, 10, np.nextafter(0.5, 1), "auroc_h") == pytest.approx(0.2)
    assert faulty_agreement(0.8, 5, np.nextafter(0.5, 1)) == pytest.approx(0.8)


@pytest.mark.parametrize("variants", [2, 3, 5, 21, 32])
@pytest.mark.parametrize("wanted", [0.51, 0.6])
def test_faulty_agreement_gives_the_auroc_of_the_entropies_with_ties_counted_half(variants, wanted):
    clean, faulty = 0.8, faulty_agreement(0.8, variants, wanted)
    counts, h = range(variants + 1), variant_entropy(variants)
    total = 0.0
    for a in counts:
        for b in counts:
            win = 1.0 if h[a] > h[b] else (0.5 if h[a] == h[b] else 0.0)
            total += win * stats.binom.pmf(a, variants, faulty) * stats.binom.pmf(b, variants, clean)
    assert total == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize("variants", range(2, 33))
def test_variant_entropy_is_the_normalised_entropy_of_the_clusters(variants):
    for a in range(variants + 1):
        clusters = [a] * (a > 0) + [1] * (variants - a)
        entropy = -sum(n / variants * math.log(n / variants) for n in clusters) / math.log(variants)
        assert variant_entropy(variants)[a] == pytest.approx(entropy, abs=1e-15)


@pytest.mark.parametrize("variants", range(2, 33))
def test_none_and_one_agreeing_variant_are_the_same_entropy_exactly(variants):
    assert variant_entropy(variants)[0] == variant_entropy(variants)[1] == 1.0


def test_all_variants_agreeing_have_no_entropy():
    assert all(variant_entropy(m)[m] == 0.0 for m in range(2, 33))


@given(st.floats(0.05, 0.4), st.floats(2, 50), st.floats(0.5, 0.85))
def test_a_more_telling_signal_has_a_higher_faulty_mean(mean, concentration, wanted):
    weak, strong = faulty_mean(mean, concentration, wanted, "auroc_h"), faulty_mean(mean, concentration, wanted + 0.05, "auroc_h")
    assert mean <= weak < strong < 1


@pytest.mark.parametrize(
    "bad",
    [
        {"steps": 0},
        {"steps": 65},
        {"steps": 2.0},
        {"steps": True},
        {"mean_h": 0},
        {"mean_d": 1},
        {"mean_h": math.nan},
        {"concentration_h": 0},
        {"concentration_d": math.inf},
        {"auroc_h": 0.49},
        {"auroc_d": 1.0},
        {"auroc_d": "0.7"},
        {"visibility": -0.1},
        {"mode": "grey-box"},
        {"variants": 1},
        {"mode": "black-box", "auroc_h": 0.999},
        {"mean_h": 0.01, "concentration_h": 2},
        {"mean_d": 0.9, "concentration_d": 2},
    ],
)
def test_impossible_signals_are_refused_by_name(bad):
    with pytest.raises(ParameterError) as refusal:
        Signals(**bad)
    assert any(name.split("_")[0] in str(refusal.value) for name in bad)


def test_an_auroc_out_of_reach_names_the_largest_possible_one():
    with pytest.raises(ParameterError, match=r"auroc_h = 0\.999.*from 0\.5 to 0\.\d{4}"):
        Signals(mode="black-box", auroc_h=0.999)
