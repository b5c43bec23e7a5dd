"""CSV as others write it: other marks, comments; and JSON lines."""

import gzip
import json

import numpy as np
import pytest

from qckm.errors import RowsError, SourceError
from qckm.sources.opening import open_source
from qckm.sources.raw import Peekable
from qckm.sources.text_table import without_comments


def rows_of(source):
    return np.concatenate([batch.rows for batch in source.batches()]).tolist()


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_decimal_commas_are_read_and_points_are_then_none(tmp_path):
    path = write(tmp_path / "a.csv", "x;y\n1,5;2\n-0,25;1e3\n")
    assert rows_of(open_source(path, decimal=",")) == [[1.5, 2], [-0.25, 1000]]
    with pytest.raises(SourceError, match="decimal=','"):
        open_source(path)
    path = write(tmp_path / "b.csv", "x;y\n1,5;2\n1.5;3\n")
    with pytest.raises(RowsError, match="column 'x'"):
        [batch.require_finite() for batch in open_source(path, decimal=",").batches()]


@pytest.mark.parametrize("delimiter", [";", "\t", "tab", " ", ":", "~"])
def test_any_delimiter(tmp_path, delimiter):
    mark = "\t" if delimiter == "tab" else delimiter
    path = write(tmp_path / "a.csv", f"x,1{mark}y\n1{mark}2\n3{mark}4\n")
    source = open_source(path, delimiter=delimiter)
    assert source.feature_names == ("x,1", "y")
    assert rows_of(source) == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "wrong",
    [
        {"delimiter": ",,"},
        {"delimiter": '"'},
        {"delimiter": "é"},
        {"delimiter": "1"},
        {"delimiter": ",", "decimal": ","},
        {"decimal": "'"},
        {"comment": "-"},
        {"comment": ",", "delimiter": ","},
    ],
)
def test_marks_that_make_no_sense_are_refused(tmp_path, wrong):
    with pytest.raises(SourceError, match="Expected"):
        open_source(write(tmp_path / "a.csv", "1,2\n"), **wrong)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_comments_are_passed_over_wherever_they_are(tmp_path, end, bom):
    lines = ["# made by", '# "us', "x,y", "# one,two", "1,2", "#", "3,4", "# last"]
    path = write(tmp_path / "a.csv", bom + end.join(lines))
    source = open_source(path, comment="#")
    assert source.feature_names == ("x", "y")
    assert rows_of(source) == [[1, 2], [3, 4]]


def test_a_comment_at_the_top_that_nobody_spoke_of_is_no_header(tmp_path):
    with pytest.raises(SourceError, match=r"line 1, got '# made by us', and 2 fields .* comment='#'"):
        open_source(write(tmp_path / "a.csv", "# made by us\nx,y\n1,2\n"))
    assert open_source(write(tmp_path / "b.csv", "#x,y\n1,2\n")).feature_names == ("#x", "y")


def test_lines_keep_their_numbers_beside_comments(tmp_path):
    path = write(tmp_path / "a.csv", "x,y\n# one\n1,2\n# two\n3\n")
    with pytest.raises(RowsError, match="in line 5"):
        [batch.require_finite() for batch in open_source(path, comment="#").batches()]


@pytest.mark.parametrize("cell", ["a\nb", "a\n#b\nc"])
def test_line_breaks_in_cells_do_not_go_with_comments(tmp_path, cell):
    path = write(tmp_path / "a.csv", f'x,y\n1,"{cell}"\n')
    with pytest.raises(SourceError, match="line breaks"):
        rows_of(open_source(path, columns=["x"], comment="#"))


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_comments_are_found_however_the_bytes_arrive(size):
    class Slow:
        def __init__(self):
            self.left = b"#a\r\n1,2\n#b\n\n3,4\r#c\r5,6"

        def read(self, many):
            found, self.left = self.left[: min(size, many)], self.left[min(size, many) :]
            return found

        def close(self):
            pass

    assert without_comments(Peekable(Slow()), "#").readall() == b"\r\n1,2\n\n\n3,4\r\r5,6"


def test_json_lines_are_read_as_csv_is(tmp_path):
    lines = [{"x": 1, "y": 2.5, "name": "a"}, {"name": "b", "y": -1e3, "x": 12345678901234567890}]
    text = "\n".join(map(json.dumps, lines))
    plain = write(tmp_path / "a.jsonl", text)
    packed = write(tmp_path / "a.jsonl.gz", gzip.compress(text.encode()))
    for path in (plain, packed):
        with pytest.raises(SourceError, match=r"'name' \(text such as 'a'\). Choose columns=\['x', 'y'\]"):
            open_source(path)
        assert rows_of(open_source(path, columns=["y", "x"])) == [[2.5, 1], [-1000, 1.2345678901234567e19]]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"x": "3"}', "expected a finite number in line 3 (row 1, the first is 0), column 'x', got '3'"),
        ('{"x": [1]}', "in line 3 (row 1, the first is 0), column 'x', got [1]"),
        ('{"x": 1, "x": 2}', "a key is there twice"),
        ("{", "expected an object of JSON in line 3"),
        ("5", "expected an object of JSON in line 3"),
        ('{"x": 1}{"x": 2}', "expected an object of JSON in line 3"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, fault):
    path = write(tmp_path / "a.jsonl", f'{{"x": 1}}\n\n{line}\n{{"x": 4}}\n')
    with pytest.raises(RowsError) as error:
        [batch.require_finite() for batch in open_source(path).batches()]
    assert fault in str(error.value)
    rows = np.concatenate([batch.finite_rows() for batch in open_source(path).batches()])
    assert rows.tolist() == [[1], [4]]


def test_what_json_has_beside_numbers(tmp_path):
    path = write(tmp_path / "a.jsonl", '{"x": 1, "y": 1}\n{"x": true, "y": 2}\n{"y": 3}\n{"x": null, "y": 1e400}\r\n')
    rows = rows_of(open_source(path))
    np.testing.assert_equal(rows, [[1, 1], [1, 2], [np.nan, 3], [np.nan, np.inf]])


@pytest.mark.parametrize("text", ['[{"x": 1}]', "[\n{}]", '{\n"x": 1}'])
def test_json_that_is_no_lines_is_refused(tmp_path, text):
    with pytest.raises(SourceError, match="JSON lines, one"):
        open_source(write(tmp_path / "a.json", text))


def test_blocks_change_nothing(tmp_path, monkeypatch):
    path = write(tmp_path / "a.jsonl", "".join(f'{{"x": {value}}}\n' for value in range(50)))
    monkeypatch.setattr("qckm.sources.json_lines._BLOCK", 13)
    assert rows_of(open_source(path)) == [[value] for value in range(50)]
