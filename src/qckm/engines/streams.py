"""Sums of streams, by window: each batch counts once, also when it comes again after a crash.

What comes in batches of any kind is added by `StreamSums.add`: a Python iterator, Arrow Flight (`flight.py`), Spark
Structured Streaming (`StreamSums.spark`). The sums and the number of the last batch of every stream are in one file,
which is replaced atomically before a batch is acknowledged.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from qckm.common import atomic
from qckm.errors import CheckpointError
from qckm.sketch import SketchOperator, group_tables
from qckm.sketch.grouping import GroupedSketches, sketch_by
from qckm.sources.rows import OnBad
from qckm.sources.table import reading

_STREAMS = b"qckm streams"


class StreamSums:
    """A sketch of every window of some streams, in a file.

    Parameters
    ----------
    operator : SketchOperator
    path : path
        A table of sketches (`qckm.sketch.group_tables`), beside which no other process may write.
    by : sequence of str
        The columns that make windows: a day, an hour, a shop.
    on_bad : {"error", "skip"}

    Examples
    --------
    >>> import os, tempfile, pyarrow as pa, qckm
    >>> op = qckm.SketchOperator.draw(1, 20, scale=1.0, random_state=0, feature_names=["x"])
    >>> batches = [pa.table({"day": [1, 1], "x": [0.0, 1.0]}), pa.table({"day": [1, 2], "x": [2.0, 3.0]})]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "sums.parquet")
    ...     sums = StreamSums(op, path, by=["day"])
    ...     added = [sums.add("sensor", number, batch) for number, batch in enumerate(batches)]
    ...     again = StreamSums(op, path, by=["day"])  # after a crash
    ...     added, again.add("sensor", 1, batches[1]), {day: one.count for day, one in again.sketches().items()}
    ([True, True], False, {1: 3, 2: 1})
    """

    def __init__(
        self, operator: SketchOperator, path: str | os.PathLike[str], by: Sequence[str], on_bad: OnBad = "error"
    ) -> None:
        self._operator, self._path, self._by, self._on_bad = operator, os.fspath(path), tuple(by), on_bad
        self._lock = threading.Lock()
        self._seen: dict[str, int] = {}
        self._data: bytes | None = None
        if os.path.exists(self._path):
            self._read()

    def _read(self) -> None:
        with reading(self._path, "expected the sums of streams"), open(self._path, "rb") as file:
            self._data = file.read()
            notes = pq.read_schema(pa.BufferReader(self._data)).metadata or {}
            seen = json.loads(notes.get(_STREAMS, b"null"))
        if not isinstance(seen, dict) or not all(type(number) is int for number in seen.values()):
            raise CheckpointError(f"{self._path}: expected the sums of streams, got another table.")
        self._seen = seen
        self.sketches()  # which says if they are of another operator, or by other columns

    def last(self, stream: str) -> int:
        """Return the number of the last batch of a stream that is in the sums; −1 before the first."""
        return self._seen.get(stream, -1)

    def sketches(self) -> GroupedSketches:
        """Return the sums so far."""
        found = GroupedSketches(self._operator, self._by, alone=len(self._by) == 1)
        if self._data is not None:
            group_tables.add(found, self._data, self._path)
        return found

    def add(self, stream: str, number: int, rows: object) -> bool:
        """Add a batch of a stream, a table of any kind with the operator's columns and those of windows.

        Numbers increase; a batch whose number is not above that of the last is passed over. Returns whether it was
        added; when it returns, it is in the file.
        """
        with self._lock:
            if number <= self.last(stream):
                return False
            return self._added(stream, number, sketch_by(self._operator, rows, self._by, on_bad=self._on_bad))

    def _added(self, stream: str, number: int, more: GroupedSketches) -> bool:
        total = self.sketches()
        if len(more):
            group_tables.add(total, group_tables.dumps(more), stream)
        seen = {**self._seen, stream: number}
        data = group_tables.dumps(total, {_STREAMS: json.dumps(seen, sort_keys=True).encode()})
        atomic.write_atomically(self._path, data)
        self._data, self._seen = data, seen
        return True

    def spark(self, stream: str = "spark") -> Callable[[Any, int], None]:
        """Return what `writeStream.foreachBatch` calls: groups are summed in executors, and only sums come here."""
        from qckm.engines.spark import sketch_by as sketch_there

        def add(batch: Any, number: int) -> None:
            with self._lock:
                if number > self.last(stream):
                    self._added(stream, number, sketch_there(self._operator, batch, self._by, self._on_bad))

        return add
