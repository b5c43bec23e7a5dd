"""What is asked of an operator: numbers checked, each refusal with its reason, and what follows from few of them."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.errors import OperatorError
from qckm.kernels.reference import CODE_LIMIT, TURN
from qckm.operator import signatures
from qckm.operator.codes import Codes
from qckm.operator.signatures import Signature, SignatureLike

Dither = Literal["paired", "single"]

# Lengths are no smaller, and no larger than its inverse: their squares are then numbers that float64 holds.
SMALLEST = 1e-150
# Default resolution: a scale is cut into at least this many steps. A phase then moves by at most about
# ‖ω‖·scale/2048, and 32767 steps reach 16 to 32 scales either side of the origin.
STEPS_PER_SCALE = 1024
# Frequencies for each unknown: where there are rows to decode with, where the sketch is all there is (measured:
# experiments/default_m.py), and how many are enough where these would have more components in all, n·m.
_WITH_ROWS, _ALONE, _ENOUGH, _MOST_COMPONENTS = 5, 20, 2, 1 << 26
# So few that two places far apart look alike by 1/√(2m), 7 %, by chance.
_LEAST = 100
# Clusters from as wide as K of them that fill the ranges to a sixteenth of that: what rows of unknown columns need.
_OCTAVES = 5
# Their law, and its rms ‖ω‖ times a cluster's standard deviation: those of a pilot (planning/pilot.py).
LAW_OF_RANGES, _RADIANS = "integer-balanced", 0.65
# Codes of the lowest frequencies of this size are rounded by some per cent: still of their law, and known.
_LEAST_CODE = 16
# The component of a frequency along one feature is hardly ever more than so many times its rms.
_GREATEST = 6.0


class Drawn(NamedTuple):
    """The integers of an operator, and what a unit of a row's code is worth, (n,)."""

    codes: Codes
    steps: Floats


class OperatorRequest:
    """What an operator should measure, checked.

    Parameters
    ----------
    n, m : int
    scale : float
        In units; of several octaves, the finest.
    units : array-like of shape (n,), optional
    steps : array-like of shape (n,), optional
        As they should be; by default as they must be for the scale and the extent.
    extent : array-like of shape (n,), optional
        How far rows go from the origin, in data units.
    signature : str, Signature or callable
    dither : {"paired", "single"}
    octaves : int
        At how many scales.
    """

    def __init__(
        self,
        n: int,
        m: int,
        scale: object,
        units: npt.ArrayLike | None,
        steps: npt.ArrayLike | None,
        extent: npt.ArrayLike | None,
        signature: SignatureLike,
        dither: Dither,
        octaves: int = 1,
    ) -> None:
        self.n, self.m = as_count("n_features", n), as_count("n_frequencies", m)
        self.octaves, self.scale = as_count("octaves", octaves), as_scale(scale)
        self.units = as_units(units, self.n)
        require_lengths("scale times units", self.scale * self.units)
        self.steps = None if steps is None else as_steps(steps, self.n)
        self.extent = None if extent is None else as_extent(extent, self.n)
        self.signature, self.dither = signatures.get(signature), dither

    @property
    def usual_steps(self) -> Floats:
        """The steps (n,) that are wanted, or else as fine as the scale asks for."""
        if self.steps is not None:
            return self.steps
        return as_steps(power_of_two_below(self.scale * self.units / STEPS_PER_SCALE), self.n)

    def steps_up_to(self, longest: Floats | float) -> Floats:
        """Return steps (n,) that reach as far as the extent, but are no longer than `longest` unless the usual are.

        They cost nothing that could be measured: phases are rounded to some 0.002, much less than a cluster is wide.
        """
        usual = self.usual_steps
        if self.steps is not None or self.extent is None:
            return usual
        needed = 2 * power_of_two_below(np.maximum(self.extent / CODE_LIMIT, usual / 2))
        return np.maximum(usual, power_of_two_below(np.minimum(needed, longest)))

    @property
    def dithered(self) -> bool:
        """Whether phases need a dither."""
        return needs_dither(self.signature, self.dither)


def needs_dither(signature: Signature, dither: Dither) -> bool:
    """Whether phases need a dither: a pair of a pure tone needs none, as in CKM."""
    return dither == "single" or not signature.is_pure_tone


def draw_dither(m: int, dithered: bool, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    """Draw the dither codes (m,) of frequencies, zeros where they need none."""
    return rng.integers(0, TURN, size=(m,), dtype=np.int32) if dithered else np.zeros(m, np.int32)


def choose_n_frequencies(n_features: int, n_clusters: int, alone: bool = False) -> int:
    """Choose m: five times the unknowns, 20 times where no rows are decoded with; never so few that chance shows.

    For thousands of features that would be gigabytes of frequencies to decode with: then it is less, down to twice the
    unknowns, which are enough (docs/guide/choosing-m.md).
    """
    unknowns = n_features * n_clusters
    wanted = (_ALONE if alone else _WITH_ROWS) * unknowns
    return max(_LEAST, min(wanted, max(_ENOUGH * unknowns, _MOST_COMPONENTS // n_features)))


def suit_ranges(low: Floats, high: Floats, units: Floats, n_clusters: int) -> tuple[float, Floats, int]:
    """Return for K clusters in ranges, each (n,): the coarsest scale, in units; steps (n,); how many octaves fit.

    K clusters side by side fill the ranges evenly, each K^(1/n) times narrower; a range of width W has the standard
    deviation W/√12. Steps are as fine as lets codes reach the ends of the ranges, unless the lowest frequencies need
    longer ones; as powers of two they reach one to two times as far. The finest frequencies are to be int16 codes.

    Examples
    --------
    >>> scale, steps, octaves = suit_ranges(np.zeros(1), np.ones(1), np.ones(1), 1)
    >>> round(scale, 3), steps.tolist() == [2.0**-15], octaves
    (0.444, True, 5)
    """
    widths = (high - low) / units
    deviation = np.sqrt((widths**2).mean()) / np.sqrt(12) / n_clusters ** (1 / widths.size)
    scale = float(deviation * np.sqrt(widths.size) / _RADIANS)
    lengths = scale * units
    reaching = 2 * power_of_two_below((high - low) / 2 / CODE_LIMIT)
    steps = np.maximum(reaching, 2 * power_of_two_below(_LEAST_CODE * lengths * (2 * np.pi / TURN)))
    code = _GREATEST * float((steps / lengths).max()) * TURN / (2 * np.pi)
    return scale, steps, max(1, min(_OCTAVES, 1 + int(np.floor(np.log2(CODE_LIMIT / code)))))


def as_count(name: str, value: object) -> int:
    """Return a whole number ≥ 1."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise OperatorError(f"Expected {name} to be a whole number >= 1, got {value!r}.")
    return int(value)


def per_feature(name: str, values: npt.ArrayLike | None, n: int, default: float) -> Floats:
    """Return finite numbers (n,), one per feature; a single number is meant for all."""
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
    if isinstance(scale, bool) or not isinstance(scale, Real) or not SMALLEST <= float(scale) <= 1 / SMALLEST:
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
    """Return finite numbers (m,), one per frequency."""
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
