"""What may be asked of an operator: numbers checked and brought into shape, each refusal with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.errors import OperatorError

# Lengths are no smaller, and no larger than its inverse: their squares are then numbers that float64 holds.
SMALLEST = 1e-150


def as_count(name: str, value: object) -> int:
    """Return a whole number ≥ 1."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise OperatorError(f"Expected {name} to be a whole number >= 1, got {value!r}.")
    return int(value)


def per_feature(name: str, values: npt.ArrayLike | None, n: int, default: float) -> Floats:
    """Return finite numbers (n,), one a feature; a single number is meant for all."""
    if values is None:
        return np.full(n, default)
    try:
        array = np.broadcast_to(np.asarray(values, np.float64), (n,)).copy()
    except ValueError as error:
        raise OperatorError(f"Expected {name} of shape ({n},), got {np.shape(values)}.") from error
    if not np.isfinite(array).all():
        raise OperatorError(f"Expected finite {name}, got NaN or infinity.")
    return array


def as_units(units: npt.ArrayLike | None, n: int) -> Floats:
    """Return units (n,) > 0."""
    sizes = per_feature("units", units, n, 1.0)
    if not (sizes > 0).all():
        raise OperatorError("Expected units > 0; leave out features that are constant.")
    require_lengths("units", sizes)
    return sizes


def as_scale(scale: object) -> float:
    """Return a scale whose frequencies and steps are numbers."""
    if not isinstance(scale, Real) or not SMALLEST <= float(scale) <= 1 / SMALLEST:
        raise OperatorError(f"Expected a scale from {SMALLEST} to {1 / SMALLEST}, got {scale!r}: rescale the data.")
    return float(scale)


def require_lengths(name: str, sizes: Floats) -> None:
    """Refuse lengths whose squares float64 does not hold."""
    if not ((sizes >= SMALLEST) & (sizes <= 1 / SMALLEST)).all():
        wrong = sizes[(sizes < SMALLEST) | (sizes > 1 / SMALLEST)].flat[0]
        raise OperatorError(f"Expected {name} from {SMALLEST} to {1 / SMALLEST}, got {wrong}: rescale the data.")


def as_extent(extent: npt.ArrayLike, n: int) -> Floats:
    """Return an extent (n,) >= 0."""
    reach = per_feature("extent", extent, n, 0.0)
    if (reach < 0).any():
        raise OperatorError("Expected an extent >= 0 in each feature.")
    return reach


def as_ranges(lower: npt.ArrayLike, upper: npt.ArrayLike, n: int | None = None) -> tuple[Floats, Floats]:
    """Return what columns may be, lower (n,) < upper (n,); without n, as many as there are numbers."""
    if n is None:
        n = max(np.size(lower), np.size(upper))
    low, high = per_feature("lower", lower, n, 0.0), per_feature("upper", upper, n, 0.0)
    if not (low < high).all():
        wrong = int(np.flatnonzero(~(low < high))[0])
        raise OperatorError(
            f"Expected lower < upper, got {low[wrong]:g} and {high[wrong]:g} in feature {wrong}: leave out columns "
            "that are constant."
        )
    require_lengths("ranges", high - low)
    return low, high


def as_names(names: Sequence[str] | None, n: int) -> tuple[str, ...] | None:
    """Return n different names, or None."""
    if names is None:
        return None
    given = tuple(names)
    if len(given) != n or not all(isinstance(name, str) for name in given) or len(set(given)) != n:
        raise OperatorError(f"Expected {n} different feature names, each a string, got {given!r:.200}.")
    return given


def per_frequency(name: str, values: npt.ArrayLike, m: int) -> Floats:
    """Return finite numbers (m,), one a frequency."""
    array = np.asarray(values, np.float64)
    if array.shape != (m,) or not np.isfinite(array).all():
        raise OperatorError(f"Expected finite {name} of shape ({m},), got {array.shape}.")
    return array


def as_steps(steps: npt.ArrayLike | None, n: int) -> Floats:
    """Return steps (n,), powers of two."""
    sizes = per_feature("steps", steps, n, 1.0)
    if not (sizes > 0).all() or (np.frexp(sizes)[0] != 0.5).any():
        raise OperatorError("Expected steps that are powers of two (…, 0.25, 0.5, 1, 2, …), so that coding is exact.")
    require_lengths("steps", sizes)
    return sizes


def as_origin(origin: npt.ArrayLike | None, steps: Floats) -> Floats:
    """Return the origin (n,), rounded to whole steps."""
    with np.errstate(over="ignore"):
        start: Floats = np.rint(per_feature("origin", origin, len(steps), 0.0) / steps) * steps
    if not np.isfinite(start).all():
        raise OperatorError("Expected an origin that steps can count, got one that is too far away for them.")
    return start


def power_of_two_below(values: npt.ArrayLike) -> Floats:
    """Return the largest power of two ≤ each value, exactly: frexp reads the exponent, no logarithm rounds."""
    powers: Floats = np.ldexp(0.5, np.frexp(np.asarray(values, np.float64))[1])
    return powers
