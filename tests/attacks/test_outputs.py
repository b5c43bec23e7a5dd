"""Holes that attacks on files, terminals and pages found (issue 14), by their numbers: each stays closed."""

import ast
import csv
import errno
import io
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import qckm
from qckm.cli import run
from qckm.common import atomic
from qckm.errors import BusyError, CheckpointError
from qckm.models import FORMAT, Model, read_model, to_csv, to_json, to_npz, to_parquet
from qckm.sketch import checkpoints, files
from qckm.sketch.sketch import State

SOURCES = Path(qckm.__file__).parent
WRITERS = {"json": to_json, "csv": to_csv, "parquet": to_parquet, "npz": to_npz}

HOSTILE = [
    *("", "0", "1", "feature 0", "feature 1", "cluster", "weight", "spread", "spread in units", "unit", "distance"),
    *("'weight", "''weight", "'0", "'", "'=1", "a,b", 'say "x"', "two\nlines", "re\rturn", "\0", "\ufeff"),
    *("=1+1", "+1", "-1", "@SUM(A1)", "\t=1+1", "\r=1", " =1", "＝1", "nan", "PAR1", "{", "#"),
    *("\ud800", "\\ud800", "\x1b[31m", "ç", "👩\u200d💻"),
]
NAMES = st.lists(st.sampled_from(HOSTILE) | st.text(st.characters(), max_size=6), min_size=1, max_size=6, unique=True)


def qckm_process(*words, **options):
    """Run the command line in a process of its own."""
    command = [sys.executable, "-m", "qckm", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def model_of(names, units=1.0):
    rng = np.random.default_rng(0)
    n = len(names)
    return Model(rng.normal(size=(3, n)), np.full(3, 1 / 3), np.ones(3), np.full(n, units), tuple(names), {"rows": 9})


# --- 11: names of ours and names of theirs ---


@pytest.mark.parametrize("ending", ["json", "csv", "parquet", "npz"])
@pytest.mark.parametrize("columns", ["weight,height", "cluster,spread", "unit,distance", "0,1", "feature 0,feature 1"])
def test_11_a_column_named_weight_is_fitted_and_predicted(tmp_path, monkeypatch, capfd, ending, columns):
    monkeypatch.chdir(tmp_path)
    rows = np.repeat([[0.0, 0.0], [9.0, 9.0]], 50, axis=0) + np.random.default_rng(0).normal(size=(100, 2))
    names = columns.split(",")
    pq.write_table(pa.table(dict(zip(names, rows.T, strict=True))), "rows.parquet")
    assert run(["fit", "rows.parquet", "-k", "2", "-o", f"m.{ending}", "-q"]) == 0, capfd.readouterr().err
    assert run(["predict", "rows.parquet", "-m", f"m.{ending}", "-o", "l.csv", "-q"]) == 0, capfd.readouterr().err
    assert qckm.load_model(f"m.{ending}").feature_names == tuple(names)
    labels = np.loadtxt("l.csv", skiprows=1)
    assert (labels[:50] == labels[0]).all()
    assert labels[0] != labels[-1]


@pytest.mark.parametrize("ending", WRITERS)
@settings(max_examples=300)
@given(names=NAMES, units=st.sampled_from([1.0, 2.0]))
@example(names=HOSTILE, units=1.0)
@example(names=HOSTILE[::-1], units=2.0)
def test_11_every_name_comes_back_from_every_format(ending, names, units):
    model = model_of(names, 1.0 if ending == "csv" else units)  # a table has no units
    back = read_model(WRITERS[ending](model), "x")
    assert back.feature_names == tuple(names)
    for name in ("centers", "weights", "spreads", "units"):
        np.testing.assert_array_equal(getattr(back, name), getattr(model, name))


@given(names=NAMES)
def test_11_no_two_columns_of_a_table_have_one_name(names):
    text = to_csv(model_of(names)).decode("utf-8", "surrogatepass")
    header = next(csv.reader(io.StringIO(text, newline="")))
    assert len(set(header)) == len(header) == len(names) + 3
    schema = pq.read_schema(io.BytesIO(to_parquet(model_of(names)))).names
    assert len(set(schema)) == len(schema)


def test_11_models_written_before_are_read():
    old = "cluster,weight,spread,weight,=x,'a\nunit,,,2.0,1.0,1.0\n0,0.5,0.0,1.0,2.0,3.0\n1,0.5,0.0,4.0,5.0,6.0\n"
    assert read_model(old.encode(), "x").feature_names == ("weight", "=x", "'a")
    assert read_model(old.encode(), "x").units.tolist() == [2.0, 1.0, 1.0]
    notes = {"units": [1.0, 1.0], "feature_names": ["weight", "b"], "facts": {"objective": float("nan")}}
    schema = pa.schema(
        [("cluster", pa.int32()), *((name, pa.float64()) for name in ("weight", "spread", "weight", "b"))],
        metadata={FORMAT: json.dumps(notes)},
    )
    out = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array([0], pa.int32()), *[pa.array([1.0])] * 4], schema=schema), out)
    back = read_model(out.getvalue(), "x")
    assert (back.feature_names, back.centers.tolist()) == (("weight", "b"), [[1.0, 1.0]])
    assert back.facts == {"objective": None}


