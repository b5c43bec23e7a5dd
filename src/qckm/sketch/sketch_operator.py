"""SketchOperator: an operator with its verbs, rows to sketches, rows to bits, bits to sketches, itself to C."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from qckm import export
from qckm.errors import OperatorError, QckmError, RowsError
from qckm.kernels.placement import current_gpu, is_on_gpu, parse_device
from qckm.kernels.portable import PortableSketcher
from qckm.kernels.sketcher import Measurement, Sketcher, count_bits, make_sketcher
from qckm.kernels.threads import as_jobs
from qckm.operator import ConstructedOperator
from qckm.sketch.bounds import unknown
from qckm.sketch.column_sums import ColumnSums
from qckm.sketch.sketch import Sketch
from qckm.sources import engine_rows
from qckm.sources.rows import as_rows, as_weights, is_whole, raise_not_finite, require_names

if TYPE_CHECKING:
    from qckm.kernels.cuda.gpu_sketcher import GpuSketcher


class SketchOperator(ConstructedOperator):
    """What is measured of a row, and the sums of it.

    Build one with `draw`, `from_ranges`, `from_frequencies` or `from_seed`. Two operators are equal when they measure
    the same, as their fingerprints say, and decode alike: units and octaves are the same, too. Then, and only then,
    their sketches may be added. The parameters are those of `Operator`, which users seldom see: integer codes of
    frequencies and dither, steps, origin, signature, notes.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=50, scale=1.0, random_state=0)
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> sketch = op.sketch(X)
    >>> sketch.count, sketch.values().shape
    (1000, (100,))
    >>> op.pool(op.encode(X)) == sketch  # the bits of a sensor give the same sketch
    True
    """

    def empty(self) -> Sketch:
        """Return the sketch of no rows, where every sum starts; its file is how an operator travels."""
        return Sketch.zero(self)

    def sketch(
        self,
        X: object,
        sample_weight: object = None,
        n_jobs: int | None = None,
        device: str | None = None,
        part: str | None = None,
    ) -> Sketch:
        """Sketch rows X: (rows, n): the sum of their contributions, in one pass, a bounded number of rows at a time.

        Parameters
        ----------
        X : array-like of shape (rows, n)
            NumPy (memmaps too), pandas, polars, pyarrow; float32, float64 or integers. NaN and infinity are refused.
            Dask arrays, data frames and bags, Spark DataFrames and Ray datasets are sketched where they are, and so
            are arrays on a GPU: CuPy, PyTorch, JAX, cuDF.
        sample_weight : array-like of shape (rows,), optional
            Whole numbers count a row that often, exactly; other weights make the sum a float64 one, and slower.
        n_jobs : int, optional
            How many threads; −1 for all cores. None, too, is all cores, but no more than OMP_NUM_THREADS or
            threadpoolctl allow. The result does not depend on it.
        device : {"auto", "cpu", "cuda", "cuda:1", …}, optional
            Where rows of this process are sketched: "cuda" copies them to a GPU. Rows with real weights are always
            summed by the CPU. The result does not depend on it.
        part : str, optional
            A name for these rows, such as "berlin/2026-11-16". A sum knows its parts: none is added twice, and none is
            taken out that is not there.

        Returns
        -------
        Sketch
        """
        if part is not None:
            return self.sketch(X, sample_weight, n_jobs, device).as_part(part)
        gpu = current_gpu() if device is None else parse_device(device)
        if engine_rows.engine_of(X):
            partitions = engine_rows.open_held(X, sample_weight=sample_weight)
            return partitions.sketch(self, n_jobs=as_jobs(n_jobs))
        if is_on_gpu(X):
            from qckm.sketch import on_gpu

            return on_gpu.sketch(self, X, sample_weight)
        require_names(X, self.feature_names)
        rows = as_rows(X, self.n_features)
        weights = None if sample_weight is None else as_weights(sample_weight, len(rows))
        if is_whole(weights):
            sketcher = self._sketcher if gpu is None else self.sketcher_on(gpu)
            found = sketcher.sum(rows, weights, as_jobs(n_jobs))
        else:
            # Sums of floats depend on their order, which here depends on nothing.
            found = PortableSketcher(self._measurement).sum(rows, weights)
        if found.bad_row is not None:
            raise_not_finite(rows[found.bad_row :][:1], found.bad_row)
        weighted = weights is not None and weights.dtype == np.int64
        bounds = found.lower, found.upper
        return Sketch(
            self,
            found.total,
            found.count,
            found.saturated,
            bounds,
            weighted=found.count if weighted else 0,
            column_sums=ColumnSums.of(found) if found.count else None,
        )

    def encode(self, X: object, n_jobs: int | None = None) -> npt.NDArray[np.uint8]:
        """Encode rows X: (rows, n) as a sensor would: M bits a row, packed as uint8 (rows, ceil(M / 8)).

        Little bit first within a byte, 1 standing for a contribution of −1; bits beyond M are 0. Of rows on a GPU, the
        bits are a CuPy array there.
        """
        self._require_one_bit("encode")
        if is_on_gpu(X):
            from qckm.sketch import on_gpu

            return on_gpu.encode(self, X)  # type: ignore[no-any-return]
        require_names(X, self.feature_names)
        rows = as_rows(X, self.n_features)
        bits = np.empty((len(rows), -(-self.n_measurements // 8)), np.uint8)
        bad_row = self._sketcher.encode(rows, bits, as_jobs(n_jobs))
        if bad_row is not None:
            raise_not_finite(rows[bad_row:][:1], bad_row)
        return bits

    def pool(self, bits: npt.ArrayLike, n_jobs: int | None = None) -> Sketch:
        """Sum the bits of rows, as `encode` packs them, to the sketch that the rows themselves would give.

        Bits say nothing of bounds, clipping or the sums of columns: the sketch knows none of them.
        """
        self._require_one_bit("pool")
        if is_on_gpu(bits):
            from qckm.sketch import on_gpu

            packed, count = on_gpu.as_bits(bits), on_gpu.count_bits
        else:
            packed, count = np.asarray(bits), count_bits
        width = -(-self.n_measurements // 8)
        if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != width:
            raise RowsError(f"Expected bits as uint8 of shape (rows, {width}), got {packed.dtype} {packed.shape}.")
        ones = count(packed, as_jobs(n_jobs))
        spare = ones[self.n_measurements :]
        if spare.any():
            raise RowsError(
                f"Expected the last {len(spare)} bit(s) of a row to be 0, got a 1: bits of another operator?"
            )
        total = len(packed) - 2 * ones[: self.n_measurements]
        return Sketch(self, total, len(packed), 0, unknown(self.n_features)) if len(packed) else self.empty()

    export_c = export.export_c

    @property
    def _measurement(self) -> Measurement:
        return Measurement(
            self.frequency_codes,
            self.dither_codes,
            self.steps,
            self.origin,
            self.signature.table,
            self.paired,
            self.octaves,
        )

    @cached_property
    def _sketcher(self) -> Sketcher:
        return make_sketcher(self._measurement)

    @cached_property
    def _gpu_sketchers(self) -> dict[int, GpuSketcher]:
        return {}

    def sketcher_on(self, gpu: int) -> GpuSketcher:
        """Return what sketches on a GPU, made when it is first asked for."""
        if gpu not in self._gpu_sketchers:
            from qckm.kernels.cuda.gpu_sketcher import GpuSketcher

            self._gpu_sketchers[gpu] = GpuSketcher(self._measurement, gpu)
        return self._gpu_sketchers[gpu]

    def _require_one_bit(self, verb: str) -> None:
        if not self.signature.is_one_bit:
            raise OperatorError(
                f"Only the contributions of a one-bit signature are bits: cannot {verb} with {self.signature.name!r}. "
                "Use sketch, or draw the operator with signature='one-bit'."
            )


def sketch_batches(operator: SketchOperator, batches: Iterable[object]) -> Sketch:
    """Sketch any iterable of batches: arrays, Arrow record batches, data frames. Only one is held at a time.

    Parameters
    ----------
    operator : SketchOperator
    batches : iterable of array-like of shape (rows, n)
        Batches may be of any sizes, also empty; they do not change the result.

    Returns
    -------
    Sketch

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=20, scale=1.0, random_state=0)
    >>> stream = (np.random.default_rng(i).normal(size=(100, 2)) for i in range(5))
    >>> qckm.sketch_batches(op, stream).count
    500
    """
    total = operator.empty()
    for number, batch in enumerate(batches):
        try:
            total += operator.sketch(batch)
        except QckmError as error:
            raise error.within(f"Batch {number}") from error
    return total
