"""The loops over floats give the same bits with every instruction set, by every compiler, on every CPU: digests tell.

What they are given is made of uniform numbers alone, which are integers times a power of two: no library's exp or log
has a part in it. tests/kernels/loop_threads.c does the same where there is no Python (`make test-targets`).
"""

import hashlib

import numpy as np
import pytest

from qckm.clustering import centroids
from qckm.clustering.centroids import nearest
from qckm.decoding.model import c_loops
from qckm.decoding.model.loops import Climb, Rules, Sizes, Waves
from qckm.kernels import algebra
from qckm.kernels.matrices import Values

# Of builds by gcc and clang. Where a loop changes on purpose they change; a compiler or a CPU may not change them.
DIGESTS = {
    "atoms": "4bcaf04ced465c5c",
    "misfit": "cee827850f61226c",
    "climbing": "3ac0f22ca8daaabb",
    "correlation": "b7cb6bbf78604812",
    "fitting": "a996d2612ea2a577",
    "matching": "4efbcd21e47622ca",
    "k-means": "da5718e9b00e4ee5",
    "nearest": "b839791ba333dbb6",
    "products": "e8aea9caede8797b",
    "solving": "02fa285a410c4406",
    "functions": "1f9cf049f29f86c7",
}


class Case:
    """A sketch and clusters, points and weights."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        n, m, K, r = [(1, 7, 1, 0), (3, 257, 4, 2), (10, 600, 5, 0), (13, 255, 3, 1)][seed]
        count, step = [(1, 1), (4, 2), (12, 1), (5, 1)][seed]
        shares = 1.0 / (1 + step * np.arange(count))[:, np.newaxis]
        frequencies = self.uniform(n, m)
        self.waves = Waves(
            frequencies, 7 * self.uniform(m), (frequencies**2).sum(axis=0), self.uniform(count, 4) * shares, step,
            self.uniform(2, m),
        )  # fmt: skip
        self.points, self.weights = 3 * self.uniform(K, n), 1 + self.uniform(K)
        self.widths, self.axes = 1 + self.uniform(K), self.uniform(K, r, n)
        self.box = np.full(n, -3.0), np.full(n, 3.0)
        self.rows, self.heavy = self.uniform(501, n), 1 + self.uniform(501)
        self.rows[::3] += 2

    def uniform(self, *shape):
        return 2 * self.rng.random(shape) - 1


def fitted(case):
    K, r, free = len(case.points), case.axes.shape[1], len(case.points)
    start = np.concatenate([case.points.ravel(), case.weights, case.widths, case.axes.ravel()])
    low, high = np.full(start.size, -9.0), np.full(start.size, 9.0)
    low[case.points.size : case.points.size + 2 * K] = 1e-3
    found, widths = c_loops.fit(case.waves, Sizes(K, r, free, 0.1), case.widths, start, low, high, Rules(25, 5, 1e-9))
    return found.x, found.value, found.evaluations, widths


def clustered(case):
    K = min(20, len(case.rows))
    begun = centroids.plus_plus(case.rows, case.heavy, K, 5, case.rng.random(1 + 5 * K))
    return begun, *centroids.lloyd(case.rows, case.heavy, case.rows[begun], 0.0, 50)


def multiplied(case):
    yield algebra.product(case.rows.T, case.rows)
    yield algebra.product(case.heavy, case.rows)
    yield algebra.product(case.rows, case.points[0])
    small = Values((1000 * case.rows).astype(np.int16), 0.01)
    yield from (small.times(case.points), small.times_rows(case.heavy[np.newaxis]))
    yield Values(case.rows.astype(np.float32)).times_rows(np.stack([case.heavy, case.rows[:, 0]]))


def solved(case):
    gram = algebra.product(case.rows.T, case.rows)
    yield algebra.solve_positive(gram, case.points[0])


def functions(case):
    yield from (algebra.exp(20 * case.rows), algebra.log(case.heavy))
    yield from (algebra.sine(9 * case.rows), algebra.cosine(9 * case.rows))
    yield algebra.softmax(30 * case.heavy)[0]


LOOPS = {
    "atoms": lambda case: [c_loops.atoms(case.waves, case.points, case.widths, case.axes)],
    "misfit": lambda case: c_loops.misfit(case.waves, case.points, case.weights, case.widths, case.axes),
    "climbing": lambda case: c_loops.ascend(
        case.waves, case.points, Climb(case.waves.z, 1 + case.waves.phases / 9, 0.3, 5, *case.box)
    ),
    "correlation": lambda case: c_loops.correlation(case.waves, case.points[0]),
    "fitting": fitted,
    "matching": lambda case: c_loops.match(case.waves, case.points[0], *case.box, Rules(30, 10, 1e-9)),
    "k-means": clustered,
    "nearest": lambda case: nearest(case.rows, case.points, n_jobs=1),
    "products": multiplied,
    "solving": solved,
    "functions": functions,
}


def digest_of(loop):
    found = hashlib.sha256()
    for seed in range(4):
        for part in LOOPS[loop](Case(seed)):
            found.update(np.ascontiguousarray(part, np.float64).astype("<f8").tobytes())
    return found.hexdigest()[:16]


@pytest.mark.parametrize("loop", LOOPS)
def test_floats_are_the_same_everywhere(core, loop):
    assert digest_of(loop) == DIGESTS[loop]
