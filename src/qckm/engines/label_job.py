"""The job that labels rows where they are: a Parquet file of labels for every task, and the rows of each label."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from qckm.common import atomic
from qckm.common.arrays import Int64s
from qckm.engines.jobs import Block, Job
from qckm.errors import SourceError
from qckm.models import Model, read_model, to_json
from qckm.models.labelling import label_batch
from qckm.sources.rows import OnBad


class LabelJob(Job):
    """Write the labels of a partition to a folder that all workers share: part-00000.parquet and so on, in order.

    A part appears whole, and one that is written again, for a worker that was lost, takes the place of the first.

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

    def part(self, blocks: Iterable[Block], number: int) -> bytes:
        """Write the labels; return how many rows have each label, and how many have none."""
        if not os.path.isdir(self._folder):
            raise SourceError(f"{self._folder}: expected a folder that this machine and all workers share, got none.")
        counts = np.zeros(len(self._model.centers) + 1, np.int64)
        writer: pq.ParquetWriter | None = None
        with atomic.replacing(os.path.join(self._folder, f"part-{number:05}.parquet")) as place:
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

    def merge(self, parts: Sequence[bytes]) -> bytes:
        """Return the counts of all."""
        return np.sum([self.result(part) for part in parts], axis=0).astype("<i8").tobytes()

    def result(self, part: bytes) -> Int64s:
        """Return how many rows have each label, and how many have none."""
        return np.frombuffer(part, "<i8").astype(np.int64) if part else np.zeros(len(self._model.centers) + 1, np.int64)