def test_11_clusters_that_were_sorted_otherwise_are_refused():
    """A spreadsheet that sorts the lines would give every cluster another number, in silence."""
    with pytest.raises(qckm.errors.FileError, match=r"line 2: expected cluster 0, got '1'"):
        read_model(b"cluster,weight,spread,a\n1,0.5,0.0,1.0\n0,0.5,0.0,2.0\n", "x")


def test_11_facts_of_a_file_do_not_pass_for_what_info_found(tmp_path, capfd):
    facts = {"kind": "sketch", "clusters": 7, "columns": ["x"], "weights": [1], "n" * 10_000: 1}
    Model(np.eye(2), np.full(2, 0.5), np.zeros(2), np.ones(2), None, facts).save(tmp_path / "m.json")
    assert run(["info", str(tmp_path / "m.json"), "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["kind"], found["clusters"], found["columns"], found["weights"]) == (
        "model",
        2,
        ["0", "1"],
        [0.5, 0.5],
    )
    assert run(["info", str(tmp_path / "m.json")]) == 0
    assert len(capfd.readouterr().out) < 11_000  # no line is as wide as the longest name


# --- 15: terminals and spreadsheets ---

ESCAPES = [
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b[2J",
    "\x9b31m",
    "\r",
    "\x07",
    "\x00",
    "\u202e",
    "\u2028",
    "\ud800",
    "a\nqckm: all is well",
]


def is_shown(text):
    return all(one.isprintable() or one == "\n" for one in text)


@pytest.mark.parametrize("escape", ESCAPES)
def test_15_names_in_files_do_not_reach_the_terminal(tmp_path, monkeypatch, capfd, escape):
    monkeypatch.chdir(tmp_path)
    op = qckm.SketchOperator.draw(2, 8, scale=1.0, random_state=0, feature_names=[f"a{escape}", "b"])
    op.sketch(np.eye(2)).save("s.qckm")
    model_of([f"a{escape}", "b"]).save("m.json")
    Path("rows.csv").write_text("x,y\n1,2\n3,4\n")
    facts = {escape: escape, "seconds": {escape: 1.0}, "list": [escape, {escape: [escape]}]}
    Path("facts.json").write_bytes(to_json(Model(np.eye(2), np.ones(2), np.ones(2), np.ones(2), None, facts)))
    for words in (
        "info s.qckm", "info m.json", "info facts.json", "predict rows.csv -m m.json",
        "sketch rows.csv --operator s.qckm -o o.qckm", "report m.json --data rows.csv -o r.html", "decode s.qckm -k 9",
    ):  # fmt: skip
        run(words.split())
        out, err = capfd.readouterr()
        assert is_shown(out), (words, out)
        assert is_shown(err), (words, err)
        assert "\nqckm: all is well" not in out + err
        assert "a fault of qckm" not in err


@pytest.mark.parametrize("verb", ["info", "decode -k 2", "predict rows -m", "report"])
def test_15_names_of_files_do_not_reach_the_terminal(tmp_path, monkeypatch, capfd, verb):
    monkeypatch.chdir(tmp_path)
    name = "a\x1b]52;c;ZXZpbA==\x07\nqckm: all is well"
    for content in (None, b"junk", b"PAR1", b"\x89QCKM\r\n\x1a"):
        if content is not None:
            Path(name).write_bytes(content)
        assert run([*verb.split(), name]) in (1, 2)
        out, err = capfd.readouterr()
        assert is_shown(out + err)
        assert "\nqckm: all is well" not in out + err


def test_15_only_one_file_of_the_command_line_talks():
    """Whatever is printed goes through console.py, which shows it: by construction."""
    for path in sorted((SOURCES / "cli").rglob("*.py")):
        if path.name == "console.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in ("print", "click.echo", "click.secho", "sys.stderr.write", "sys.stdout.write"), (
                    path
                )
                assert not called.endswith(".show"), path


def test_15_warnings_are_shown(tmp_path):
    code = "import warnings, qckm.cli as cli\ncli.run = lambda *_: warnings.warn('a\\x1b[31mb\\nc') or 0\ncli.main([])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == "warning: a\\x1b[31mb\\nc\n"


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal")
def test_15_a_model_on_a_terminal_is_shown_and_in_a_pipe_is_data(tmp_path):
    op = qckm.SketchOperator.draw(1, 20, scale=1.0, random_state=0, feature_names=["\x1b[31m"])
    op.sketch(np.random.default_rng(0).normal(size=(50, 1))).save(tmp_path / "s.qckm")
    words = [sys.executable, "-m", "qckm", "decode", str(tmp_path / "s.qckm"), "-k", "1", "-q"]
    import pty

    ours, theirs = pty.openpty()
    subprocess.run(words, stdout=theirs, check=True)
    os.close(theirs)
    assert b"\x1b" not in (seen := os.read(ours, 10_000))
    assert b"\\x1b[31m" in seen
    os.close(ours)
    assert b"\x1b[31m" in subprocess.run(words, capture_output=True, check=True).stdout


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "＝1"])
def test_15_no_heading_is_a_formula(name):
    text = to_csv(model_of([name])).decode()
    heading = next(csv.reader(io.StringIO(text, newline="")))[3]
    assert heading == f"'{name}"
    assert read_model(text.encode(), "x").feature_names == (name,)


