"""CompressivePCA: principal components from a sketch, with the surface of scikit-learn's."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from qckm.common.arrays import Floats
from qckm.decoding.targets.principal_axes import FittedAxes, choose_axes_frequencies, fit_axes
from qckm.errors import DecodeError, RowsError
from qckm.estimators.base import CompressiveTransformer
from qckm.estimators.parameters import COUNT, SHARED, Expected, finite_rows
from qckm.planning.pilot import Pilot


class CompressivePCA(CompressiveTransformer[FittedAxes]):
    """Principal components from a sketch: one pass over the rows.

    A sketch of up to 64 columns knows their covariances, exactly for rows as they were coded, and these are used.
    Elsewhere (more columns, bits of sensors, real-valued weights) a Gaussian of mean, r axes and a variance for each
    column is fitted to the sketch. Where it does not explain the sketch, as for clusters, the covariance is that of the
    sample's rows, weighted so that they reproduce the sketch, or without rows that of a mixture. `fit` then forgets the
    rows. `partial_fit` keeps a sample of all its rows in memory. Rows are never pickled. `pilot=` says otherwise.

    Parameters
    ----------
    n_components : int, default 1
        r.
    standardize : bool, default False
        Whether each column counts in its own standard deviation. It is known from the sketch, so this can be decided
        after the pass: `CompressivePCA(2, standardize=True).fit_sketch(sketch)`.
    signature : str, Signature or callable, default "one-bit"
    n_frequencies : int or "auto", default "auto"
        m; "auto" takes 4·r·n, at least 100. With fewer than 2·r·n, `converged_` is False.
    scale : float or "auto", default "auto"
        The kernel's length in data units; "auto" takes it from a pilot of at most 5000 rows.
    law : str or Law, default "auto"
    init : {"auto", "sketch"}, default "auto"
        Whether the sample's rows may be used where one Gaussian does not explain the sketch; "sketch" uses no row.
    pilot : {"sample", "first"} or None, default "sample"
        Which rows may be kept. "sample" keeps a sample of all rows until they are decoded. "first" looks at rows, in
        `partial_fit` those of the first batch, for the scale only. None looks at no row before it is sketched: `scale`
        must be given, and phases count from 0.
    device : {"auto", "cpu", "cuda", "cuda:1", …}, default "auto"
        Where rows are sketched: "auto" sketches rows where they lie, "cuda" copies rows of the host to a GPU.
    random_state : None, int or RandomState

    Attributes
    ----------
    components_ : ndarray of shape (r, n)
        Unit vectors, that of the greatest variance first; in each the largest entry is positive.
    explained_variance_ : ndarray of shape (r,)
    explained_variance_ratio_ : ndarray of shape (r,)
        Shares of the variance of all columns.
    mean_ : ndarray of shape (n,)
    deviations_ : ndarray of shape (n,)
        What columns are divided by: their standard deviations where they are standardised, else 1.
    sine_, sine_high_ : float
        The sine of the largest angle to the components of all rows: as expected, and an upper limit. Of the columns'
        covariances 0; 1 where nothing is known, as where rows were clipped.
    converged_ : bool
        Whether `sine_high_` is 0.2 or less.
    source_ : {"columns", "gaussian", "rows", "clusters"}
        What the covariance is of.
    objective_ : float
        What is left of the sketch, squared.
    n_components_ : int
    sketch_ : Sketch
    operator_ : SketchOperator
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n,)
        Where the rows had column names.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 1)) * [3.0, 4.0, 0.0] + rng.normal(size=(5000, 3))
    >>> pca = qckm.CompressivePCA(1, random_state=0).fit(X)
    >>> abs(pca.components_).round(1).tolist(), pca.converged_
    ([[0.6, 0.8, 0.0]], True)
    """

    _parameters: ClassVar[dict[str, Expected]] = {
        **SHARED,
        "n_components": COUNT,
        "standardize": Expected("True or False", lambda value: isinstance(value, (bool, np.bool_))),
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        standardize: bool = False,
        signature: Any = "one-bit",
        n_frequencies: Any = "auto",
        scale: Any = "auto",
        law: Any = "auto",
        init: str = "auto",
        pilot: str | None = "sample",
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.standardize = standardize
        self.signature = signature
        self.n_frequencies = n_frequencies
        self.scale = scale
        self.law = law
        self.init = init
        self.pilot = pilot
        self.device = device
        self.random_state = random_state

    def transform(self, X: Any) -> Floats:
        """Return the rows in terms of the components, (rows, r)."""
        check_is_fitted(self)
        rows = np.ascontiguousarray(finite_rows(self, X))  # a frame's are in another order, and BLAS sums differently
        coordinates: Floats = (rows - self.mean_) / self.deviations_ @ self.components_.T
        return coordinates

    def inverse_transform(self, X: Any) -> Floats:
        """Return the rows (rows, n) whose terms of the components are X: (rows, r)."""
        check_is_fitted(self)
        coordinates = check_array(X, dtype=np.float64)
        if coordinates.shape[1] != self.n_components:
            raise RowsError(f"Expected {self.n_components} column(s), a component each, got {coordinates.shape[1]}.")
        rows: Floats = coordinates @ self.components_ * self.deviations_ + self.mean_
        return rows

    @property
    def components_(self) -> Floats:
        """The components, (r, n)."""
        return self._eigen()[1]

    @property
    def explained_variance_(self) -> Floats:
        """The variance along each component, (r,)."""
        return self._eigen()[0]

    @property
    def explained_variance_ratio_(self) -> Floats:
        """The share of each component in the variance of all columns, (r,)."""
        ratios: Floats = self.explained_variance_ / np.trace(self._covariance())
        return ratios

    @property
    def mean_(self) -> Floats:
        """The mean of the rows, (n,)."""
        return self._decode().mean

    @property
    def deviations_(self) -> Floats:
        """What columns are divided by, (n,)."""
        variances = np.diag(self._decode().covariance)
        return np.sqrt(np.where(variances > 0, variances, 1.0)) if self.standardize else np.ones(len(variances))

    @property
    def sine_(self) -> float:
        """The sine of the largest angle to the components of all rows, as expected."""
        return self._decode().sine

    @property
    def sine_high_(self) -> float:
        """An upper limit of `sine_`."""
        return self._decode().sine_high

    @property
    def source_(self) -> str:
        """What the covariance is of: all rows, one Gaussian, the sample's rows, or clusters."""
        return self._decode().source

    @property
    def n_components_(self) -> int:
        """The number of components."""
        return len(self.components_)

    @property
    def _n_features_out(self) -> int:
        return self.n_components

    @property
    def _n_clusters(self) -> int:
        return 1

    def _eigen(self) -> tuple[Floats, Floats]:
        values, vectors = np.linalg.eigh(self._covariance())
        components = vectors[:, ::-1][:, : self.n_components].T
        largest = np.take_along_axis(components, np.abs(components).argmax(axis=1)[:, np.newaxis], axis=1)
        return values[::-1][: self.n_components], components * np.where(largest < 0, -1.0, 1.0)

    def _covariance(self) -> Floats:
        """Return the covariance of the columns as they count, (n, n)."""
        counted: Floats = self._decode().covariance / np.multiply.outer(self.deviations_, self.deviations_)
        return counted

    def _choose_n_frequencies(self, n_features: int) -> int:
        return choose_axes_frequencies(n_features, self.n_components)

    def _decode_sketch(self, hints: Pilot | None) -> FittedAxes:
        sketch = self.sketch_
        mean, covariance = sketch.column_means, sketch.column_covariances
        if mean is None or covariance is None:
            if hints is not None and self.init == "sketch":
                hints = hints.without_rows()
            return fit_axes(sketch, self.n_components, hints, self._seed, self.standardize)
        if not sketch.count > 1:
            raise DecodeError("A sketch of one row (n_samples = 1) has no variance: sketch more rows.")
        as_counted = covariance * (sketch.count / (sketch.count - 1))  # by scikit-learn
        unknown = float(sketch.saturated > 0)
        return FittedAxes(mean, as_counted, 0.0, unknown, unknown, "columns", 0)

    def _require_rows(self, count: float, first_batch: bool = False) -> None:
        if self.n_components > self.n_features_in_:
            raise RowsError(
                f"Expected n_components from 1 to n_features={self.n_features_in_}, got {self.n_components}."
            )
        super()._require_rows(count, first_batch)
