"""Micro-kernels as numba intrinsics: a way to phases in registers, and an epilogue that measures them there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic

from qckm.kernels.instructions import HERE
from qckm.kernels.source import epilogues
from qckm.kernels.source.epilogues import VECTOR_BYTES, Epilogue, Tile
from qckm.kernels.source.vectors import Value, Vectors

# From the addresses of a tile's rows (of so many 4-byte words each), coefficients and dither to its phases.
Phases = Callable[[Vectors, Value, Value, Value, Value], Tile]


def adding(phases: Phases, epilogue: Epilogue) -> Any:
    """Make the intrinsic that adds a tile's measurements to `counters`.

    They are `HERE.width` int32 for the phase itself and, unless `second` is None, as many a quarter turn on.
    """

    @intrinsic
    def tile(typing_context, rows, words, coefficients, dither, counters, second):
        paired = not isinstance(second, types.NoneType)
        signature = types.void(*[types.int64] * 5, second)

        def generate(context, builder, signature, arguments):
            vectors = Vectors(builder)
            *where, first, _ = arguments
            targets = [first, vectors.at(first, HERE.vectors * VECTOR_BYTES)] if paired else [first]
            epilogue(vectors, phases(vectors, *where), targets)
            return context.get_dummy_value()

        return signature, generate

    return tile


def storing_bits(phases: Phases) -> Any:
    """Make the intrinsic that writes a tile's bits to two addresses (or one), rows `row_bytes` apart."""

    @intrinsic
    def tile(typing_context, rows, words, coefficients, dither, first, second, row_bytes):
        paired = not isinstance(second, types.NoneType)
        signature = types.void(*[types.int64] * 5, second, types.int64)

        def generate(context, builder, signature, arguments):
            vectors = Vectors(builder)
            *where, first, second, row_bytes = arguments
            targets = [first, second] if paired else [first]
            epilogues.store_bits(vectors, phases(vectors, *where), targets, row_bytes)
            return context.get_dummy_value()

        return signature, generate

    return tile
