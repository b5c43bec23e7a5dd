import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import qckm


@pytest.fixture
def sketched(folder, qckm_):
    assert qckm_("sketch", "part0.parquet", "part1.parquet", "-k", "3", "-o", "all.qckm")[0] == 0
    return folder


def test_weights_are_those_of_the_library(sketched, qckm_):
    code, _, said = qckm_("calibrate", "all.qckm", "part0.parquet", "-o", "weights.parquet")
    assert code == 0
    assert "1,500 rows represent 3,000" in said
    weights = pq.read_table("weights.parquet")["weight"].to_numpy()
    table = pq.read_table("part0.parquet")
    rows = np.column_stack([table["a"], table["b"]])
    np.testing.assert_allclose(weights, qckm.calibrate(qckm.load("all.qckm"), rows).weights, rtol=1e-9)
    code, out, _ = qckm_("calibrate", "all.qckm", "part0.parquet", "--quiet")
    assert out.splitlines()[0] == b'"weight"'
    assert len(out.splitlines()) == 1501


def test_a_sample_that_lacks_something_is_told(sketched, qckm_):
    rows = np.load("rows.npy")
    np.save("one.npy", rows[rows[:, 0] > 4][:300])
    code, out, said = qckm_("calibrate", "all.qckm", "one.npy", "--json", "-o", "w.csv")
    assert code == 0
    assert json.loads(out)["matched"] is False
    assert "cannot reproduce the sketch" in said


def test_samples_that_are_none_are_refused(sketched, qckm_):
    np.save("three.npy", np.zeros((5, 3)))
    code, _, said = qckm_("calibrate", "all.qckm", "three.npy", "-o", "w.csv")
    assert code == 1
    assert "expected 2 columns" in said
    np.save("bad.npy", np.array([[0.0, np.nan]]))
    assert qckm_("calibrate", "all.qckm", "bad.npy", "-o", "w.csv")[0] == 1
    np.save("none.npy", np.empty((0, 2)))
    assert qckm_("calibrate", "all.qckm", "none.npy", "-o", "w.csv")[0] == 1
    assert not (sketched / "w.csv").exists()


def test_rows_to_decode_with(sketched, qckm_):
    code, _, said = qckm_("decode", "all.qckm", "-k", "3", "--rows", "part0.parquet", "-o", "m.json")
    assert code == 0
    assert "sum of squared distances" in said
    model = qckm.load_model("m.json")
    assert model.facts["evaluations"] == 0  # nothing was searched for
    rows = np.load("rows.npy")
    distances = ((rows[:, None] - model.centers) ** 2).sum(axis=2).min(axis=1)
    assert distances.mean() < 2.1
    off = abs(model.facts["inertia_estimate"] - distances.sum())
    assert off < 4 * model.facts["inertia_error"]
