"""What a worker does with a partition, and how two results become one.

A job travels as bytes: a line of JSON and, where there is one, a .qckm file. So do results. Whatever an engine uses to
carry functions and values (pickle, mostly) then carries nothing of ours but bytes and the name of a function.
"""

from __future__ import annotations

import contextlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, ClassVar

from qckm import errors
from qckm.common.arrays import Floats, Rows
from qckm.errors import QckmError

# Rows (rows, n) of a partition, and their weights (rows,) if they have any.
Block = tuple[Rows, Floats | None]

_KINDS: dict[str, type[Job]] = {}


class Job(ABC):
    """A function of the rows of a partition whose results can be merged in any order and in any grouping."""

    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        _KINDS[cls.kind] = cls

    @abstractmethod
    def settings(self) -> tuple[dict[str, Any], bytes]:
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

    def dumps(self) -> bytes:
        """Return the job as bytes."""
        settings, data = self.settings()
        return json.dumps([self.kind, settings], sort_keys=True).encode() + b"\n" + data


# An operator is compiled for when it is first used: a worker should do that once, not once a partition.
@lru_cache(maxsize=8)
def loads(job: bytes) -> Job:
    """Return the job of its bytes."""
    line, _, data = job.partition(b"\n")
    kind, settings = json.loads(line)
    return _KINDS[kind].restore(settings, data)


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


@contextlib.contextmanager
def translated(kind: type[Exception]) -> Iterator[None]:
    """Turn what an engine says, in an exception of its own, of an error of ours in a worker into that error again."""
    try:
        yield
    except kind as error:
        found = re.findall(r"qckm\.errors\.(\w+): (.*)", str(error))
        name, words = found[-1] if found else ("", "")  # the last is the outermost, which names the partition
        ours = getattr(errors, name, None)
        if isinstance(ours, type) and issubclass(ours, QckmError):
            raise ours(words) from error
        raise
