"""Rows, an operator, the bytes that every engine must give, and ways to cut rows at random."""

from itertools import pairwise

import numpy as np
import pytest

import qckm
from qckm import files

NAMES = ["a", "b", "c"]


def pytest_collection_modifyitems(items):
    """What needs a cluster is marked, so that `make test` can leave it out."""
    for item in items:
        if {"dask_client", "spark", "ray_cluster"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("engine")


@pytest.fixture(scope="session")
def rows():
    """Three clusters, sorted by cluster: the worst order for a pilot."""
    rng = np.random.default_rng(1)
    return np.concatenate([center + rng.normal(size=(1000, 3)) for center in (0.0, 9.0, 18.0)])


@pytest.fixture(scope="session")
def operator():
    return qckm.SketchOperator.draw(3, 40, scale=2.0, origin=[9.0] * 3, random_state=0, feature_names=NAMES)


@pytest.fixture(scope="session")
def expected(operator, rows):
    """The bytes of a laptop."""
    return files.dumps(operator.sketch(rows))


def cuts(seed, n_rows):
    """Yield (start, stop) of a random partitioning; some parts are empty, some hold one row."""
    rng = np.random.default_rng(seed)
    edges = np.sort(rng.integers(0, n_rows + 1, size=rng.integers(1, 12)))
    edges = np.concatenate([[0], edges, edges[-1:], [n_rows]])
    yield from pairwise(edges)
