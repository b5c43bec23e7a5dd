"""What is asked for reaches the decoders: bounds, and a start."""

import numpy as np
import pytest

import qckm
from qckm.decoding.targets.kmeans import decode_hinted

CENTERS = np.array([[-4.0, 0.0], [4.0, 1.0], [0.0, 5.0]])


@pytest.fixture(scope="module")
def sketch():
    rng = np.random.default_rng(1000)
    X = CENTERS[rng.integers(3, size=5000)] + rng.normal(size=(5000, 2))
    return qckm.SketchOperator.draw(2, 60, scale=2.0, law="concentrated-radius", random_state=1000).sketch(X)


@pytest.mark.filterwarnings("ignore::qckm.errors.PoorFitWarning")
@pytest.mark.parametrize("decoder", ["matched", "clompr"])
def test_centroids_stay_within_bounds(sketch, decoder):
    lower, upper = np.array([-1.0, -1.0]), np.array([5.0, 2.0])
    found = decode_hinted(sketch, 3, None, bounds=(lower, upper), decoder=decoder, random_state=0).centers
    assert (found >= lower).all()
    assert (found <= upper).all()


def test_clompr_begins_at_a_start(sketch):
    """Each start has its own way to the same place: beginning at nothing is another one."""
    taken = [
        qckm.decode(sketch, 3, decoder="clompr", init=init, random_state=0).n_iter
        for init in (CENTERS, CENTERS + np.array([0.5, -0.5]), None)
    ]
    assert len(set(taken)) == 3


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16])
def test_small_integers_of_numpy_are_numbers_of_clusters(kind):
    sketch = qckm.SketchOperator.draw(2, 60, 1.6, random_state=0).sketch(np.random.default_rng(0).normal(size=(500, 2)))
    plain = qckm.decode(sketch, 3, random_state=0)
    assert np.array_equal(qckm.decode(sketch, kind(3), n_init=kind(1), random_state=0).centers, plain.centers)
