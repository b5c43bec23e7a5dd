"""A file of version 3: sections, each with a letter, a length and what it holds (docs/file-format.md).

There is one way to write a sketch, and a file that is written otherwise is refused. A section of a capital letter must
be understood by whoever reads the file; others may be left out. Sections come in the order of their letters.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from qckm.common import foreign_files
from qckm.common.arrays import Array, Int64s, array_of, sha256, wide_of
from qckm.errors import FileError
from qckm.operator import Operator
from qckm.sketch import operator_sections, packed
from qckm.sketch.columns import ColumnSums, dump_bounds, load_bounds, unknown_bounds
from qckm.sketch.ledger import Ledger
from qckm.sketch.operator_sections import OperatorType
from qckm.sketch.packed import Cursor, varint
from qckm.sketch.parts import Parts
from qckm.sketch.sums import Sums

MAGIC, VERSION = foreign_files.SKETCH, 3
START = struct.Struct("<8sI")  # magic, version: the same in every version
CHECKSUM = 16  # bytes of a SHA-256
LEDGER, SUMS, BOUNDS, COLUMNS, PARTS, PRODUCTS = b"L", b"S", b"b", b"c", b"p", b"x"
# What people call the sections, for `qckm info`.
_CALLED = {
    operator_sections.INLINE: "frequencies",
    operator_sections.OPERATOR: "operator",
    operator_sections.RECIPE: "recipe",
    LEDGER: "ledger",
    SUMS: "sums",
    BOUNDS: "bounds",
    COLUMNS: "column sums",
    operator_sections.NAMES: "column names",
    operator_sections.OCTAVES: "octaves",
    PARTS: "parts",
    PRODUCTS: "products of columns",
    operator_sections.RANGES: "ranges",
}
# Those that are not the operator's.
_OWN = (LEDGER, SUMS, BOUNDS, COLUMNS, PARTS, PRODUCTS)
_INTEGERS, _REALS = range(2)
# Of the sums of a small file, in memory: an operator may be large and its file small, where no rows are in it.
_MOST_BYTES = 1 << 28


def dumps(sketch: Sums) -> bytes:
    """Return the bytes of a sketch file; equal sketches with equal notes give equal bytes.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=8, scale=1.0, random_state=0)
    >>> sketch = op.sketch(np.eye(2))
    >>> qckm.files.loads(dumps(sketch)) == sketch
    True
    """
    return _written(sketch, operator_sections.sections_of(sketch.operator))


def dumps_sums(sketch: Sums) -> bytes:
    """Return a sketch without its operator, for whoever has that: what partial sums travel as, and are kept as."""
    return _written(sketch, {})


def _written(sketch: Sums, sections: dict[bytes, bytes]) -> bytes:
    sketch.require_consistent()  # what is written can be read
    found = sections | _sections_of(sketch)
    body = START.pack(MAGIC, VERSION) + b"".join(tag + varint(len(found[tag])) + found[tag] for tag in sorted(found))
    return body + sha256(body).digest()[:CHECKSUM]


def loads(data: bytes, kind: type[OperatorType]) -> Sums:
    """Return what a file's bytes hold, if they are those that `dumps` gives, with an operator of that class."""
    found = split(data)
    return _sums_of(found, operator_sections.operator_of(found, kind), data)


def loads_sums(data: bytes, operator: Operator) -> Sums:
    """Return what `dumps_sums` was given, with its operator."""
    found = split(data)
    if not found.keys() <= set(_OWN):
        raise FileError("Expected sums without an operator, got a sketch file.")
    return _sums_of(found, operator, data)


def _sums_of(found: Mapping[bytes, memoryview], operator: Operator, data: bytes) -> Sums:
    if 8 * operator.n_measurements > max(_MOST_BYTES, 64 * len(data)):
        raise FileError(
            f"Expected an operator of fewer than {operator.n_measurements} measurements in {len(data)} bytes."
        )
    ledger = _read_ledger(found[LEDGER]) if LEDGER in found else None
    if SUMS not in found:
        raise FileError("Expected a section that holds the sums.")
    numbers = _read_sums(Cursor(found[SUMS]), operator, ledger)
    ends = unknown_bounds(operator.n_features) if numbers["count"] else Sums.zero(operator).bounds
    if BOUNDS in found:
        ends = load_bounds(Cursor(found[BOUNDS]), operator)
    column_sums = _read_columns(found, operator.n_features)
    parts = Parts.loads(Cursor(found[PARTS])) if PARTS in found else Parts()
    sums = Sums(operator, bounds=ends, ledger=ledger, column_sums=column_sums, parts=parts, **numbers)
    sums.require_consistent()
    written = _sections_of(sums)
    if any(found.get(tag) != written.get(tag) for tag in _OWN):
        raise FileError("The sums are not written as the format says.")
    return sums


def sizes(data: bytes) -> dict[str, int]:
    """Return where the bytes of a file go, by what they are for."""
    found = {_CALLED[tag]: len(content) for tag, content in split(data).items()}
    return {**found, "frame and checksum": len(data) - sum(found.values())}


