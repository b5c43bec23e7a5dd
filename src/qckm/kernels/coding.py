"""Rows to codes: the first stage of every kernel, for rows of any number type, strides and alignment.

A few rows at a time become float64 in a small buffer, whatever they were; then int16 codes, eight features at a time,
with the least and greatest value seen of each feature and a mark on rows with a feature out of reach. As float64 holds
float32 and all the operator's whole numbers of steps exactly, the codes are those of `reference.code_rows`.
"""

from __future__ import annotations

from typing import Any

import llvmlite.ir as ir
import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic

from qckm.kernels.compiling import compiled
from qckm.kernels.memory import address, aligned, load_like, store
from qckm.kernels.reference import CODE_LIMIT
from qckm.kernels.vectors import DOUBLE, I8, I16, I32, Vectors, constant

Floats = npt.NDArray[np.float64]

LANES = 8  # features coded together
BUFFERED_ROWS = 16  # so that a vector is not loaded right after its parts were stored, which stalls


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


class Coder:
    """The coding stage of an operator, with the arrays it writes to: one for each thread."""

    def __init__(self, steps: Floats, origin: Floats, height: int) -> None:
        self.n = n = len(steps)
        padded = -(-n // LANES) * LANES
        self._inverse_steps, self._origin_codes = aligned((2, padded), np.float64)
        self._inverse_steps[:n], self._origin_codes[:n] = 1 / steps, origin / steps
        self._buffer = aligned((BUFFERED_ROWS, padded), np.float64)
        self._bounds: Floats = aligned((2, padded), np.float64)
        self._bounds[0], self._bounds[1] = np.inf, -np.inf
        self.codes: npt.NDArray[np.int16] = aligned((height, (n + 1) // 2 * 2), np.int16)
        self.clipped: npt.NDArray[np.uint8] = aligned((height,), np.uint8)
        self._addresses = [
            address(array)
            for array in (
                self._inverse_steps,
                self._origin_codes,
                self._buffer,
                *self._bounds,
                self.codes,
                self.clipped,
            )
        ]

    @property
    def lower(self) -> Floats:
        """The least value seen of each feature."""
        return self._bounds[0, : self.n]

    @property
    def upper(self) -> Floats:
        """The greatest value seen of each feature."""
        return self._bounds[1, : self.n]

    def code(self, rows: npt.NDArray[Any]) -> bool:
        """Write the codes of rows to `codes`, and non-zero bytes to `clipped`; return whether all were finite."""
        native = rows.dtype.newbyteorder("=")
        if rows.dtype != native:
            rows = rows.astype(native)
        example = np.dtype(f"{native.kind}{native.itemsize}").type(0)  # C's long long is an int64 too
        row_bytes, feature_bytes = rows.strides
        n_not_finite = code_rows(
            len(rows), address(rows), row_bytes, feature_bytes, native.itemsize, example, self.n, *self._addresses
        )
        return bool(n_not_finite == 0)
