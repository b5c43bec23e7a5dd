"""Whole decodes of small, odd sketches: sanitizers see the decoder's loops as they are called (sanitized.sh)."""

import warnings

import numpy as np
import pytest

import qckm

# n, m, K, rows; octaves; the last has fewer distinct rows than clusters would like.
SHAPES = [
    (1, 9, 2, 40, 1),
    (2, 33, 3, 300, 1),
    (3, 70, 4, 500, 1),
    (2, 60, 2, 200, 3),
    (5, 129, 2, 257, 1),
    (2, 40, 3, 4, 1),
]


def sketch_of(shape, signature="one-bit", dither="paired"):
    n, m, K, rows, octaves = shape
    rng = np.random.default_rng(m)
    centers = 6 * rng.normal(size=(K, n))
    X = centers[rng.integers(K, size=rows)] + rng.normal(size=(rows, n))
    op = qckm.SketchOperator.draw(n, m, 2.0, signature=signature, dither=dither, octaves=octaves, random_state=0)
    return op.sketch(X), X


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whether the centroids are good is not asked here
        yield


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("decoder", ["matched", "clompr"])
def test_centroids(shape, decoder):
    sketch, X = sketch_of(shape, dither="single" if shape[1] % 2 else "paired")
    for rows in (None, X[:50]) if decoder == "matched" else (None,):
        found = qckm.decode(sketch, shape[2], decoder=decoder, random_state=0, rows=rows)
        assert np.isfinite(found.centers).all()
        assert found.centers.shape == (shape[2], shape[0])


@pytest.mark.parametrize("signature", ["exponential", "triangle", "2-bit"])
def test_other_signatures(signature):
    sketch, _ = sketch_of(SHAPES[1], signature)
    assert np.isfinite(qckm.decode(sketch, 3, random_state=0).centers).all()


@pytest.mark.parametrize("covariances", ["spherical", "diag", "full"])
def test_mixtures(covariances):
    sketch, _ = sketch_of(SHAPES[2])
    mixture = qckm.CompressiveGaussianMixture(3, covariance_type=covariances, random_state=0).fit_sketch(sketch)
    assert np.isfinite(mixture.covariances_).all()
