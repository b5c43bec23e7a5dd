"""Standard streams and disks that are closed or full: a sentence that names them, and no output lost that could be."""

import os
import subprocess
import sys

import pytest

import qckm

has_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")


def shell(command):
    """Run a command line in a shell; return (exit code, stdout, stderr)."""
    program = f"{sys.executable} -m qckm"
    done = subprocess.run(["bash", "-c", command.replace("qckm", program, 1)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def work(folder, facts):
    facts("fit", "rows.csv", "-k", 3, "-o", "m.json", "--sketch", "s.qckm")
    return folder


def test_closed_stdout_matters_only_to_what_goes_there(work):
    assert shell("qckm merge s.qckm -o t.qckm -q >&-") == (0, "", "")
    assert qckm.load("t.qckm").count == 3000
    for words in ("merge s.qckm -q", "predict rows.csv -m m.json -q", "info s.qckm"):
        assert shell(f"qckm {words} >&-") == (1, "", "qckm: standard output: Bad file descriptor\n")


def test_closed_stderr_silences_talk_alone(work):
    code, out, err = shell("qckm fit rows.csv -k 3 2>&-")
    assert (code, len(out.splitlines()), err) == (0, 4, "")


def test_closed_stdin_is_empty(work):
    code, _, err = shell("qckm predict - -m m.json <&-")
    assert (code, err) == (1, "qckm: standard input: expected rows, got nothing: the file is empty.\n")


@has_full
@pytest.mark.parametrize(
    "words",
    ["predict rows.csv -m m.json", "info s.qckm", "decode s.qckm -k 3", "merge s.qckm --json -o t.qckm"],
)
def test_a_full_disk_under_stdout_is_named(work, words):
    assert shell(f"qckm {words} >/dev/full 2>err; code=$?; tail -1 err; exit $code") == (
        1,
        "qckm: standard output: No space left on device\n",
        "",
    )


@has_full
@pytest.mark.parametrize(
    "words",
    [
        ["sketch", "rows.csv", "-k", 3],
        ["encode", "rows.csv", "--operator", "s.qckm"],
        ["report", "m.json"],
        ["export-c", "s.qckm"],
    ],
)
def test_a_full_disk_is_named_by_the_output(work, qckm_, words):
    code, _, err = qckm_(*words, "-o", "/dev/full", "-q")
    assert (code, err) == (1, "qckm: /dev/full: No space left on device\n")


@pytest.mark.parametrize("output", ["m.csv", "labels.csv", "labels.parquet"])
def test_a_disk_full_on_syncing_is_named_by_the_output(work, qckm_, monkeypatch, output):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("qckm.common.atomic.os.fsync", full)
    words = ["decode", "s.qckm", "-k", 3] if output == "m.csv" else ["predict", "rows.csv", "-m", "m.json"]
    code, _, err = qckm_(*words, "-o", output, "-q")
    assert (code, err) == (1, f"qckm: {output}: No space left on device\n")


@pytest.mark.parametrize("length", [30, 100, 300])
def test_info_names_a_file_that_is_cut(work, qckm_, length):
    (work / "cut.qckm").write_bytes((work / "s.qckm").read_bytes()[:length])
    code, _, err = qckm_("info", "cut.qckm")
    assert code == 1
    assert err.startswith("qckm: cut.qckm: ")
    assert "cut short" in err


# Arrow reads ahead in a thread of its own, from a file of Python's, when the command has ended.
READING_AHEAD = """
import io, time, pyarrow as pa, pyarrow.csv
from qckm.cli import main

class Slow(io.RawIOBase):
    begun = False

    def readable(self):
        return True

    def read(self, size=-1):
        time.sleep(0.02 * self.begun)
        names, self.begun = b"" if self.begun else b"a,b\\n", True
        return names + b"1,2\\n" * 100_000

reader = pyarrow.csv.open_csv(pa.PythonFile(Slow(), "r"))
main(["--version"])
"""


def test_a_thread_that_still_reads_does_not_change_the_exit_code():
    done = subprocess.run([sys.executable, "-c", READING_AHEAD], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"qckm {qckm.__version__}\n", "")
