"""The noise and the guarantee, seen from outside: 10⁶ draws, and 10⁵ releases of two neighbouring data sets.

Prints, and keeps in results/privacy_audit.csv: Pearson's statistic of the noise against the discrete Gaussian's and the
discrete Laplace's own chances, in standard deviations (it should be below 5); and the ε that the best threshold test
proves with 95 % confidence, which must not exceed the ε asked for, and does where half of the noise is left out.
"""

from __future__ import annotations

import math
import time

import numpy as np

import qckm
from common import keep
from privacy_auditor import audited_epsilon
from qckm.privacy import mechanisms
from qckm.privacy.local import LocalReporter, loads
from qckm.privacy.mechanisms import Sensitivity

DRAWS, RELEASES = 1_000_000, 100_000
EPSILON, DELTA = 2.0, 1e-3
ONE = Sensitivity(1, 1, 1)


def pearson(draws: np.ndarray, masses: dict[int, float]) -> float:
    """Return Pearson's statistic, in standard deviations, over values that are expected 20 times or more."""
    total = sum(masses.values())
    expected = {value: len(draws) * mass / total for value, mass in masses.items() if len(draws) * mass / total >= 20}
    seen = dict(zip(*(part.tolist() for part in np.unique(draws, return_counts=True)), strict=True))
    statistic = sum((seen.get(value, 0) - mean) ** 2 / mean for value, mean in expected.items())
    return (statistic - len(expected)) / math.sqrt(2 * len(expected))


def main() -> None:
    lines = []
    gaussian, laplace = (
        mechanisms.gaussian(Sensitivity(8, 8, 1), 1, True, 0.5),
        mechanisms.laplace(Sensitivity(8, 8, 1), 1, True, 2.0),
    )
    around = range(-200, 201)
    by_gauss = {value: math.exp(-(value**2) / (2 * gaussian.variance)) for value in around}
    by_laplace = {value: math.exp(-abs(value) / 4.5) for value in around}
    lines.append(("draws", "gaussian", DRAWS, f"{pearson(np.array(gaussian.add([0] * DRAWS)), by_gauss):.2f}"))
    lines.append(("draws", "laplace", DRAWS, f"{pearson(np.array(laplace.add([0] * DRAWS)), by_laplace):.2f}"))
    rho = qckm.privacy.rho_of(EPSILON, DELTA)
    for name, mechanism, delta in (
        ("gaussian", mechanisms.gaussian(ONE, 1, False, rho), DELTA),
        ("laplace", mechanisms.laplace(ONE, 1, False, EPSILON), 0.0),
        ("gaussian, half of the noise", mechanisms.gaussian(ONE, 1, False, 4 * rho), DELTA),
        ("laplace, half of the noise", mechanisms.laplace(ONE, 1, False, 2 * EPSILON), 0.0),
    ):
        here, there = (np.array(mechanism.add([value] * RELEASES)) for value in (0, 1))
        lines.append((f"audit of ε = {EPSILON:g}", name, RELEASES, f"{audited_epsilon(here, there, delta):.3f}"))
    op = qckm.SketchOperator.from_ranges([-5.0], [5.0], 2, 1, 1, dither="single", random_state=0)
    grid = np.linspace(-5, 5, 200)[:, np.newaxis]
    bits = op.encode(grid)[:, 0]
    reporter = LocalReporter(op, 1.0)
    outcomes = [
        np.array([loads(reporter.report(grid[bits == bit][0])).entries[0] & 1 for _ in range(RELEASES // 5)])
        for bit in (0, 1)
    ]
    lines.append(("audit of ε = 1", "local", RELEASES // 5, f"{audited_epsilon(*outcomes, 0.0):.3f}"))
    exact = qckm.SketchOperator.from_ranges([-5.0] * 10, [5.0] * 10, 10, 500, 1, random_state=0).empty()
    times = []
    for _ in range(10):
        start = time.process_time()
        qckm.privacy.release(exact, epsilon=1.0, delta=1e-6)
        times.append(1000 * (time.process_time() - start))
    lines.append(("milliseconds of a release of M = 1000", "gaussian", 10, f"{np.median(times):.1f}"))
    for line in lines:
        print(*line, sep="  ")
    keep("privacy_audit", ("what", "of", "number", "found"), lines)


if __name__ == "__main__":
    main()
