"""The law that a device regenerates: pinned, of the right scale, and an operator like any other."""

import itertools

import numpy as np
import pytest

import qckm
from qckm.errors import OperatorError
from qckm.operator import seeded
from qckm.sketch import files

N_DRAWN = 40_000


def slow_frequency(seed, j, n):
    """The specification of docs/arithmetic.md, word for word, with Python's integers."""

    def mix(x):
        x = (x ^ (x >> 16)) * 0x045D9F3B % 2**32
        x = (x ^ (x >> 16)) * 0x045D9F3B % 2**32
        return x ^ (x >> 16)

    state = mix((mix(seed) + 0x9E3779B9 * j) % 2**32)

    def draw():
        nonlocal state
        state = (state + 0x9E3779B9) % 2**32
        return mix(state)

    dither = draw() >> 8
    for rejected in itertools.count():
        g = [sum(draw().to_bytes(4, "little")) - 510 for _ in range(n)]
        if 15729 * n <= sum(x * x for x in g) <= 29273 * n:
            return g, dither, rejected


@pytest.mark.parametrize("seed, n", [(0, 1), (7, 3), (2**32 - 1, 3), (123456789, 40)])
def test_the_generator_is_the_one_written_down(seed, n):
    draws = seeded.draw(seed, n, 30)
    for j in range(30):
        assert (draws.components[:, j].tolist(), draws.dither[j], draws.rejected[j]) == slow_frequency(seed, j, n)


def test_a_seed_means_the_same_operator_for_ever():
    op = qckm.SketchOperator.from_seed(3, 4, scale=2.0, seed=7)
    codes = [[4641, 865, 300, -159], [441, -2894, 4305, 300], [-688, -3158, 1253, -3970]]
    assert op.frequency_codes.tolist() == codes
    assert op.dither_codes.tolist() == [11115174, 6203806, 5379828, 3986107]


@pytest.mark.parametrize("n", [1, 2, 3, 10, 50, 300])
def test_the_scale_is_that_of_every_law(n):
    op = qckm.SketchOperator.from_seed(n, N_DRAWN // n, scale=2.5, seed=n)
    squares = (op.frequencies**2).sum(axis=0)
    # The shell moves the mean square by up to 0.4 %; the sample, by five standard errors once in 10⁶.
    assert abs(squares.mean() * 2.5**2 / n - 1) < 0.004 + 5 * squares.std() / squares.mean() / np.sqrt(len(squares))
    assert np.sqrt(squares).std() / np.sqrt(squares).mean() < 0.1


def test_directions_are_nearly_uniform():
    op = qckm.SketchOperator.from_seed(3, N_DRAWN, scale=1.0, seed=1)
    directions = op.frequencies / np.linalg.norm(op.frequencies, axis=0)
    np.testing.assert_allclose(directions @ directions.T / N_DRAWN, np.eye(3) / 3, atol=0.01)
    # The fourth moment sees the cube behind the sums of bytes: 3/15 on a sphere, 1 % less here.
    assert (directions**4).mean() == pytest.approx(0.2, rel=0.03)


def test_units_and_steps_are_those_of_draw():
    units = np.array([1.0, 1000.0])
    op = qckm.SketchOperator.from_seed(2, 2000, scale=2.0, seed=3, units=units)
    drawn = qckm.SketchOperator.draw(2, 2000, scale=2.0, random_state=3, units=units)
    np.testing.assert_array_equal(op.steps, drawn.steps)
    np.testing.assert_allclose(np.sqrt((op.frequencies**2).mean(axis=1)) * units, 1 / 2.0, rtol=0.05)


def test_it_is_drawn_saved_and_decoded_like_any_other():
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    X = centers[rng.integers(3, size=3000)] + rng.normal(size=(3000, 2))
    op = qckm.SketchOperator.draw(2, 100, scale=1.5, law="seeded", random_state=5)
    sketch = files.loads(files.dumps(op.sketch(X)))
    assert sketch.operator.law.startswith("seeded ")
    assert seeded.seed_of(sketch.operator.law) is not None
    found = qckm.decode(sketch, n_clusters=3, bounds=(X.min(0), X.max(0)), random_state=0).centers
    assert np.linalg.norm(found[:, None] - centers, axis=2).min(axis=0).max() < 0.3


def test_the_estimator_takes_it():
    X = np.random.default_rng(0).normal(size=(300, 2))
    km = qckm.CompressiveKMeans(2, law="seeded", random_state=0).fit(X)
    assert km.operator_.law.startswith("seeded ")


@pytest.mark.parametrize(
    "given, words",
    [
        ({"seed": -1}, "seed from 0"),
        ({"seed": 2**32}, "seed from 0"),
        ({"seed": 1.5}, "seed from 0"),
        ({"steps": 0.25}, "smaller step"),
        ({"steps": 2.0**-30}, "larger step"),
        ({"n_features": 9000}, "at most 8192"),
        ({"scale": np.nan}, "scale"),
    ],
)
def test_what_does_not_fit_is_refused(given, words):
    wishes = {"n_features": 2, "n_frequencies": 4, "scale": 1.0, "seed": 0, **given}
    with pytest.raises(OperatorError, match=words):
        qckm.SketchOperator.from_seed(**wishes)


def test_structured_and_seeded_exclude_each_other():
    with pytest.raises(OperatorError, match="dense"):
        qckm.SketchOperator.draw(300, 300, scale=1.0, law="seeded", frequencies="structured")


def test_a_note_that_names_no_seed():
    assert seeded.seed_of("gaussian") is None
    assert seeded.seed_of("seeded 99999999999") is None
    assert seeded.seed_of("seeded 4294967296") is None


def test_neighbouring_seeds_and_frequencies_are_unrelated():
    one, other = (seeded.draw(seed, 3, N_DRAWN).components.ravel() for seed in (1, 2))
    shifted = np.roll(seeded.draw(1, 3, N_DRAWN).components, 1, axis=1).ravel()
    # Correlations of 120 000 pairs: five standard errors are 0.015.
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.015
    assert abs(np.corrcoef(one, shifted)[0, 1]) < 0.015
    assert len(np.unique(seeded.draw(1, 3, N_DRAWN).components, axis=1).T) > 0.999 * N_DRAWN


def test_a_seed_takes_origin_units_and_names_as_drawing_does():
    how = {"origin": [3.0, -4.0], "units": [1.0, 2.0], "feature_names": ["a", "b"]}
    op = qckm.SketchOperator.from_seed(2, 20, scale=1.0, seed=5, **how)
    assert (op.origin.tolist(), op.units.tolist(), op.feature_names) == ([3.0, -4.0], [1.0, 2.0], ("a", "b"))
    assert op.scale == 1.0
    for wrong, reason in (({"n_features": 0}, "n_features"), ({"n_frequencies": 0}, "n_frequencies")):
        with pytest.raises(OperatorError, match=f"Expected {reason} to be a whole number"):
            qckm.SketchOperator.from_seed(**{"n_features": 2, "n_frequencies": 20, "scale": 1.0, "seed": 5, **wrong})
