"""False alarms where rows depend on their neighbours: consecutive rows of one walker, halves of a stretch, in parts.

A stretch of one person's walk, at 52 rows a second, is cut in the middle: two windows side by side. They are compared
as if rows were independent, and in parts that change sides.
"""

from __future__ import annotations

import numpy as np

import qckm
from decoder.datasets import real
from drift.data import operator_of
from drift.tables import Table

WINDOWS = (1000, 500, 2000)
PARTS = (10, 5)
M = 300


def pairs(window: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return windows side by side, as many as there are, of one person each."""
    rows, people = real("walking_accelerometer")
    found = []
    for person in np.unique(people):
        mine = rows[people == person]
        for begin in range(0, len(mine) - 2 * window + 1, 2 * window):
            found.append((mine[begin : begin + window], mine[begin + window : begin + 2 * window]))
    return found


def mixed(window: int, parts: int, rng: np.random.Generator) -> list[list[np.ndarray]]:
    """Return windows of a stretch whose parts were dealt to the two at random: alike, and dependent within parts."""
    dealt = []
    for before, after in pairs(window):
        pieces = np.array_split(np.concatenate([before, after]), 2 * parts)
        order = rng.permutation(2 * parts)
        dealt.append([[pieces[i] for i in order[:parts]], [pieces[i] for i in order[parts:]]])
    return dealt


def measure() -> None:
    operator = operator_of("walking", M, "one-bit")
    table = Table("dependence", ("windows", "rows", "test"), ("pairs", "alarms", "percent"))

    def keep(kind: str, window: int, test: str, alarms: list[bool]) -> None:
        table.add(kind, window, test, len(alarms), sum(alarms), 100 * sum(alarms) / len(alarms))

    for window in WINDOWS:
        if table.has("side by side", window):
            continue
        both = pairs(window)
        alone = [qckm.compare(operator.sketch(a), operator.sketch(b)).drifted for a, b in both]
        keep("side by side", window, "largest", alone)
        for parts in PARTS:
            cut = [[[operator.sketch(part) for part in np.array_split(w, parts)] for w in pair] for pair in both]
            keep("side by side", window, f"blocks, {parts} parts", [qckm.compare(*pair).drifted for pair in cut])
        rng = np.random.default_rng(window)
        for parts in PARTS:
            dealt = [[[operator.sketch(part) for part in side] for side in pair] for pair in mixed(window, parts, rng)]
            whole = [qckm.compare(sum(a[1:], a[0]), sum(b[1:], b[0])).drifted for a, b in dealt]
            keep(f"{parts} parts dealt", window, "largest", whole)
            keep(
                f"{parts} parts dealt",
                window,
                f"blocks, {parts} parts",
                [qckm.compare(*pair).drifted for pair in dealt],
            )
