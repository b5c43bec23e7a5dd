"""The kernel of dense frequencies: a tile of phases lives in registers over the whole loop over features.

For each pair of features, the codes of a few rows are broadcast, the int16 frequencies of a panel loaded once, and one
multiply-add a vector does 2·lanes products; then an epilogue measures the phases where they are. No projection is ever
written to memory.

A panel is the frequencies of one tile, (pairs of features, width, 2) int16: read from the first-level cache over and
over while the rows go by. Each function takes a number of rows that is a multiple of the tile's, and addresses.
`second` is where the measurements a quarter turn on go, None where dithers are single.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.kernels import epilogues, tiles
from qckm.kernels.compiling import compiled
from qckm.kernels.epilogues import VECTOR_BYTES, Tile
from qckm.kernels.instructions import HERE
from qckm.kernels.memory import address, aligned
from qckm.kernels.positions import join_halves
from qckm.kernels.scratch import Measurement, Scratch
from qckm.kernels.sums import MOST_ROWS, add_from_table, drain_bits, drain_values
from qckm.kernels.vectors import I32, I64, Value, Vectors

Int16s = npt.NDArray[np.int16]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

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
_store_phases = tiles.adding(_project, epilogues.store_phases)
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
                _store_phases(codes + r * pairs * 4, pairs, frequencies, start_phase, phases, None)
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


class Dense:
    """Dense frequencies, a dither and a signature, laid out for these functions.

    Parameters
    ----------
    frequency_codes : ndarray of int16, shape (n, m)
    dither_codes : ndarray of int32, shape (m,)
    measurement : Measurement
    paired : bool
    """

    tile_rows = ROWS

    def __init__(self, frequency_codes: Int16s, dither_codes: Int32s, measurement: Measurement, paired: bool) -> None:
        n, m = frequency_codes.shape
        self.measurement, self.paired, self.m = measurement, paired, m
        self._pairs, self._n_panels = -(-n // 2), -(-m // WIDTH)
        padded = np.zeros((2 * self._pairs, self._n_panels * WIDTH), np.int16)
        padded[:n, :m] = frequency_codes
        self._panels = aligned((self._n_panels, self._pairs, WIDTH, 2), np.int16)
        self._panels[:] = padded.reshape(self._pairs, 2, self._n_panels, WIDTH).transpose(2, 0, 3, 1)
        self._dither = aligned((self._n_panels * WIDTH,), np.int32)
        self._dither[:m] = dither_codes + measurement.first_phase
        self._frequencies: tuple[int, ...] = self._pairs, address(self._panels), address(self._dither), self._n_panels

    def scratch(self, height: int) -> Scratch:
        """Return what a thread needs for chunks of that many rows."""
        return Scratch(self._n_panels * WIDTH, height, self.paired)

    def sum(self, codes: Int16s, scratch: Scratch) -> Int64s:
        """Return the sum (M,) of the contributions of coded rows."""
        arguments: tuple[Any, ...] = (
            address(codes),
            len(codes),
            *self._frequencies,
            address(scratch.counters),
            *scratch.clear(),
        )
        if self.measurement.kind == "bits":
            sum_bits(*arguments)
        elif self.measurement.kind == "cosines":
            sum_cosines(*arguments)
        else:
            sum_table(*arguments, address(self.measurement.table), address(scratch.phases))
        return self.measurement.values(scratch.sums[:, : self.m].ravel(), len(codes))

    def encode(self, codes: Int16s, scratch: Scratch, bits: Bytes) -> None:
        """Write the packed contributions of the first rows of `codes`, as many as `bits` has."""
        first, second, row_bytes = scratch.halves()
        store_bits(address(codes), len(codes), *self._frequencies, first, second, row_bytes)
        join_halves(len(bits), first, second, row_bytes, self.m, address(bits), bits.strides[0])
