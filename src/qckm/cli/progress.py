"""Progress: a bar on a terminal, a plain line every few seconds elsewhere, nothing if quiet."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from qckm.cli.console import Console
from qckm.common.text import format_bytes, format_duration
from qckm.sketch.runs import State

_SECONDS_A_LINE = 5.0


class Progress:
    """Shows rows, bytes, rate and time left while a source is sketched."""

    def __init__(self, console: Console, n_rows: int | None, n_bytes: int | None, start: State) -> None:
        self._console, self._n_rows, self._n_bytes = console, n_rows, n_bytes
        self._began, self._first = time.monotonic(), start
        self._said = self._began
        self._bar: Any = None

    def __enter__(self) -> Progress:
        if not self._console.quiet and sys.stderr.isatty():
            # Imported only here: it is for people at a terminal, and takes its time.
            from rich import console
            from rich.progress import BarColumn, Progress, TextColumn

            self._bar = Progress(
                TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"),
                console=console.Console(stderr=True), transient=True,
            )  # fmt: skip
            total = 1.0 if self._n_bytes else None
            self._task = self._bar.add_task("sketching", total=total, words="")
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, state: State) -> None:
        """Show a state."""
        now = time.monotonic()
        if self._bar is not None:
            self._bar.update(self._task, completed=self._share(state), words=self._words(state, now))
        elif now - self._said >= _SECONDS_A_LINE:
            self._said = now
            self._console.say(f"sketching: {self._words(state, now)}")

    def _share(self, state: State) -> float:
        return min(1.0, state.bytes_done / self._n_bytes) if self._n_bytes else 0.0

    def _words(self, state: State, now: float) -> str:
        rows = state.sketch.count + state.sketch.skipped
        fresh = rows - self._first.sketch.count - self._first.sketch.skipped
        seconds = max(now - self._began, 1e-9)
        of = f" of {self._n_rows:,}" if self._n_rows is not None else ""
        words = f"{rows:,}{of} rows, {format_bytes(state.bytes_done)}, {fresh / seconds:,.0f} rows/s"
        done = self._share(state) - self._share(self._first)
        if done > 0:
            words += f", {format_duration(seconds * (1 - self._share(state)) / done)} left"
        return words
