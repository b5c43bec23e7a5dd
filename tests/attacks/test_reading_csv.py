"""CSV by the rules, with Python's own reader as the oracle: the same rows from a file and a pipe, or a refusal.

Each test is named by its number in the list of holes that an adversarial round found.
"""

import csv
import gzip
import io
import os
import random
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import qckm
from qckm.cli import run
from qckm.errors import RowsError, SourceError
from qckm.sources import csv as reader
from qckm.sources.csv import CsvTable
from qckm.sources.opening import open_source
from qckm.sources.raw import Peekable, open_file
from qckm.sources.records import Records
from qckm.sources.table import Selection
from qckm.sources.text import TextFormat, number


class Pipe:
    """Gives bytes in pieces of odd sizes."""

    def __init__(self, data, rng):
        self.data, self.rng = data, rng

    def read(self, size):
        size = min(size, self.rng.choice([1, 2, 3, 7, 50, 10**6]))
        piece, self.data = self.data[:size], self.data[size:]
        return piece

    def close(self):
        pass


def outcome(table):
    """Names and rows of a CSV, or the words with which it is refused."""
    try:
        opened = table()
        names = [column.name for column in opened.columns]
        parts = [rows for rows, _ in opened.read(Selection(tuple(names)), 0, 5)]
    except SourceError as error:
        return str(error)
    rows = np.concatenate(parts) if parts else np.empty((0, len(names)))
    return opened, names, rows


def both(data, path, header=None, seed=0):
    """The same bytes as a file and as a pipe that pauses: the outcome of both."""
    path.write_bytes(data)
    rng = random.Random(seed)
    file = outcome(lambda: CsvTable(lambda: open_file(str(path)), "data", str(path), TextFormat(header)))
    pipe = outcome(lambda: CsvTable(lambda: Peekable(Pipe(data, rng)), "data", None, TextFormat(header)))
    if isinstance(file, str):
        assert pipe == file
    else:
        assert pipe[1] == file[1]
        np.testing.assert_array_equal(pipe[2], file[2])
    return file


def by_python(data, delimiter, header):
    text = data.removeprefix(b"\xef\xbb\xbf").decode("latin1")
    records = [cells for cells in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if cells]
    width = len(records[0])
    rows = [[number(cell) for cell in cells] if len(cells) == width else [np.nan] * width for cells in records[header:]]
    return np.array(rows).reshape(-1, width)


def test_09_a_stray_quote_is_refused_and_swallows_nothing(tmp_path):
    (tmp_path / "t.csv").write_bytes(b'a,b,t\n1,2,"27 inch\n3,4,x\n5,6,y\n')
    with pytest.raises(SourceError, match=r"t\.csv: expected the quote opened in line 2 to be closed, got the end"):
        list(open_source(tmp_path / "t.csv", columns=["a", "b"]).batches())


def test_09_a_stray_quote_among_quoted_cells_is_refused_too(tmp_path):
    (tmp_path / "t.csv").write_bytes(b'a,b,t\n1,2,"27 inch\n3,4,x\n5,6,"y"\n')
    with pytest.raises(SourceError, match=r"after the quote in line 4 that closes a cell opened in line 2"):
        list(open_source(tmp_path / "t.csv", columns=["a", "b"]).batches())


