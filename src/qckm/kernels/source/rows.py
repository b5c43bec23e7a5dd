"""Rows to codes: the first stage of every kernel, for rows of any number type, strides and alignment.

Vectors of features become int16 codes, with the least and greatest value seen of each feature and a mark on rows with a
feature out of reach. Where the rows' own numbers are what is computed with, and a row's features are neighbours, they
are read where they lie; other numbers, and the last features of a row, come by a small buffer.

The arithmetic is float64's, or float32's where `coding.Coder` has found that this makes no difference.
"""

from __future__ import annotations

import llvmlite.ir as ir
import numpy as np
from numba import types
from numba.extending import intrinsic

from qckm.kernels.layout import BUFFERED_ROWS, CACHE_LINE
from qckm.kernels.reference import CODE_LIMIT
from qckm.kernels.source.compiling import compiled
from qckm.kernels.source.memory import load_like, store
from qckm.kernels.source.vectors import I16, I32, Vectors, constant


@intrinsic
def _code(
    typing_context,
    height,
    values,
    value_bytes,
    inverse_steps,
    origin_codes,
    bounds,
    bound_bytes,
    codes,
    code_bytes,
    clipped,
    work,
):
    """Code a cache line of features of some rows; set the bytes of rows where one was clipped (or is NaN).

    `work` is a number of the type of the values, and of the arithmetic.
    """
    lanes = 512 // work.bitwidth

    def generate(context, builder, signature, arguments):
        (
            height,
            values,
            value_bytes,
            inverse_steps,
            origin_codes,
            lower,
            bound_bytes,
            codes,
            code_bytes,
            clipped,
            _,
        ) = arguments
        vectors, kind = Vectors(builder), ir.VectorType(context.get_value_type(work), lanes)
        upper = vectors.at(lower, bound_bytes)
        inverse, origin = vectors.load(inverse_steps, kind, 4), vectors.load(origin_codes, kind, 4)
        low, high = constant(kind, -CODE_LIMIT), constant(kind, CODE_LIMIT)
        loop = vectors.loop(height, [vectors.load(lower, kind, 4), vectors.load(upper, kind, 4)])
        least, greatest = loop.values
        x = vectors.load(vectors.at(values, builder.mul(loop.turn, value_bytes)), kind)
        rounded = vectors.call(f"llvm.rint.v{lanes}f{work.bitwidth}", kind, builder.fmul(x, inverse))
        steps = builder.fsub(rounded, origin)
        within = builder.select(builder.fcmp_ordered(">", steps, low), steps, low)
        within = builder.select(builder.fcmp_ordered("<", within, high), within, high)
        whole = builder.trunc(builder.fptosi(within, ir.VectorType(I32, lanes)), ir.VectorType(I16, lanes))
        vectors.store(whole, vectors.at(codes, builder.mul(loop.turn, code_bytes)), 2)
        out = builder.bitcast(builder.fcmp_unordered("!=", within, steps), ir.IntType(lanes))
        mark = vectors.at(clipped, builder.mul(loop.turn, ir.IntType(64)(2)))
        vectors.store(builder.or_(vectors.load(mark, I16), builder.zext(out, I16) if lanes < 16 else out), mark)
        least = builder.select(builder.fcmp_ordered("<", x, least), x, least)
        greatest = builder.select(builder.fcmp_ordered(">", x, greatest), x, greatest)
        for value, bound in zip(loop.close([least, greatest]), (lower, upper), strict=True):
            vectors.store(value, bound, 4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 10, work), generate


@intrinsic
def _prefetch(typing_context, address):
    """Ask for a cache line; an address that does not exist does no harm."""

    def generate(context, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
        read, keep, data = (ir.Constant(I32, number) for number in (0, 2, 1))
        Vectors(builder).call("llvm.prefetch.p0", ir.VoidType(), pointer, read, keep, data)
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic
def _as(typing_context, value, work):
    """Convert a number to the type of another."""

    def generate(context, builder, signature, arguments):
        return context.cast(builder, arguments[0], value, work)

    return work(value, work), generate


@compiled
def code_rows(
    rows,
    address,
    row_bytes,
    feature_bytes,
    direct,
    n,
    lanes,
    inverse_steps,
    origin_codes,
    buffer,
    bounds,
    codes,
    clipped,
    example,
    work,
):
    """Code rows at an address; return how many have a NaN or an infinity.

    `example` is a number of the rows' type, `work` one of the arithmetic's, of which a cache line holds `lanes`. With
    `direct`, the first features of a row are read where they are. Codes are written `2·ceil(n / 2)` to a row, then up
    to a vector's more after the last.
    """
    size = 64 // lanes
    padded = (n + lanes - 1) // lanes * lanes
    code_bytes = 2 * ((n + 1) // 2 * 2)
    buffered = n // lanes * lanes if direct else 0  # the first feature that comes by the buffer
    n_not_finite = 0
    for first in range(0, rows, BUFFERED_ROWS):
        height = min(BUFFERED_ROWS, rows - first)
        block = address + first * row_bytes
        if direct:  # memory is fast enough but far away: ask for rows to come while these are coded
            following = block + 4 * BUFFERED_ROWS * row_bytes
            for line in range(following, following + BUFFERED_ROWS * row_bytes, CACHE_LINE):
                _prefetch(line)
        for r in range(height):
            for k in range(buffered, n):
                value = load_like(block + r * row_bytes + k * feature_bytes, example)
                store(buffer + size * (r * padded + k), _as(value, work))
            store(clipped + 2 * (first + r), np.uint16(0))
        # Last features first: their vector may reach into the next row's first features, which are written after it.
        for k in range(padded - lanes, -1, -lanes):
            values, value_bytes = buffer + size * k, size * padded
            if k < buffered:
                values, value_bytes = block + size * k, row_bytes
            _code(
                height,
                values,
                value_bytes,
                inverse_steps + size * k,
                origin_codes + size * k,
                bounds + size * k,
                size * padded,
                codes + first * code_bytes + 2 * k,
                code_bytes,
                clipped + 2 * first,
                work,
            )
        for r in range(height):
            if load_like(clipped + 2 * (first + r), np.uint16(0)):
                for k in range(n):
                    x = np.float64(load_like(block + r * row_bytes + k * feature_bytes, example))
                    if x - x != 0:
                        n_not_finite += 1
                        break
    return n_not_finite
