"""The same seed gives the same bits: on every supported Python, with the lowest and the newest NumPy, SciPy and numba.

The numbers below change when a preset or the model does, and must not when a dependency does. The exact law is left out: its sums run
through BLAS and NumPy's vector instructions, whose last digits differ between builds.
"""

import json

import pytest

CASES = {
    ("uaad", "mc", 50_000): [0.82604, 7.30786, 0.00203966259, 0.0019855477623, 0.00266672157189, 0.040511],
    ("uaad", "reference", 300): [0.8233333333333334, 7.273333333333333, 0.002029943333333333, 0.00197882405083, 0.00264823562757, 0.014801],
    ("adaptive_consistency", "mc", 50_000): [0.84174, 9.14118, 0.0025412480399999997, 0.00128572844873, 0.0107096275053, 0.06356],
    ("fixed_mad", "mc", 50_000): [0.83494, 18.0, 0.011583, 0.0115622238474, 0.0121588776042, 0.085293],
    ("samre", "mc", 50_000): [0.84962, 13.17452, 0.316794396, 0.245299042465, 0.585208461388, 2.6344000000000003],
    ("prd", "reference", 300): [0.7616666666666667, 10.0, 0.174, 0.173741954478, 0.190030653703, 0.42119999999999996],
}
"""Protocol, engine, samples: accuracy, calls and money of a question, then the median, the 95 % quantile and the worst of its money."""


@pytest.mark.parametrize(("protocol", "engine", "samples"), CASES)
def test_a_seeded_run_gives_these_very_numbers(cli, protocol, engine, samples):
    run = cli("simulate", protocol, "--engine", engine, "--samples", samples, "--seed", 20260101, "--json")
    assert run.exit_code == 0, run.stderr
    data = json.loads(run.stdout)
    found = [data["accuracy"]["mean"], data["calls"]["mean"], data["usd"]["mean"], *data["quantiles"]["usd"].values()]
    assert found == CASES[protocol, engine, samples]
