"""Ray Data datasets: a sketch a block, merged in a tree of tasks.

Ray has no way to read some blocks only, so that a pilot costs a pass: pass an operator, or `scale`, where that is too
much. And it gives a task no number of its block: errors cannot name it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import ray
import ray.data
from ray.exceptions import RayTaskError

from qckm.engines.blocks import blocks_of, vectors_of
from qckm.engines.clusters import TICK, Cluster, run_task
from qckm.engines.jobs import Job, merge_outcomes, merge_parts, outcome_of, result_of, run_part
from qckm.engines.partitions import Partitions, columns_beside, select_names
from qckm.errors import RowsError, SourceError

# Results that one task merges.
FAN_IN = 32


class RayPartitions(Partitions):
    """A Ray dataset: columns of numbers, or, by a single name, one of vectors, tensors or lists."""

    def __init__(
        self,
        dataset: Any,
        columns: Sequence[str] | str | None = None,
        usual: Sequence[str] | None = None,
        weight: str | None = None,
    ) -> None:
        if not hasattr(dataset, "map_batches"):
            raise SourceError(
                f"Expected a Ray dataset, got {type(dataset).__name__}: ray.data.from_numpy_refs, from_arrow_refs…"
            )
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


# What `qckm.engines` calls.
open_partitions = RayPartitions


class RayCluster(Cluster):
    """The workers of Ray, as this process is connected to it."""

    def count_cores(self) -> int:
        """Return the cores of the cluster."""
        return max(1, int(ray.cluster_resources().get("CPU", 1)))

    def fold(self, job: bytes, tasks: Sequence[bytes]) -> bytes:
        """Do a job; the first error ends it."""
        run, merge, shared = ray.remote(run_task), ray.remote(_merge_parts), ray.put(job)
        parts = [run.remote(shared, task) for task in tasks]
        level, merges = parts, list[Any]()
        while len(level) > 1:
            groups = [level[start : start + FAN_IN] for start in range(0, len(level), FAN_IN)]
            level = [merge.remote(shared, *group) for group in groups]
            merges += level
        try:
            while not ray.wait(level, timeout=TICK)[0]:
                self.watch(len(ray.wait(parts, num_returns=len(parts), timeout=0)[0]), len(parts))
            found: bytes = ray.get(level[0])
            return found
        except RayTaskError as error:
            self._stop(parts + merges)
            raise error.cause from error
        except BaseException:
            self._stop(parts + merges)
            raise

    def _stop(self, tasks: list[Any]) -> None:
        for task in tasks:
            ray.cancel(task, force=True)


def _merge_parts(job: bytes, *parts: bytes) -> bytes:
    return merge_parts(job, parts)


@contextlib.contextmanager
def connect(address: str | None = None) -> Iterator[RayCluster]:
    """Give the workers at an address (ray://host:10001, host:6379, auto), or on all cores of this machine.

    Where Ray is running in this process already, it is used, and goes on; else it ends with the context.
    """
    ours = not ray.is_initialized()
    if ours:
        local: dict[str, Any] = {} if address else {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
        ray.init(address=address, log_to_driver=False, **local)
    try:
        yield RayCluster()
    finally:
        if ours:
            ray.shutdown()


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
