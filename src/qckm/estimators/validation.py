"""What scikit-learn checks before a fit: parameters, rows, weights."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, validate_data

from qckm.common.arrays import Floats, Rows
from qckm.decoding.decode import DECODERS
from qckm.errors import RowsError
from qckm.operator.laws import LAWS, Law
from qckm.operator.signatures import SIGNATURES, Signature
from qckm.planning.source_rows import is_in_files
from qckm.sources.rows import as_rows, require_no_mask, undisguised


class Count(Interval):
    """A whole number from 1 on. True is none, though it is one to Python."""

    def __init__(self) -> None:
        super().__init__(Integral, 1, None, closed="left")

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether a value is such a number."""
        return not isinstance(val, (bool, np.bool_)) and bool(super().is_satisfied_by(val))


PARAMETERS: dict[str, list[Any]] = {
    "n_clusters": [Count()],
    "signature": [StrOptions(set(SIGNATURES)), Signature, callable],
    "n_frequencies": [Count(), StrOptions({"auto"})],
    "scale": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    "law": [StrOptions({"auto", *LAWS}), Law],
    "decoder": [StrOptions(set(DECODERS))],
    "init": [StrOptions({"auto", "sketch", "pilot"}), "array-like"],
    "pilot": [StrOptions({"sample", "first"}), None],
    "n_init": [Count()],
    "bounds": [tuple, list, np.ndarray, None],
    "device": [str],
    "compute_labels": ["boolean"],
    "random_state": ["random_state", np.random.Generator],
}


def validate_rows(estimator: BaseEstimator, X: object, reset: bool) -> Rows:
    """Return rows (rows, n) of as many features as the estimator was fitted to; with `reset`, of any number."""
    if is_in_files(X):
        raise RowsError(
            f"Expected rows, got {type(X).__name__}. Read a file in batches, and hand on the rows of each: "
            "for batch in qckm.open_source(path).batches()."
        )
    # Finiteness is checked where the rows are read anyway, and there the error can say which row.
    return as_rows(validate_data(estimator, undisguised(X), reset=reset, dtype="numeric", ensure_all_finite=False))


def validate_weights(sample_weight: object, rows: Rows) -> Floats | None:
    """Return weights (rows,) of which some are not 0, if there are any."""
    if sample_weight is None:
        return None
    require_no_mask(sample_weight)
    weights: Floats = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise RowsError("Expected some sample_weight > 0, got zeros only: there are no rows to sketch.")
    return weights
