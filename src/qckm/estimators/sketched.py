"""What estimators beside k-means share: from rows, wherever they are, to a sketch that is fitted when first asked for.

Rows are planned, sketched and added up by the functions that `CompressiveKMeans` uses, so that arrays, streams and the
partitions of an engine give the same sketch to each.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval, StrOptions

from qckm.common.arrays import Floats
from qckm.common.random import as_seed
from qckm.decoding.decode import hints_of, require_sketch, warn_of_clipping
from qckm.estimators.kept_rows import begin_sample, draw_pilot_of_rows, sample_like, stand_for
from qckm.estimators.validation import Count, validate_rows, validate_weights
from qckm.operator.laws import LAWS, Law
from qckm.operator.signatures import SIGNATURES, Signature
from qckm.planning.hints import Hints
from qckm.planning.pilot import Pilot, choose_pilot_size
from qckm.planning.plan import Plan, decoder_seed, plan_operator
from qckm.planning.row_sample import RowSample, seed_of
from qckm.planning.source_rows import SourceRows, is_in_files
from qckm.sketch import Sketch, SketchOperator
from qckm.sketch.runs import OnBad
from qckm.sources.engine_rows import HeldRows, engine_of, open_held
from qckm.sources.rows import require_finite


class SketchedEstimator(BaseEstimator):
    """Rows to a sketch, in one pass; what is fitted to the sketch is for the subclass to say."""

    signature: Any
    n_frequencies: Any
    scale: Any
    law: Any
    init: str
    random_state: Any

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012, scikit-learn's own convention
        "n_components": [Count()],
        "signature": [StrOptions(set(SIGNATURES)), Signature, callable],
        "n_frequencies": [Count(), StrOptions({"auto"})],
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
            Or rows that an engine holds: a Dask array, data frame or bag, a Spark DataFrame, a Ray dataset. Or a path,
            or what `qckm.open_source` gives, which is read in batches.
        y : ignored
        sample_weight : array-like of shape (rows,), optional

        Returns
        -------
        self
        """
        if is_in_files(X):
            return self.fit_partitions(SourceRows(X, sample_weight))
        if engine_of(X):
            return self.fit_partitions(open_held(X, sample_weight=sample_weight))
        rows = validate_rows(self, X, reset=True)
        weights = validate_weights(sample_weight, rows)
        self._require_rows(len(rows))
        size = choose_pilot_size(self._n_clusters)
        operator, hints, seed = self._prepare(lambda rng: draw_pilot_of_rows(rows, weights, rng, size))
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
            more = held.sketch(self.operator_)
            sample = None if self._sample is None else self._sample.merged(sample_like(self._sample, held, more))
            self._adopt(self.sketch_ + more, self._hints, self._seed, sample)
            return self
        rows = validate_rows(self, X, reset=first)
        weights = validate_weights(sample_weight, rows)
        if first:
            self._require_rows(len(rows))
            samples: list[RowSample] = []

            def draw(rng: np.random.Generator) -> Pilot:
                samples.append(begin_sample(rows, weights, rng, choose_pilot_size(self._n_clusters)))
                return samples[0].pilot()

            operator, hints, seed = self._prepare(draw, of_all=False)
            self._adopt(operator.sketch(rows, weights), hints, seed, samples[0])
        else:
            sample = None if self._sample is None else self._sample.added(rows, weights)
            self._adopt(self.sketch_ + self.operator_.sketch(rows, weights), self._hints, self._seed, sample)
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
        samples: list[RowSample] = []

        def draw(rng: np.random.Generator) -> Pilot:
            samples.append(held.sample(seed_of(rng), rng, choose_pilot_size(self._n_clusters)))
            return samples[0].pilot()

        operator, hints, seed = self._prepare(draw)
        sketch = held.sketch(operator, on_bad)
        self._require_rows(sketch.count, held.weighted)
        self._adopt(sketch, hints, seed, stand_for(sketch, samples[0]))
        if fit:
            self._fitted()
            self._forget_rows()
        return self

    def _finite_rows(self, X: Any) -> Floats:
        """Return rows to say something of, as float64."""
        rows = np.asarray(validate_rows(self, X, reset=False), np.float64)
        require_finite(rows, rows.min(axis=0), rows.max(axis=0))
        return rows

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

    def _adopt(self, sketch: Sketch, hints: Hints | None, seed: int, sample: RowSample | None = None) -> None:
        """Take a new sketch, and a sample of its rows, in one go; what was fitted to the old one is void."""
        warn_of_clipping(sketch)
        self.__dict__.pop("_found", None)
        self.sketch_, self.operator_ = sketch, sketch.operator
        self._hints, self._seed, self._sample = hints, seed, sample

    def _forget_rows(self) -> None:
        """Keep what the pilot told, and none of its rows."""
        self._hints, self._sample = None if self._hints is None else self._hints.without_rows(), None

    def __getstate__(self) -> dict[str, Any]:
        """Rows do not travel: where `partial_fit` keeps some to fit with, its copies fit the sketch alone."""
        state: dict[str, Any] = super().__getstate__()
        if state.get("_hints") is not None:
            state["_hints"] = state["_hints"].without_rows()
        if "_sample" in state:
            state["_sample"] = None
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
            if hints is not None and self._sample is not None:
                pilot = self._sample.pilot()
                hints = replace(hints, rows=pilot.rows, weights=pilot.weights)
            if hints is not None and self.init == "sketch":
                hints = hints.without_rows()
            self._found = self._fit_to(self.sketch_, hints, self._seed)
        return self._found
