"""The integers of an operator: frequencies and dither, given as they are or made from a recipe.

A recipe is the few numbers that they are made of, anywhere, by integer arithmetic. docs/arithmetic.md, "Frequencies
from a recipe", is the specification; the header that `op.export_c` writes is the same in C. Every frequency comes from
counters of its own, so that any of them can be made without the others.

Octaves are the same frequencies at several scales, a factor 2 apart, for data whose scale nobody knows yet: block j of
the codes is 2ʲ times block 0, exactly. Octave 0 has the lowest frequencies and the coarsest scale, the last one the
finest. One integer projection, shifted, gives them all (kernels/README.md). Which one suits the data is decided after
the pass (decoding/search/scales.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Self

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Array, Int64s, Value
from qckm.errors import OperatorError
from qckm.kernels.reference import CODE_LIMIT, TURN
from qckm.operator.structured import StructuredCodes, block_size, unpack_signs

CELLS = 256  # of the half-normal law, equally likely
LAST = 14107  # where the last of them ends, so that the variance is 1
MOST_FEATURES = 1 << 20  # Σ g², times 2**14, fits 64 bits
MOST_DEGREES = 1 << 22
MOST_COMPONENTS = 1 << 26  # n·m of frequencies that a file may ask for in a few bytes
LEAST_STRUCTURED = 32  # features: a row of a block hardly vanishes on so many
# An int16 other than 0 cannot be doubled more often.
MOST_OCTAVES = 15
_LEAST_ROOT = 4096  # of (ρ²)^(1/3), in 65536ths
_AT_A_TIME = 1 << 18  # components
_FACTORS = 0xD2511F53, 0xCD9E8D57
_WEYL = 0x9E3779B9, 0xBB67AE85
_LOW = np.uint64(0xFFFFFFFF)

Uint64s = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Recipe(Value):
    """All that frequencies and dither depend on.

    Parameters
    ----------
    n, m : int
    seed : int
        0 … 2**64 − 1.
    degrees : int
        Norms are spread as those of Gaussian vectors of so many components.
    gains : ndarray of int64, shape (n,), or (1,) of structured frequencies
        The rms of a feature's codes, of the finest octave, or of the radii: in 65536ths, below 2**31.
    octaves : int
        How often the frequencies are repeated, each time doubled; m counts all of them.
    dithered : bool
        Whether there is a dither, or all of it is 0.
    factors : ndarray of int32, shape (n,), optional
        Of structured frequencies.
    """

    n: int
    m: int
    seed: int
    degrees: int
    gains: Int64s
    octaves: int = 1
    dithered: bool = True
    factors: npt.NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        structured = self.factors is not None
        if not 0 <= self.seed < 2**64 or not 0 < self.degrees <= MOST_DEGREES or not 0 < self.n <= MOST_FEATURES:
            raise OperatorError(
                f"Expected a seed below 2**64, 1 to {MOST_DEGREES} degrees and 1 to {MOST_FEATURES} features, got "
                f"{self.seed}, {self.degrees} and {self.n}. Use another law for more features."
            )
        if not 0 < self.octaves <= MOST_OCTAVES or self.m % self.octaves or (structured and self.octaves > 1):
            raise OperatorError(
                f"Expected 1 to {MOST_OCTAVES} octaves of dense frequencies, got {self.octaves} of {self.m}."
            )
        if self.gains.shape != (1 if structured else self.n,) or (self.gains < 0).any() or (self.gains >> 31).any():
            raise OperatorError("Frequencies do not fit: use smaller steps, or a larger scale.")

    @property
    def is_small(self) -> bool:
        """Whether a file may hold the recipe alone: reading a few bytes must not take gigabytes."""
        return self.m * (1 if self.factors is not None else self.n) <= MOST_COMPONENTS

    def dither(self) -> npt.NDArray[np.int32]:
        """Return the dither codes, (m,)."""
        if not self.dithered:
            return np.zeros(self.m, np.int32)
        return (self._openings()[1] >> np.uint64(8)).astype(np.int32)

    def frequencies(self) -> npt.NDArray[np.int16] | StructuredCodes:
        """Return the frequency codes."""
        if self.factors is not None:
            radii = (self.norms() * self.gains[0] + (1 << 31)) >> 32
            return StructuredCodes(self._signs(), self.factors, np.maximum(1, radii).astype(np.int32))
        base, shift = self.m // self.octaves, self.octaves - 1
        codes = np.empty((self.n, self.m), np.int16)
        some = max(1, _AT_A_TIME // self.n)
        for start in range(0, base, some):
            here = slice(start, min(base, start + some))
            found = self.gains * self._components(here.start, here.stop) + (1 << (31 + shift))
            found >>= 32 + shift
            np.clip(found, -(CODE_LIMIT >> shift), CODE_LIMIT >> shift, out=found)
            codes[:, here] = found.T
        for octave in range(1, self.octaves):
            codes[:, octave * base : (octave + 1) * base] = codes[:, :base] << octave
        return codes

    def components(self) -> Int64s:
        """Return the frequencies of the finest octave with a gain of 1, in 65536ths: (n, m / octaves)."""
        found = np.empty((self.n, self.m // self.octaves), np.int64)
        some = max(1, _AT_A_TIME // self.n)
        for start in range(0, found.shape[1], some):
            stop = min(found.shape[1], start + some)
            found[:, start:stop] = self._components(start, stop).T
        return found

    def norms(self) -> Int64s:
        """Return the norms of all frequencies in units of their rms, in 65536ths, (m,)."""
        return self._norms(self._openings()[0])

    def _norms(self, first: Uint64s) -> Int64s:
        """Return the norms that the first words of frequencies make."""
        words, edges = first.astype(np.int64), quantiles()
        cells, places = words >> 23 & CELLS - 1, words >> 7 & 0xFFFF
        normal = edges[cells] + ((edges[cells + 1] - edges[cells]) * places >> 16)
        spread = normal * int(_root(np.array([(1 << 33) // (9 * self.degrees)], np.uint64))[0]) + 2048 >> 12
        roots = (1 << 16) - (1 << 17) // (9 * self.degrees) + np.where(words >> 31 != 0, -spread, spread)
        roots = np.maximum(_LEAST_ROOT, roots)
        found: Int64s = roots * _root((roots << 16).astype(np.uint64)).astype(np.int64) >> 16
        return found

    def _components(self, start: int, stop: int) -> Int64s:
        """Return components of some frequencies, (stop − start, n), as of `components`."""
        blocks = -(-(self.n + 4) // 8)
        of = np.arange(start, stop, dtype=np.uint64)[:, np.newaxis]
        words = philox(np.arange(blocks, dtype=np.uint64), of, 0, 0, self.seed)
        # Two halves of a word, the lower first; the first two words are those of norm and dither.
        halves = np.stack([word.astype(np.uint32) for word in words], axis=-1).astype("<u4").view("<u2")
        drawn: Int64s = _normal_numbers()[halves.reshape(stop - start, -1)[:, 4 : 4 + self.n]].astype(np.int64)
        lengths = _root((drawn * drawn).sum(axis=1).astype(np.uint64) << np.uint64(14)).astype(np.int64)
        whole = int(_root(np.array([self.n << 40], np.uint64))[0])
        drawn *= (self._norms(words[0][:, 0]) * whole // lengths)[:, np.newaxis]
        drawn += 1 << 12
        drawn >>= 13
        return drawn

    def _openings(self) -> tuple[Uint64s, ...]:
        """Return the first four words of all frequencies."""
        return philox(0, np.arange(self.m, dtype=np.uint64), 0, 0, self.seed)

    def _signs(self) -> npt.NDArray[np.int8]:
        size = block_size(self.n)
        blocks, diagonals = np.arange(-(-self.m // size)), np.arange(3)
        counters = np.meshgrid(np.arange(size // 128), blocks, diagonals, indexing="ij")
        one, two, three = (counter.transpose(1, 2, 0).astype(np.uint64) for counter in counters)
        words = np.stack(philox(one, two, three, 1, self.seed), axis=-1).astype("<u4")
        return unpack_signs(words.reshape(len(blocks), 3, -1).view(np.uint8))


@dataclass(frozen=True, eq=False)
class Codes(Value):
    """Frequencies and dither.

    Parameters
    ----------
    frequency_codes : ndarray of int16, shape (n, m), or StructuredCodes
    dither_codes : ndarray of int32, shape (m,)
        In 2**24ths of a turn.
    octaves : int
        At how many scales, a factor 2 apart, frequencies are measured: block j of them is 2**j times block 0.
    recipe : Recipe, optional
        What they were made from, where a file is to hold that in their place.
    """

    frequency_codes: npt.NDArray[np.int16] | StructuredCodes
    dither_codes: npt.NDArray[np.int32]
    octaves: int = 1
    recipe: Recipe | None = None

    def __post_init__(self) -> None:
        codes, dither = self.frequency_codes, self.dither_codes
        if isinstance(codes, np.ndarray) and (codes.dtype != np.int16 or (codes < -CODE_LIMIT).any()):
            raise OperatorError(f"Expected frequency codes as int16 from {-CODE_LIMIT} to {CODE_LIMIT}.")
        if dither.dtype != np.int32 or (dither < 0).any() or (dither >= TURN).any():
            raise OperatorError("Expected dither codes as int32 within one turn, 0 to 2**24 - 1.")
        n, m = codes.shape
        if dither.shape != (m,):
            raise OperatorError(f"Expected dither ({m},) for frequencies ({n}, {m}), got {dither.shape}.")
        # Kernels project the lowest octave alone, and shift.
        if self.octaves != 1 and (isinstance(codes, StructuredCodes) or not _are_octaves(codes, self.octaves)):
            raise OperatorError(
                f"Expected frequencies of {self.octaves} octaves, each exactly twice those of the last, got others."
            )
        if self.recipe is not None and self.recipe.octaves != self.octaves:
            raise OperatorError(f"Expected the recipe's {self.recipe.octaves} octaves, got {self.octaves}.")
        for array in (codes, dither):
            array.setflags(write=False)

    @classmethod
    def made_from(cls, recipe: Recipe) -> Self:
        """Make them from a recipe: the file of those that are many has the recipe, if reading it takes no gigabytes."""
        return cls(recipe.frequencies(), recipe.dither(), recipe.octaves, recipe if recipe.is_small else None)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m)."""
        n, m = self.frequency_codes.shape
        return int(n), int(m)


