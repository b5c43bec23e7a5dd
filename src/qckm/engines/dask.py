"""Dask arrays, data frames and bags: a sketch a partition, fused with what makes the partition, added up in a tree.

Results are computed by whatever scheduler is current, a `distributed.Client` included, so that Dask's own progress bars
and dashboard show the work.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import dask.array as da
import dask.bag as db
from dask.delayed import Delayed, delayed

from qckm.engines.dask_partitions import ArrayPartitions, BagPartitions, DaskPartitions, FramePartitions
from qckm.engines.dask_tasks import load_sketch, merge_tree
from qckm.engines.sketch_job import SketchJob
from qckm.errors import SourceError
from qckm.kernels.threads import count_threads
from qckm.sketch import SketchOperator
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
    return delayed(load_sketch, pure=True)(merge_tree(job, held.parts(job)))


@contextlib.contextmanager
def reading(paths: Sequence[str], address: str | None = None) -> Iterator[Any]:
    """Give a data frame of Parquet files at paths or URLs, on the scheduler at an address or on a cluster of our own.

    Our own has a process of one thread on each core of this machine, and ends with the context.
    """
    import dask.dataframe as dd
    import distributed

    with contextlib.ExitStack() as stack:
        if address is None:
            cores = count_threads(None)
            cluster = distributed.LocalCluster(
                n_workers=cores, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
            )
            address = stack.enter_context(cluster)
        stack.enter_context(distributed.Client(address))
        yield dd.read_parquet(list(paths))
