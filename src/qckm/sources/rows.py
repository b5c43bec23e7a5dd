"""What counts as rows: a 2-D array of numbers, from whatever the user holds, copied only where it must be."""

from __future__ import annotations

import contextlib
import datetime
from typing import Any, NoReturn, TypeGuard

import numpy as np

from qckm.common.arrays import Floats, Int64s, Rows, Weights
from qckm.errors import RowsError
from qckm.sources.frame_columns import column_names, has_objects, require_numeric_columns

# What NumPy would turn into a number where it stands among objects, though it is none: "1_000" into 1000, a date into
# the microseconds since 1970.
_NO_NUMBERS = (
    str, bytes, bytearray, complex, np.complexfloating,
    datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64,
)  # fmt: skip


def as_rows(X: object, n_features: int | None = None) -> Rows:
    """Return X as an array (rows, n) of float32, float64 or integers; refuse with a reason what cannot be that.

    NumPy arrays and memmaps come back as they are. pandas, polars, pyarrow tables and record batches, and anything
    else that knows `__array__` are converted. Text, dates and times are refused, also where NumPy would make numbers
    of them. Masked and missing values become NaN. No other value is looked at: the kernels do that.
    """
    # SciPy sparse matrices and arrays say what they are; scipy.sparse itself need not be imported for this.
    if hasattr(X, "tocsr"):
        raise RowsError(
            "Sparse rows cannot be sketched: expected dense rows, got a sparse container. "
            "Densify a few thousand rows at a time: qckm.sketch_batches(op, (part.toarray() for part in parts))."
        )
    require_numeric_columns(X)
    try:
        rows = unmasked(X) if isinstance(X, np.ndarray) else np.asarray(X)
    except (ValueError, TypeError) as error:  # ragged lists
        raise RowsError(f"Expected rows of numbers, got {type(X).__name__}: {error}.") from error
    if rows.ndim != 2:
        hint = " Use X.reshape(1, -1) for one row, X.reshape(-1, 1) for one feature." if rows.ndim == 1 else ""
        if rows.dtype.names:
            hint = " Use numpy.lib.recfunctions.structured_to_unstructured for an array of records."
        raise RowsError(f"Expected a 2-D array (rows, features), got {rows.ndim} dimension(s).{hint}")
    if n_features is not None and rows.shape[1] != n_features:
        raise RowsError(f"Expected rows of {n_features} features, as the operator has, got {rows.shape[1]}.")
    if rows.dtype == object:
        require_no_text(rows, column_names(X))
        if hasattr(X, "to_numpy"):
            # pandas' nullable columns: their missing values become NaN, which is then refused by row and column.
            with contextlib.suppress(TypeError, ValueError):
                rows = X.to_numpy(dtype=np.float64, na_value=np.nan)
    return _as_numbers(rows)


def unmasked(array: Rows) -> Rows:
    """Return a plain array: masked values are missing ones, NaN, and a matrix has no rules of its own any more."""
    if isinstance(array, np.ma.MaskedArray):
        if not np.ma.getmaskarray(array).any():
            return np.asarray(array.data)
        if array.dtype.kind in "biufO":
            kept: Any = array.astype(np.float64) if array.dtype.kind in "biu" else array
            return np.asarray(kept.filled(np.nan))
    return array if isinstance(array, np.memmap) else np.asarray(array)


def undisguised(X: object) -> Any:
    """Return X as others may convert it: without a mask, and without what they would take for numbers and is none."""
    require_numeric_columns(X)
    if isinstance(X, np.ma.MaskedArray):
        X = unmasked(X)
    objects = X.dtype == object and X.ndim == 2 if isinstance(X, np.ndarray) else has_objects(X)
    if objects:
        require_no_text(np.asarray(X), column_names(X))
    return X


def require_no_text(rows: Rows, names: tuple[str, ...] | None = None) -> None:
    """Refuse objects (rows, n) that are text, dates or complex numbers, naming the first one's row and column."""
    kinds = {type(value) for value in rows.flat}
    if not any(issubclass(kind, _NO_NUMBERS) for kind in kinds):
        return
    row, column = next(place for place in np.ndindex(rows.shape) if isinstance(rows[place], _NO_NUMBERS))
    value = rows[row, column]
    raise RowsError(
        f"Expected numbers, got {value!r:.40} ({type(value).__name__}) at row {row}, "
        f"column {names[column] if names else column!r}. Convert it, or leave that column out."
    )


