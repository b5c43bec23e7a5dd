"""Arrow IPC files and streams: messages, their metadata, bodies and the footer are changed, lengths redone."""

import io
import random
from pathlib import Path

import numpy as np
import pyarrow as pa

from fuzz.mutations import mutate_bytes, mutate_in_place
from fuzz.reading import MOST_ROWS, TEXT, check_rows, dice_of, is_text, numbers_of, outcome_of, pipe_of, require_same
from qckm.sources.ipc import open_arrow_stream

_RNG = np.random.default_rng(0)
_VALUES = _RNG.normal(size=40)
_START, _END = b"ARROW1\0\0", b"ARROW1"
_MARK = b"\xff\xff\xff\xff"

TABLES = {
    "plain": pa.table({"a": _VALUES, "b": _VALUES.astype(np.float32)}),
    "kinds": pa.table({"a": pa.array([1, None, 3] * 10, pa.int16()), "b": pa.array([True, False, None] * 10)}),
    "dictionary": pa.table({"a": pa.array([5.0, 7.0] * 15).dictionary_encode(), "b": pa.array(range(30))}),
    "half": pa.table({"a": np.arange(9, dtype=np.float16), "b": pa.array([1, 2, None] * 3, pa.decimal128(5, 2))}),
    "nulls": pa.table({"a": pa.nulls(8), "b": pa.array([2**63 - 1] * 8)}),
}


def _written(table: pa.Table, stream: bool, compression: str | None = None) -> bytes:
    out = io.BytesIO()
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(out, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table, max_chunksize=25)
    return out.getvalue()


EXAMPLES = {
    f"{name} {'stream' if stream else 'file'} {compression}": _written(table, stream, compression)
    for name, table in TABLES.items()
    for stream in (False, True)
    for compression in (None, "zstd", "lz4")
}


def make(rng: random.Random) -> bytes:
    """Return a file or a stream in which something is other than it was."""
    data = EXAMPLES[rng.choice(sorted(EXAMPLES))]
    if rng.random() < 0.15:
        return mutate_bytes(data, rng, 8)
    if data.startswith(_MARK):
        return b"".join(_changed(_messages(data), rng))
    length = int.from_bytes(data[-10:-6], "little")
    footer, body = data[-10 - length : -10], data[len(_START) : -10 - length]
    kind = rng.random()
    if kind < 0.4:
        footer = mutate_in_place(footer, rng)
    elif kind < 0.45:
        footer = mutate_bytes(footer, rng)
    if kind > 0.35:
        body = b"".join(_changed(_messages(body), rng))
    return _START + body + footer + len(footer).to_bytes(4, "little") + _END


def _messages(data: bytes) -> list[bytes]:
    """Return the messages of a stream: a mark, the length of the metadata, the metadata, the body."""
    found, at = [], 0
    while data[at : at + 4] == _MARK:
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        end = data.find(_MARK, at + 8 + length)  # the numbers here have no such bytes where messages could begin
        end = len(data) if end < 0 else end
        found.append(data[at:end])
        at = end
    assert b"".join(found) == data
    return found


def _changed(messages: list[bytes], rng: random.Random) -> list[bytes]:
    """Change metadata or a body, keeping sizes; or drop, repeat or exchange messages."""
    messages = list(messages)
    for _ in range(rng.choice((1, 1, 2, 3))):
        place, kind = rng.randrange(len(messages)), rng.random()
        message = messages[place]
        end = 8 + int.from_bytes(message[4:8], "little")
        if kind < 0.6:
            messages[place] = message[:8] + mutate_in_place(message[8:end], rng) + message[end:]
        elif kind < 0.85:
            messages[place] = message[:end] + mutate_in_place(message[end:], rng)
        elif kind < 0.9:
            messages[place] = rng.choice(messages)
        elif kind < 0.95:
            messages.insert(place, rng.choice(messages))
        else:
            messages[place] = message[: rng.randrange(len(message) + 1)]
    return messages


def check(data: bytes, folder: Path) -> str | None:
    """Read; what loads is what pyarrow makes of it, and what comes through a pipe; no more than the bytes can hold."""
    dice = dice_of(data)
    path = folder / "rows.arrow"
    path.write_bytes(data)
    source, rows = check_rows(path, dice)
    if is_text(source):
        return TEXT
    if data.startswith(_MARK):
        label = str(path)
        _, names, through_pipe, words = outcome_of(lambda: open_arrow_stream(pipe_of(data, dice), label))
        if not words:
            require_same(through_pipe[:, [names.index(name) for name in source.selection.names]], rows)
    if len(rows) > MOST_ROWS:
        return None
    open_ = pa.ipc.open_stream if data.startswith(_MARK) else pa.ipc.open_file
    places = [open_(io.BytesIO(data)).schema.names.index(name) for name in source.selection.names]
    table = open_(io.BytesIO(data), options=pa.ipc.IpcReadOptions(included_fields=places)).read_all()
    expected = [numbers_of(table.column(name)) for name in source.selection.names]
    require_same(rows, np.stack(expected, axis=1).reshape(rows.shape))
    return None
