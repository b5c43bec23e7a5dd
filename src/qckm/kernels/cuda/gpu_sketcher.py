"""Sketching on a GPU: rows that lie there in one launch, rows of the host a part at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from qckm.common.arrays import Bytes
from qckm.errors import OperatorError
from qckm.kernels import reference
from qckm.kernels.cuda.device import as_device_array, as_floats, cupy, require_capable
from qckm.kernels.cuda.programs import MatrixProgram, Program, TooManyFeatures
from qckm.kernels.cuda.totals import ColumnTotals, Totals
from qckm.kernels.cuda.transfer import parts_on_device
from qckm.kernels.portable import Measurement, Summary

_SEARCHED = 1 << 22  # numbers that are searched for NaN at a time


class GpuSketcher:
    """A measurement, ready to be run over rows by one GPU."""

    def __init__(self, measurement: Measurement, device: int = 0) -> None:
        if not isinstance(measurement.frequency_codes, np.ndarray):
            raise OperatorError(
                "Structured frequencies are not measured on a GPU: draw the operator with frequencies='dense', or use "
                "device='cpu'."
            )
        require_capable(device)
        self._measurement, self._device = measurement, device
        self._one_bit = np.array_equal(measurement.table, reference.ONE_BIT_TABLE)
        self._programs: dict[tuple[Any, ...], Program | MatrixProgram] = {}

    def sum(self, rows: Any, weights: Any = None, n_jobs: int | None = None) -> Summary:
        """Sum the contributions of rows (rows, n), here or on the GPU, each as often as its whole weight says."""
        with cupy().cuda.Device(self._device):
            totals, columns, padding = Totals(self._measurement), ColumnTotals(self._measurement, self._device), 0
            weighted = weights is not None
            kind = "bits" if self._one_bit else "table"
            heavy = None if weights is None else as_device_array(weights, 1)[0].astype(np.int64, copy=False)
            for part, number, span in self._parts(rows):
                program, load = self._program(part, number, kind, weighted), None if heavy is None else heavy[span]
                padding += program.launch(part, load, totals)
                columns.add(part, number, load)
            if not totals.all_finite:
                found = Summary(self._measurement)
                found.bad_row = self._first_not_finite(rows)
                return found
            count = len(rows) if heavy is None else int(heavy.sum())
            found = totals.summary(count, 0 if weighted else padding, self._one_bit and not weighted)
            columns.add_to(found)
            return found

    def encode(self, rows: Any, bits: Bytes, n_jobs: int | None = None) -> int | None:
        """Write the bits of rows, here or on the GPU; return the first row that is not finite."""
        with cupy().cuda.Device(self._device):
            totals = Totals(self._measurement)
            for part, number, span in self._parts(rows):
                encoded = cupy().empty((len(part), bits.shape[1]), np.uint8)
                self._program(part, number, "encode", False).launch(part, None, totals, encoded)
                bits[span] = encoded.get() if isinstance(bits, np.ndarray) else encoded
            return None if totals.all_finite else self._first_not_finite(rows)

    def _parts(self, rows: Any) -> Any:
        """Yield rows on the GPU, their type of numbers, and which of all rows they are."""
        if isinstance(rows, np.ndarray):
            yield from parts_on_device(rows)
        elif len(rows):
            array, number = as_device_array(rows, 2)
            yield array, number, slice(0, len(array))

    def _program(self, rows: Any, number: str, kind: str, weighted: bool) -> Program | MatrixProgram:
        n, (row_stride, feature_stride) = rows.shape[1], rows.strides
        contiguous = feature_stride == rows.itemsize and row_stride == n * rows.itemsize
        at_once = [size for size in (4, 2) if n % size == 0 and rows.data.ptr % (size * rows.itemsize) == 0]
        key = number, kind, weighted, contiguous, at_once[0] if contiguous and at_once else 1
        if key not in self._programs:
            try:
                self._programs[key] = Program(self._measurement, self._device, *key)
            except TooManyFeatures:
                self._programs[key] = MatrixProgram(self._measurement, self._device, *key)
        return self._programs[key]

    def _first_not_finite(self, rows: Any) -> int:
        module, height = cupy(), max(1, _SEARCHED // rows.shape[1])
        array, number = (rows, str(rows.dtype)) if isinstance(rows, np.ndarray) else as_device_array(rows, 2)
        for start in range(0, len(array), height):
            part = as_floats(module.asarray(array[start : start + height]), number)
            finite = module.isfinite(part).all(axis=1)
            if not finite.all():
                return start + int((~finite).argmax())
        raise AssertionError("a row is not finite, but none was found")
