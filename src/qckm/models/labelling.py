"""Rows to labels: the nearest centroid of each row of a batch, or the most probable component of a mixture."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.errors import RowsError
from qckm.models.model import Model
from qckm.sources.source import Batch


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
