"""What estimators beside k-means share: from rows, wherever they are, to a sketch that is fitted when first asked for.

Rows are planned, sketched and added up by the functions that `CompressiveKMeans` uses, so that arrays, streams and the
partitions of an engine give the same sketch to each.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, validate_data

from qckm.common.arrays import Floats
from qckm.common.random import as_seed
from qckm.decoding.decode import hints_of, require_sketch, warn_of_clipping
from qckm.errors import RowsError
from qckm.operator.laws import LAWS, Law
from qckm.operator.signatures import SIGNATURES, Signature
from qckm.planning.hints import Hints
from qckm.planning.pilot import Pilot, choose_pilot_size, draw_pilot
from qckm.planning.plan import Plan, decoder_seed, plan_operator
from qckm.sketch import Sketch, SketchOperator
from qckm.sketch.runs import OnBad
from qckm.sources.engine_rows import HeldRows, engine_of, open_held
from qckm.sources.rows import as_rows, require_finite, require_no_mask, undisguised


class SketchedEstimator(BaseEstimator):
    """Rows to a sketch, in one pass; what is fitted to the sketch is for the subclass to say."""

    signature: Any
    n_frequencies: Any
    scale: Any
    law: Any
    init: str
    random_state: Any

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012, scikit-learn's own convention
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "signature": [StrOptions(set(SIGNATURES)), Signature, callable],
        "n_frequencies": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "scale": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "law": [StrOptions({"auto", *LAWS}), Law],
        "init": [StrOptions({"auto", "sketch"})],
        "random_state": ["random_state", np.random.Generator],
    }

    @abstractmethod
    def _choose_n_frequencies(self, n_features: int) -> int:
        """Return m, where it is left to us."""

    @abstractmethod
    def _fit_to(self, sketch: Sketch, hints: Hints | None, seed: int) -> Any:
        """Return what is fitted to a sketch."""

    @abstractmethod
    def _require_rows(self, count: float, weighted: bool = False) -> None:
        """Refuse too few rows; of weighted ones, nobody knows how many they are."""

    @property
    @abstractmethod
    def _n_clusters(self) -> int:
        """The clusters that the scale is chosen for."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Sketch the rows in one pass and fit the sketch.

        Parameters
        ----------
        X : array-like of shape (rows, n)
            Or rows that an engine holds: a Dask array, data frame or bag, a Spark DataFrame, a Ray dataset.
        y : ignored
        sample_weight : array-like of shape (rows,), optional

        Returns
        -------
        self
        """
        if engine_of(X):
            return self.fit_partitions(open_held(X, sample_weight=sample_weight))
        rows, weights = self._validate(X, sample_weight, first=True)
        self._require_rows(len(rows))
        operator, hints, seed = self._prepare(lambda rng: self._draw_pilot(rows, weights, rng))
        self._adopt(operator.sketch(rows, weights), hints, seed)
        self._fitted()
        self._forget_rows()
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add a batch of rows to the sketch. Nothing is fitted until something of it is asked for.

        The first batch draws the operator, so with scale="auto" it should be like the ones to come. A batch that is
        refused changes nothing.

        Parameters
        ----------
        X : array-like of shape (rows, n)
        y : ignored
        sample_weight : array-like of shape (rows,), optional

        Returns
        -------
        self
        """
        first = not hasattr(self, "sketch_")
        if engine_of(X):
            held = open_held(X, sample_weight=sample_weight)
            if first:
                return self.fit_partitions(held, fit=False)
            held.require_columns(self.operator_)
            self._adopt(self.sketch_ + held.sketch(self.operator_), self._hints, self._seed)
            return self
        rows, weights = self._validate(X, sample_weight, first)
        if first:
            self._require_rows(len(rows))
            operator, hints, seed = self._prepare(lambda rng: self._draw_pilot(rows, weights, rng), of_all=False)
            self._adopt(operator.sketch(rows, weights), hints, seed)
        else:
            self._adopt(self.sketch_ + self.operator_.sketch(rows, weights), self._hints, self._seed)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_sketch(self, sketch: Sketch, rows: Any = None) -> Self:
        """Fit a sketch made elsewhere; its operator takes the place of signature, scale, law and n_frequencies.

        Parameters
        ----------
        sketch : Sketch
        rows : array-like of shape (rows, n), optional
            Some of the rows that were sketched, or rows like them, to start from.

        Returns
        -------
        self
        """
        require_sketch(sketch)
        operator = sketch.operator
        hints = None if rows is None else hints_of(operator, rows)
        self._set_columns(operator.n_features, operator.feature_names)
        self._adopt(sketch, hints, decoder_seed(as_seed(self.random_state)))
        self._fitted()
        self._forget_rows()
        return self

    def fit_partitions(self, held: HeldRows, on_bad: OnBad = "error", fit: bool = True) -> Self:
        """Fit to rows that an engine holds; `fit` and `partial_fit` call this for Dask, Spark and Ray.

        Parameters
        ----------
        held : HeldRows
            What `qckm.engines.open_partitions` gives.
        on_bad : {"error", "skip"}
            Rows with a null, NaN or infinity: refuse, or leave out and count in the sketch's `skipped`.
        fit : bool, default True
            Whether to fit the sketch at once.

        Returns
        -------
        self
        """
        self._set_columns(held.n_features, held.names)
        operator, hints, seed = self._prepare(held.pilot)
        sketch = held.sketch(operator, on_bad)
        self._require_rows(sketch.count, held.weighted)
        self._adopt(sketch, hints, seed)
        if fit:
            self._fitted()
            self._forget_rows()
        return self

    def _validate(self, X: Any, sample_weight: Any, first: bool) -> tuple[npt.NDArray[Any], Floats | None]:
        rows = self._validate_rows(X, reset=first)
        if sample_weight is None:
            return rows, None
        require_no_mask(sample_weight)
        weights: Floats = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise RowsError("Expected some sample_weight > 0, got zeros only: there are no rows to sketch.")
        return rows, weights

    def _validate_rows(self, X: Any, reset: bool) -> npt.NDArray[Any]:
        # Finiteness is checked where the rows are read anyway, and there the error can say which row.
        return as_rows(validate_data(self, undisguised(X), reset=reset, dtype="numeric", ensure_all_finite=False))

    def _finite_rows(self, X: Any) -> Floats:
        """Return rows to say something of, as float64."""
        rows = np.asarray(self._validate_rows(X, reset=False), np.float64)
        require_finite(rows, rows.min(axis=0), rows.max(axis=0))
        return rows

    def _draw_pilot(self, rows: npt.NDArray[Any], weights: Floats | None, rng: np.random.Generator) -> Pilot:
        try:
            return draw_pilot(rows, weights, rng, choose_pilot_size(self._n_clusters))
        except RowsError:  # the pilot holds a NaN or an infinity: name the row in the user's own numbering
            require_finite(rows, rows.min(axis=0), rows.max(axis=0))
            raise

    def _prepare(
        self, draw: Callable[[np.random.Generator], Pilot], of_all: bool = True
    ) -> tuple[SketchOperator, Hints | None, int]:
        """Draw the operator from a pilot, of all rows or the first; return it with its hints and the fit's seed."""
        names = getattr(self, "feature_names_in_", None)
        n = self.n_features_in_
        plan = Plan(
            n_clusters=self._n_clusters,
            n_frequencies=self._choose_n_frequencies(n) if self.n_frequencies == "auto" else self.n_frequencies,
            scale=None if self.scale == "auto" else self.scale,
            law=self.law,
            signature=self.signature,
            seed=as_seed(self.random_state),
        )
        columns = [str(name) for name in (range(n) if names is None else names)]
        planned = plan_operator(columns, names, draw, plan, want_hints=True, of_all=of_all)
        return planned.operator, planned.hints, decoder_seed(plan.seed)

    def _set_columns(self, n_features: int, names: tuple[str, ...] | None) -> None:
        self.n_features_in_ = n_features
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, object)

    def _adopt(self, sketch: Sketch, hints: Hints | None, seed: int) -> None:
        """Take a new sketch in one go; what was fitted to the old one is void."""
        warn_of_clipping(sketch)
        self.__dict__.pop("_found", None)
        self.sketch_, self.operator_ = sketch, sketch.operator
        self._hints, self._seed = hints, seed

    def _forget_rows(self) -> None:
        """Keep what the pilot told, and none of its rows."""
        self._hints = None if self._hints is None else self._hints.without_rows()

    def __getstate__(self) -> dict[str, Any]:
        """Rows do not travel: where `partial_fit` keeps some to fit with, its copies fit the sketch alone."""
        state: dict[str, Any] = super().__getstate__()
        if state.get("_hints") is not None:
            state["_hints"] = state["_hints"].without_rows()
        return state

    def _fitted(self) -> Any:
        """Fit the sketch unless that is done."""
        if not hasattr(self, "sketch_"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. "
                "Call 'fit', 'partial_fit' or 'fit_sketch' first."
            )
        if "_found" not in self.__dict__:
            hints = self._hints
            if hints is not None and self.init == "sketch":
                hints = hints.without_rows()
            self._found = self._fit_to(self.sketch_, hints, self._seed)
        return self._found
