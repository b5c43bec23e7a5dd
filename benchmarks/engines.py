"""What does an engine cost, beside the same sum in one process with two threads?

    python -m benchmarks.engines --rows 50000000      (pip install "qckm[dask,spark,ray]" psutil; needs Java)

Parquet, a file a million rows. Each round runs one process after the other: alone (`qckm.sketch_source`), Dask, Spark
and Ray with two workers of one thread, each by path (workers read the files themselves) and by DataFrame (the engine
reads them). Workers are started and have sketched two files before the clock starts; what starting takes is told apart.
Processor time is that of all processes: on a machine with other work it says more than a clock does. What a task costs
beside its rows is that of 100 tasks of one row more.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import qckm
from benchmarks.launch import launch
from benchmarks.machine import describe

RESULTS = Path(__file__).parent / "results"
FILE_ROWS = 1_000_000
# Processor time over that of one process, by path and by DataFrame.
WANTED = {"Dask": (1.25, 1.5), "Ray": (1.4, 1.8), "Spark": (1.4, 4.0)}

_COMMON = """
import hashlib, json, os, sys, time, warnings
warnings.simplefilter("ignore")
import psutil, qckm
from qckm.sketch import files
FOLDER, OPERATOR, FILES = sys.argv[1], sys.argv[2], int(sys.argv[3])
PATHS = [f"{FOLDER}/{number:03}.parquet" for number in range(FILES)]
op = qckm.load(OPERATOR).operator

def processes():
    me = psutil.Process()
    return [me, *me.children(recursive=True)]

def processor_time():
    total = 0.0
    for process in processes():
        try:
            times = process.cpu_times()
            total += times.user + times.system
        except psutil.Error:
            pass
    return total

def measure(started, ways, tiny=None, driver=None, parts=None):
    ready = time.perf_counter()
    facts = {"start": ready - started}
    for way, sketch in ways.items():
        sketch(PATHS[:2])  # loaded, warm
    for way, sketch in ways.items():
        began, cpu = time.perf_counter(), processor_time()
        found = sketch(PATHS)
        facts[way] = {"seconds": time.perf_counter() - began, "cpu": processor_time() - cpu}
        facts[way]["sha"] = hashlib.sha256(files.dumps(found)).hexdigest()
    if tiny:
        tiny(20)
        small = processor_time(); tiny(20); small = processor_time() - small
        large = processor_time(); tiny(120); large = processor_time() - large
        facts["a_task"] = (large - small) / 100
    facts["driver"] = driver() if driver else None
    facts["parts"] = parts() if parts else None
    print("FACTS" + json.dumps(facts))

def by_path(cluster):
    from qckm.engines.files import FileRows
    return lambda paths: FileRows(cluster, paths, usual=op.feature_names).sketch(op)

def tiny_tasks(cluster):
    # As many tasks as one asks for, of a file of one row.
    from qckm.engines.clusters import dump_task
    from qckm.engines.jobs import SketchJob
    from qckm.sources.pieces import Piece
    from qckm.sources.table import Selection
    from qckm.sources.text import UNKNOWN
    piece, selection = Piece(f"{FOLDER}/one-row.parquet", None), Selection(op.feature_names)
    def run(count):
        cluster.fold(SketchJob(op).dumps(), [dump_task(i, [piece], selection, UNKNOWN) for i in range(count)])
    return run
"""

ALONE = """
from qckm.sketch.files import dumps_sums, loads_sums

def parts():
    # Processor seconds: to read a row, to sketch one that was read, to merge two results; and the bytes of a result.
    read = sketched = 0.0
    rows, some = 0, []
    for batch in qckm.open_source(PATHS[:2], op.feature_names).batches():
        some.append(batch.rows)
    for again in range(3):
        began = processor_time()
        for batch in qckm.open_source(PATHS[:2], op.feature_names).batches():
            rows += len(batch.rows)
        read += processor_time() - began
        began = processor_time()
        for one in some:
            total = op.sketch(one)
        sketched += processor_time() - began
    packed = dumps_sums(qckm.sketch_source(op, PATHS[:1]))
    began = processor_time()
    for again in range(300):
        dumps_sums(loads_sums(packed, op) + loads_sums(packed, op))
    merged = (processor_time() - began) / 300
    return {"read": read / rows, "sketch": sketched / rows, "merge": merged, "bytes": len(packed)}

started = time.perf_counter()
measure(started, {"path": lambda paths: qckm.sketch_source(op, paths)}, parts=parts)
"""

DASK = """
import distributed, dask.dataframe as dd
from qckm.engines.dask import DaskCluster
if __name__ == "__main__":
    started = time.perf_counter()
    where = dict(host="127.0.0.1", dashboard_address="127.0.0.1:0")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **where) as local:
        with distributed.Client(local) as client:
            cluster = DaskCluster(client)
            ways = {"path": by_path(cluster), "frame": lambda paths: op.sketch(dd.read_parquet(paths))}
            measure(started, ways, tiny_tasks(cluster))
