"""The GPU's kernels on a GPU: the same integers. Skipped where there is none (make test-gpu)."""

import numpy as np
import pytest
from gpu_cases import difference

import qckm
from qckm.errors import OperatorError, RowsError
from qckm.sketch import files

cupy = pytest.importorskip("cupy", reason="no CuPy")
try:
    cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError:
    pytest.skip("no GPU", allow_module_level=True)


@pytest.fixture(scope="module")
def operator():
    return qckm.SketchOperator.draw(n_features=5, n_frequencies=70, scale=1.0, random_state=0)


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(20_000, 5)).astype(np.float32)


@pytest.mark.parametrize("case", range(40))
def test_random_problems_give_the_integers_of_the_reference(case):
    assert difference([7, case]) == ""


def test_an_operator_sketches_rows_where_they_are(operator, rows):
    expected = operator.sketch(rows)
    for there in (cupy.asarray(rows), cupy.asarray(rows, np.float64)):
        found = operator.sketch(there)
        assert found == expected
        assert found.saturated == expected.saturated
        assert np.array_equal(found.bounds, expected.bounds)
        assert np.array_equal(found.column_covariances, expected.column_covariances)
        assert files.dumps(found) == files.dumps(expected)


def test_rows_of_the_host_are_sketched_on_the_gpu_if_asked(operator, rows):
    assert operator.sketch(rows, device="cuda") == operator.sketch(rows)
    weights = np.arange(len(rows)) % 3
    assert operator.sketch(rows, weights, device="cuda") == operator.sketch(rows, weights)


def test_rows_in_several_parts_are_summed_once_each(operator, rows, monkeypatch):
    from qckm.kernels.cuda import transfer

    monkeypatch.setattr(transfer, "_PART_BYTES", 3001 * rows.shape[1] * 4)
    assert operator.sketch(rows, device="cuda") == operator.sketch(rows)
    weights = np.arange(len(rows)) % 5
    assert operator.sketch(rows, weights, device="cuda") == operator.sketch(rows, weights)


def test_pinned_rows_are_copied_as_they_are(operator, rows):
    import cupyx

    pinned = cupyx.empty_pinned(rows.shape, rows.dtype)
    pinned[:] = rows
    assert operator.sketch(pinned, device="cuda") == operator.sketch(rows)


def test_bits_are_those_of_a_sensor(operator, rows):
    bits = operator.encode(cupy.asarray(rows))
    assert np.array_equal(bits.get(), operator.encode(rows))
    assert operator.pool(bits) == operator.sketch(rows)


def test_torch_and_jax_arrays_are_taken_as_they_are(operator, rows):
    torch = pytest.importorskip("torch")
    expected = operator.sketch(rows)
    assert operator.sketch(torch.from_numpy(rows).cuda()) == expected
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):  # what this stream has yet to compute is waited for
        late = torch.from_numpy(rows).cuda()
        for _ in range(50):
            late = late * 1.0
        assert operator.sketch(late) == expected
    jax = pytest.importorskip("jax")
    assert operator.sketch(jax.device_put(rows, jax.devices("gpu")[0])) == expected


def test_a_row_that_is_not_finite_is_named(operator, rows):
    for value, word in ((np.nan, "NaN"), (np.inf, "infinity")):
        bad = rows.copy()
        bad[[12_345, 15_000], 3] = value
        for there in (cupy.asarray(bad), bad):
            with pytest.raises(RowsError, match=f"{word} at row 12345, column 3"):
                operator.sketch(there, device="cuda")


def test_real_weights_are_summed_by_the_cpu(operator, rows):
    weights = np.random.default_rng(1).random(len(rows))
    assert operator.sketch(cupy.asarray(rows), cupy.asarray(weights)) == operator.sketch(rows, weights)


def test_what_is_not_measured_on_a_gpu_is_refused(rows):
    structured = qckm.SketchOperator.draw(5, 64, 1.0, frequencies="structured", random_state=0)
    with pytest.raises(OperatorError, match="Structured frequencies"):
        structured.sketch(rows, device="cuda")


def test_rows_of_another_width_are_refused(operator):
    with pytest.raises(RowsError, match="5 features"):
        operator.sketch(cupy.zeros((3, 4)))
    with pytest.raises(RowsError, match="dimension"):
        operator.sketch(cupy.zeros(5))
    with pytest.raises(RowsError, match="complex64"):
        operator.sketch(cupy.zeros((3, 5), np.complex64))


def test_octaves_are_measured(rows):
    octaves = qckm.SketchOperator.draw(n_features=5, n_frequencies=40, scale=1.0, octaves=3, random_state=0)
    assert octaves.sketch(cupy.asarray(rows)) == octaves.sketch(rows)


def test_the_nearest_centroids_are_those_of_the_cpu(rows):
    from qckm.clustering.nearest import nearest
    from qckm.kernels.cuda.row_kernels import nearest_on_gpu

    centers = np.random.default_rng(2).normal(size=(7, 5))
    labels, squares = nearest(rows, centers)
    for there in (cupy.asarray(rows), cupy.asfortranarray(cupy.asarray(rows, np.float64))):
        found, distances = nearest_on_gpu(there, centers)
        assert np.array_equal(found.get(), labels)
        assert np.allclose(distances.get(), squares)
