"""Sums of the columns of rows on a GPU, of their squares and products (columns.cu), and what they are for the host."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from qckm.common.arrays import Wide, add_wide
from qckm.kernels.cuda.device import cupy
from qckm.kernels.cuda.modules import in_c
from qckm.kernels.portable import MOST_COLUMNS, Measurement, Summary
from qckm.kernels.reference import CODE_LIMIT

_THREADS = 256
_ROWS = 64  # coded at a time: with the most columns and weights, a block has 43 kB of shared memory, and may have 48
_BLOCKS = 4  # for each multiprocessor


class ColumnTotals:
    """The sums of the columns of all rows so far."""

    def __init__(self, measurement: Measurement, device: int) -> None:
        module, n = cupy(), len(measurement.steps)
        first, second = np.triu_indices(n, 1) if n <= MOST_COLUMNS else (np.zeros(0, np.intp),) * 2
        self._n, self._n_pairs, self._device = n, len(first), device
        pairs = np.stack([first, second], axis=1).astype(np.int16)
        # One pair at least: an empty array has no address.
        self._pairs = module.asarray(pairs if len(pairs) else np.zeros((1, 2), np.int16))
        self._inverse_steps = module.asarray(1 / measurement.steps)
        self._origins = module.asarray(measurement.origin / measurement.steps)
        self._words = module.zeros((2, 2 * n + len(first)), np.uint64)
        self._blocks = _BLOCKS * module.cuda.Device(device).attributes["MultiProcessorCount"]

    def add(self, rows: Any, number: str, weights: Any) -> None:
        """Add rows (rows, n) on the GPU, as often as weights there say, on CuPy's current stream."""
        if not len(rows):
            return
        row_stride, feature_stride = (stride // rows.itemsize for stride in rows.strides)
        weighted = weights is not None
        items = 2 * min(self._n, MOST_COLUMNS) + self._n_pairs
        slots = max(1, _THREADS // items) * items
        _kernel(number, weighted, self._device)(
            (min(self._blocks, -(-len(rows) // _ROWS)), -(-self._n // MOST_COLUMNS)),
            (_THREADS,),
            (
                *(rows, np.int64(len(rows)), np.int64(row_stride), np.int64(feature_stride)),
                *(weights if weighted else 0, self._inverse_steps, self._origins, np.int32(self._n)),
                *(self._pairs, np.int32(self._n_pairs), self._words[0], self._words[1]),
            ),
            shared_mem=8 * slots * (2 if weighted else 1),
        )

    def add_to(self, found: Summary) -> None:
        """Add the sums to a summary."""
        words: Wide = self._words.get().view(np.int64)
        codes, squares, products = np.split(words, [self._n, 2 * self._n], axis=1)
        for name, sums in (("codes", codes), ("squares", squares), ("products", products)):
            held = getattr(found, name)
            setattr(found, name, None if held is None else add_wide(held, sums))


@cache
def _kernel(number: str, weighted: bool, device: int) -> Any:
    """Compile the kernel for a type of numbers, or find it compiled."""
    name, half = in_c(number)
    macros = {"NUMBER": name, "HALF": half, "WEIGHTED": int(weighted), "THREADS": _THREADS, "ROWS": _ROWS}
    macros |= {"COLUMNS": MOST_COLUMNS, "LIMIT": f"{CODE_LIMIT}.0"}
    defines = "".join(f"#define {name} {value}\n" for name, value in macros.items())
    source = resources.files("qckm.kernels.cuda").joinpath("columns.cu").read_text("utf-8")
    return cupy().RawKernel(defines + source, "qckm_columns", options=("-std=c++17",))
