"""Long experiments in several sittings: what is in the table is not measured again, and a kill loses one trial at most.

A table is a CSV to which each finished job appends its rows. Jobs run in the order they are given; give them seed by
seed, and whatever has been measured when the time is up is an even share of every cell.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


class Table:
    """Rows of a CSV file, of which the first `n_keys` columns say what was measured, and the others what came out."""

    def __init__(self, name: str, header: Sequence[str], n_keys: int, folder: Path = RESULTS) -> None:
        self.path, self.header, self.n_keys = folder / f"{name}.csv", list(header), n_keys

    def read(self) -> list[dict[str, str]]:
        """Return the rows, without a last line that was cut off when its writer was killed."""
        if not self.path.exists():
            return []
        text = self.path.read_text()
        return list(csv.DictReader(text[: text.rfind("\n") + 1].splitlines()))

    def done(self) -> set[tuple[str, ...]]:
        """Return the keys of what has been measured."""
        return {tuple(row[name] for name in self.header[: self.n_keys]) for row in self.read()}

    def append(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows at the end."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.path.exists():
            self.path.write_text(",".join(self.header) + "\n")
        text = self.path.read_text()
        if not text.endswith("\n"):
            self.path.write_text(text[: text.rfind("\n") + 1])
        with self.path.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


def run(table: Table, jobs: Sequence[Any], work: Callable[[Any], list[tuple]], processes: int) -> None:
    """Do the jobs and append what they return, in their order; say now and then how far it is."""
    begun = said = time.monotonic()
    for number, rows in enumerate(_results(jobs, work, processes), 1):
        table.append(rows)
        if time.monotonic() - said > 30 or number == len(jobs):
            said = time.monotonic()
            print(f"{table.path.stem}: {number} of {len(jobs)} jobs, {said - begun:.0f} s", file=sys.stderr, flush=True)


def _results(jobs: Sequence[Any], work: Callable[[Any], list[tuple]], processes: int) -> Iterable[list[tuple]]:
    if processes <= 1:
        yield from map(work, jobs)
        return
    waiting = iter(jobs)
    with ProcessPoolExecutor(processes) as pool:  # a few jobs ahead, not all: an interrupted run ends soon
        ahead = [pool.submit(work, job) for job in islice(waiting, 2 * processes)]
        while ahead:
            yield ahead.pop(0).result()
            ahead += [pool.submit(work, job) for job in islice(waiting, 1)]
