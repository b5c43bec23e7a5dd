"""Model: K centroids with what is needed to use them, and facts about where they come from."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.clustering.centroids import distances, nearest
from qckm.common import atomic
from qckm.common.arrays import Floats, Rows
from qckm.common.text import facts_as_html
from qckm.errors import FileError, RowsError
from qckm.models.gaussian_density import GaussianDensity
from qckm.sketch import SketchOperator
from qckm.sources.rows import chosen_rows
from qckm.sources.source import Batch

if TYPE_CHECKING:
    from sklearn.cluster import KMeans
    from sklearn.mixture import GaussianMixture


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """K centroids with what is needed to use them, and facts about where they come from.

    Parameters
    ----------
    centers : ndarray of shape (K, n)
        In data units.
    weights : ndarray of shape (K,)
        Shares of the rows.
    spreads : ndarray of shape (K,)
        Standard deviation of each cluster in one direction, in units; 0 where the decoder models points.
    units : ndarray of shape (n,)
        What distances count in, column by column: ones, or the standard deviations.
    feature_names : tuple of str, optional
    facts : dict
        What JSON can hold: rows read, settings, timings. Not needed for predicting.
    covariances : ndarray of shape (K,), (K, n) or (K, n, n), optional
        Of a mixture of Gaussians, in data units squared: spherical, diag or full. Rows are then labelled with the most
        probable component, not with the nearest centroid.

    Examples
    --------
    >>> import numpy as np
    >>> model = Model(np.array([[0.0, 0.0], [5.0, 5.0]]), np.array([0.5, 0.5]), np.zeros(2), np.ones(2))
    >>> model.predict([[1.0, 0.0], [4.0, 6.0]]).tolist()
    [0, 1]
    """

    centers: Floats
    weights: Floats
    spreads: Floats
    units: Floats
    feature_names: tuple[str, ...] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    covariances: Floats | None = None

    def __post_init__(self) -> None:
        if self.centers.ndim != 2 or not self.centers.size:
            raise FileError(f"Expected centroids of shape (K, n), got {self.centers.shape}.")
        k, n = self.centers.shape
        shapes = self.weights.shape, self.spreads.shape, self.units.shape
        if shapes != ((k,), (k,), (n,)):
            raise FileError(f"Expected weights and spreads ({k},) and units ({n},), got {shapes}.")
        names = self.feature_names
        if names is not None and (len(names) != n or len(set(names)) != n):
            raise FileError(f"Expected {n} different feature names, got {names!r:.200}.")
        finite = all(np.isfinite(array).all() for array in (self.centers, self.weights, self.spreads, self.units))
        if not finite or (self.weights < 0).any() or (self.spreads < 0).any() or (self.units <= 0).any():
            raise FileError("Expected finite centroids, weights and spreads >= 0, and units > 0.")
        if self.covariances is not None:
            self._require_covariances(self.covariances)

    def _require_covariances(self, covariances: Floats) -> None:
        k, n = self.centers.shape
        shapes = ((k,), (k, n), (k, n, n))
        if covariances.shape not in shapes or not np.isfinite(covariances).all():
            raise FileError(f"Expected finite covariances of shape {shapes}, got {covariances.shape}.")
        if not self.weights.any():
            raise FileError("Expected a mixture with some weights > 0.")
        if covariances.ndim < 3:
            definite = bool((covariances > 0).all())
        else:
            symmetric = np.allclose(covariances, covariances.transpose(0, 2, 1), rtol=1e-9, atol=0)
            definite = symmetric and bool((np.linalg.eigvalsh(covariances) > 0).all())
        if not definite:
            raise FileError("Expected covariances that are positive: symmetric, and of no direction without variance.")

    @classmethod
    def of_mixture(
        cls, density: GaussianDensity, operator: SketchOperator, facts: dict[str, Any] | None = None
    ) -> Model:
        """Return the model of a mixture that was fitted to a sketch."""
        variances = np.diagonal(density.matrices, axis1=1, axis2=2) / operator.units**2
        spreads, names = np.sqrt(variances.mean(axis=1)), operator.feature_names
        held = density.means, density.weights, spreads, operator.units, names, facts or {}, density.covariances
        return cls(*held)

    def __repr__(self) -> str:
        k, n = self.centers.shape
        kind = "" if self.covariances is None else f", covariance_type={self._covariance_type!r}"
        return f"Model(n_clusters={k}, n_features={n}{kind})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: how many clusters of which columns, their weights, and the verdict."""
        facts: dict[str, object] = {
            "clusters" if self.covariances is None else f"components ({self._covariance_type})": len(self.weights),
            "columns": self.feature_names or self.centers.shape[1],
            "weights": [f"{weight:.1%}" for weight in self.weights],
        }
        if "rows" in self.facts:
            facts["rows"] = self.facts["rows"]
        if isinstance(self.facts.get("converged"), bool):
            facts["verdict"] = "reliable" if self.facts["converged"] else "doubtful"
        return facts_as_html("Model", facts)

    @property
    def _covariance_type(self) -> str:
        return ("spherical", "diag", "full")[0 if self.covariances is None else self.covariances.ndim - 1]

    @property
    def density(self) -> GaussianDensity:
        """The mixture; refused where there is none."""
        if self.covariances is None:
            raise FileError("Expected a mixture of Gaussians, got centroids: they have no density.", about="model")
        return GaussianDensity(self.weights, self.centers, self.covariances)

    def score_samples(self, X: object) -> Floats:
        """Return the logarithm of a mixture's density at each row X: (rows, n)."""
        return self.density.score_samples(np.asarray(self._rows(X), np.float64))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, or their numbers where they have none."""
        return self.feature_names or tuple(map(str, range(self.centers.shape[1])))

    def nearest(self, X: object, n_jobs: int | None = None) -> tuple[npt.NDArray[np.int32], Floats]:
        """Return the nearest centroid of each row X: (rows, n), and the distance to it, in units."""
        rows = self._rows(X)
        if (self.units == 1).all():
            labels, squares = nearest(rows, self.centers, n_jobs)
        else:
            labels, squares = nearest(rows / self.units, self.centers / self.units, n_jobs)
        return labels, np.sqrt(squares)

    def predict(self, X: object) -> npt.NDArray[np.int32]:
        """Return the nearest centroid of each row X: (rows, n); of a mixture, the most probable component."""
        if self.covariances is not None:
            return self.density.predict(np.asarray(self._rows(X), np.float64))
        return self.nearest(X)[0]

    def transform(self, X: object) -> Floats:
        """Return the distance of each row X: (rows, n) to each centroid, (rows, K), in units."""
        return distances(self._rows(X), self.centers, self.centers.mean(axis=0), self.units)

    def _rows(self, X: object) -> Rows:
        """Return rows (rows, n) of the model's columns: of a frame those of its names, in its order."""
        return chosen_rows(X, self.feature_names, self.centers.shape[1])

    def to_sklearn(self) -> KMeans | GaussianMixture:
        """Return a fitted scikit-learn `KMeans` with these centroids, e.g. for ONNX by skl2onnx.

        Its distances are plain ones: of a standardised model it expects standardised rows, X / units. Of a mixture,
        return a fitted `GaussianMixture`, of rows as they are.
        """
        if self.covariances is not None:
            return self._as_gaussian_mixture(self.covariances)
        from sklearn.cluster import KMeans

        k, n = self.centers.shape
        centers = np.ascontiguousarray(self.centers / self.units)
        # Fitted from its own centroids and stopped at once: every attribute KMeans has is then there.
        kmeans = KMeans(k, init=centers, n_init=1, max_iter=1).fit(centers)
        kmeans.cluster_centers_ = centers
        kmeans.labels_ = np.arange(k, dtype=np.int32)
        kmeans.n_features_in_ = n
        if self.feature_names is not None:
            kmeans.feature_names_in_ = np.array(self.feature_names, object)
        return kmeans

    def _as_gaussian_mixture(self, covariances: Floats) -> GaussianMixture:
        from sklearn.mixture import GaussianMixture

        k, n = self.centers.shape
        found = GaussianMixture(k, covariance_type=self._covariance_type)
        found.weights_, found.means_, found.covariances_ = self.weights / self.weights.sum(), self.centers, covariances
        if covariances.ndim == 3:
            # L⁻ᵀ, as scikit-learn has it: its product with itself is the precision.
            found.precisions_cholesky_ = np.linalg.inv(np.linalg.cholesky(covariances)).transpose(0, 2, 1)
            found.precisions_ = np.linalg.inv(covariances)
        else:
            found.precisions_cholesky_, found.precisions_ = 1 / np.sqrt(covariances), 1 / covariances
        found.converged_, found.n_iter_, found.lower_bound_, found.n_features_in_ = True, 0, np.nan, n
        if self.feature_names is not None:
            found.feature_names_in_ = np.array(self.feature_names, object)
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model atomically, in the format of the name's ending."""
        atomic.write_atomically(path, writer_for(path)(self))


