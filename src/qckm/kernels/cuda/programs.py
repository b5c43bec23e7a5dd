"""A measurement as a program of the GPU: the kernel for a kind of rows, its operands on the device, its launches.

sums.cu is compiled for the shape of a problem, once a process. Rows of very many features take another road: float64
matrix products, which are exact (kernels/reference.py).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from qckm.kernels import reference
from qckm.kernels.cuda.device import NUMBERS, as_floats, compiled, cupy, shared_memory_of, source_of
from qckm.kernels.cuda.layout import features_again, lay_out, pair_table
from qckm.kernels.cuda.shapes import Job, Shape, choose_shape
from qckm.kernels.cuda.totals import Totals
from qckm.kernels.portable import Measurement

# float32 arithmetic gives the codes as long as the origin is within so many steps (sums.cu) and steps are no extremes.
_FLOAT_ORIGIN, _FLOAT_EXPONENT = 2**21, 100
_PHASES = 1 << 25  # that matrix products hold at a time, of 8 bytes each


class TooManyFeatures(Exception):
    """A block of the kernel would not fit the GPU's shared memory or registers."""


class Program:
    """A kernel for rows of one type, laid out one way, and all that it reads beside the rows."""

    def __init__(
        self,
        measurement: Measurement,
        device: int,
        number: str,
        kind: str,
        weighted: bool,
        contiguous: bool,
        vector: int,
    ) -> None:
        codes, dithers = np.asarray(measurement.frequency_codes), measurement.dither_codes.astype(np.int64)
        inverse_steps, origins = 1 / measurement.steps, measurement.origin / measurement.steps
        paired, table = measurement.paired, kind == "table" or weighted
        if kind == "encode":  # every measurement a frequency of its own, so that bits follow each other
            codes = np.concatenate([codes] * (2 if paired else 1), axis=1)
            dithers = np.concatenate([dithers, dithers + reference.QUARTER_TURN] if paired else [dithers])
            paired = False
        if not table:  # a bit is the top one, a quarter turn on
            dithers = dithers + reference.QUARTER_TURN
        self._m = len(dithers)
        n_again = len(features_again(codes))
        exact = bool((np.abs(np.frexp(inverse_steps)[1]) <= _FLOAT_EXPONENT).all())
        exact = exact and bool((np.abs(origins) <= _FLOAT_ORIGIN).all())
        self._job = Job(number, len(measurement.steps), n_again, exact, kind, paired, weighted, contiguous, vector)
        shape = choose_shape(self._job, self._m, shared_memory_of(device))
        if shape is None:
            raise TooManyFeatures
        self._columns = shape.columns(self._m)
        layout = lay_out(codes, dithers, self._columns * shape.warps * shape.tiles)
        self._kernel = _kernel_for(self._job, shape, device)
        self._threads, self._rows, self._shared = 32 * shape.warps, shape.rows, shape.shared_bytes(self._job)
        resident = cupy().cuda.Device(device).attributes["MultiProcessorCount"] * max(1, shape.blocks)
        self._grid = max(1, resident // self._columns)
        as_device = cupy().asarray
        self._operands = [as_device(inverse_steps), as_device(origins), as_device(np.append(layout.again, np.int32(0)))]
        self._operands += [as_device(layout.frequencies), as_device(layout.dithers), as_device(pair_table(measurement))]

    def launch(self, rows: Any, weights: Any, totals: Totals, bits: Any = None) -> int:
        """Add rows on the GPU to totals, or write their bits, on CuPy's current stream.

        Return how many rows of codes 0 were added to fill the last block.
        """
        row_stride, feature_stride = (stride // rows.itemsize for stride in rows.strides)
        self._kernel(
            (self._grid, self._columns),
            (self._threads,),
            (
                *(rows, np.int64(len(rows)), np.int64(row_stride), np.int64(feature_stride)),
                *(0 if weights is None else weights, *self._operands, *totals.arrays),
                *(0 if bits is None else bits, np.int64(0 if bits is None else bits.shape[1]), np.int32(self._m)),
            ),
            shared_mem=self._shared,
        )
        return -len(rows) % self._rows


@cache
def _kernel_for(job: Job, shape: Shape, device: int) -> Any:
    """Compile the kernel of a job for a device, or find it compiled."""
    number, half = NUMBERS[job.number]
    macros = {
        "NUMBER": number,
        "HALF": half,
        "REAL": "double" if job.wide else "float",
        "EXACT_FLOAT": int(not job.wide),
        "FEATURES": job.n_features,
        "AGAIN": job.n_again,
        "CONTIGUOUS": int(job.contiguous and not job.n_again),
        "LOOKUP": int(job.lookup),
        "ENCODE": int(job.kind == "encode"),
        "PAIRED": int(job.paired),
        "WEIGHTED": int(job.weighted),
        "SUM": "long long" if job.weighted else "int" if job.lookup else "unsigned",
        "VECTOR": 1 if job.n_again else job.vector,
        "WARPS": shape.warps,
        "TILES": shape.tiles,
        "ROWS": shape.rows,
        "HALVES": shape.halves,
        "BLOCKS": shape.blocks,
    }
    kernel = compiled(_source(), "qckm_rows", macros)
    kernel.max_dynamic_shared_size_bytes = shape.shared_bytes(job)
    return kernel


@cache
def _source() -> str:
    """Return the CUDA source: the arithmetic that the C core has, and what is done with it here."""
    arithmetic = source_of("core", "arithmetic.h")
    for old, new in (("#include <stdint.h>", _TYPES), ("static inline", "static __device__ __forceinline__")):
        arithmetic = arithmetic.replace(old, new)
    return arithmetic + source_of("cuda", "sums.cu")


# CUDA's run-time compiler has no stdint.h of its own.
_TYPES = """\
typedef short int16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
#define INT32_C(x) x
#define UINT32_C(x) x##u"""


class MatrixProgram:
    """The reference's arithmetic, step by step, in arrays on the GPU; launched as a `Program` is."""

    def __init__(
        self,
        measurement: Measurement,
        device: int,
        number: str,
        kind: str,
        weighted: bool,
        contiguous: bool,
        vector: int,
    ) -> None:
        as_device = cupy().asarray
        self._measurement, self._kind, self._number, self._weighted = measurement, kind, number, weighted
        self._frequencies = as_device(np.asarray(measurement.frequency_codes, np.float64))
        self._dithers = as_device(measurement.dither_codes.astype(np.int64))
        self._steps, self._origins = as_device(measurement.steps), as_device(measurement.origin / measurement.steps)
        self._table = as_device(measurement.table.astype(np.int64))

    def launch(self, rows: Any, weights: Any, totals: Totals, bits: Any = None) -> int:
        """Add rows on the GPU to totals, or write their bits; no row is added to fill anything."""
        module = cupy()
        height = max(1, _PHASES // max(rows.shape[1], self._measurement.n_measurements))
        for start in range(0, len(rows), height):
            part = as_floats(rows[start : start + height], self._number).astype(np.float64)
            exact = module.rint(part / self._steps) - self._origins
            codes = module.clip(exact, -reference.CODE_LIMIT, reference.CODE_LIMIT)
            codes = module.where(module.isfinite(part), codes, 0)
            phases = (codes @ self._frequencies).astype(np.int64) + self._dithers
            if self._measurement.paired:
                phases = module.concatenate([phases, phases + reference.QUARTER_TURN], axis=1)
            values = self._table[(phases & (reference.TURN - 1)) >> reference.TABLE_SHIFT]
            if bits is not None:
                bits[start : start + height] = _pack(module, values < 0, bits.shape[1])
            heavy = module.ones(len(part), np.int64) if weights is None else weights[start : start + height]
            totals.add_values(
                part, values, heavy, (codes != exact).any(axis=1), self._kind == "bits" and not self._weighted
            )
        return 0


def _pack(module: Any, ones: Any, width: int) -> Any:
    filled = module.zeros((len(ones), 8 * width), np.uint8)
    filled[:, : ones.shape[1]] = ones
    return module.packbits(filled.reshape(-1), bitorder="little").reshape(len(ones), width)
