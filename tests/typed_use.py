"""What a type checker knows of a user's code: `make types` checks this file, nobody runs it."""

from typing import assert_type

import numpy as np
import numpy.typing as npt

import qckm


def uses(X: npt.NDArray[np.float64]) -> None:
    km = qckm.CompressiveKMeans(2)
    assert_type(km.fit(X), qckm.CompressiveKMeans)
    assert_type(km.partial_fit(X), qckm.CompressiveKMeans)
    assert_type(km.sketch_, qckm.Sketch)
    assert_type(km.operator_, qckm.SketchOperator)
    assert_type(km.cluster_centers_, npt.NDArray[np.float64])
    assert_type(km.labels_, npt.NDArray[np.int32])
    assert_type(km.predict(X), npt.NDArray[np.int32])
    assert_type(km.fit_transform(X), npt.NDArray[np.float64])
    assert_type(km.to_model(), qckm.Model)
    mixture = qckm.CompressiveGaussianMixture(2)
    assert_type(mixture.fit(X).sketch_, qckm.Sketch)
    assert_type(mixture.means_, npt.NDArray[np.float64])
    pca = qckm.CompressivePCA(1)
    assert_type(pca.fit_sketch(km.sketch_), qckm.CompressivePCA)
    assert_type(pca.components_, npt.NDArray[np.float64])
    operator = qckm.SketchOperator.draw(2, 50, scale=1.0)
    assert_type(operator.sketch(X) + operator.sketch(X), qckm.Sketch)
    assert_type(qckm.sketch_source(operator, "rows.parquet"), qckm.Sketch)
    assert_type(qckm.decode(km.sketch_, 2), qckm.Clustering)
    assert_type(qckm.load("rows.qckm"), qckm.Sketch)
