"""The road for rows of very many features: float64 matrix products, which are exact (kernels/reference.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from qckm.kernels import reference
from qckm.kernels.cuda.device import cupy
from qckm.kernels.cuda.totals import Totals
from qckm.kernels.portable import Measurement

_PHASES = 1 << 25  # held at a time, of 8 bytes each


class MatrixProgram:
    """The reference's arithmetic, step by step, in arrays on the GPU."""

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
            part = self._numbers(rows[start : start + height])
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

    def _numbers(self, rows: Any) -> Any:
        if self._number == "bfloat16":
            rows = (rows.astype(np.uint32) << 16).view(np.float32)
        return rows.astype(np.float64)


def _pack(module: Any, ones: Any, width: int) -> Any:
    filled = module.zeros((len(ones), 8 * width), np.uint8)
    filled[:, : ones.shape[1]] = ones
    return module.packbits(filled.reshape(-1), bitorder="little").reshape(len(ones), width)
