"""`qckm project`: rows of many columns to a few principal components, in two passes."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import click
import numpy as np

from qckm.cli import options
from qckm.cli.arguments import OneFile, Output, Whole
from qckm.cli.console import Console, write_bytes
from qckm.cli.inputs import Looked
from qckm.cli.options import Reading
from qckm.cli.outputs import ENDINGS, writing_columns
from qckm.cli.sketches import counted
from qckm.common.arrays import Floats
from qckm.common.foreign_files import each_once, reading
from qckm.errors import FileError
from qckm.sources.rows import OnBad
from qckm.sources.source import Source

_FORMAT = "qckm axes 1"


class Axes(NamedTuple):
    """What rows are projected by: their mean (n,), unit vectors (r, n), and the names of the columns."""

    mean: Floats
    components: Floats
    columns: tuple[str, ...]
    explained: float  # share of the variance

    def dumps(self) -> bytes:
        """Return the axes as JSON."""
        arrays = {"mean": self.mean.tolist(), "components": self.components.tolist()}
        facts = {"format": _FORMAT, "columns": self.columns, "explained": self.explained, **arrays}
        return json.dumps(facts).encode() + b"\n"

    @classmethod
    def load(cls, path: str) -> Axes:
        """Read axes from a file."""
        with open(path, "rb") as file:
            data = file.read()
        with reading(path, "a file of axes, as `qckm project --save-axes` writes it"):
            facts = json.loads(data, object_pairs_hook=each_once)
            if not isinstance(facts, dict) or facts.get("format") != _FORMAT:
                raise FileError("got something else")
            mean, components = (np.array(facts[name], np.float64) for name in ("mean", "components"))
            columns = tuple(map(str, facts["columns"]))
            if components.ndim != 2 or {len(columns)} != {*mean.shape, components.shape[1]}:
                raise FileError(f"got a mean {mean.shape} and components {components.shape} of {len(columns)} columns")
            if not (np.isfinite(mean).all() and np.isfinite(components).all()):
                raise FileError("got numbers that are not finite")
            return cls(mean, components, columns, float(facts["explained"]))


@click.command()
@options.data_argument
@click.option("--components", "-n", type=Whole(min=1), help="How many principal components to keep.")
@click.option("--axes", type=OneFile(), help="Project by these axes, of another place: all places must use the same.")
@click.option("--save-axes", type=Output(".json"), help="Keep the axes, for other places and later rows.")
@click.option("--output", "-o", type=Output(*ENDINGS), help="rows.parquet, .arrow or .csv. [default: CSV on stdout]")
@options.data_options
@options.seed_option
@options.console_options
def command(
    data: tuple[str, ...],
    components: int | None,
    axes: str | None,
    save_axes: str | None,
    output: str | None,
    reading: Reading,
    seed: int,
    console: Console,
) -> None:
    """Write the rows of DATA in their first principal components: a sketch of few columns is small, and decodes well.

    \b
    Examples:
      qckm project wide.parquet -n 10 -o narrow.parquet --save-axes axes.json
      qckm project paris.parquet --axes axes.json -o paris-narrow.parquet
    Then as with any rows:
      qckm fit narrow.parquet -k 10 -o model.json

    The rows are read twice: once for the axes, unless they are given, and once to be projected.
    """
    if (components is None) == (axes is None):
        raise click.UsageError("Give the number of components (-n), or axes that were found before (--axes FILE).")
    known = None if axes is None else Axes.load(axes)
    opened = reading.open(data, console, known and known.columns)
    if known is None:
        if opened.once:
            raise click.UsageError("A pipe can be read only once: give a file, or --axes.")
        assert components is not None
        known = _found(opened, components, reading.on_bad, seed)
    elif tuple(opened.selection.names) != known.columns:
        raise click.UsageError(f"Expected the columns of {axes}, {', '.join(known.columns[:12])}: choose --columns.")
    if save_axes:
        write_bytes(save_axes, known.dumps())
    source = Looked.at(opened, reading.on_bad)
    rows, r = 0, len(known.components)
    names: dict[str, np.dtype[Any]] = {f"component_{k}": np.dtype(np.float64) for k in range(r)}
    with writing_columns(output or "-", names) as write:
        for batch in source.batches():
            good = batch.finite_rows()
            projected = (np.asarray(good, np.float64) - known.mean) @ known.components.T
            write([np.ascontiguousarray(column) for column in projected.T], None)
            rows += len(good)
        source.require_unchanged()
    words = f"{counted(rows, 'row')} in {counted(r, 'component')}, which hold {known.explained:.1%} of the variance"
    words += f"; skipped {counted(source.skipped, 'bad row')}" if source.skipped else ""
    console.say(words if output is None else f"{output}: {words}")
    console.print_facts(
        {"output": output or "-", "rows": rows, "skipped": source.skipped, "explained_variance": known.explained}
    )


def _found(source: Source, components: int, on_bad: OnBad, seed: int) -> Axes:
    """Find the principal components of all rows, in one pass."""
    from qckm.estimators.pca import CompressivePCA  # scikit-learn takes its time to import

    if components > source.n_features:
        raise click.UsageError(f"Expected at most {source.n_features} components, one per column, got {components}.")
    pca = CompressivePCA(components, random_state=seed).fit(source, on_bad=on_bad)
    names, share = tuple(source.selection.names), float(pca.explained_variance_ratio_.sum())
    return Axes(pca.mean_, pca.components_, names, share)
