"""Tables survive kills, half a header and a second process; workers do not survive their parent."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))

from paper import phase
from paper.runner import Table, run


def square(number):
    return [(number, number**2)]


def refuse(number):
    raise AssertionError("measured twice")


def test_a_run_resumes_after_a_kill(tmp_path):
    table = Table("squares", ["number", "square"], n_keys=1, folder=tmp_path)
    run(table, [1, 2, 3], square, processes=1)
    table.path.write_text(table.path.read_text() + "4,1")  # cut off in the middle of a row
    assert table.done() == {("1",), ("2",), ("3",)}
    run(table, [number for number in (1, 2, 3, 4) if (str(number),) not in table.done()], square, processes=2)
    assert table.path.read_text() == "number,square\n1,1\n2,4\n3,9\n4,16\n"
    run(table, [number for number in (1, 2, 3, 4) if (str(number),) not in table.done()], refuse, processes=1)


def test_a_packed_table_is_read_and_goes_on(tmp_path):
    table = Table("squares", ["number", "square"], n_keys=1, folder=tmp_path)
    run(table, [1, 2], square, processes=1)
    table.pack()
    assert [path.name for path in tmp_path.iterdir()] == ["squares.csv.gz"]
    assert table.done() == {("1",), ("2",)}
    with table.alone():
        run(table, [3], square, processes=1)
    assert table.path.read_text() == "number,square\n1,1\n2,4\n3,9\n"


def square_unless_first(number):
    time.sleep(0.5 if number == 1 else 0)
    return square(number)


def test_a_slow_job_holds_up_no_others(tmp_path):
    table = Table("squares", ["number", "square"], n_keys=1, folder=tmp_path)
    run(table, [1, 2, 3, 4, 5, 6, 7], square_unless_first, processes=2, in_order=False)
    assert {row["number"] for row in table.read()} == set("1234567")
    assert table.read()[-1]["number"] == "1"


@pytest.mark.parametrize("left", ["", "numb", "number,square"])
def test_a_table_without_a_whole_header_gets_one(tmp_path, left):
    table = Table("squares", ["number", "square"], n_keys=1, folder=tmp_path)
    table.path.write_text(left)
    assert table.done() == set()
    run(table, [1], square, processes=1)
    assert table.path.read_text() == "number,square\n1,1\n"


def test_a_table_of_another_header_is_refused(tmp_path):
    table = Table("squares", ["number", "square"], n_keys=1, folder=tmp_path)
    table.path.write_text("1,1\n2,4\n")
    with pytest.raises(ValueError, match="begin with number,square, got 1,1"):
        table.done()


def test_the_repair_of_a_cut_line_leaves_the_others_where_they_are(tmp_path, monkeypatch):
    """A kill during the repair would lose what has been rewritten: the file is never written from its beginning."""
    table = Table("squares", ["number", "square"], n_keys=1, folder=tmp_path)
    table.path.write_text("number,square\n1,1\n2,")
    monkeypatch.setattr(Path, "write_text", refuse)
    monkeypatch.setattr(Path, "write_bytes", refuse)
    table.append([(2, 4)])
    assert table.path.read_text() == "number,square\n1,1\n2,4\n"


def test_one_process_a_table(tmp_path):
    table = Table("squares", ["number", "square"], n_keys=1, folder=tmp_path)
    with table.alone(), pytest.raises(SystemExit, match="Another process is measuring"), table.alone():
        pass
    with table.alone():  # and free again
        run(table, [1], square, processes=1)
    with phase.table_of("2a", "paper", tmp_path).alone(), pytest.raises(SystemExit, match="Another process"):
        phase.measure_figure("2a", "paper", 1, folder=tmp_path)


def test_workers_end_with_a_parent_that_was_killed(tmp_path):
    script = (
        "import os, sys, time; from pathlib import Path; from paper.runner import Table, run\n"
        # One write, which a pipe keeps whole: print writes the end of the line apart, and there are two workers.
        "def work(job): os.write(1, b'at work\\n'); time.sleep(0.1); return [(job,)]\n"
        "table = Table('jobs', ['job'], 1, Path(sys.argv[1]))\n"
        "with table.alone(): run(table, range(10_000), work, 2)\n"
    )
    path = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": path}) as parent:
        assert parent.stdout.readline() == b"at work\n"
        parent.send_signal(signal.SIGKILL)
        parent.communicate(timeout=60)  # the workers have the pipe, too: it closes when they have ended
    with Table("jobs", ["job"], 1, tmp_path).alone():
        pass
