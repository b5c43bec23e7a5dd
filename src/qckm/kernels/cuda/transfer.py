"""Rows of the host on their way to the GPU: a part travels while the one before is summed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.kernels.cuda.device import cupy
from qckm.kernels.threads import Tasks, share

# Bytes of a part: large enough for the full rate of the bus, small enough that little waits for the first one.
_PART_BYTES = 1 << 26
_BUFFERS = 3
_PIECE_BYTES = 1 << 22  # that a thread copies at a time into memory that the GPU may read
_HOST_MEMORY = 1  # what CUDA calls memory of the host that is pinned


def parts_on_device(rows: npt.NDArray[Any]) -> Iterator[tuple[Any, str, slice]]:
    """Yield rows of the host as arrays on the GPU, a part at a time, with the type of their numbers and their place.

    What is yielded is for the current stream, and is overwritten some parts later, once that stream is done with it.
    Pinned rows are copied as they are; others go through pinned buffers, which threads fill.
    """
    module = cupy()
    rows = rows if rows.dtype.isnative else rows.astype(rows.dtype.newbyteorder("="))
    number = str(rows.dtype)
    height = max(1, _PART_BYTES // max(1, rows.shape[1] * rows.itemsize))
    height = min(height, max(1, len(rows)))
    pinned = rows.flags.c_contiguous and _is_pinned(rows)
    buffers = [_Buffer(module, height, rows, pinned) for _ in range(min(_BUFFERS, -(-len(rows) // height)))]
    compute = module.cuda.get_current_stream()
    for turn, start in enumerate(range(0, len(rows), height)):
        part, buffer = rows[start : start + height], buffers[turn % len(buffers)]
        yield buffer.fill(part, compute), number, slice(start, start + len(part))
        buffer.in_use.record(compute)
    compute.synchronize()  # what travels belongs to buffers that end here


class _Buffer:
    """A part's place on the GPU, and where rows wait for the journey."""

    def __init__(self, module: Any, height: int, rows: npt.NDArray[Any], pinned: bool) -> None:
        self._module, self._stream = module, module.cuda.Stream(non_blocking=True)
        self._there = module.empty((height, rows.shape[1]), rows.dtype)
        self._waiting: npt.NDArray[Any] | None = None
        if not pinned:
            memory = module.cuda.alloc_pinned_memory(max(1, self._there.nbytes))
            self._waiting = np.frombuffer(memory, rows.dtype, self._there.size).reshape(self._there.shape)
        self._travelled, self.in_use = module.cuda.Event(disable_timing=True), module.cuda.Event(disable_timing=True)
        self.in_use.record()

    def fill(self, part: npt.NDArray[Any], compute: Any) -> Any:
        """Send a part off, and let the computing stream wait for it."""
        if self._waiting is not None:
            self._travelled.synchronize()
            _copy(part, self._waiting[: len(part)])
            part = self._waiting[: len(part)]
        self._stream.wait_event(self.in_use)
        there = self._there[: len(part)]
        self._module.cuda.runtime.memcpyAsync(
            there.data.ptr,
            part.ctypes.data,
            part.nbytes,
            self._module.cuda.runtime.memcpyHostToDevice,
            self._stream.ptr,
        )
        self._travelled.record(self._stream)
        compute.wait_event(self._travelled)
        return there


def _copy(source: npt.NDArray[Any], target: npt.NDArray[Any]) -> None:
    height = max(1, _PIECE_BYTES // max(1, target.shape[1] * target.itemsize))

    def work(tasks: Tasks) -> None:
        for task in tasks:
            here = slice(task * height, (task + 1) * height)
            target[here] = source[here]

    share(work, -(-len(source) // height))


def _is_pinned(rows: npt.NDArray[Any]) -> bool:
    try:
        attributes = cupy().cuda.runtime.pointerGetAttributes(rows.ctypes.data)
    except cupy().cuda.runtime.CUDARuntimeError:
        return False
    return bool(attributes.type == _HOST_MEMORY)
