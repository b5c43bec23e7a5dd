"""Bits by their position in a row: gathering the two halves of a paired row, and counting each over many rows."""

from __future__ import annotations

import llvmlite.ir as ir
import numpy as np
from numba import types
from numba.extending import intrinsic

from qckm.kernels.layout import BITS_PANEL as PANEL
from qckm.kernels.layout import BITS_ROWS as MOST_ROWS
from qckm.kernels.source.compiling import compiled
from qckm.kernels.source.memory import load_like, store
from qckm.kernels.source.vectors import I8, Vectors, constant

_BYTE, _WORD, _INT64 = np.uint8(0), np.uint64(0), np.int64(0)


@intrinsic
def _count_panel(typing_context, bits, row_bytes, rows, counters):
    """Count each bit of 64 bytes over at most 255 rows: bit b of byte c is counter b·64 + c, a byte."""
    signature = types.void(*[types.int64] * 4)

    def generate(context, builder, signature, arguments):
        vectors, kind = Vectors(builder), ir.VectorType(I8, PANEL)
        bits, row_bytes, rows, counters = arguments
        one = constant(kind, 1)
        loop = vectors.loop(rows, [constant(kind, 0)] * 8)
        row = vectors.load(vectors.at(bits, builder.mul(loop.turn, row_bytes)), kind)
        counts = [
            builder.add(count, builder.and_(builder.lshr(row, constant(kind, b)), one))
            for b, count in enumerate(loop.values)
        ]
        for b, count in enumerate(loop.close(counts)):
            vectors.store(count, vectors.at(counters, b * PANEL))
        return context.get_dummy_value()

    return signature, generate


@compiled
def count_positions(bits, row_bytes, rows, width, tail, counters, sums):
    """Add each bit of rows of `width` bytes to int64 sums (8·width,).

    A last panel of less than 64 bytes is copied to `tail`, (255, 64) bytes, as nothing may be read past a row.
    """
    for start in range(0, rows, MOST_ROWS):
        height = min(MOST_ROWS, rows - start)
        block = bits + start * row_bytes
        for c in range(0, width, PANEL):
            columns = min(PANEL, width - c)
            if columns == PANEL:
                _count_panel(block + c, row_bytes, height, counters)
            else:
                for r in range(height):
                    for k in range(columns):
                        store(tail + r * PANEL + k, load_like(block + r * row_bytes + c + k, _BYTE))
                _count_panel(tail, PANEL, height, counters)
            for k in range(columns):
                for b in range(8):
                    at = sums + 8 * (8 * (c + k) + b)
                    store(at, load_like(at, _INT64) + np.int64(load_like(counters + b * PANEL + k, _BYTE)))


@compiled
def join_halves(rows, first, second, half_bytes, m, target, target_bytes):
    """Write rows of m bits of `first` followed by m of `second` (unless None), little bit first, spare bits 0.

    Rows of the halves are `half_bytes` apart and can be read 16 bytes past their bits; nothing is written past a target
    row's last byte.
    """
    n_bits = m if second is None else 2 * m
    width = (n_bits + 7) // 8
    for r in range(rows):
        for at in range(0, width, 8):
            word = _WORD
            if 8 * at < m:
                word = load_like(first + r * half_bytes + at, _WORD)
                if m - 8 * at < 64:
                    word &= (np.uint64(1) << np.uint64(m - 8 * at)) - np.uint64(1)
            if second is not None:
                begin = 8 * at - m  # the bit of the second half that comes first in this word
                half = second + r * half_bytes
                if begin >= 0:
                    shift = np.uint64(begin & 7)
                    word |= load_like(half + (begin >> 3), _WORD) >> shift
                    if shift:
                        following = np.uint64(load_like(half + (begin >> 3) + 8, _BYTE))
                        word |= following << (np.uint64(64) - shift)
                elif begin > -64:
                    word |= load_like(half, _WORD) << np.uint64(-begin)
            if n_bits - 8 * at < 64:
                word &= (np.uint64(1) << np.uint64(n_bits - 8 * at)) - np.uint64(1)
            for k in range(min(8, width - at)):
                store(target + r * target_bytes + at + k, np.uint8(word >> np.uint64(8 * k)))
