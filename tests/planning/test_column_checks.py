"""Columns that name rows are told from those that measure something."""

import numpy as np
import pytest

import qckm
from qckm.planning.column_checks import identifiers_in_rows, identifiers_in_sketch
from qckm.planning.held_rows import draw_pilot
from qckm.sources.opening import open_source


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("x", np.arange(1000), "counts the rows"),
        ("x", np.arange(1000) * 60 + 1_700_000_000, "numbers the rows"),
        ("x", np.arange(1000)[::-1] - 500, "counts the rows"),
        ("customer_id", np.arange(1000) % 37, "is called like an identifier"),
        ("orderId", np.arange(1000) ** 2, "is called like an identifier"),
        ("Unnamed: 0", np.arange(1000) ** 2, "is called like an identifier"),
    ],
)
def test_what_names_rows_is_told(rng, name, values, why):
    rows = np.column_stack([values, rng.normal(size=1000)]).astype(float)
    found = identifiers_in_rows(rows, np.ones(1000), [name, "other"])
    assert list(found) == [name]
    assert found[name].startswith(f"Column {name!r} {why}")
    assert "read other alone" in found[name]
    assert found[name].about == "columns"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("id", np.linspace(0.1, 0.9, 1000)),  # no whole numbers
        ("id", np.ones(1000)),
        ("width", np.arange(1000) % 500),
        ("income", np.arange(1000) ** 2),
        ("paid", np.arange(1000) ** 2),
        ("refractive_index", np.arange(1000) % 7),
        ("x", np.full(1000, 1e300)),
    ],
)
def test_what_measures_something_is_not(rng, name, values):
    rows = np.column_stack([values, rng.normal(size=1000)]).astype(float)
    op = qckm.SketchOperator.draw(2, 20, scale=2.0, random_state=0)
    assert identifiers_in_rows(rows, np.ones(1000), [name, "other"]) == {}
    assert identifiers_in_sketch(op.sketch(rows), [name, "other"]) == {}


def test_a_few_whole_numbers_are_no_surprise():
    assert identifiers_in_rows(np.arange(10.0)[:, np.newaxis], np.ones(10), ["x"]) == {}


def test_a_pilot_of_many_rows_tells_as_well(rng):
    rows = np.column_stack([np.arange(200_000), rng.integers(0, 10**9, 200_000)]).astype(float)
    pilot = draw_pilot(open_source(rows), rng)
    assert len(pilot.rows) < 10_000
    assert list(identifiers_in_rows(pilot.rows, pilot.weights, ["number", "other"])) == ["number"]


def test_a_sketch_tells_by_its_bounds():
    op = qckm.SketchOperator.draw(1, 20, scale=2.0, random_state=0)
    halves = [op.sketch(np.arange(start, start + 50.0)[:, np.newaxis]) for start in (1, 51)]
    assert list(identifiers_in_sketch(halves[0] + halves[1], ["x"])) == ["x"]
    assert identifiers_in_sketch(halves[0] + halves[0], ["x"]) == {}
