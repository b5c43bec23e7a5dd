"""A stream that crashes and starts again counts each batch once."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qckm
from qckm.errors import CheckpointError
from qckm.sketch import checkpoints, files

from .conftest import NAMES

pytest.importorskip("pyspark")
from qckm.engines.spark_stream import StreamSketch

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")


class Crashing(StreamSketch):
    """Dies in a batch: before the sum is written, or after, when Spark does not know yet that the batch is done."""

    crash = ()

    def __call__(self, batch, number):
        if self.crash == ("before", number):
            raise SystemError("crashed before the sum was written")
        super().__call__(batch, number)
        if self.crash == ("after", number):
            raise SystemError("crashed after the sum was written")


def run(spark, folder, operator, crash=()):
    """Start the stream on the files that are there, a file per batch, until they are used up or it crashes."""
    schema = ", ".join(f"{name} double" for name in NAMES)
    total = Crashing(operator, folder / "sum.checkpoint")
    total.crash = crash
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "rows"))
    query = (
        stream.writeStream.foreachBatch(total)
        .option("checkpointLocation", str(folder / "spark"))
        .trigger(availableNow=True)
        .start()
    )
    if crash:
        with pytest.raises(Exception, match="crashed"):
            query.awaitTermination(120)
    else:
        assert query.awaitTermination(120)
    return total


def test_a_restart_counts_no_batch_twice_and_forgets_none(spark, operator, rows, expected, tmp_path):
    (tmp_path / "rows").mkdir()
    for number, part in enumerate(np.array_split(rows, 4)):
        path = tmp_path / "rows" / f"{number}.parquet"
        pq.write_table(pa.table({name: part[:, place] for place, name in enumerate(NAMES)}), path)
        os.utime(path, (1_000_000_000 + number,) * 2)  # a stream takes files by age
    assert run(spark, tmp_path, operator, ("before", 1)).sketch.count == 750
    assert run(spark, tmp_path, operator, ("after", 2)).sketch.count == 2250
    total = run(spark, tmp_path, operator)
    assert total.batch == 3
    assert files.dumps(total.sketch) == expected
    assert checkpoints.load(str(tmp_path / "sum.checkpoint")).state.sketch.count == 3000


def test_the_sum_of_another_operator_is_not_continued(spark, operator, rows, tmp_path):
    path = tmp_path / "sum.checkpoint"
    StreamSketch(operator, path)(spark.createDataFrame(rows[:10].tolist(), NAMES), 0)
    assert StreamSketch(operator, path).batch == 0
    other = qckm.SketchOperator.draw(3, 40, scale=2.0, random_state=1)
    with pytest.raises(CheckpointError, match="that of another"):
        StreamSketch(other, path)
    checkpoint = checkpoints.load(str(path))
    checkpoints.save(checkpoints.Checkpoint(checkpoint.state, (), {}), str(path))
    with pytest.raises(CheckpointError, match="of a stream"):
        StreamSketch(operator, path)
