"""Public ranges of columns, as JSON: {"age": [0, 120], "income": [0, 1e6]}, or [[0, 120], [0, 1e6]] without names."""

from __future__ import annotations

import json
from typing import NamedTuple

from qckm.common.arrays import Floats
from qckm.common.foreign_files import each_once
from qckm.errors import OperatorError, SourceError
from qckm.operator.arguments import as_ranges

_MOST_BYTES = 1 << 24


class Ranges(NamedTuple):
    """Lower and upper (n,) each, and the names of the columns where the file has them."""

    bounds: tuple[Floats, Floats]
    names: tuple[str, ...] | None


def read_ranges(path: str) -> Ranges:
    """Read a file of ranges; refuse one that may be misread."""
    with open(path, "rb") as file:
        data = file.read(_MOST_BYTES + 1)
    try:
        found = json.loads(data[:_MOST_BYTES].decode(), object_pairs_hook=each_once)
        pairs = list(found.values()) if isinstance(found, dict) else found
        if not isinstance(pairs, list) or not pairs:
            raise ValueError("no ranges")
        for pair in pairs:
            if (
                not isinstance(pair, list)
                or len(pair) != 2
                or not all(isinstance(end, (int, float)) and not isinstance(end, bool) for end in pair)
            ):
                raise ValueError(f"{pair!r:.80} is no [lower, upper]")
        bounds = as_ranges([float(low) for low, _ in pairs], [float(high) for _, high in pairs], len(pairs))
    except (ValueError, RecursionError, OverflowError, OperatorError) as error:
        raise SourceError(
            f'{path}: expected ranges as JSON, such as {{"age": [0, 120], "income": [0, 1e6]}}: {error}'
        ) from error
    return Ranges(bounds, tuple(found) if isinstance(found, dict) else None)
