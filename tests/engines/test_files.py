"""Files by reference, on every engine: workers read them themselves, and the bytes are those of one process."""

import json
import os
import re
import signal
import socket

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import qckm
from qckm import engines
from qckm.cli import run
from qckm.engines import files as engine_files
from qckm.engines.files import FileRows
from qckm.engines.jobs import SketchJob
from qckm.errors import RowsError, SourceError
from qckm.planning.held_rows import draw_pilot
from qckm.sketch import files, group_tables
from qckm.sources.opening import open_source

from .conftest import NAMES

pytestmark = [
    pytest.mark.engine,
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning", "ignore::UserWarning"
    ),
]
ENGINES = ("dask", "spark", "ray")


@pytest.fixture(scope="module", params=ENGINES)
def cluster(request):
    """Two workers on this machine."""
    if request.param == "spark":
        pytest.importorskip("pyspark")
        request.getfixturevalue("spark")
    else:
        pytest.importorskip({"dask": "distributed", "ray": "ray"}[request.param])
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    with engines.connect(request.param) as found:
        found.name = request.param
        yield found


@pytest.fixture
def folder(rows, tmp_path, monkeypatch):
    """The rows in three Parquet files of several row groups, with a name beside them; tasks of a few kilobytes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engine_files, "_LEAST_BYTES", 5000)
    for part, piece in enumerate(np.array_split(rows, 3)):
        columns = {name: piece[:, place] for place, name in enumerate(NAMES)}
        pq.write_table(pa.table({**columns, "id": [f"{part}-{row}" for row in range(len(piece))]}),
                       f"{part}.parquet", row_group_size=170)  # fmt: skip
    return tmp_path


def opened(cluster, *paths, **options):
    return FileRows(cluster, [str(path) for path in paths], **options)


def test_the_bytes_are_those_of_one_process(cluster, folder, operator, expected):
    held = opened(cluster, folder / "*.parquet", usual=NAMES)
    assert held.n_tasks > 4
    told = []
    with cluster.watched(lambda done, total: told.append((done, total))):
        assert files.dumps(held.sketch(operator)) == expected
    assert all(done <= total for done, total in told)
    assert held.n_bytes == sum(path.stat().st_size for path in folder.glob("*.parquet"))


def test_text_is_read_in_bytes_and_urls_in_files(cluster, folder, operator, rows, expected):
    table = pa.table({name: rows[:, place] for place, name in enumerate(NAMES)})
    pacsv.write_csv(table, folder / "rows.csv", pacsv.WriteOptions(quoting_style="none"))
    held = opened(cluster, folder / "rows.csv")
    assert held.n_tasks > 4
    assert files.dumps(held.sketch(operator)) == expected
    assert files.dumps(opened(cluster, f"file://{folder}/*.parquet", usual=NAMES).sketch(operator)) == expected


def test_a_quote_far_into_a_text_makes_it_one_piece(cluster, folder, rows):
    lines = ["x\n", *(f"{number}\n" for number in range(300_000)), *(f'"{number}"\n' for number in range(10))]
    (folder / "rows.csv").write_text("".join(lines))
    operator = qckm.SketchOperator.draw(1, 10, scale=1.0, random_state=0)
    held = opened(cluster, folder / "rows.csv")
    assert held.n_tasks > 4
    assert held.sketch(operator) == operator.sketch(str(folder / "rows.csv"))
    assert held.n_tasks == 1


def test_the_pilot_is_that_of_one_process(cluster, folder):
    here = draw_pilot(open_source("*.parquet", columns=NAMES), np.random.default_rng(3), 500)
    there = draw_pilot(opened(cluster, "*.parquet", usual=NAMES), np.random.default_rng(3), 500)
    np.testing.assert_array_equal(there.rows, here.rows)
    elsewhere = draw_pilot(opened(cluster, f"file://{folder}/*.parquet", usual=NAMES), np.random.default_rng(3), 500)
    np.testing.assert_array_equal(elsewhere.rows, here.rows)  # of few tasks, all are looked into


def test_bad_rows_are_named_by_file_and_row(cluster, folder, operator):
    table = pq.read_table("1.parquet").to_pandas()
    table.loc[700, "b"] = np.nan
    table.to_parquet("1.parquet", row_group_size=170)
    held = opened(cluster, "*.parquet", usual=NAMES)
    with pytest.raises(RowsError, match=r"1\.parquet: .*row 700 .* column 'b'"):
        held.sketch(operator)
    assert held.sketch(operator, on_bad="skip").skipped == 1
    with pytest.raises(SourceError, match="expected the column 'z'"):
        opened(cluster, "*.parquet", columns=["a", "z"])


def words_of(process):
    """Return how a process was started; of one that is gone, nothing."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def kill_a_worker(cluster):
    """Kill a process that does a task, and return whether there was one."""
    if cluster.name == "dask":
        found = [psutil.Process(pid) for pid in cluster._client.run(os.getpid).values()]
    else:
        mark = {"spark": "pyspark.daemon", "ray": "ray::run_task"}[cluster.name]
        held = [process for process in psutil.Process().children(recursive=True) if mark in words_of(process)]
        found = [process for process in held if cluster.name == "ray" or mark in words_of(process.parent())]
    for process in found[:1]:
        process.send_signal(signal.SIGKILL)
    return bool(found)


