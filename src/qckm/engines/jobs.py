"""What a worker does with a partition, and how two results become one.

A job travels as bytes: a line of JSON, and what it is of, an operator, say, as a .qckm file. So do results. Whatever an
engine uses to carry functions and values (pickle, mostly) then carries nothing of ours but bytes and the name of a
function. Here are the jobs that every engine does on rows: a sketch of them, a sample, how far they are from centroids.
"""

from __future__ import annotations

import importlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from qckm import errors
from qckm.common.arrays import Rows, Weights
from qckm.errors import QckmError
from qckm.kernels.sketcher import computing_on
from qckm.models import Model, read_model, to_json
from qckm.planning.row_sample import RowSample
from qckm.sketch import Sketch, SketchOperator, files
from qckm.sketch.files import dumps_sums, loads_sums
from qckm.sketch.sketch import sketch_batch
from qckm.sources.rows import OnBad, as_weights
from qckm.sources.source import Batch, Position


class Block(NamedTuple):
    """Rows (rows, n) of a partition, their weights (rows,) if they have any, where they are from, if in a file.

    `kept` is a table of the columns that a job wants beside the rows, as they are.
    """

    rows: Rows
    weights: Weights | None = None
    batch: Batch | None = None
    kept: pa.Table | None = None


class Carrier(NamedTuple):
    """How that which a job is of becomes bytes, and comes back."""

    dumps: Callable[[Any], bytes]
    loads: Callable[[bytes], Any]


# An operator travels as the sketch of no rows, a model as JSON.
OPERATOR = Carrier(lambda operator: files.dumps(operator.empty()), lambda data: files.loads(data).operator)
MODEL = Carrier(to_json, partial(read_model, label="model"))
SAMPLE = Carrier(RowSample.dumps, RowSample.loads)

# Where a job's class is, if it is not here: a worker imports it when the first one comes. "label" is `LabelJob`.
_MODULES = {"label": "qckm.engines.files", "group": "qckm.engines.files"}
# Partitions that are looked into for a sample: it should not cost a pass.
SAMPLED_PARTS = 32
# What the bytes of an outcome begin with.
_RESULT, _ERROR = b"+", b"!"


class Job(ABC):
    """A function of the rows of a partition whose results can be merged in any order and in any grouping.

    A class is a dataclass. What it is of is its first field; what JSON can hold follows.
    """

    kind: ClassVar[str]
    carrier: ClassVar[Carrier]  # of the first field
    keeps: Sequence[str] = ()  # columns that are wanted beside the rows

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
        (_, subject), *settings = vars(self).items()
        return json.dumps([self.kind, dict(settings)], sort_keys=True).encode() + b"\n" + self.carrier.dumps(subject)


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


@dataclass(eq=False)
class SketchJob(Job):
    """Sketch a partition: sums without their operator, merged by adding.

    Parameters
    ----------
    operator : SketchOperator
    names : sequence of str, optional
        What errors call the columns.
    on_bad : {"error", "skip"}
    n_jobs : int
        Threads of one task. Engines run a task on each core already, hence 1.
    device : str, optional
        Where a task sketches its rows: "cuda" on the worker's GPU.
    """

    kind, carrier = "sketch", OPERATOR

    operator: SketchOperator
    names: Sequence[str] | None = None
    on_bad: OnBad = "error"
    n_jobs: int = 1
    device: str | None = None

    def part(self, blocks: Iterable[Block], number: int) -> bytes:
        """Return the sketch of a partition."""
        total, row = self.operator.empty(), 0
        names = tuple(self.names or self.operator.feature_names or map(str, range(self.operator.n_features)))
        with computing_on(self.device):
            for rows, weights, found, _ in blocks:
                batch = found or Batch(rows, "rows", row, names, Position(), 0)
                total += sketch_batch(self.operator, batch, self.on_bad, weights, self.n_jobs)
                row += len(rows)
        return dumps_sums(total)

    def merge(self, parts: Sequence[bytes]) -> bytes:
        """Return the sum."""
        return dumps_sums(sum((self.result(part) for part in parts), self.operator.empty()))

    def result(self, part: bytes) -> Sketch:
        """Return the sketch of a result; of no partitions, that of no rows."""
        return loads_sums(part, self.operator) if part else self.operator.empty()


@dataclass(eq=False)
class SampleJob(Job):
    """Sample the finite rows of a partition; samples, of which `empty` has no rows, merge whatever the partitions."""

    kind, carrier = "sample", SAMPLE

    empty: RowSample

    def part(self, blocks: Iterable[Block], number: int) -> bytes:
        """Return the sample of a partition."""
        kept = self.empty
        for rows, weights, *_ in blocks:
            kept = kept.added(rows, None if weights is None else as_weights(weights, len(rows)))
        return kept.dumps() if kept.total else b""

    def merge(self, parts: Sequence[bytes]) -> bytes:
        """Return the sample of all."""
        kept = [RowSample.loads(part) for part in parts if part]
        return reduce(RowSample.merged, kept).dumps() if kept else b""


@dataclass(eq=False)
class MisfitJob(CountingJob):
    """Look at the rows a second time: return Σ w·d² and the rows of each centroid, as 1 + K float64."""

    kind, carrier, number = "misfit", MODEL, "<f8"

    model: Model

    @property
    def size(self) -> int:
        """How many numbers a result is."""
        return 1 + len(self.model.centers)

    def part(self, blocks: Iterable[Block], number: int) -> bytes:
        """Return the sums of a partition."""
        total = np.zeros(self.size)
        for rows, weights, *_ in blocks:
            labels, distances = self.model.nearest(rows, n_jobs=1)
            total[0] += (distances**2).sum() if weights is None else np.asarray(weights) @ distances**2
            total[1:] += np.bincount(labels, minlength=len(total) - 1)
        return total.astype(self.number).tobytes()


def choose_parts(n_parts: int, rng: np.random.Generator) -> list[int]:
    """Choose at most 32 of the partitions, at even distances: where the data are sorted, neighbours are alike."""
    if n_parts <= SAMPLED_PARTS:
        return list(range(n_parts))
    marks = (np.arange(SAMPLED_PARTS) + rng.random()) * (n_parts / SAMPLED_PARTS)
    return [int(mark) for mark in marks]


# An operator is compiled for when it is first used: a worker should do that once, not once a partition.
@lru_cache(maxsize=8)
def loads(job: bytes) -> Job:
    """Return the job of its bytes."""
    line, _, data = job.partition(b"\n")
    kind, settings = json.loads(line)
    cls = getattr(importlib.import_module(_MODULES.get(kind, __name__)), f"{kind.capitalize()}Job")
    found: Job = cls(cls.carrier.loads(data), **settings)
    return found


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
