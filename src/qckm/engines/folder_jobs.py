"""The jobs that write a file for every task, to a folder that all workers share: labels, or tables of sketches.

A file appears whole, and one that is written again, for a worker that was lost, takes the place of the first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from qckm.common import atomic
from qckm.common.arrays import Int64s
from qckm.engines.jobs import Block, CountingJob
from qckm.errors import SourceError
from qckm.models import Model, read_model, to_json
from qckm.models.model import label_batch
from qckm.sketch import SketchOperator, files, group_tables
from qckm.sketch.grouping import GroupedSketches
from qckm.sources.rows import OnBad


class LabelJob(CountingJob):
    """Write the labels of a partition.

    Parameters
    ----------
    model : Model
    folder : str
    value : {"distance", "score"}, optional
        What to write beside the label.
    keeps : sequence of str
        Columns to carry through.
    on_bad : {"error", "skip"}
        Bad rows are an error, or keep their place with an empty label.
    """

    kind = "label"

    def __init__(
        self, model: Model, folder: str, value: str | None = None, keeps: Sequence[str] = (), on_bad: OnBad = "error"
    ) -> None:
        self._model, self._folder, self._value, self._on_bad = model, os.path.abspath(folder), value, on_bad
        self.keeps = tuple(keeps)

    def settings(self) -> tuple[dict[str, object], bytes]:
        """Return what `restore` needs; the model travels as JSON."""
        settings: dict[str, object] = {"folder": self._folder, "value": self._value, "on_bad": self._on_bad}
        return {**settings, "keeps": self.keeps}, to_json(self._model)

    @classmethod
    def restore(cls, settings: dict[str, Any], data: bytes) -> LabelJob:
        """Return the job of such settings."""
        return cls(read_model(data, "model"), **settings)

    @property
    def size(self) -> int:
        """How many numbers a result is: the rows of each label, and those that have none."""
        return len(self._model.centers) + 1

    def part(self, blocks: Iterable[Block], number: int) -> bytes:
        """Write the labels; return how many rows have each label, and how many have none."""
        path = _path_in(self._folder, number)
        counts = np.zeros(self.size, np.int64)
        writer: pq.ParquetWriter | None = None
        with atomic.replacing(path) as place:
            try:
                for block in blocks:
                    table = self._labelled(block, counts)
                    writer = writer or pq.ParquetWriter(place, table.schema)
                    writer.write_table(table)
                if writer is None:
                    pq.write_table(pa.table({"cluster": pa.array([], pa.int32())}), place)
            finally:
                if writer is not None:
                    writer.close()
        return counts.astype("<i8").tobytes()

    def _labelled(self, block: Block, counts: Int64s) -> pa.Table:
        assert block.batch is not None, "labels are written of files"
        found = label_batch(self._model, block.batch, self._on_bad, n_jobs=1)
        columns = {"cluster": pa.array(found.labels, mask=found.bad)}
        if self._value is not None:
            columns[self._value] = pa.array(found.distances, mask=found.bad)
        counts[:-1] += np.bincount(found.labels[~found.bad], minlength=len(counts) - 1)
        counts[-1] += found.bad.sum()
        kept = {} if block.kept is None else dict(zip(block.kept.column_names, block.kept.columns, strict=True))
        return pa.table({**kept, **columns})


class GroupJob(CountingJob):
    """Sketch the groups of a partition. One that is in several is in several tables: `group_tables.load` adds them up.

    Parameters
    ----------
    operator : SketchOperator
    keeps : sequence of str
        The columns that make groups.
    folder : str
    on_bad : {"error", "skip"}
    """

    kind, size = "group", 2  # rows that were sketched, and those that were skipped

    def __init__(self, operator: SketchOperator, keeps: Sequence[str], folder: str, on_bad: OnBad = "error") -> None:
        self._operator, self._folder, self._on_bad = operator, os.path.abspath(folder), on_bad
        self.keeps = tuple(keeps)

    def settings(self) -> tuple[dict[str, object], bytes]:
        """Return what `restore` needs; the operator travels as the sketch of no rows."""
        settings: dict[str, object] = {"keeps": self.keeps, "folder": self._folder, "on_bad": self._on_bad}
        return settings, files.dumps(self._operator.empty())

    @classmethod
    def restore(cls, settings: dict[str, Any], data: bytes) -> GroupJob:
        """Return the job of such settings."""
        return cls(files.loads(data).operator, **settings)

    def part(self, blocks: Iterable[Block], number: int) -> bytes:
        """Write a table of sketches; return how many rows are in it, and how many were skipped."""
        path = _path_in(self._folder, number)
        groups = GroupedSketches(self._operator, self.keeps)
        with groups.filling(self._on_bad, n_jobs=1) as add:
            for block in blocks:
                assert block.batch is not None, "groups are made of files"
                add(block.kept, block.batch)
        group_tables.save(groups, path)
        return np.array([groups.sums.count.sum(), groups.skipped.sum()], "<i8").tobytes()


def _path_in(folder: str, number: int) -> str:
    """Return where the file of a task is: part-00000.parquet and so on, in order."""
    if not os.path.isdir(folder):
        raise SourceError(f"{folder}: expected a folder that this machine and all workers share, got none.")
    return os.path.join(folder, f"part-{number:05}.parquet")
