"""The GPU's kernels on a GPU: the same integers. Skipped where there is none (make test-gpu)."""

from dataclasses import replace

import numpy as np
import pytest
from gpu_cases import difference

import qckm
from golden.twenty_operators import DIGEST, digest_of, twenty_operators
from qckm.errors import OperatorError, RowsError
from qckm.export.as_c import render_recipe
from qckm.export.rendering import read_source
from qckm.kernels.cuda import programs
from qckm.operator.codes import Codes
from qckm.operator.structured import StructuredCodes, block_size, unpack_signs
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
    from qckm.clustering.centroids import nearest
    from qckm.kernels.cuda.row_kernels import nearest_on_gpu

    centers = np.random.default_rng(2).normal(size=(7, 5))
    labels, squares = nearest(rows, centers)
    for there in (cupy.asarray(rows), cupy.asfortranarray(cupy.asarray(rows, np.float64))):
        found, distances = nearest_on_gpu(there, centers)
        assert np.array_equal(found.get(), labels)
        assert np.allclose(distances.get(), squares)


RECIPE = """
#define QCKM_FLASH
#define QCKM_READ_16(address) (*(address))
#define QCKM_READ_32(address) (*(address))
#define INT64_C(x) x##ll
typedef unsigned short uint16_t;
typedef unsigned long long uint64_t;
typedef long long int64_t;
"""
MAKE = """
extern "C" __global__ void make(short *codes, int *dither)
{
    const size_t j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < QCKM_FREQUENCIES) {
        int16_t frequency[QCKM_FEATURES];
        qckm_make(j, frequency);
        for (size_t k = 0; k < QCKM_FEATURES; k++) {
            codes[k * QCKM_FREQUENCIES + j] = frequency[k];
        }
        dither[j] = (int)qckm_dither_of(j);
    }
}

extern "C" __global__ void make_structured(unsigned *signs, int *radii, int *dither)
{
    const size_t j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < QCKM_FREQUENCIES) {
        uint32_t words[4];
        qckm_words(words, 0, j);
        radii[j] = max(1, (int)(((uint64_t)qckm_norm(words[0]) * QCKM_GAIN_OF(0) + (1ull << 31)) >> 32));
        dither[j] = (int)qckm_dither_of(j);
    }
    if (j < 3 * QCKM_BLOCKS * QCKM_PARTS) {
        const uint32_t block = (uint32_t)(j / QCKM_PARTS / 3), diagonal = (uint32_t)(j / QCKM_PARTS % 3);
        uint32_t words[4] = {(uint32_t)(j % QCKM_PARTS), block, diagonal, 1};
        qckm_philox(words);
        for (int w = 0; w < 4; w++) {
            signs[4 * j + w] = words[w];
        }
    }
}
"""


def made_on_the_gpu(operator):
    """Return an operator with frequencies and dither that the exported C, as CUDA, has made from its recipe."""
    recipe, size = operator.codes.recipe, block_size(operator.n_features)
    blocks, parts = -(-recipe.m // size), size // 128
    sizes = {"FEATURES": recipe.n, "FREQUENCIES": recipe.m, "BLOCKS": blocks, "PARTS": parts}
    text = read_source("kernels", "core", "arithmetic.h").replace("#include <stdint.h>", programs._TYPES)
    text += RECIPE + "".join(f"#define QCKM_{name} {value}u\n" for name, value in sizes.items()) + render_recipe(recipe)
    text = text.replace("static inline", "static __device__ inline").replace("static const", "static __device__ const")
    module, threads = cupy.RawModule(code=text + MAKE, options=("-std=c++17",)), 128
    count = max(recipe.m, 3 * blocks * parts)
    grid, dither = (-(-count // threads),), cupy.zeros(recipe.m, np.int32)
    if recipe.factors is None:
        codes = cupy.zeros(operator.codes.shape, np.int16)
        module.get_function("make")(grid, (threads,), (codes, dither))
        return replace(operator, codes=Codes(codes.get(), dither.get()))
    signs, radii = cupy.zeros((blocks, 3, size // 32), np.uint32), cupy.zeros(recipe.m, np.int32)
    module.get_function("make_structured")(grid, (threads,), (signs, radii, dither))
    structured = StructuredCodes(unpack_signs(signs.get().view(np.uint8)), recipe.factors, radii.get())
    return replace(operator, codes=Codes(structured, dither.get()))


def test_frequencies_made_from_recipes_on_the_gpu_have_the_digest_of_all_machines():
    assert digest_of([made_on_the_gpu(operator) for operator in twenty_operators()]) == DIGEST
