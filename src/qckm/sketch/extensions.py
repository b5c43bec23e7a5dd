"""What a file of version 2 holds beyond version 1: extensions, each with a name, facts and arrays (file-format.md).

A sketch that needs none is written as version 1, byte for byte as ever. A new extension is a function here that makes
one of a sketch, and a line in `apply` that puts it back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qckm.common.arrays import Array
from qckm.errors import FileError
from qckm.sketch.column_sums import ColumnSums
from qckm.sketch.ledger import Ledger

if TYPE_CHECKING:
    from qckm.sketch.sketch import Sketch

# What arrays may be of, and how many an extension, and of how many axes.
KINDS = ("<i2", "<i4", "<i8", "<f8", "u1")
MOST_ARRAYS, MOST_AXES, MOST_EXTENSIONS = 16, 4, 16


@dataclass(frozen=True)
class Extension:
    """One extension: facts as JSON, arrays by name, and whether a reader who does not know it must refuse the file."""

    name: str
    required: bool
    facts: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)

    def described(self) -> list[tuple[str, str, list[int]]]:
        """Return name, type and shape of each array."""
        return [(name, _KIND_OF[array.dtype.name], list(array.shape)) for name, array in self.arrays.items()]


_KIND_OF = {"int16": "<i2", "int32": "<i4", "int64": "<i8", "float64": "<f8", "uint8": "u1"}


def extensions_of(sketch: Sketch) -> list[Extension]:
    """Return what a file has to say of a sketch beyond version 1, in the order of names."""
    found = []
    if sketch.column_sums is not None:
        sums = sketch.column_sums
        found.append(Extension("column_sums", False, arrays={"codes": sums.codes, "squares": sums.squares}))
    if sketch.ledger is not None:
        found.append(Extension("ledger", True, sketch.ledger.as_facts()))
    if sketch.operator.ranges is not None:
        lower, upper = sketch.operator.ranges
        found.append(Extension("ranges", False, arrays={"lower": lower, "upper": upper}))
    if sketch.ledger is not None and (spending := sketch.ledger.spending_facts()) is not None:
        found.append(Extension("spending", False, spending))
    if sketch.weighted:
        found.append(Extension("weighted", False))
    return found


def parse(described: Any) -> list[dict[str, Any]]:
    """Return the extensions of a header, if they are such: sizes are known then, and no name is there twice."""
    if not isinstance(described, list) or not 0 < len(described) <= MOST_EXTENSIONS:
        raise FileError(f"Expected a list of 1 to {MOST_EXTENSIONS} extensions in the header.")
    for each in described:
        if (
            not isinstance(each, dict)
            or set(each) != {"name", "required", "facts", "arrays"}
            or not isinstance(each["name"], str)
            or not isinstance(each["required"], bool)
            or not isinstance(each["facts"], dict)
            or not isinstance(each["arrays"], list)
            or not len(each["arrays"]) <= MOST_ARRAYS
            or not all(map(_is_array, each["arrays"]))
            or len({name for name, _, _ in each["arrays"]}) < len(each["arrays"])
        ):
            raise FileError(f"Expected an extension with name, required, facts and arrays, got {each!r:.80}.")
    if len({each["name"] for each in described}) < len(described):
        raise FileError("Expected each extension once.")
    return described


def _is_array(described: Any) -> bool:
    if not isinstance(described, list) or len(described) != 3:
        return False
    name, kind, shape = described
    return (
        isinstance(name, str)
        and kind in KINDS
        and isinstance(shape, list)
        and len(shape) <= MOST_AXES
        and all(isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 1 << 48 for size in shape)
    )


def apply(sketch: Sketch, described: list[dict[str, Any]], arrays: Mapping[Any, Array]) -> Sketch:
    """Return a sketch with what its file's extensions say; those that are not known, and need not be, are left out."""
    for each in described:
        name, facts = each["name"], each["facts"]
        if name == "column_sums":
            try:
                sums = ColumnSums(arrays[name, "codes"], arrays[name, "squares"])
            except KeyError as error:
                raise FileError("Expected codes and squares of the column sums.") from error
            if sums.codes.dtype != np.int64 or sums.squares.dtype != np.int64:
                raise FileError("Expected column sums of int64.")
            sketch = replace(sketch, column_sums=sums)
        elif name == "ledger":
            sketch = replace(sketch, ledger=Ledger.from_facts(facts))
        elif name == "ranges":
            try:
                ranges = arrays[name, "lower"], arrays[name, "upper"]
            except KeyError as error:
                raise FileError("Expected lower and upper of the ranges.") from error
            if any(bound.shape != (sketch.operator.n_features,) or bound.dtype != np.float64 for bound in ranges):
                raise FileError("Expected ranges of float64, one a feature.")
            sketch = replace(sketch, operator=replace(sketch.operator, ranges=ranges))
        elif name == "spending":
            if sketch.ledger is None:
                raise FileError("Expected what was spent after a ledger.")
            sketch = replace(sketch, ledger=sketch.ledger.with_spending(facts))
        elif name == "weighted":
            sketch = replace(sketch, weighted=True)
        elif each["required"]:
            raise FileError(f"The file needs to be read with its extension {name!r:.80}: a newer qckm may know it.")
    return sketch
