"""How times are compared: turn by turn in one run, the median of the ratios: a busy machine hurts both alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """A line of the table: what was asked, the target, and what was measured."""

    what: str
    target: float
    measured: float
    unit: str = "×"
    at_most: bool = False
    note: str = ""

    @property
    def met(self) -> bool:
        """Whether the target was reached."""
        return self.measured <= self.target if self.at_most else self.measured >= self.target

    def __str__(self) -> str:
        sign = "≤" if self.at_most else "≥"
        measured, target = f"{self.measured:.3g} {self.unit}", f"{sign} {self.target:g} {self.unit}"
        return f"| {self.what} | {target} | {measured} | {'yes' if self.met else '**no**'} | {self.note} |"


Rows = Iterator[Row]


def seconds(work: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """Time one call."""
    start = clock()
    work()
    return clock() - start


def ratio(
    peer: Callable[[], Any],
    ours: Callable[[], Any],
    repeats: int = 15,
    clock: Callable[[], float] = time.process_time,
) -> float:
    """Return how many times faster `ours` is: the median over turns of one call each, after one call to warm up.

    What runs on one thread is timed in processor time, which on an idle machine is the time that passes, and on a busy
    one does not count the turns of others.
    """
    peer(), ours()
    return statistics.median(seconds(peer, clock) / seconds(ours, clock) for _ in range(repeats))
