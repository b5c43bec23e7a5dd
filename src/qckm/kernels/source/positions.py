"""Bits by their position in a row: gathering the two halves of a paired row, and counting each over many rows."""

from __future__ import annotations

from typing import Any

import llvmlite.ir as ir
import numpy as np
from numba import types
from numba.extending import intrinsic

from qckm.kernels.layout import BITS_PANEL as PANEL
from qckm.kernels.layout import BITS_ROWS as MOST_ROWS
from qckm.kernels.source.compiling import compiled
from qckm.kernels.source.memory import load_like, store
from qckm.kernels.source.vectors import I8, I64, Value, Vectors, constant

_BYTE, _WORD = np.uint8(0), np.uint64(0)


def _add_up(vectors: Vectors, rows: list[Value]) -> list[Value]:
    """Add bits vertically: from 2**k − 1 vectors of bits to the k binary digits of their counts, by full adders."""
    builder, digits = vectors.builder, []
    while rows:
        carries = []
        while len(rows) > 1:
            a, b, c, *rows = rows
            odd = builder.xor(a, b)
            carries.append(builder.or_(builder.and_(a, b), builder.and_(odd, c)))
            rows.append(builder.xor(odd, c))
        digits += rows
        rows = carries
    return digits


def _count_panel(together: int) -> Any:
    """Make the intrinsic that adds each bit of 64 bytes of so many rows to counters of one byte, (8, 64)."""

    @intrinsic
    def count_panel(typing_context, bits, row_bytes, counters):
        def generate(context, builder, signature, arguments):
            vectors, kind = Vectors(builder), ir.VectorType(I8, PANEL)
            bits, row_bytes, counters = arguments
            places = [vectors.at(bits, builder.mul(I64(r), row_bytes)) for r in range(together)]
            digits = _add_up(vectors, [vectors.load(place, kind) for place in places])
            for b in range(8):
                counter = vectors.at(counters, b * PANEL)
                count = vectors.load(counter, kind)
                for d, digit in enumerate(digits):  # bit b of digit d, moved to bit d
                    shift = builder.lshr if b > d else builder.shl
                    moved = shift(digit, constant(kind, abs(b - d)))
                    count = builder.add(count, builder.and_(moved, constant(kind, 1 << d)))
                vectors.store(count, counter)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 3), generate

    return count_panel


_count_one, _count_fifteen = _count_panel(1), _count_panel(15)


@intrinsic
def _drain(typing_context, counters, sums):
    """Add the counters of a panel to its int64 sums, (8, 64), and clear them."""

    def generate(context, builder, signature, arguments):
        vectors, kind, wide = Vectors(builder), ir.VectorType(I8, PANEL), ir.VectorType(I64, PANEL)
        for b in range(8):
            counter, total = vectors.at(arguments[0], b * PANEL), vectors.at(arguments[1], 8 * b * PANEL)
            count = builder.zext(vectors.load(counter, kind), wide)
            vectors.store(builder.add(vectors.load(total, wide, 8), count), total, 8)
            vectors.store(constant(kind, 0), counter)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@compiled
def _copy(source, target, length):
    """Copy bytes, by words where there are that many."""
    if length < 8:
        for k in range(length):
            store(target + k, load_like(source + k, _BYTE))
    else:
        for k in range(0, length - 8, 8):
            store(target + k, load_like(source + k, _WORD))
        store(target + length - 8, load_like(source + length - 8, _WORD))


@compiled
def _count_rows(bits, row_bytes, rows, width, counters, sums):
    """Count rows of at least a panel, in the order in which they lie in memory."""
    for start in range(0, rows, MOST_ROWS):
        height = min(MOST_ROWS, rows - start)
        fifteens = height // 15 * 15
        for r in range(0, fifteens, 15):
            for c in range(0, width, PANEL):
                at = bits + (start + r) * row_bytes + min(c, width - PANEL)
                _count_fifteen(at, row_bytes, counters + 8 * c)
        for r in range(fifteens, height):
            for c in range(0, width, PANEL):
                at = bits + (start + r) * row_bytes + min(c, width - PANEL)
                _count_one(at, row_bytes, counters + 8 * c)
        for c in range(0, width, PANEL):
            _drain(counters + 8 * c, sums + 64 * c)


@compiled
def count_positions(bits, row_bytes, rows, width, short, counters, sums):
    """Add each bit of rows of `width` bytes to int64 sums (panels, 8, 64): of panel p, bit b, column c.

    Nothing may be read past a row. So the last panel overlaps the one before it, whoever reads the sums must know; and
    rows that are shorter than a panel are copied to `short`, (255, 64) bytes.
    """
    if width >= PANEL:
        _count_rows(bits, row_bytes, rows, width, counters, sums)
    else:
        for start in range(0, rows, MOST_ROWS):
            height = min(MOST_ROWS, rows - start)
            for r in range(height):
                _copy(bits + (start + r) * row_bytes, short + r * PANEL, width)
            _count_rows(short, PANEL, height, PANEL, counters, sums)


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
