"""Rows that lie on a GPU, as rows that an engine holds: sketched, sampled and labelled there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from qckm.common.arrays import Floats, Int64s
from qckm.engines.partitions import EngineRows
from qckm.errors import SourceError
from qckm.kernels.cuda.device import as_device_array, as_floats, cupy
from qckm.kernels.cuda.row_kernels import count_bits_on_gpu, nearest_on_gpu
from qckm.models import Model
from qckm.planning.held_rows import LOOKED_AT_PER_ROW
from qckm.planning.row_sample import RowSample
from qckm.sketch import Sketch, SketchOperator
from qckm.sources.rows import OnBad, as_weights, engine_of, raise_not_finite

# Distances that are worked out at a time.
_BLOCK = 1 << 24


class GpuRows(EngineRows):
    """Rows (rows, n) on a GPU, and their weights if they have some."""

    lazy = True

    def __init__(self, X: Any, sample_weight: Any = None) -> None:
        self.array, self._number = as_device_array(X, 2)
        columns = getattr(X, "columns", None)  # of a cuDF frame
        self.names = None if columns is None else tuple(str(name) for name in columns)
        self.n_features = int(self.array.shape[1])
        self.weighted = sample_weight is not None
        held = as_device_array(sample_weight, 1)[0].get() if engine_of(sample_weight) == "gpu" else sample_weight
        self._weights = None if sample_weight is None else as_weights(held, len(self.array))
        self._X = X

    def sketch(self, operator: SketchOperator, on_bad: OnBad = "error", n_jobs: int | None = None) -> Sketch:
        """Sketch the rows where they are. Rows with real weights are copied, and summed by the CPU."""
        if on_bad == "skip":
            raise SourceError("Rows on a GPU cannot be skipped: leave out those with a NaN, then sketch the others.")
        self.require_columns(operator)
        weights = self._weights
        if weights is not None and weights.dtype != np.int64:
            return operator.sketch(as_floats(self.array, self._number).get(), weights)
        found = operator.sketcher.on_gpu(self.array.device.id).sum(self._X, weights)
        if found.bad_row is not None:
            self._refuse(found.bad_row)
        return Sketch.of(operator, found, weights is not None)

    def encode(self, operator: SketchOperator) -> Any:
        """Encode the rows: their bits, there."""
        self.require_columns(operator)
        with self.array.device:
            bits = cupy().empty((len(self.array), -(-operator.n_measurements // 8)), np.uint8)
            bad_row = operator.sketcher.on_gpu(self.array.device.id).encode(self._X, bits)
        if bad_row is not None:
            self._refuse(bad_row)
        return bits

    def count_bits(self) -> Int64s:
        """Count the ones at each position of packed rows."""
        return count_bits_on_gpu(self.array)

    def sample(self, empty: RowSample, rng: np.random.Generator) -> RowSample:
        """Sample the rows: of all of them, or of 16 times as many as are asked for, drawn at random.

        If none of them is finite, the first is named.
        """
        count, most = len(self.array), LOOKED_AT_PER_ROW * empty.size
        chosen = np.arange(count) if count <= most else np.sort(rng.choice(count, most, replace=False))
        with self.array.device:
            rows = as_floats(self.array[cupy().asarray(chosen)], self._number).get()
        weights = None if self._weights is None else self._weights[chosen]
        found = empty.added(rows, weights)
        if not found.total:
            self._require_finite()
        return found.scaled(count / max(1, len(chosen))) if len(chosen) < count else found

    def misfit(self, model: Model) -> tuple[float, Floats]:
        """Return Σ w·d² of the rows to their centroids, and the number of rows of each centroid, (K,)."""
        labels, squares = self._nearest(model)
        with self.array.device:
            heavy = None if self._weights is None else cupy().asarray(self._weights, np.float64)
            counts = cupy().bincount(labels, heavy, minlength=len(model.centers))
            total = squares.sum() if heavy is None else heavy @ squares
        return float(total), counts.get().astype(np.float64)

    def nearest(self, model: Model) -> Any:
        """Return the nearest centroid of each row: a CuPy array, on the rows' GPU."""
        return self._nearest(model)[0]

    def distances(self, model: Model, origin: Floats) -> Any:
        """Return the distance of each row to each centroid: a CuPy array (rows, K), on the rows' GPU."""
        module = cupy()
        with self.array.device:
            units, centers = module.asarray(model.units), module.asarray((model.centers - origin) / model.units)
            from_origin, out = module.asarray(origin), module.empty((len(self.array), len(centers)))
            height = max(1, _BLOCK // (len(centers) * self.n_features))
            for start in range(0, len(out), height):
                part = as_floats(self.array[start : start + height], self._number).astype(np.float64)
                differences = ((part - from_origin) / units)[:, np.newaxis] - centers
                out[start : start + height] = module.sqrt((differences**2).sum(axis=2))
            if not bool(module.isfinite(out).all()):
                self._require_finite()
            return out

    def _nearest(self, model: Model) -> tuple[Any, Any]:
        with self.array.device:
            rows = as_floats(self.array, self._number)
            if (model.units != 1).any():
                rows = rows / cupy().asarray(model.units)
            labels, squares = nearest_on_gpu(rows, model.centers / model.units)
            if not bool(cupy().isfinite(squares).all()):
                self._require_finite()
            return labels, squares

    def _require_finite(self) -> None:
        with self.array.device:
            finite = cupy().isfinite(as_floats(self.array, self._number)).all(axis=1)
            if not bool(finite.all()):
                self._refuse(int((~finite).argmax()))

    def _refuse(self, row: int) -> NoReturn:
        raise_not_finite(as_floats(self.array[row : row + 1], self._number).get(), row)


def open_partitions(
    data: Any, columns: Sequence[str] | str | None = None, usual: Sequence[str] | None = None, sample_weight: Any = None
) -> GpuRows:
    """Return rows that lie on a GPU; of a cuDF frame, some columns."""
    if columns is None and usual is not None and set(usual) <= set(getattr(data, "columns", ())):
        columns = usual
    return GpuRows(data if columns is None else data[list(columns)], sample_weight)
