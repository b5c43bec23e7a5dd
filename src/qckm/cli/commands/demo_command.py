"""`qckm demo`: the main job on data of its own."""

from __future__ import annotations

import os

import click
import numpy as np
import numpy.typing as npt

from qckm.cli import options
from qckm.cli.arguments import Whole
from qckm.cli.console import Console
from qckm.common import atomic
from qckm.common.text import format_bytes

_K, _N = 10, 10
_GROUP = 100_000


@click.command()
@click.option("--folder", default="demo-output", show_default=True, help="Where everything goes.")
@click.option("--rows", type=Whole(min=1000), default=1_000_000, show_default=True, help="How many.")
@options.console_options
def command(folder: str, rows: int, console: Console) -> None:
    """Make a Parquet file of a million rows in ten clusters, run `qckm fit` on it, and write a report.

    \b
    Examples:
      qckm demo
      qckm demo --rows 10000000 --folder /tmp/demo
    """
    from qckm.cli.commands.fit_command import command as fit

    os.makedirs(folder, exist_ok=True)
    data, model, sketch, report = (
        os.path.join(folder, name) for name in ("rows.parquet", "model.json", "rows.qckm", "report.html")
    )
    make_rows(data, rows)
    console.say(f"{data}: {rows:,} rows × {_N} columns, {format_bytes(os.path.getsize(data))}")
    words = ["fit", data, "-k", str(_K), "-o", model, "--sketch", sketch, "--report", report]
    console.say(f"$ qckm {' '.join(words)}")
    flags = [*(["--quiet"] if console.quiet else []), *(["--json"] if console.json else [])]
    fit.main([*words[1:], *flags], standalone_mode=False, obj=words)
    console.say(f"look at {report}")


def make_rows(path: str, rows: int) -> npt.NDArray[np.int64]:
    """Write rows of ten Gaussian clusters of unequal weights, the same every time; return which cluster each is of."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(2018)
    centers = rng.normal(size=(_K, _N)) * 1.5 * _K ** (1 / _N)
    shares = np.linspace(1, 3, _K)
    names = [f"x{place}" for place in range(_N)]
    schema = pa.schema([pa.field(name, pa.float32()) for name in names])
    drawn = []
    with atomic.replacing(path) as temporary, pq.ParquetWriter(temporary, schema) as writer:
        for start in range(0, rows, _GROUP):
            labels = rng.choice(_K, min(_GROUP, rows - start), p=shares / shares.sum())
            part = (centers[labels] + rng.normal(size=(len(labels), _N))).astype(np.float32)
            writer.write_table(pa.table(dict(zip(names, np.ascontiguousarray(part.T), strict=True)), schema=schema))
            drawn.append(labels)
    return np.concatenate(drawn)