def require_names(X: object, expected: tuple[str, ...] | None) -> None:
    """Refuse a frame whose columns are not those that the operator was made for, in that order."""
    if expected is None or isinstance(X, np.ndarray):
        return
    names = column_names(X)
    if names is not None and names != expected:
        hint = "Select them in this order." if set(names) >= set(expected) else "Is this the right operator?"
        raise RowsError(f"Expected columns {_listed(expected)}, as the operator has, got {_listed(names)}. {hint}")


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) <= 12 else f"{', '.join(names[:10])}, … ({len(names)})"


def _as_numbers(rows: Rows) -> Rows:
    kind = rows.dtype.kind
    if kind in "iu" or rows.dtype in (np.float32, np.float64):
        return rows
    if kind == "O":
        missing = np.array([type(value).__name__ == "NAType" for value in rows.flat], bool)  # pandas' NA is no float
        rows = np.where(missing.reshape(rows.shape), np.nan, rows) if missing.any() else rows
    if kind in "bfO":  # booleans, half and long doubles, objects such as Decimal or None
        try:
            return rows.astype(np.float64)
        except (ValueError, TypeError, OverflowError) as error:
            raise RowsError(f"Expected numbers, got values that are none: {error}.") from error
    raise RowsError(f"Expected real numbers, got an array of type {rows.dtype}.")


def require_finite(rows: Rows, lower: Floats, upper: Floats, first_row: int = 0) -> None:
    """Raise an error that names the first NaN or infinity; `lower` and `upper` are the columns' least and greatest.

    A NaN makes a column's minimum NaN and an infinity stays one, so the rows are only searched when there is one.
    """
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        raise_not_finite(rows, first_row)


def raise_not_finite(rows: Rows, first_row: int = 0) -> NoReturn:
    """Raise an error that names the first NaN or infinity of rows that have one; the first row is `first_row`."""
    row, column = np.argwhere(~np.isfinite(rows))[0]
    value = "NaN" if np.isnan(rows[row, column]) else "infinity"
    raise RowsError(
        f"Input X contains {value} at row {first_row + row}, column {column}: expected finite numbers. "
        "Drop or fill such rows before sketching."
    )


def require_no_mask(sample_weight: Any) -> None:
    """Refuse weights of which some are masked: a missing weight is neither 0 nor what lies under the mask."""
    if np.ma.is_masked(sample_weight):
        row = int(np.argmax(np.ma.getmaskarray(sample_weight).ravel()))
        raise RowsError(f"Expected a sample_weight for each row, got a masked one in row {row}.")


def is_whole(weights: Weights | None) -> TypeGuard[Int64s | None]:
    """Whether all weights are whole numbers, or there are none: sums are exact then."""
    return weights is None or weights.dtype == np.int64


def as_weights(sample_weight: object, n_rows: int) -> Weights:
    """Return weights (rows,): int64 where all are whole numbers, so that sums stay exact, float64 otherwise."""
    require_no_mask(sample_weight)
    try:
        weights = np.asarray(sample_weight)
    except (ValueError, TypeError) as error:  # ragged lists
        raise RowsError(f"Expected one sample_weight a row, got {type(sample_weight).__name__}: {error}.") from error
    if weights.shape != (n_rows,):
        raise RowsError(f"Expected one sample_weight a row, shape ({n_rows},), got shape {weights.shape}.")
    if weights.dtype.kind not in "biuf":
        raise RowsError(f"Expected numbers in sample_weight, got type {weights.dtype}.")
    if not np.isfinite(weights).all():
        raise RowsError("Expected finite sample_weight, got NaN or infinity.")
    if (weights < 0).any():
        raise RowsError(f"Expected sample_weight >= 0, got {weights.min()}: to forget rows, subtract their sketch.")
    # Above 2**53 a float64 no longer knows its units, and sums of table values could leave int64.
    whole = np.abs(weights).max(initial=0) < 2**40 and (weights == np.rint(weights)).all()
    return weights.astype(np.int64) if whole else weights.astype(np.float64)
