"""What a sketch holds: the sum of the contributions of some rows, and notes on these; what it tells; `+` and `-`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats, Value, integers_of
from qckm.common.text import facts_as_html
from qckm.errors import DecodeError, MergeError, SketchError
from qckm.operator import Operator
from qckm.sketch.columns import ColumnSums, bounds_left, unknown_bounds, within_reach
from qckm.sketch.ledger import Ledger
from qckm.sketch.parts import Parts

# What the rounding of real weights may add to a sum, as a share of the greatest it can be.
_ROUNDING = 1e-9
# The greatest sum of real weights: so many times 32767 is still a float64.
_MOST_WEIGHT = 1e300
# Of real weights, a difference below this share of what it was taken from has lost all but a few digits to rounding.
_NOTHING = 1e-12


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
    parts: Parts = field(default_factory=Parts)

    def __post_init__(self) -> None:
        if self.total.dtype not in (np.int64, np.float64):
            raise SketchError(f"Expected a sum of int64 or float64, got {self.total.dtype}.")
        kind = int if self.exact else float  # NumPy's own integers would wrap
        for name in ("count", "saturated", "weighted"):
            object.__setattr__(self, name, kind(getattr(self, name)))
        # Of more rows than its numbers hold, integers would wrap, in silence, floats become infinite.
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
        for array in (self.total, *self.bounds):
            array.setflags(write=False)

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
        return within_reach(self.bounds, self.operator, self.count, self.column_means, self.column_variances)

    @property
    def column_means(self) -> Floats | None:
        """The mean of each column over all rows, (n,), exactly, as rows were coded; None where it is not known."""
        if self.column_sums is None:
            return None
        ratios = np.array([total / int(self.count) for total in integers_of(self.column_sums.codes)])
        return np.asarray(self.operator.origin + self.operator.steps * ratios, np.float64)

    @property
    def column_variances(self) -> Floats | None:
        """The variance of each column over all rows, (n,), as NumPy's `var` gives it; None where it is not known."""
        if self.column_sums is None:
            return None
        pairs = zip(integers_of(self.column_sums.codes), integers_of(self.column_sums.squares), strict=True)
        # Integers until the last division: no digits are lost where a mean is large.
        count = int(self.count)
        ratios = np.array([(count * square - total**2) / count**2 for total, square in pairs])
        return np.asarray(self.operator.steps**2 * ratios, np.float64)

    @property
    def column_covariances(self) -> Floats | None:
        """The covariances of the columns over all rows, (n, n), as NumPy's `cov` gives them with `ddof=0`.

        None where they are not known: of more than 64 columns, and where `column_sums` are not.
        """
        variances = self.column_variances
        if variances is None or self.column_sums is None or self.column_sums.products is None:
            return None
        totals, products = integers_of(self.column_sums.codes), integers_of(self.column_sums.products)
        found, steps, count = np.diag(variances), self.operator.steps, int(self.count)
        first, second = np.triu_indices(len(totals), 1)
        ratios = [
            (count * product - totals[i] * totals[j]) / count**2
            for i, j, product in zip(first.tolist(), second.tolist(), products, strict=True)
        ]
        found[first, second] = found[second, first] = steps[first] * steps[second] * ratios
        return found

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

    @classmethod
    def zero(cls, operator: Operator) -> Self:
        """Return the sketch of no rows."""
        n, total = operator.n_features, np.zeros(operator.n_measurements, np.int64)
        # Bounds that any others replace.
        return cls(operator, total, 0, 0, (np.full(n, np.inf), np.full(n, -np.inf)))

    def without_column_sums(self) -> Self:
        """Return the same sketch without the sums of its columns and of their products."""
        return replace(self, column_sums=None)

    def without_products(self) -> Self:
        """Return the same sketch without the sums of products of columns: some n²/2 numbers less to keep or to send."""
        if self.column_sums is None:
            return self
        return replace(self, column_sums=replace(self.column_sums, products=None))

    def without_bounds(self) -> Self:
        """Return the same sketch without the least and greatest values of its columns, which are those of single rows.

        Decoding then knows of the columns' whereabouts what their means and variances tell.
        """
        return replace(self, bounds=unknown_bounds(self.operator.n_features)) if self.count else self

    def as_part(self, name: str) -> Self:
        """Return the same sketch under a name, such as "berlin/2026-11-16": what is added under it counts once."""
        if self.parts:
            raise SketchError(f"Expected a sketch without names, got one of {len(self.parts)} part(s).", about="parts")
        return replace(self, parts=Parts.named(name))

    def without_parts(self) -> Self:
        """Return the same sketch without the names of its parts: nothing is checked then."""
        return replace(self, parts=Parts())

    def octave(self, j: int) -> Self:
        """Return the sketch of one octave alone, exactly what its operator, `operator.octave(j)`, makes of the rows."""
        operator, octaves = self.operator.octave(j), self.operator.octaves
        total = self.total.reshape(-1, octaves, operator.n_frequencies)[:, j].ravel()
        return replace(self, operator=operator, total=total)

    def __add__(self, other: Sums) -> Self:
        if not isinstance(other, Sums):
            return NotImplemented
        self.require_same_operator(other, "add")
        (lower, upper), (others_lower, others_upper) = self.bounds, other.bounds
        ledger, parts = self._merged_ledger(other), self.parts + other.parts
        try:
            return replace(
                self,
                # Equal operators, of which one may know the names of the columns.
                operator=other.operator if self.operator.feature_names is None else self.operator,
                total=self.total + other.total,
                count=self.count + other.count,
                saturated=self.saturated + other.saturated,
                bounds=(np.minimum(lower, others_lower), np.maximum(upper, others_upper)),  # known where both are
                skipped=self.skipped + other.skipped,
                weighted=self.weighted + other.weighted,
                ledger=ledger,
                column_sums=self._column_sums_with(other),
                parts=parts,
            )
        except SketchError as error:
            raise error.within("Cannot add these sketches", MergeError) from error

    def __radd__(self, other: object) -> Self:
        """Let `sum(sketches)` start from 0."""
        return self if other == 0 and not isinstance(other, Sums) else NotImplemented

    def __sub__(self, other: Sums) -> Self:
        """Forget rows. Bounds that they may have set are not known any more, column by column.

        What is left must be a sum that rows can have: where rows were never added, it mostly is not, and is refused.
        """
        if not isinstance(other, Sums):
            return NotImplemented
        self.require_same_operator(other, "subtract")
        if self.private or other.private:
            raise MergeError(
                "Cannot subtract private sketches, or from them: what is left would show a row beneath known noise. "
                "Subtract the exact sketches, and release what is left."
            )
        parts = self.parts - other.parts
        total, count = self.total - other.total, self.count - other.count
        skipped = max(0, self.skipped - other.skipped)
        exact = self.exact and other.exact
        nothing = 0 if exact else _NOTHING * self.count  # of rounded sums, hardly anything is nothing
        if count < -nothing:
            raise MergeError(f"Cannot forget {other.count} rows of a sketch of {self.count}: more than it has seen.")
        if count <= nothing:
            if exact and (total.any() or self._contradicts(other)):
                raise MergeError("Cannot forget rows that were never added: the sums differ though the counts do not.")
            return replace(self.zero(self.operator), parts=parts, skipped=skipped)
        saturated = self.saturated - other.saturated
        # Files of version 2 know only whether any rows had weights.
        weighted = min(max(self.weighted - other.weighted, 0), count)
        if not exact:
            saturated = min(max(saturated, 0), count)
        left = replace(
            self,
            total=total,
            count=count,
            saturated=saturated,
            bounds=bounds_left(self.bounds, other.bounds, self.operator),
            skipped=skipped,
            weighted=weighted,
            column_sums=self._column_sums_with(other, taken_away=True),
            parts=parts,
        )
        try:
            left.require_consistent()
        except SketchError as error:
            hint = "" if exact else " Or the weights that are left drown in the rounding of those that were taken away."
            raise MergeError(
                f"Cannot forget rows that were never added: no rows have the sums that would be left.{hint}"
            ) from error
        return left

    def _merged_ledger(self, other: Sums) -> Ledger | None:
        if self.ledger is None and other.ledger is None:
            return None
        if self.ledger is None or other.ledger is None:
            raise MergeError(
                "Cannot add a private sketch and one that is not: the noise would not hide the latter's rows. Release "
                "it first (qckm.privacy.release), with a budget of its own."
            )
        return self.ledger.merged(other.ledger)

    def _column_sums_with(self, other: Sums, taken_away: bool = False) -> ColumnSums | None:
        """Return the column sums of both, or of what is left, where they are known of all rows: of no rows they are."""
        if not self.count or not other.count:
            return self.column_sums if self.count else other.column_sums
        if self.column_sums is None or other.column_sums is None:
            return None
        return self.column_sums - other.column_sums if taken_away else self.column_sums + other.column_sums

    def _contradicts(self, other: Sums) -> bool:
        """Return whether two sketches are of different rows, as their column sums say."""
        if self.column_sums is None or other.column_sums is None:
            return False
        return self.column_sums != other.column_sums

    def require_same_operator(self, other: Sums, verb: str) -> None:
        """Refuse a sketch of another operator, with which nothing can be done: `verb` says what."""
        difference = self.operator.difference(other.operator)
        if difference:
            raise MergeError(
                f"Cannot {verb} sketches of {difference}. Only sums of the same measurements add up: draw the operator "
                "once and share it, as a file of op.empty().",
                about="operator",
            )
        names, others = self.operator.feature_names, other.operator.feature_names
        if names is not None and others is not None and names != others:
            raise MergeError(f"Cannot {verb} sketches of different columns: {names!r:.200} and {others!r:.200}.")

    def __eq__(self, other: object) -> bool:
        """Whether two sketches are the same sum, to the last bit: operators, counts and sums are equal.

        Sums of columns are compared where both know them. Bounds, clipped and skipped rows are notes, and are not
        compared: equal files (`qckm.files.dumps`) say that these are equal, too.
        """
        return (
            isinstance(other, Sums)
            and self.operator == other.operator
            and self.exact == other.exact
            and self.count == other.count
            and np.array_equal(self.total, other.total)
            and not self._contradicts(other)
            and self.ledger == other.ledger
        )

    def __repr__(self) -> str:
        return f"Sketch(count={self.count}, saturated={self.saturated}, operator={self.operator!r})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: counts, columns, what is measured."""
        operator = self.operator
        notes = {"skipped": self.skipped, "clipped": self.saturated, "parts": len(self.parts), "private": self.private}
        facts = {
            "rows": self.count,
            "columns": operator.feature_names or operator.n_features,
            "frequencies": operator.n_frequencies,
            "signature": operator.signature.name,
            "scale": operator.scale,
            **{name: value for name, value in notes.items() if value},
        }
        return facts_as_html("Sketch", facts)
