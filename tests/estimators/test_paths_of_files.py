"""Estimators take the path of a file, and give what the rows in memory give."""

import numpy as np
import pytest

import qckm
from qckm.errors import RowsError

ROWS = np.random.default_rng(1000).normal(size=(600, 2)) + 8 * np.random.default_rng(1001).integers(0, 3, size=(600, 1))


@pytest.fixture
def path(tmp_path):
    lines = ["name,a,b", *(f"x,{a!r},{b!r}" for a, b in ROWS.tolist())]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    return tmp_path / "rows.csv"


def test_a_path_and_a_source_give_what_their_rows_give(path, tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    km = qckm.CompressiveKMeans(3, random_state=0)
    expected = km.fit(ROWS).cluster_centers_
    np.testing.assert_array_equal(km.fit(tmp_path / "rows.npy").cluster_centers_, expected)
    assert not hasattr(km, "labels_")
    source = qckm.open_source(path, columns=["a", "b"])
    named = qckm.CompressiveKMeans(3, random_state=0).fit(source)
    np.testing.assert_allclose(named.cluster_centers_, expected)
    assert named.feature_names_in_.tolist() == ["a", "b"]


def test_other_estimators_too(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    assert qckm.CompressivePCA(1, random_state=0).fit(str(tmp_path / "rows.npy")).components_.shape == (1, 2)


def test_what_a_file_cannot_do_is_said(path):
    with pytest.raises(RowsError, match="sample_weight"):
        qckm.CompressiveKMeans(2).fit(qckm.open_source(path, columns=["a"]), sample_weight=np.ones(600))
    km = qckm.CompressiveKMeans(1, random_state=0).fit(ROWS)
    with pytest.raises(RowsError, match=r"qckm\.open_source"):
        km.predict(str(path))
