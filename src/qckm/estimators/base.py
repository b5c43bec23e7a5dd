"""The life cycle of an estimator: rows, wherever they are, become a sketch, which is decoded when first asked for.

What is decoded (centroids, a mixture, axes) is for the subclass to say.
"""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr

from qckm.common.arrays import Floats
from qckm.common.random import as_seed
from qckm.common.text import facts_as_html
from qckm.decoding.targets.kmeans import hints_of
from qckm.decoding.task import require_sketch, warn_of_clipping
from qckm.errors import DecodeError, OperatorError, QckmError, RowsError, SampleLostWarning, warn
from qckm.estimators.parameters import Expected, validate_rows, validate_weights
from qckm.kernels.sketcher import computing_on, parse_device
from qckm.models import Model
from qckm.planning.held_rows import ArrayRows, HeldRows, SourceRows
from qckm.planning.pilot import Pilot
from qckm.planning.plan import Plan, Planned, draw_operator, sampled
from qckm.planning.row_sample import RowSample
from qckm.sketch import Sketch, SketchOperator
from qckm.sources.rows import OnBad, engine_of, open_held, require_on_bad, with_columns
from qckm.sources.source import is_read_in_batches

log = logging.getLogger(__name__)


class Decoded(Protocol):
    """What is found in a sketch, whatever it is."""

    @property
    def objective(self) -> float:
        """What is left of the sketch, squared."""

    @property
    def converged(self) -> bool | None:
        """The decoder's verdict."""

    @property
    def n_iter(self) -> int:
        """The evaluations of the objective."""


Found = TypeVar("Found", bound=Decoded)
Columns = Sequence[str | int] | None


