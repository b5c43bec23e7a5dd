"""Thrift's compact protocol: what is wanted is read, whatever else is passed over, and nothing goes on for ever."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from qckm.sources.parquet_sizes import (
    BINARY,
    INT32,
    INT64,
    read_bytes,
    read_footer,
    read_struct,
    read_whole,
    skip,
    struct_of,
    structs_of,
)

NUMBER, TEXT = (INT32, read_whole), (BINARY, read_bytes)


def test_wanted_fields_are_found_between_others():
    data = b"\x15\x0e" + b"\x18\x03abc" + b"\x1c\x15\x02\x00" + b"\x19\x1c\x15\x04\x00" + b"\x00"
    fields = {1: NUMBER, 2: TEXT, 3: struct_of({1: NUMBER}), 4: structs_of({1: NUMBER})}
    assert read_struct(data, 0, fields) == (len(data), {1: 7, 2: b"abc", 3: {1: 1}, 4: [{1: 2}]})
    assert read_struct(data, 0, {4: fields[4]}) == (len(data), {4: [{1: 2}]})


def test_a_field_of_another_kind_is_refused():
    """pyarrow would pass over it, and take what we did not look at."""
    with pytest.raises(ValueError, match="of another kind: 1"):
        read_struct(b"\x15\x0e\x00", 0, {1: (INT64, read_whole)})


@pytest.mark.parametrize("head", [b"\x19", b"\x1c"], ids=["lists", "structs"])
def test_deep_nesting_is_refused_before_the_stack_ends(head):
    with pytest.raises(ValueError, match="nested too deeply"):
        skip(head * 100_000, 0, head[0] & 15)


def test_the_end_of_data_is_noticed():
    for data, fields in ((b"\x15", {1: NUMBER}), (b"\x18\x7fabc", {1: TEXT}), (b"\x19\xfc\xff\xff\x03", {}), (b"", {})):
        with pytest.raises(IndexError):
            read_struct(data, 0, fields)


def test_a_footer_says_what_pyarrow_wrote():
    out = io.BytesIO()
    table = pa.table({"a": [1.0, 2.0, 3.0], "b": [1, 2, 3]}).replace_schema_metadata({"key": "value"})
    pq.write_table(table, out, compression="zstd", row_group_size=2)
    footer, written = read_footer(out), pq.ParquetFile(out).metadata
    assert footer.rows == (2, 1)
    assert (b"key", b"value") in footer.notes
    assert not footer.nested
    for number, group in enumerate(footer.chunks):
        for place, chunk in enumerate(group):
            column = written.row_group(number).column(place)
            assert chunk.start == min(column.data_page_offset, column.dictionary_page_offset)
            assert (chunk.size, chunk.codec, chunk.kind) == (
                column.total_compressed_size,
                6,
                {"a": 5, "b": 2}["ab"[place]],
            )
    assert read_footer(out, {1}).chunks == tuple(group[1:] for group in footer.chunks)
    assert read_footer(io.BytesIO(out.getvalue())).chunks == footer.chunks


def test_lists_and_children_are_nested():
    for column in ([[1.0]], [{"x": 1.0}]):
        out = io.BytesIO()
        pq.write_table(pa.table({"a": column}), out)
        assert read_footer(out).nested
