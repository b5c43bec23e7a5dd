"""The kernel of octaves: one projection serves them all.

The codes of an octave are twice those of the one below, and so is the projection, exactly, for overflow is the modulo
of a phase. That of a tile is written to the first-level cache once; each octave reads it, shifts it, adds a dither of
its own, and measures. Panels are those of the lowest octave; dithers, counters and sums those of one after the other.
"""

from __future__ import annotations

from qckm.kernels.instructions import HERE
from qckm.kernels.source import epilogues, tiles
from qckm.kernels.source.compiling import compiled
from qckm.kernels.source.dense import PANEL_BYTES, ROWS, WIDTH, store_phases
from qckm.kernels.source.epilogues import VECTOR_BYTES, Tile
from qckm.kernels.source.sums import MOST_ROWS, drain_bits, drain_values
from qckm.kernels.source.vectors import I32, Value, Vectors

COUNTER_BYTES = 2 * 4 * WIDTH  # an octave's: at the phase, and a quarter turn on


def _shift(vectors: Vectors, projection: Value, octave: Value, _: Value, dither: Value) -> Tile:
    """Emit the phases of an octave, from the projection of a tile."""
    builder = vectors.builder
    amount = vectors.splat(builder.trunc(octave, I32), vectors.phase)
    start = [vectors.load(vectors.at(dither, v * VECTOR_BYTES), vectors.phase, 4) for v in range(HERE.vectors)]

    def phase(r: int, v: int) -> Value:
        lowest = vectors.load(vectors.at(projection, (r * HERE.vectors + v) * VECTOR_BYTES), vectors.phase, 4)
        return builder.add(builder.shl(lowest, amount), start[v])

    return [[phase(r, v) for v in range(HERE.vectors)] for r in range(HERE.rows)]


_count_bits = tiles.adding(_shift, epilogues.count_bits)
_add_cosines = tiles.adding(_shift, epilogues.add_cosines)


@compiled
def sum_bits(codes, rows, pairs, panels, dither, n_panels, counters, first, second, octaves, nothing, projection):
    """Add the bits of all rows to int64 sums; `nothing` is a dither of zeros, `projection` has room for a tile."""
    for panel in range(n_panels):
        frequencies = panels + panel * pairs * PANEL_BYTES
        for start in range(0, rows, MOST_ROWS):
            for r in range(start, min(start + MOST_ROWS, rows), ROWS):
                store_phases(codes + r * pairs * 4, pairs, frequencies, nothing, projection, None)
                for octave in range(octaves):
                    own = dither + (octave * n_panels + panel) * PANEL_BYTES
                    _count_bits(projection, octave, 0, own, counters + octave * COUNTER_BYTES, second)
            for octave in range(octaves):
                drain_bits(counters + octave * COUNTER_BYTES, octave * n_panels + panel, first, second)


@compiled
def sum_cosines(codes, rows, pairs, panels, dither, n_panels, counters, first, second, octaves, nothing, projection):
    """Add the cosines of all rows' phases, in 32767ths, to int64 sums; the rest as above."""
    for panel in range(n_panels):
        frequencies = panels + panel * pairs * PANEL_BYTES
        for start in range(0, rows, MOST_ROWS):
            for r in range(start, min(start + MOST_ROWS, rows), ROWS):
                store_phases(codes + r * pairs * 4, pairs, frequencies, nothing, projection, None)
                for octave in range(octaves):
                    own = dither + (octave * n_panels + panel) * PANEL_BYTES
                    _add_cosines(projection, octave, 0, own, counters + octave * COUNTER_BYTES, second)
            for octave in range(octaves):
                drain_values(counters + octave * COUNTER_BYTES, octave * n_panels + panel, first, second)
