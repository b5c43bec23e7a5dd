"""The job that sketches groups of rows: a table of sketches for every task, in a folder that all workers share.

A group that is in several tasks is in several tables: `qckm.sketch.group_tables.load` adds them up.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from qckm.common.arrays import Int64s
from qckm.engines.jobs import Block, Job
from qckm.errors import SourceError
from qckm.sketch import SketchOperator, files, group_tables
from qckm.sketch.grouping import GroupedSketches
from qckm.sources.rows import OnBad


class GroupJob(Job):
    """Sketch the groups of a partition; the table of a task that is done again takes the place of the first.

    Parameters
    ----------
    operator : SketchOperator
    keeps : sequence of str
        The columns that make groups.
    folder : str
    on_bad : {"error", "skip"}
    """

    kind = "group"

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
        if not os.path.isdir(self._folder):
            raise SourceError(f"{self._folder}: expected a folder that this machine and all workers share, got none.")
        groups = GroupedSketches(self._operator, self.keeps)
        with groups.filling(self._on_bad, n_jobs=1) as add:
            for block in blocks:
                assert block.batch is not None, "groups are made of files"
                add(block.kept, block.batch)
        group_tables.save(groups, os.path.join(self._folder, f"part-{number:05}.parquet"))
        return np.array([groups.sums.count.sum(), groups.skipped.sum()], "<i8").tobytes()

    def merge(self, parts: Sequence[bytes]) -> bytes:
        """Return the rows of all."""
        return np.sum([self.result(part) for part in parts], axis=0).astype("<i8").tobytes()

    def result(self, part: bytes) -> Int64s:
        """Return how many rows were sketched, and how many skipped."""
        return np.frombuffer(part, "<i8").astype(np.int64) if part else np.zeros(2, np.int64)
