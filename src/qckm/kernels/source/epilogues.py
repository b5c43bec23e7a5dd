"""What becomes of phases in registers: the ends of the micro-kernels, one for each kind of result.

Each takes phases as vectors, `phases[r][v]` for row r and vector v of a tile, and addresses to add to or write to: one
for the measurements at the phase, one for those a quarter turn on, or only the first where dithers are single.
"""

from __future__ import annotations

from collections.abc import Callable

import llvmlite.ir as ir

from qckm.kernels.instructions import HERE
from qckm.kernels.reference import COSINE_POLYNOMIAL, QUARTER_TURN, TURN
from qckm.kernels.source.vectors import I32, I64, Value, Vectors, constant

Tile = list[list[Value]]
Epilogue = Callable[[Vectors, Tile, list[Value]], None]

VECTOR_BYTES = 4 * HERE.lanes
HALF_TURN = TURN // 2


def count_bits(vectors: Vectors, phases: Tile, targets: list[Value]) -> None:
    """Add bit 23 of each phase to int32 counters in units of 2**23: an `and` and an `add`, no shift.

    They overflow after 511 rows: `MOST_ROWS` bounds how many come between two looks at the counters.
    """
    builder = vectors.builder
    half = constant(vectors.phase, HALF_TURN)
    for quarter, target in enumerate(targets):
        turned = constant(vectors.phase, quarter * QUARTER_TURN)
        for v in range(len(phases[0])):
            address = vectors.at(target, v * VECTOR_BYTES)
            total = vectors.load(address, vectors.phase, 4)
            for row in phases:
                phase = builder.add(row[v], turned) if quarter else row[v]
                total = builder.add(total, builder.and_(phase, half))
            vectors.store(total, address, 4)


def add_cosines(vectors: Vectors, phases: Tile, targets: list[Value]) -> None:
    """Add the cosine of each phase, in 32767ths, to int32 totals; two rows share a vector of int16.

    The polynomial is signatures._cosine_table's, in 16-bit lanes: the phase's upper 16 bits with the last 4 replaced by
    a half, so that it lies in the middle of its 4096th of a turn.
    """
    builder = vectors.builder
    eight, low = constant(vectors.phase, 8), constant(vectors.phase, 0xFFFF)
    ones = builder.bitcast(constant(vectors.halves, 1), vectors.phase)
    high = constant(vectors.phase, -65536)
    for v in range(len(phases[0])):
        totals = [vectors.load(vectors.at(target, v * VECTOR_BYTES), vectors.phase, 4) for target in targets]
        for even, odd in zip(phases[::2], phases[1::2], strict=True):
            both = builder.or_(
                builder.and_(builder.lshr(even[v], eight), low), builder.and_(builder.shl(odd[v], eight), high)
            )
            angle = builder.bitcast(both, vectors.halves)
            angle = builder.or_(builder.and_(angle, constant(vectors.halves, -16)), constant(vectors.halves, 8))
            for quarter in range(len(targets)):
                turned = builder.add(angle, constant(vectors.halves, quarter * 16384))
                cosine = builder.bitcast(_cosine(vectors, turned), vectors.phase)
                totals[quarter] = vectors.multiply_add(totals[quarter], cosine, ones)
        for total, target in zip(totals, targets, strict=True):
            vectors.store(total, vectors.at(target, v * VECTOR_BYTES), 4)


def _cosine(vectors: Vectors, angle: Value) -> Value:
    builder, kind = vectors.builder, angle.type
    name = f"llvm.abs.v{kind.count}i16"
    from_top = vectors.call(name, kind, angle, ir.Constant(ir.IntType(1), 0))
    from_zero = builder.sub(constant(kind, 1 << 14), from_top)
    s = builder.add(from_zero, from_zero)
    square = _rounding_product(vectors, s, s)
    p = constant(kind, COSINE_POLYNOMIAL[3])
    for coefficient in COSINE_POLYNOMIAL[2::-1]:
        p = builder.add(_rounding_product(vectors, square, p), constant(kind, coefficient))
    return builder.add(s, _rounding_product(vectors, s, p))


def _rounding_product(vectors: Vectors, left: Value, right: Value) -> Value:
    """(left·right + 2**14) >> 15. Never of −32768 twice, where the instructions differ."""
    if HERE.rounding_multiply:
        return vectors.call(HERE.rounding_multiply, left.type, left, right)
    builder, wide = vectors.builder, ir.VectorType(I32, left.type.count)
    product = builder.mul(builder.sext(left, wide), builder.sext(right, wide))
    rounded = builder.ashr(builder.add(product, constant(wide, 1 << 14)), constant(wide, 15))
    return builder.trunc(rounded, left.type)


def store_phases(vectors: Vectors, phases: Tile, targets: list[Value]) -> None:
    """Write the phases row by row, for a table to be looked up in: one address serves both measurements."""
    for r, row in enumerate(phases):
        for v, phase in enumerate(row):
            vectors.store(phase, vectors.at(targets[0], (r * len(row) + v) * VECTOR_BYTES), 4)


def store_bits(vectors: Vectors, phases: Tile, targets: list[Value], row_bytes: Value) -> None:
    """Write bit 23 of each phase, packed, little bit first; consecutive rows are `row_bytes` apart."""
    builder = vectors.builder
    zero, eight = constant(vectors.phase, 0), constant(vectors.phase, 8)
    bytes_a_vector = max(1, HERE.lanes // 8)
    for quarter, target in enumerate(targets):
        turned = constant(vectors.phase, quarter * QUARTER_TURN)
        for r, row in enumerate(phases):
            start = vectors.at(target, builder.mul(I64(r), row_bytes))
            signs = [builder.icmp_signed("<", builder.shl(builder.add(p, turned), eight), zero) for p in row]
            if HERE.lanes < 8:  # two vectors fill a byte
                lanes = ir.Constant(ir.VectorType(I32, 8), list(range(8)))
                signs = [builder.shuffle_vector(a, b, lanes) for a, b in zip(signs[::2], signs[1::2], strict=True)]
            for v, sign in enumerate(signs):
                packed = builder.bitcast(sign, ir.IntType(8 * bytes_a_vector))
                vectors.store(packed, vectors.at(start, v * bytes_a_vector))
