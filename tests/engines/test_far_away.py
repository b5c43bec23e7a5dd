"""Clusters that other processes have started, by their addresses: Spark Connect, a Dask scheduler; and Ctrl-C."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qckm
from qckm.sketch import files
from servers import free_port

from .conftest import NAMES

pytestmark = pytest.mark.engine


def wait_for(port, process, seconds=90):
    """Wait until somebody listens."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert process.poll() is None, "the server has ended"
        with socket.socket() as tried:
            if not tried.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.2)
    raise TimeoutError(port)


def stop(process):
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def connect_server():
    """The server of Spark Connect, which the package of pyspark holds."""
    pyspark = pytest.importorskip("pyspark")
    pytest.importorskip("grpc")
    home, port = Path(pyspark.__file__).parent, free_port()
    settings = {
        "spark.connect.grpc.binding.port": port,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "700m",
        "spark.ui.enabled": "false",
    }
    words = [str(home / "bin" / "spark-submit"), "--master", "local[2,2]"]
    words += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    words += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    variables = {**os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    server = subprocess.Popen(words, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port, server)
        yield f"sc://127.0.0.1:{port}"
    finally:
        stop(server)


@pytest.fixture(scope="module")
def scheduler():
    """A Dask scheduler and a worker of two threads, in processes of their own."""
    pytest.importorskip("distributed")
    port = free_port()
    first = subprocess.Popen(
        [*_dask("scheduler"), "--host", "127.0.0.1", "--port", str(port), "--dashboard-address", "127.0.0.1:0"],
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(port, first)
        words = [*_dask("worker"), f"tcp://127.0.0.1:{port}", "--nthreads", "1", "--nworkers", "2", "--no-dashboard"]
        second = subprocess.Popen([*words, "--host", "127.0.0.1"], stderr=subprocess.DEVNULL)
        try:
            yield f"127.0.0.1:{port}"
        finally:
            stop(second)
    finally:
        stop(first)


def _dask(verb):
    return [sys.executable, "-m", "dask", verb]


@pytest.fixture
def folder(rows, operator, tmp_path):
    for part, piece in enumerate(np.array_split(rows, 3)):
        pq.write_table(pa.table(dict(zip(NAMES, piece.T, strict=True))), tmp_path / f"{part}.parquet")
    operator.empty().save(tmp_path / "operator.qckm")
    return tmp_path


def qckm_words(*words):
    return [sys.executable, "-m", "qckm", *words]


def sketch(folder, engine):
    words = qckm_words("sketch", "[0-9].parquet", "--operator", "operator.qckm", "-o", "out.qckm", "--engine", engine)
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return (folder / "out.qckm").read_bytes()


def test_spark_connect_gives_the_same_bytes(connect_server, folder, expected):
    assert sketch(folder, connect_server) == expected
    words = qckm_words("fit", "[0-9].parquet", "-k", "3", "--json", "-q")
    found = [
        subprocess.run([*words, *more], cwd=folder, capture_output=True, text=True, timeout=240).stdout
        for more in ([], ["--engine", connect_server])
    ]
    centers = [re.search(r'"centers": (\[\[.*?\]\])', out)[1] for out in found]
    assert centers[0] == centers[1]


def test_a_frame_of_spark_connect_is_sketched_there(connect_server, folder, expected):
    """In a process of its own: one process has either a session of its own or one by Connect."""
    program = (
        "import sys, qckm; from pyspark.sql import SparkSession; "
        "spark = SparkSession.builder.remote(sys.argv[1]).create(); op = qckm.load('operator.qckm').operator; "
        "op.sketch(spark.read.parquet(sys.argv[2])).save('out.qckm')"
    )
    words = [sys.executable, "-c", program, connect_server, str(folder / "[0-9].parquet")]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert (folder / "out.qckm").read_bytes() == expected


def test_a_dask_scheduler_gives_the_same_bytes(scheduler, folder, expected):
    assert sketch(folder, f"dask://{scheduler}") == expected


def interrupted(folder, engine):
    """Start a job of a minute, press Ctrl-C when it runs; return the exit code, what was said, and the seconds."""
    rows = np.random.default_rng(0).normal(size=(8_000_000, 3))
    pq.write_table(pa.table(dict(zip(NAMES, rows.T, strict=True))), folder / "many.parquet", row_group_size=20_000)
    slow = qckm.SketchOperator.draw(3, 200_000, scale=2.0, random_state=0, feature_names=NAMES)
    (folder / "slow.qckm").write_bytes(files.dumps(slow.empty()))
    words = qckm_words("sketch", "many.parquet", "--operator", "slow.qckm", "-o", "o.qckm", "--engine", engine)
    job = subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True, start_new_session=True)
    for line in job.stderr:
        if "tasks done" in line:  # said after five seconds
            break
    began = time.monotonic()
    job.send_signal(signal.SIGINT)
    said = job.communicate(timeout=60)[1]
    return job.returncode, said, time.monotonic() - began


def test_ctrl_c_ends_the_job_on_the_cluster(scheduler, folder):
    import distributed

    code, said, seconds = interrupted(folder, f"dask://{scheduler}")
    assert (code, said.strip().splitlines()[-1]) == (1, "qckm: stopped")
    assert seconds < 10
    with distributed.Client(f"tcp://{scheduler}") as client:
        end = time.monotonic() + 20
        while left := client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
            assert time.monotonic() < end, left
            time.sleep(0.2)
        while any(client.run(lambda dask_worker: dask_worker.state.executing_count).values()):
            assert time.monotonic() < end, "tasks go on"
            time.sleep(0.2)
    assert not (folder / "o.qckm").exists()


def test_ctrl_c_ends_the_job_on_a_server(connect_server, folder, expected):
    code, said, seconds = interrupted(folder, connect_server)
    assert (code, said.strip().splitlines()[-1]) == (1, "qckm: stopped")
    assert seconds < 20
    assert sketch(folder, connect_server) == expected  # the server is free, and well
