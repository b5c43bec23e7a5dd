"""What a worker does with a partition, and how two results become one.

A job travels as bytes: a line of JSON and, where there is one, a .qckm file. So do results. Whatever an engine uses to
carry functions and values (pickle, mostly) then carries nothing of ours but bytes and the name of a function.
"""

from __future__ import annotations

import importlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from qckm import errors
from qckm.common.arrays import Rows, Weights
from qckm.errors import QckmError
from qckm.sources.source import Batch


class Block(NamedTuple):
    """Rows (rows, n) of a partition, their weights (rows,) if they have any, where they are from, if in a file.

    `kept` is a table of the columns that a job wants beside the rows, as they are.
    """

    rows: Rows
    weights: Weights | None = None
    batch: Batch | None = None
    kept: pa.Table | None = None


# Where a job's class is: a worker imports it when the first one comes. "sketch" is `SketchJob`.
_MODULES = {
    "sketch": "qckm.engines.row_jobs",
    "sample": "qckm.engines.row_jobs",
    "misfit": "qckm.engines.row_jobs",
    "label": "qckm.engines.folder_jobs",
    "group": "qckm.engines.folder_jobs",
}
# What the bytes of an outcome begin with.
_RESULT, _ERROR = b"+", b"!"


class Job(ABC):
    """A function of the rows of a partition whose results can be merged in any order and in any grouping."""

    kind: ClassVar[str]
    keeps: Sequence[str] = ()  # columns that are wanted beside the rows

    @abstractmethod
    def settings(self) -> tuple[dict[str, object], bytes]:
        """Return what `restore` needs: what JSON can hold, and bytes."""

    @classmethod
    @abstractmethod
    def restore(cls, settings: dict[str, Any], data: bytes) -> Job:
        """Return the job of such settings."""

    @abstractmethod
    def part(self, blocks: Iterable[Block], number: int) -> bytes:
        """Return the result of one partition, of which only one block is held at a time."""

    @abstractmethod
    def merge(self, parts: Sequence[bytes]) -> bytes:
        """Return the result of the partitions of several results."""

    def result(self, part: bytes) -> Any:
        """Return what a result stands for; b"" is that of no partitions."""
        return part

    def dumps(self) -> bytes:
        """Return the job as bytes."""
        settings, data = self.settings()
        return json.dumps([self.kind, settings], sort_keys=True).encode() + b"\n" + data


class CountingJob(Job):
    """A job whose results are some numbers, which add up."""

    number: ClassVar[str] = "<i8"

    @property
    @abstractmethod
    def size(self) -> int:
        """How many numbers a result is."""

    def merge(self, parts: Sequence[bytes]) -> bytes:
        """Return the sums of all."""
        return np.sum([self.result(part) for part in parts], axis=0).astype(self.number).tobytes()

    def result(self, part: bytes) -> npt.NDArray[Any]:
        """Return the numbers of a result."""
        little = np.frombuffer(part, self.number) if part else np.zeros(self.size, self.number)
        return little.astype(little.dtype.newbyteorder("="))


# An operator is compiled for when it is first used: a worker should do that once, not once a partition.
@lru_cache(maxsize=8)
def loads(job: bytes) -> Job:
    """Return the job of its bytes."""
    line, _, data = job.partition(b"\n")
    kind, settings = json.loads(line)
    found: type[Job] = getattr(importlib.import_module(_MODULES[kind]), f"{kind.capitalize()}Job")
    return found.restore(settings, data)


def run_part(job: bytes, blocks: Iterable[Block], number: int, name: str | None = None) -> bytes:
    """Do a job on a partition: what engines call in their workers. Errors name the partition."""
    try:
        return loads(job).part(blocks, number)
    except QckmError as error:
        raise error.within(name or f"partition {number}") from error


def merge_parts(job: bytes, parts: Iterable[bytes]) -> bytes:
    """Merge results: what engines call in their workers, in a tree."""
    held = list(parts)
    return held[0] if len(held) == 1 else loads(job).merge(held)


def outcome_of(work: Callable[[], bytes]) -> bytes:
    """Return a result, or the error of ours in its place, as bytes: for engines that would tell of it in a text only.

    Such an engine would also try again what fails for the same reason every time.
    """
    try:
        return _RESULT + work()
    except QckmError as error:
        return _ERROR + json.dumps([type(error).__name__, str(error), error.about]).encode()


def merge_outcomes(job: bytes, outcomes: Iterable[bytes]) -> bytes:
    """Merge outcomes as `merge_parts` merges results; of errors, return the first."""
    held = list(outcomes)
    wrong = next((outcome for outcome in held if outcome.startswith(_ERROR)), None)
    return wrong or outcome_of(lambda: merge_parts(job, [outcome[len(_RESULT) :] for outcome in held]))


def result_of(outcome: bytes) -> bytes:
    """Return the result of an outcome, or raise its error: what drivers call."""
    if outcome.startswith(_RESULT):
        return outcome[len(_RESULT) :]
    name, words, about = json.loads(outcome[len(_ERROR) :])
    kind: type[QckmError] = getattr(errors, name)
    raise kind(words, about)
