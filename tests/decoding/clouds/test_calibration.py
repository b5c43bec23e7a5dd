import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

import qckm
from qckm.decoding.clouds.calibration import RIDGE, solve
from qckm.decoding.clouds.totals import Totals
from qckm.errors import PoorFitWarning, RowsError
from qckm.kernels.matrices import Contributions, Values


def rows(n_rows=20_000, seed=0, n=3):
    rng = np.random.default_rng(seed)
    centers = 4 * np.random.default_rng(7).normal(size=(4, n))
    return centers[rng.choice(4, n_rows, p=[0.1, 0.2, 0.3, 0.4])] + rng.exponential(size=(n_rows, n))


def draw(signature="one-bit", dither="paired", **more):
    return qckm.SketchOperator.draw(3, 80, scale=3.0, signature=signature, dither=dither, random_state=0, **more)


def test_the_solution_is_the_minimum(rng):
    """Against a general solver, over the weights themselves."""
    matrix = rng.choice([-1.0, 1.0], size=(40, 10)).astype(np.float32)
    prior, z = rng.dirichlet(np.ones(40)), 0.4 * rng.uniform(-1, 1, size=10)
    found = solve(Totals(Contributions((Values(matrix),)), z, n_measured=10, n_rows=1e6), prior)

    def cost(w):
        left = z - w @ matrix
        return w @ np.log(np.maximum(w, 1e-300) / prior) + left @ left / (2 * RIDGE)

    sum_to_one = {"type": "eq", "fun": lambda w: w.sum() - 1}
    best = minimize(cost, prior, bounds=[(0, 1)] * 40, constraints=[sum_to_one], options={"maxiter": 500})
    assert cost(found.weights) <= cost(prior) - 0.98 * (cost(prior) - best.fun)
    assert found.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.left, z - found.weights @ matrix, atol=1e-6)


@pytest.mark.parametrize("signature", ["one-bit", "exponential", "triangle"])
def test_a_biased_sample_represents_all_rows(signature):
    """A sample of which three quarters are from one side: its weighted means and shares are those of all rows."""
    X = rows()
    side = X[:, 0] > np.median(X[:, 0])
    sample = np.concatenate([X[side][:1500], X[~side][:500]])
    found = qckm.calibrate(draw(signature).sketch(X), sample)
    assert found.matched
    assert found.weights.sum() == pytest.approx(len(X))
    assert (found.weights >= 0).all()
    off = np.abs(sample.mean(axis=0) - X.mean(axis=0))
    left = np.abs(np.average(sample, axis=0, weights=found.weights) - X.mean(axis=0))
    assert (left < 0.15 * off.max()).all()
    assert found.weights[:1500].sum() / len(X) == pytest.approx(0.5, abs=0.05)  # a sharp edge; 0.75 before
    assert found.effective_size < 2000
    assert repr(found).startswith("Calibration(2000 rows, as certain as ")


def test_all_rows_keep_their_weights():
    X = rows(1000)
    found = qckm.calibrate(draw().sketch(X), X)
    np.testing.assert_allclose(found.weights, 1, rtol=1e-6)
    assert found.residual == pytest.approx(0, abs=1e-9)


def test_weights_of_the_sample_are_where_it_starts():
    X = rows()
    sample, weights = X[:2000], np.where(X[:2000, 0] > 0, 10.0, 1.0)
    sketch = draw().sketch(X)
    wrong, right = qckm.calibrate(sketch, sample, weights), qckm.calibrate(sketch, sample)
    assert wrong.effective_size < right.effective_size
    assert qckm.calibrate(sketch, sample, np.ones(2000)).effective_size == right.effective_size


def test_a_sample_that_lacks_a_cluster_is_told():
    X = rows()
    nearest = np.linalg.norm(X - X[0], axis=1).argsort()[:500]
    with pytest.warns(PoorFitWarning, match="cannot reproduce"):
        found = qckm.calibrate(draw().sketch(X), X[nearest])
    assert not found.matched


def test_random_samples_are_not_accused():
    """Twenty random samples of each of three sizes: none is told that it lacks anything."""
    X = rows()
    sketch = draw().sketch(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PoorFitWarning)
        for seed in range(20):
            for size in (50, 500, 5000):
                assert qckm.calibrate(sketch, np.random.default_rng(seed).permutation(X)[:size]).matched


def test_samples_that_are_none_are_refused():
    sketch = draw().sketch(rows())
    with pytest.raises(RowsError, match="one row or more"):
        qckm.calibrate(sketch, np.empty((0, 3)))
    with pytest.raises(RowsError, match="row 1"):
        qckm.calibrate(sketch, [[0.0, 0.0, 0.0], [0.0, np.nan, 0.0]])
    with pytest.raises(RowsError):
        qckm.calibrate(sketch, np.zeros((5, 2)))
    with pytest.raises(RowsError, match="zeros only"):
        qckm.calibrate(sketch, np.zeros((2, 3)), [0, 0])
