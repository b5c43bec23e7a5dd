"""From the int32 counters of a tile to int64 sums, and the look-up of signatures that have no formula."""

from __future__ import annotations

import numpy as np

from qckm.kernels.instructions import HERE
from qckm.kernels.reference import TABLE_SHIFT, TABLE_SIZE
from qckm.kernels.source.compiling import compiled
from qckm.kernels.source.memory import load_like, store

WIDTH = HERE.width
# Between two looks at the counters: bits counted in units of 2**23 overflow after 511 rows, values much later.
MOST_ROWS = 510 // HERE.rows * HERE.rows

_INT32, _UINT32, _INT64 = np.int32(0), np.uint32(0), np.int64(0)
_BIT = np.uint32(23)
_SHIFT, _LAST = np.uint32(TABLE_SHIFT), np.uint32(TABLE_SIZE - 1)
_QUARTER_BYTES = 4 * (TABLE_SIZE // 4)


@compiled
def _drain_bits(counters, sums):
    for j in range(WIDTH):
        count = np.int64(load_like(counters + 4 * j, _UINT32) >> _BIT)
        store(sums + 8 * j, load_like(sums + 8 * j, _INT64) + count)
        store(counters + 4 * j, _INT32)


@compiled
def _drain_values(counters, sums):
    for j in range(WIDTH):
        value = np.int64(load_like(counters + 4 * j, _INT32))
        store(sums + 8 * j, load_like(sums + 8 * j, _INT64) + value)
        store(counters + 4 * j, _INT32)


@compiled
def drain_bits(counters, panel, first, second):
    """Add a panel's counters of bits, in units of 2**23, to its sums, and clear them."""
    _drain_bits(counters, first + 8 * panel * WIDTH)
    if second is not None:
        _drain_bits(counters + 4 * WIDTH, second + 8 * panel * WIDTH)


@compiled
def drain_values(counters, panel, first, second):
    """Add a panel's totals of values to its sums, and clear them."""
    _drain_values(counters, first + 8 * panel * WIDTH)
    if second is not None:
        _drain_values(counters + 4 * WIDTH, second + 8 * panel * WIDTH)


@compiled
def add_from_table(phases, rows, width, table, counters, second):
    """Add the table's values at the phases (rows, width) to the counters.

    Number by number: gathering 16 lanes is slower on every CPU tried. The table is int32 and goes on for a quarter turn
    after its end, so that one index serves both measurements.
    """
    for j in range(width):
        here = turned = _INT32
        for r in range(rows):
            part = (load_like(phases + 4 * (r * width + j), _UINT32) >> _SHIFT) & _LAST
            entry = table + 4 * np.int64(part)
            here += load_like(entry, _INT32)
            if second is not None:
                turned += load_like(entry + _QUARTER_BYTES, _INT32)
        store(counters + 4 * j, np.int32(load_like(counters + 4 * j, _INT32) + here))
        if second is not None:
            store(counters + 4 * (width + j), np.int32(load_like(counters + 4 * (width + j), _INT32) + turned))
