"""Labels on a map of clusters that are near each other can be read."""

import re

import numpy as np
import pytest

from qckm.models import Model
from qckm.report.charts import HEIGHT, WIDTH, draw_map, labels_apart


@pytest.mark.parametrize("spread", [0.0, 1.0, 8.0, 30.0])
def test_labels_do_not_overlap(spread):
    places = np.array([WIDTH / 2, HEIGHT / 2]) + spread * np.random.default_rng(0).normal(size=(20, 2))
    moved = labels_apart(places)
    ways = np.linalg.norm(moved[:, np.newaxis] - moved, axis=2) + 99 * np.eye(20)
    assert ways.min() > 16
    assert (moved >= 0).all()
    assert (moved <= [WIDTH, HEIGHT]).all()


def test_labels_that_are_apart_stay_where_they_are():
    places = np.array([[100.0, 100.0], [150.0, 100.0], [100.0, 150.0]])
    assert np.array_equal(labels_apart(places), places)


def test_a_map_of_coinciding_centroids_shows_every_number():
    centers = np.array([[0.0, 0.0], [0.0, 0.01], [5.0, 5.0]])
    svg = draw_map(Model(centers, np.full(3, 1 / 3), np.ones(3), np.ones(2)), None)
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*class="on">(\d)</text>', svg)
    assert [number for _, _, number in found] == ["0", "1", "2"]
    (x, y), (u, v) = ((float(a), float(b)) for a, b, _ in found[:2])
    assert np.hypot(x - u, y - v) > 16


def test_no_circle_covers_a_number():
    centers = np.random.default_rng(0).normal(size=(10, 2))
    svg = draw_map(Model(centers, np.full(10, 0.1), np.ones(10), np.ones(2)), None)
    first_number = svg.index('class="on"')
    assert first_number > max(found.start() for found in re.finditer(r"<circle [^>]*r=\"1\d\.\d\"", svg))
    assert svg.count('class="c c3"') == 2  # the circle and its number are highlighted together
