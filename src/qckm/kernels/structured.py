"""The kernel of structured frequencies: a few rows are transformed block by block, then measured like dense ones.

Phases come with 32 bits, one turn being 2**32, and are used with their upper 24: docs/arithmetic.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.kernels import epilogues, tiles
from qckm.kernels.compiling import compiled
from qckm.kernels.epilogues import VECTOR_BYTES, Tile
from qckm.kernels.hadamard import project_block
from qckm.kernels.instructions import HERE
from qckm.kernels.memory import address, aligned
from qckm.kernels.positions import join_halves
from qckm.kernels.scratch import Measurement, Scratch
from qckm.kernels.sums import MOST_ROWS, add_from_table, drain_bits, drain_values
from qckm.kernels.vectors import I64, Value, Vectors, constant

Int16s = npt.NDArray[np.int16]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

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


class Structured:
    """Structured frequencies, a dither and a signature, laid out for these functions.

    Parameters
    ----------
    signs : ndarray of int8, shape (blocks, 3, size)
        ±1, the diagonals S₁, S₂ and S₃ of each block.
    factors : ndarray of int32, shape (n,)
    radii : ndarray of int32, shape (m,)
    dither_codes : ndarray of int32, shape (m,)
    measurement : Measurement
    paired : bool
    """

    tile_rows = ROWS

    def __init__(
        self,
        signs: npt.NDArray[np.int8],
        factors: Int32s,
        radii: Int32s,
        dither_codes: Int32s,
        measurement: Measurement,
        paired: bool,
    ) -> None:
        self.measurement, self.paired, self.m = measurement, paired, len(radii)
        n, (blocks, _, size) = len(factors), signs.shape
        n_panels = -(-self.m // WIDTH)
        self._width, self._size = n_panels * WIDTH, size
        self._factors = aligned((blocks, size), np.int32)
        self._factors[:, :n] = signs[:, 0, :n] * factors
        self._signs = aligned((blocks, 2, size), np.int32)
        self._signs[:] = -(signs[:, 1:] < 0).astype(np.int32)
        self._radii, self._dither = aligned((2, self._width), np.int32)
        self._radii[: self.m] = radii
        self._dither[: self.m] = ((dither_codes.astype(np.int64) + measurement.first_phase) << 8).astype(np.int32)
        arrays = (self._factors, self._signs, self._radii, self._dither)
        self._frequencies: tuple[int, ...] = n, size, *map(address, arrays), n_panels

    def scratch(self, height: int) -> Scratch:
        """Return what a thread needs for chunks of that many rows."""
        return Scratch(self._width, height, self.paired, n_counters=self._width, n_values=self._size)

    def sum(self, codes: Int16s, scratch: Scratch) -> Int64s:
        """Return the sum (M,) of the contributions of coded rows."""
        room = address(scratch.values), address(scratch.counters), *scratch.clear()
        arguments: tuple[Any, ...] = address(codes), len(codes), *self._frequencies, *room
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
        values = address(scratch.values)
        store_bits(address(codes), len(codes), *self._frequencies, values, first, second, row_bytes)
        join_halves(len(bits), first, second, row_bytes, self.m, address(bits), bits.strides[0])
