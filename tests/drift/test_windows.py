"""Many windows against one."""

import numpy as np
import pytest

import qckm
from qckm.drift.drift_result import adjust
from qckm.errors import MergeError, QckmError, SketchError


@pytest.fixture(scope="module")
def op():
    return qckm.SketchOperator.draw(2, 50, 1.0, random_state=0)


def test_windows_that_changed_are_found(op):
    rng = np.random.default_rng(0)
    usual, reference = op.sketch(rng.normal(size=(20_000, 2))), rng.normal(size=(2000, 2))
    windows = [op.sketch(rng.normal(size=(1000, 2)) + 0.3 * (hour in (3, 4))) for hour in range(12)]
    series = qckm.compare_windows(windows, usual, reference, names=[f"hour {hour}" for hour in range(12)])
    assert np.flatnonzero(series.drifted).tolist() == [3, 4]
    lines = series.summary().split("\n")
    assert len(lines) == 13
    assert "  drift; most: " in lines[4]
    assert lines[4].endswith(" deviations)")
    assert repr(series) == "DriftSeries(2 of 12 windows drifted, level=0.05)"
    assert "<th>drift</th><td>hour 3, hour 4</td>" in series._repr_html_()
    shown = series.drifts[3]._repr_html_()
    assert "<th>verdict</th><td>drift</td>" in shown
    assert "<th>rows</th><td>20,000, 1,000</td>" in shown
    assert [window["drifted"] for window in series.to_dict()["windows"]].count(True) == 2
    assert series.drifts[0].statistic_name == "whitened"


def test_adjusted_pvalues_are_those_of_benjamini_and_hochberg():
    assert adjust(np.array([0.01, 0.04, 0.03, 0.005])).tolist() == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert adjust(np.array([0.9, 1.0])).tolist() == [1.0, 1.0]


def test_what_is_wrong_is_said_of_its_window(op):
    usual = op.sketch(np.random.default_rng(0).normal(size=(1000, 2)))
    with pytest.warns(qckm.errors.DriftWarning), pytest.raises(SketchError, match=r"window b: .* none"):
        qckm.compare_windows([usual, op.empty()], usual, names=["a", "b"])
    other = qckm.SketchOperator.draw(2, 50, 1.0, random_state=1).sketch(np.zeros((5, 2)))
    with pytest.raises(MergeError, match="window 0: Cannot compare"):
        qckm.compare_windows([other], usual)
    with pytest.raises(SketchError, match="list of windows"):
        qckm.compare_windows([], usual)
    with pytest.raises(QckmError, match="Expected 1 names"):
        qckm.compare_windows([usual], usual, names=["a", "b"])
