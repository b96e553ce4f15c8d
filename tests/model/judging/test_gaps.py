"""Laws of the score gap: their lattices, their verdicts, and the tables that draws are read from."""

import numpy as np
import pytest
from scipy.special import betaincinv, ndtr

from adjourn.model import ParameterError
from adjourn.model.draws import table_cell
from adjourn.model.judging import BetaGap, GaussianGap, RubricGap, ZeroInflatedBetaGap
from adjourn.model.judging.gaps import CRITERIA, Shifts, SizeCells
from adjourn.model.judging.sampling import beta_gap_at, beta_gap_table, gap_of_z

LAWS = [
    BetaGap(8.0),
    BetaGap(8.0, tie=0.1),
    ZeroInflatedBetaGap(8.0, 0.3, tie=0.1),
    BetaGap(0.6, 0.5),
    ZeroInflatedBetaGap(8.0, 0.3),
    GaussianGap(0.5, 0.2),
    RubricGap(),
    RubricGap(tie=4.0),
]
E = np.linspace(-2.5, 2.5, 11)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: repr(law))
def test_lattice_masses_sum_to_one_and_give_the_verdicts(law):
    lattice = law.lattice(400, 0.0)
    mass = law.masses(lattice, E, Shifts.of(0.0))
    gap = lattice.centres(E)
    assert mass.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    mass = np.broadcast_to(mass, gap.shape)
    width = np.where(lattice.widths() > 0, lattice.widths(), 1e-9)
    for column, above in ((0, law.tie_gap), (2, -law.tie_gap)):
        share = np.clip((gap - above) / width + 0.5, 0, 1)
        if column == 2:
            share = 1 - np.where(lattice.widths() > 0, share, gap >= above - 1e-12)
        else:
            share = np.where(lattice.widths() > 0, share, gap > above + 1e-12)
        assert (mass * share).sum(axis=1) == pytest.approx(law.verdicts(E)[:, column], abs=2e-3)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: repr(law))
def test_changing_sides_changes_the_sign_and_nothing_else(law):
    assert law.verdicts(-E) == pytest.approx(law.verdicts(E)[:, ::-1], abs=1e-9)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: repr(law))
def test_classes_split_the_verdicts_by_sign(law):
    classes = law.classes(E, Shifts.of(0.3, -0.3))
    mixed = (law.verdicts(E + 0.3) + law.verdicts(E - 0.3)) / 2
    assert classes[:, 0] == pytest.approx(mixed[:, 0], abs=1e-8)
    assert classes[:, 1:4].sum(axis=1) == pytest.approx(mixed[:, 1], abs=1e-8)
    assert classes[:, 4] == pytest.approx(mixed[:, 2], abs=1e-8)


@pytest.mark.parametrize(
    "law", [BetaGap(20.0, 0.6), ZeroInflatedBetaGap(10.0, 0.2), GaussianGap(0.4), RubricGap()], ids=lambda law: law.law
)
def test_the_error_variance_can_be_set(law):
    assert law.with_error_variance(0.07).error_variance == pytest.approx(0.07, rel=1e-12)


def test_the_error_variance_is_the_gaps_variance_over_its_squared_slope():
    law, h = BetaGap(30.0, 0.7), 1e-5
    lattice = law.lattice(4000, 0.0)
    e = np.array([-h, 0.0, h])
    mass, gap = law.masses(lattice, e, Shifts.of(0.0)), lattice.centres(e)
    mean = (mass * gap).sum(axis=1)
    slope = (mean[2] - mean[0]) / (2 * h)
    variance = (mass[1] * gap[1] ** 2).sum() - mean[1] ** 2
    assert variance / slope**2 == pytest.approx(law.error_variance, rel=1e-3)


def test_the_rubrics_points_are_the_convolution_of_twelve_criteria():
    law, e = RubricGap(level=17.0, scale=3.0, sd=2.0), 0.6
    rng = np.random.default_rng(1)
    z = rng.standard_normal((40000, 2, CRITERIA))
    side = np.array([law.scale * e / 2, -law.scale * e / 2])[None, :, None]
    scores = np.clip(np.floor(law.level + side + law.sd * z + 0.5), 1, 20).sum(axis=2)
    seen = np.bincount((scores[:, 0] - scores[:, 1] + 114).astype(int), minlength=229) / len(z)
    exact = law.points(np.array([e]))[0]
    used = exact > 1e-3
    z_scores = (seen[used] - exact[used]) / np.sqrt(exact[used] * (1 - exact[used]) / len(z))
    assert np.abs(z_scores).max() < 4.5
    assert 0.5 < np.mean(z_scores**2) < 1.6


@pytest.mark.parametrize("nu", [0.5, 4.0, 60.0, 900.0])
def test_the_table_of_beta_gaps_gives_quantiles(nu):
    rng = np.random.default_rng(2)
    e, u = rng.uniform(-4, 4, 1500), rng.random(1500)
    rows, gap = beta_gap_table(nu), gap_of_z()
    drawn = []
    for one, p in zip(e, u, strict=True):
        cell, fraction = table_cell(p if p < 0.5 else 1 - p)
        drawn.append(beta_gap_at(rows, gap, one, 1.0 if p < 0.5 else -1.0, cell, fraction))
    exact = 2 * betaincinv(nu * ndtr(e), nu * ndtr(-e), u) - 1
    assert np.abs(np.array(drawn) - exact).max() < (1.5e-3 if nu < 1 else 2e-4)
    assert np.mean(np.sign(drawn) != np.sign(exact)) < 1e-3


def test_sizes_near_the_ceiling_hold_all_the_mass():
    cells = SizeCells.make()
    for law in (BetaGap(20.0), ZeroInflatedBetaGap(5.0, 0.2)):
        mass = law.size_masses(cells, np.array([0.0, 1.5, 5.0, -5.0]), Shifts.of(0.0))
        assert mass.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
        assert mass[2] == pytest.approx(mass[3], abs=1e-12)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: BetaGap(0.0), "nu"),
        (lambda: ZeroInflatedBetaGap(5.0, 1.5), "zero"),
        (lambda: GaussianGap(-1.0), "sd"),
        (lambda: GaussianGap(float("nan")), "sd"),
        (lambda: RubricGap(level=0.0), "level"),
    ],
)
def test_impossible_parameters_are_named(make, field):
    with pytest.raises(ParameterError, match=field):
        make()
