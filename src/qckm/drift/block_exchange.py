"""The test for rows that depend on their neighbours: windows in parts, which change sides.

Rows that follow each other in time are often alike, so that a window says less than its number of rows. Sketches of
parts of a window, each longer than rows remember, tell how much means of so many rows really vary: no model of the
dependence is needed. If the windows are alike, any parts might have been on the other side. The p-value is the share of
all such exchanges whose largest difference is as large: exact where parts are independent and alike, for any signature,
weights and dependence within a part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.drift.reference_rows import Reference
from qckm.errors import SketchError
from qckm.sketch import Sketch

# Exchanges that are tried: all, or as many, drawn.
_MOST_EXCHANGES = 5000
_AT_A_TIME = 250
# How many times as large the typical part of one side may be: at 40 times, nine of ten alarms are false.
_MOST_UNEVEN = 1.5


def exchange_blocks(
    a: Sequence[Sketch], b: Sequence[Sketch], level: float, reference: Reference | None, random_state: int
) -> tuple[float, float]:
    """Return the difference of two windows in parts, in deviations of the parts, and the share of exchanges as large.

    Without a reference it is the largest of all measurements, with one that of the whitened form, as a root.
    """
    parts = [*a, *b]
    possible = math.comb(len(parts), len(a)) // (2 if len(a) == len(b) else 1)
    if possible * level < 1:
        raise SketchError(
            f"Expected more parts, got {len(a)} and {len(b)}: they can be exchanged in {possible} ways, so that no "
            f"p-value is below {1 / possible:.2g}. Divide the windows into more parts, 4 and 4 at least for a level "
            "of 0.05."
        )
    _require_even(a, b)
    _require_different(parts)
    totals = np.stack([part.values() * part.count for part in parts])
    counts = np.array([part.count for part in parts], np.float64)
    mean = totals.sum(axis=0) / counts.sum()
    # The variance of a block's mean for a row of it: a measurement that varies more between blocks counts less.
    variance = ((totals - counts[:, np.newaxis] * mean) ** 2).sum(axis=0) / counts.sum() / (len(parts) - 1)
    scale = np.sqrt(np.maximum(variance * len(parts), 1e-12))
    found = np.empty(0)
    for sides in _exchanges(len(parts), len(a), possible, random_state):
        found = np.append(found, _differences(sides, totals, counts, scale, reference))
    return float(found[0]), float((found >= found[0] * (1 - 1e-9)).mean())


def _require_even(a: Sequence[Sketch], b: Sequence[Sketch]) -> None:
    """Refuse parts of unlike sizes on the two sides: they are not exchangeable, and most alarms would be false."""
    sizes = [float(np.median([part.count for part in side])) for side in (a, b)]
    if max(sizes) > _MOST_UNEVEN * min(sizes):
        raise SketchError(
            f"Expected parts of about as many rows in both windows, got {sizes[0]:.0f} and {sizes[1]:.0f}, typically: "
            "only parts that are alike can change sides. Divide the longer window into more parts, or merge parts."
        )


def _require_different(parts: Sequence[Sketch]) -> None:
    """Refuse a part that is there twice: it would be on both sides, or count as two that agree."""
    first: dict[bytes, int] = {}
    for number, part in enumerate(parts):
        other = first.setdefault(part.values().tobytes(), number)
        if other != number and part.count == parts[other].count:
            raise SketchError(
                f"Expected different parts, got the same sums twice, in parts {other + 1} and {number + 1} of "
                f"{len(parts)}: was a file given twice?"
            )


def _exchanges(parts: int, first: int, possible: int, random_state: int) -> list[npt.NDArray[np.bool_]]:
    """Return which parts are on the first side, (E, parts) in portions, the true sides first."""
    if possible <= _MOST_EXCHANGES:
        chosen = list(combinations(range(parts), first))  # in order: the true sides are first
        chosen = chosen[:possible]  # of equal sides, those with the first part; the others are these, swapped
        sides = np.zeros((len(chosen), parts), bool)
        np.put_along_axis(sides, np.array(chosen), True, axis=1)
    else:
        rng = np.random.default_rng(random_state)
        ranks = rng.random((_MOST_EXCHANGES, parts)).argsort(axis=1)
        ranks[0] = np.arange(parts)
        sides = ranks < first
    return [sides[begin : begin + _AT_A_TIME] for begin in range(0, len(sides), _AT_A_TIME)]


def _differences(
    sides: npt.NDArray[np.bool_], totals: Floats, counts: Floats, scale: Floats, reference: Reference | None
) -> Floats:
    on = sides.astype(np.float64)
    first, second = on @ counts, (1 - on) @ counts
    moved = (on @ totals) / first[:, np.newaxis] - ((1 - on) @ totals) / second[:, np.newaxis]
    root = np.sqrt(1 / first + 1 / second)
    if reference is not None:
        forms: Floats = np.array([reference.form(one) for one in moved])
        return np.asarray(np.sqrt(forms) / root)
    largest: Floats = (np.abs(moved) / scale).max(axis=1) / root
    return largest
