"""The C entry points, called directly with whatever they allow: odd sizes, strides, addresses. With sanitizers, too."""

import ctypes

import numpy as np
import pytest

from qckm.kernels import reference
from qckm.kernels.library import DONE, NUMBERS, RowsAt, Spec, Totals

CASES = 60
GUARD = 0xA5  # what must be left around an output
TABLES = {0: reference.ONE_BIT_TABLE, 1: reference.COSINE_TABLE}


class Guarded:
    """An array at an odd address, with bytes around it that nobody may write."""

    def __init__(self, shape, dtype, row_gap=0, aligned=True, offset=0):
        dtype, width = np.dtype(dtype), int(np.prod(shape[1:], dtype=int)) * np.dtype(dtype).itemsize
        offset = 64 if aligned else 64 + offset
        self.memory = np.full(offset + shape[0] * (width + row_gap) + 64, GUARD, np.uint8)
        strides = (width + row_gap, *np.empty(shape[1:], dtype).strides)
        self.array = np.ndarray(shape, dtype, self.memory, offset, strides)

    def check(self):
        after = self.memory.copy()
        view = np.ndarray(
            self.array.shape,
            self.array.dtype,
            after,
            self.array.ctypes.data - self.memory.ctypes.data,
            self.array.strides,
        )
        view.view(np.uint8)[...] = GUARD
        assert (after == GUARD).all()


