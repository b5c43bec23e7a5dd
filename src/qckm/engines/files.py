"""Rows in files that the workers of a cluster read themselves, by reference: a list of pieces per task.

And the jobs that write a file for every task, to a folder that all workers share: labels, or tables of sketches. A file
appears whole, and one that is written again, for a worker that was lost, takes the place of the first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from qckm.common import atomic
from qckm.common.arrays import Int64s
from qckm.common.text import is_url, public_name
from qckm.engines.clusters import Cluster, dump_task
from qckm.engines.jobs import MODEL, OPERATOR, Block, CountingJob, Job, choose_parts
from qckm.engines.partitions import Partitions
from qckm.errors import SourceError, SplitError
from qckm.models import Model
from qckm.models.model import label_batch
from qckm.planning.held_rows import SourceRows
from qckm.planning.row_sample import RowSample
from qckm.sketch import SketchOperator, group_tables
from qckm.sketch.grouping import GroupedSketches
from qckm.sources.opening import open_source, open_table, require_each_once
from qckm.sources.pieces import Piece, packed, pieces_of, pieces_of_url
from qckm.sources.remote import fetched
from qckm.sources.rows import OnBad
from qckm.sources.source import Source
from qckm.sources.table import AllBut, select
from qckm.sources.text import UNKNOWN, TextFormat

# Bytes that a task reads: enough to outweigh what a task costs, and no more than one would like to read again.
_LEAST_BYTES, _MOST_BYTES = 1 << 25, 1 << 31


class FileRows(Partitions):
    """Rows of files, of any format that is read on one machine, on a cluster whose workers know the same paths.

    Files of this machine, or of a file system that it shares with the workers, are opened here for their columns and
    row groups; of URLs only the first is, and a worker copies one for as long as it reads it.

    Parameters
    ----------
    cluster : Cluster
    paths : sequence of str
        Paths, folders, globs and URLs.
    columns, dtype, usual
        As in `qckm.open_source`.
    text : TextFormat
        What is known of a CSV.
    """

    def __init__(
        self,
        cluster: Cluster,
        paths: Sequence[str],
        columns: Sequence[Any] | None = None,
        dtype: str = "auto",
        usual: Sequence[str] | None = None,
        text: TextFormat = UNKNOWN,
    ) -> None:
        if "-" in paths:
            raise SourceError("Expected files that workers can read, got standard input, which is here.")
        self._cluster, self._text = cluster, text
        here, urls = [path for path in paths if not is_url(path)], [path for path in paths if is_url(path)]
        self.source: Source | None = None
        if here:
            exclude = columns if isinstance(columns, AllBut) else ()
            chosen = None if exclude else columns
            self.source = open_source(here, chosen, dtype, usual, **asdict(text), exclude=exclude)
            if self.source.once:
                raise SourceError(f"{self.source.tables[0].label}: expected a file that workers can read, got a pipe.")
            self.selection, named = self.source.selection, self.source.tables[0].named
        self._remote = [found for url in urls for found in pieces_of_url(url)]
        places = [] if self.source is None else [table.place for table in self.source.tables]
        require_each_once([*places, *(piece.path for piece, _ in self._remote)])
        if not here:
            with fetched(self._remote[0][0].path) as ((url, place),):
                table = open_table(place, text, url)
                self.selection, named = select([table], columns, usual, dtype), table.named
        self.n_features = len(self.selection.names)
        self.names = self.selection.names if named else None
        self._whole = False

    @property
    def labels(self) -> list[str]:
        """What the files are called."""
        here = [] if self.source is None else [table.label for table in self.source.tables]
        return here + [public_name(piece.path) for piece, _ in self._remote]

    @property
    def n_bytes(self) -> int | None:
        """The size of all files, where it is known."""
        sizes = [piece.size for piece, _ in self._remote] + ([] if self.source is None else [self.source.n_bytes])
        return None if None in sizes else sum(size for size in sizes if size is not None)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was taken for granted on opening the files."""
        return () if self.source is None else self.source.assumptions

    @cached_property
    def _tasks(self) -> list[list[Piece]]:
        """The pieces of each task."""
        here = () if self.source is None else self.source.tables
        whole = sum(table.n_bytes or 0 for table in here) + sum(size for _, size in self._remote)
        tasks = self._cluster.tasks_a_core * self._cluster.count_cores()
        size = min(_MOST_BYTES, max(_LEAST_BYTES, int(whole / tasks)))
        pieces = [piece for table in here for piece in pieces_of(table, None if self._whole else size)]
        return packed([*pieces, *self._remote], size)

    @property
    def n_tasks(self) -> int:
        """The number of tasks."""
        return len(self._tasks)

    def fold(self, job: Job, some: np.random.Generator | None = None) -> bytes:
        """Do a job in a task for every few pieces of the files."""
        numbers = range(self.n_tasks) if some is None else choose_parts(self.n_tasks, some)
        tasks = [dump_task(number, self._tasks[number], self.selection, self._text) for number in numbers]
        try:
            return self._cluster.fold(job.dumps(), tasks)
        except SplitError:  # far into a file, cells are in quotes after all
            self._read_whole_files()
            return self.fold(job, some)

    def sample(self, empty: RowSample, rng: np.random.Generator) -> RowSample:
        """Sample the rows: of files of this machine those that a pilot is drawn from; of URLs on the cluster."""
        if self.source is not None and not self._remote:
            return SourceRows(self.source).sample(empty, rng)
        return super().sample(empty, rng)

    def sketch_by(
        self, operator: SketchOperator, by: Sequence[str], folder: str, on_bad: OnBad = "error"
    ) -> tuple[int, int]:
        """Have every task write a table of sketches, of the groups by some columns, to a folder that workers share.

        Returns how many rows were sketched, and how many skipped; `qckm.sketch.group_tables.load` adds the tables up.
        """
        self.require_columns(operator)
        job = GroupJob(operator, folder, tuple(by), on_bad)
        count, skipped = job.result(self.fold(job)).tolist()
        return count, skipped

    def _read_whole_files(self) -> None:
        self._whole = True
        del self._tasks


