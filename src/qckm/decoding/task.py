"""What a decoder is asked, and whether it can be: of a sketch, in the memory that there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

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

    @classmethod
    def of(
        cls,
        sketch: Sketch,
        n_clusters: int,
        init: npt.ArrayLike | None,
        rows: Pilot | None,
        bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None,
        n_init: int,
        random_state: Any,
        spread: npt.ArrayLike | None,
    ) -> Task:
        """Check what was asked of `decode`."""
        require_sketch(sketch)
        require_positive("n_clusters", n_clusters)
        require_positive("n_init", n_init)
        n_clusters, n_init = int(n_clusters), int(n_init)  # NumPy's small integers have no products
        require_rows(sketch, "n_clusters", n_clusters, "cannot be decoded")
        n = sketch.operator.n_features
        lower, upper = _box(sketch, bounds)
        start = None if init is None else _finite("init", init, (n_clusters, n))
        deviation = None if spread is None else _finite("spread", spread, (n,))
        require_room(n, sketch.operator.n_frequencies)
        return cls(sketch, n_clusters, lower, upper, start, rows, deviation, n_init, random_state)


def _box(sketch: Sketch, bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None) -> tuple[Floats, Floats]:
    """Return the box in data units: as given or as seen, but never beyond what the operator can code."""
    n = sketch.operator.n_features
    try:
        lower, upper = (
            np.broadcast_to(np.asarray(bound, np.float64), (n,))
            for bound in (sketch.coded_bounds if bounds is None else bounds)
        )
    except (ValueError, TypeError) as error:
        raise DecodeError(
            f"Expected bounds as a pair (lower, upper) of shape ({n},) each, got {bounds!r:.80}."
        ) from error
    if not (np.isfinite(lower).all() and np.isfinite(upper).all() and (lower <= upper).all()):
        raise DecodeError("Expected finite bounds with lower <= upper: an empty sketch has none, pass bounds=.")
    least, greatest = sketch.operator.reach
    return np.clip(lower, least, greatest), np.clip(upper, least, greatest)


def _finite(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
    array = np.asarray(values, np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise DecodeError(f"Expected finite {name} of shape {shape}, got shape {array.shape}.")
    return array


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