class Case:
    """A measurement and rows, all of it at random."""

    def __init__(self, rng):
        self.rng = rng
        self.n, self.rows = int(rng.integers(1, 40)), int(rng.integers(0, 600))
        self.octaves = int(rng.choice([1, 1, 2, 5]))
        self.m = self.octaves * int(rng.integers(1, 70))
        self.paired, self.kind = bool(rng.integers(2)), int(rng.integers(3))
        self.table = TABLES.get(self.kind, rng.integers(-32767, 32768, 4096).astype(np.int16))
        self.dither = rng.integers(0, 2**24, self.m).astype(np.int32)
        self.steps = 2.0 ** rng.integers(-9, 9, self.n)
        self.origin_codes = rng.integers(-1000, 1000, self.n).astype(np.float64)
        self.size = 0
        if self.octaves == 1 and rng.random() < 0.4:
            self.size = int(rng.choice([128, 256, 512]))
            blocks = -(-self.m // self.size)
            self.signs = rng.choice(np.array([-1, 1], np.int8), (blocks, 3, self.size))
            self.factors = rng.integers(1, 2**20, self.n).astype(np.int32)
            self.radii = rng.integers(0, 2**31, self.m).astype(np.int32)
        else:
            lowest = rng.integers(-2000, 2001, (self.n, self.m // self.octaves))
            self.frequencies = np.concatenate([lowest << j for j in range(self.octaves)], axis=1).astype(np.int16)
        self.X = self._place_rows()

    def _place_rows(self):
        """Rows of any numbers, at any address, any distance apart, in either direction."""
        rng, number = self.rng, np.dtype(str(self.rng.choice(list(NUMBERS))))
        size = number.itemsize
        feature_bytes = int(rng.choice([size, size, size + 1, 3 * size]))
        row_bytes = self.n * feature_bytes + int(rng.choice([0, 0, 1, 12]))
        # Not a byte more than the rows, so that the sanitizer sees a read beyond.
        last = max(0, self.rows - 1) * row_bytes + (self.n - 1) * feature_bytes
        offset = int(rng.integers(0, 8))
        self.memory = np.zeros(offset + (last + size if self.rows else 0), np.uint8)
        strides = [row_bytes, feature_bytes]
        if self.rows and rng.random() < 0.3:
            offset, strides = offset + last, [-row_bytes, -feature_bytes]
        X = np.ndarray((self.rows, self.n), number, self.memory, offset, strides)
        codes = rng.normal(size=X.shape) * rng.choice([10, 40000]) + self.origin_codes
        if number.kind == "f":
            X[...] = (codes * self.steps).astype(number)
        else:
            info = np.iinfo(number)
            X[...] = rng.integers(info.min, info.max, X.shape, number, endpoint=True)
        return X

    def spec(self):
        numbers = {"n": self.n, "m": self.m, "paired": self.paired, "kind": self.kind, "size": self.size}
        self.held = {
            "dither": self.dither,
            "table": self.table,
            "inverse_steps": 1 / self.steps,
            "origin_codes": self.origin_codes,
        }
        names = ("signs", "factors", "radii") if self.size else ("frequencies",)
        self.held |= {name: getattr(self, name) for name in names}
        addresses = {name: np.require(array, requirements="CA").ctypes.data for name, array in self.held.items()}
        return Spec(**numbers, octaves=self.octaves, single=self.rng.integers(2), **addresses)

    def at(self):
        return RowsAt(self.X)

    def expected(self):
        X = self.X.astype(np.float64)
        codes, clipped = reference.code_rows(X, self.steps, self.origin_codes * self.steps)
        if self.size:
            phases = reference.project_structured(codes, self.signs, self.factors, self.radii, self.dither)
        else:
            phases = reference.project(codes, self.frequencies, self.dither)
        return X, reference.measure(phases, self.table, self.paired), clipped


def prepared(core, spec):
    kernel = ctypes.c_void_p()
    assert core.qckm_prepare(ctypes.byref(spec), ctypes.byref(kernel)) == 0
    return kernel


@pytest.mark.parametrize("seed", range(CASES))
def test_sums_and_bits_of_anything(core, seed):
    case = Case(np.random.default_rng(seed))
    rng, measurements = case.rng, case.m * (case.paired + 1)
    kernel = prepared(core, case.spec())
    X, contributions, clipped = case.expected()
    weights = rng.integers(0, 9, case.rows) if rng.random() < 0.4 else None
    total = Guarded((measurements,), np.int64)
    total.array[:] = 7
    lower, upper = Guarded((case.n,), np.float64), Guarded((case.n,), np.float64)
    lower.array[:], upper.array[:] = np.inf, -np.inf
    found = Totals(*(part.array.ctypes.data for part in (total, lower, upper)), 0, 0)
    address = None if weights is None else weights.ctypes.data
    heavy = np.ones(case.rows, np.int64) if weights is None else weights
    assert core.qckm_sum(kernel, ctypes.byref(case.at()), address, ctypes.byref(found)) == DONE
    np.testing.assert_array_equal(total.array - 7, heavy @ contributions.astype(np.int64))
    assert (found.count, found.saturated) == (heavy.sum(), heavy[clipped].sum())
    if heavy.any():
        np.testing.assert_array_equal(lower.array, X[heavy > 0].min(axis=0))
        np.testing.assert_array_equal(upper.array, X[heavy > 0].max(axis=0))
    for part in (total, lower, upper):
        part.check()
    if case.kind == 0 and case.octaves == 1:
        bits = Guarded(
            (case.rows, -(-measurements // 8)), np.uint8, int(rng.integers(0, 9)), False, int(rng.integers(8))
        )
        step = bits.array.strides[0]
        assert core.qckm_encode(kernel, ctypes.byref(case.at()), bits.array.ctypes.data, step) == DONE
        np.testing.assert_array_equal(bits.array, reference.pack_bits(contributions))
        bits.check()
    core.qckm_release(kernel)


@pytest.mark.parametrize("seed", range(20))
def test_the_first_row_that_is_not_finite_is_found(core, seed):
    case = Case(np.random.default_rng(1000 + seed))
    if case.X.dtype.kind != "f" or not case.rows:
        return  # whole numbers are finite
    bad = np.unique(case.rng.integers(0, case.rows, 3))
    case.X[bad, case.rng.integers(0, case.n)] = case.rng.choice([np.nan, np.inf, -np.inf])
    kernel = prepared(core, case.spec())
    weights = case.rng.integers(0, 2, case.rows) if seed % 2 else None  # a row of weight 0 counts, too
    total, bounds = np.zeros(case.m * (case.paired + 1), np.int64), np.zeros((2, case.n))
    found = Totals(total.ctypes.data, bounds[0].ctypes.data, bounds[1].ctypes.data, 0, 0)
    address = None if weights is None else weights.ctypes.data
    assert core.qckm_sum(kernel, ctypes.byref(case.at()), address, ctypes.byref(found)) == bad[0]
    core.qckm_release(kernel)


@pytest.mark.parametrize("seed", range(20))
def test_bits_anywhere_are_counted(core, seed):
    rng = np.random.default_rng(seed)
    rows, width = int(rng.integers(0, 700)), int(rng.integers(1, 200))
    bits = Guarded((rows, width), np.uint8, int(rng.integers(0, 40)), False, int(rng.integers(64)))
    bits.array[...] = rng.integers(0, 256, bits.array.shape)
    counts = Guarded((8 * width,), np.int64)
    counts.array[:] = 0
    address = bits.array.ctypes.data
    assert core.qckm_count_bits(address, bits.array.strides[0], rows, width, counts.array.ctypes.data) == 0
    unpacked = np.unpackbits(bits.array, axis=1, bitorder="little")
    np.testing.assert_array_equal(counts.array, unpacked.sum(axis=0, dtype=np.int64))
    counts.check()
