"""What Dask holds as partitions of rows: arrays, data frames, bags."""

from __future__ import annotations

import io
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import dask.array as da
import dask.bag as db
import numpy as np
from dask.delayed import Delayed, delayed

from qckm.common.arrays import Floats
from qckm.engines.dask_tasks import (
    bag_blocks,
    first_of,
    merge_tree,
    qckm_array_part,
    qckm_bag_part,
    qckm_frame_part,
    qckm_predict,
    qckm_transform,
    shipped,
)
from qckm.engines.jobs import Job
from qckm.engines.partitions import Partitions, select_names
from qckm.engines.row_jobs import choose_parts
from qckm.errors import RowsError
from qckm.models import Model, to_json
from qckm.sources.rows import as_weights, column_names


class DaskPartitions(Partitions):
    """A Dask collection of rows."""

    lazy = True

    @abstractmethod
    def parts(self, job: Job) -> list[Delayed]:
        """Return the result of each partition, not computed yet."""

    def fold(self, job: Job, some: np.random.Generator | None = None) -> bytes:
        """Do a job; partitions that are not chosen are not computed."""
        parts = self.parts(job)
        if some is not None:
            parts = [parts[number] for number in choose_parts(len(parts), some)]
        found: bytes = merge_tree(job, parts).compute() if parts else b""
        return found

    def nearest(self, model: Model) -> da.Array:
        """Return the nearest centroid of each row, not computed yet."""
        return self.rows().map_blocks(qckm_predict, shipped("model", to_json(model)), dtype=np.int32, drop_axis=1)

    def distances(self, model: Model, origin: Floats) -> da.Array:
        """Return the distance of each row to each centroid, (rows, K), not computed yet."""
        out = io.BytesIO()
        np.save(out, np.stack([origin, model.units, *model.centers]), allow_pickle=False)
        rows = self.rows()
        return rows.map_blocks(
            qckm_transform,
            shipped("centers", out.getvalue()),
            dtype=np.float64,
            chunks=(rows.chunks[0], (len(model.centers),)),
        )

    @abstractmethod
    def rows(self) -> da.Array:
        """Return the rows as a Dask array (rows, n)."""


class ArrayPartitions(DaskPartitions):
    """A Dask array of rows, a block of rows a partition."""

    names = None

    def __init__(self, array: da.Array, columns: Sequence[str] | None, sample_weight: object) -> None:
        if array.ndim != 2:
            raise RowsError(f"Expected a 2-D array (rows, features), got {array.ndim} dimension(s).")
        if columns is not None:
            array = array[:, [int(name) for name in _known(columns, array.shape[1])]]
        if np.isnan(array.shape[1]):
            raise RowsError("Expected a known number of columns: call compute_chunk_sizes() on the array first.")
        # A row is in one piece.
        self._array = array.rechunk({1: -1}) if array.numblocks[1] > 1 else array
        self._weights = None if sample_weight is None else _aligned(sample_weight, self._array)
        self.n_features = int(array.shape[1])
        self.weighted = sample_weight is not None

    def parts(self, job: Job) -> list[Delayed]:
        """Return the result of each partition, not computed yet."""
        arrays = [self._array] if self._weights is None else [self._array, self._weights[:, np.newaxis]]
        mapped = da.map_blocks(
            qckm_array_part,
            *arrays,
            job=shipped("job", job.dumps()),
            dtype=object,
            meta=np.empty((0, 0), object),
            chunks=((1,) * int(self._array.numblocks[0]), (1,)),
        )
        return list(mapped.to_delayed().ravel())

    def rows(self) -> da.Array:
        """Return the rows as a Dask array (rows, n)."""
        return self._array


