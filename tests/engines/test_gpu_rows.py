"""Rows on a GPU, as an estimator sees them. Skipped where there is none (make test-gpu)."""

import numpy as np
import pytest

import qckm
from qckm.engines.jobs import Block, SketchJob, loads
from qckm.errors import RowsError
from qckm.sketch import files

cupy = pytest.importorskip("cupy", reason="no CuPy")
try:
    cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError:
    pytest.skip("no GPU", allow_module_level=True)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return (rng.normal(size=(30_000, 3)) + 8 * rng.integers(0, 3, size=(30_000, 1))).astype(np.float32)


def test_an_estimator_is_fitted_to_rows_on_the_gpu(rows):
    there = cupy.asarray(rows)
    fitted = qckm.CompressiveKMeans(n_clusters=3, random_state=0).fit(there)
    assert sorted(fitted.cluster_centers_[:, 0].round().astype(int).tolist()) == [0, 8, 16]
    assert fitted.sketch_ == fitted.operator_.sketch(rows)
    assert isinstance(fitted.labels_, cupy.ndarray)
    assert np.array_equal(fitted.labels_.get(), fitted.predict(rows))
    assert fitted.inertia_ == pytest.approx(-fitted.score(rows))
    assert fitted.score(there) == pytest.approx(fitted.score(rows))
    assert np.allclose(fitted.transform(there).get(), fitted.transform(rows))


def test_batches_on_the_gpu_are_added(rows):
    fitted = qckm.CompressiveKMeans(n_clusters=3, random_state=0)
    for part in cupy.split(cupy.asarray(rows), 3):
        fitted.partial_fit(part)
    assert fitted.sketch_ == fitted.operator_.sketch(rows)
    assert sorted(fitted.cluster_centers_[:, 0].round().astype(int).tolist()) == [0, 8, 16]


def test_rows_of_the_host_are_sent_to_the_gpu(rows):
    on_cpu = qckm.CompressiveKMeans(n_clusters=3, random_state=0).fit(rows)
    on_gpu = qckm.CompressiveKMeans(n_clusters=3, random_state=0, device="cuda").fit(rows)
    assert on_gpu.sketch_ == on_cpu.sketch_
    assert on_gpu.inertia_ == pytest.approx(on_cpu.inertia_, rel=1e-3)


def test_a_nan_is_named(rows):
    bad = cupy.asarray(rows)
    bad[777, 1] = np.nan
    with pytest.raises(RowsError, match="NaN at row 777, column 1"):
        qckm.CompressiveKMeans(n_clusters=3, random_state=0).fit(bad)


def test_a_task_of_an_engine_uses_its_gpu(rows):
    operator = qckm.SketchOperator.draw(3, 50, 1.0, random_state=0)
    job = SketchJob(operator, device="cuda")
    restored = loads(job.dumps())
    weights = np.arange(len(rows)) % 3
    for weight in (None, weights):
        on_gpu, on_cpu = (job.result(job.part([Block(rows, weight)], 0)) for job in (restored, SketchJob(operator)))
        assert files.dumps(on_gpu) == files.dumps(on_cpu)


def test_calibration_and_many_clusters_are_the_same_to_tolerance(rows):
    from qckm.kernels.sketcher import computing_on

    operator = qckm.CompressiveKMeans(n_clusters=20, random_state=0).fit(rows).operator_
    sketch = operator.sketch(rows)
    expected = qckm.calibrate(sketch, rows[:3000])
    with computing_on("cuda"):
        found = qckm.calibrate(sketch, rows[:3000])
        there = qckm.decode(sketch, 20, rows=rows[:5000], random_state=0)
    here = qckm.decode(sketch, 20, rows=rows[:5000], random_state=0)
    assert np.allclose(found.weights, expected.weights, rtol=0.02, atol=0.02 * expected.weights.mean())

    def inertia(result):
        return ((rows[:, np.newaxis] - result.centers) ** 2).sum(axis=2).min(axis=1).sum()

    assert inertia(there) == pytest.approx(inertia(here), rel=0.01)