def test_a_killed_worker_does_not_change_a_byte(cluster, folder):
    """It is killed while it works; the engine does its task again, and nothing counts twice."""
    rng = np.random.default_rng(5)
    for part in range(3):
        piece = rng.normal(size=(60_000, 3))
        pq.write_table(pa.table(dict(zip(NAMES, piece.T, strict=True))), f"{part}.parquet", row_group_size=10_000)
    operator = qckm.SketchOperator.draw(3, 60_000, scale=2.0, random_state=0, feature_names=NAMES)
    killed = []

    def watch(done, total):
        if not killed and done < total and kill_a_worker(cluster):
            killed.append(done)

    with cluster.watched(watch):
        found = opened(cluster, "*.parquet").sketch(operator)
    assert killed
    assert files.dumps(found) == files.dumps(operator.sketch("*.parquet"))


class TestCommandLine:
    """Every verb that reads data, with an engine and without: the same answers."""

    def both(self, words, engine, capfd):
        """Return what a command prints as JSON, alone and on an engine."""
        found = []
        for more in ([], ["--engine", engine]):
            code = run([*words, *more, "--json", "--quiet"])
            out, err = capfd.readouterr()
            assert code in (0, 1), err
            found.append(json.loads(next(line for line in out.splitlines() if line.startswith("{"))))
        return found

    def test_fit_and_choose_k(self, cluster, folder, capfd):
        alone, there = self.both(["fit", "*.parquet", "-k", "3", "--columns", "a,b,c"], cluster.name, capfd)
        assert alone["centers"] == there["centers"]
        assert alone["n_inputs"] == there["n_inputs"] == 3
        alone, there = self.both(["choose-k", "*.parquet", "-k", "2-4", "-c", "a,b,c"], cluster.name, capfd)
        assert (alone["n_clusters"], alone["variance_explained"]) == (there["n_clusters"], there["variance_explained"])

    def test_sketch_and_drift(self, cluster, folder, operator, expected, capfd):
        operator.empty().save("operator.qckm")
        words = ["sketch", "*.parquet", "--operator", "operator.qckm", "-o", "out.qckm", "--quiet"]
        assert run([*words, "--engine", cluster.name]) == 0
        assert (folder / "out.qckm").read_bytes() == expected
        alone, there = self.both(["drift", "out.qckm", "0.parquet"], cluster.name, capfd)
        assert alone["pvalue"] == there["pvalue"] < 1e-6

    def test_predict_writes_labels_part_by_part(self, cluster, folder, rows, capfd):
        assert run(["fit", "[0-9].parquet", "-k", "3", "-c", "a,b,c", "-o", "model.json", "--quiet"]) == 0
        words = ["predict", "[0-9].parquet", "-m", "model.json", "--keep", "id", "--distance", "--quiet"]
        assert run([*words, "-o", "labels.parquet"]) == 0
        assert run([*words, "-o", "labels", "--engine", cluster.name]) == 0
        parts = sorted((folder / "labels").glob("part-*.parquet"))
        assert len(parts) > 4
        assert pa.concat_tables([pq.read_table(part) for part in parts]).equals(pq.read_table("labels.parquet"))
        assert (folder / "labels" / "_SUCCESS").exists()
        assert run([*words, "-o", "labels", "--engine", cluster.name]) == 2
        assert "expected a new folder" in capfd.readouterr().err


