"""Streams: iterators, Arrow Flight and Spark, by window; what comes twice counts once, also after a kill -9."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qckm
from qckm.engines.streams import StreamSums
from qckm.errors import CheckpointError, SourceError
from qckm.sketch import files, group_tables

from .conftest import NAMES


@pytest.fixture
def table(rows):
    days = pa.array(np.arange(len(rows)) % 3)
    return pa.table({**{name: rows[:, place] for place, name in enumerate(NAMES)}, "day": days})


def in_bytes(groups):
    return {key: files.dumps(sketch) for key, sketch in groups.items()}


def test_an_iterator_is_summed_by_window_and_resumed(operator, table, tmp_path):
    path, expected = tmp_path / "sums.parquet", in_bytes(qckm.sketch_by(operator, table, by="day"))
    batches = list(enumerate(table.slice(start, 500) for start in range(0, 3000, 500)))
    for number, batch in batches[:4]:
        assert StreamSums(operator, path, ["day"]).add("shop", number, batch)
    sums = StreamSums(operator, path, ["day"])
    assert sums.last("shop") == 3
    assert [sums.add("shop", number, batch) for number, batch in batches] == [False] * 4 + [True] * 2
    assert in_bytes(sums.sketches()) == in_bytes(group_tables.load([path])) == expected


def test_sums_of_others_are_not_continued(operator, table, tmp_path):
    path = tmp_path / "sums.parquet"
    StreamSums(operator, path, ["day"]).add("shop", 0, table)
    other = qckm.SketchOperator.draw(3, 40, scale=2.0, random_state=1, feature_names=NAMES)
    with pytest.raises(qckm.errors.QckmError, match="another's"):
        StreamSums(other, path, ["day"])
    group_tables.save(qckm.sketch_by(operator, table, by="day"), path)
    with pytest.raises(CheckpointError, match="got another table"):
        StreamSums(operator, path, ["day"])
    path.write_bytes(b"nothing")
    with pytest.raises(SourceError, match="expected the sums of streams"):
        StreamSums(operator, path, ["day"])


def test_flight_counts_each_batch_once(operator, table, tmp_path):
    """Three writers at once, one of which sends all of it twice."""
    flight = pytest.importorskip("pyarrow.flight")
    from qckm.engines.flight import FlightSums, put

    parts = [table.slice(start, 1000) for start in (0, 1000, 2000)]
    sums = StreamSums(operator, tmp_path / "sums.parquet", ["day"])
    with FlightSums(sums) as server:
        place = f"grpc://127.0.0.1:{server.port}"

        def write(name, part, times):
            for _ in range(times):
                put(place, name, enumerate(part.to_batches(max_chunksize=300)))

        writers = [
            threading.Thread(target=write, args=(f"writer-{n}", part, 1 + (n == 1))) for n, part in enumerate(parts)
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        with flight.connect(place) as client:
            held = client.do_get(flight.Ticket(b"")).read_all()
            assert sum(held.column("rows").to_pylist()) == 3000
        bad = pa.record_batch({"day": [1], **{name: [np.nan] for name in NAMES}})
        with pytest.raises(Exception, match=r"row 0 .* column 'a'"):
            put(place, "bad", [(0, bad)])
    assert in_bytes(sums.sketches()) == in_bytes(qckm.sketch_by(operator, table, by="day"))


PROGRAM = """
import os, sys, warnings
warnings.simplefilter("ignore")
import qckm
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from qckm.engines.streams import StreamSums

folder, slow = sys.argv[1], sys.argv[2] == "slow"
os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.master("local[2]").config("spark.driver.host", "127.0.0.1").config(
    "spark.driver.bindAddress", "127.0.0.1").config("spark.ui.enabled", "false").config(
    "spark.driver.memory", "700m").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
sums = StreamSums(qckm.load(f"{folder}/operator.qckm").operator, f"{folder}/sums.parquet", ["day"])
add = sums.spark()
def each(batch, number):
    add(batch, number)
    print("batch", number, flush=True)
    if slow and number == 2:
        import time; time.sleep(60)  # in the sums, and Spark does not know yet: here it is killed
stream = spark.readStream.schema("time timestamp, a double, b double, c double").option("maxFilesPerTrigger", 1)
frame = stream.parquet(f"{folder}/rows").withColumn("day", F.date_format("time", "yyyy-MM-dd"))
query = frame.writeStream.foreachBatch(each).option("checkpointLocation", f"{folder}/spark").trigger(
    availableNow=True).start()
query.awaitTermination()
"""


@pytest.mark.engine
def test_a_killed_spark_stream_counts_every_batch_once(operator, rows, tmp_path):
    """kill -9 of driver and executor between our file and Spark's commit: the worst moment."""
    pytest.importorskip("pyspark")
    (tmp_path / "rows").mkdir()
    operator.empty().save(tmp_path / "operator.qckm")
    times = np.datetime64("2026-11-16") + (np.arange(len(rows)) * 40).astype("timedelta64[s]")
    table = pa.table({"time": pa.array(times.astype("datetime64[us]"), pa.timestamp("us", "UTC")),
                      **{name: rows[:, place] for place, name in enumerate(NAMES)}})  # fmt: skip
    for number in range(4):
        path = tmp_path / "rows" / f"{number}.parquet"
        pq.write_table(table.slice(750 * number, 750), path)
        os.utime(path, (1_000_000_000 + number,) * 2)  # a stream takes files by age
    words = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    variables = {**os.environ, "TZ": "UTC"}
    options = {"stdout": subprocess.PIPE, "text": True, "env": variables, "start_new_session": True}
    with subprocess.Popen([*words, "slow"], **options) as killed:
        for line in killed.stdout:
            if line.startswith("batch 2"):
                break
        os.killpg(killed.pid, signal.SIGKILL)
    time.sleep(0.5)
    done = subprocess.run([*words, "fast"], capture_output=True, text=True, env=variables, timeout=200)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "batch 2" in done.stdout  # Spark runs it again
    days = pa.array(times.astype("datetime64[D]").astype(str))
    expected = qckm.sketch_by(operator, table.append_column("day", days), by="day")
    assert len(expected) == 2
    assert in_bytes(group_tables.load([tmp_path / "sums.parquet"])) == in_bytes(expected)