def test_09_a_stray_quote_in_the_first_line(tmp_path):
    (tmp_path / "t.csv").write_bytes(b'a,"27 inch\n' + b"1,2\n" * 1000)
    with pytest.raises(SourceError, match=r"the quote opened in line 1 to be closed within 100 lines"):
        open_source(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_bytes(b'a,"27 inch\n' + b"1,2\n" * 10)
    with pytest.raises(SourceError, match=r"the quote opened in line 1 to be closed, got the end of the file"):
        open_source(tmp_path / "t.csv")


def test_09_a_stray_quote_far_into_a_large_file(tmp_path):
    lines = [b"%d,%d,screen\n" % (line, line) for line in range(300_000)]
    lines[123_456] = b'1,2,"27 inch\n'
    (tmp_path / "t.csv").write_bytes(b"a,b,t\n" + b"".join(lines))
    with pytest.raises(SourceError, match="opened in line 123458"):
        list(open_source(tmp_path / "t.csv", columns=["a", "b"]).batches())


def test_09_quoted_line_breaks_are_part_of_a_cell_in_any_block(tmp_path, monkeypatch):
    rows = 3000
    text = b"a,note\n" + b"".join(b'%d,"one, ""two""\nthree\r\n%d"\n' % (row, row) for row in range(rows))
    for size in (1000, 4096, 1 << 23):
        monkeypatch.setattr(reader, "_BLOCK", size)
        (tmp_path / "t.csv").write_bytes(text)
        found = [batch.rows for batch in open_source(tmp_path / "t.csv", columns=["a"]).batches()]
        assert np.concatenate(found)[:, 0].tolist() == list(range(rows))


def test_09_line_breaks_in_quotes_beside_other_scripts_and_wrong_lines(tmp_path):
    """Re-encoded for pyarrow's view of wrong lines, a block was longer than the one piece it was to be parsed in."""
    data = b"a\n" + "é".encode("latin1") * 30 + b'5,"x\ny"\n 7\n'
    assert both(data, tmp_path / "t.csv")[2][:, 0].tolist()[1:] == [7]


def test_09_a_quote_inside_a_cell_is_a_character(tmp_path):
    file = both(b'a,size\n1,27"\n2,5\'11"\n3,"quoted ""this"" way"\n', tmp_path / "t.csv")
    assert file[2][:, 0].tolist() == [1, 2, 3]


def test_09_a_pipe_that_pauses_gives_the_rows_of_a_file(tmp_path):
    """The same through a real pipe, where pauses are in the middle of quoted cells."""
    lines = [b'%d,%d,"note, %d\nwith a ""break"""\n' % (line, line % 7, line) for line in range(2000)]
    text = b"a,b,note\n" + b"".join(lines)
    (tmp_path / "t.csv").write_bytes(text)
    op = qckm.SketchOperator.draw(2, 20, scale=1.0, random_state=0, feature_names=["a", "b"])
    op.empty().save(tmp_path / "op.qckm")
    words = [sys.executable, "-m", "qckm", "sketch", "-", "--operator", "op.qckm", "-q"]
    sketching = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path)
    rng = random.Random(0)
    start = 0
    while start < len(text):
        size = rng.randint(1, 8000)
        sketching.stdin.write(text[start : start + size])
        sketching.stdin.flush()
        start += size
        time.sleep(0.005)
    out, _ = sketching.communicate()
    assert qckm.files.loads(out) == qckm.sketch_source(op, tmp_path / "t.csv")
    assert qckm.files.loads(out).count == 2000


def test_09_named_pipes_lose_no_bytes_to_looking(tmp_path):
    """A path that is no file, as `<(zcat x)` gives, was opened twice: its first 64 kB were lost."""
    text = b"a,b\n" + b"".join(b"%d,%d\n" % (row, row) for row in range(20_000))
    os.mkfifo(tmp_path / "pipe")
    threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(text), daemon=True).start()
    source = open_source(tmp_path / "pipe")
    rows = np.concatenate([batch.rows for batch in source.batches()])
    assert (rows[:, 0] == np.arange(20_000)).all()
    assert source.stamps == ()


def test_09_a_pipe_that_does_not_wait_is_waited_for():
    """A descriptor that others made non-blocking says "nothing yet", which was taken for the end."""
    text = b"a,b\n" + b"".join(b"%d,%d\n" % (row, row) for row in range(3000))
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)

    def write():
        with os.fdopen(write_end, "wb", buffering=0) as file:
            for start in range(0, len(text), 5000):
                file.write(text[start : start + 5000])
                time.sleep(0.01)

    writer = threading.Thread(target=write)
    writer.start()
    table = CsvTable(lambda: Peekable(os.fdopen(read_end, "rb", buffering=0)), "data")
    rows = np.concatenate([rows for rows, _ in table.read(Selection(("a", "b")), 0, 10**6)])
    writer.join()
    assert rows[:, 0].tolist() == list(range(3000))


PIECES = [
    b"1", b"2.5", b"-3e2", b"+4", b".5", b"6.", b"x", b"27 inch", b"", b'"', b'""', b'"a"', b'"1"', b'"1,2"', b'"a\nb"',
    b'"a""b"', b",", b",", b",", b";", b"\t", b"|", b"\n", b"\n", b"\n", b"\r\n", b"\r", b" ", b"NA", b"inf", b"1_000",
    b"\xe9", b"\xc3\xa9", b"\xef\xbb\xbf", b"1,2,3\n", b"4,5,6\n", b"1e400", b"\xef\xbc\x91", b'" 1"', b'"1" ', b"\x0b",
    b"\x1c", b"\xc2\x85", b"\x1a", b"'", b"\\", b'\\"',
]  # fmt: skip