def test_groups_are_sketched_there_and_merge(cluster, folder, rows, operator, capfd):
    """Each task writes a table of sketches; merged, they are those of one process, to the last bit."""
    for part in range(3):
        table = pq.read_table(f"{part}.parquet")
        shops = pa.array([f"shop {row % 7}" for row in range(len(table))])
        days = pa.array([row % 3 for row in range(len(table))])
        wide = table.append_column("shop", shops).append_column("day", days)
        pq.write_table(wide, f"{part}.parquet", row_group_size=170)
    operator.empty().save("operator.qckm")
    words = ["sketch", "[0-9].parquet", "--operator", "operator.qckm", "--by", "shop,day", "--quiet"]
    assert run([*words, "-o", "here.parquet"]) == 0
    assert run([*words, "-o", "there", "--engine", cluster.name]) == 0
    assert len(list((folder / "there").glob("part-*.parquet"))) > 4
    for by in ("shop,day", "shop"):
        assert run(["merge", "there", "--by", by, "-o", "merged.parquet", "--quiet"]) == 0
        assert run(["merge", "here.parquet", "--by", by, "-o", "alone.parquet", "--quiet"]) == 0
        found, expected = (group_tables.load([name]) for name in ("merged.parquet", "alone.parquet"))
        assert {key: files.dumps(one) for key, one in found.items()} == {
            key: files.dumps(one) for key, one in expected.items()
        }
        assert len(found) == (21 if by == "shop,day" else 7)
    assert files.dumps(sum(found.values())) == files.dumps(operator.sketch(rows))


def test_what_does_not_go_with_an_engine_is_told(folder, capfd):
    plan = ["--scale", "1", "--frequencies", "9", "-o", "out.qckm"]
    for words, said in {
        ("sketch", "0.parquet", "--engine", "flink", *plan): "dask, spark or ray",
        ("sketch", "0.parquet", "--engine", "dask", "--resume", *plan): "leave out --engine",
        ("sketch", "0.parquet", "--engine", "dask", "--every", "9s", *plan): "leave out --engine",
        ("sketch", "-", "--engine", "dask", *plan): "Standard input is here",
        ("predict", "0.parquet", "-m", "0.parquet", "--engine", "dask"): "0.parquet",
    }.items():
        assert run(list(words)) in (1, 2)
        assert re.search(said, capfd.readouterr().err), words


@pytest.mark.parametrize("engine", ["dask", "spark", "sc"])
def test_an_address_where_nobody_listens_is_told_at_once(engine, folder, monkeypatch, capfd):
    pytest.importorskip("distributed" if engine == "dask" else "pyspark")
    monkeypatch.setattr(engines, "_PATIENCE", 0.5)
    with socket.socket() as held:  # bound, so that nobody else takes it, and not listening
        held.bind(("127.0.0.1", 0))
        address = f"{engine}://127.0.0.1:{held.getsockname()[1]}"
        words = ["--scale", "1", "--frequencies", "9", "-o", "out.qckm"]
        assert run(["sketch", "0.parquet", "--engine", address, *words]) == 1
    assert f"Expected a cluster at {address}" in capfd.readouterr().err


def test_an_operator_travels_with_the_job_and_not_with_results(operator):
    job = SketchJob(operator).dumps()
    assert len(job) > len(files.dumps(operator.empty()))
