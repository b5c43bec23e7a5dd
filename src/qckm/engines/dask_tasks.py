"""The tasks of a Dask graph: a job on a partition, results merged in a tree, labels.

Dask's progress bars and dashboard call a task after its function, hence the names of those that Dask maps.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed

from qckm.clustering.centroids import distances
from qckm.engines.jobs import Block, Job, loads, merge_parts, run_part
from qckm.models import read_model
from qckm.sketch import Sketch
from qckm.sources.rows import as_rows, column_names

# Results that one task merges: few enough that a tree of a million partitions is five levels deep.
FAN_IN = 16
# Rows of a bag that are made an array together.
_BAG_ROWS = 1 << 14


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


def load_sketch(data: bytes, job: bytes) -> Sketch:
    """Return the sketch of a result."""
    found: Sketch = loads(job).result(data)
    return found


def shipped(what: str, data: bytes) -> Delayed:
    """Return bytes as one key of the graph, fetched once by each worker, and not once in every task."""
    return delayed(data, name=f"qckm-{what}-{hashlib.sha256(data).hexdigest()[:16]}")
