import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import qckm
from qckm.decoding.verdict.remarks import out_of_reach, remarks_on
from qckm.errors import Remark, RemarkWarning, codes_of
from qckm.planning.pilot import Pilot


@pytest.fixture
def sketch(rng):
    op = qckm.SketchOperator.draw(2, 20, scale=2.0, random_state=0, feature_names=("age", "income"))
    return op.sketch(rng.normal(size=(100, 2)))


SPREAD_OUT = np.array([[-3.0, 1.0], [3.0, -1.0], [0.0, 4.0]])
THIRDS = np.full(3, 1 / 3)


def sample_of(rows):
    return Pilot(rows, np.ones(len(rows)))


def test_nothing_is_said_where_nothing_is_odd(sketch):
    assert remarks_on(sketch, SPREAD_OUT, THIRDS, sample_of(SPREAD_OUT)) == ()


def test_centroids_in_one_place_are_told(sketch):
    (words,) = remarks_on(sketch, SPREAD_OUT[[0, 0, 2]], THIRDS)
    assert "3 centroids are in 2 places" in words


def test_programs_read_codes_and_people_words(sketch):
    found = remarks_on(sketch, SPREAD_OUT[[0, 0, 2]], np.array([1.0, 0.0, 0.0]), sample_of(SPREAD_OUT[[0, 0, 1]]))
    assert codes_of(found) == {"too few rows", "coincident", "empty"}
    assert codes_of(["The search was stopped: these are the best centroids so far."]) == set()
    copied = pickle.loads(pickle.dumps(Remark("Words.", code="identifier", column="id")))
    assert (copied, copied.code, copied.values) == ("Words.", "identifier", {"column": "id"})


def test_centroids_without_rows_are_told(sketch):
    (words,) = remarks_on(sketch, SPREAD_OUT, np.array([0.6, 0.4, 0.0]))
    assert "1 of 3 centroids have no rows" in words


@pytest.mark.parametrize("of", ["rows", "bits"])
def test_a_column_beside_which_no_other_counts_is_told_by_its_name(of, rng):
    """Bits have no sums of columns: then the centroids are looked at."""
    op = qckm.SketchOperator.draw(2, 20, scale=2000.0, random_state=0, feature_names=("age", "income"))
    rows = rng.normal(size=(100, 2)) * [1, 1000]
    sketch = op.sketch(rows) if of == "rows" else op.pool(op.encode(rows))
    (words,) = remarks_on(sketch, SPREAD_OUT * [1, 1000], THIRDS)
    assert "'income' makes up more than 99.9%" in words


def test_clusters_apart_in_one_column_are_no_reason_for_a_remark(sketch):
    assert remarks_on(sketch, np.array([[-3.0, 0.0], [3.0, 0.0]]), np.full(2, 0.5)) == ()


def test_a_column_of_a_large_unit_counts_in_that_unit(rng):
    op = qckm.SketchOperator.draw(2, 20, scale=2.0, units=[1, 1000], random_state=0)
    assert remarks_on(op.sketch(rng.normal(size=(100, 2)) * [1, 1000]), SPREAD_OUT * [1, 1000], THIRDS) == ()


def test_fewer_rows_than_clusters_are_told(sketch):
    (words,) = remarks_on(sketch, SPREAD_OUT, THIRDS, sample_of(SPREAD_OUT[[0, 0, 1]]))
    assert "2 distinct rows" in words


def test_centroids_where_rows_were_clipped_are_a_doubt(rng):
    op = qckm.SketchOperator.draw(2, 20, scale=0.01, random_state=0)
    edge = op.reach[1]
    sketch = op.sketch(np.concatenate([rng.normal(size=(50, 2)) * edge / 9, np.full((50, 2), 9.0) * edge]))
    assert out_of_reach(sketch, np.stack([edge, -edge / 2]))
    assert not out_of_reach(sketch, np.stack([edge / 2, -edge / 2]))


def test_a_fit_tells_of_rows_that_are_all_alike():
    with pytest.warns(ConvergenceWarning, match="Only 1 of 3"), pytest.warns(RemarkWarning, match="All rows are"):
        km = qckm.CompressiveKMeans(3, random_state=0).fit(np.ones((50, 2)))
    (words,) = km.remarks_
    assert "All rows are the same" in words


def test_a_column_that_counts_rows_is_told_and_not_said_to_need_another_unit(rng):
    rows = np.column_stack([np.arange(300.0), rng.normal(size=300)])
    op = qckm.SketchOperator.draw(2, 20, scale=2.0, random_state=0, feature_names=("number", "height"))
    (words,) = remarks_on(op.sketch(rows), SPREAD_OUT * [1000, 1], THIRDS)
    assert words.startswith("Column 'number' counts the rows")
    assert "read height alone" in words
