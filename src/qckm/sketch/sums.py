"""What a sketch holds, and what can be read off it: the sum of the contributions of some rows, and notes on these."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats, Value
from qckm.errors import DecodeError, SketchError
from qckm.operator import Operator
from qckm.sketch import bounds as ends
from qckm.sketch.column_sums import ColumnSums
from qckm.sketch.ledger import Ledger
from qckm.sketch.parts import NO_PARTS, Parts

# What the rounding of real weights may add to a sum, as a share of the greatest it can be.
_ROUNDING = 1e-9
# The greatest sum of real weights: so many times 32767 is still a float64.
_MOST_WEIGHT = 1e300


@dataclass(frozen=True, eq=False)
class Sums(Value):
    """What a sketch holds: its parameters are those of `Sketch`."""

    operator: Operator
    total: npt.NDArray[np.int64] | Floats
    count: int | float
    saturated: int | float
    bounds: tuple[Floats, Floats]
    skipped: int = 0
    weighted: int | float = 0
    ledger: Ledger | None = None
    column_sums: ColumnSums | None = None
    parts: Parts = NO_PARTS

    def __post_init__(self) -> None:
        if self.total.dtype not in (np.int64, np.float64):
            raise SketchError(f"Expected a sum of int64 or float64, got {self.total.dtype}.")
        kind = int if self.exact else float  # NumPy's own integers would wrap
        object.__setattr__(self, "count", kind(self.count))
        object.__setattr__(self, "saturated", kind(self.saturated))
        object.__setattr__(self, "weighted", kind(self.weighted))
        self._require_room()
        for array in (self.total, *self.bounds):
            array.setflags(write=False)

    def _require_room(self) -> None:
        """Refuse a sum of more rows than its numbers hold: integers would wrap, in silence, floats become infinite."""
        most = (2**63 - 1) // self.operator.signature.full_scale
        if self.exact and self.count > most:
            raise SketchError(
                f"Expected at most {most} rows, as weights count them, got {self.count}: sums would not fit 64 bits. "
                "Divide all weights by a number that they have in common, or use real-valued ones."
            )
        if not self.count <= _MOST_WEIGHT:
            raise SketchError(
                f"Expected weights of a sum up to {_MOST_WEIGHT}, got {self.count}: divide them by their sum."
            )

    @property
    def exact(self) -> bool:
        """Whether the sum is one of integers: then `+` and `-` are exact, in any order."""
        return self.total.dtype == np.int64

    @property
    def private(self) -> bool:
        """Whether noise hides every single row: the sums are no longer those of the rows, but may be published."""
        return self.ledger is not None

    @property
    def coded_bounds(self) -> tuple[Floats, Floats]:
        """The bounds of what was measured: those seen, within `operator.reach`, where clipped rows were put.

        Those that are not known are 32 standard deviations from the mean, where that is known, within the operator's
        public ranges, where it has some, and its reach.
        """
        if not self.count:
            return self.bounds
        return ends.within_reach(self.bounds, self.operator, self.count, self.column_means, self.column_variances)

    @property
    def column_means(self) -> Floats | None:
        """The mean of each column over all rows, (n,), exactly, as rows were coded; None where it is not known."""
        return None if self.column_sums is None else self.column_sums.means(self.operator, int(self.count))

    @property
    def column_variances(self) -> Floats | None:
        """The variance of each column over all rows, (n,), as NumPy's `var` gives it; None where it is not known."""
        return None if self.column_sums is None else self.column_sums.variances(self.operator, int(self.count))

    @property
    def column_covariances(self) -> Floats | None:
        """The covariances of the columns over all rows, (n, n), as NumPy's `cov` gives them with `ddof=0`.

        None where they are not known: of more than 64 columns, and where `column_sums` are not.
        """
        return None if self.column_sums is None else self.column_sums.covariances(self.operator, int(self.count))

    @property
    def column_correlations(self) -> Floats | None:
        """The correlations of the columns over all rows, (n, n), NaN with constant columns; None as covariances are."""
        covariances = self.column_covariances
        if covariances is None:
            return None
        deviations = np.sqrt(np.diag(covariances))
        with np.errstate(invalid="ignore", divide="ignore"):
            correlations: Floats = covariances / np.multiply.outer(deviations, deviations)
        return correlations

    def require_consistent(self) -> None:
        """Refuse a sum that no rows have: nothing right can be decoded from it, and no file of it would be read."""
        (lower, upper), greatest = self.bounds, self.operator.signature.full_scale * self.count
        size, shape = greatest if self.exact else greatest * (1 + _ROUNDING), (self.operator.n_measurements,)
        if self.total.shape != shape or lower.shape != upper.shape or lower.shape != (self.operator.n_features,):
            raise SketchError(
                f"Expected a sum {shape} and bounds ({self.operator.n_features},), got {self.total.shape}."
            )
        if not np.isfinite(self.total).all():
            raise SketchError("Expected sums that are numbers, got NaN or infinity.")
        if self.ledger is not None:
            self._require_private(lower, upper)
            return
        # The sum of the bits of so many rows has the parity of their number.
        odd = self.exact and self.operator.signature.is_one_bit and (np.mod(self.total + self.count, 2) != 0).any()
        if (
            not 0 <= self.saturated <= self.count
            or not 0 <= self.weighted <= self.count
            or self.skipped < 0
            or (self.count == 0) != ((lower > upper) | (lower == np.inf) | (upper == -np.inf)).any()
            or (self.total > size).any()
            or (self.total < -size).any()  # not by abs(): of the least int64 it is negative
            or odd
        ):
            raise SketchError("The sum, the count and the bounds contradict each other: no rows have this sketch.")
        if self.column_sums is not None and not (
            self.exact and self.count and self.column_sums.are_possible(int(self.count), self.operator.n_features)
        ):
            raise SketchError("The count and the sums of the columns contradict each other: no rows have this sketch.")

    def _require_private(self, lower: Floats, upper: Floats) -> None:
        """Refuse what a release never gives: notes that depend on rows, or sums that are no integers."""
        if (
            not self.exact
            or self.count < 1
            or self.saturated
            or self.skipped
            or self.weighted
            or not (lower <= upper).all()
            or self.column_sums
            or self.parts
        ):
            raise SketchError("Expected of a private sketch integers, a count >= 1, public ranges and no other notes.")

    def values(self) -> Floats:
        """Return z = sum / count, (M,), each in [−1, 1], apart from the noise of a private sketch."""
        if not self.count > 0:
            raise DecodeError("A sketch of no rows has no values: sketch some rows first.")
        z: Floats = self.total / (self.operator.signature.full_scale * self.count)
        return z

    def sampling_noise(self) -> float:
        """Return E‖z − E z‖²: how far the sketch of so many rows is from that of endlessly many, squared.

        Each measurement has the mean square of the signature, as the dither sees it, less the square of its mean. A
        model whose distance from the sketch is no more than this explains all there is to explain. The noise of a
        private sketch is added to it.
        """
        mean_square, added = 2 * (np.abs(self.operator.signature.harmonics[1:]) ** 2).sum(), self.noise_variance
        squares = np.maximum(self.values() ** 2 - added, 0)
        return float(np.maximum(mean_square - squares, 0).sum() / self.count) + added * self.operator.n_measurements

    @property
    def noise_variance(self) -> float:
        """The variance of the noise that was added to each of `values()`: 0 unless the sketch is private."""
        if self.ledger is None:
            return 0.0
        return self.ledger.sum_variance / (self.operator.signature.full_scale * max(self.count, 1)) ** 2
