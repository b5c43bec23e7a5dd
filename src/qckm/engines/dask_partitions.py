"""What Dask holds as partitions of rows: arrays, data frames, bags; and the tasks of its graphs.

Dask's progress bars and dashboard call a task after its function, hence the names of those that Dask maps.
"""

from __future__ import annotations

import hashlib
import io
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import dask.array as da
import dask.bag as db
import numpy as np
from dask.delayed import Delayed, delayed

from qckm.clustering.centroids import distances
from qckm.common.arrays import Floats
from qckm.engines.jobs import Block, Job, choose_parts, merge_parts, run_part
from qckm.engines.partitions import Partitions, select_names
from qckm.errors import RowsError
from qckm.models import Model, read_model, to_json
from qckm.sources.rows import as_rows, as_weights, column_names

# Results that one task merges: few enough that a tree of a million partitions is five levels deep.
FAN_IN = 16
# Rows of a bag that are made an array together.
_BAG_ROWS = 1 << 14


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
    """A Dask array of rows, a block of rows per partition."""

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


def qckm_array_part(rows: Any, weights: Any = None, job: bytes = b"", block_id: tuple[int, ...] = (0,)) -> bytes:
    """Do a job on a block."""
    heavy = None if weights is None else np.asanyarray(weights)[:, 0]  # a mask, if there is one, stays
    return run_part(job, [Block(as_rows(rows), heavy)], block_id[0])


def qckm_frame_part(frame: Any, job: bytes, weights: Any = None, partition_info: dict[str, Any] | None = None) -> bytes:
    """Do a job on a partition."""
    number = partition_info["number"] if partition_info else 0
    heavy = None if weights is None else np.asanyarray(weights)
    return run_part(job, [Block(as_rows(frame), heavy)], number)


def qckm_bag_part(rows: Iterable[Any], job: bytes, number: int, columns: list[str] | None) -> bytes:
    """Do a job on a partition."""
    blocks: Iterator[Block] = (Block(block) for block in bag_blocks(rows, columns))
    return run_part(job, blocks, number)


def bag_blocks(items: Iterable[Any], columns: list[str] | None) -> Iterator[Any]:
    """Yield arrays: of so many single rows together, or of each item that is an array or a frame already."""
    rows: list[Any] = []
    for item in items:
        if getattr(item, "ndim", 1) == 2:
            yield as_rows(item[columns] if columns and column_names(item) else item)
            continue
        rows.append([item.get(name, np.nan) for name in columns or item] if isinstance(item, dict) else item)
        if len(rows) == _BAG_ROWS:
            yield as_rows(rows)
            rows = []
    if rows:
        yield as_rows(rows)


def first_of(rows: Iterable[Any]) -> list[Any]:
    """Return the first of the rows, if there is one."""
    return list(islice(rows, 1))


def qckm_predict(rows: Any, model: bytes) -> Any:
    """Return the nearest centroid of each row; of a mixture, the most probable component."""
    found = read_model(model, "model")
    return found.nearest(rows, n_jobs=1)[0] if found.covariances is None else found.predict(rows)


def qckm_transform(rows: Any, frame: bytes) -> Any:
    """Return the distances to the centroids."""
    origin, units, *centers = np.load(io.BytesIO(frame), allow_pickle=False)
    return distances(as_rows(rows), np.array(centers), origin, units)


def merge_tree(job: Job, parts: list[Delayed]) -> Delayed:
    """Merge results FAN_IN at a time, in workers, until one is left: the driver sees that one only."""
    sent, merge = shipped("job", job.dumps()), delayed(merge_parts, pure=True, name="qckm-merge")
    token = hashlib.sha256(repr([part.key for part in parts]).encode() + job.dumps()).hexdigest()[:16]
    level = 0
    while len(parts) > 1 or level == 0:
        groups = [parts[start : start + FAN_IN] for start in range(0, len(parts), FAN_IN)]
        parts = [
            merge(sent, group, dask_key_name=f"qckm-merge-{token}-{level}-{number}")
            for number, group in enumerate(groups)
        ]
        level += 1
    return parts[0]


def shipped(what: str, data: bytes) -> Delayed:
    """Return bytes as one key of the graph, fetched once by each worker, and not once in every task."""
    return delayed(data, name=f"qckm-{what}-{hashlib.sha256(data).hexdigest()[:16]}")
