"""Ray Data datasets: a sketch a block, merged in a tree of tasks.

Ray has no way to read some blocks only, so that a pilot costs a pass: pass an operator, or `scale`, where that is too
much. And it gives a task no number of its block: errors cannot name it.
"""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import ray
import ray.data

from qckm.engines.blocks import blocks_of, vectors_of
from qckm.engines.jobs import Job, merge_outcomes, outcome_of, result_of, run_part
from qckm.engines.partitions import ColumnChoice, Partitions, columns_beside, select_names
from qckm.errors import RowsError, SourceError

# Results that one task merges.
FAN_IN = 32


class RayPartitions(Partitions):
    """A Ray dataset."""

    def __init__(self, dataset: ray.data.Dataset, choice: ColumnChoice) -> None:
        columns, usual, weight = choice
        schema = dataset.schema()
        if schema is None:
            raise RowsError("Expected rows, got an empty dataset.")
        held = columns_beside(weight, schema.names)
        self._weight, self.weighted = weight, weight is not None
        # An array makes a dataset of one column of tensors, "data".
        self._vector = isinstance(columns, str) or (columns is None and held == ["data"])
        self._columns = select_names(held, [columns] if isinstance(columns, str) else columns, usual)
        extra = [] if weight is None else [weight]
        self._dataset = (
            dataset if self._columns + extra == list(schema.names) else dataset.select_columns(self._columns + extra)
        )
        self.names = None if self._vector else tuple(self._columns)
        self.n_features = self._width() if self._vector else len(self._columns)

    def fold(self, job: Job, some: np.random.Generator | None = None) -> bytes:
        """Do a job; of all blocks, whatever `some` says."""
        shipped = job.dumps()
        settings = {"job": shipped, "columns": self._columns, "weight": self._weight, "vector": self._vector}
        parts = self._dataset.map_batches(_part, batch_size=None, batch_format="pyarrow", fn_kwargs=settings)
        return _merge_tree(parts.to_arrow_refs(), shipped)

    def _width(self) -> int:
        first = self._dataset.take_batch(1, batch_format="pyarrow")
        return int(vectors_of(first.column(self._columns[0])).shape[1])


def open_partitions(
    data: object,
    columns: Sequence[str] | str | None = None,
    usual: Sequence[str] | None = None,
    sample_weight: str | None = None,
) -> RayPartitions:
    """Return the rows of a Ray dataset."""
    if not hasattr(data, "map_batches"):
        raise SourceError(
            f"Expected a Ray dataset, got {type(data).__name__}: ray.data.from_numpy_refs, from_arrow_refs…"
        )
    return RayPartitions(data, ColumnChoice(columns, usual, sample_weight))


@contextlib.contextmanager
def reading(paths: Sequence[str], address: str | None = None) -> Iterator[ray.data.Dataset]:
    """Give a dataset of Parquet files at paths or URLs, on the cluster at an address or on all cores of this machine.

    Where Ray is running in this process already, it is used, and goes on; else it ends with the context.
    """
    ours = not ray.is_initialized()
    if ours:
        ray.init(address=address, include_dashboard=False if address is None else None, log_to_driver=False)
    try:
        yield ray.data.read_parquet([found for path in paths for found in _expanded(path)])
    finally:
        if ours:
            ray.shutdown()


def _expanded(path: str) -> list[str]:
    """Return the files of a pattern, which Ray does not read; a path of this machine is made absolute for workers."""
    if "://" in path:
        return [path]
    found = sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else [path]
    if not found:
        raise SourceError(f"{path}: expected files, found none of that pattern.")
    return [os.path.abspath(name) for name in found]


def _part(table: pa.Table, job: bytes, columns: list[str], weight: str | None, vector: bool) -> pa.Table:
    def run() -> bytes:
        blocks = blocks_of([table], columns, weight, vector)
        return run_part(job, blocks, 0, "a block")

    return _row(outcome_of(run))


def _merge_tree(refs: list[Any], job: bytes) -> bytes:
    """Merge results where they lie, FAN_IN at a time, until one is left: the driver sees that one only."""
    merge, shipped = ray.remote(_merge), ray.put(job)
    while len(refs) > 1:
        refs = [merge.remote(shipped, *refs[start : start + FAN_IN]) for start in range(0, len(refs), FAN_IN)]
    outcomes = _outcomes(ray.get(refs))
    return result_of(merge_outcomes(job, outcomes)) if outcomes else b""


def _merge(job: bytes, *tables: pa.Table) -> pa.Table:
    outcomes = _outcomes(tables)
    return _row(merge_outcomes(job, outcomes)) if outcomes else tables[0]


def _outcomes(tables: Sequence[pa.Table]) -> list[bytes]:
    return [outcome for table in tables if table.num_rows for outcome in table.column("part").to_pylist()]


def _row(outcome: bytes) -> pa.Table:
    return pa.table({"part": pa.array([outcome], pa.binary())})
