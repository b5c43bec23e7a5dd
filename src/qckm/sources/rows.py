"""What counts as rows: a 2-D array of numbers, from whatever the user holds, copied only where it must be.

Frames of pandas, polars and Arrow are known by what they have, and rows that an engine holds by where their type comes
from; none of these libraries is imported.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NoReturn

import numpy as np

from qckm.common.arrays import Rows, Weights
from qckm.errors import RowsError, SourceError
from qckm.sources.table import resolve

# What to do with rows that hold a null, a NaN or an infinity.
OnBad = Literal["error", "skip"]

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
    _require_numeric_columns(X)
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
        _require_no_text(rows, column_names(X))
        if hasattr(X, "to_numpy"):
            # pandas' nullable columns: their missing values become NaN, which is then refused by row and column.
            with contextlib.suppress(TypeError, ValueError):
                rows = X.to_numpy(dtype=np.float64, na_value=np.nan)
    return _as_numbers(rows)


def chosen_rows(
    X: object, names: tuple[str, ...] | None, n_features: int, columns: Sequence[Any] | None = None
) -> Rows:
    """Return rows (rows, n) of a frame's or an array's columns: those asked for, else those of an operator or model."""
    X = with_columns(X, columns, names)
    require_names(X, names)
    return as_rows(X, n_features)


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
    _require_numeric_columns(X)
    if isinstance(X, np.ma.MaskedArray):
        X = unmasked(X)
    elif hasattr(X, "num_rows") and not hasattr(X, "to_batches"):  # a batch of Arrow, whose names nobody would see
        import pyarrow as pa

        X = pa.Table.from_batches([X])
    if isinstance(X, np.ndarray):
        objects = X.dtype == object and X.ndim == 2
    else:  # of columns of objects nobody knows what they are
        objects = any(str(kind).lower() == "object" for _, kind, _ in _kinds(X))
    if objects:
        _require_no_text(np.asarray(X), column_names(X))
    return X


def _require_no_text(rows: Rows, names: tuple[str, ...] | None = None) -> None:
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


def require_on_bad(on_bad: object) -> None:
    """Refuse what says neither that bad rows are an error nor that they are skipped, before any row is read."""
    if on_bad not in ("error", "skip"):
        raise RowsError(f"Expected on_bad 'error' or 'skip', got {on_bad!r}.")


def require_finite(rows: Rows, first_row: int = 0) -> None:
    """Raise an error that names the first NaN or infinity; there must be rows, the first of which is `first_row`."""
    # A NaN makes a column's minimum NaN and an infinity stays one: the rows are only searched when there is one.
    if not (np.isfinite(rows.min(axis=0)).all() and np.isfinite(rows.max(axis=0)).all()):
        raise_not_finite(rows, first_row)


def raise_not_finite(rows: Rows, first_row: int = 0) -> NoReturn:
    """Raise an error that names the first NaN or infinity of rows that have one; the first row is `first_row`."""
    row, column = np.argwhere(~np.isfinite(rows))[0]
    value = "NaN" if np.isnan(rows[row, column]) else "infinity"
    raise RowsError(
        f"Input X contains {value} at row {first_row + row}, column {column}: expected finite numbers. "
        "Drop or fill such rows before sketching."
    )


def as_weights(sample_weight: object, n_rows: int) -> Weights:
    """Return weights (rows,): int64 where all are whole numbers, so that sums stay exact, float64 otherwise."""
    if np.ma.is_masked(sample_weight):  # neither 0 nor what lies under the mask
        row = int(np.argmax(np.ma.getmaskarray(np.ma.asarray(sample_weight)).ravel()))
        raise RowsError(f"Expected a sample_weight for each row, got a masked one in row {row}.")
    try:
        weights = np.asarray(sample_weight)
    except (ValueError, TypeError) as error:  # ragged lists
        raise RowsError(f"Expected one sample_weight per row, got {type(sample_weight).__name__}: {error}.") from error
    if weights.shape != (n_rows,):
        raise RowsError(f"Expected one sample_weight per row, shape ({n_rows},), got shape {weights.shape}.")
    if weights.dtype.kind not in "biuf":
        raise RowsError(f"Expected numbers in sample_weight, got type {weights.dtype}.")
    if not np.isfinite(weights).all():
        raise RowsError("Expected finite sample_weight, got NaN or infinity.")
    if (weights < 0).any():
        raise RowsError(f"Expected sample_weight >= 0, got {weights.min()}: to forget rows, subtract their sketch.")
    # Above 2**53 a float64 no longer knows its units, and sums of table values could leave int64.
    whole = np.abs(weights).max(initial=0) < 2**40 and (weights == np.rint(weights)).all()
    return weights.astype(np.int64) if whole else weights.astype(np.float64)


def column_names(X: object) -> tuple[str, ...] | None:
    """Return the names of the columns of a pandas, polars or Arrow frame; None of what has none."""
    schema = getattr(X, "schema", None)
    found = getattr(X, "columns", None)
    if schema is not None and hasattr(schema, "names") and not callable(schema.names):
        found = schema.names  # Arrow: `columns` are the columns themselves
    if found is None:
        return None
    try:
        names = tuple(found)
    except TypeError:
        return None
    return names if names and all(isinstance(name, str) for name in names) else None


def with_columns(X: Any, columns: Sequence[Any] | None, usual: Sequence[str] | None) -> Any:
    """Return a frame or an array with the columns that are asked for, by name or position; else with the usual ones.

    The usual ones are chosen if the frame has them all, and has names.
    """
    held = column_names(X)
    if columns is None:
        if usual is None or held is None or held == tuple(usual) or not set(usual) <= set(held):
            return X
        names = list(usual)
    elif held is None:
        rows = X if isinstance(X, np.ndarray) else np.asarray(X)
        numbers = [str(number) for number in range(rows.shape[1] if rows.ndim == 2 else 0)]
        return rows[:, [numbers.index(name) for name in _found(columns, numbers)]]
    else:
        names = _found(columns, held)
    return X.select(names) if hasattr(X, "select") else X[names]


def _found(columns: Sequence[Any], held: Sequence[str]) -> list[str]:
    names = resolve(columns, held)
    missing = [name for name in names if name not in held]
    if missing or not names or len(set(names)) != len(names):
        wrong = ", ".join(map(repr, (missing or names)[:12])) or "none"
        raise RowsError(f"Expected columns of {', '.join(held[:30])}, each once, got {wrong}.", about="columns")
    return names


def _require_numeric_columns(X: object) -> None:
    """Refuse a frame with columns of text, dates or times, by their names.

    NumPy makes numbers of some of them where they stand beside numbers: of dates the time since 1970, of text what
    Python's `float` does.
    """
    wrong = [f"{name!r} ({kind})" for name, kind, numeric in _kinds(X) if not numeric]
    if wrong:
        raise RowsError(f"Expected columns of numbers, got {'; '.join(wrong[:5])}. Convert them, or leave them out.")


def _kinds(X: object) -> Iterator[tuple[Any, Any, bool]]:
    """Yield name, type and whether it is one of numbers, of each column of a frame; nothing of other things."""
    if isinstance(X, np.ndarray) or hasattr(X, "collect"):  # a lazy frame has no types before it is collected
        return
    schema: Any = getattr(X, "schema", None)
    dtypes: Any = getattr(X, "dtypes", None)
    if isinstance(schema, Mapping):  # polars
        for name, kind in schema.items():
            numeric = getattr(kind, "is_numeric", None)
            yield name, kind, numeric is None or bool(numeric()) or str(kind) in ("Boolean", "Null", "Object")
    elif hasattr(schema, "types") and hasattr(schema, "names"):  # Arrow
        from qckm.sources.arrow import is_arrow_number

        for name, kind in zip(schema.names, schema.types, strict=True):
            yield name, kind, is_arrow_number(kind)
    elif hasattr(dtypes, "items") and hasattr(X, "columns"):  # pandas
        for name, kind in dtypes.items():
            yield name, kind, _is_pandas_number(kind)


def _is_pandas_number(kind: Any) -> bool:
    categories = getattr(kind, "categories", None)
    if categories is not None:
        return _is_pandas_number(categories.dtype) and not any(isinstance(one, (str, bytes)) for one in categories)
    if isinstance(kind, np.dtype):
        return kind.kind in "biufO"  # of objects each is looked at
    # Nullable columns, and Arrow's in pandas, whose decimals and nulls NumPy knows as objects only.
    return getattr(kind, "kind", "O") in "biuf" or str(kind).startswith(("decimal", "null"))


# Who opens the types of a library, and what its engine is called. None is known here: `qckm` itself registers those
# it has (engines/), and others may. What is done with the rows is known above only: whoever opens some says what is
# asked of them.
Opener = Callable[[object, Sequence[Any] | str | None, Sequence[str] | None, object], Any]
_ENGINES: dict[str, tuple[str, Opener]] = {}
# The library of arrays that lie on a GPU, whoever made them.
GPU = "arrays on a GPU"
_CUDA = (2, 13)  # DLPack's numbers of devices: CUDA, and CUDA's managed memory
_HOST_LIBRARIES = ("numpy", "pandas", "polars", "pyarrow")


def register_engines(engines: Mapping[str, str], opener: Opener) -> None:
    """Say who opens the types of some libraries, and what their engines are called: {"pyspark": "spark"}."""
    _ENGINES.update({library: (name, opener) for library, name in engines.items()})


def engine_of(data: object) -> str | None:
    """Return the engine ("dask", "spark", "ray" or "gpu") that holds some data; None for what lies in this process.

    Examples
    --------
    >>> engine_of([[0.0, 1.0]]) is None
    True
    """
    return _ENGINES.get(_library_of(data), (None,))[0]


def open_held(
    data: object,
    columns: Sequence[Any] | str | None = None,
    usual: Sequence[str] | None = None,
    sample_weight: object = None,
) -> Any:
    """Open rows that an engine holds; `usual` are the columns to read where none are asked for, if all are there."""
    if engine_of(data) is None:
        known = ", ".join(sorted({name for name, _ in _ENGINES.values()}))
        raise SourceError(f"Expected rows held by {known}, got {type(data).__name__}.")
    return _ENGINES[_library_of(data)][1](data, columns, usual, sample_weight)


def _library_of(data: object) -> str:
    """Return the library of some data's type, or `GPU`: CuPy, PyTorch, JAX or Numba arrays there, cuDF frames.

    No library is imported to tell.
    """
    library = type(data).__module__.split(".", 1)[0]
    if library in _HOST_LIBRARIES:
        return library
    where = getattr(data, "__dlpack_device__", None)
    on_gpu = (
        library == "cudf"
        or hasattr(data, "__cuda_array_interface__")
        or (where is not None and int(where()[0]) in _CUDA)
    )
    return GPU if on_gpu else library