class FramePartitions(DaskPartitions):
    """A Dask data frame."""

    def __init__(
        self, frame: Any, columns: Sequence[str] | None, usual: Sequence[str] | None, sample_weight: Any
    ) -> None:
        held = list(frame.columns)
        wanted = select_names(held, columns, usual)
        self._frame = frame if wanted == held else frame[wanted]
        self._weights = sample_weight
        if sample_weight is not None and not (
            hasattr(sample_weight, "map_partitions") and sample_weight.npartitions == frame.npartitions
        ):
            raise RowsError(
                "Expected sample_weight as a Dask series with the partitions of the frame, such as frame['weight'], "
                f"got {type(sample_weight).__name__}."
            )
        self.names = column_names(self._frame)
        self.n_features = len(wanted)
        self.weighted = sample_weight is not None

    def parts(self, job: Job) -> list[Delayed]:
        """Return the result of each partition, not computed yet."""
        weights = [] if self._weights is None else [self._weights]
        mapped = self._frame.map_partitions(
            qckm_frame_part,
            shipped("job", job.dumps()),
            *weights,
            meta=("part", object),
            enforce_metadata=False,
        )
        return list(mapped.to_delayed())

    def rows(self) -> da.Array:
        """Return the rows as a Dask array (rows, n)."""
        return self._frame.to_dask_array()


class BagPartitions(DaskPartitions):
    """A bag of rows (sequences, or dictionaries), or of arrays and frames."""

    lazy = False

    def __init__(
        self, bag: db.Bag, columns: Sequence[str] | None, usual: Sequence[str] | None, sample_weight: object
    ) -> None:
        if sample_weight is not None:
            raise RowsError("A bag has no weights: make it a Dask array or data frame, or repeat the rows.")
        self._bag = bag
        self._columns: list[str] | None = None
        self.weighted = False
        # Through delayed, whose scheduler is that of the sketch itself: a bag's own would start processes for one row.
        found: list[Any] = next((one for rows in bag.to_delayed() if (one := delayed(first_of)(rows).compute())), [])
        if not found:
            raise RowsError("Expected rows, got an empty bag.")
        (first,) = found
        self.names = tuple(first) if isinstance(first, dict) else column_names(first)
        if self.names is not None:
            self._columns = select_names(self.names, columns, usual)
            self.names = tuple(self._columns)
        self.n_features = next(bag_blocks(found, self._columns)).shape[1]

    def parts(self, job: Job) -> list[Delayed]:
        """Return the result of each partition, not computed yet."""
        sent, part = shipped("job", job.dumps()), delayed(qckm_bag_part, pure=True)
        return [
            part(rows, sent, number, self._columns, dask_key_name=f"qckm-{job.kind}-{rows.key[0]}-{number}")
            for number, rows in enumerate(self._bag.to_delayed())
        ]

    def rows(self) -> da.Array:
        """Refuse: a bag is no array."""
        raise RowsError("Rows of a bag cannot be labelled in place: make it a Dask array or data frame first.")


def _known(columns: Sequence[str], width: int) -> list[str]:
    return [str(name) for name in select_names([str(number) for number in range(width)], columns, None)]


def _aligned(sample_weight: Any, rows: da.Array) -> da.Array:
    """Return weights cut as the rows are."""
    if hasattr(sample_weight, "to_dask_array"):
        sample_weight = sample_weight.to_dask_array()
    if not isinstance(sample_weight, da.Array):
        sample_weight = da.from_array(as_weights(sample_weight, int(rows.shape[0])), chunks=(rows.chunks[0],))
    known = not np.isnan(sample_weight.shape[0]) and not np.isnan(rows.shape[0])
    same = sample_weight.ndim == 1 and (
        sample_weight.shape[0] == rows.shape[0] if known else sample_weight.numblocks[0] == rows.numblocks[0]
    )
    if not same:
        raise RowsError(
            f"Expected one sample_weight per row, shape ({rows.shape[0]},), got shape {sample_weight.shape} in "
            f"{sample_weight.numblocks} blocks."
        )
    return sample_weight.rechunk((rows.chunks[0],)) if known else sample_weight