# --- 16: who may read a file, and two processes at work on one ---

posix = pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
OPERATOR = qckm.SketchOperator.draw(2, 8, scale=1.0, random_state=0)


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o660, 0o644])
def test_16_a_file_that_is_replaced_keeps_its_mode(tmp_path, monkeypatch, mode):
    monkeypatch.chdir(tmp_path)
    for name in ("total.qckm", "part.qckm"):
        OPERATOR.sketch(np.eye(2)).save(name)
    model_of("ab").save("m.json")
    os.chmod("total.qckm", mode)
    os.chmod("m.json", mode)
    assert run(["merge", "total.qckm", "part.qckm", "-o", "total.qckm", "-q"]) == 0
    assert mode_of("total.qckm") == mode
    assert run(["decode", "total.qckm", "-k", "1", "-o", "m.json", "-q"]) == 0
    assert mode_of("m.json") == mode
    qckm.load("part.qckm").save("total.qckm")
    assert mode_of("total.qckm") == mode


@posix
@pytest.mark.parametrize("umask, mode", [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_16_a_new_file_follows_the_umask(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        OPERATOR.empty().save(tmp_path / "new.qckm")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "new.qckm") == mode


@posix
def test_16_a_file_is_private_while_it_is_written_in_a_private_ones_place(tmp_path):
    path = tmp_path / "private"
    path.write_bytes(b"old")
    os.chmod(path, 0o600)
    with atomic.replacing(path) as temporary:
        assert mode_of(temporary) == 0o600


@posix
def test_16_a_checkpoint_is_no_more_open_than_its_output(tmp_path):
    output = tmp_path / "out.qckm"
    OPERATOR.empty().save(output)
    os.chmod(output, 0o600)
    path = checkpoints.path_of(str(output))
    checkpoints.save(checkpoints.Checkpoint(State(OPERATOR.empty()), (), {}), path)
    assert mode_of(path) == 0o600


@posix
@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root gives files away")
def test_16_a_file_that_is_replaced_keeps_its_owner(tmp_path):
    path = tmp_path / "theirs.qckm"
    OPERATOR.empty().save(path)
    os.chown(path, 12345, 54321)
    OPERATOR.empty().save(path)
    assert (os.stat(path).st_uid, os.stat(path).st_gid) == (12345, 54321)


@posix
@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root gives files away")
def test_16_a_group_that_cannot_be_kept_gives_its_rights_to_nobody(tmp_path, monkeypatch):
    path = tmp_path / "theirs.qckm"
    OPERATOR.empty().save(path)
    os.chown(path, 12345, 54321)
    os.chmod(path, 0o664)

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "fchown", refuse)
    OPERATOR.empty().save(path)
    assert mode_of(path) == 0o644


def test_16_twenty_merges_at_once_lose_nothing(tmp_path):
    total, part = tmp_path / "total.qckm", tmp_path / "part.qckm"
    OPERATOR.sketch(np.zeros((1, 2))).save(total)
    OPERATOR.sketch(np.ones((3, 2))).save(part)
    words = [sys.executable, "-m", "qckm", "merge", str(total), str(part), "-o", str(total)]
    running = [subprocess.Popen(words, stderr=subprocess.PIPE, text=True) for _ in range(20)]
    said = [process.communicate(timeout=240)[1] for process in running]
    assert [process.returncode for process in running] == [0] * 20, said
    assert qckm.load(total) == OPERATOR.sketch(np.repeat([[0.0, 0.0], [1.0, 1.0]], [1, 60], axis=0))
    assert sorted(os.listdir(tmp_path)) == ["part.qckm", "total.qckm"]


def test_16_what_replaces_a_file_waits_for_what_updates_it(tmp_path):
    """Not only updates: a plain `-o` in between would be undone by the update's end."""
    path = tmp_path / "total.qckm"
    OPERATOR.empty().save(path)
    with files.updating(path) as replace:
        saving = threading.Thread(target=OPERATOR.sketch(np.ones((7, 2))).save, args=(path,))
        saving.start()
        saving.join(0.3)
        assert saving.is_alive()
        replace(files.dumps(OPERATOR.sketch(np.ones((2, 2)))))
    saving.join(10)
    assert qckm.load(path).count == 7


def test_16_threads_lose_nothing_either(tmp_path):
    path = tmp_path / "count"
    atomic.write_atomically(path, b"0")

    def count():
        for _ in range(5):
            with files.updating(path) as replace:
                replace(b"%d" % (int(path.read_bytes()) + 1))

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() == b"40"
    assert os.listdir(tmp_path) == ["count"]


def test_16_a_lock_whose_holder_was_killed_is_free(tmp_path):
    path = tmp_path / "total.qckm"
    code = """
import sys, time
from qckm.common import atomic
with atomic.locked(sys.argv[1]):
    print(flush=True)
    time.sleep(99)
"""
    holder = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    holder.stdout.readline()
    with pytest.raises(BusyError, match=r"total.qckm: another process is at work.*Nothing was written"):
        atomic.locked(path, patience=0.2).__enter__()
    holder.kill()
    holder.communicate()
    assert (tmp_path / ".total.qckm.lock").exists()
    with atomic.locked(path, patience=5):
        pass
    assert not os.listdir(tmp_path)


def test_16_a_lock_that_was_removed_by_hand_takes_no_others_with_it(tmp_path):
    path, lock = tmp_path / "total.qckm", tmp_path / ".total.qckm.lock"
    with atomic.locked(path):
        lock.unlink()
        lock.write_bytes(b"another's")
    assert lock.exists()


def test_16_a_wait_is_said_and_ends(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(atomic, "_SILENCE", 0.05)
    OPERATOR.sketch(np.eye(2)).save("total.qckm")
    held = atomic.locked("total.qckm")
    held.__enter__()
    threading.Timer(0.5, held.__exit__, (None, None, None)).start()
    assert run(["merge", "total.qckm", "total.qckm", "-o", "total.qckm"]) == 0
    assert "waiting for another process that is at work on total.qckm" in capfd.readouterr().err
    assert qckm.load("total.qckm").count == 4


@pytest.mark.parametrize("verb", ["sketch --scale 1 --frequencies 9", "fit -k 1"])
def test_16_two_runs_with_one_output_are_refused(tmp_path, monkeypatch, capfd, verb):
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("a,b\n" + "1,2\n3,4\n" * 20)
    first, *options = verb.split()
    output = "out.json" if first == "fit" else "out.qckm"
    with atomic.locked(output, kind="run"):
        assert run([first, "rows.csv", *options, "-o", output]) == 1
        assert f"{output}: another process is at work on this file" in capfd.readouterr().err
        assert sorted(os.listdir()) == [f".{output}.run", "rows.csv"]
    assert run([first, "rows.csv", *options, "-o", output]) == 0
    assert sorted(os.listdir()) == sorted([output, "rows.csv"])


def test_16_two_streams_with_one_file_are_found_out(tmp_path, monkeypatch):
    from qckm.engines import spark_stream

    monkeypatch.setattr(spark_stream.engines, "sketch", lambda operator, rows, *_, **__: operator.sketch(rows))
    one, other = (spark_stream.StreamSketch(OPERATOR, tmp_path / "sum.checkpoint") for _ in range(2))
    one(np.eye(2), 0)
    with pytest.raises(CheckpointError, match="another stream has written to this file"):
        other(np.eye(2), 0)
    one(np.eye(2), 1)
    assert checkpoints.load(str(tmp_path / "sum.checkpoint")).state.sketch.count == 4


def test_16_without_locks_updates_are_refused_and_files_written(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    OPERATOR.sketch(np.eye(2)).save("total.qckm")

    def refuse(_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(atomic, "_lock", refuse)
    assert run(["merge", "total.qckm", "total.qckm", "-o", "total.qckm"]) == 1
    assert "total.qckm: cannot be locked (No locks available): write to a file elsewhere" in capfd.readouterr().err
    assert qckm.load("total.qckm").count == 2
    OPERATOR.sketch(np.eye(2)).save("other.qckm")
    assert sorted(os.listdir()) == ["other.qckm", "total.qckm"]