def test_09_random_text_means_what_python_says_or_is_refused(tmp_path, monkeypatch):
    """150 texts with a fixed seed, each with three headers, as a file and as a pipe, in blocks of any size."""
    rng = random.Random(20261115)
    read = refused = 0
    for _ in range(150):
        data = b"".join(rng.choice(PIECES) for _ in range(rng.randint(1, 30)))
        monkeypatch.setattr(reader, "_BLOCK", rng.choice([1, 3, 10, 64, 1 << 23]))
        for header in (None, True, False):
            found = both(data, tmp_path / "t.csv", header, rng.random())
            if isinstance(found, str):
                refused += 1
            else:
                table, _, rows = found
                np.testing.assert_array_equal(rows, by_python(data, table._first.delimiter, table.named))
                read += 1
    assert min(read, refused) > 100


def test_09_records_are_cut_the_same_whatever_the_pieces():
    rng = random.Random(1)
    for _ in range(1500):
        text = bytes(rng.choice(b'",\n\r1x') for _ in range(rng.randint(1, 60)))
        outcomes = set()
        for size in (1, 2, 3, 100):
            records, whole = Records("t", ","), b""
            try:
                for start in range(0, len(text), size):
                    block = records.feed(text[start : start + size])
                    whole += block.text if block else b""
                block = records.finish()
                outcomes.add(whole + (block.text if block else b""))
            except SourceError as error:
                outcomes.add(str(error))
        assert len({words if isinstance(words, str) else words.rstrip(b"\r\n") for words in outcomes}) == 1, text


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (b"a,b\r\n1,2\r\n3,4\r\n", [[1, 2], [3, 4]]),
        (b"a,b\r1,2\r3,4\r", [[1, 2], [3, 4]]),
        (b"a,b\n1,2\r\n3,4\r5,6", [[1, 2], [3, 4], [5, 6]]),
        (b"\xef\xbb\xbfa,b\n1,2\n", [[1, 2]]),
        (b'\xef\xbb\xbf"a","b"\n1,2\n', [[1, 2]]),
        (b"\n\r\n\na,b\n\n1,2\n\n\n3,4\n\n", [[1, 2], [3, 4]]),
        (b'"a\nb",c\n1,2\n', [[1, 2]]),
        (b"a;b\n1;2\n", [[1, 2]]),
        (b'"a;b","c;d"\n1,2\n', [[1, 2]]),
        (b"a|b\n1|2\n", [[1, 2]]),
        (b"a,b\n 1,\t2 \n", [[1, 2]]),
        (b'a,b\n"1","2"\n', [[1, 2]]),
        (b"a,b\n+1,1e3\n", [[1, 1000]]),
    ],
)
def test_09_line_ends_blank_lines_marks_and_delimiters(text, rows, tmp_path):
    assert both(text, tmp_path / "t.csv")[2].tolist() == rows


@pytest.mark.parametrize(
    "cell", ["1_000", "１２", "1,5", "0x10", "1e", "--1", "1 2", "true", "1\x0b", "\xa01", "½", "1d3"]
)
@pytest.mark.parametrize("beside", ["2", "oops"])  # the second has the block parsed in our own way
def test_10_what_is_no_number_is_a_bad_row_whoever_parses(cell, beside, tmp_path):
    quoted = f'"{cell}"' if "," in cell else cell
    (tmp_path / "t.csv").write_text(f"a\n1\n{quoted}\n{beside}\n3\n", encoding="utf-8")
    op = qckm.SketchOperator.draw(1, 5, scale=1.0, random_state=0)
    with pytest.raises(RowsError, match=r"row 1, the first is 0\), column 'a'"):
        qckm.sketch_source(op, tmp_path / "t.csv", columns=["a"])
    assert qckm.sketch_source(op, tmp_path / "t.csv", columns=["a"], on_bad="skip").skipped == 1 + (beside == "oops")


