"""`qckm predict`: label rows with their nearest centroid, batch by batch."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, NamedTuple

import click
import numpy as np
import numpy.typing as npt

from qckm.cli import options, sketch_io
from qckm.cli.console import Console, console_options, say_assumptions
from qckm.cli.outputs import ENDINGS, writing_columns
from qckm.cli.paths import OneFile, Output
from qckm.cli.summaries import counted
from qckm.common.arrays import Array, Floats
from qckm.errors import RowsError, SourceError
from qckm.models import Model
from qckm.sources.kept_columns import KeptColumns
from qckm.sources.opening import open_source
from qckm.sources.source import Batch, prefetch
from qckm.sources.text import TextFormat

# Clusters whose rows are counted in words; --json has all.
_MOST_COUNTS = 20


class Labels(NamedTuple):
    """Of a batch of rows: the nearest centroids, the distances to them (or scores), and which rows have neither."""

    labels: npt.NDArray[np.int32]
    distances: Floats
    bad: npt.NDArray[np.bool_]


@click.command()
@options.data_argument
@click.option(
    "--model", "-m", "model_file", type=OneFile(), required=True, help="A model file of `qckm fit` or `qckm decode`."
)
@click.option("--output", "-o", type=Output(*ENDINGS), help="labels.parquet, .arrow or .csv. [default: CSV on stdout]")
@click.option(
    "--keep",
    type=options.ColumnNames(),
    multiple=True,
    callback=options.together,
    help="Columns of DATA to carry through as they are, such as id,date; they need not be numbers.",
)
@click.option("--distance", is_flag=True, help="Give the distance to the centroid, too.")
@click.option("--score", is_flag=True, help="Of a mixture, give the logarithm of its density at the row, too.")
@options.data_options
@console_options
def command(
    data: tuple[str, ...],
    model_file: str,
    output: str | None,
    distance: bool,
    score: bool,
    keep: tuple[str, ...] | None,
    columns: tuple[str, ...] | None,
    text: TextFormat,
    dtype: str,
    on_bad: str,
    console: Console,
) -> None:
    """Write the number of the nearest centroid of each row of DATA, in their order.

    \b
    Examples:
      qckm predict new.parquet -m model.json -o labels.parquet --distance
      qckm predict new.csv -m model.json --keep id,date -o labels.csv
      cat new.csv | qckm predict - -m model.json > labels.csv

    With --on-bad skip, bad rows keep their place, with an empty label. Of a mixture of Gaussians, which
    qckm decode --mixture finds, the number is that of the most probable component.
    """
    target = output or "-"
    model = sketch_io.load_model(model_file)
    if (distance and model.covariances is not None) or (score and model.covariances is None):
        raise click.UsageError("Centroids have a --distance, mixtures of Gaussians a --score.")
    source = open_source(list(data), columns, dtype, model.feature_names, **asdict(text))
    say_assumptions(source, console)
    if source.n_features != model.centers.shape[1]:
        raise SourceError(
            f"Expected {model.centers.shape[1]} columns, as the model has, got {source.n_features}: choose --columns."
        )
    skipped, counts = 0, np.zeros(len(model.centers), np.int64)
    written: dict[str, np.dtype[Any]] = {
        "cluster": np.dtype(np.int32),
        **({"distance": np.dtype(np.float64)} if distance else {}),
        **({"score": np.dtype(np.float64)} if score else {}),
    }
    kept = None if keep is None else KeptColumns(source, keep)
    if kept is not None and set(kept.names) & set(written):
        name = next(name for name in kept.names if name in written)
        raise click.UsageError(f"Expected columns to keep of other names than {', '.join(written)}, got {name!r}.")
    with writing_columns(target, written, kept and kept.schema) as write:
        for batch in prefetch(source.batches()):
            assert batch is not None  # that would be a tick, and none was asked for
            found = _label(model, batch, on_bad)
            wanted: list[Array] = [found.labels, *([found.distances] if distance or score else [])]
            write(wanted, found.bad, kept and kept.take(len(found.labels)))
            skipped += int(found.bad.sum())
            counts += np.bincount(found.labels[~found.bad], minlength=len(counts))
        source.require_unchanged()
    rows = int(counts.sum())
    words = f"{counted(rows, 'row')} labelled" + (f", {counted(skipped, 'bad row')} without a label" if skipped else "")
    names = [*(kept.names if kept else ()), *written]
    console.say(words if target == "-" else f"{target}: {words}, columns {', '.join(names)}")
    shares = ", ".join(f"{k}: {count:,}" for k, count in enumerate(counts[:_MOST_COUNTS]))
    console.say(f"rows by cluster: {shares}{', …' * (len(counts) > _MOST_COUNTS)}")
    console.print_facts({"output": target, "rows": rows, "skipped": skipped, "rows_by_cluster": counts.tolist()})


def _label(model: Model, batch: Batch, on_bad: str) -> Labels:
    """Return the labels, the distances, and which rows have neither: bad ones, and those at no finite distance."""
    good = batch.finite()
    if on_bad == "error" and not good.all():
        batch.require_finite()
    labels, distances = np.zeros(len(good), np.int32), np.full(len(good), np.nan)
    with np.errstate(over="ignore"):
        rows = batch.rows if good.all() else batch.rows[good]
        if model.covariances is None:
            labels[good], distances[good] = model.nearest(rows)
        else:
            labels[good], distances[good] = model.predict(rows), model.score_samples(rows)
    far = good & ~np.isfinite(distances)
    if on_bad == "error" and far.any():
        row = int(far.argmax())
        column = int(np.abs(batch.rows[row] / model.units).argmax())
        raise RowsError(
            f"{batch.label}: expected values up to 1e150, whose squares are float64, got {batch.rows[row, column]:g} "
            f"in {batch.place(row, column)}. Fix or rescale the data, or skip such rows: --on-bad skip."
        )
    return Labels(labels, distances, ~good | far)
