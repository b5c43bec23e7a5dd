"""A measurement as a program of the GPU: the kernel for a kind of rows, its operands on the device, its launches."""

from __future__ import annotations

from typing import Any

import numpy as np

from qckm.kernels import reference
from qckm.kernels.cuda.device import cupy, shared_memory_of
from qckm.kernels.cuda.layout import features_again, lay_out, pair_table
from qckm.kernels.cuda.modules import kernel_for
from qckm.kernels.cuda.shapes import Job, choose_shape
from qckm.kernels.cuda.totals import Totals
from qckm.kernels.portable import Measurement

# float32 arithmetic gives the codes as long as the origin is within so many steps (sums.cu) and steps are no extremes.
_FLOAT_ORIGIN, _FLOAT_EXPONENT = 2**21, 100


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
        self._kernel = kernel_for(self._job, shape, device)
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
