"""A cluster: something that runs tasks over pieces of files and merges their results in a tree.

Rows do not pass through it. A task is a list of pieces of files (`qckm.sources.pieces`), which a worker reads with the
code that reads files on one machine; what comes back is the result of a job, and between workers the results of a few.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict
from typing import Any, Self

from qckm.engines.jobs import Block, loads
from qckm.errors import SourceError
from qckm.sources.kept_columns import KeptColumns
from qckm.sources.pieces import Piece, reading_piece
from qckm.sources.table import Selection
from qckm.sources.text import TextFormat

# Seconds between two looks at how far a cluster is.
TICK = 0.2

# Told how many of the tasks are done, and how many there are.
Watch = Callable[[int, int], None]


class Cluster(ABC):
    """Workers that read files where they are. It ends with its context, if it was started there."""

    watch: Watch = staticmethod(lambda done, total: None)
    tasks_a_core = 8  # so that the last one to end is not waited for long; fewer where a task is dear

    @abstractmethod
    def count_cores(self) -> int:
        """Return how many tasks run at a time."""

    @abstractmethod
    def fold(self, job: bytes, tasks: Sequence[bytes]) -> bytes:
        """Do a job on every task (`run_task`), merge the results (`merge_parts`), and return the one that is left.

        There is one task at least. `watch` is told how far it is. If it is left with an exception, such as that of
        Ctrl-C, no task goes on.
        """

    @contextlib.contextmanager
    def watched(self, watch: Watch) -> Iterator[Self]:
        """Have somebody told how far the tasks are."""
        before, self.watch = self.watch, watch
        try:
            yield self
        finally:
            self.watch = before


def dump_task(number: int, pieces: Sequence[Piece], selection: Selection, text: TextFormat) -> bytes:
    """Return a task: which pieces are read, and how. Paths are long, and alike."""
    return zlib.compress(json.dumps([number, pieces, selection.names, selection.dtype, asdict(text)]).encode())


def run_task(job: bytes, task: bytes, is_cancelled: Callable[[], bool] = lambda: False) -> bytes:
    """Do a job on the pieces of a task: what engines call in their workers. Errors name the file.

    Where an engine cannot stop what runs, `is_cancelled` is asked before every batch.
    """
    number, pieces, names, dtype, text = json.loads(zlib.decompress(task))
    found = loads(job)
    blocks = _blocks(pieces, Selection(tuple(names), dtype), TextFormat(**text), found.keeps)
    with contextlib.closing(blocks):
        return found.part(_unless(blocks, is_cancelled), number)


def _unless(blocks: Iterator[Block], is_cancelled: Callable[[], bool]) -> Iterator[Block]:
    for block in blocks:
        if is_cancelled():
            raise SourceError("The job was cancelled.")
        yield block


def _blocks(
    pieces: Sequence[Any], selection: Selection, text: TextFormat, keeps: Sequence[str]
) -> Generator[Block, None, None]:
    for path, size, span in pieces:
        piece = Piece(path, size, None if span is None else tuple(span))
        with reading_piece(piece, selection, text) as source:
            kept = KeptColumns(source, keeps) if keeps else None
            for batch in source.batches():
                yield Block(batch.rows, None, batch, kept and kept.take(len(batch.rows)))
