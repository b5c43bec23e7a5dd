"""What a decoder is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from qckm.common.arrays import Floats
from qckm.sketch import Sketch

_LEAST_ROWS = 10_000


class Sample(NamedTuple):
    """Rows (P, n) of those that were sketched, or like them, what each stands for (P,), and their own centroids."""

    rows: Floats
    weights: Floats
    centers: Floats | None  # (K, n), where they are known
    of_all: bool = False  # whether they were drawn from the very rows that were sketched


def count_rows(sketch: Sketch) -> float:
    """Return how many rows a sketch is of, as far as it is known.

    Weights that are no whole numbers may have any unit: their sum says how many rows there are only where it is large.
    """
    return sketch.count if sketch.exact else max(sketch.count, _LEAST_ROWS)


@dataclass(frozen=True, eq=False)
class Task:
    """A sketch to decode, K, the box and the optional start in data units, rows where there are any, and the effort."""

    sketch: Sketch
    n_clusters: int
    lower: Floats
    upper: Floats
    start: Floats | None
    rows: Sample | None
    spread: Floats | None
    n_init: int
    random_state: Any
    decoder: str
