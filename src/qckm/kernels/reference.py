"""The arithmetic of qckm, version 1, in NumPy: phases are integers, so bits do not depend on who computes them.

One turn is 2**24. A row becomes int16 codes, a frequency is int16, a phase is their dot product plus the dither, read
modulo one turn, and a signature is a table of 4096 values indexed by the phase's top 12 bits. docs/arithmetic.md says
the same in words. Every faster kernel is tested against these functions, integer for integer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Array, Floats, Int16s, Int32s, Int64s

ARITHMETIC = "integer-phases/1"
STRUCTURED_ARITHMETIC = "integer-phases/1 structured"
TURN = 1 << 24
QUARTER_TURN = TURN // 4
CODE_LIMIT = 32767
TABLE_SIZE = 4096
TABLE_SHIFT = 12  # a phase's 24 bits, less the 12 that choose a table entry

# cos on a quarter turn as s + s·P(s²), s in [−1, 1]: the coefficients of P in 32768ths.
COSINE_POLYNOMIAL = (18701, -21159, 2597, -140)


# sign(cos): +1 on the half turn around 0, −1 on the other.
ONE_BIT_TABLE: Int16s = np.where((np.arange(TABLE_SIZE) + TABLE_SIZE // 4) & (TABLE_SIZE // 2), -1, 1).astype(np.int16)
ONE_BIT_TABLE.setflags(write=False)


def _cosine_table() -> Int16s:
    """Define cos by integers: a polynomial of rounding 16-bit multiplications that a kernel can compute in its lanes.

    With s in [−1, 1] a quarter turn either side of the zero crossing, sin(πs/2) = s + s·P(s²). It stays within 1.31
    units of 32767·cos, and the decoder's harmonics are those of this table, so nothing is lost.
    """

    def multiply(a: Any, b: Any) -> Any:  # the rounding high product of int16 (pmulhrsw, vqrdmulh)
        return (a * b + (1 << 14)) >> 15

    middles = 16 * np.arange(TABLE_SIZE) + 8  # of the 4096ths of a turn, in 65536ths
    s = 2 * ((1 << 14) - np.minimum(middles, 65536 - middles))
    square = multiply(s, s)
    p = COSINE_POLYNOMIAL[3]
    for coefficient in COSINE_POLYNOMIAL[2::-1]:
        p = multiply(square, p) + coefficient
    table: Int16s = (s + multiply(s, p)).astype(np.int16)
    table.setflags(write=False)
    return table


COSINE_TABLE = _cosine_table()


def code_rows(X: Array, steps: Floats, origin: Floats) -> tuple[Int16s, npt.NDArray[np.bool_]]:
    """Turn rows X: (rows, n) into int16 codes (rows, n), and say which rows had a feature clipped.

    Steps are powers of two and the origin a whole number of steps, so both divisions are exact and the only rounding
    is `rint`: float32 and float64 rows of equal value get equal codes.
    """
    with np.errstate(over="ignore"):  # a huge value becomes infinite and is clipped like any other
        steps_from_origin = np.rint(np.asarray(X, np.float64) / steps) - origin / steps
    codes = np.clip(steps_from_origin, -CODE_LIMIT, CODE_LIMIT)
    return codes.astype(np.int16), (codes != steps_from_origin).any(axis=1)


def project(codes: Int16s, frequency_codes: Int16s, dither_codes: Int32s) -> Int64s:
    """Return the phases (rows, m), each in [0, 2**24).

    The matrix product runs in float64 for the sake of BLAS and is exact all the same: each product is below 2**30, so
    sums of up to 2**23 of them are integers below 2**53, whatever the order of summation.
    """
    phases = (codes.astype(np.float64) @ frequency_codes.astype(np.float64)).astype(np.int64)
    return (phases + dither_codes) & (TURN - 1)


def hadamard(values: Int64s) -> Int64s:
    """Return H·v for each v along the last axis, of a power of two in length.

    H₁ = 1 and H₂ₙ = [[Hₙ, Hₙ], [Hₙ, −Hₙ]].
    """
    size = values.shape[-1]
    distance = 1
    while distance < size:
        pairs = values.reshape(*values.shape[:-1], size // (2 * distance), 2, distance)
        low, high = pairs[..., 0, :], pairs[..., 1, :]
        values = np.stack([low + high, low - high], axis=-2).reshape(values.shape)
        distance *= 2
    return values


def mix(codes: Array, signs: npt.NDArray[np.int8], factors: Int32s, m: int) -> Int64s:
    """Return t (rows, m) of codes (rows, n): for each block, H·S₃·H·S₂·H·S₁ of factors ∘ codes, filled up with zeros.

    `signs` (blocks, 3, size) are the diagonals S₁, S₂, S₃. Whatever does not fit int64 wraps, a multiple of 2**32 off.
    """
    blocks, _, size = signs.shape
    values = np.zeros((len(codes), blocks, size), np.int64)
    values[:, :, : codes.shape[1]] = (codes.astype(np.int64) * factors)[:, np.newaxis]
    for diagonal in range(3):
        values = hadamard(values * signs[:, diagonal])
    return values.reshape(len(codes), blocks * size)[:, :m]


def project_structured(
    codes: Int16s, signs: npt.NDArray[np.int8], factors: Int32s, radii: Int32s, dither_codes: Int32s
) -> Int64s:
    """Return the phases (rows, m) of structured frequencies, each in [0, 2**24).

    Here a turn is 2**32 while adding up, and the last 8 bits are dropped at the end: radius · t modulo 2**32.
    """
    fine = (dither_codes.astype(np.int64) << 8) + radii.astype(np.int64) * mix(codes, signs, factors, len(radii))
    return (fine & 0xFFFFFFFF) >> 8


def phases_of(codes: Int16s, frequency_codes: Any, dither_codes: Int32s) -> Int64s:
    """Return the phases (rows, m) of frequencies of either kind: a matrix (n, m), or signs, factors and radii."""
    if isinstance(frequency_codes, np.ndarray):
        return project(codes, frequency_codes, dither_codes)
    structure = frequency_codes
    return project_structured(codes, structure.signs, structure.factors, structure.radii, dither_codes)


def measure(phases: Int64s, table: Int16s, paired: bool) -> Int16s:
    """Return the contributions (rows, M) in units of the table; pairs at the phase and a quarter turn on."""
    contributions: Int16s = table[phases >> TABLE_SHIFT]
    if not paired:
        return contributions
    on = (phases + QUARTER_TURN) & (TURN - 1)
    return np.concatenate([contributions, table[on >> TABLE_SHIFT]], axis=1)


def pack_bits(contributions: Int16s) -> npt.NDArray[np.uint8]:
    """Pack contributions ±1 (rows, M) into bits (rows, ceil(M / 8)), little bit first, 1 standing for -1."""
    return np.packbits(contributions < 0, axis=1, bitorder="little")
