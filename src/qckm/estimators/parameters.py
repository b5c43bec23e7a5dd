"""What estimators check before a fit: parameters, rows in memory, weights. Only public names of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from qckm.common.arrays import Floats, Rows, Weights
from qckm.errors import RowsError
from qckm.operator.laws import LAWS, Law
from qckm.operator.signatures import SIGNATURES, Signature
from qckm.sources.rows import as_rows, as_weights, column_names, require_finite, undisguised, with_columns
from qckm.sources.source import is_read_in_batches


class Expected(NamedTuple):
    """What a parameter may be, in words and as a test."""

    words: str
    holds: Callable[[Any], bool]


def is_count(value: object) -> bool:
    """Whether a value is a whole number from 1 on. True is none, though it is one to Python."""
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_)) and int(value) >= 1


def one_of(*names: str | None) -> Expected:
    """Expect one of some names."""
    return Expected(
        f"one of {', '.join(map(repr, names))}",
        lambda value: (value is None or isinstance(value, str)) and value in names,
    )


COUNT = Expected("a whole number >= 1", is_count)
# What all estimators have.
SHARED: dict[str, Expected] = {
    "signature": Expected(
        f"a name among {', '.join(SIGNATURES)}, a Signature or a function",
        lambda value: (
            value in SIGNATURES if isinstance(value, str) else isinstance(value, Signature) or callable(value)
        ),
    ),
    "n_frequencies": Expected("a whole number >= 1 or 'auto'", lambda value: _is_auto(value) or is_count(value)),
    "scale": Expected(
        "a number > 0 or 'auto'",
        lambda value: (
            _is_auto(value) or (isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < np.inf)
        ),
    ),
    "law": Expected(
        f"'auto', a name among {', '.join(LAWS)}, or a Law",
        lambda value: _is_auto(value) or (value in LAWS if isinstance(value, str) else isinstance(value, Law)),
    ),
    "init": one_of("auto", "sketch"),
    "pilot": one_of("sample", "first", None),
}


def _is_auto(value: object) -> bool:
    return isinstance(value, str) and value == "auto"


def validate_rows(estimator: BaseEstimator, X: object, reset: bool) -> Rows:
    """Return rows (rows, n) of the columns that the estimator was fitted to; with `reset`, of any."""
    if is_read_in_batches(X):
        raise RowsError(
            f"Expected rows, got {type(X).__name__}. Read it in batches, and hand on the rows of each: "
            "for batch in qckm.open_source(data).batches()."
        )
    known, held = () if reset else getattr(estimator, "feature_names_in_", ()), column_names(X)
    if 0 < len(known) < len(held or ()):  # a frame with other columns besides; the same in another order are refused
        X = with_columns(X, None, tuple(known))
    # Finiteness is checked where the rows are read anyway, and there the error can say which row.
    return as_rows(validate_data(estimator, undisguised(X), reset=reset, dtype="numeric", ensure_all_finite=False))


def finite_rows(estimator: BaseEstimator, X: object) -> Floats:
    """Return rows to say something of, as float64."""
    rows = np.asarray(validate_rows(estimator, X, reset=False), np.float64)
    require_finite(rows)
    return rows


def validate_weights(sample_weight: object, rows: Rows) -> Weights | None:
    """Return weights (rows,) of which some are not 0, if there are any."""
    if sample_weight is None:
        return None
    weights = as_weights(sample_weight, len(rows))
    if not weights.any():
        raise RowsError("Expected some sample_weight > 0, got zeros only: there are no rows to sketch.")
    return weights