class CompressiveEstimator(BaseEstimator, Generic[Found]):
    """Rows to a sketch, in one pass; `fit` decodes it, after `partial_fit` whoever first asks for a result does."""

    signature: Any
    n_frequencies: Any
    scale: Any
    law: Any
    init: Any
    pilot: str | None
    device: str
    random_state: Any
    sketch_: Sketch
    operator_: SketchOperator
    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]
    _found: Found
    _hints: Pilot | None
    _seed: int
    _sample: RowSample | None

    _parameters: ClassVar[dict[str, Expected]]
    # The parameter that says how many clusters, or components, are looked for: rows must be as many.
    _counted: ClassVar[str] = "n_components"
    # Rows of a sample to decode with, at least.
    _least_sample: ClassVar[int] = 0

    @abstractmethod
    def _decode_sketch(self, hints: Pilot | None) -> Found:
        """Return what is found in `sketch_`."""

    def _choose_n_frequencies(self, n_features: int) -> int | None:
        """Return m, where it is left to us; None where it depends on K alone."""
        return None

    @property
    def _n_clusters(self) -> int:
        """The clusters that the scale is chosen for."""
        return int(getattr(self, self._counted))  # whose arithmetic is not that of a NumPy int8

    def _require_rows(self, count: float, first_batch: bool = False) -> None:
        """Refuse too few rows; in a first batch, if it sets the scale."""
        if count >= self._n_clusters or (first_batch and self.scale != "auto"):
            return
        words = f"n_samples={count} should be >= {self._counted}={self._n_clusters}."
        if first_batch:
            words = f"The first batch sets the scale: {words} Begin with a larger batch, or pass scale=."
        raise RowsError(words)

    def _label(self, held: HeldRows) -> None:
        """Say of each row that was fitted what was found of it, where that is asked for."""

    def fit(
        self,
        X: object,
        y: object = None,
        sample_weight: object = None,
        *,
        columns: Columns = None,
        on_bad: OnBad = "error",
    ) -> Self:
        """Sketch the rows in one pass and decode the sketch.

        Parameters
        ----------
        X : array-like of shape (rows, n)
            Or what is read in batches: paths, polars lazy frames, DuckDB relations, what `qckm.open_source` gives. Or
            rows that an engine holds, sketched where they are: a Dask array, data frame or bag, a Spark DataFrame, a
            Ray dataset.
        y : ignored
        sample_weight : array-like of shape (rows,), optional
            Of rows in memory, and of rows that an engine holds.
        columns : sequence of str or int, optional
            The columns to use, by name or position; all by default.
        on_bad : {"error", "skip"}
            What to do with rows that hold a null, a NaN or an infinity: refuse, or leave them out and count them in the
            sketch's `skipped`.

        Returns
        -------
        self
        """
        self._validate()
        return self.fit_partitions(self._opened(X, columns, sample_weight, reset=True), on_bad)

    def partial_fit(
        self,
        X: object,
        y: object = None,
        sample_weight: object = None,
        *,
        columns: Columns = None,
        on_bad: OnBad = "error",
    ) -> Self:
        """Add rows to the sketch. Nothing is decoded until something of it is asked for.

        The first batch draws the operator, so with scale="auto" it should be like the ones to come, and hold at least
        as many rows as clusters are looked for. A batch that is refused changes nothing.

        Parameters
        ----------
        X, y, sample_weight, columns, on_bad
            Those of `fit`.

        Returns
        -------
        self
        """
        self._validate()
        if not hasattr(self, "sketch_"):
            self._begin(self._opened(X, columns, sample_weight, reset=True, batch=True), on_bad, going_on=True)
            return self
        held = self._opened(X, columns, sample_weight, reset=False, batch=True)
        kept = self._sample
        more, part = self._sketched(held, self.operator_, on_bad, None if kept is None else kept.emptied())
        if kept is not None and part is not None:
            kept = kept.merged(part)
        self._adopt(self.sketch_ + more, self._hints, self._seed, kept)
        return self

    def fit_sketch(self, sketch: Sketch, rows: npt.ArrayLike | None = None) -> Self:
        """Decode a sketch made elsewhere; its operator takes the place of signature, scale, law and n_frequencies.

        Of a sketch at several scales (`octaves`), k-means decodes the one that suits the data.

        Parameters
        ----------
        sketch : Sketch
        rows : array-like of shape (rows, n), optional
            Some of the rows that were sketched, or rows like them, which `init="auto"` then decodes with.

        Returns
        -------
        self
        """
        self._validate()
        require_sketch(sketch)
        if isinstance(self.init, str) and self.init == "pilot":
            raise DecodeError("A sketch has no pilot rows: use init='sketch', 'auto', or centroids of your own.")
        operator = sketch.operator
        hints = None if rows is None else hints_of(sketch, with_columns(rows, None, operator.feature_names))
        self._set_columns(operator.n_features, operator.feature_names)
        self._adopt(sketch, hints, as_seed(self.random_state))
        self._decode()
        self._forget_rows()
        return self

    def fit_partitions(self, held: HeldRows, on_bad: OnBad = "error", decode: bool = True) -> Self:
        """Fit to rows that were opened, such as those that an engine holds; `fit` calls this.

        Parameters
        ----------
        held : HeldRows
            What `qckm.engines.open_partitions` gives.
        on_bad : {"error", "skip"}
            As in `fit`.
        decode : bool, default True
            Whether to decode at once, and to label the rows if that is asked for.

        Returns
        -------
        self
        """
        self._begin(held, on_bad, going_on=not decode)
        if decode:
            self._decode()
            self._forget_rows()
            self._label(held)
        return self

    @property
    def objective_(self) -> float:
        """What is left of the sketch, squared."""
        return self._decode().objective

    @property
    def converged_(self) -> bool | None:
        """The decoder's verdict: whether what was found explains the sketch; None where the decoder cannot say."""
        return self._decode().converged

    @property
    def n_iter_(self) -> int:
        """The evaluations of the objective."""
        return self._decode().n_iter

    def _repr_html_(self) -> str:
        """Return what a notebook shows: scikit-learn's diagram, and of a fit the sketch and whether it is reliable."""
        decoded = "_found" in self.__dict__
        shown: str = estimator_html_repr(
            self if decoded else clone(self)
        )  # it looks at all attributes, and would decode
        if hasattr(self, "sketch_"):
            shown += self.sketch_._repr_html_()
        if decoded:
            verdict = {True: "reliable", False: "doubtful", None: "none"}[self.converged_]
            shown += facts_as_html("Found", {self._counted: self._n_clusters, "verdict": verdict})
        return shown

    def _validate(self) -> None:
        """Refuse parameters that are not what they should be."""
        for name, expected in self._parameters.items():
            value = getattr(self, name)
            if not expected.holds(value):
                raise QckmError(f"Expected {name} to be {expected.words}, got {value!r:.80}.")
        parse_device(self.device)

    def _opened(self, X: object, columns: Columns, sample_weight: object, reset: bool, batch: bool = False) -> HeldRows:
        """Open rows; unless they are the first, their columns must be those of the fit."""
        usual = None if reset else self.operator_.feature_names
        held: HeldRows
        if engine_of(X) or is_read_in_batches(X):
            open_rows = open_held if engine_of(X) else SourceRows
            held = open_rows(X, columns, usual, sample_weight)
            if not reset:
                held.require_columns(self.operator_)
            return held
        rows = validate_rows(self, with_columns(X, columns, None), reset)
        weights = validate_weights(sample_weight, rows)
        if reset:
            self._require_rows(len(rows), batch)
        names = getattr(self, "feature_names_in_", None)
        return ArrayRows(rows, weights, None if names is None else tuple(names))

    def _labels_of_fitted(self, X: object, columns: Columns, model: Model) -> npt.NDArray[np.int32]:
        """Return what a model says each row is of that was just fitted: −1 where it was left out."""
        if engine_of(X):
            there: npt.NDArray[np.int32] = self._held_by_engine(X, columns=columns).nearest(model)
            return there
        rows = validate_rows(self, X if is_read_in_batches(X) else with_columns(X, columns, None), reset=False)
        good = np.isfinite(rows).all(axis=1) if self.sketch_.skipped else slice(None)
        labels = np.full(len(rows), -1, np.int32)
        labels[good] = model.predict(rows[good])
        return labels

    def _held_by_engine(self, X: object, sample_weight: object = None, columns: Columns = None) -> Any:
        """Open rows that an engine holds, if their columns are those of the fit."""
        held = open_held(X, columns, self.operator_.feature_names, sample_weight)
        held.require_columns(self.operator_)
        return held

    def _begin(self, held: HeldRows, on_bad: OnBad, going_on: bool) -> None:
        """Draw the operator from a pilot of the rows, then sketch and sample them."""
        self._set_columns(held.n_features, held.names)
        planned, seed = self._prepare(held, of_all=not going_on)
        wanted = planned.sample if self.pilot == "sample" else None
        if wanted is not None:
            wanted = replace(wanted, size=max(wanted.size, self._least_sample))
        sketch, sample = self._sketched(held, planned.operator, on_bad, wanted)
        if not held.weighted:
            self._require_rows(sketch.count, going_on)
        hints = None if planned.hints is None else planned.hints.without_rows()
        self._adopt(sketch, hints, seed, sample)

    def _prepare(self, held: HeldRows, of_all: bool = True) -> tuple[Planned, int]:
        """Draw the operator from a pilot, of all rows or the first; return the plan and the decoder's seed."""
        if self.pilot is None and self.scale == "auto":
            raise OperatorError("With pilot=None no row is looked at: expected scale=, a length in data units.")
        if self.pilot is None and isinstance(self.init, str) and self.init == "pilot":
            raise DecodeError("With pilot=None there is no pilot to begin at: use init='sketch' or 'auto'.")
        m = self._choose_n_frequencies(held.n_features) if self.n_frequencies == "auto" else self.n_frequencies
        plan = Plan(
            n_clusters=self._n_clusters,
            n_frequencies=m,
            scale=None if self.scale == "auto" else self.scale,
            law=self.law,
            signature=self.signature,
            seed=as_seed(self.random_state),
        )
        planned = draw_operator(held, plan, self.pilot is not None, of_all, refuse_few=False)  # see _require_rows
        return planned, plan.decoder_seed

    def _sketched(
        self, held: HeldRows, operator: SketchOperator, on_bad: OnBad, empty: RowSample | None
    ) -> tuple[Sketch, RowSample | None]:
        """Sketch rows, and sample them if a sample is wanted."""
        require_on_bad(on_bad)
        with computing_on(self.device):
            if empty is None:
                return held.sketch(operator, on_bad), None
            sketch, sample = held.sketch_and_sample(operator, on_bad, empty)
            return sketch, sample.standing_for(float(sketch.count))

    def _set_columns(self, n_features: int, names: tuple[str, ...] | None) -> None:
        """Note the columns, as scikit-learn does where it validates rows."""
        self.n_features_in_ = n_features
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, object)

    def _adopt(self, sketch: Sketch, hints: Pilot | None, seed: int, sample: RowSample | None = None) -> None:
        """Take a new sketch in one go, with what a pilot tells of it, and the sample to decode with.

        What was decoded from the old one is void.
        """
        warn_of_clipping(sketch)
        log.info("sketch of %s rows, skipped %d", sketch.count, sketch.skipped)
        for stale in ("_found", "labels_", "inertia_"):
            self.__dict__.pop(stale, None)
        self.sketch_, self.operator_ = sketch, sketch.operator
        self._hints, self._seed = hints, seed
        self._sample = sample

    def _forget_rows(self) -> None:
        """Keep what the pilot told, and none of its rows."""
        self._hints = None if self._hints is None else self._hints.without_rows()
        self._sample = None

    def __getstate__(self) -> dict[str, Any]:
        """Rows do not travel: where `partial_fit` keeps some to decode with, its copies decode the sketch alone."""
        state: dict[str, Any] = super().__getstate__()
        if state.get("_hints") is not None:
            state["_hints"] = state["_hints"].without_rows()
        if state.get("_sample") is not None:
            state["_sample"], state["_lost_its_rows"] = None, True
        return state

    def _decode(self) -> Found:
        """Decode the sketch unless that is done."""
        if not hasattr(self, "sketch_"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. "
                "Call 'fit', 'partial_fit' or 'fit_sketch' first."
            )
        if "_found" not in self.__dict__:
            began = time.perf_counter()
            self._found = self._decode_sketch(self._hints_now())
            taken, verdict = time.perf_counter() - began, self._found.converged
            log.info("decoded a sketch of %s rows in %.2f s; reliable: %s", self.sketch_.count, taken, verdict)
        return self._found

    def _hints_now(self) -> Pilot | None:
        """Return what the pilot tells, with a sample of all rows so far where there is one."""
        if self.__dict__.pop("_lost_its_rows", False):
            warn(
                f"This copy of a {type(self).__name__} has a sketch of its rows, but not the sample that partial_fit "
                "kept: rows are not pickled. The sketch is decoded alone.",
                SampleLostWarning,
            )
        if self._sample is None or self._hints is None:
            return self._hints
        return sampled(self._hints, self._sample)


class CompressiveTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CompressiveEstimator[Found]):
    """An estimator whose `transform` says what was found of each row, in numbers."""

    @abstractmethod
    def transform(self, X: object) -> Floats:
        """Return what was found of each row, (rows, …)."""

    def fit_transform(
        self,
        X: object,
        y: object = None,
        sample_weight: object = None,
        *,
        columns: Columns = None,
        on_bad: OnBad = "error",
    ) -> Floats:
        """Fit, and transform the columns that were fitted; parameters are those of `fit`."""
        self.fit(X, sample_weight=sample_weight, columns=columns, on_bad=on_bad)
        alone = columns is not None and not engine_of(X) and not is_read_in_batches(X)
        return self.transform(with_columns(X, columns, None) if alone else X)