def _are_octaves(codes: npt.NDArray[np.int16], octaves: int) -> bool:
    """Whether codes (n, total) are those of so many octaves."""
    m, rest = divmod(codes.shape[1], octaves) if 0 < octaves <= MOST_OCTAVES else (0, 1)
    # In int32, as the double of an int16 may be none. One row mostly tells.
    return not rest and all(
        np.array_equal(some[:, m:], 2 * some[:, : codes.shape[1] - m].astype(np.int32)) for some in (codes[:1], codes)
    )


def count_octaves(codes: npt.NDArray[np.int16]) -> int:
    """Return how many octaves codes (n, total) seem to be made of, 1 if of none: those of files do not always say it.

    Examples
    --------
    >>> import numpy as np
    >>> count_octaves(np.array([[3, 5, 6, 10, 12, 20]], np.int16)), count_octaves(np.array([[3, 5, 6, 11]], np.int16))
    (3, 1)
    """
    some = range(2, min(MOST_OCTAVES, codes.shape[1]) + 1) if codes.any() else ()
    return next((octaves for octaves in some if _are_octaves(codes, octaves)), 1)


def philox(one: Array | int, two: Array | int, three: Array | int, four: int, seed: int) -> tuple[Uint64s, ...]:
    """Return the four words of Philox4x32-10 for counters, each a number or an array of uint64; the key is the seed.

    Examples
    --------
    >>> [f"{int(word):08x}" for word in philox(0, 0, 0, 0, 0)]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    words = [np.asarray(word, np.uint64) for word in (one, two, three, four)]
    low, high = seed & 0xFFFFFFFF, seed >> 32
    half = np.uint64(32)
    for _ in range(10):
        first, second = words[0] * np.uint64(_FACTORS[0]), words[2] * np.uint64(_FACTORS[1])
        words = [
            (second >> half) ^ words[1] ^ np.uint64(low),
            second & _LOW,
            (first >> half) ^ words[3] ^ np.uint64(high),
            first & _LOW,
        ]
        low, high = (low + _WEYL[0]) & 0xFFFFFFFF, (high + _WEYL[1]) & 0xFFFFFFFF
    return tuple(words)


@cache
def quantiles() -> Int64s:
    """Return where the cells of the half-normal law start and end, in 4096ths: (CELLS + 1,)."""
    normal = NormalDist()
    found = [round(4096 * normal.inv_cdf(0.5 + i / (2 * CELLS))) for i in range(CELLS)]
    edges = np.array([*found, LAST], np.int64)
    edges.setflags(write=False)
    return edges


@cache
def _normal_numbers() -> npt.NDArray[np.int16]:
    """Return the odd number g for every 16 bits: the sign, 8 bits of the cell, 7 of the place in it."""
    edges, halves = quantiles(), np.arange(1 << 16)
    cells, places = halves >> 7 & CELLS - 1, 2 * (halves & 127) + 1
    sizes = 2 * (edges[cells] + ((edges[cells + 1] - edges[cells]) * places >> 8)) + 1
    found: npt.NDArray[np.int16] = np.where(halves >> 15 != 0, -sizes, sizes).astype(np.int16)
    return found


def _root(squares: Uint64s) -> Uint64s:
    """Return ⌊√x⌋."""
    roots = np.sqrt(squares.astype(np.float64)).astype(np.uint64)
    roots -= roots * roots > squares
    roots += (roots + np.uint64(1)) ** 2 <= squares
    return roots
