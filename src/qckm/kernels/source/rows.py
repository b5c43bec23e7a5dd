"""Rows to codes: the first stage of every kernel, for rows of any number type, strides and alignment.

A few rows at a time become float64 in a small buffer, whatever they were; then int16 codes, eight features at a time,
with the least and greatest value seen of each feature and a mark on rows with a feature out of reach. As float64 holds
float32 and all the operator's whole numbers of steps exactly, the codes are those of `reference.code_rows`.
"""

from __future__ import annotations

import llvmlite.ir as ir
import numpy as np
from numba import types
from numba.extending import intrinsic

from qckm.kernels.layout import BUFFERED_ROWS
from qckm.kernels.layout import FEATURES_TOGETHER as LANES
from qckm.kernels.reference import CODE_LIMIT
from qckm.kernels.source.compiling import compiled
from qckm.kernels.source.memory import load_like, store
from qckm.kernels.source.vectors import DOUBLE, I8, I16, I32, Vectors, constant


@intrinsic
def _widen(typing_context, source, target, example):
    """Copy eight neighbours of the example's type as float64."""

    def generate(context, builder, signature, arguments):
        vectors, kind = Vectors(builder), ir.VectorType(DOUBLE, LANES)
        values = vectors.load(arguments[0], ir.VectorType(context.get_value_type(example), LANES))
        if isinstance(example, types.Integer):
            values = (builder.sitofp if example.signed else builder.uitofp)(values, kind)
        elif example is types.float32:
            values = builder.fpext(values, kind)
        vectors.store(values, arguments[1], 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, example), generate


@intrinsic
def _code(
    typing_context, height, values, value_bytes, inverse_steps, origin_codes, lower, upper, codes, code_bytes, clipped
):
    """Code eight features of some rows; set the bytes of rows where one was clipped (or is NaN)."""
    signature = types.void(*[types.int64] * 10)

    def generate(context, builder, signature, arguments):
        vectors, kind = Vectors(builder), ir.VectorType(DOUBLE, LANES)
        height, values, value_bytes, inverse_steps, origin_codes, lower, upper, codes, code_bytes, clipped = arguments
        inverse, origin = vectors.load(inverse_steps, kind, 8), vectors.load(origin_codes, kind, 8)
        low, high = constant(kind, -CODE_LIMIT), constant(kind, CODE_LIMIT)
        loop = vectors.loop(height, [vectors.load(lower, kind, 8), vectors.load(upper, kind, 8)])
        least, greatest = loop.values
        x = vectors.load(vectors.at(values, builder.mul(loop.turn, value_bytes)), kind, 8)
        steps = builder.fsub(vectors.call(f"llvm.rint.v{LANES}f64", kind, builder.fmul(x, inverse)), origin)
        within = builder.select(builder.fcmp_ordered(">", steps, low), steps, low)
        within = builder.select(builder.fcmp_ordered("<", within, high), within, high)
        whole = builder.trunc(builder.fptosi(within, ir.VectorType(I32, LANES)), ir.VectorType(I16, LANES))
        vectors.store(whole, vectors.at(codes, builder.mul(loop.turn, code_bytes)), 2)
        out = builder.bitcast(builder.fcmp_unordered("!=", within, steps), I8)
        mark = vectors.at(clipped, loop.turn)
        vectors.store(builder.or_(vectors.load(mark, I8), out), mark)
        least = builder.select(builder.fcmp_ordered("<", x, least), x, least)
        greatest = builder.select(builder.fcmp_ordered(">", x, greatest), x, greatest)
        for value, bound in zip(loop.close([least, greatest]), (lower, upper), strict=True):
            vectors.store(value, bound, 8)
        return context.get_dummy_value()

    return signature, generate


@compiled
def code_rows(
    rows,
    address,
    row_bytes,
    feature_bytes,
    item_bytes,
    example,
    n,
    inverse_steps,
    origin_codes,
    buffer,
    lower,
    upper,
    codes,
    clipped,
):
    """Code rows at an address; return how many have a NaN or an infinity.

    `example` is any number of the rows' type. Codes are written `2·ceil(n / 2)` to a row, then 8 beyond the last.
    """
    padded = (n + LANES - 1) // LANES * LANES
    code_bytes = 2 * ((n + 1) // 2 * 2)
    n_not_finite = 0
    for first in range(0, rows, BUFFERED_ROWS):
        height = min(BUFFERED_ROWS, rows - first)
        for r in range(height):
            source, target = address + (first + r) * row_bytes, buffer + 8 * r * padded
            k = 0
            if feature_bytes == item_bytes:
                while k + LANES <= n:
                    _widen(source + k * item_bytes, target + 8 * k, example)
                    k += LANES
            while k < n:
                store(target + 8 * k, np.float64(load_like(source + k * feature_bytes, example)))
                k += 1
            store(clipped + first + r, np.uint8(0))
        # Last features first: their vector may reach into the next row's first features, which are written after it.
        for k in range(padded - LANES, -1, -LANES):
            _code(
                height,
                buffer + 8 * k,
                8 * padded,
                inverse_steps + 8 * k,
                origin_codes + 8 * k,
                lower + 8 * k,
                upper + 8 * k,
                codes + first * code_bytes + 2 * k,
                code_bytes,
                clipped + first,
            )
        for r in range(height):
            if load_like(clipped + first + r, np.uint8(0)):
                for k in range(n):
                    x = load_like(buffer + 8 * (r * padded + k), np.float64(0))
                    if x - x != 0:
                        n_not_finite += 1
                        break
    return n_not_finite
