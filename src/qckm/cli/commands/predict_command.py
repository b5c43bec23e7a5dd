"""`qckm predict`: label rows with their nearest centroid, batch by batch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import click
import numpy as np
import numpy.typing as npt

from qckm.cli import options
from qckm.cli.console import Console, console_options, say_assumptions
from qckm.cli.output_files import writing
from qckm.cli.paths import Input, Output
from qckm.common.arrays import Floats
from qckm.errors import RowsError, SourceError
from qckm.models import Model, load_model
from qckm.sources.opening import open_source
from qckm.sources.prefetch import prefetch
from qckm.sources.source import Batch


class Labels(NamedTuple):
    """Of a batch of rows: the nearest centroids, the distances to them, and which rows have neither."""

    labels: npt.NDArray[np.int32]
    distances: Floats
    bad: npt.NDArray[np.bool_]


@click.command()
@options.data_argument
@click.option(
    "--model", "-m", "model_file", type=Input(), required=True, help="A model file of `qckm fit` or `qckm decode`."
)
@click.option(
    "--output", "-o", type=Output(".csv", ".parquet"), help="labels.parquet or labels.csv. [default: CSV on stdout]"
)
@click.option("--distance", is_flag=True, help="Give the distance to the centroid, too.")
@options.data_options
@console_options
def command(
    data: tuple[str, ...],
    model_file: str,
    output: str | None,
    distance: bool,
    columns: tuple[str, ...] | None,
    header: bool | None,
    dtype: str,
    on_bad: str,
    console: Console,
) -> None:
    """Write the number of the nearest centroid of each row of DATA, in their order.

    \b
    Examples:
      qckm predict new.parquet -m model.json -o labels.parquet --distance
      cat new.csv | qckm predict - -m model.json > labels.csv

    With --on-bad skip, bad rows keep their place, with an empty label.
    """
    target = output or "-"
    model = load_model(model_file)
    source = open_source(list(data), columns, dtype, model.feature_names, header)
    say_assumptions(source, console)
    if source.n_features != model.centers.shape[1]:
        raise SourceError(
            f"Expected {model.centers.shape[1]} columns, as the model has, got {source.n_features}: choose --columns."
        )
    rows = skipped = 0
    with _writer(target, distance) as write:
        for batch in prefetch(source.batches()):
            assert batch is not None  # that would be a tick, and none was asked for
            found = _label(model, batch, on_bad)
            write(found)
            rows, skipped = rows + len(found.labels), skipped + int(found.bad.sum())
        source.require_unchanged()
    console.say(f"{rows:,} rows labelled" + (f", {skipped:,} bad rows left empty" if skipped else ""))
    console.print_facts({"output": target, "rows": rows, "skipped": skipped})


def _label(model: Model, batch: Batch, on_bad: str) -> Labels:
    """Return the labels, the distances, and which rows have neither: bad ones, and those at no finite distance."""
    good = batch.finite()
    if on_bad == "error" and not good.all():
        batch.require_finite()
    labels, distances = np.zeros(len(good), np.int32), np.full(len(good), np.nan)
    with np.errstate(over="ignore"):
        labels[good], distances[good] = model.nearest(batch.rows if good.all() else batch.rows[good])
    far = good & ~np.isfinite(distances)
    if on_bad == "error" and far.any():
        row = int(far.argmax())
        column = int(np.abs(batch.rows[row] / model.units).argmax())
        raise RowsError(
            f"{batch.label}: expected values up to 1e150, whose squares are float64, got {batch.rows[row, column]:g} "
            f"in {batch.place(row, column)}. Mend or rescale the data, or leave such rows empty with --on-bad skip."
        )
    return Labels(labels, distances, ~good | far)


@contextlib.contextmanager
def _writer(target: str, distance: bool) -> Iterator[Callable[[Labels], None]]:
    """Give a function that writes a batch of labels; a file appears whole, at the end, or not at all."""
    import pyarrow as pa
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    fields = [pa.field("cluster", pa.int32()), *([pa.field("distance", pa.float64())] if distance else [])]
    schema = pa.schema(fields)
    with contextlib.ExitStack() as stack:
        sink = stack.enter_context(pa.PythonFile(_Sink(stack.enter_context(writing(target))), mode="w"))
        kind = pq.ParquetWriter if target.lower().endswith(".parquet") else pacsv.CSVWriter
        writer: Any = stack.enter_context(kind(sink, schema))

        def write(batch: Labels) -> None:
            labels, distances, bad = batch
            mask = bad if bad.any() else None
            columns = [pa.array(labels, mask=mask)]
            if distance:
                columns.append(pa.array(distances, mask=mask))
            writer.write(pa.Table.from_batches([pa.RecordBatch.from_arrays(columns, schema=schema)]))

        yield write


class _Sink:
    """What pyarrow writes to, as a file that it may close."""

    closed = False

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write

    def write(self, data: bytes) -> int:
        self._write(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: all is written at once."""

    def close(self) -> None:
        """Do nothing: whoever opened it closes it."""
