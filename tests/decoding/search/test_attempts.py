"""Attempts from a start: what explains a sketch, and what does not. Coordinates are the model's."""

import numpy as np
import pytest

import qckm
from qckm.decoding.model.mixture import Problem
from qckm.decoding.model.sketch_model import SketchModel
from qckm.decoding.search.attempts import begin_at
from qckm.decoding.search.search import Search

CENTERS = np.array([[-5.0, 0.0], [5.0, 1.0], [0.0, 6.0]])


def rows(deviations=(1.0, 1.0, 1.0), stretch=(1.0, 1.0), n_rows=20_000):
    rng = np.random.default_rng(1000)
    which = rng.integers(3, size=n_rows)
    return CENTERS[which] + np.array(deviations)[which, None] * stretch * rng.normal(size=(n_rows, 2))


class RoundSearch(Search):
    """Of round clusters, however many measurements there are."""

    n_axes = 0


def begin(X, start, kind=RoundSearch, m=100):
    """Return the attempt, its model, and the centroids (K, n) in data units."""
    model = SketchModel.of(
        qckm.SketchOperator.draw(2, m, scale=2.0, law="concentrated-radius", random_state=1000).sketch(X)
    )
    problem = Problem(model.waves, model.to_points(X.min(axis=0)), model.to_points(X.max(axis=0)))
    search = kind(model, problem, len(start), np.random.default_rng(1000), 1e9)
    attempt = begin_at(search, model.to_points(np.array(start, float)))
    return attempt, model, attempt.one_width.points * model.length + model.origin


def furthest(found, centers=CENTERS):
    return np.linalg.norm(found[:, None] - centers, axis=2).min(axis=0).max()


def test_clusters_of_one_width_are_explained_from_a_rough_start():
    attempt, model, found = begin(rows(), CENTERS + 1.0)
    assert attempt.explained
    assert attempt.one_width.misfit <= attempt.goal
    assert furthest(found) < 0.1
    np.testing.assert_allclose(np.sqrt(attempt.one_width.widths) * model.spread, 1.0, atol=0.1)
    np.testing.assert_allclose(attempt.one_width.weights, 1 / 3, atol=0.02)


def test_a_start_with_two_points_in_one_cluster_is_mended():
    attempt, _, found = begin(rows(), [CENTERS[0] - 0.3, CENTERS[0] + 0.3, CENTERS[1]])
    assert attempt.explained
    assert furthest(found) < 0.1


def test_too_few_clusters_explain_nothing():
    attempt, _, _ = begin(rows(), CENTERS[:2])
    assert not attempt.explained
    assert attempt.one_width.misfit > 10 * attempt.goal


def test_widths_of_their_own_explain_what_one_width_does_not():
    attempt, model, _ = begin(rows((0.6, 1.0, 1.8)), CENTERS)
    assert attempt.explained
    assert attempt.one_width.misfit > attempt.goal >= attempt.own_widths.misfit
    assert np.ptp(attempt.one_width.widths) == 0
    order = np.argsort(attempt.own_widths.widths)
    np.testing.assert_allclose(np.sqrt(attempt.own_widths.widths[order]) * model.spread, [0.6, 1.0, 1.8], atol=0.15)


def test_axes_explain_what_round_clusters_do_not():
    X = rows(stretch=(1.0, 2.5))
    without, _, _ = begin(X, CENTERS)
    with_axes, _, _ = begin(X, CENTERS, Search)
    assert (without.explained, with_axes.explained) == (False, True)
    assert with_axes.own_widths.axes.shape == (3, 1, 2)
    directions = np.abs(with_axes.own_widths.axes[:, 0]) / np.linalg.norm(
        with_axes.own_widths.axes[:, 0], axis=1, keepdims=True
    )
    np.testing.assert_allclose(directions, [[0.0, 1.0]] * 3, atol=0.15)


@pytest.mark.parametrize(
    "n, m, n_clusters, expected",
    [(3, 1000, 5, 2), (2, 1000, 5, 1), (1, 1000, 5, 0), (10, 30, 5, 0), (10, 10_000, 5, 2)],
)
def test_axes_are_as_many_as_measurements_allow(n, m, n_clusters, expected):
    """Two at most, fewer than there are features, and none where round clusters have unknowns enough."""
    model = SketchModel.of(qckm.SketchOperator.draw(n, m, scale=1.0, random_state=0).sketch(np.eye(n)))
    problem = Problem(model.waves, np.full(n, -9.0), np.full(n, 9.0))
    assert Search(model, problem, n_clusters, np.random.default_rng(0), 1e9).n_axes == expected
