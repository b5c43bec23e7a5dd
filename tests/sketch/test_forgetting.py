"""Forgotten for good: what is left of a sketch after a subtraction, and that nothing else is."""

import struct

import numpy as np
import pytest

import qckm
from qckm.sketch import files

OP = qckm.SketchOperator.draw(n_features=3, n_frequencies=6, scale=1.0, random_state=0)


def parts(rng, count=6):
    """Return sketches of a few rows each, some clipped, weighted or skipped, many with the same extremes."""
    found = []
    for number in range(count):
        rows = np.round(rng.normal(size=(int(rng.integers(1, 6)), 3)) * rng.choice([1.0, 30.0]), int(rng.integers(3)))
        if number % 3 == 0:
            found.append(OP.sketch(rows, rng.integers(1, 4, len(rows))))
        else:
            rows[0] = np.nan if number % 3 == 1 and len(rows) > 1 else rows[0]
            found.append(qckm.sketch_source(OP, rows, on_bad="skip"))
    return found


def history(rng, sketches):
    """Return what is left after random additions, merges, subtractions and journeys through files, and its parts."""
    total, inside, aside = OP.empty(), set(), OP.empty()
    for _ in range(int(rng.integers(1, 10))):
        choice, verb = int(rng.integers(len(sketches))), rng.random()
        if choice in inside and verb < 0.7:
            total, inside = total - sketches[choice], inside - {choice}
        elif choice not in inside and verb < 0.9:
            total = total + sketches[choice] if verb < 0.5 else sketches[choice] + total
            inside = inside | {choice}
        elif inside:  # merged elsewhere, and taken out together
            some = set(rng.choice(sorted(inside), int(rng.integers(1, len(inside) + 1)), replace=False).tolist())
            aside = sum((sketches[i] for i in some), OP.empty())
            total, inside = total - aside, inside - some
        if rng.random() < 0.03:
            total = files.loads(files.dumps(total))
    return total, frozenset(inside)


def test_equal_content_gives_equal_bytes_after_any_history():
    """Ten thousand histories: files without bounds are equal, and bounds that are known are those of the rows left."""
    rng = np.random.default_rng(29)
    expected, bounds_known = {}, 0
    for number in range(10_000):
        if number % 500 == 0:
            sketches, expected = parts(rng), {}
        total, inside = history(rng, sketches)
        if inside not in expected:
            direct = sum((sketches[i] for i in sorted(inside)), OP.empty())
            expected[inside] = files.dumps(direct.without_bounds()), np.array(direct.bounds)
        data, bounds = expected[inside]
        assert files.dumps(total.without_bounds()) == data
        known = ~np.isnan(total.bounds)
        bounds_known += known.mean()
        np.testing.assert_allclose(np.array(total.bounds)[known], bounds[known], rtol=0, atol=2 * OP.steps.max() / 256)
    assert 0.1 < bounds_known / 10_000 < 0.9


def test_nothing_of_a_removed_part_is_in_the_file():
    rng = np.random.default_rng(3)
    berlin = OP.sketch(rng.normal(size=(1000, 3)))
    paris_rows = np.array([[17.123456789, -21.5, 0.25], [-14.75, 19.0, 23.0625]])
    both = berlin + OP.sketch(paris_rows)
    left = both - OP.sketch(paris_rows)
    data, whole = files.dumps(left), files.dumps(both)
    assert np.isnan(left.bounds[0][:2]).all()
    assert left.bounds[0][2] == berlin.bounds[0][2]
    grain = OP.steps / 256
    for value, k in ((value, k) for row in paris_rows for k, value in enumerate(row)):
        assert struct.pack("<d", value) not in data
        assert not np.isin(np.nan_to_num(np.array(files.loads(data).bounds)[:, k]), value).any()
    # As numbers of the section of bounds: they are in the file of both, and not in that of what is left.
    packed = [int(np.ceil(value / grain[0])) for value in (17.123456789,)]
    numbers = [round(bound / grain[k]) for side in files.loads(whole).bounds for k, bound in enumerate(side)]
    assert set(packed) <= set(numbers)
    kept = [bound / grain[k] for side in files.loads(data).bounds for k, bound in enumerate(side)]
    assert not set(packed) & {round(number) for number in kept if not np.isnan(number)}


def test_a_file_is_the_same_whatever_was_removed():
    """Bounds that are missing tell which sides the removed rows reached, and nothing else of them."""
    rng = np.random.default_rng(4)
    berlin = OP.sketch(rng.normal(size=(1000, 3)))
    seen = set()
    for _ in range(50):
        removed = OP.sketch(
            np.vstack([10 + 5 * rng.random((3, 3)), rng.normal(size=(2, 3)) / 10]), rng.integers(1, 9, 5)
        )
        seen.add(files.dumps(files.loads(files.dumps(berlin + removed)) - removed))
    assert len(seen) == 1
    assert np.isnan(files.loads(seen.pop()).bounds).tolist() == [[False] * 3, [True] * 3]


def test_rounded_bounds_of_a_file_are_not_taken_for_somebody_elses():
    """A file rounds bounds outward: the row that set one is still recognised when it is subtracted."""
    row = OP.sketch([[1 / 3, 2 / 3, 1e30]])
    whole = files.loads(files.dumps(OP.sketch([[0.0, 0.7, 0.0]]) + row))
    left = whole - row
    assert np.isnan(left.bounds).tolist() == [[False, True, False], [True, False, True]]
    assert np.isposinf(whole.bounds[1][2])


@pytest.mark.parametrize("weights", [None, [2, 3]])
def test_weights_are_forgotten_with_their_rows(weights):
    plain, heavy = OP.sketch(np.eye(3)), OP.sketch(np.zeros((2, 3)), weights)
    left = plain + heavy - heavy
    assert left.weighted == 0
    assert (plain + heavy).weighted == (5 if weights else 0)
    assert files.dumps(left.without_bounds()) == files.dumps(plain.without_bounds())


def test_without_bounds_nothing_brings_them_back():
    sketch = OP.sketch(np.eye(3))
    bare = sketch.without_bounds()
    assert bare == sketch
    assert "bounds" not in files.sizes(files.dumps(bare))
    assert np.isnan((bare + sketch).bounds).all()
    assert OP.empty().without_bounds() == OP.empty()
    assert np.array_equal((bare - bare + sketch).bounds, sketch.bounds)


def test_bounds_that_are_not_known_are_looked_for_around_the_mean():
    rng = np.random.default_rng(5)
    sketch = OP.sketch(rng.normal(size=(2000, 3)) / 10)
    lower, upper = sketch.without_bounds().coded_bounds
    deviation = np.sqrt(sketch.column_variances)
    np.testing.assert_allclose(lower, sketch.column_means - 32 * deviation)
    np.testing.assert_allclose(upper, sketch.column_means + 32 * deviation)
    few = OP.sketch([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]).without_bounds()  # two rows are a deviation from their mean
    np.testing.assert_allclose(few.coded_bounds, [[0, 0, 0], [2, 0, 0]])
    bits = OP.pool(OP.encode(np.eye(3)))
    np.testing.assert_array_equal(bits.coded_bounds, OP.reach)
    public = qckm.SketchOperator.from_ranges([-1] * 3, [1] * 3, n_clusters=2, random_state=0)
    np.testing.assert_array_equal(public.pool(public.encode(np.eye(3))).coded_bounds, public.ranges)
