"""`qckm predict`: label rows with their nearest centroid, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import click
import numpy as np

from qckm.cli import options, sketches
from qckm.cli.arguments import COLUMNS, OneFile, Output, is_folder
from qckm.cli.console import Console
from qckm.cli.data_to_sketch import cluster_for, new_folder
from qckm.cli.options import Reading
from qckm.cli.outputs import ENDINGS, writing_columns
from qckm.cli.sketches import counted
from qckm.common.arrays import Array, Int64s
from qckm.errors import SourceError
from qckm.models.model import Model, label_batch
from qckm.sources.kept_columns import KeptColumns
from qckm.sources.source import prefetch

# Clusters whose rows are counted in words; --json has all.
_MOST_COUNTS = 20
_FILE, _FOLDER = f"a file that ends in {', '.join(ENDINGS)}", "a new folder, where --engine is given"


@click.command()
@options.data_argument
@click.option(
    "--model", "-m", "model_file", type=OneFile(), required=True, help="A model file of `qckm fit` or `qckm decode`."
)
@click.option(
    "--output",
    "-o",
    type=Output(*ENDINGS, folder=True),
    help="labels.parquet, .arrow or .csv. With --engine, a new folder. [default: CSV on stdout]",
)
@click.option(
    "--keep",
    type=COLUMNS,
    multiple=True,
    help="Columns of DATA to carry through as they are, such as id,date; they need not be numbers.",
)
@click.option("--distance", is_flag=True, help="Give the distance to the centroid, too.")
@click.option("--score", is_flag=True, help="Of a mixture, give the logarithm of its density at the row, too.")
@options.data_options
@options.engine_option
@options.console_options
def command(
    data: tuple[str, ...],
    model_file: str,
    output: str | None,
    distance: bool,
    score: bool,
    keep: tuple[tuple[str, ...], ...],
    reading: Reading,
    engine: str | None,
    console: Console,
) -> None:
    """Write the number of the nearest centroid of each row of DATA, in their order.

    \b
    Examples:
      qckm predict new.parquet -m model.json -o labels.parquet --distance
      qckm predict new.csv -m model.json --keep id,date -o labels.csv
      qckm predict 'rows/*.parquet' -m model.json --engine dask://scheduler:8786 -o labels
      cat new.csv | qckm predict - -m model.json > labels.csv

    With --on-bad skip, bad rows keep their place, with an empty label. Of a mixture of Gaussians, which
    qckm decode --mixture finds, the number is that of the most probable component. With --engine, -o names a new folder
    that the workers share, with a Parquet file of labels for every task, in the order of the rows; a file _SUCCESS
    appears when all are there.
    """
    model = sketches.load_model(model_file)
    if (distance and model.covariances is not None) or (score and model.covariances is None):
        raise click.UsageError("Centroids have a --distance, mixtures of Gaussians a --score.")
    value = "distance" if distance else "score" if score else None
    task = LabelTask(data, reading, model, value, tuple(chain(*keep)))
    target = output or "-"
    if (engine is not None) != is_folder(target):
        raise click.UsageError(
            f"Expected -o to name {_FILE if engine is None else _FOLDER}, got {'none' if output is None else output}."
        )
    if engine is not None:
        counts = _label_on_cluster(task, engine, target, console)
    else:
        counts = _label_here(task, target, console)
    rows, skipped = int(counts[:-1].sum()), int(counts[-1])
    words = f"{counted(rows, 'row')} labelled" + (f", {counted(skipped, 'bad row')} without a label" if skipped else "")
    console.say(words if target == "-" else f"{target}: {words}, columns {', '.join((*task.keep, *task.written))}")
    shares = ", ".join(f"{k}: {count:,}" for k, count in enumerate(counts[:-1][:_MOST_COUNTS]))
    console.say(f"rows by cluster: {shares}{', …' * (len(counts) - 1 > _MOST_COUNTS)}")
    console.print_facts({"output": target, "rows": rows, "skipped": skipped, "rows_by_cluster": counts[:-1].tolist()})


class LabelTask(NamedTuple):
    """What to label, with what, and what to write."""

    data: tuple[str, ...]
    reading: Reading
    model: Model
    value: str | None
    keep: tuple[str, ...]

    @property
    def written(self) -> dict[str, np.dtype[Any]]:
        """The columns of ours."""
        more = {} if self.value is None else {self.value: np.dtype(np.float64)}
        return {"cluster": np.dtype(np.int32), **more}

    def require(self, n_features: int, names: Sequence[str]) -> None:
        """Refuse data of other columns than the model's, and columns to keep that are called as ours."""
        if n_features != self.model.centers.shape[1]:
            raise SourceError(
                f"Expected {self.model.centers.shape[1]} columns, as the model has, got {n_features}: choose --columns."
            )
        if wrong := set(names) & set(self.written):
            own = ", ".join(self.written)
            raise click.UsageError(f"Expected columns to keep of other names than {own}, got {min(wrong)!r}.")


def _label_here(task: LabelTask, target: str, console: Console) -> Int64s:
    """Label the rows in this process; return how many have each label, and how many none."""
    source = task.reading.open(task.data, console, task.model.feature_names)
    kept = KeptColumns(source, task.keep) if task.keep else None
    task.require(source.n_features, kept.names if kept else ())
    counts = np.zeros(len(task.model.centers) + 1, np.int64)
    with writing_columns(target, task.written, kept and kept.schema) as write:
        for batch in prefetch(source.batches()):
            assert batch is not None  # that would be a tick, and none was asked for
            found = label_batch(task.model, batch, task.reading.on_bad)
            wanted: list[Array] = [found.labels, *([] if task.value is None else [found.distances])]
            write(wanted, found.bad, kept and kept.take(len(found.labels)))
            counts[:-1] += np.bincount(found.labels[~found.bad], minlength=len(counts) - 1)
            counts[-1] += int(found.bad.sum())
        source.require_unchanged()
    return counts


def _label_on_cluster(task: LabelTask, engine: str, folder: str, console: Console) -> Int64s:
    """Have workers write the labels, a file per task, to a folder; return how many rows have each label, and none."""
    from qckm.engines.files import LabelJob

    with new_folder(folder), cluster_for(task.data, engine, console) as cluster:
        rows = task.reading.open_on(cluster, task.data, console, task.model.feature_names)
        task.require(rows.n_features, task.keep)
        job = LabelJob(task.model, folder, task.value, task.keep, task.reading.on_bad)
        return job.result(rows.fold(job))
