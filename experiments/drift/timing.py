"""How long one comparison takes, m = 1000 (M = 2000), beside tests of the rows.

Medians of up to 30, processor time of one thread: the machine was shared.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import qckm
from drift.data import draw, operator_of
from drift.peers import kolmogorov_smirnov, mmd_permutation
from drift.tables import Table

ROWS, M = 20_000, 1000


def median(task: Callable[[], object], times: int) -> float:
    """Return the median milliseconds of a task."""
    task()
    taken = []
    for _ in range(times):
        began = time.process_time()
        task()
        taken.append(1000 * (time.process_time() - began))
    return float(np.median(taken))


def measure() -> None:
    rng = np.random.default_rng(0)
    rows = draw("skin", 2 * ROWS + 4000, rng)
    before, after, usual = rows[:ROWS], rows[ROWS : 2 * ROWS], rows[2 * ROWS :]
    table = Table("timing", ("task",), ("processor_milliseconds",))
    for signature in ("one-bit", "exponential"):
        operator = operator_of("skin", M, signature)
        a, b = operator.sketch(before), operator.sketch(after)
        reference = qckm.Reference.of(operator, usual)
        parts = [[operator.sketch(part) for part in np.array_split(window, 10)] for window in (before, after)]
        tasks: dict[str, tuple[Callable[[], object], int]] = {
            "largest": (lambda a=a, b=b: qckm.compare(a, b), 30),
            "whitened, reference prepared": (lambda a=a, b=b, r=reference: qckm.compare(a, b, r), 30),
            "preparing a reference of 4000 rows": (
                lambda a=a, b=b, o=operator: qckm.compare(a, b, qckm.Reference.of(o, usual)),
                1,
            ),
            "blocks, 10 and 10": (lambda p=parts: qckm.compare(*p), 5),
        }
        for name, (task, times) in tasks.items():
            if not table.has(f"{name}, {signature}"):
                table.add(f"{name}, {signature}", median(task, times))
    if not table.has("KS a column, 20 000 rows"):
        table.add("KS a column, 20 000 rows", median(lambda: kolmogorov_smirnov(before, after), 10))
        table.add("MMD permutation, 500 rows", median(lambda: mmd_permutation(before, after, rng), 5))
