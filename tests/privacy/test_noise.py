"""The noise is what it should be, and an audit from outside would notice if it were not.

Draws come from the operating system, so that tests may fail by chance: each once in 10⁵ runs or less. The
same at 10⁶ draws and 10⁵ releases is in experiments/privacy_audit.py.
"""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

import qckm
from qckm.privacy import mechanisms
from qckm.privacy.local import LocalReporter, loads
from qckm.privacy.mechanisms import Sensitivity

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))

from privacy_auditor import audited_epsilon

DRAWS = 10_000
# Of the audits' bounds: a claim that is just kept is called broken once in 10⁶ runs at most.
SURE = 1 - 1e-6
ONE = Sensitivity(l1=8, l2_squared=8, largest=1)


def chi_square(draws, chances, least=20):
    """Return Pearson's statistic over values whose expected number is at least 20, in standard deviations."""
    values, numbers = np.unique(draws, return_counts=True)
    seen = dict(zip(values.tolist(), numbers.tolist(), strict=True))
    expected = {value: len(draws) * chance for value, chance in chances.items() if len(draws) * chance >= least}
    statistic = sum((seen.get(value, 0) - mean) ** 2 / mean for value, mean in expected.items())
    return (statistic - len(expected)) / math.sqrt(2 * len(expected))


def test_gaussian_noise_is_the_discrete_gaussian():
    mechanism = mechanisms.gaussian(ONE, 1, True, rho=0.5)
    draws = np.array(mechanism.add([0] * DRAWS))
    values = range(-60, 61)
    masses = [math.exp(-(value**2) / (2 * mechanism.variance)) for value in values]
    assert chi_square(draws, dict(zip(values, np.divide(masses, sum(masses)), strict=True))) < 6  # one in 10⁵


def test_laplace_noise_is_the_discrete_laplace():
    mechanism = mechanisms.laplace(ONE, 1, True, epsilon=2.0)
    draws = np.array(mechanism.add([0] * DRAWS))
    scale = (ONE.l1 + 1) / 2.0
    values = range(-100, 101)
    masses = [math.exp(-abs(value) / scale) for value in values]
    assert chi_square(draws, dict(zip(values, np.divide(masses, sum(masses)), strict=True))) < 6
    assert draws.var() == pytest.approx(mechanism.variance, rel=0.15)  # five standard errors


def outputs(mechanism, value, releases, width=1):
    """Return released sums of data sets that differ as much as a row can make them."""
    noisy = np.array(mechanism.add([value] * (width * releases))).reshape(releases, width)
    return noisy.sum(axis=1)


@pytest.mark.parametrize("name", ["gaussian", "laplace"])
def test_an_audit_finds_no_more_than_epsilon(name):
    """Two neighbours, whose only sum differs by 1."""
    one = Sensitivity(l1=1, l2_squared=1, largest=1)
    if name == "gaussian":
        epsilon, delta = 2.0, 1e-3
        mechanism = mechanisms.gaussian(one, 1, False, qckm.privacy.rho_of(epsilon, delta))
    else:
        epsilon, delta = 2.0, 0.0
        mechanism = mechanisms.laplace(one, 1, False, epsilon)
    assert audited_epsilon(outputs(mechanism, 0, 5000), outputs(mechanism, 1, 5000), delta, SURE) <= epsilon


def test_the_audit_fails_where_noise_is_half_of_what_it_should_be():
    """Laplace noise, which a few thousand releases tell apart; Gaussian in experiments/privacy_audit.py."""
    planted = mechanisms.laplace(Sensitivity(l1=1, l2_squared=1, largest=1), 1, False, 2 * 2.0)
    assert audited_epsilon(outputs(planted, 0, 5000), outputs(planted, 1, 5000), 0.0, SURE) > 2.0


OP = qckm.SketchOperator.from_ranges(
    [-5.0], [5.0], n_clusters=2, n_frequencies=1, octaves=1, dither="single", random_state=1
)


def reported(reporter, row, times):
    return np.array([loads(reporter.report(row)).entries[0] & 1 for _ in range(times)])


def local_rows():
    """Return two rows whose only bit differs."""
    grid = np.linspace(-5, 5, 200)[:, np.newaxis]
    bits = OP.encode(grid)[:, 0]
    return grid[bits == 0][0], grid[bits == 1][0]


def test_the_audit_of_local_reports():
    zero, one = local_rows()
    reporter = LocalReporter(OP, epsilon=1.0)
    assert 0.4 < audited_epsilon(reported(reporter, zero, 2000), reported(reporter, one, 2000), 0.0, SURE) <= 1.0
    reporter.kept = round(2**32 * (1 - (1 - reporter.kept / 2**32) / 2))  # planted: turned around half as often
    assert audited_epsilon(reported(reporter, zero, 2000), reported(reporter, one, 2000), 0.0, SURE) > 1.0
