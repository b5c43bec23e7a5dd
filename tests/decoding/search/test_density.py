"""Densities: more clusters than K, where K Gaussians do not explain a sketch."""

from threading import current_thread

import numpy as np
import pytest

import qckm
from qckm.decoding.model.mixture import Problem
from qckm.decoding.model.sketch_model import SketchModel
from qckm.decoding.search.search import Search, fit_densities
from qckm.decoding.watching import watching


class RoundSearch(Search):
    """Of round clusters, however many measurements there are."""

    n_axes = 0


def search_in(X, m, patience, n_clusters=2, kind=RoundSearch):
    model = SketchModel.of(
        qckm.SketchOperator.draw(2, m, scale=2.0, law="concentrated-radius", random_state=1000).sketch(X)
    )
    problem = Problem(model.waves, model.to_points(X.min(axis=0)), model.to_points(X.max(axis=0)))
    return kind(model, problem, n_clusters, np.random.default_rng(1000), patience)


@pytest.fixture(scope="module")
def rings():
    """Two rings: no Gaussian is like them."""
    rng = np.random.default_rng(1000)
    angles = rng.uniform(0, 2 * np.pi, 20_000)
    rings = 3 * np.column_stack([np.cos(angles), np.sin(angles)]) + 0.2 * rng.normal(size=(20_000, 2))
    return rings + 10.0 * rng.integers(0, 2, size=(20_000, 1))


def test_a_density_leaves_less_than_k_gaussians(rings):
    search = search_in(rings, 100, patience=0.0, kind=Search)
    gaussians = search.fit(search.grow(search.alone("own"), 2, "own"), 500, "own")
    (density,) = fit_densities(search)
    assert len(density.points) > 2
    assert density.axes.shape == (len(density.points), 1, 2)
    assert density.misfit < 0.6 * gaussians.misfit
    assert density.weights.sum() == pytest.approx(1, abs=0.05)


def test_without_patience_there_is_one_density_and_with_it_several_that_differ(rings):
    assert len(fit_densities(search_in(rings, 60, patience=0.0))) == 1
    several = fit_densities(search_in(rings, 60, patience=np.inf))
    assert len(several) > 3
    assert len({len(density.points) * 1000 + density.misfit for density in several}) == len(several)


@pytest.mark.parametrize("patience", [1e7, np.inf])
def test_densities_do_not_depend_on_the_number_of_threads(rings, patience, monkeypatch):
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr("qckm.kernels.threads.count_threads", lambda n_jobs, threads=threads: threads)
        search = search_in(rings, 60, patience)
        found.append(([density.points.tobytes() for density in fit_densities(search)], search.work))
    assert found[0] == found[1] == found[2]
    assert 1 < len(found[0][0]) < 8 or patience == np.inf


def test_whoever_watches_is_told_by_all_threads_and_ends_all(rings, monkeypatch):
    monkeypatch.setattr("qckm.kernels.threads.count_threads", lambda n_jobs: 3)
    search = search_in(rings, 60, np.inf)
    told = []
    with watching(lambda step: told.append(current_thread()) or len(set(told)) > 1):
        assert len(fit_densities(search)) < 8
    assert len(set(told)) > 1


def test_a_density_has_no_more_unknowns_than_there_are_measurements(rings):
    """20 frequencies, 40 measurements: ten clusters of four unknowns, however many are asked for at first."""
    (density,) = fit_densities(search_in(rings, 20, patience=0.0, n_clusters=8))
    assert len(density.points) <= 10


def test_a_density_of_one_gaussian_has_its_mean_and_variance():
    X = np.random.default_rng(1000).normal(size=(20_000, 2))
    (density,) = fit_densities(search_in(X, 100, patience=0.0, n_clusters=1))
    shares = density.weights / density.weights.sum()
    mean = shares @ density.points
    variance = shares @ (density.widths[:, np.newaxis] + (density.points - mean) ** 2)
    size = float(np.sqrt(variance.mean()))
    assert np.abs(mean).max() < 0.05 * size
    np.testing.assert_allclose(variance, size**2, rtol=0.05)
