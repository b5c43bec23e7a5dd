"""What a decoder is asked, and whether it can be: of a sketch, in the memory that there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qckm.common import memory
from qckm.common.arrays import Floats
from qckm.errors import DecodeError, SaturationWarning, warn
from qckm.planning.pilot import Pilot
from qckm.sketch import Sketch

_LEAST_ROWS = 10_000
# Matrices (n, m) of float64 that a decoder has at a time, at its worst: the frequencies, and as they are being
# made (measured, for n from 784 to 5000: 3.0), and one to spare.
_MATRICES = 4


def count_rows(sketch: Sketch) -> float:
    """Return how many rows a sketch is of, as far as it is known.

    Weights that are no whole numbers may have any unit: their sum says how many rows there are only where it is large.
    """
    return sketch.count if sketch.exact else max(sketch.count, _LEAST_ROWS)


@dataclass(frozen=True, eq=False)
class Task:
    """A sketch to decode, K, the box and the optional start in data units, rows where there are any, and the effort."""

    sketch: Sketch
    n_clusters: int
    lower: Floats
    upper: Floats
    start: Floats | None
    rows: Pilot | None
    spread: Floats | None
    n_init: int
    random_state: Any
    decoder: str


def require_sketch(sketch: Any) -> None:
    """Refuse what is no sketch."""
    if not isinstance(sketch, Sketch):
        raise DecodeError(
            f"Expected a Sketch, got {type(sketch).__name__}: make one with op.sketch(X), or qckm.load a file."
        )


def warn_of_clipping(sketch: Sketch) -> None:
    """Warn where rows of a sketch lie beyond what its operator can code: they count as if at the edge."""
    if sketch.saturated:
        lower, upper = (bound.tolist() for bound in sketch.operator.reach)
        warn(
            f"{sketch.saturated} of {sketch.count} rows ({sketch.saturated / sketch.count:.2%}) have a feature too far "
            f"from the origin to be coded, and were clipped to the box {lower} … {upper}. If they matter, draw the "
            "operator with an origin in the middle of the data, and their extent, or a larger scale, or transform "
            "heavy-tailed features (a logarithm, say).",
            SaturationWarning,
        )


def require_positive(name: str, value: Any) -> None:
    """Refuse what is no number of things."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise DecodeError(f"Expected {name} to be a whole number >= 1, got {value!r}.")


def require_rows(sketch: Sketch, name: str, number: int, without: str) -> None:
    """Refuse a sketch of no rows, and one of fewer than are to be found: `without` says what the former lacks."""
    if sketch.exact and number > sketch.count > 0:
        raise DecodeError(f"Expected {name} <= the {sketch.count} row(s) sketched, got {number}.")
    if not sketch.count > 0:
        raise DecodeError(f"A sketch of no rows {without}: sketch some rows first.")


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
