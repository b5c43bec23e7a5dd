"""Sketching a source: the state after each batch can be continued, and nothing else changes the sum."""

import numpy as np
import pytest

import qckm
from qckm.errors import SourceError
from qckm.sketch import files
from qckm.sketch.sketch import State, states
from qckm.sources.opening import open_source


@pytest.fixture
def operator():
    return qckm.SketchOperator.draw(2, 15, scale=1.0, random_state=0)


def test_any_state_can_be_continued(operator, rng, tmp_path):
    for part in range(3):
        np.save(tmp_path / f"{part}.npy", rng.normal(size=(50, 2)))
    source = open_source(tmp_path)
    seen = list(states(operator, source, State(operator.empty())))
    whole = files.dumps(seen[-1].sketch)
    for state in seen:
        rest = list(states(operator, source, state))
        assert files.dumps((rest or [state])[-1].sketch) == whole


def test_bad_rows_are_counted_across_batches(operator):
    rows = np.ones((10, 2))
    rows[[2, 7], [0, 1]] = np.nan, np.inf
    found = qckm.sketch_source(operator, rows, on_bad="skip")
    assert (found.count, found.skipped) == (8, 2)
    assert (found + found).skipped == 4
    assert (found + found - found).skipped == 2


def test_columns_must_be_the_operators():
    op = qckm.SketchOperator.draw(2, 5, scale=1.0, random_state=0, feature_names=["a", "b"])
    with pytest.raises(SourceError, match=r"expected 2 columns \(a, b\), as the operator has, got 3"):
        qckm.sketch_source(op, np.zeros((4, 3)))
