"""Sketching a source, batch by batch: reading ahead, bad rows, and a state after each batch that can be continued."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from qckm.common.arrays import Rows
from qckm.sketch.sketch import Sketch, SketchOperator, require_columns, sketch_batch
from qckm.sources.opening import open_source
from qckm.sources.rows import OnBad, engine_of
from qckm.sources.source import Position, Source, prefetch


class Sample(Protocol):
    """What rows are added to beside the sum."""

    def added(self, rows: Rows) -> Self:
        """Return it with these rows (rows, n), but those that are not finite."""


@dataclass(frozen=True, eq=False)
class State:
    """A sum and where it has come to: one value, so that whoever stops between two batches has both or neither."""

    sketch: Sketch
    position: Position = field(default_factory=Position)
    bytes_done: int = 0
    sample: Sample | None = None  # of the rows of the sum, where one is wanted; it is in no checkpoint


def sketch_source(operator: SketchOperator, data: object, columns: Any = None, on_bad: OnBad = "error") -> Sketch:
    """Sketch rows wherever they are, in one pass and bounded memory; reading overlaps sketching.

    Parameters
    ----------
    operator : SketchOperator
    data : Source, or anything `qckm.open_source` opens
        Paths, globs and folders of Parquet, CSV, Arrow or NumPy files, frames, arrays, tensors. Dask collections, Spark
        DataFrames and Ray datasets are sketched where they are.
    columns : sequence of str or int, optional
        The columns to read, by name or position; by default those that the operator knows, or all.
    on_bad : {"error", "skip"}
        What to do with rows that hold a null, a NaN or an infinity: refuse, naming file, row and column, or leave them
        out and count them in `skipped`.

    Returns
    -------
    Sketch

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=20, scale=1.0, random_state=0)
    >>> sketch = qckm.sketch_source(op, np.array([[0.0, 1.0], [np.nan, 2.0]]), on_bad="skip")
    >>> sketch.count, sketch.skipped
    (1, 1)
    """
    if not engine_of(data) and not isinstance(data, Source):
        data, columns = open_source(data, columns, usual=operator.feature_names), None
    return operator.sketch(data, columns=columns, on_bad=on_bad)


def states(
    operator: SketchOperator, source: Source, start: State, on_bad: OnBad = "error", tick: float | None = None
) -> Iterator[State]:
    """Yield the state after each batch, from `start` on; with `tick`, also when no batch came for so many seconds."""
    require_columns(operator, source)
    state = start
    with closing(prefetch(source.batches(start.position), tick=tick)) as batches:
        for batch in batches:
            if batch is not None:
                total = state.sketch + sketch_batch(operator, batch, on_bad)
                sample = None if state.sample is None else state.sample.added(batch.rows)
                state = State(total, batch.after, batch.bytes_done, sample)
            yield state