def split(data: bytes) -> dict[bytes, memoryview]:
    """Return the sections of a file that are known here, if its checksum is right; refuse others that are required."""
    if len(data) < START.size + CHECKSUM:
        raise FileError(f"Expected at least {START.size + CHECKSUM} bytes, got {len(data)}: the file is cut short.")
    body = memoryview(data)[:-CHECKSUM]
    if sha256(body).digest()[:CHECKSUM] != data[-CHECKSUM:]:
        raise FileError("The checksum does not match: the file is damaged or cut short.")
    cursor, last = Cursor(body[START.size :]), b""
    found: dict[bytes, memoryview] = {}
    while cursor.left:
        tag = bytes(cursor.take(1))
        if not tag.isalpha() or tag <= last:
            raise FileError("Expected sections in the order of their letters, each once.")
        last, content = tag, cursor.take(cursor.varint())
        if tag in _CALLED:
            found[tag] = content
        elif tag.isupper():
            raise FileError(f"The file needs to be read with its section {tag.decode()}: a newer qckm may know it.")
    return found


def _sections_of(sketch: Sums) -> dict[bytes, bytes]:
    """Return the sections of what is not the operator's; those that would hold nothing are left out."""
    notes = (sketch.count, sketch.saturated, sketch.weighted)
    if sketch.exact:
        numbers = b"".join(varint(int(note)) for note in notes)
        numbers += packed.signed(_halved(sketch)) if sketch.count else b""
    else:
        numbers = packed.floats(np.array(notes)) + packed.floats(sketch.total)
    found = {SUMS: varint(_INTEGERS if sketch.exact else _REALS) + varint(sketch.skipped) + numbers}
    if sketch.count:
        found[BOUNDS] = dump_bounds(sketch.bounds, sketch.operator)
    if sketch.column_sums is not None:
        codes, squares = array_of(sketch.column_sums.codes), array_of(sketch.column_sums.squares)
        found[COLUMNS] = packed.signed(codes) + packed.whole(squares)
        if sketch.column_sums.products is not None:
            found[PRODUCTS] = packed.signed(array_of(sketch.column_sums.products))
    if sketch.ledger is not None:
        facts = sketch.ledger.as_facts() | (sketch.ledger.spending_facts() or {})
        found[LEDGER] = json.dumps(facts, sort_keys=True, separators=(",", ":")).encode("ascii")
    found[PARTS] = sketch.parts.dumps()
    return {tag: content for tag, content in found.items() if content}


def _are_bits(operator: Operator, ledger: Ledger | None) -> bool:
    """Whether a sum is one of +1 and −1 only, without noise: it is odd where the count is."""
    return operator.signature.is_one_bit and ledger is None


def _halved(sketch: Sums) -> Array:
    """Return the sums as they are written: of bits, half of what they are above 0 or 1."""
    return (sketch.total - sketch.count % 2) // 2 if _are_bits(sketch.operator, sketch.ledger) else sketch.total


def _read_sums(cursor: Cursor, operator: Operator, ledger: Ledger | None) -> dict[str, Any]:
    """Return the fields of a sketch that its section of sums holds."""
    kind, skipped = cursor.varint(), cursor.varint()
    count: float
    if kind == _REALS:
        count, saturated, weighted = cursor.floats(3).tolist()
        total: Array = cursor.floats(operator.n_measurements)
    else:
        count, saturated, weighted = (cursor.varint() for _ in range(3))
        size = operator.n_measurements
        total = cursor.signed(size) if count else np.zeros(size, np.int64)
        if _are_bits(operator, ledger):
            total = 2 * total + count % 2  # halves of int64 arrays are below 2**61
        total = _as_int64(total)
    cursor.end()
    return {"total": total, "count": count, "saturated": saturated, "skipped": skipped, "weighted": weighted}


def _read_columns(found: Mapping[bytes, memoryview], n: int) -> ColumnSums | None:
    if COLUMNS not in found:
        return None
    cursor, pairs = Cursor(found[COLUMNS]), n * (n - 1) // 2
    try:
        codes, squares = (wide_of(numbers) for numbers in (cursor.signed(n), cursor.whole(n)))
        cursor.end()
        products = None if pairs else np.zeros((2, 0), np.int64)
        if PRODUCTS in found:
            cursor = Cursor(found[PRODUCTS])
            products = wide_of(cursor.signed(pairs))
            cursor.end()
    except OverflowError as error:
        raise FileError("Expected sums of columns of at most 95 bits.") from error
    return ColumnSums(codes, squares, products)


def _read_ledger(content: memoryview) -> Ledger:
    try:
        facts = json.loads(bytes(content).decode("ascii"), object_pairs_hook=foreign_files.each_once)
    except (ValueError, RecursionError) as error:
        raise FileError(f"Expected a ledger as JSON, got something else: {error}.") from error
    if not isinstance(facts, dict):
        raise FileError("Expected a ledger as a JSON object.")
    ledger = Ledger.from_facts({name: value for name, value in facts.items() if name != "spent"})
    return ledger.with_spending({"spent": facts["spent"]}) if "spent" in facts else ledger


def _as_int64(numbers: Array) -> Int64s:
    try:
        return numbers.astype(np.int64)
    except OverflowError as error:
        raise FileError("Expected sums of at most 64 bits.") from error
