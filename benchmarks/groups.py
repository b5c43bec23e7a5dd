"""What does a sketch of each of 100 000 groups cost, beside one sketch of the same rows?

    python -m benchmarks.groups --rows 50000000

Parquet, a file a million rows of ten float32 columns, a shop and a day beside them, in random order: the worst for
groups. Processor seconds of `qckm.sketch_source` and of `qckm.sketch_by`, in turn, both from the files; then of writing
the table of sketches, and of merging it by shop.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import qckm
from benchmarks.machine import describe
from qckm.sketch import group_tables

RESULTS = Path(__file__).parent / "results"
SHOPS, DAYS, FILE_ROWS = 1000, 100, 1_000_000
NAMES = [f"x{j}" for j in range(10)]


def make(folder: Path, rows: int) -> None:
    """Write the rows."""
    for number in range(-(-rows // FILE_ROWS)):
        rng = np.random.default_rng([2, number])
        X = rng.standard_normal((FILE_ROWS, len(NAMES)), np.float32)
        keys = {"shop": rng.integers(SHOPS, size=FILE_ROWS), "day": rng.integers(DAYS, size=FILE_ROWS, dtype=np.int32)}
        table = pa.table({**{name: X[:, place] for place, name in enumerate(NAMES)}, **keys})
        pq.write_table(table, folder / f"{number:03}.parquet", row_group_size=250_000, use_dictionary=False)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return processor seconds, and what was found."""
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def main() -> None:
    """Measure, print, and keep what was printed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    op = qckm.SketchOperator.draw(len(NAMES), 500, scale=3.5, random_state=0, feature_names=NAMES)
    alone, groups, ratios = [], [], []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make(folder, options.rows)
        for _ in range(options.rounds):
            one, whole = timed(lambda: qckm.sketch_source(op, str(folder)))
            each, found = timed(lambda: qckm.sketch_by(op, folder, by=["shop", "day"]))
            alone, groups, ratios = [*alone, one], [*groups, each], [*ratios, each / one]
            assert int(found.sums.count.sum()) == whole.count
        path = folder / "table"
        saving, _ = timed(lambda: group_tables.save(found, path))
        size = path.stat().st_size
        merging, shops = timed(lambda: group_tables.load([path], by=["shop"]))
        assert sum(sketch.count for sketch in shops.values()) == whole.count
    lines = [
        f"{options.rows:,} × 10 float32 in Parquet, {len(found):,} groups in random order, m = 500 one-bit paired; "
        f"medians of {options.rounds} rounds. {describe()}",
        "",
        "| | processor seconds | / one sketch (wanted: 3) |",
        "| --- | --- | --- |",
        f"| one sketch | {statistics.median(alone):.2f} | 1.00 |",
        f"| a sketch of each group | {statistics.median(groups):.2f} | {statistics.median(ratios):.2f} |",
        f"| write the table, {size / 1e6:.0f} MB | {saving:.2f} | |",
        f"| merge it by shop | {merging:.2f} | |",
    ]
    print("\n".join(lines))
    (RESULTS / "groups.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
