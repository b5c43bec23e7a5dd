"""The kernel of dense frequencies: a tile of phases lives in registers over the whole loop over features.

For each pair of features, the codes of a few rows are broadcast, the int16 frequencies of a panel loaded once, and one
multiply-add a vector does 2·lanes products; then an epilogue measures the phases where they are. No projection is ever
written to memory.

A panel is the frequencies of one tile, (pairs of features, width, 2) int16: read from the first-level cache over and
over while the rows go by. Each function takes a number of rows that is a multiple of the tile's, and addresses.
`second` is where the measurements a quarter turn on go, None where dithers are single.
"""

from __future__ import annotations

from qckm.kernels.instructions import HERE
from qckm.kernels.source import epilogues, tiles
from qckm.kernels.source.compiling import compiled
from qckm.kernels.source.epilogues import VECTOR_BYTES, Tile
from qckm.kernels.source.sums import MOST_ROWS, add_from_table, drain_bits, drain_values
from qckm.kernels.source.vectors import I32, I64, Value, Vectors

ROWS, WIDTH = HERE.rows, HERE.width
PANEL_BYTES = 4 * WIDTH  # a panel's, for each pair of features; also that of its dither


def _project(vectors: Vectors, codes: Value, pairs: Value, panel: Value, dither: Value) -> Tile:
    """Emit the loop over pairs of features."""
    builder = vectors.builder
    rows, columns = range(HERE.rows), range(HERE.vectors)
    start = [vectors.load(vectors.at(dither, v * VECTOR_BYTES), vectors.phase, 4) for v in columns]
    loop = vectors.loop(pairs, start * HERE.rows)
    here = vectors.at(panel, builder.mul(loop.turn, I64(PANEL_BYTES)))
    frequencies = [vectors.load(vectors.at(here, v * VECTOR_BYTES), vectors.phase, 4) for v in columns]
    following = []
    for r in rows:
        word = builder.add(builder.mul(I64(r), pairs), loop.turn)
        pair = vectors.load(vectors.at(codes, builder.mul(word, I64(4))), I32, 2)
        broadcast = vectors.splat(pair, vectors.phase)
        for v in columns:
            following.append(vectors.multiply_add(loop.values[r * HERE.vectors + v], broadcast, frequencies[v]))
    phases = loop.close(following)
    return [list(phases[r * HERE.vectors : (r + 1) * HERE.vectors]) for r in rows]


_count_bits = tiles.adding(_project, epilogues.count_bits)
_add_cosines = tiles.adding(_project, epilogues.add_cosines)
store_phases = tiles.adding(_project, epilogues.store_phases)
_store_bits = tiles.storing_bits(_project)


@compiled
def sum_bits(codes, rows, pairs, panels, dither, n_panels, counters, first, second):
    """Add the bits of all rows to int64 sums."""
    for panel in range(n_panels):
        frequencies, start_phase = panels + panel * pairs * PANEL_BYTES, dither + panel * PANEL_BYTES
        for start in range(0, rows, MOST_ROWS):
            for r in range(start, min(start + MOST_ROWS, rows), ROWS):
                _count_bits(codes + r * pairs * 4, pairs, frequencies, start_phase, counters, second)
            drain_bits(counters, panel, first, second)


@compiled
def sum_cosines(codes, rows, pairs, panels, dither, n_panels, counters, first, second):
    """Add the cosines of all rows' phases, in 32767ths, to int64 sums."""
    for panel in range(n_panels):
        frequencies, start_phase = panels + panel * pairs * PANEL_BYTES, dither + panel * PANEL_BYTES
        for start in range(0, rows, MOST_ROWS):
            for r in range(start, min(start + MOST_ROWS, rows), ROWS):
                _add_cosines(codes + r * pairs * 4, pairs, frequencies, start_phase, counters, second)
            drain_values(counters, panel, first, second)


@compiled
def sum_table(codes, rows, pairs, panels, dither, n_panels, counters, first, second, table, phases):
    """Add what a table says of all rows' phases; `phases` holds those of one tile, in the first-level cache."""
    for panel in range(n_panels):
        frequencies, start_phase = panels + panel * pairs * PANEL_BYTES, dither + panel * PANEL_BYTES
        for start in range(0, rows, MOST_ROWS):
            for r in range(start, min(start + MOST_ROWS, rows), ROWS):
                store_phases(codes + r * pairs * 4, pairs, frequencies, start_phase, phases, None)
                add_from_table(phases, ROWS, WIDTH, table, counters, second)
            drain_values(counters, panel, first, second)


@compiled
def store_bits(codes, rows, pairs, panels, dither, n_panels, first, second, row_bytes):
    """Write the bits of all rows, those of a row `row_bytes` after the last one's."""
    for panel in range(n_panels):
        frequencies, start_phase = panels + panel * pairs * PANEL_BYTES, dither + panel * PANEL_BYTES
        for r in range(0, rows, ROWS):
            at = panel * (WIDTH // 8) + r * row_bytes
            if second is None:
                _store_bits(codes + r * pairs * 4, pairs, frequencies, start_phase, first + at, None, row_bytes)
            else:
                _store_bits(codes + r * pairs * 4, pairs, frequencies, start_phase, first + at, second + at, row_bytes)
