"""Holes in what is read that attacks found in the second round (issue 33), by their numbers there."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import qckm
from qckm.cli import run
from qckm.errors import DecodeError, OperatorError, SourceError
from qckm.planning.plan import require_rows
from qckm.sources import remote
from qckm.sources.opening import open_source, paths_of
from servers import Quiet, web

ROWS = np.random.default_rng(0).normal(size=(200, 2))
SECRET = "5ecre7"

posix = pytest.mark.skipif(os.name != "posix", reason="links and signals are those of POSIX")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt("rows.csv", ROWS, header="a,b", comments="", delimiter=",")
    return tmp_path


# --- 6: secrets, sizes and what is left behind ---


class Handler(Quiet):
    """Serves a file whatever the query, and one without end."""

    def do_GET(self):
        self.path = self.path.partition("?")[0]
        if self.path == "/missing.csv":
            return self.send_error(403)
        if not self.path.startswith("/endless"):
            return super().do_GET()
        self.send_response(200)
        if self.path == "/endless-announced.csv":
            self.send_header("Content-Length", str(2**60))
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"1,2\n" * 2**16)
                time.sleep(0.01)
        except OSError:
            pass


@pytest.fixture
def site(folder):
    with web(Handler) as url:
        yield url


@pytest.mark.parametrize("name", ["endless.csv", "endless-announced.csv"])
def test_6_a_download_has_a_size(site, folder, monkeypatch, name):
    monkeypatch.setenv("QCKM_DOWNLOAD", "1M")
    with pytest.raises(SourceError, match=rf"/{name}: expected at most 1.0 MB, got .* or more: .* QCKM_DOWNLOAD=100G"):
        open_source(f"{site}/{name}")


def test_6_a_download_leaves_half_of_the_disk(site, folder, monkeypatch):
    monkeypatch.setattr(remote.shutil, "disk_usage", lambda _: SimpleNamespace(free=8))
    with pytest.raises(SourceError, match="expected at most 4 bytes"):
        open_source(f"{site}/rows.csv")


@posix
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_6_a_signal_leaves_no_copy_behind(site, folder, number):
    (folder / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(folder / "tmp"), "QCKM_DOWNLOAD": "10G"}
    words = [sys.executable, "-m", "qckm", "sketch", f"{site}/endless.csv", "-k", "2", "-o", "s.qckm"]
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE) as process:
        wait_until(lambda: any((folder / "tmp").rglob("*.csv")))
        process.send_signal(number)
        assert process.wait(10) == 1
    assert list((folder / "tmp").iterdir()) == []


def wait_until(happened):
    for _ in range(600):
        if happened():
            return
        time.sleep(0.05)
    raise AssertionError("it has not happened within 30 s")


# --- 8: files that count twice ---


@posix
def test_8_a_file_with_two_names_in_a_folder_is_read_once(folder):
    (folder / "data").mkdir()
    os.rename("rows.csv", "data/2026-11-16.csv")
    os.symlink("2026-11-16.csv", "data/0-latest.csv")
    os.link("data/2026-11-16.csv", "data/z-copy.csv")
    for named in ("data", "data/*.csv", "data/**"):
        assert paths_of(named) == ["data/2026-11-16.csv"]
        assert qckm.sketch_source(qckm.SketchOperator.draw(2, 5, 1.0, random_state=0), named).count == len(ROWS)
    assert run(["sketch", "data", "-k", "2", "-o", "s.qckm", "-q"]) == 0
    assert qckm.load("s.qckm").count == len(ROWS)


@posix
def test_8_a_sketch_with_two_names_in_a_folder_is_added_once(folder, capfd):
    """By a pattern it was, by the folder it was not."""
    (folder / "sketches [1]").mkdir()
    sketch = qckm.SketchOperator.draw(2, 5, 1.0, random_state=0).sketch(ROWS)
    sketch.save("sketches [1]/2026-11-16.qckm")
    os.symlink("2026-11-16.qckm", "sketches [1]/0-latest.qckm")
    (folder / "empty").mkdir()
    assert run(["merge", "sketches [1]", "-o", "all.qckm"]) == 0
    assert "same content" not in capfd.readouterr().err
    assert qckm.load("all.qckm") == sketch
    assert run(["merge", "empty", "-o", "none.qckm"]) == 2
    assert "expected sketches, found no file that matches" in capfd.readouterr().err


@posix
@pytest.mark.parametrize("other", ["rows.csv", "./rows.csv", "link.csv", "*.csv", "."])
def test_8_a_file_that_is_named_twice_is_refused(folder, capfd, other):
    os.symlink("rows.csv", "link.csv")
    for words in (["sketch", "rows.csv", other, "-k", "2", "-o", "s.qckm"], ["fit", other, "rows.csv", "-k", "2"]):
        assert run(words) == 1
        assert "its rows would count twice" in capfd.readouterr().err
    with pytest.raises(SourceError, match="expected each file once"):
        open_source(["rows.csv", other])
    assert not Path("s.qckm").exists()


@pytest.mark.parametrize("other", ["rows.csv", "./rows.csv", "a/../rows.csv", "%72ows.csv", "rows.csv#x", "rows.csv?"])
def test_8_a_url_that_is_named_twice_is_refused(site, other):
    for one in (site, site.upper()):
        with pytest.raises(SourceError, match=r"csv: expected each file once"):
            open_source([f"{site}/rows.csv", f"{one}/{other}"])
    assert len(open_source([f"{site}/rows.csv?id=1", f"{site}/rows.csv?id=2"]).tables) == 2


@posix
@pytest.mark.parametrize("other", ["rows.csv", "file://{}/rows.csv", "file://{}/*.csv"])
def test_8_a_file_and_its_url_are_one(folder, other, capfd):
    pytest.importorskip("fsspec")
    both = [f"file://{folder}/rows.csv", other.format(folder)]
    with pytest.raises(SourceError, match="expected each file once"):
        open_source(both)
    assert run(["sketch", *both, "--engine", "dask", "-k", "2", "-o", "s.qckm"]) == 1
    assert "its rows would count twice" in capfd.readouterr().err


@posix
def test_8_engines_and_bits_are_no_exception(folder, capfd):
    op = qckm.SketchOperator.draw(2, 8, 1.0, random_state=0)
    op.empty().save("op.qckm")
    op.encode(ROWS).tofile("bits")
    os.symlink("bits", "link")
    assert run(["pool", "bits", "link", "--operator", "op.qckm", "-o", "s.qckm"]) == 1
    assert run(["sketch", "rows.csv", "./rows.csv", "--engine", "dask", "-k", "2", "-o", "s.qckm"]) == 1
    assert capfd.readouterr().err.count("its rows would count twice") == 2


# --- 10: a merge that was killed after its rename ---

KILLED = """
import os, signal, sys
from qckm.common import atomic
from qckm.cli import run
atomic._sync_folder = lambda _: os.kill(os.getpid(), signal.SIGKILL)  # the last thing that a merge does
run(sys.argv[1:])
"""


@posix
def test_10_a_merge_that_was_killed_after_its_rename_is_not_done_twice(folder, capfd):
    op = qckm.SketchOperator.draw(2, 8, 1.0, random_state=0)
    op.sketch(ROWS, part="berlin/1").save("total.qckm")
    op.sketch(ROWS + 1, part="paris/1").save("part.qckm")
    words = ["merge", "total.qckm", "part.qckm", "-o", "total.qckm"]
    assert subprocess.run([sys.executable, "-c", KILLED, *words], check=False).returncode == -signal.SIGKILL
    assert qckm.load("total.qckm").count == 2 * len(ROWS)
    assert run(words) == 1
    assert "its rows would count twice" in capfd.readouterr().err
    assert qckm.load("total.qckm").count == 2 * len(ROWS)


# --- 9: what cannot be meant, and signals ---


@pytest.mark.parametrize("verb", ["fit", "sketch", "operator"])
@pytest.mark.parametrize("clusters", [10**8, 10**21])
def test_9_a_number_of_clusters_that_cannot_be_meant_is_refused_at_once(folder, capfd, monkeypatch, verb, clusters):
    monkeypatch.setattr(np, "unique", lambda *_, **__: pytest.fail("rows were looked at"))
    began = time.monotonic()
    assert run([verb, "rows.csv", "-k", str(clusters), "-o", "m.json"]) == 1
    assert "Look for fewer clusters" in capfd.readouterr().err
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("verb", ["fit big.npy", "decode big.qckm", "choose-k big.qckm"])
def test_9_clusters_of_one_row_each_are_refused(folder, capfd, verb):
    rows = np.random.default_rng(0).normal(size=(4000, 2))
    np.save("big.npy", rows)
    qckm.SketchOperator.draw(2, 5, 1.0, random_state=0).sketch(rows).save("big.qckm")
    assert run([*verb.split(), "-k", "3999"]) == 1
    assert "Expected two rows per cluster or more, got 3,999 clusters of 4,000 rows" in capfd.readouterr().err


def test_9_few_clusters_of_few_rows_are_looked_for():
    require_rows(5, 5)
    require_rows(150, 100)
    require_rows(4000, 2000)
    for rows, clusters in ((5, 6), (150, 101), (4000, 2001)):
        with pytest.raises(DecodeError):
            require_rows(rows, clusters)


def test_9_more_columns_than_there_is_room_for_are_refused_before_anything_is_drawn():
    with pytest.raises(OperatorError, match=r"Drawing 4000000 frequencies of 1000000 features takes about 128.0 TB"):
        qckm.SketchOperator.draw(10**6, 4 * 10**6, 1.0, random_state=0)


WIDE = """
import resource, sys, time
from qckm.sources.opening import open_source
source = open_source(sys.argv[1])
before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
rows = [batch.rows for batch in source.batches()]
print(sum(map(len, rows)), rows[0].shape[1], float(rows[0][0].sum()), float(rows[0][1].sum()))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before >> 10, time.process_time() - began)
"""


@posix
@pytest.mark.parametrize("ending", ["csv", "arrow"])
def test_9_many_columns_take_little_memory_and_time(folder, ending):
    """Of 100 000 columns, pyarrow's CSV reader took a gigabyte; names of an Arrow file were looked up one by one."""
    rows = np.random.default_rng(0).integers(-9, 9, size=(3, 100_000)).astype(float)
    if ending == "csv":
        np.savetxt("wide.csv", rows, delimiter=",", fmt="%.1f")
    else:
        table = pa.table({f"c{i}": column for i, column in enumerate(rows.T)})
        with pa.OSFile("wide.arrow", "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    words = [sys.executable, "-c", WIDE, f"wide.{ending}"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert [float(word) for word in said[:4]] == [3, 100_000, rows[0].sum(), rows[1].sum()]
    assert int(said[4]) < 500  # MB
    assert float(said[5]) < 15  # seconds


def test_9_the_type_of_many_columns_is_named_once():
    """NumPy takes up to 30 µs to name one: half a minute for a million columns, before any was refused."""
    (table,) = open_source(np.zeros((3, 1000))).tables
    assert len({id(column.kind) for column in table.columns}) == 1


def test_9_cells_of_many_columns_are_what_they_are_of_few(folder, monkeypatch):
    text = b'a,b,c\n1,2,3\n"4","5,5",6\n7,8\n\n9,"x\ny",10\n 1e3 ,,-inf\n1,2,3,4\n\xa05,\xc2\xa06,.5'
    Path("odd.csv").write_bytes(text)
    with_pyarrow = list(open_source("odd.csv", columns=["c", "b"]).batches())
    monkeypatch.setattr("qckm.sources.csv._MANY_COLUMNS", 1)
    cell_by_cell = list(open_source("odd.csv", columns=["c", "b"]).batches())
    for one, other in zip(with_pyarrow, cell_by_cell, strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)
        assert dict(one.faults) == dict(other.faults)


BUSY = """
import hashlib, sys
from qckm.cli.stopping import obey_signals
from qckm.common.atomic import expect_leftover
obey_signals(2)  # of `qckm drift`, say, where 1 is an answer
expect_leftover(sys.argv[1])
print(flush=True)
hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)  # minutes in one call
"""


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_9_a_run_that_hears_nothing_ends_a_second_after_the_signal(tmp_path, number):
    left = tmp_path / "left"
    left.write_text("")
    words = [sys.executable, "-c", BUSY, str(left)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        time.sleep(1)  # until it is in that call
        began = time.monotonic()
        process.send_signal(number)
        assert process.wait(30) == 2
        assert time.monotonic() - began < 3  # the machine may be busy
        assert process.stderr.read() == b"qckm: stopped\n"
    assert not left.exists()


ENDED = """
import atexit, contextlib, signal, time
from qckm.cli.stopping import leave, obey_signals
obey_signals()
atexit.register(time.sleep, 20)  # a library that takes its time to end
with contextlib.suppress(KeyboardInterrupt):  # a server that was stopped in an orderly way
    signal.raise_signal(signal.SIGTERM)
leave(0)
"""


@posix
def test_9_a_run_that_has_ended_keeps_its_exit_code():
    began = time.monotonic()
    assert subprocess.run([sys.executable, "-c", ENDED], check=False).returncode == 0
    assert time.monotonic() - began < 10


EARLY = """
import signal, sys
from qckm import cli
cli.say_warnings = lambda: signal.raise_signal(signal.SIGTERM)  # between two steps of the start
cli.main(sys.argv[1:])
"""


@posix
@pytest.mark.parametrize(("verb", "code"), [("--version", 1), ("drift", 2)])
def test_9_a_signal_at_the_very_start_is_no_traceback_and_no_answer(verb, code):
    done = subprocess.run([sys.executable, "-c", EARLY, verb], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", b"qckm: stopped\n")


DRIFT = """
import hashlib, sys
from qckm import cli
cli.run = lambda _: [print(flush=True), hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)]
cli.main(["drift", "a.qckm", "b.qckm"])
"""


@posix
def test_9_a_comparison_that_was_ended_is_no_drift():
    with subprocess.Popen([sys.executable, "-c", DRIFT], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        time.sleep(1)  # until it is in that call
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 2  # 1 would be: there is drift


@posix
def test_9_nohup_is_obeyed(tmp_path):
    code = BUSY.replace('hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)', "import time; time.sleep(2)")
    words = ["nohup", sys.executable, "-c", code, str(tmp_path / "left")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tmp_path) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        assert process.wait(30) == 0


@posix
def test_9_a_search_ends_at_a_signal(folder):
    rows = np.random.default_rng(0).normal(size=(20_000, 2))
    qckm.SketchOperator.draw(2, 4000, 0.1, random_state=0).sketch(rows).save("hard.qckm")
    words = [sys.executable, "-m", "qckm", "decode", "hard.qckm", "-k", "400", "-o", "m.json"]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as process:
        time.sleep(4)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 1
        assert time.monotonic() - began < 3
        assert b"stopped" in process.stderr.read()
    assert sorted(path.name for path in folder.iterdir()) == ["hard.qckm", "rows.csv"]
