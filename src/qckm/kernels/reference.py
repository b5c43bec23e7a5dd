"""The arithmetic of qckm, version 1, in NumPy: phases are integers, so bits do not depend on who computes them.

One turn is 2**24. A row becomes int16 codes, a frequency is int16, a phase is their dot product plus the dither, read
modulo one turn, and a signature is a table of 4096 values indexed by the phase's top 12 bits. docs/arithmetic.md says
the same in words. Every faster kernel is tested against these functions, integer for integer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

ARITHMETIC = "integer-phases/1"
TURN = 1 << 24
QUARTER_TURN = TURN // 4
CODE_LIMIT = 32767
TABLE_SIZE = 4096
TABLE_SHIFT = 12  # a phase's 24 bits, less the 12 that choose a table entry

Int16s = npt.NDArray[np.int16]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def code_rows(X: npt.NDArray[Any], steps: Floats, origin: Floats) -> tuple[Int16s, npt.NDArray[np.bool_]]:
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


def unpack_bits(bits: npt.NDArray[np.uint8], n_measurements: int) -> Int16s:
    """Undo `pack_bits`."""
    ones = np.unpackbits(bits, axis=1, count=n_measurements, bitorder="little")
    return 1 - 2 * ones.astype(np.int16)
