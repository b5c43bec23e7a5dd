"""The decoder's loops in C, compared with their twins in NumPy; with every instruction set, and sanitizers, too."""

import os
import subprocess
import sys

import numpy as np
import pytest

from qckm.decoding.model import c_loops, numpy_loops
from qckm.decoding.model.loops import Climb, Rules, Sizes, Waves

CASES = 24


class Case:
    """A sketch and clusters, all of it at random."""

    def __init__(self, seed):
        rng = self.rng = np.random.default_rng(seed)
        self.n, self.K, self.r = int(rng.integers(1, 14)), int(rng.integers(1, 7)), int(rng.integers(0, 3))
        m = int(rng.choice([1, 7, 40, 255, 256, 257, 600]))
        count, step = [(1, 1), (4, 2), (12, 1), (12, 2), (5, 1), (3, 2)][seed % 6]
        harmonics = rng.normal(size=(count, 4)) / (1 + step * np.arange(count))[:, np.newaxis] ** 2
        frequencies = rng.normal(size=(self.n, m)) / np.sqrt(self.n)
        halves = (frequencies**2).sum(axis=0) / 2
        self.waves = Waves(frequencies, 7 * rng.random(m), halves, harmonics, step, rng.normal(size=(2, m)))
        self.points, self.weights = 3 * rng.normal(size=(self.K, self.n)), rng.random(self.K)
        self.widths, self.axes = rng.random(self.K), rng.normal(size=(self.K, self.r, self.n))
        if seed % 5 == 0:  # nothing is left of clusters as wide as that
            self.widths *= 1e4


def assert_same(found, expected):
    for ours, twin in zip(found, expected, strict=True):
        size = np.abs(twin).max(initial=0) if np.ndim(twin) else abs(twin)
        np.testing.assert_allclose(ours, twin, rtol=1e-8, atol=1e-9 * (1 + size))


@pytest.mark.parametrize("seed", range(CASES))
def test_atoms_and_misfits_are_those_of_numpy(core, seed):
    case = Case(seed)
    shape = case.points, case.widths, case.axes
    assert_same([c_loops.atoms(case.waves, *shape)], [numpy_loops.atoms(case.waves, *shape)])
    clusters = case.points, case.weights, case.widths, case.axes
    assert_same(c_loops.misfit(case.waves, *clusters), numpy_loops.misfit(case.waves, *clusters))


@pytest.mark.parametrize("seed", range(CASES))
def test_points_climb_as_in_numpy(core, seed):
    case = Case(seed)
    damping, box = np.exp(-case.waves.halves), (np.full(case.n, -3.0), np.full(case.n, 3.0))
    given = case.waves, case.points, Climb(case.waves.z, damping, 0.3, 3, *box)
    assert_same(c_loops.ascend(*given), numpy_loops.ascend(*given))
    tone = case.waves._replace(harmonics=case.waves.harmonics[:1])
    assert_same(c_loops.correlation(tone, case.points[0]), numpy_loops.correlation(tone, case.points[0]))
    # Of a few steps only: a descent may go another way where two are as good.
    few = Rules(3, 1, 0.0)
    ours, twin = c_loops.match(tone, case.points[0], *box, few), numpy_loops.match(tone, case.points[0], *box, few)
    np.testing.assert_allclose(ours.value, twin.value, rtol=1e-6)
    assert ours.evaluations == twin.evaluations


@pytest.mark.parametrize("seed", range(CASES))
def test_a_few_steps_of_a_fit_are_those_of_numpy(core, seed):
    case = Case(seed)
    free = [0, 1, case.K][seed % 3]
    start = np.concatenate([case.points.ravel(), case.weights, case.widths[:free], case.axes.ravel()])
    low, high = np.full(start.size, -50.0), np.full(start.size, 50.0)
    weights = slice(case.points.size, case.points.size + case.K + free)
    low[weights], high[weights] = 1e-4, 2.0
    given = case.waves, Sizes(case.K, case.r, free, 0.1), case.widths, start, low, high, Rules(4, 1, 0.0)
    (ours, widths), (twin, expected) = c_loops.fit(*given), numpy_loops.fit(*given)
    np.testing.assert_allclose(ours.value, twin.value, rtol=1e-6)
    np.testing.assert_allclose(ours.x, twin.x, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(widths, expected, rtol=1e-4, atol=1e-4)
    assert ours.evaluations == twin.evaluations


def test_a_cost_that_is_no_number_ends_a_descent(core):
    case = Case(1)
    z = np.full_like(case.waves.z, np.nan)
    start = np.concatenate([case.points.ravel(), case.weights])
    sizes, bounds = Sizes(case.K, 0, 0), (np.full(start.size, -9.0), np.full(start.size, 9.0))
    found, _ = c_loops.fit(case.waves._replace(z=z), sizes, case.widths, start, *bounds, Rules(50, 10, 1e-4))
    assert np.isnan(found.value)
    assert found.evaluations < 50


def test_without_the_library_numpy_decodes():
    code = (
        "import numpy as np, qckm\n"
        "from qckm.kernels import library\n"
        "centers = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])\n"
        "rows = np.repeat(centers, 50, axis=0) + np.random.default_rng(0).normal(size=(150, 2))\n"
        "op = qckm.SketchOperator.draw(2, 40, scale=2.0, random_state=0)\n"
        "for decoder in ('auto', 'clompr'):\n"
        "    found = qckm.decode(op.sketch(rows), 3, decoder=decoder, random_state=0).centers\n"
        "    assert (np.abs(found[:, None] - centers).max(axis=2).min(axis=0) < 1).all(), found\n"
        "print(library.instructions())"
    )
    environment = {**os.environ, "QCKM_INSTRUCTIONS": "numpy"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "numpy", done.stderr
