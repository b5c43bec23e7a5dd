"""What a decoder returns."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.common.text import excess_in_words, facts_as_html
from qckm.models import Model
from qckm.sketch import Sketch


@dataclass(frozen=True, eq=False)
class Clustering:
    """K centroids found in a sketch.

    Parameters
    ----------
    centers : ndarray of shape (K, n)
        In data units, the heaviest first.
    weights : ndarray of shape (K,)
        Shares of the rows, ≥ 0 and of sum 1.
    spreads : ndarray of shape (K,)
        Standard deviation of each cluster in one direction, in the operator's units; 0 where the decoder models
        points, as CL-OMPR does.
    objective : float
        What is left of the sketch, squared: of "clompr" ‖z − Σ_k α_k A c_k‖², before the weights were made to sum to 1;
        of "matched" what the cloud leaves that is clustered.
    explained : float
        Share of the sketch's energy ‖z‖² that K clusters explain: Gaussians, or for CL-OMPR points. What is missing may
        be clusters that K is too small for, or their shape.
    n_iter : int
        Evaluations of the objective, over all replicates.
    converged : bool or None
        The decoder's verdict: whether `excess_high` is 0.2 or less; None where the decoder has none, as CL-OMPR.
    excess, excess_high : float or None
        By which share the SSE of these centroids is above that of the best K: expected (0.02 is 2 %), and an upper 90 %
        limit; None for CL-OMPR.
    octave : int or None
        Of a sketch at several scales, the one where clusters were found: `sketch.octave(octave)`.
    inertia, inertia_error : float or None
        The sum of squared distances of all rows to their centroids, in the operator's units, as far as the sketch
        tells, and its standard error; None for CL-OMPR, which models points.
    remarks : tuple of str
        What to know before relying on the centroids: why the verdict is what it is, centroids that coincide or have no
        rows, a column beside which no other counts, one that numbers or names rows, rows that are all the same.
    units : ndarray of shape (n,), optional
        What distances count in, column by column: the standard deviations of standardised columns, else ones.
    feature_names : tuple of str, optional
        The names of the columns, where the operator knows them.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-3, 1, (500, 2)), rng.normal(3, 1, (500, 2))])
    >>> op = qckm.SketchOperator.from_pilot(X, n_clusters=2, random_state=0)
    >>> found = qckm.decode(op.sketch(X), n_clusters=2, random_state=0)
    >>> bool(found.predict([[-3.0, -3.0]]) == found.predict([[-2.0, -4.0]])), found.transform(X).shape
    (True, (1000, 2))
    """

    centers: Floats
    weights: Floats
    spreads: Floats
    objective: float
    explained: float
    n_iter: int
    converged: bool | None = None
    excess: float | None = None
    excess_high: float | None = None
    octave: int | None = None
    inertia: float | None = None
    inertia_error: float | None = None
    remarks: tuple[str, ...] = ()
    units: Floats | None = None
    feature_names: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls, sketch: Sketch, centers: Floats, weights: Floats, spreads: Floats, left: float, energy: float, **found: Any
    ) -> Clustering:
        """Return centroids of any weights, which only now sum to 1: the choice of a replicate is that of the fit.

        `left` is the squared norm of what Gaussians or points at the centroids leave of a sketch's `energy`.
        """
        order = np.argsort(-weights, kind="stable")
        share = weights.sum()
        return cls(
            centers[order],
            weights[order] / share if share > 0 else np.full(len(weights), 1 / len(weights)),
            spreads[order],
            explained=1 - left / energy if energy > 0 else 0.0,
            units=sketch.operator.units,
            feature_names=sketch.operator.feature_names,
            **found,
        )

    def to_model(self, facts: dict[str, Any] | None = None) -> Model:
        """Return the centroids as a `qckm.Model`, with facts that JSON can hold: what `qckm.load_model` reads back."""
        units = np.ones(self.centers.shape[1]) if self.units is None else self.units
        return Model(self.centers, self.weights, self.spreads, units, self.feature_names, facts or {})

    def predict(self, X: object) -> npt.NDArray[np.int32]:
        """Return the nearest centroid of each row X: (rows, n); a frame's columns are chosen by name."""
        return self.to_model().predict(X)

    def transform(self, X: object) -> Floats:
        """Return the distance of each row X: (rows, n) to each centroid, (rows, K), in units."""
        return self.to_model().transform(X)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the centroids as a model, in the format of the name's ending: .json, .csv, .parquet or .npz."""
        self.to_model().save(path)

    @property
    def _verdict(self) -> str:
        word = {True: "reliable", False: "doubtful", None: "none"}[self.converged]
        if self.excess is None or self.excess_high is None:
            return word
        return f"{word}: {excess_in_words(self.excess, self.excess_high)}"

    def __repr__(self) -> str:
        K, n = self.centers.shape
        return f"Clustering({K} clusters of {n} column{'s' * (n != 1)}, verdict {self._verdict})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: how many clusters of which columns, their weights, and the verdict."""
        facts: dict[str, object] = {
            "clusters": len(self.weights),
            "columns": self.feature_names or self.centers.shape[1],
            "weights": [f"{weight:.1%}" for weight in self.weights],
            "verdict": self._verdict,
        }
        if self.remarks:
            facts["remarks"] = " ".join(self.remarks)
        return facts_as_html("Clustering", facts)