def test_10_nul_bytes_are_refused_with_their_line(tmp_path):
    words = both(b"a,b\n1,2\n3,\x004\n", tmp_path / "t.csv")
    assert words == "data: expected text, got a NUL byte in line 3. Remove it."
    with pytest.raises(SourceError, match=r"t\.csv: .*NUL byte in line 3"):
        open_source(tmp_path / "t.csv")
    (tmp_path / "late.csv").write_bytes(b"a,b\n" + b"1,2\n" * 30_000 + b"\x00,4\n")
    with pytest.raises(SourceError, match=r"late\.csv: .*NUL byte in line 30002"):
        list(open_source(tmp_path / "late.csv").batches())


def test_10_a_header_of_numbers_is_a_row_unless_said_otherwise(tmp_path):
    path = tmp_path / "years.csv"
    path.write_text("2019,2020\n1,2\n3,4\n")
    source = open_source(path)
    assert source.feature_names is None
    assert source.assumptions == (f"{path}: the first line holds numbers only, and was read as a row, not as names",)
    named = open_source(path, header=True)
    assert (named.feature_names, named.assumptions) == (("2019", "2020"), ())
    assert [batch.rows.tolist() for batch in named.batches()] == [[[1, 2], [3, 4]]]
    assert open_source(path, header=False).assumptions == ()
    with pytest.raises(SourceError, match=r"expected the column '2019', got 0, 1\. Note that the first line holds"):
        open_source(path, columns=["2019"])


