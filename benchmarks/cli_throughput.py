"""How fast is `qckm sketch` of a Parquet file, beside what it is made of: pyarrow alone, and the kernel alone.

    python -m benchmarks.cli_throughput --rows 100000000 --columns 10

Each round runs the three one after the other; the median of the rounds' ratios counts, of processor time: the machine
is not ours alone, and where two parts fill two cores, a clock says less. Starting Python is a part, too: that of a file
of one row.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import qckm
from benchmarks.launch import launch

GROUP = 1_000_000
RESULTS = Path(__file__).parent / "results"


def make(path: Path, rows: int, n: int) -> None:
    """Write a mixture of ten Gaussians, a row group of a million rows at a time."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(10, n)).astype(np.float32) * 2
    schema = pa.schema([pa.field(f"x{j}", pa.float32()) for j in range(n)])
    with pq.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for start in range(0, rows, GROUP):
            size = min(GROUP, rows - start)
            X = centers[rng.integers(10, size=size)] + rng.standard_normal((size, n), np.float32)
            writer.write_table(pa.table({f"x{j}": X[:, j] for j in range(n)}, schema))


def read_alone(path: Path) -> float:
    """Return the processor seconds pyarrow takes to read the columns; unbuffered, which is its fastest way here."""
    began = time.process_time()
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(batch_size=1 << 18):
            assert batch.num_rows
    return time.process_time() - began


def sketch_alone(operator: qckm.SketchOperator, rows: int, n: int) -> float:
    """Return the processor seconds the kernel takes for so many rows that are in memory."""
    X = np.random.default_rng(0).normal(size=(1 << 20, n)).astype(np.float32)
    operator.sketch(X[:1000])  # the core is loaded
    began = time.process_time()
    for start in range(0, rows, len(X)):
        operator.sketch(X[: min(len(X), rows - start)])
    return time.process_time() - began


def command_line(path: Path, operator: Path, out: Path) -> tuple[float, float, float]:
    """Return the seconds of the whole command, its processor seconds, and the peak memory in MB."""
    words = ["qckm", "sketch", path, "--operator", operator, "-o", out, "--json", "--quiet"]
    ran = launch([sys.executable, "-m", *map(str, words)])
    assert ran.status == 0, ran.errors
    return ran.seconds, ran.processor, ran.megabytes


def main() -> None:
    """Measure, print, and keep what was printed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--frequencies", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--file", type=Path)
    options = parser.parse_args()
    n, rows = options.columns, options.rows
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or Path(folder) / "rows.parquet"
        if not path.exists():
            make(path, rows, n)
        names = [f"x{j}" for j in range(n)]
        op = qckm.SketchOperator.draw(n, options.frequencies, scale=3.5, random_state=0, feature_names=names)
        operator, out = Path(folder) / "op.qckm", Path(folder) / "out.qckm"
        op.empty().save(operator)
        tiny = Path(folder) / "one-row.parquet"
        pq.write_table(pa.table({name: pa.array([1.0], pa.float32()) for name in names}), tiny)
        rounds = []
        for _ in range(options.rounds):
            _, starting, _ = command_line(tiny, operator, out)
            reading, sketching = read_alone(path), sketch_alone(op, rows, n)
            clock, whole, memory = command_line(path, operator, out)
            assert qckm.load(out).count == rows
            rounds.append((starting, reading, sketching, whole, clock, memory))
        medians = [statistics.median(one) for one in zip(*rounds, strict=True)]
        starting, reading, sketching, whole, clock, memory = medians
        ratio = statistics.median(w / (b + r + s) for b, r, s, w, _, _ in rounds)
        lines = [
            f"{rows:,} × {n} float32, {path.stat().st_size / 1e9:.2f} GB of Parquet, m = {options.frequencies} one-bit "
            f"paired, {os.cpu_count()} cores, median of {options.rounds} rounds; processor seconds",
            f"starting Python, and reading a file of one row {starting:8.2f}",
            f"pyarrow reading alone                          {reading:8.2f}",
            f"sketch kernel alone                            {sketching:8.2f}",
            f"qckm sketch, the whole command                 {whole:8.2f}",
            f"the command / the sum of its parts             {ratio:8.2f}",
            f"the command by the clock, s                    {clock:8.1f}",
            f"peak memory of the command, MB                 {memory:8.0f}",
        ]
    print("\n".join(lines))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"cli-throughput-{rows:.0e}.txt".replace("+0", "")).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
