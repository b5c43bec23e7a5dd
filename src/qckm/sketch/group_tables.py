"""Tables of sketches: a row per group, its keys and its sums in columns, as Parquet. Rows of one key add up.

The operator is in the file once. Columns beside the keys: `rows`, `saturated`, `skipped`, and lists of numbers, `sums`
(M), `lower` and `upper` (n), `codes` and `squares` (2n) and `products` (n(n − 1), of at most 64 columns).
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from qckm.common import atomic
from qckm.common.arrays import Array, add_wide, sha256
from qckm.errors import FileError, MergeError, PartsWarning, SketchError, SourceError, warn
from qckm.kernels.portable import GroupSums
from qckm.sketch import files
from qckm.sketch.grouping import GroupedSketches
from qckm.sources.table import reading

_OPERATOR = b"qckm operator"
_LISTS = {"sums": "total", "lower": "lower", "upper": "upper", "codes": "codes", "squares": "squares"}
_COUNTS = {"rows": "count", "saturated": "saturated"}
_OWN = (*_COUNTS, "skipped", *_LISTS, "products")
# A sum of more rows may not fit 64 bits.
_MOST_COUNT = 2**48
_ROWS = 1 << 12  # of a row group


def to_table(groups: GroupedSketches) -> pa.Table:
    """Return a row for each group."""
    count, sums = len(groups), groups.sums
    keys = groups.keys_of_groups.table()
    if clash := set(keys.column_names) & set(_OWN):
        raise SourceError(f"Expected keys of other names than {', '.join(_OWN)}, got {min(clash)!r}: rename it.")
    columns = {name: keys.column(name) for name in keys.column_names}
    for name, field in _COUNTS.items():
        columns[name] = pa.array(getattr(sums, field)[:count])
    columns["skipped"] = pa.array(groups.skipped[:count])
    for name, field in {**_LISTS, "products": "products"}.items():
        array = getattr(sums, field)
        if array is not None and array.shape[-1]:
            flat = np.ascontiguousarray(array[:count]).reshape(count, -1)
            columns[name] = pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), flat.shape[1])
    operator = base64.b64encode(files.dumps(groups.operator.empty()))
    return pa.table(columns).replace_schema_metadata({_OPERATOR: operator})


def save(groups: GroupedSketches, path: str | os.PathLike[str]) -> None:
    """Write a table of sketches, which appears whole or not at all."""
    with atomic.replacing(path) as place:
        # Sums of few rows are small numbers: of their bytes most are 0, and packed well.
        pq.write_table(to_table(groups), place, compression="zstd", use_dictionary=False, row_group_size=_ROWS)


def dumps(groups: GroupedSketches, notes: Mapping[bytes, bytes] | None = None) -> bytes:
    """Return a table of sketches as the bytes of its file; notes are kept beside the operator."""
    table, out = to_table(groups), pa.BufferOutputStream()
    table = table.replace_schema_metadata({**table.schema.metadata, **(notes or {})})
    pq.write_table(table, out, compression="zstd", use_dictionary=False, row_group_size=_ROWS)
    return bytes(out.getvalue())


def add(groups: GroupedSketches, data: bytes, label: str) -> None:
    """Add the bytes of a table of sketches, of the same operator and keys."""
    with reading(label, "expected a table of sketches"), pq.ParquetFile(pa.BufferReader(data)) as file:
        if files.loads(_operator_in(file.schema_arrow, label)).operator != groups.operator:
            raise MergeError(f"{label}: expected sketches of the same operator, got another's.")
        for number in range(file.num_row_groups):
            _add(groups, file.read_row_group(number), label)


def load(paths: Sequence[str | os.PathLike[str]], by: Sequence[str] | None = None) -> GroupedSketches:
    """Read tables of sketches; rows of the same keys are added up.

    Parameters
    ----------
    paths : sequence of path
    by : sequence of str, optional
        The keys to keep: groups that differ in others are merged. All by default.

    Returns
    -------
    GroupedSketches
        With a `PartsWarning` where two tables have the same groups.
    """
    found: GroupedSketches | None = None
    seen: dict[bytes, str] = {}
    for path in paths:
        label, groups = os.fspath(path), list[bytes]()
        with reading(label, "expected a table of sketches"), pq.ParquetFile(label) as file:
            schema = file.schema_arrow
            operator = files.loads(_operator_in(schema, label)).operator
            keys = tuple(name for name in schema.names if name not in _OWN)
            if found is None:
                kept = keys if by is None else tuple(by)
                found = GroupedSketches(operator, kept, alone=len(kept) == 1)
            if found.operator != operator:
                raise MergeError(f"{label}: expected sketches of the operator of {os.fspath(paths[0])}, got another's.")
            missing = [name for name in found.keys_of_groups.names if name not in keys]
            if missing or (by is None and keys != found.keys_of_groups.names):
                wanted = ", ".join(found.keys_of_groups.names)
                raise SourceError(f"{label}: expected groups by {wanted}, got groups by {', '.join(keys)}.")
            for number in range(file.num_row_groups):
                groups += _add(found, file.read_row_group(number), label)
        content = sha256(b"".join(sorted(groups))).digest()
        if content in seen and groups:
            warn(f"{seen[content]} and {label} have the same content: were the same rows counted twice?", PartsWarning)
        seen.setdefault(content, label)
    if found is None:
        raise SourceError("Expected tables of sketches, got none.")
    return found


def _operator_in(schema: pa.Schema, label: str) -> bytes:
    try:
        return base64.b64decode((schema.metadata or {})[_OPERATOR], validate=True)
    except (KeyError, ValueError) as error:
        raise FileError(f"{label}: expected a table of sketches (`qckm.sketch_by`), got another one.") from error


def _add(groups: GroupedSketches, table: pa.Table, label: str) -> list[bytes]:
    """Add rows of a table to their groups; return a digest of each, which tells tables of the same rows."""
    read = _checked(groups, table, label)
    numbers = groups.keys_of_groups.number(table.select(list(groups.keys_of_groups.names)))
    groups.make_room()
    order, sizes = np.argsort(numbers, kind="stable"), np.bincount(numbers)
    present = np.flatnonzero(sizes)
    starts = (np.cumsum(sizes) - sizes)[present]

    def together(array: Array, how: np.ufunc = np.add) -> Array:
        return np.asarray(how.reduceat(array[order], starts, axis=0))

    sums = groups.sums
    if len(order):
        for name in ("count", "saturated", "total"):
            getattr(sums, name)[present] += together(read[name])
        groups.skipped[present] += together(read["skipped"])
        if (sums.count[present] > _MOST_COUNT).any():
            raise SketchError(f"{label}: expected groups of at most {_MOST_COUNT} rows.")
        sums.lower[present] = np.minimum(sums.lower[present], together(read["lower"], np.minimum))
        sums.upper[present] = np.maximum(sums.upper[present], together(read["upper"], np.maximum))
        for name in ("codes", "squares", "products"):
            if read.get(name) is not None:
                words = (array.swapaxes(0, 1) for array in (getattr(sums, name)[present], together(read[name])))
                getattr(sums, name)[present] = add_wide(*words).swapaxes(0, 1)
    totals, counts = np.ascontiguousarray(read["total"]), read["count"]
    return [
        sha256(b"%d %d " % (key, rows) + total.tobytes()).digest()
        for key, rows, total in zip(numbers.tolist(), counts.tolist(), totals, strict=True)
    ]


def _checked(groups: GroupedSketches, table: pa.Table, label: str) -> dict[str, Array]:
    """Return the columns of a table as arrays, if they are of the operator's sizes, and possible."""
    count, found = table.num_rows, dict[str, Array]()
    wanted = GroupSums(groups.operator.measurement, 0)
    for name in _OWN:
        field = "skipped" if name == "skipped" else {**_COUNTS, **_LISTS, "products": "products"}[name]
        like = groups.skipped if name == "skipped" else getattr(wanted, field)
        if like is None:
            continue
        shape = (count, *like.shape[1:])
        column = table.column(name).combine_chunks() if name in table.column_names else None
        numbers = column
        if column is not None and len(shape) > 1 and pa.types.is_fixed_size_list(column.type):
            numbers = column.flatten() if not column.null_count else None
        size = int(np.prod(shape))
        if not all(shape[1:]):  # products of one column
            found[field] = np.zeros(shape, like.dtype)
            continue
        if numbers is None or numbers.null_count or numbers.type != pa.from_numpy_dtype(like.dtype):
            kind = None if column is None else column.type
            raise FileError(f"{label}: expected a column {name!r} of {like.dtype} numbers, got {kind}.")
        if len(numbers) != size:
            raise FileError(f"{label}: expected {size} numbers in {name!r}, got {len(numbers)}.")
        found[field] = numbers.to_numpy(zero_copy_only=False).reshape(shape)
    for name in ("count", "saturated", "skipped"):
        if count and not 0 <= found[name].min() <= found[name].max() <= _MOST_COUNT:
            raise FileError(f"{label}: expected numbers of rows, got {found[name].min()} to {found[name].max()}.")
    most, seen = groups.operator.signature.full_scale * found["count"][:, None], found["count"] > 0
    if (
        (found["total"] > most).any()
        or (found["total"] < -most).any()
        or (found["saturated"] > found["count"]).any()
        or not (found["lower"] <= found["upper"])[seen].all()
        or any((found[name][:, 1] >> 32).any() for name in ("codes", "squares", "products") if name in found)
    ):
        raise FileError(f"{label}: expected sums that so many rows can have.")
    return found
