"""Changes of correlations: told where sketches know them, and not of noise."""

import numpy as np

import qckm

OP = qckm.SketchOperator.draw(3, 100, scale=2.0, random_state=0, feature_names=["a", "b", "c"])


def window(correlation, seed, count=5000):
    rng = np.random.default_rng(seed)
    covariance = np.array([[1, correlation, 0], [correlation, 1, 0], [0, 0, 1.0]])
    return rng.multivariate_normal(np.zeros(3), covariance, count)


def test_a_correlation_that_changed_is_told():
    drift = qckm.compare(OP.sketch(window(0.8, 1)), OP.sketch(window(0.1, 2)))
    (change,) = drift.correlations
    assert change.columns == ("a", "b")
    np.testing.assert_allclose([change.before, change.after], [0.8, 0.1], atol=0.05)
    assert "correlation of 'a' and 'b': 0.8" in drift.summary()
    assert drift.to_dict()["correlations"][0]["columns"] == ("a", "b")


def test_noise_is_not_told():
    for seed in range(20):  # 60 pairs at five standard errors: a false alarm in ten thousand such tests
        pair = (OP.sketch(window(0.5, [seed, side], 1000)) for side in range(2))
        assert not qckm.compare(*pair).correlations


def test_without_products_and_of_constant_columns_nothing_is_told():
    sketches = [OP.sketch(window(correlation, 3)) for correlation in (0.8, 0.1)]
    assert not qckm.compare(sketches[0].without_products(), sketches[1]).correlations
    flat = [OP.sketch(window(correlation, 4) * [1, 1, 0]) for correlation in (0.8, 0.1)]
    assert [change.columns for change in qckm.compare(*flat).correlations] == [("a", "b")]
