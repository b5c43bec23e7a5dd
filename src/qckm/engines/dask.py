"""Dask arrays, data frames and bags: a sketch per partition, fused with what makes the partition, added up in a tree.

Results are computed by whatever scheduler is current, a `distributed.Client` included, so that Dask's own progress bars
and dashboard show the work.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import dask.array as da
import dask.bag as db
import distributed
from dask.delayed import Delayed, delayed

from qckm.engines.clusters import TICK, Cluster, run_task
from qckm.engines.dask_partitions import (
    FAN_IN,
    ArrayPartitions,
    BagPartitions,
    DaskPartitions,
    FramePartitions,
    merge_tree,
    shipped,
)
from qckm.engines.jobs import SketchJob, loads, merge_parts
from qckm.errors import SourceError
from qckm.kernels.threads import count_threads
from qckm.sketch import Sketch, SketchOperator
from qckm.sources.rows import OnBad


def open_partitions(
    data: object,
    columns: Sequence[str] | str | None = None,
    usual: Sequence[str] | None = None,
    sample_weight: object = None,
) -> DaskPartitions:
    """Return the rows of a Dask collection."""
    if isinstance(columns, str):
        raise SourceError(f"Expected columns as a sequence of names, got {columns!r}: use [{columns!r}].")
    if isinstance(data, da.Array):
        return ArrayPartitions(data, columns, sample_weight)
    # By module, as importing dask.dataframe takes its time and somebody with a bag does not need it.
    if type(data).__module__.startswith("dask.dataframe") and hasattr(data, "dtypes") and hasattr(data, "columns"):
        return FramePartitions(data, columns, usual, sample_weight)
    if isinstance(data, db.Bag):
        return BagPartitions(data, columns, usual, sample_weight)
    raise SourceError(
        f"Expected a Dask array, data frame or bag, got {type(data).__module__}.{type(data).__name__}. "
        "Of delayed arrays, make one with dask.array.from_delayed."
    )


def delayed_sketch(
    operator: SketchOperator,
    data: object,
    columns: Sequence[str] | None = None,
    sample_weight: object = None,
    on_bad: OnBad = "error",
    n_jobs: int | None = None,
) -> Delayed:
    """Return the sketch of a Dask collection, not computed yet: for `client.compute`, `dask.compute`, progress bars.

    Parameters are those of `qckm.engines.sketch`.

    Examples
    --------
    >>> import dask, dask.array as da, qckm
    >>> from qckm.engines.dask import delayed_sketch
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=20, scale=1.0, random_state=0)
    >>> X = da.ones((100, 2), chunks=(30, 2))
    >>> first, second = dask.compute(delayed_sketch(op, X), delayed_sketch(op, 2 * X))  # one pass for both
    >>> first + second == op.sketch(da.concatenate([X, 2 * X]))
    True
    """
    held = open_partitions(data, columns, operator.feature_names, sample_weight)
    held.require_columns(operator)
    job = SketchJob(operator, held.names, on_bad, n_jobs or 1)
    return delayed(load_sketch, pure=True)(merge_tree(job, held.parts(job)), shipped("job", job.dumps()))


def load_sketch(data: bytes, job: bytes) -> Sketch:
    """Return the sketch of a result."""
    found: Sketch = loads(job).result(data)
    return found


class DaskCluster(Cluster):
    """The workers of a `distributed.Client`."""

    def __init__(self, client: distributed.Client) -> None:
        self._client = client

    def count_cores(self) -> int:
        """Return the threads of all workers."""
        return max(1, sum(self._client.nthreads().values()))

    def fold(self, job: bytes, tasks: Sequence[bytes]) -> bytes:
        """Do a job; the first error ends it."""
        # A task of its own, which is done again where a worker is lost: what is scattered would be gone with it.
        shared = self._client.submit(qckm_job, job, pure=False)
        # Not pure: results are forgotten with their futures, and a job that is repeated is done again.
        parts = self._client.map(qckm_files, [shared] * len(tasks), tasks, pure=False)
        level: list[distributed.Future] = parts
        merges: list[distributed.Future] = []
        while len(level) > 1 or not merges:
            groups = [level[start : start + FAN_IN] for start in range(0, len(level), FAN_IN)]
            level = [self._client.submit(qckm_merge, shared, group, pure=False) for group in groups]
            merges += level
        try:
            while not level[0].done():
                with contextlib.suppress(TimeoutError), self._client.as_current():
                    distributed.wait(level[0], timeout=TICK)
                self.watch(sum(part.done() for part in parts), len(parts))
            found: bytes = level[0].result()
            return found
        finally:
            self._client.cancel([*parts, *merges, shared])


@contextlib.contextmanager
def connect(address: str | None = None) -> Iterator[DaskCluster]:
    """Give the workers of the scheduler at an address, such as tcp://host:8786, or a cluster of our own.

    Our own has a process of one thread on each core of this machine, and ends with the context.
    """
    with contextlib.ExitStack() as stack:
        if address is None:
            address = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=count_threads(None),
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                )
            )
        yield DaskCluster(stack.enter_context(distributed.Client(address, set_as_default=False)))


def qckm_job(job: bytes) -> bytes:
    """Give the job to those that need it."""
    return job


def qckm_files(job: bytes, task: bytes) -> bytes:
    """Do a job on a task: a name of ours, for the dashboard. Dask cannot stop a thread, which has to ask."""
    worker = distributed.get_worker()
    key = worker.get_current_task()

    def is_cancelled() -> bool:
        held = worker.state.tasks.get(key)
        return held is None or held.state == "cancelled"

    return run_task(job, task, is_cancelled)


def qckm_merge(job: bytes, parts: list[bytes]) -> bytes:
    """Merge results: likewise."""
    return merge_parts(job, parts)
