"""Rows in files that the workers of a cluster read themselves: by reference, a list of pieces a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np

from qckm.common.text import is_url, public_name
from qckm.engines.clusters import Cluster, dump_task
from qckm.engines.group_job import GroupJob
from qckm.engines.jobs import Job
from qckm.engines.partitions import Partitions
from qckm.engines.row_jobs import choose_parts
from qckm.errors import SourceError, SplitError
from qckm.planning.row_sample import RowSample
from qckm.planning.sampling import sample_of
from qckm.sketch import SketchOperator
from qckm.sources.opening import open_source, open_table
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

    weighted = False
    once = False

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
        if not here:
            with fetched(self._remote[0][0].path) as ((label, place),):
                table = open_table(place, text, label)
                self.selection, named = select([table], columns, usual, dtype), table.named
        self.n_features = len(self.selection.names)
        self.names = self.selection.names if named else None
        self._whole = False

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns, where they have names."""
        return self.names

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
            return sample_of(self.source, empty, rng)
        return super().sample(empty, rng)

    def sketch_by(
        self, operator: SketchOperator, by: Sequence[str], folder: str, on_bad: OnBad = "error"
    ) -> tuple[int, int]:
        """Have every task write a table of sketches, of the groups by some columns, to a folder that workers share.

        Returns how many rows were sketched, and how many skipped; `qckm.sketch.group_tables.load` adds the tables up.
        """
        self.require_columns(operator)
        job = GroupJob(operator, by, folder, on_bad)
        count, skipped = job.result(self.fold(job)).tolist()
        return count, skipped

    def _read_whole_files(self) -> None:
        self._whole = True
        del self._tasks
