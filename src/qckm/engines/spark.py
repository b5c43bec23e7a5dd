"""Spark DataFrames: Arrow batches in, a binary row per partition out, merged in executors before the driver sees them.

`qckm.engines.spark_ml` has the estimator and the model of pyspark.ml, `qckm.engines.spark_stream` the sum of a stream.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.ml.functions import vector_to_array
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, NumericType, StructType

from qckm.engines.blocks import blocks_of
from qckm.engines.clusters import TICK, Cluster, run_task
from qckm.engines.jobs import Job, choose_parts, merge_outcomes, outcome_of, result_of, run_part
from qckm.engines.partitions import Partitions, columns_beside, select_names
from qckm.errors import RowsError, SourceError
from qckm.sketch import SketchOperator, files, group_tables
from qckm.sketch.grouping import GroupedSketches
from qckm.sketch.grouping import sketch_by as local_sketch_by
from qckm.sources.rows import OnBad

_SCHEMA = "part binary"
_FEATURES = "features"
_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
# Results that are merged by the driver: another stage would cost more.
_FEW = 64


class SparkPartitions(Partitions):
    """A Spark DataFrame: columns of numbers, or, by a single name, one of vectors or arrays."""

    def __init__(
        self,
        frame: Any,
        columns: Sequence[str] | str | None = None,
        usual: Sequence[str] | None = None,
        weight: str | None = None,
    ) -> None:
        if not hasattr(frame, "mapInArrow"):
            raise SourceError(f"Expected a Spark DataFrame, got {type(frame).__name__}.")
        held = columns_beside(weight, frame.columns)
        self._weight, self.weighted = weight, weight is not None
        self._vector = isinstance(columns, str)
        if isinstance(columns, str):
            select_names(held, [columns], None)
            self._columns, self.names = [_FEATURES], None
            picked = [array_of(frame, columns).alias(_FEATURES)]
            self.n_features = _width(frame, columns)
        else:
            self._columns = select_names(held, columns, usual)
            self.names = tuple(self._columns)
            require_numbers(frame.schema, self._columns)
            picked = [by_name(name) for name in self._columns]
            self.n_features = len(self._columns)
        self._frame = frame.select(*picked, *([] if weight is None else [by_name(weight)]))

    def fold(self, job: Job, some: np.random.Generator | None = None) -> bytes:
        """Do a job; the partial results cross the network once, to be merged, and the driver gets a few of them."""
        shipped, columns, weight, vector = job.dumps(), self._columns, self._weight, self._vector
        # A function inside a function travels by value: with it go bytes and strings, and the names of our functions.
        parts = self._frame.mapInArrow(lambda batches: _part(batches, shipped, columns, weight, vector), _SCHEMA)
        chosen = None if some is None else _chosen_parts(parts, some)
        if chosen is None:
            with _large_batches(self._frame.sparkSession):
                return _merge_tree(parts, shipped, DataFrame.collect)
        return result_of(merge_outcomes(shipped, chosen)) if chosen else b""


# What `qckm.engines` calls.
open_partitions = SparkPartitions


def sketch_by(
    operator: SketchOperator, frame: DataFrame, by: Sequence[str], on_bad: OnBad = "error"
) -> GroupedSketches:
    """Sketch the groups of a DataFrame: in executors, a table of sketches a partition, which are added up here.

    Parameters
    ----------
    operator : SketchOperator
        With the names of its columns.
    frame : DataFrame
    by : sequence of str
    on_bad : {"error", "skip"}

    Returns
    -------
    GroupedSketches
    """
    keys, columns = list(by), list(operator.feature_names or ())
    select_names(frame.columns, [*keys, *columns], None)
    require_numbers(frame.schema, columns)
    data = files.dumps(operator.empty())
    picked = frame.select(*(by_name(name) for name in [*keys, *columns]))
    parts = picked.mapInArrow(lambda batches: _group(batches, data, keys, on_bad), _SCHEMA)
    found = GroupedSketches(operator, keys, alone=len(keys) == 1)
    for row in parts.collect():
        group_tables.add(found, result_of(bytes(row.part)), "a partition")
    return found


def _group(
    batches: Iterable[pa.RecordBatch], operator: bytes, keys: list[str], on_bad: OnBad
) -> Iterator[pa.RecordBatch]:
    first = next(iter(batches := iter(batches)), None)
    if first is not None:

        def work() -> bytes:
            reader = pa.RecordBatchReader.from_batches(first.schema, itertools.chain([first], batches))
            found = local_sketch_by(files.loads(operator).operator, reader, keys, on_bad=on_bad)
            return group_tables.dumps(found)

        yield _row(outcome_of(work))


@contextlib.contextmanager
def _large_batches(session: SparkSession) -> Iterator[None]:
    """Have Spark hand over 65 536 rows at a time, unless its user has chosen: a tenth less work than by 10 000."""
    before = session.conf.get(_BATCH, None)
    if before not in (None, "10000"):
        yield
        return
    session.conf.set(_BATCH, "65536")
    try:
        yield
    finally:
        session.conf.unset(_BATCH) if before is None else session.conf.set(_BATCH, before)


class SparkCluster(Cluster):
    """The executors of a session, also of one by Spark Connect."""

    tasks_a_core = 4  # a task costs 50 ms, ten times that of others

    def __init__(self, session: SparkSession) -> None:
        self._session, self._remote = session, type(session).__module__.startswith("pyspark.sql.connect")

    def count_cores(self) -> int:
        """Return the partitions that Spark makes of a range by itself: as many as there are cores."""
        if not self._remote:
            return max(1, self._session.sparkContext.defaultParallelism)
        number = self._session.range(1 << 20).select(F.spark_partition_id().alias("number"))
        return max(1, int(number.distinct().count()))

    def fold(self, job: bytes, tasks: Sequence[bytes]) -> bytes:
        """Do a job, a task a partition. Nothing but results passes through a JVM."""
        held, count = list(tasks), len(tasks)
        numbers = self._session.range(0, count, 1, count)
        # A function inside a function travels by value: with it go bytes, and the names of our functions.
        parts = numbers.mapInArrow(lambda batches: _run_tasks(batches, job, held), _SCHEMA)
        if count <= _FEW:
            return _merge_here(self._collect(parts), job)
        return _merge_tree(parts, job, self._collect)

    def _collect(self, frame: DataFrame) -> list[Row]:
        """Collect in a thread, so that this one can tell how far it is, and cancel it."""
        tag, found = f"qckm-{uuid.uuid4()}", list[Future[list[Row]]]()
        progress = self._progress(tag)
        with ThreadPoolExecutor(1) as pool:
            found.append(pool.submit(self._tagged, tag, frame))
            try:
                while wait(found, TICK).not_done:
                    self.watch(*progress())
            except BaseException:
                self._cancel(tag)
                raise
        return found[0].result()

    def _tagged(self, tag: str, frame: DataFrame) -> list[Row]:
        if self._remote:
            self._session.addTag(tag)
        else:
            self._session.sparkContext.setJobGroup(tag, "qckm", interruptOnCancel=True)
        return frame.collect()

    def _cancel(self, tag: str) -> None:
        if self._remote:
            self._session.interruptTag(tag)
        else:
            self._session.sparkContext.cancelJobGroup(tag)

    def _progress(self, tag: str) -> Callable[[], tuple[int, int]]:
        """Return what tells the tasks that are done, and how many there are so far."""
        if self._remote:
            seen = [(0, 0)]

            def note(stages: Any, **_: object) -> None:
                each = list(stages or [])
                seen[0] = sum(stage.num_completed_tasks for stage in each), sum(stage.num_tasks for stage in each)

            self._session.clearProgressHandlers()
            self._session.registerProgressHandler(note)
            return lambda: seen[0]
        tracker = self._session.sparkContext.statusTracker()

        def count() -> tuple[int, int]:
            jobs = [tracker.getJobInfo(number) for number in tracker.getJobIdsForGroup(tag)]
            stages = [tracker.getStageInfo(number) for job in jobs if job for number in job.stageIds]
            known = [stage for stage in stages if stage]
            return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)

        return count


def _run_tasks(batches: Iterable[pa.RecordBatch], job: bytes, tasks: list[bytes]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield _row(outcome_of(partial(run_task, job, tasks[number])))


def _merge_tree(parts: DataFrame, job: bytes, collect: Callable[[DataFrame], list[Row]]) -> bytes:
    """Merge outcomes in executors: the driver gets one for each 64 MB of them."""
    # Rebalanced by size, whatever the number of partitions.
    merged = parts.hint("rebalance").mapInArrow(lambda batches: _merge(batches, job), _SCHEMA)
    return _merge_here(collect(merged), job)


def _merge_here(rows: Sequence[Row], job: bytes) -> bytes:
    return result_of(merge_outcomes(job, [bytes(row.part) for row in rows])) if rows else b""


@contextlib.contextmanager
def connect(address: str | None = None) -> Iterator[SparkCluster]:
    """Give the executors of a master (spark://host:7077, yarn, local[4]), of a server (sc://host:15002), or cores here.

    Where a session is running in this process already, it is used, and goes on; else one is started, and ends with the
    context.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        yield SparkCluster(running)
        return
    session = _started(address)
    try:
        yield SparkCluster(session)
    finally:
        session.stop()


def _started(address: str | None) -> SparkSession:
    builder = SparkSession.builder.appName("qckm")
    if address is not None and address.startswith("sc://"):
        return builder.remote(address).create()
    builder = builder.master(address or "local[*]")
    if address is None or address.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark's default is whichever python3 comes first
        builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
        builder = builder.config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
    return builder.getOrCreate()


def array_of(frame: DataFrame, column: str) -> Column:
    """Return a column of vectors (pyspark.ml) or arrays as a column of arrays."""
    kind = frame.schema[column].dataType
    if type(kind).__name__ == "VectorUDT":
        return vector_to_array(by_name(column))
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType):
        return by_name(column)
    raise SourceError(
        f"Expected {column!r} to be a column of vectors or arrays, got {kind.simpleString()}: "
        "give several columns of numbers as a list."
    )


