import numpy as np
import pytest

import qckm
from qckm.decoding.model.loops import MORE_HARMONICS
from qckm.decoding.model.sketch_model import SketchModel
from qckm.decoding.search.expectation import unseen


def model(signature="one-bit", n_harmonics=None, rows=None):
    if rows is None:
        rows = np.random.default_rng(0).normal(size=(2000, 2))
    op = qckm.SketchOperator.draw(2, 100, scale=1.0, law="concentrated-radius", signature=signature, random_state=0)
    return SketchModel.of(op.sketch(rows), rows.std(axis=0), n_harmonics)


def test_what_is_left_out_of_a_square_wave_of_points():
    # Of harmonics 1/h with h odd, those beyond the seventh have 5 % of the energy; a wide cluster has none of them.
    sizes = 1 / np.arange(1.0, 96, 2) ** 2
    assert unseen(model(), 0.0) == pytest.approx(sizes[4:].sum() / sizes.sum(), rel=0.01)
    assert unseen(model(), 1.0) < 1e-9
    assert unseen(model(n_harmonics=MORE_HARMONICS[2]), 0.0) < unseen(model(), 0.0) / 2


def test_nothing_is_left_out_of_a_pure_tone():
    assert unseen(model("exponential"), 0.0) == 0


def test_the_furthest_rows_count_in_deviations():
    rows = np.random.default_rng(0).normal(size=(2000, 2))
    with_far_rows = model(rows=np.append(rows, [[0.0, 30.0]], axis=0))
    upper = with_far_rows.to_points(np.array([4.0, 30.0]))
    assert with_far_rows.furthest(-upper, upper) == pytest.approx(30 / np.append(rows[:, 1], 30.0).std())
    assert with_far_rows.furthest(upper / 1e9, upper / 1e9) == 1  # never less
