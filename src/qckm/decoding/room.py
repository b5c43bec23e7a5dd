"""Whether there is room to decode: a sketch is small, but the frequencies of its operator, written out, are not."""

from __future__ import annotations

from qckm.common import memory
from qckm.errors import DecodeError

# Matrices (n, m) of float64 that a decoder has at a time, at its worst: the frequencies, and as they are being
# made (measured, for n from 784 to 5000: 3.0), and one to spare.
_MATRICES = 4


def require_room(n: int, m: int) -> None:
    """Refuse, before anything is made, to decode n features at m frequencies where that takes too much memory."""
    require_memory(_MATRICES * 8 * n * m, f"Decoding {n} features at {m} frequencies")


def require_memory(needed: int, what: str) -> None:
    """Refuse what takes more bytes than are free, or than a decoder takes unasked."""
    why = memory.lacking(needed)
    if why is not None:
        raise DecodeError(
            f"{what} {why}. "
            "Sketch fewer columns or principal components, or use fewer frequencies (n_frequencies=…); "
            f"or allow more: QCKM_MEMORY={-(-needed // 2**30)}G.",
            about="frequencies",
        )
