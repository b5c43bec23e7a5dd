from dataclasses import replace

import numpy as np
import pytest

import qckm
from qckm.errors import OperatorError
from qckm.kernels import reference
from qckm.operator.codes import Codes, count_octaves
from qckm.sketch import files


def draw(**how):
    wishes = {"n_features": 3, "n_frequencies": 16, "scale": 0.5, "octaves": 4, "random_state": 0}
    return qckm.SketchOperator.draw(**{**wishes, **how})


def test_octaves_are_shifts_of_one_projection(rng):
    op = draw()
    codes = op.frequency_codes
    assert op.n_frequencies == 4 * 16
    for j in range(4):
        np.testing.assert_array_equal(codes[:, 16 * j : 16 * (j + 1)], codes[:, :16] << j)
    rows, _ = reference.code_rows(rng.normal(size=(50, 3)), op.steps, op.origin)
    once = rows.astype(np.int64) @ codes[:, :16].astype(np.int64)
    shifted = np.concatenate([once << j for j in range(4)], axis=1) + op.dither_codes
    np.testing.assert_array_equal(reference.project(rows, codes, op.dither_codes) % 2**24, shifted % 2**24)


def test_the_scale_is_that_of_the_finest_octave():
    op = draw(n_frequencies=4000)
    for j, scale in enumerate([4.0, 2.0, 1.0, 0.5]):
        part = op.octave(j)
        assert part.scale == scale
        assert np.sqrt(3 / (part.frequencies**2).sum(axis=0).mean()) == pytest.approx(scale, rel=0.03)


def test_every_octave_has_dithers_of_its_own():
    assert np.unique(draw().dither_codes).size == 4 * 16


@pytest.mark.parametrize("signature", ["one-bit", "exponential"])
@pytest.mark.parametrize("dither", ["paired", "single"])
def test_the_sketch_of_an_octave_is_that_of_its_operator(rng, signature, dither):
    op = draw(signature=signature, dither=dither)
    X = rng.normal(size=(300, 3))
    for weights in (None, rng.random(300)):
        whole = op.sketch(X, weights)
        for j in range(4):
            part, direct = whole.octave(j), op.octave(j).sketch(X, weights)
            assert part == direct
            assert part.saturated == direct.saturated
            np.testing.assert_array_equal(part.bounds, direct.bounds)


def test_an_operator_and_its_file_know_how_many_octaves_it_has(tmp_path):
    for octaves in (1, 2, 3, 4, 5, 8):
        op = draw(octaves=octaves)
        assert op.octaves == octaves
        assert op.octave(0).octaves == 1
        op.empty().save(tmp_path / "op.qckm")
        assert qckm.load(tmp_path / "op.qckm").operator.octaves == octaves
    assert draw(octaves=1).octave(0).octaves == 1
    assert draw(n_features=300, octaves=1, frequencies="structured").octaves == 1


def test_codes_that_do_not_double_are_one_octave():
    codes = draw().frequency_codes.copy()
    codes[1, -1] += 1
    assert count_octaves(codes) == 1
    assert count_octaves(np.zeros((2, 6), np.int16)) == 1
    assert count_octaves(np.array([[20000, -25536]], np.int16)) == 1, "twice 20000, had it wrapped around"


@pytest.mark.parametrize("law", ["custom", "gaussian"])
@pytest.mark.parametrize("octaves", [1, 4])
def test_frequencies_of_ones_own_that_double_have_as_many_octaves_as_one_says(law, octaves):
    op = qckm.SketchOperator.from_frequencies([[1.0, 2.0, 4.0, 8.0]], law=law, octaves=octaves)
    assert count_octaves(op.frequency_codes) == 4
    assert op.octaves == octaves
    again = files.loads(files.dumps(op.empty())).operator
    assert again == op
    assert again.octaves == octaves


def test_frequencies_that_happen_to_double_are_one_octave():
    """Two frequencies of one feature: one operator in some hundred thousand has twice the one as the other."""
    codes = Codes(np.array([[700, 1400]], np.int16), np.zeros(2, np.int32))
    op = draw(n_features=1, n_frequencies=2, octaves=1, law="gaussian")
    happened = replace(op, codes=codes)
    data = files.dumps(happened.empty())
    assert happened.octaves == files.loads(data).operator.octaves == 1
    assert len(data) == len(files.dumps(replace(op, codes=replace(codes, octaves=2)).empty())) + 3


def test_octaves_that_the_codes_do_not_have_are_refused():
    dither = np.zeros(4, np.int32)
    for octaves in (-1, 0, 3, 4, 16):
        with pytest.raises(OperatorError, match=f"frequencies of {octaves} octaves, each exactly twice"):
            Codes(np.array([[1, 2, 2, 4]], np.int16), dither, octaves)
    assert Codes(np.array([[1, 2, 2, 4]], np.int16), dither, 2).octaves == 2
    with pytest.raises(OperatorError, match="the recipe's 4 octaves, got 1"):
        replace(draw().codes, octaves=1)
    with pytest.raises(OperatorError, match="of 3 octaves"):
        qckm.SketchOperator.from_frequencies([[1.0, 2.0, 4.1]], octaves=3)


def test_octaves_reach_further_than_the_finest_would():
    """The steps are the middle octave's, as far as int16 lets them: 2 to 4 times those of the finest."""
    for octaves, longer in ((1, 1), (2, 1), (3, 2), (4, 2), (5, 4)):
        op = draw(octaves=octaves, law="concentrated-radius")
        assert (op.steps == longer * draw(octaves=1).steps).all()
        largest = np.abs(op.frequency_codes.astype(int)).max()
        assert 2**12 < largest <= 32767
    many = draw(octaves=7, n_features=10, n_frequencies=500)
    finest = draw(octaves=1).steps[0]
    assert (many.steps > finest).all()
    assert (many.steps < 8 * finest).all(), "those of the middle octave would not fit"


def test_units_and_origin_go_with_octaves():
    op = draw(units=[0.01, 1.0, 500.0], origin=[0.5, 3.0, -1000.0])
    np.testing.assert_allclose(op.origin, [0.5, 3.0, -1000.0], atol=op.steps.max() / 2)
    assert (op.octave(2).units == op.units).all()
    norms = np.sqrt(((op.octave(3).frequencies * op.units[:, None]) ** 2).mean(axis=1))
    np.testing.assert_allclose(norms, 2.0, rtol=0.6)


def test_what_int16_cannot_hold_is_refused():
    with pytest.raises(OperatorError, match="finest of 4 octaves does not fit"):
        draw(steps=2.0**-4)
    with pytest.raises(OperatorError, match="lowest of 14 octaves would be rounded away"):
        draw(octaves=14)
    with pytest.raises(OperatorError, match="lowest of 4 octaves would be rounded away"):
        draw(steps=2.0**-18)


def test_wishes_for_octaves_are_checked():
    for octaves in (0, -1, 2.0, True, "3"):
        with pytest.raises(OperatorError, match="octaves to be a whole number >= 1"):
            draw(octaves=octaves)
    with pytest.raises(OperatorError, match="'structured'"):
        draw(frequencies="structured")
    with pytest.raises(OperatorError, match="one scale"):
        draw(law="seeded")
    for j in (-1, 4, 1.0, True):
        with pytest.raises(OperatorError, match="an octave from 0 to 3"):
            draw().octave(j)