class Labels(NamedTuple):
    """Of a batch of rows: the nearest centroids, the distances to them (or scores), and which rows have neither."""

    labels: npt.NDArray[np.int32]
    distances: Floats
    bad: npt.NDArray[np.bool_]


def label_batch(model: Model, batch: Batch, on_bad: str, n_jobs: int | None = None) -> Labels:
    """Return the labels, the distances, and which rows have neither: bad ones, and those at no finite distance."""
    good = batch.finite()
    if on_bad == "error" and not good.all():
        batch.require_finite()
    labels, distances = np.zeros(len(good), np.int32), np.full(len(good), np.nan)
    with np.errstate(over="ignore"):
        rows = batch.rows if good.all() else batch.rows[good]
        if model.covariances is None:
            labels[good], distances[good] = model.nearest(rows, n_jobs)
        else:
            labels[good], distances[good] = model.predict(rows), model.score_samples(rows)
    far = good & ~np.isfinite(distances)
    if on_bad == "error" and far.any():
        row = int(far.argmax())
        column = int(np.abs(batch.rows[row] / model.units).argmax())
        raise RowsError(
            f"{batch.label}: expected values up to 1e150, whose squares are float64, got {batch.rows[row, column]:g} "
            f"in {batch.place(row, column)}. Fix or rescale the data, or skip such rows.",
            about="bad rows",
        )
    return Labels(labels, distances, ~good | far)


# By the ending of a name; formats.py, which knows them all, fills it in.
WRITERS: dict[str, Callable[[Model], bytes]] = {}


def writer_for(path: str | os.PathLike[str]) -> Callable[[Model], bytes]:
    """Return what writes the format of a name's ending; refuse a name that has none of them."""
    ending = os.path.splitext(os.fspath(path))[1].lower()
    if ending not in WRITERS:
        raise FileError(f"{os.fspath(path)}: expected a name that ends in {', '.join(WRITERS)}, got {ending!r}.")
    return WRITERS[ending]
