"""Sketching a source, batch by batch: reading ahead, bad rows, and a state after each batch that can be continued."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from qckm.common.arrays import Weights
from qckm.errors import RowsError, SourceError
from qckm.sketch import SketchOperator
from qckm.sketch.sketch import Sketch
from qckm.sources.engine_rows import engine_of, open_held
from qckm.sources.opening import open_source
from qckm.sources.prefetch import prefetch
from qckm.sources.source import Batch, Position, Source

OnBad = Literal["error", "skip"]


@dataclass(frozen=True, eq=False)
class State:
    """A sum and where it has come to: one value, so that whoever stops between two batches has both or neither."""

    sketch: Sketch
    position: Position = field(default_factory=Position)
    bytes_done: int = 0


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
    if engine_of(data):
        rows = open_held(data, columns, operator.feature_names)
        return rows.sketch(operator, on_bad)
    source = data if isinstance(data, Source) else open_source(data, columns, usual=operator.feature_names)
    state = State(operator.empty())
    for found in states(operator, source, state, on_bad):
        state = found
    source.require_unchanged()
    return state.sketch


def states(
    operator: SketchOperator, source: Source, start: State, on_bad: OnBad = "error", tick: float | None = None
) -> Iterator[State]:
    """Yield the state after each batch, from `start` on; with `tick`, also when no batch came for so many seconds."""
    require_columns(operator, source)
    state = start
    with closing(prefetch(source.batches(start.position), tick=tick)) as batches:
        for batch in batches:
            if batch is not None:
                state = State(state.sketch + sketch_batch(operator, batch, on_bad), batch.after, batch.bytes_done)
            yield state


def sketch_batch(
    operator: SketchOperator, batch: Batch, on_bad: OnBad, weights: Weights | None = None, n_jobs: int | None = None
) -> Sketch:
    """Sketch one batch. The kernel looks for bad rows as it goes: only where it finds one are they looked up."""
    try:
        return operator.sketch(batch.rows, weights, n_jobs)
    except RowsError:
        if on_bad == "error":
            batch.require_finite()
            raise
        good = batch.finite()
        if good.all():
            raise
        left = None if weights is None else weights[good]
        return replace(operator.sketch(batch.rows[good], left, n_jobs), skipped=int((~good).sum()))


def require_columns(operator: SketchOperator, source: Source) -> None:
    """Refuse a source whose columns are not the operator's."""
    names, expected = source.feature_names, operator.feature_names
    if source.n_features != operator.n_features or (names and expected and names != expected):
        wanted = f"{operator.n_features} columns" + (f" ({', '.join(expected[:12])})" if expected else "")
        raise SourceError(
            f"{source.tables[0].label}: expected {wanted}, as the operator has, got {source.n_features} "
            f"({', '.join(source.selection.names[:12])}). Choose them with columns=[…].",
            about="columns",
        )
