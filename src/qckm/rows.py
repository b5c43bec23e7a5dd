"""What counts as rows: a 2-D array of numbers, from whatever the user holds, copied only where it must be."""

from __future__ import annotations

import contextlib
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from qckm.errors import RowsError

Floats = npt.NDArray[np.float64]


def as_rows(X: Any, n_features: int | None = None) -> npt.NDArray[Any]:
    """Return X as an array (rows, n) of float32, float64 or integers; refuse with a reason what cannot be that.

    NumPy arrays and memmaps come back as they are. pandas, polars, pyarrow tables and record batches, and anything
    else that knows `__array__` are converted. Values are not looked at: the kernels do that.
    """
    # SciPy sparse matrices and arrays say what they are; scipy.sparse itself need not be imported for this.
    if hasattr(X, "tocsr"):
        raise RowsError(
            "Sparse rows cannot be sketched: expected dense rows, got a sparse container. "
            "Densify a few thousand rows at a time: qckm.sketch_batches(op, (part.toarray() for part in parts))."
        )
    try:
        rows = X if isinstance(X, np.ndarray) else np.asarray(X)
    except (ValueError, TypeError) as error:  # ragged lists
        raise RowsError(f"Expected rows of numbers, got {type(X).__name__}: {error}.") from error
    if rows.ndim != 2:
        hint = " Use X.reshape(1, -1) for one row, X.reshape(-1, 1) for one feature." if rows.ndim == 1 else ""
        raise RowsError(f"Expected a 2-D array (rows, features), got {rows.ndim} dimension(s).{hint}")
    if n_features is not None and rows.shape[1] != n_features:
        raise RowsError(f"Expected rows of {n_features} features, as the operator has, got {rows.shape[1]}.")
    if rows.dtype == object and hasattr(X, "to_numpy"):
        # pandas' nullable columns: their missing values become NaN, which is then refused by row and column.
        with contextlib.suppress(TypeError, ValueError):
            rows = X.to_numpy(dtype=np.float64, na_value=np.nan)
    return _as_numbers(rows)


def _as_numbers(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    kind = rows.dtype.kind
    if kind in "iu" or rows.dtype in (np.float32, np.float64):
        return rows
    if kind in "bfO":  # booleans, half and long doubles, objects such as Decimal or None
        try:
            return rows.astype(np.float64)
        except (ValueError, TypeError) as error:
            raise RowsError(f"Expected numbers, got values that are none: {error}.") from error
    raise RowsError(f"Expected real numbers, got an array of type {rows.dtype}.")


def require_finite(rows: npt.NDArray[Any], lower: Floats, upper: Floats, first_row: int = 0) -> None:
    """Raise an error that names the first NaN or infinity; `lower` and `upper` are the columns' least and greatest.

    A NaN makes a column's minimum NaN and an infinity stays one, so the rows are only searched when there is one.
    """
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        raise_not_finite(rows, first_row)


def raise_not_finite(rows: npt.NDArray[Any], first_row: int = 0) -> NoReturn:
    """Raise an error that names the first NaN or infinity of rows that have one; the first row is `first_row`."""
    row, column = np.argwhere(~np.isfinite(rows))[0]
    value = "NaN" if np.isnan(rows[row, column]) else "infinity"
    raise RowsError(
        f"Input X contains {value} at row {first_row + row}, column {column}: expected finite numbers. "
        "Drop or fill such rows before sketching."
    )


def as_weights(sample_weight: Any, n_rows: int) -> npt.NDArray[np.int64] | Floats:
    """Return weights (rows,): int64 where all are whole numbers, so that sums stay exact, float64 otherwise."""
    weights = np.asarray(sample_weight)
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