"""

SPARK = """
from pyspark.sql import SparkSession
from qckm.engines.spark import SparkCluster
os.environ["PYSPARK_PYTHON"] = sys.executable
started = time.perf_counter()
spark = SparkSession.builder.master("local[2]").config("spark.driver.memory", "2g").config(
    "spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1").config(
    "spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
cluster = SparkCluster(spark)
def driver():
    return max(process.memory_info().rss for process in processes() if "java" in process.name()) / 1e6
ways = {"path": by_path(cluster), "frame": lambda paths: op.sketch(spark.read.parquet(*paths))}
measure(started, ways, tiny_tasks(cluster), driver=driver)
spark.stop()
"""

RAY = """
import ray, ray.data
from qckm.engines.ray import RayCluster
started = time.perf_counter()
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=2_000_000_000)
ray.data.DataContext.get_current().enable_progress_bars = False
cluster = RayCluster()
ways = {"path": by_path(cluster), "frame": lambda paths: op.sketch(ray.data.read_parquet(paths))}
measure(started, ways, tiny_tasks(cluster))
ray.shutdown()
"""

ALONE_NAME = "alone, two threads"
ENGINES = {ALONE_NAME: ALONE, "Dask": DASK, "Spark": SPARK, "Ray": RAY}


def make(folder: Path, rows: int, n: int) -> int:
    """Write a mixture of ten Gaussians, a million rows per file; return the number of files."""
    count = -(-rows // FILE_ROWS)
    centers = np.random.default_rng(0).normal(size=(10, n)).astype(np.float32) * 2
    for number in range(count):
        path = folder / f"{number:03}.parquet"
        if not path.exists():
            rng = np.random.default_rng([1, number])
            size = min(FILE_ROWS, rows - number * FILE_ROWS)
            X = centers[rng.integers(10, size=size)] + rng.standard_normal((size, n), np.float32)
            table = pa.table({f"x{j}": X[:, j] for j in range(n)})
            pq.write_table(table, path, row_group_size=250_000, use_dictionary=False)
    return count


def run(script: str, folder: Path, operator: Path, files: int) -> dict[str, float]:
    """Run one engine in a process of its own."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as program:  # a file: Dask's workers start from it
        program.write(_COMMON + script)
        program.flush()
        ran = launch([sys.executable, program.name, str(folder), str(operator), str(files)])
    found = [line for line in ran.output.splitlines() if line.startswith("FACTS")]
    if not found:
        raise RuntimeError(ran.errors[-2000:])
    return {**json.loads(found[0][5:]), "megabytes": ran.megabytes}


def main() -> None:
    """Measure, print, and keep what was printed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--frequencies", type=int, default=500)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        files = make(folder, options.rows, 10)
        names = [f"x{j}" for j in range(10)]
        op = qckm.SketchOperator.draw(10, options.frequencies, scale=3.5, random_state=0, feature_names=names)
        operator = Path(temporary) / "operator.qckm"
        op.empty().save(operator)
        pq.write_table(pa.table({name: pa.array([1.0], pa.float32()) for name in names}), folder / "one-row.parquet")
        rounds = []
        for _ in range(options.rounds):
            rounds.append({})
            for name, script in ENGINES.items():
                rounds[-1][name] = run(script, folder, operator, files)
                print(name, rounds[-1][name], flush=True)
            lines = report(rounds, options, sketch_bytes=len(qckm.files.dumps(op.empty())))
            (RESULTS / "engines.md").write_text("\n".join(lines) + "\n")  # what there is, should it be stopped
    print("\n".join(lines))


def report(rounds: list[dict], options: argparse.Namespace, sketch_bytes: int) -> list[str]:
    """Return the tables: medians of the rounds, ratios within a round."""
    found = {
        facts[way]["sha"] for each in rounds for facts in each.values() for way in ("path", "frame") if way in facts
    }
    assert len(found) == 1, "not the same bytes"

    def median(name: str, *keys: str) -> float:
        return statistics.median(_at(each[name], keys) for each in rounds)

    def ratio(name: str, way: str, key: str) -> float:
        return statistics.median(each[name][way][key] / each[ALONE_NAME]["path"][key] for each in rounds)

    lines = [
        f"{options.rows:,} × 10 float32 in Parquet files of a million rows, m = {options.frequencies} one-bit paired. "
        f"Two workers of one thread; medians of {len(rounds)} interleaved round(s); the same bytes from all. "
        f"{describe()}",
        "",
        "| | processor seconds | / alone | wanted | seconds | seconds / alone |",
        "|" + " --- |" * 6,
    ]
    for name in rounds[0]:
        for number, way in enumerate(("path", "frame")):
            if way in rounds[0][name]:
                wanted = WANTED[name][number] if name in WANTED else ""
                called = name if name not in WANTED else f"{name}, by {'path' if way == 'path' else 'DataFrame'}"
                row = [called, f"{median(name, way, 'cpu'):.2f}", f"{ratio(name, way, 'cpu'):.2f}", str(wanted)]
                row += [f"{median(name, way, 'seconds'):.2f}", f"{ratio(name, way, 'seconds'):.2f}"]
                lines.append("| " + " | ".join(row) + " |")
    lines += ["", "| engine | processor ms a task | start, s | driver, MB |", "|" + " --- |" * 4]
    for name in WANTED:
        task, start = 1000 * median(name, "a_task"), median(name, "start")
        lines.append(f"| {name} | {task:.1f} | {start:.1f} | {median(name, 'megabytes'):.0f} |")
    java = statistics.median(each["Spark"]["driver"] for each in rounds)
    part = {key: median(ALONE_NAME, "parts", key) for key in ("read", "sketch", "merge", "bytes")}
    lines += [
        "",
        f"Spark's JVM, which is driver and executor in one here: {java:.0f} MB (-Xmx2g).",
        "",
        "| part | |",
        "| --- | --- |",
        f"| read a row, ns | {1e9 * part['read']:.1f} |",
        f"| sketch a row, ns | {1e9 * part['sketch']:.1f} |",
        f"| merge a result, ms | {1e3 * part['merge']:.2f} |",
        f"| bytes of a result | {part['bytes']:.0f} |",
        f"| bytes of a sketch file of no rows | {sketch_bytes} |",
    ]
    return lines


def _at(facts: dict, keys: tuple[str, ...]) -> float:
    for key in keys:
        facts = facts[key]
    return facts


if __name__ == "__main__":
    main()