def test_10_a_header_of_text_and_numbers_is_said(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("country,2019,2020\n1,2,3\n")
    assert "text and numbers, and was read as names" in open_source(path).assumptions[0]
    (tmp_path / "gap.csv").write_text("1,,3\n4,5,6\n")  # nothing is no name
    assert open_source(tmp_path / "gap.csv").feature_names is None
    (tmp_path / "index.csv").write_text(",a\n0,1\n1,2\n")
    assert "without a name" in open_source(tmp_path / "index.csv").assumptions[-1]
    assert open_source(tmp_path / "index.csv", columns=["a"]).assumptions[1:] == ()


@pytest.mark.parametrize(
    "words",
    [
        "sketch t.csv --operator op.qckm -o out",
        "fit t.csv -k 2 -o out.json",
        "operator t.csv -k 2 -o out",
        "encode t.csv --operator op.qckm -o out",
        "predict t.csv -m m.csv -o out.csv",
        "report m.csv --data t.csv -o out",
    ],
)
def test_10_every_verb_says_what_it_assumed_and_can_be_told(words, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{row % 5},{row % 3}\n" for row in range(100))
    (tmp_path / "t.csv").write_text(f"2019,2020\n{rows}")
    (tmp_path / "m.csv").write_text("cluster,weight,spread,0,1\n0,0.5,0,1,1\n1,0.5,0,3,3\n")
    qckm.SketchOperator.draw(2, 20, scale=1.0, random_state=0).empty().save("op.qckm")
    for options, said in (([], True), (["--header"], False), (["--no-header"], False)):
        assert run([*words.split(), *options]) == 0
        err = capfd.readouterr().err
        assert ("t.csv: the first line holds numbers only, and was read as a row" in err) == said


def test_10_another_header_is_another_run(tmp_path):
    np.savetxt(tmp_path / "t.csv", np.random.default_rng(0).normal(size=(1000, 2)), delimiter=",")
    words = "sketch t.csv --scale 1 --frequencies 9 -o out.qckm --resume".split()  # noqa: SIM905
    program = [sys.executable, "-m", "qckm", *words]
    subprocess.run(program, check=True, cwd=tmp_path, capture_output=True)
    first = qckm.load(tmp_path / "out.qckm")
    subprocess.run([*program, "--header"], check=True, cwd=tmp_path, capture_output=True)
    assert (first.count, qckm.load(tmp_path / "out.qckm").count) == (1000, 999)


@pytest.mark.parametrize("columns", [12_000, 40_000])
def test_10_a_first_line_may_be_long(columns, tmp_path):
    names = [f"column number {place}" for place in range(columns)]
    row = ",".join(str(place) for place in range(columns))
    (tmp_path / "wide.csv").write_text(",".join(names) + f"\n{row}\n{row}\n")
    source = open_source(tmp_path / "wide.csv")
    assert source.n_features == columns
    rows = np.concatenate([batch.rows for batch in source.batches()])
    assert (rows == np.arange(columns)).all()
    assert rows.shape == (2, columns)


def test_10_a_row_longer_than_a_piece_of_pyarrows(tmp_path):
    row = ",".join(f"{place}.{'5' * 90}" for place in range(20_000))
    (tmp_path / "wide.csv").write_text(f"{row}\n{row}\n{row}\n")
    rows = np.concatenate([batch.rows for batch in open_source(tmp_path / "wide.csv").batches()])
    assert rows.shape == (3, 20_000)
    assert rows[2, 7] == 7 + 5 / 9


def test_10_columns_without_end_are_refused(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"," * (1 << 21) + b"\n")
    with pytest.raises(SourceError, match=r"t\.csv: expected at most 1048576 columns, got more in line 1"):
        open_source(tmp_path / "t.csv")


def test_10_names_in_latin1_are_refused(tmp_path):
    (tmp_path / "t.csv").write_bytes("hauteur,âge\n1,2\n".encode("latin1"))
    with pytest.raises(SourceError, match=r"t\.csv: expected names in UTF-8, got b'\\xe2ge' in line 1\. Convert"):
        open_source(tmp_path / "t.csv")
    # Where the bytes are no names they do not matter, if the column is not read.
    (tmp_path / "t.csv").write_bytes("age,name\n1,Zoë\n2,x\n".encode("latin1"))
    assert [batch.rows.tolist() for batch in open_source(tmp_path / "t.csv", columns=["age"]).batches()] == [[[1], [2]]]
    (tmp_path / "t.csv").write_bytes("age,name\n1,Zoë\nx,Zoë\n2,Zoë,3\n".encode("latin1"))
    op = qckm.SketchOperator.draw(1, 5, scale=1.0, random_state=0)
    found = qckm.sketch_source(op, tmp_path / "t.csv", columns=["age"], on_bad="skip")
    assert (found.count, found.skipped) == (1, 2)


def test_10_the_first_row_tells_numbers_from_text_for_files_and_pipes_alike(tmp_path):
    for text, numeric in (
        (b"a,b\nx,1\n2,3\n", [False, True]),
        (b"a,b\n1,2\nx,3\n", [True, True]),
        (b"a,b\n,NA\n", [True, True]),
    ):
        table = both(text, tmp_path / "t.csv")[0]
        assert [column.numeric for column in table.columns] == numeric


def test_19_a_cell_of_a_megabyte_is_read_beside_a_bad_row(tmp_path):
    """Python's csv module refuses cells beyond 128 kB, and used to parse blocks with a bad row."""
    (tmp_path / "t.csv").write_bytes(b'a,note\n1,"%s"\nx,y\n3,z\n' % (b"long " * 200_000))
    op = qckm.SketchOperator.draw(1, 5, scale=1.0, random_state=0)
    found = qckm.sketch_source(op, tmp_path / "t.csv", columns=["a"], on_bad="skip")
    assert (found.count, found.skipped) == (2, 1)


@pytest.mark.parametrize("line", [b"3", b"3,4,5", b'"3,4"'])
def test_09_lines_of_too_few_or_many_fields_stay_bad_rows_with_their_line(line, tmp_path):
    (tmp_path / "t.csv").write_bytes(b'a,b\n\n"1\n",2\n\r\n1,2\n' + line + b"\n5,6\n")
    op = qckm.SketchOperator.draw(1, 5, scale=1.0, random_state=0)
    fields = 3 if line.count(b",") == 2 else 1
    with pytest.raises(RowsError, match=rf"expected 2 fields, as the first line has, got {fields} in line 7\."):
        qckm.sketch_source(op, tmp_path / "t.csv", columns=["b"])
    found = qckm.sketch_source(op, tmp_path / "t.csv", columns=["b"], on_bad="skip")
    assert (found.count, found.skipped) == (3, 1)


def test_19_compressed_files_are_checked_to_their_end(tmp_path):
    text = b"a,b\n" + b"".join(b"%d,%d\n" % (row, row) for row in range(20_000))
    whole = gzip.compress(text)
    (tmp_path / "two.csv.gz").write_bytes(whole + gzip.compress(b"7,8\n"))  # as `cat` makes it
    source = open_source(tmp_path / "two.csv.gz")
    assert sum(len(batch.rows) for batch in source.batches()) == 20_001
    for name, data in {
        "sum.csv.gz": whole[:-8] + bytes(4) + whole[-4:],
        "cut.csv.gz": whole[:-9],
        "tail.csv.gz": whole + b"\x1f\x8b broken",
    }.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(SourceError, match=name):
            list(open_source(tmp_path / name).batches())
