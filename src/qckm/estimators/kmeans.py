"""CompressiveKMeans: the scikit-learn face. It validates, and hands on to the operator, the sketch and the decoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context

from qckm.common.arrays import Floats, Rows
from qckm.common.random import as_seed
from qckm.decoding.decode import Hints, hints_of, require_sketch
from qckm.errors import DecodeError, OperatorError, RowsError
from qckm.estimators.fitted import FittedKMeans
from qckm.estimators.kept_rows import begin_sample, draw_pilot_of_rows, sample_like, stand_for
from qckm.estimators.validation import PARAMETERS, validate_rows, validate_weights
from qckm.kernels.placement import computing_on
from qckm.planning.pilot import Pilot, choose_pilot_size
from qckm.planning.plan import Plan, decoder_seed, plan_operator
from qckm.planning.row_sample import RowSample, seed_of
from qckm.planning.source_rows import SourceRows, is_in_files
from qckm.sketch import Sketch, SketchOperator
from qckm.sketch.runs import OnBad
from qckm.sources.engine_rows import HeldRows, engine_of, open_held


class CompressiveKMeans(FittedKMeans):
    """K-means from a sketch: one pass over the rows, and a few of them to decode it with.

    A pilot of at most 5000 rows (50 a cluster, where that is more) is drawn before the pass, for the scale, and decoded
    with after it. `fit` forgets it then. `partial_fit` keeps a sample of all its rows in memory, four times as large,
    for the centroids that are asked for later. Rows are never pickled. `pilot=` says otherwise.

    Parameters
    ----------
    n_clusters : int, default 8
        K.
    signature : str, Signature or callable, default "one-bit"
        "one-bit" is QCKM, "exponential" CKM; see `qckm.signatures`.
    n_frequencies : int or "auto", default "auto"
        m; "auto" takes 5·n·K, at least 100; fewer, down to 2·n·K, where n·m would be more than 2²⁶.
    scale : float or "auto", default "auto"
        The kernel's length in data units; "auto" takes it from a pilot of at most 5000 rows, drawn from all rows in
        `fit`, from the first batch in `partial_fit`.
    law : str or Law, default "auto"
        Law of the frequencies; "auto" is "balanced-radius", for the exponential signature and in `partial_fit`, which
        sees the first rows only, "gaussian"; "concentrated-radius" where m < 3nK, or K ≥ 50 and n ≥ 5.
    decoder : {"auto", "matched", "clompr"}, default "auto"
        "matched" models clusters with width, through all harmonics of the signature; "clompr" is the paper's algorithm
        to the letter; "auto" is "matched".
    init : {"auto", "sketch", "pilot"} or array-like of shape (K, n), default "auto"
        What is decoded with: "auto" weighs the pilot's rows so that they reproduce the sketch (`qckm.calibrate`) and
        clusters them; where they cannot, points drawn from the sketch as well. "sketch" uses no row. "pilot" uses none
        either, but starts at the k-means centroids of the pilot, and an array at these centroids.
    pilot : {"sample", "first"} or None, default "sample"
        Which rows may be kept. "sample" keeps a sample of all rows until they are decoded. "first" looks at rows, in
        `partial_fit` those of the first batch, for the scale only: none of them outlasts the call, and the sketch is
        decoded alone. None looks at no row before it is sketched: `scale` must be given, and phases count from 0.
    n_init : int, default 1
        Replicates of "clompr", of which the one with the least sketch objective is kept; for "matched", which searches
        until it is satisfied, a factor on its patience.
    bounds : pair of array-like of shape (n,), optional
        The box (lower, upper) that holds the centroids; by default what was seen in the data.
    device : {"auto", "cpu", "cuda", "cuda:1", …}, default "auto"
        Where rows are sketched, and the sketch is decoded where that pays: "auto" sketches rows where they lie, "cuda"
        copies rows of the host to a GPU. Sums do not depend on it.
    compute_labels : bool, default True
        Whether `fit` looks at the rows a second time, for `labels_` and `inertia_`.
    random_state : None, int or RandomState
        With an int, results are the same whatever the number of threads. The operator depends on the pilot's rows, too:
        sketches of two fits do not add up. Sketch with the `operator_` of one of them instead.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (K, n)
        The centroids, the heaviest first. Decoded when first asked for after `partial_fit`.
    cluster_weights_ : ndarray of shape (K,)
        Shares of the rows, as the decoder sees them.
    labels_ : ndarray of shape (rows,)
        The nearest centroid of each row given to `fit`.
    inertia_ : float
        Sum of squared distances of the rows to their centroids, weighted.
    sketch_ : Sketch
        All that is left of the rows.
    operator_ : SketchOperator
    objective_ : float
        What is left of the sketch, squared: by the rows or points that were clustered, or by CL-OMPR's points.
    explained_ : float
        Share of the sketch's energy that K clusters explain: Gaussians, or CL-OMPR's points.
    converged_ : bool or None
        The decoder's verdict: whether the sketch settles where the centroids are.
    inertia_estimate_, inertia_error_ : float
        `inertia_` as far as the sketch tells, without another look at the rows, and its standard error. None for
        CL-OMPR, which models points.
    remarks_ : tuple of str
        What to know before relying on the centroids: why `converged_` is False, centroids that coincide or have no
        rows, a column beside which no other counts, one that numbers or names rows, rows that are all the same.
    n_iter_ : int
        Evaluations of the objective.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n,)
        Where the rows had column names.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2)) + 8 * rng.integers(0, 3, size=(3000, 1))
    >>> km = qckm.CompressiveKMeans(n_clusters=3, random_state=0).fit(X)
    >>> sorted(km.cluster_centers_[:, 0].round().astype(int).tolist())
    [0, 8, 16]
    >>> km.predict([[0.0, 0.0], [0.5, 0.5]]).tolist() == [km.labels_[X.sum(axis=1).argmin()]] * 2
    True
    """

    _parameter_constraints = PARAMETERS

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        signature: Any = "one-bit",
        n_frequencies: Any = "auto",
        scale: Any = "auto",
        law: Any = "auto",
        decoder: str = "auto",
        init: Any = "auto",
        pilot: str | None = "sample",
        n_init: int = 1,
        bounds: Any = None,
        device: str = "auto",
        compute_labels: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.signature = signature
        self.n_frequencies = n_frequencies
        self.scale = scale
        self.law = law
        self.decoder = decoder
        self.init = init
        self.pilot = pilot
        self.n_init = n_init
        self.bounds = bounds
        self.device = device
        self.compute_labels = compute_labels
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: object, y: object = None, sample_weight: object = None) -> CompressiveKMeans:
        """Sketch the rows in one pass and decode the sketch.

        Parameters
        ----------
        X : array-like of shape (rows, n)
            Or rows that an engine holds: a Dask array, data frame or bag, a Spark DataFrame, a Ray dataset. They are
            sketched where they are; `labels_` are then a Dask array, and there are none for the others. Or a path, or
            what `qckm.open_source` gives: read in batches, without `labels_`.
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
        if len(rows) < self.n_clusters:
            raise RowsError(f"n_samples={len(rows)} should be >= n_clusters={self.n_clusters}.")
        operator, pilot, seed = self._prepare(
            lambda rng: draw_pilot_of_rows(rows, weights, rng, choose_pilot_size(self.n_clusters))
        )
        self._adopt(self._sketch(operator, rows, weights), pilot, seed)
        self._decode()
        self._forget_rows()
        if self.compute_labels:
            self._label(rows, weights)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: object, y: object = None, sample_weight: object = None) -> CompressiveKMeans:
        """Add a batch of rows to the sketch. Nothing is decoded until centroids are asked for.

        The first batch draws the operator, so with scale="auto" it should be like the ones to come, and hold at least
        K rows. A batch that is refused changes nothing.

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
            if first:
                return self.fit_partitions(open_held(X, sample_weight=sample_weight), decode=False)
            held = self._opened(X, sample_weight)
            with computing_on(self.device):
                more = held.sketch(self.operator_)
            sample = None if self._sample is None else self._sample.merged(sample_like(self._sample, held, more))
            self._adopt(self.sketch_ + more, self._pilot, self._seed, sample)
            return self
        rows = validate_rows(self, X, reset=first)
        weights = validate_weights(sample_weight, rows)
        if first:
            if self.scale == "auto" and len(rows) < self.n_clusters:
                raise RowsError(
                    f"The first batch sets the scale: n_samples={len(rows)} should be >= n_clusters={self.n_clusters}. "
                    "Begin with a larger batch, or pass scale=."
                )
            samples: list[RowSample] = []

            def draw(rng: np.random.Generator) -> Pilot:
                samples.append(begin_sample(rows, weights, rng, choose_pilot_size(self.n_clusters)))
                return samples[0].pilot()

            operator, pilot, seed = self._prepare(draw, of_all=False)
            self._adopt(self._sketch(operator, rows, weights), pilot, seed, samples[0] if samples else None)
        else:
            sketch = self.sketch_ + self._sketch(self.operator_, rows, weights)
            sample = None if self._sample is None else self._sample.added(rows, weights)
            self._adopt(sketch, self._pilot, self._seed, sample)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_sketch(self, sketch: Sketch, rows: npt.ArrayLike | None = None) -> CompressiveKMeans:
        """Decode a sketch made elsewhere; its operator takes the place of signature, scale, law and n_frequencies.

        Of a sketch at several scales (`octaves`), the one that suits the data is decoded.

        Parameters
        ----------
        sketch : Sketch
        rows : array-like of shape (rows, n), optional
            Some of the rows that were sketched, or rows like them, which `init="auto"` then decodes with.

        Returns
        -------
        self
        """
        require_sketch(sketch)
        if isinstance(self.init, str) and self.init == "pilot":
            raise DecodeError("A sketch has no pilot rows: use init='sketch', 'auto', or centroids of your own.")
        seed = decoder_seed(as_seed(self.random_state))
        self._set_columns(sketch.operator.n_features, sketch.operator.feature_names)
        self._adopt(sketch, None if rows is None else hints_of(sketch.operator, rows), seed)
        self._decode()
        self._forget_rows()
        return self

    def fit_predict(self, X: object, y: object = None, sample_weight: object = None) -> npt.NDArray[np.int32]:
        """Fit, and return the nearest centroid of each row."""
        self.fit(X, sample_weight=sample_weight)
        return self.labels_ if self.compute_labels else self.predict(X)

    def fit_partitions(self, held: HeldRows, on_bad: OnBad = "error", decode: bool = True) -> CompressiveKMeans:
        """Fit to rows that an engine holds; `fit` and `partial_fit` call this for Dask, Spark and Ray.

        Parameters
        ----------
        held : HeldRows
            What `qckm.engines.open_partitions` gives.
        on_bad : {"error", "skip"}
            Rows with a null, NaN or infinity: refuse, or leave out and count in the sketch's `skipped`.
        decode : bool, default True
            Whether to decode at once, and to label the rows if that is asked for.

        Returns
        -------
        self
        """
        self._set_columns(held.n_features, held.names)
        samples: list[RowSample] = []

        def draw(rng: np.random.Generator) -> Pilot:
            samples.append(held.sample(seed_of(rng), rng, choose_pilot_size(self.n_clusters)))
            return samples[0].pilot()

        operator, pilot, seed = self._prepare(draw)
        with computing_on(self.device):
            sketch = held.sketch(operator, on_bad)
        if sketch.count < self.n_clusters and not held.weighted:
            raise RowsError(f"n_samples={sketch.count} should be >= n_clusters={self.n_clusters}.")
        self._adopt(sketch, pilot, seed, stand_for(sketch, samples[0]) if samples else None)
        if decode:
            self._decode()
            self._forget_rows()
            if self.compute_labels and held.lazy:
                self.inertia_, used = held.misfit(self.to_model())
                self.labels_ = held.nearest(self.to_model())
                self._warn_of_unused(int((used > 0).sum()))
        return self

    def _sketch(self, operator: SketchOperator, rows: Rows, weights: Floats | None) -> Sketch:
        with computing_on(self.device):
            return operator.sketch(rows, weights)

    def _prepare(
        self, draw: Callable[[np.random.Generator], Pilot], of_all: bool = True
    ) -> tuple[SketchOperator, Hints | None, int]:
        """Draw the operator from a pilot, of all rows or the first; return it with its hints and the decoder's seed."""
        if self.pilot is None and self.scale == "auto":
            raise OperatorError("With pilot=None no row is looked at: expected scale=, a length in data units.")
        if self.pilot is None and isinstance(self.init, str) and self.init == "pilot":
            raise DecodeError("With pilot=None there is no pilot to begin at: use init='sketch' or 'auto'.")
        names = getattr(self, "feature_names_in_", None)
        plan = Plan(
            n_clusters=self.n_clusters,
            n_frequencies=None if self.n_frequencies == "auto" else self.n_frequencies,
            scale=None if self.scale == "auto" else self.scale,
            law=self.law,
            signature=self.signature,
            seed=as_seed(self.random_state),
        )
        columns = range(self.n_features_in_) if names is None else names
        want_hints = self.pilot is not None
        planned = plan_operator([str(name) for name in columns], names, draw, plan, want_hints, of_all)
        hints = planned.hints
        if hints is not None and self.pilot == "first":
            hints = hints.without_rows()
        return planned.operator, hints, decoder_seed(plan.seed)