@dataclass(eq=False)
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

    kind, carrier = "label", MODEL

    model: Model
    folder: str
    value: str | None = None
    keeps: Sequence[str] = ()
    on_bad: OnBad = "error"

    def __post_init__(self) -> None:
        self.folder = os.path.abspath(self.folder)

    @property
    def size(self) -> int:
        """How many numbers a result is: the rows of each label, and those that have none."""
        return len(self.model.centers) + 1

    def part(self, blocks: Iterable[Block], number: int) -> bytes:
        """Write the labels; return how many rows have each label, and how many have none."""
        path = _path_in(self.folder, number)
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
        found = label_batch(self.model, block.batch, self.on_bad, n_jobs=1)
        columns = {"cluster": pa.array(found.labels, mask=found.bad)}
        if self.value is not None:
            columns[self.value] = pa.array(found.distances, mask=found.bad)
        counts[:-1] += np.bincount(found.labels[~found.bad], minlength=len(counts) - 1)
        counts[-1] += found.bad.sum()
        kept = {} if block.kept is None else dict(zip(block.kept.column_names, block.kept.columns, strict=True))
        return pa.table({**kept, **columns})


@dataclass(eq=False)
class GroupJob(CountingJob):
    """Sketch the groups of a partition. One that is in several is in several tables: `group_tables.load` adds them up.

    Parameters
    ----------
    operator : SketchOperator
    folder : str
    keeps : sequence of str
        The columns that make groups.
    on_bad : {"error", "skip"}
    """

    kind, carrier, size = "group", OPERATOR, 2  # rows that were sketched, and those that were skipped

    operator: SketchOperator
    folder: str
    keeps: Sequence[str] = ()
    on_bad: OnBad = "error"

    def __post_init__(self) -> None:
        self.folder = os.path.abspath(self.folder)

    def part(self, blocks: Iterable[Block], number: int) -> bytes:
        """Write a table of sketches; return how many rows are in it, and how many were skipped."""
        path = _path_in(self.folder, number)
        groups = GroupedSketches(self.operator, self.keeps)
        with groups.filling(self.on_bad, n_jobs=1) as add:
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
