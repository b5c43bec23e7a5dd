"""Structured frequencies: what they measure, which law they follow, and when they are chosen."""

import numpy as np
import pytest

import qckm
from qckm.errors import FileError, OperatorError
from qckm.kernels import reference
from qckm.operator.codes import Codes
from qckm.operator.drawing import is_faster
from qckm.operator.structured import StructuredCodes, block_size
from qckm.sketch import files


def draw(n=100, m=300, scale=5.0, **how):
    return qckm.SketchOperator.draw(n, m, scale, **{"frequencies": "structured", "random_state": 0, **how})


def test_the_transform_is_the_matrix():
    H = reference.hadamard(np.eye(8, dtype=np.int64))
    assert (8 * np.eye(8) == H @ H).all()
    assert H[1].tolist() == [1, -1] * 4
    assert H[:2, :2].tolist() == [[1, 1], [1, -1]]


@pytest.mark.parametrize("how", [{}, {"units": np.linspace(0.3, 3, 100)}, {"law": "adapted-radius"}])
def test_frequencies_are_what_is_measured(how, rng):
    op = draw(**how)
    codes = rng.integers(-3000, 3000, (20, 100)).astype(np.int16)
    phases = reference.phases_of(codes, op.frequency_codes, op.dither_codes) * (2 * np.pi / 2**24)
    modelled = (codes * op.steps) @ op.frequencies + op.phases
    assert np.abs(np.angle(np.exp(1j * (phases - modelled)))).max() < 1e-6


@pytest.mark.parametrize("law", ["gaussian", "folded-gaussian", "adapted-radius", "concentrated-radius"])
def test_norms_follow_the_law(law):
    """One draw of 4000 norms: their root mean square within 5 %, more than four standard errors of the widest law."""
    norms = np.linalg.norm(draw(m=4000, law=law).frequencies, axis=0)
    assert np.sqrt((norms**2).mean()) == pytest.approx(np.sqrt(100) / 5.0, rel=0.05)


def test_directions_have_no_preference():
    """Every feature and every pair of features alike, as of Gaussian vectors."""
    omega = draw(m=4096, law="concentrated-radius").frequencies
    directions = omega / np.linalg.norm(omega, axis=0) * 10
    second = directions @ directions.T / directions.shape[1]
    assert np.abs(second - np.eye(100)).max() < 0.1
    assert (directions**4).mean() == pytest.approx(3 * 100 / 102, rel=0.03)  # on the sphere


def test_units_are_kept_to_a_few_percent():
    units = np.geomspace(0.1, 10, 100)
    omega = draw(m=4096, units=units).frequencies * units[:, np.newaxis]
    spread = omega.std(axis=1)
    assert np.abs(spread / np.median(spread) - 1).max() < 0.12


def test_a_structured_sketch_estimates_the_same_kernel(rng):
    """The mean product of two rows' contributions is the law's kernel, for dense and structured alike."""
    X = rng.normal(size=(2, 128))
    estimates = []
    for kind in ("dense", "structured"):
        op = qckm.SketchOperator.draw(128, 8192, 12.0, signature="exponential", frequencies=kind, random_state=1)
        one, other = (op.sketch(X[[i]]).values() for i in (0, 1))
        estimates.append(2 * (one * other).mean())
    assert estimates[0] == pytest.approx(np.exp(-((X[0] - X[1]) ** 2).sum() / (2 * 144)), abs=0.04)
    assert estimates[1] == pytest.approx(estimates[0], abs=0.04)


def test_it_enters_the_fingerprint():
    op, dense = draw(), draw(frequencies="dense")
    codes = op.frequency_codes
    other = StructuredCodes(codes.signs.copy(), codes.factors.copy(), codes.radii + 1)
    changed = qckm.SketchOperator(Codes(other, op.dither_codes), op.steps, op.origin, op.signature, op.dither)
    assert len({op.fingerprint, dense.fingerprint, changed.fingerprint}) == 3
    assert draw() == op


def test_auto_is_structured_where_that_is_faster():
    assert not is_faster(100, 1000)
    assert is_faster(1024, 4096)
    assert not is_faster(1024, 16), "a block for 16 frequencies is mostly wasted"
    for n, m, arithmetic in ((100, 200, reference.ARITHMETIC), (512, 1024, reference.STRUCTURED_ARITHMETIC)):
        assert draw(n, m, frequencies="auto").arithmetic == arithmetic


def test_auto_stays_dense_where_integers_would_be_too_coarse():
    steps = np.where(np.arange(512) < 256, 2.0**-12, 2.0**-8)
    assert draw(512, 1024, frequencies="auto", steps=steps).arithmetic == reference.ARITHMETIC
    with pytest.raises(OperatorError, match="in proportion to the units"):
        draw(512, 1024, steps=steps)


def test_refused_with_a_reason():
    with pytest.raises(OperatorError, match="'auto', 'dense' or 'structured'"):
        draw(frequencies="fast")
    with pytest.raises(OperatorError, match="handful of features"):
        draw(n=1)
    with pytest.raises(OperatorError, match="half around"):
        draw(steps=8.0, law="gaussian")
    with pytest.raises(OperatorError, match="smaller steps"):
        draw(steps=8.0)
    with pytest.raises(OperatorError, match="signs"):
        StructuredCodes(np.ones((1, 3, 64), np.int8), np.ones(3, np.int32), np.ones(4, np.int32))
    with pytest.raises(OperatorError, match="radii"):
        StructuredCodes(np.ones((1, 3, block_size(3)), np.int8), np.ones(3, np.int32), np.zeros(4, np.int32))


@pytest.mark.parametrize("how", [{}, {"units": np.linspace(1, 2, 100), "signature": "triangle", "dither": "single"}])
def test_files(how, rng):
    sketch = draw(**how).sketch(rng.normal(size=(50, 100)))
    data = files.dumps(sketch)
    loaded = files.loads(data)
    assert loaded == sketch
    assert files.dumps(loaded) == data
    np.testing.assert_array_equal(loaded.operator.frequencies, sketch.operator.frequencies)
    for cut in (10, 100, 1000):
        with pytest.raises(FileError):
            files.loads(data[:-cut])


def test_real_weights_take_the_reference_kernel(rng):
    op, X = draw(), rng.normal(size=(40, 100))
    assert op.sketch(X, np.full(40, 0.5)).total == pytest.approx(op.sketch(X).total / 2)
