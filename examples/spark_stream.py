"""The clusters of a stream, with Spark: stop it, kill it, start it again; each batch is counted once.

    python examples/spark_stream.py stream-output --crash-in-batch 2    # dies before Spark knows that 2 is done
    python examples/spark_stream.py stream-output                       # goes on: batch 2 is in the sum already

The folder has the rows that arrive (rows/, made up at the first start), Spark's checkpoint (spark/) and ours
(sum.checkpoint): the sum and the number of the last batch in it, replaced together. Both belong to one query.
"""

import argparse
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import qckm
from qckm.engines.spark_stream import StreamSketch

NAMES = ["x", "y"]


def make_rows(folder: Path) -> None:
    """Write six files of 10 000 rows of three clusters, as if they had come in one after the other."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for number in range(6):
        rows = rng.normal(size=(10_000, 2)) + np.array([[0, 0], [8, 0], [0, 8]])[rng.integers(3, size=10_000)]
        pq.write_table(pa.table({"x": rows[:, 0], "y": rows[:, 1]}), folder / f"{number}.parquet")
        os.utime(folder / f"{number}.parquet", (1_000_000_000 + number,) * 2)  # a stream takes files by age


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--crash-in-batch", type=int)
    options = parser.parse_args()
    if not (options.folder / "rows").exists():
        make_rows(options.folder / "rows")
    # The operator is drawn from wishes alone, so that it is the same at every start; its file would do as well.
    operator = qckm.SketchOperator.draw(2, 100, scale=2.0, random_state=0, feature_names=NAMES)
    total = StreamSketch(operator, options.folder / "sum.checkpoint")
    print(f"{total.sketch.count:,} rows are in the sum already, batches up to {total.batch}")

    def add(batch, number):
        total(batch, number)
        print(f"batch {number}: {total.sketch.count:,} rows so far", flush=True)
        if number == options.crash_in_batch:
            os._exit(1)

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    stream = spark.readStream.schema("x double, y double").option("maxFilesPerTrigger", 1)
    query = (
        stream.parquet(str(options.folder / "rows"))
        .writeStream.foreachBatch(add)
        .option("checkpointLocation", str(options.folder / "spark"))
        .trigger(availableNow=True)  # processingTime="1 minute" for one that does not end
        .start()
    )
    query.awaitTermination()
    spark.stop()
    whole = qckm.sketch_source(operator, str(options.folder / "rows"))
    same = "" if total.sketch == whole else "NOT "
    print(f"{total.sketch.count:,} rows; the sum is {same}that of one pass over all files")
    print(qckm.decode(total.sketch, n_clusters=3, random_state=0).centers.round(2))


if __name__ == "__main__":
    main()
