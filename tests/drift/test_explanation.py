"""What has changed is named: known clusters of which one loses rows, moves, or is new."""

import json
from dataclasses import replace

import numpy as np
import pytest

import qckm
from qckm.drift.explanation import _can_be
from qckm.errors import DecodeError
from qckm.report import render_drift

CENTERS = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [6.0, 6.0]])
SHARES = np.array([0.4, 0.3, 0.2, 0.1])
CLUSTERS = qckm.Clustering(CENTERS, SHARES, np.ones(4), objective=0.0, explained=1.0, n_iter=0)


@pytest.fixture(scope="module")
def op():
    return qckm.SketchOperator.draw(2, 60, 1.5, random_state=0)


def sketch(op, seed, centers=CENTERS, shares=SHARES, count=20_000):
    rng = np.random.default_rng(seed)
    return op.sketch(centers[rng.choice(len(shares), count, p=shares)] + rng.normal(size=(count, 2)))


def explained(op, reference=None, **after):
    found = qckm.compare(sketch(op, 0), sketch(op, 1, **after), reference, clusters=CLUSTERS)
    return found, found.explanation


def test_no_change_has_no_cause(op):
    found, why = explained(op)
    assert why.causes == ()
    assert "no change of a cluster is beyond chance" in found.summary()
    assert (np.abs(found.weight_changes) < 4 * why.weight_errors).all()
    assert found.weight_changes.sum() == pytest.approx(0, abs=1e-9)


def test_a_cluster_that_lost_rows_is_named(op):
    shares = np.array([0.4, 0.15, 0.2, 0.1]) / 0.85
    found, why = explained(op, shares=shares)
    first = why.causes[0]
    assert (first.kind, first.cluster) == ("weight", 1)
    assert "cluster 1, at (6, 0), lost" in found.summary()
    assert (np.abs(found.weight_changes - (shares - SHARES)) < 4 * why.weight_errors).all()


def test_a_cluster_that_moved_is_named(op):
    moved = CENTERS.copy()
    moved[2] += [0.4, 0.3]
    _, why = explained(op, centers=moved)
    first = why.causes[0]
    assert (first.kind, first.cluster) == ("move", 2)
    assert abs(first.size - 0.5) < 4 * first.error
    np.testing.assert_allclose(first.place, moved[2], atol=0.15)


def test_new_rows_are_located_with_a_reference_and_without(op):
    centers, shares = np.vstack([CENTERS, [11.0, 3.0]]), np.append(0.97 * SHARES, 0.03)
    rng = np.random.default_rng(2)
    rows = CENTERS[rng.choice(4, 2500, p=SHARES)] + rng.normal(size=(2500, 2))
    for reference in (None, rows):
        found, why = explained(op, reference, centers=centers, shares=shares)
        first = why.causes[0]
        assert first.kind == "new"
        np.testing.assert_allclose(first.place, [11, 3], atol=1)
        assert abs(first.size - 0.03) < 5 * first.error
        assert json.loads(json.dumps(found.to_dict()))["explanation"]["causes"][0]["kind"] == "new"


def test_columns_are_named(op):
    named = qckm.SketchOperator.draw(2, 60, 1.5, random_state=0, feature_names=["age", "income"])
    found, why = explained(named, shares=np.array([0.1, 0.3, 0.2, 0.4]))
    assert any("at (age 0, income 0), lost" in cause.words() for cause in why.causes)
    assert found.to_dict()["columns"][0]["column"] in ("age", "income")


def test_nothing_is_said_to_be_new_at_a_corner_of_the_box_or_where_the_variance_forbids_it(op):
    rng = np.random.default_rng(0)
    rows = CENTERS[rng.choice(4, 20_000, p=SHARES)] + rng.normal(size=(20_000, 2))
    after = op.sketch(np.vstack([rows, [[30.0, 30.0]] * 2]))  # two rows far away stretch the box
    corner = after.coded_bounds[1]
    assert not _can_be(corner, 0.001, after)
    assert not _can_be(np.array([29.0, 29.0]), 0.033, after)  # 660 rows would make the variance far larger
    assert _can_be(np.array([29.0, 29.0]), 2 / 20_002, after)
    assert _can_be(np.array([11.0, 3.0]), 0.03, after)


def test_clusters_that_may_be_wrong_are_a_note(op):
    doubtful = replace(CLUSTERS, converged=False)
    found = qckm.compare(sketch(op, 0), sketch(op, 1), clusters=doubtful)
    assert found.notes == found.explanation.doubts
    assert "their verdict is doubtful" in found.summary()
    assert "Warning: the clusters may be wrong" in render_drift(found)
    assert not qckm.compare(sketch(op, 0), sketch(op, 1), clusters=CLUSTERS).notes


def test_clusters_may_be_decoded_or_a_model(op):
    a, b = sketch(op, 0), sketch(op, 1, shares=np.array([0.1, 0.3, 0.2, 0.4]))
    found = qckm.compare(a, b, clusters=4)
    assert {cause.cluster for cause in found.explanation.causes} >= {0, 3}
    model = CLUSTERS.to_model()
    assert qckm.compare(a, b, clusters=model).weight_changes[3] == pytest.approx(0.3, abs=0.03)


def test_clusters_that_tell_nothing_are_refused(op):
    a, b = sketch(op, 0, count=1000), sketch(op, 1, count=1000)
    with pytest.raises(DecodeError, match="have a spread"):
        qckm.compare(a, b, clusters=CENTERS)
    with pytest.raises(DecodeError, match="clusters of 2 columns"):
        qckm.compare(a, b, clusters=np.zeros((3, 5)))
    with pytest.raises(DecodeError, match="Expected a number of clusters"):
        qckm.compare(a, b, clusters=[1.0, 2.0])
    rng = np.random.default_rng(2)
    rows = CENTERS[rng.choice(4, 2500, p=SHARES)] + rng.normal(size=(2500, 2))
    assert qckm.compare(a, b, rows, clusters=CENTERS).weight_changes.shape == (4,)
