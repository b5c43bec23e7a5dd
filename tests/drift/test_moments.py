"""Means, deviations and correlations before and after: told where sketches know them, correlations not of noise."""

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


def test_columns_are_told_the_largest_change_first():
    before, after = window(0.5, 1), window(0.5, 2) * [1, 2, 1] + [0, 0, 3]
    found = qckm.compare(OP.sketch(before), OP.sketch(after)).columns
    assert [change.column for change in found] == ["c", "b", "a"]
    moved, wider, _ = found
    np.testing.assert_allclose(
        [moved.mean_before, moved.mean_after], [before[:, 2].mean(), after[:, 2].mean()], atol=2e-3
    )
    np.testing.assert_allclose([wider.deviation_before, wider.deviation_after], [1, 2], rtol=0.05)
    both = np.concatenate([before[:, 2], after[:, 2]])
    assert abs(moved.shift - (after[:, 2].mean() - before[:, 2].mean()) / both.std()) < 2e-3
    assert moved.brief().startswith("c (+1.")
    assert wider.brief().startswith("b (deviation ")


def test_a_constant_column_and_sums_that_are_not_known():
    flat = [OP.sketch(window(0.5, seed) * [1, 1, 0]) for seed in (1, 2)]
    found = qckm.compare(*flat)
    assert found.columns[-1].column == "c"
    assert found.to_dict()["columns"][-1]["shift"] is None
    assert qckm.compare(flat[0].without_column_sums(), flat[1]).columns == ()