def require_numbers(schema: StructType, columns: Sequence[str]) -> None:
    """Refuse columns that are not numbers."""
    wrong = [
        f"{name} ({schema[name].dataType.simpleString()})"
        for name in columns
        if not isinstance(schema[name].dataType, NumericType) and schema[name].dataType.simpleString() != "boolean"
    ]
    if wrong:
        raise SourceError(
            f"Expected columns of numbers, got {', '.join(wrong[:5])}. Choose them with columns=[…].", about="columns"
        )


def _part(
    batches: Iterable[pa.RecordBatch], job: bytes, columns: list[str], weight: str | None, vector: bool
) -> Iterator[pa.RecordBatch]:
    number = TaskContext.get().partitionId()
    yield _row(outcome_of(lambda: run_part(job, blocks_of(batches, columns, weight, vector), number)))


def _merge(batches: Iterable[pa.RecordBatch], job: bytes) -> Iterator[pa.RecordBatch]:
    merged = b""
    for batch in batches:
        outcomes = batch.column(0).to_pylist()
        merged = merge_outcomes(job, [merged, *outcomes] if merged else outcomes)
    if merged:
        yield _row(merged)


def _row(outcome: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([outcome], pa.binary())], ["part"])


def _chosen_parts(parts: DataFrame, rng: np.random.Generator) -> list[bytes] | None:
    """Return the outcomes of a few partitions, computing no others; None where a session cannot do that (Connect)."""
    try:
        rdd = parts.rdd
        count = rdd.getNumPartitions()
    except (AttributeError, NotImplementedError, PySparkException):
        return None
    chosen = choose_parts(count, rng)
    if len(chosen) == count:
        return None  # all of them are merged in the executors
    rows = rdd.context.runJob(rdd, _identity, chosen)
    return [bytes(row.part) for row in rows]


def _identity(rows: Any) -> Any:
    return rows


def _width(frame: DataFrame, column: str) -> int:
    """Return the length of the vectors: of the first one there is."""
    array = array_of(frame, column)
    first = frame.select(F.size(array).alias("width")).where(array.isNotNull()).first()
    if first is None:
        raise RowsError(f"Expected vectors in {column!r}, got none.")
    return int(first.width)


def by_name(name: str) -> Column:
    """Return a column by its name, whatever is in it."""
    return F.col(f"`{name.replace('`', '``')}`")  # a dot in a name is no path
