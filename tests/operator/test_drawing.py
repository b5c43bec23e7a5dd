"""From a request to integers: which steps are taken, which frequencies are lowered for them, and which never are."""

import numpy as np
import pytest

from qckm.errors import OperatorError
from qckm.kernels.reference import CODE_LIMIT, TURN
from qckm.operator import drawing, signatures
from qckm.operator.request import OperatorRequest
from qckm.operator.structured import StructuredCodes

# A scale of 1 is cut into 1024 steps: codes fit up to 4π radians, and reach 32 scales; with four times as long steps π.
USUAL = 2.0**-10


def request(n=1, m=200, **how):
    usual = {
        "scale": 1.0,
        "units": np.ones(n),
        "steps": None,
        "extent": None,
        "signature": signatures.get("one-bit"),
        "dither": "paired",
    }
    return OperatorRequest(n, m, **{**usual, **how})


def draw(wanted, law="gaussian", arrangement="auto", octaves=1, seed=0):
    wanted.octaves = octaves
    return drawing.draw(wanted, law, arrangement, np.random.default_rng(seed))


@pytest.fixture
def planted(monkeypatch):
    """Have given frequencies (n, m) drawn, in radians per unit."""

    def plant(omega):
        monkeypatch.setattr(drawing, "draw_frequencies", lambda *_: np.array(omega, float))

    return plant


def coded(omega, step):
    return np.rint(omega * step * TURN / (2 * np.pi))


def test_steps_for_frequencies_of_ones_own_follow_their_size():
    omega = np.array([[2.0, -2.0], [0.0, 0.0], [0.3, -0.4], [1.0, 1.0]])  # rms 2, none, 0.35, 1
    assert drawing.steps_of(omega).tolist() == [2.0**-11, 2.0**-10, 2.0**-9, 2.0**-10]


def test_a_code_is_the_nearest_2_24th_of_a_turn():
    codes = drawing.code_frequencies(np.array([[1.0, -1.0], [2.0, 0.5]]), np.array([2.0**-10, 2.0**-12]))
    # 2**24 / 2π = 2670176.9 in a radian: a 1024th and two 4096ths of it, and half a 4096th.
    assert codes.tolist() == [[2608, -2608], [1304, 326]]
    assert codes.dtype == np.int16


def test_a_frequency_that_no_int16_holds_is_named():
    largest = CODE_LIMIT * 2 * np.pi / TURN
    assert drawing.code_frequencies(np.array([[largest, -largest]]), np.ones(1)).tolist() == [[CODE_LIMIT, -CODE_LIMIT]]
    beyond = np.array([[0.0, 0.0], [0.0, -largest * (CODE_LIMIT + 1) / CODE_LIMIT]])
    with pytest.raises(OperatorError, match=r"Frequency 1 does not fit.* feature 1 is 32768 in 2\*\*24ths"):
        drawing.code_frequencies(beyond, np.ones(2))


def test_one_frequency_in_a_hundred_is_lowered_for_steps_that_reach_the_rows(planted):
    omega = np.full((1, 200), 1.0)
    omega[0, [3, 9]] = 5.0, -7.0
    planted(omega)
    drawn, note = draw(request(extent=np.array([100.0])))
    codes, (step,) = drawn.codes.frequency_codes, drawn.steps
    assert step == 4 * USUAL
    assert codes[0, [3, 9]].tolist() == [CODE_LIMIT, -CODE_LIMIT]
    assert np.delete(codes[0], [3, 9]).tolist() == [coded(1.0, step)] * 198
    assert note == "gaussian"


def test_a_lowered_frequency_keeps_its_direction(planted):
    omega = np.full((2, 200), 1.0)
    omega[:, 3] = 6.0, -3.0
    planted(omega)
    drawn, _ = draw(request(2, extent=np.full(2, 100.0)))
    assert drawn.steps.tolist() == [4 * USUAL] * 2
    assert drawn.codes.frequency_codes[0, 3] == CODE_LIMIT
    assert drawn.codes.frequency_codes[1, 3] == np.rint(-CODE_LIMIT / 2)
    assert drawn.codes.frequency_codes[0, 4] == coded(1.0, 4 * USUAL)


def test_more_than_one_in_a_hundred_keep_steps_shorter(planted):
    omega = np.full((1, 200), 1.0)
    omega[0, :3] = 5.0
    planted(omega)
    drawn, _ = draw(request(extent=np.array([100.0])))
    assert drawn.steps.tolist() == [2 * USUAL]
    assert drawn.codes.frequency_codes[0, :4].tolist() == [*[coded(5.0, 2 * USUAL)] * 3, coded(1.0, 2 * USUAL)]


def test_one_in_a_hundred_is_of_all_features_together(planted):
    """Two of each of two features are four: their steps are halved, and those of the third, which fits, are not."""
    omega = np.full((3, 200), 1.0)
    omega[0, :2] = 5.0
    omega[1, 2:4] = 5.0
    planted(omega)
    drawn, _ = draw(request(3, extent=np.full(3, 100.0)))
    assert drawn.steps.tolist() == [2 * USUAL, 2 * USUAL, 4 * USUAL]
    np.testing.assert_array_equal(drawn.codes.frequency_codes, coded(omega, drawn.steps[:, np.newaxis]))


