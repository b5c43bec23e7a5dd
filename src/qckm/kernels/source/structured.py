"""The kernel of structured frequencies: a few rows are transformed block by block, then measured like dense ones.

Phases come with 32 bits, one turn being 2**32, and are used with their upper 24: docs/arithmetic.md.
"""

from __future__ import annotations

from qckm.kernels.instructions import HERE
from qckm.kernels.source import epilogues, tiles
from qckm.kernels.source.compiling import compiled
from qckm.kernels.source.epilogues import VECTOR_BYTES, Tile
from qckm.kernels.source.hadamard import project_block
from qckm.kernels.source.sums import MOST_ROWS, add_from_table, drain_bits, drain_values
from qckm.kernels.source.vectors import I64, Value, Vectors, constant

ROWS, WIDTH = HERE.rows, HERE.width


def _turn(vectors: Vectors, values: Value, size: Value, radii: Value, dither: Value) -> Tile:
    """Emit the phases of a tile of transformed values: dither + radius · value, less its last 8 bits."""
    builder, eight = vectors.builder, constant(vectors.phase, 8)
    phases: Tile = [[] for _ in range(HERE.rows)]
    for v in range(HERE.vectors):
        offset = v * VECTOR_BYTES
        radius = vectors.load(vectors.at(radii, offset), vectors.phase, 4)
        start = vectors.load(vectors.at(dither, offset), vectors.phase, 4)
        for r in range(HERE.rows):
            place = vectors.at(vectors.at(values, builder.mul(I64(4 * r), size)), offset)
            phase = builder.add(start, builder.mul(radius, vectors.load(place, vectors.phase, 4)))
            phases[r].append(builder.lshr(phase, eight))
    return phases


_count_bits = tiles.adding(_turn, epilogues.count_bits)
_add_cosines = tiles.adding(_turn, epilogues.add_cosines)
_store_phases = tiles.adding(_turn, epilogues.store_phases)
_store_bits = tiles.storing_bits(_turn)


@compiled
def _transform_rows(codes, n, size, factors, signs, block, values):
    """Project a tile's rows by one block."""
    words = (n + 1) // 2  # of 4 bytes, in a row of codes
    for r in range(ROWS):
        at = codes + 4 * words * r
        project_block(at, n, size, factors + 4 * block * size, signs + 8 * block * size, values + 4 * r * size)


@compiled
def _drain_all_bits(n_panels, counters, first, second):
    for panel in range(n_panels):
        drain_bits(counters + 8 * panel * WIDTH, panel, first, second)


@compiled
def _drain_all_values(n_panels, counters, first, second):
    for panel in range(n_panels):
        drain_values(counters + 8 * panel * WIDTH, panel, first, second)


@compiled
def sum_bits(codes, rows, n, size, factors, signs, radii, dither, n_panels, values, counters, first, second):
    """Add the bits of all rows to int64 sums. Each panel has counters of its own, as all panels see each row."""
    words = (n + 1) // 2
    for start in range(0, rows, MOST_ROWS):
        for r in range(start, min(start + MOST_ROWS, rows), ROWS):
            for panel in range(n_panels):
                block, inside = divmod(panel * WIDTH, size)
                if inside == 0:
                    _transform_rows(codes + 4 * words * r, n, size, factors, signs, block, values)
                at = 4 * panel * WIDTH
                _count_bits(values + 4 * inside, size, radii + at, dither + at, counters + 2 * at, second)
        _drain_all_bits(n_panels, counters, first, second)


@compiled
def sum_cosines(codes, rows, n, size, factors, signs, radii, dither, n_panels, values, counters, first, second):
    """Add the cosines of all rows' phases, in 32767ths, to int64 sums."""
    words = (n + 1) // 2
    for start in range(0, rows, MOST_ROWS):
        for r in range(start, min(start + MOST_ROWS, rows), ROWS):
            for panel in range(n_panels):
                block, inside = divmod(panel * WIDTH, size)
                if inside == 0:
                    _transform_rows(codes + 4 * words * r, n, size, factors, signs, block, values)
                at = 4 * panel * WIDTH
                _add_cosines(values + 4 * inside, size, radii + at, dither + at, counters + 2 * at, second)
        _drain_all_values(n_panels, counters, first, second)


@compiled
def sum_table(
    codes, rows, n, size, factors, signs, radii, dither, n_panels, values, counters, first, second, table, phases
):
    """Add what a table says of all rows' phases."""
    words = (n + 1) // 2
    for start in range(0, rows, MOST_ROWS):
        for r in range(start, min(start + MOST_ROWS, rows), ROWS):
            for panel in range(n_panels):
                block, inside = divmod(panel * WIDTH, size)
                if inside == 0:
                    _transform_rows(codes + 4 * words * r, n, size, factors, signs, block, values)
                at = 4 * panel * WIDTH
                _store_phases(values + 4 * inside, size, radii + at, dither + at, phases, None)
                add_from_table(phases, ROWS, WIDTH, table, counters + 2 * at, second)
        _drain_all_values(n_panels, counters, first, second)


@compiled
def store_bits(codes, rows, n, size, factors, signs, radii, dither, n_panels, values, first, second, row_bytes):
    """Write the bits of all rows, those of a row `row_bytes` after the last one's."""
    words = (n + 1) // 2
    for r in range(0, rows, ROWS):
        for panel in range(n_panels):
            block, inside = divmod(panel * WIDTH, size)
            if inside == 0:
                _transform_rows(codes + 4 * words * r, n, size, factors, signs, block, values)
            at, to = 4 * panel * WIDTH, panel * (WIDTH // 8) + r * row_bytes
            if second is None:
                _store_bits(values + 4 * inside, size, radii + at, dither + at, first + to, None, row_bytes)
            else:
                _store_bits(values + 4 * inside, size, radii + at, dither + at, first + to, second + to, row_bytes)
