"""Results as CSV files that grow a line at a time: what is there is not measured again."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


class Table:
    """A CSV file whose first columns say what was measured."""

    def __init__(self, name: str, keys: Sequence[str], values: Sequence[str]) -> None:
        self.path, self.keys, self.header = RESULTS / f"{name}.csv", len(keys), [*keys, *values]
        RESULTS.mkdir(exist_ok=True)
        if not self.path.exists():
            self._append(self.header)

    def has(self, *key: Any) -> bool:
        """Whether something was measured."""
        with self.path.open(newline="") as file:
            return any(row[: len(key)] == [str(part) for part in key] for row in csv.reader(file))

    def add(self, *row: Any) -> None:
        """Keep a line, and print it."""
        self._append([f"{field:.4g}" if isinstance(field, float) else field for field in row])
        print(*row, flush=True)

    def _append(self, row: Sequence[Any]) -> None:
        with self.path.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(row)
