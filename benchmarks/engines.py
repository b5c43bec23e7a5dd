"""What does an engine cost, beside the same sum in one process with two threads?

    python -m benchmarks.engines --rows 50000000      (pip install "qckm[dask,spark,ray]" psutil; needs Java)

Parquet, a file a million rows. Each round runs one process after the other: alone (`qckm.sketch_source`), Dask, Spark
and Ray with two workers of one thread. Workers are started and have sketched one file before the clock starts; what
starting takes is told apart. Processor time is that of all processes: on a machine with other work it says more than a
clock does.
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
WANTED = 1.3

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

def measure(started, sketch, tiny=None, moved=None, driver=None):
    ready = time.perf_counter()
    sketch(PATHS[:1])  # loaded, warm
    began, cpu = time.perf_counter(), processor_time()
    found = sketch(PATHS)
    seconds, cpu = time.perf_counter() - began, processor_time() - cpu
    facts = {"start": ready - started, "seconds": seconds, "cpu": cpu, "rows": found.count}
    facts["sha"] = hashlib.sha256(files.dumps(found)).hexdigest()
    if moved:
        facts |= moved()
    if tiny:
        tiny(20)
        small = processor_time(); tiny(20); small = processor_time() - small
        large = processor_time(); tiny(120); large = processor_time() - large
        facts["a_partition"] = (large - small) / 100
    facts["driver"] = driver() if driver else None
    print("FACTS" + json.dumps(facts))
"""

ALONE = """
started = time.perf_counter()
measure(started, lambda paths: qckm.sketch_source(op, paths))
"""

DASK = """
import distributed, dask.array as da, dask.dataframe as dd
from qckm.engines.dask import open_partitions
if __name__ == "__main__":
    started = time.perf_counter()
    where = dict(host="127.0.0.1", dashboard_address="127.0.0.1:0")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **where) as cluster:
        with distributed.Client(cluster) as client:
            def moved():
                logs = client.run(lambda dask_worker: sum(each["total"] for each in dask_worker.transfer_incoming_log))
                return {"moved": sum(logs.values()), "partitions": open_partitions(dd.read_parquet(PATHS)).n_partitions}
            def tiny(parts):
                op.sketch(da.zeros((parts, 10), chunks=(1, 10)) + parts)
            measure(started, lambda paths: op.sketch(dd.read_parquet(paths)), tiny, moved)
"""

SPARK = """
import urllib.request
from pyspark.sql import SparkSession
os.environ["PYSPARK_PYTHON"] = sys.executable
started = time.perf_counter()
spark = SparkSession.builder.master("local[2]").config("spark.driver.memory", "2g").config(
    "spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1").config(
    "spark.ui.showConsoleProgress", "false").config("spark.sql.shuffle.partitions", "8").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
def moved():
    context = spark.sparkContext
    where = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages?status=complete"
    stages = json.load(urllib.request.urlopen(where))
    last = max((stage for stage in stages if stage["shuffleWriteBytes"]), key=lambda stage: stage["stageId"])
    return {"moved": last["shuffleWriteBytes"], "partitions": last["numTasks"]}
def tiny(parts):
    columns = [f"cast(id as double) as x{j}" for j in range(10)]
    op.sketch(spark.range(0, parts, 1, parts).selectExpr(*columns))
def driver():
    return max(process.memory_info().rss for process in processes() if "java" in process.name()) / 1e6
measure(started, lambda paths: op.sketch(spark.read.parquet(*paths)), tiny, moved, driver)
spark.stop()
"""

RAY = """
import ray, ray.data, numpy as np, pyarrow as pa
from qckm.engines import ray as ours
started = time.perf_counter()
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=2_000_000_000)
ray.data.DataContext.get_current().enable_progress_bars = False
tree, seen = ours._merge_tree, []
def counted(refs, job):
    seen.append((len(refs), sum(table.nbytes for table in ray.get(refs))))
    return tree(refs, job)
ours._merge_tree = counted
def moved():
    return {"partitions": seen[-1][0], "moved": seen[-1][1]}
def tiny(parts):
    op.sketch(ray.data.from_arrow([pa.table({f"x{j}": np.ones(1) for j in range(10)}) for _ in range(parts)]))
measure(started, lambda paths: op.sketch(ray.data.read_parquet(paths)), tiny, moved)
ray.shutdown()
"""

ENGINES = {"alone, two threads": ALONE, "Dask": DASK, "Spark": SPARK, "Ray": RAY}


def make(folder: Path, rows: int, n: int) -> int:
    """Write a mixture of ten Gaussians, a million rows a file; return the number of files."""
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
        rounds = []
        for _ in range(options.rounds):
            rounds.append({})
            for name, script in ENGINES.items():
                rounds[-1][name] = run(script, folder, operator, files)
                print(name, rounds[-1][name], flush=True)
        small = {name: run(script, folder, operator, max(1, files // 10)) for name, script in ENGINES.items()}
    lines = report(rounds, small, options, operator_bytes=len(qckm.files.dumps(op.empty())))
    print("\n".join(lines))
    (RESULTS / "engines.md").write_text("\n".join(lines) + "\n")


def report(rounds: list[dict], small: dict, options: argparse.Namespace, operator_bytes: int) -> list[str]:
    """Return the table: medians of the rounds, ratios within a round."""
    alone = "alone, two threads"
    assert len({facts["sha"] for each in rounds for facts in each.values()}) == 1, "not the same bytes"

    def median(name: str, key: str) -> float:
        return statistics.median(each[name][key] for each in rounds)

    def ratio(name: str, key: str) -> float:
        return statistics.median(each[name][key] / each[alone][key] for each in rounds)

    lines = [
        f"{options.rows:,} × 10 float32 in Parquet files of a million rows, m = {options.frequencies} one-bit paired: "
        f"a sketch file has {operator_bytes:,} bytes. Two workers of one thread; median of {options.rounds} round(s); "
        f"the same bytes from all. {describe()}",
        "",
        f"| | seconds | / alone (wanted: {WANTED}) | processor seconds | / alone | start, s | partitions "
        "| bytes moved | / (partitions × sketch) | processor ms a partition | driver, MB | with a tenth of the rows |",
        "|" + " --- |" * 12,
    ]
    for name in rounds[0]:
        row = [name, f"{median(name, 'seconds'):.1f}", f"{ratio(name, 'seconds'):.2f}", f"{median(name, 'cpu'):.1f}"]
        row += [f"{ratio(name, 'cpu'):.2f}", f"{median(name, 'start'):.1f}"]
        if "partitions" in rounds[0][name]:
            parts, moved = median(name, "partitions"), median(name, "moved")
            row += [f"{parts:.0f}", f"{moved:,.0f}", f"{moved / (parts * operator_bytes):.2f}"]
            row += [f"{1000 * median(name, 'a_partition'):.1f}"]
        else:
            row += ["", "", "", ""]
        row += [f"{median(name, 'megabytes'):.0f}", f"{small[name]['megabytes']:.0f}"]
        lines.append("| " + " | ".join(row) + " |")
    java = statistics.median(each["Spark"]["driver"] for each in rounds)
    lines += ["", f"Spark's JVM, which is driver and executor in one here: {java:.0f} MB (-Xmx2g)."]
    return lines


if __name__ == "__main__":
    main()