def test_features_whose_rows_are_near_keep_their_steps(planted):
    omega = np.full((2, 200), 1.0)
    omega[1, :50] = 12.0  # fits the usual steps only
    planted(omega)
    drawn, _ = draw(request(2, extent=np.array([100.0, 1.0])))
    assert drawn.steps.tolist() == [4 * USUAL, USUAL]
    np.testing.assert_array_equal(drawn.codes.frequency_codes, coded(omega, drawn.steps[:, np.newaxis]))


def test_given_steps_are_taken_whatever_the_extent(planted):
    planted(np.full((1, 200), 1.0))
    drawn, _ = draw(request(steps=np.array([USUAL / 2]), extent=np.array([1e6])))
    assert drawn.steps.tolist() == [USUAL / 2]
    planted(np.full((1, 200), 50.0))
    with pytest.raises(OperatorError, match="Use a smaller step"):
        draw(request(steps=np.array([USUAL])))


def test_units_divide_frequencies_and_multiply_steps(planted):
    planted(np.full((2, 200), 1.0))
    drawn, _ = draw(request(2, units=np.array([1.0, 256.0])))
    assert drawn.steps.tolist() == [USUAL, 256 * USUAL]
    np.testing.assert_array_equal(drawn.codes.frequency_codes, coded(1.0, USUAL))


@pytest.mark.parametrize("dither, signature, drawn", [("paired", "exponential", 0), ("single", "exponential", 200)])
def test_only_a_pair_of_a_pure_tone_needs_no_dither(dither, signature, drawn):
    found, _ = draw(request(dither=dither, signature=signatures.get(signature)))
    assert np.count_nonzero(found.codes.dither_codes) == drawn
    assert found.codes.dither_codes.shape == (200,)
    assert ((found.codes.dither_codes >= 0) & (found.codes.dither_codes < TURN)).all()


def test_auto_is_structured_where_that_is_faster_and_possible():
    kinds = {"auto": StructuredCodes, "structured": StructuredCodes, "dense": np.ndarray}
    for arrangement, kind in kinds.items():
        assert isinstance(draw(request(512, 512), arrangement=arrangement)[0].codes.frequency_codes, kind)
    assert isinstance(draw(request(40, 40))[0].codes.frequency_codes, np.ndarray)
    assert isinstance(draw(request(40, 40), arrangement="structured")[0].codes.frequency_codes, StructuredCodes)


def test_where_integers_are_too_coarse_auto_is_dense_and_structured_is_refused():
    uneven = request(512, 512, steps=np.where(np.arange(512) < 256, USUAL, USUAL / 16))
    assert isinstance(draw(uneven)[0].codes.frequency_codes, np.ndarray)
    with pytest.raises(OperatorError, match="use frequencies='dense'"):
        draw(uneven, arrangement="structured")


@pytest.mark.parametrize("extent, longer", [(10.0, 1), (100.0, 4), (200.0, 8), (1e9, 8)])
def test_structured_steps_are_longer_all_at_once_and_eight_times_at_most(extent, longer):
    drawn, _ = draw(request(40, 40, extent=np.where(np.arange(40) == 7, extent, 1.0)), arrangement="structured")
    assert drawn.steps.tolist() == [longer * USUAL] * 40
    plain, _ = draw(request(40, 40), arrangement="structured")
    np.testing.assert_allclose(
        drawn.codes.frequency_codes.codes(), longer * plain.codes.frequency_codes.codes(), rtol=0.01
    )


def test_octaves_are_blocks_that_double():
    drawn, note = draw(request(2, 50), octaves=3)
    codes = drawn.codes.frequency_codes
    assert codes.shape == (2, 150)
    assert drawn.codes.dither_codes.shape == (150,)
    np.testing.assert_array_equal(codes[:, 50:], 2 * codes[:, :100])
    assert len(set(drawn.codes.dither_codes.tolist())) > 140  # a dither of its own each
    assert note == "gaussian"


def test_octaves_have_longer_steps_unless_these_are_given():
    far = np.full(2, 100.0)
    assert draw(request(2, 50), "concentrated-radius", octaves=3)[0].steps.tolist() == [2 * USUAL] * 2
    assert draw(request(2, 50, extent=far), "concentrated-radius", octaves=3)[0].steps.tolist() == [4 * USUAL] * 2
    given = request(2, 50, steps=np.full(2, USUAL), extent=far)
    assert draw(given, "concentrated-radius", octaves=3)[0].steps.tolist() == [USUAL] * 2


def test_octaves_are_dense_and_so_is_the_seeded_law():
    with pytest.raises(OperatorError, match="for more than one octave, got 'structured'"):
        draw(request(512, 512), arrangement="structured", octaves=2)
    for how in ({"arrangement": "structured"}, {"octaves": 2}):
        with pytest.raises(OperatorError, match="law 'seeded' are dense, of one scale"):
            draw(request(2, 50), "seeded", **how)
    drawn, note = draw(request(2, 50), "seeded", arrangement="dense")
    assert note.startswith("seeded ")
    assert drawn.codes.frequency_codes.shape == (2, 50)


def test_frequencies_that_memory_does_not_hold_are_refused_before_they_are_drawn(monkeypatch):
    monkeypatch.setenv("QCKM_MEMORY", "1G")
    with pytest.raises(OperatorError, match=r"400000000 frequencies of 2 features takes about 25\.6 GB of memory"):
        drawing.draw(request(n=2, m=400_000_000), "gaussian", "dense", np.random.default_rng(0))
