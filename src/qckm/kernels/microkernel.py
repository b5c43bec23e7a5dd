"""The micro-kernel of dense frequencies: a tile of phases lives in registers over the whole loop over features.

For each pair of features, the codes of a few rows are broadcast, the int16 frequencies of a panel loaded once, and one
multiply-add a vector does 2·lanes products. What comes after (a bit counted, a cosine added, …) is an `Epilogue`,
applied to the registers: no projection is ever written to memory.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import intrinsic

from qckm.kernels import epilogues
from qckm.kernels.instructions import HERE
from qckm.kernels.epilogues import VECTOR_BYTES, Epilogue, Tile
from qckm.kernels.vectors import I32, I64, Value, Vectors


def _project(vectors: Vectors, codes: Value, code_bytes: Value, panel: Value, dither: Value, pairs: Value) -> Tile:
    """Emit the loop over pairs of features: phases of `rows` rows, `code_bytes` apart, and a panel's frequencies."""
    builder = vectors.builder
    rows, columns = range(HERE.rows), range(HERE.vectors)
    start = [vectors.load(vectors.at(dither, v * VECTOR_BYTES), vectors.phase, 4) for v in columns]
    loop = vectors.loop(pairs, start * HERE.rows)
    here = vectors.at(panel, builder.mul(loop.turn, I64(HERE.vectors * VECTOR_BYTES)))
    frequencies = [vectors.load(vectors.at(here, v * VECTOR_BYTES), vectors.phase, 4) for v in columns]
    following = []
    for r in rows:
        offset = builder.add(builder.mul(I64(r), code_bytes), builder.mul(loop.turn, I64(4)))
        pair = vectors.splat(vectors.load(vectors.at(codes, offset), I32, 2), vectors.phase)
        for v in columns:
            following.append(vectors.multiply_add(loop.values[r * HERE.vectors + v], pair, frequencies[v]))
    phases = loop.close(following)
    return [list(phases[r * HERE.vectors : (r + 1) * HERE.vectors]) for r in rows]


def _tile(measure: Epilogue) -> Any:
    """Make an intrinsic of a measurement into `counters`: those at the phase, then, unless `second` is None, the others."""

    @intrinsic
    def tile(typing_context, codes, code_bytes, panel, dither, pairs, counters, second):  # type: ignore[no-untyped-def]
        paired = not isinstance(second, types.NoneType)
        signature = types.void(*[types.int64] * 6, second)

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            vectors = Vectors(builder)
            *where, first, _ = arguments
            targets = [first, vectors.at(first, HERE.vectors * VECTOR_BYTES)] if paired else [first]
            measure(vectors, _project(vectors, *where), targets)
            return context.get_dummy_value()

        return signature, generate

    return tile


count_bits = _tile(epilogues.count_bits)
add_cosines = _tile(epilogues.add_cosines)
store_phases = _tile(epilogues.store_phases)


@intrinsic
def store_bits(typing_context, codes, code_bytes, panel, dither, pairs, first, second, row_bytes):  # type: ignore[no-untyped-def]
    """Write the bits of a tile, rows `row_bytes` apart."""
    paired = not isinstance(second, types.NoneType)
    signature = types.void(*[types.int64] * 6, second, types.int64)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        vectors = Vectors(builder)
        *where, first, second, row_bytes = arguments
        targets = [first, second] if paired else [first]
        epilogues.store_bits(vectors, _project(vectors, *where), targets, row_bytes)
        return context.get_dummy_value()

    return signature, generate
