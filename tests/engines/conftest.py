"""Rows, an operator, the bytes that every engine must give, and ways to cut rows at random."""

import os
import sys
import warnings
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qckm
from qckm.cli import run
from qckm.sketch import files

NAMES = ["a", "b", "c"]


def pytest_collection_modifyitems(items):
    """What needs a cluster is marked, so that `make test` can leave it out."""
    for item in items:
        if {"dask_client", "spark", "ray_cluster"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("engine")


@pytest.fixture(scope="session")
def spark():
    """Two cores of this machine; a task may fail once."""
    pyspark_sql = pytest.importorskip("pyspark.sql")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = pyspark_sql.SparkSession.builder.master("local[2,2]")
    for name, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "700m",
        # Nothing here runs long enough to be worth compiling well.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        # A file is a partition, however small.
        "spark.sql.files.maxPartitionBytes": "1000000",
        "spark.sql.files.openCostInBytes": "1000000",
    }.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def rows():
    """Three clusters, sorted by cluster: the worst order for a pilot."""
    rng = np.random.default_rng(1)
    return np.concatenate([center + rng.normal(size=(1000, 3)) for center in (0.0, 9.0, 18.0)])


@pytest.fixture(scope="session")
def operator():
    return qckm.SketchOperator.draw(3, 40, scale=2.0, origin=[9.0] * 3, random_state=0, feature_names=NAMES)


@pytest.fixture(scope="session")
def expected(operator, rows):
    """The bytes of a laptop."""
    return files.dumps(operator.sketch(rows))


@pytest.fixture
def sketch_files(operator, rows, tmp_path, monkeypatch):
    """Sketch the rows, in three Parquet files, by the command line on an engine; return its words and the bytes."""
    monkeypatch.chdir(tmp_path)
    operator.empty().save("operator.qckm")
    for part in range(3):
        piece = rows[1000 * part : 1000 * (part + 1)]
        pq.write_table(pa.table({name: piece[:, place] for place, name in enumerate(NAMES)}), f"{part}.parquet")

    def sketch(engine):
        data = str(tmp_path / "*.parquet")  # the whole path: a JVM may have been started in another folder
        words = ["sketch", data, f"--engine={engine}", "--operator", "operator.qckm", "-o", "out.qckm", "--quiet"]
        assert run(words) == 0
        return words, (tmp_path / "out.qckm").read_bytes()

    return sketch


def cuts(seed, n_rows, most=12):
    """Yield (start, stop) of a random partitioning; some parts are empty."""
    rng = np.random.default_rng(seed)
    edges = np.sort(rng.integers(0, n_rows + 1, size=rng.integers(1, most)))
    edges = np.concatenate([[0], edges, edges[-1:], [n_rows]])
    yield from pairwise(edges)
