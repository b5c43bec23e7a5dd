"""The columns of a pandas, polars or Arrow frame, without importing its library: their names, and which are numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from qckm.errors import RowsError


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


def require_numeric_columns(X: object) -> None:
    """Refuse a frame with columns of text, dates or times, by their names.

    NumPy makes numbers of some of them where they stand beside numbers: of dates the time since 1970, of text what
    Python's `float` does.
    """
    wrong = [f"{name!r} ({kind})" for name, kind, numeric in _kinds(X) if not numeric]
    if wrong:
        raise RowsError(f"Expected columns of numbers, got {'; '.join(wrong[:5])}. Convert them, or leave them out.")


def has_objects(X: object) -> bool:
    """Whether a frame has a column of Python objects, of which nobody knows what they are."""
    return any(str(kind).lower() == "object" for _, kind, _ in _kinds(X))


def is_arrow_number(kind: Any) -> bool:
    """Whether an Arrow type is one of numbers: also booleans, decimals, and dictionaries of these."""
    import pyarrow.types as types

    if types.is_dictionary(kind):
        return is_arrow_number(kind.value_type)
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


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
