"""Progress: a bar on a terminal, a plain line every few seconds elsewhere, nothing if quiet."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from qckm.cli.console import Console
from qckm.common.text import format_bytes, format_duration
from qckm.decoding.watching import Step, watching
from qckm.sketch.sketch import State

_SECONDS_A_LINE = 5.0


class Progress:
    """Shows rows, bytes, rate and time left while a source is sketched."""

    def __init__(self, console: Console, n_rows: int | None, n_bytes: int | None, start: State) -> None:
        self._console, self._n_rows, self._n_bytes = console, n_rows, n_bytes
        self._began, self._first = time.monotonic(), start
        self._said = self._began
        self._bar: Any = None

    def __enter__(self) -> Progress:
        self._bar = _bar(self._console, "{task.fields[words]}")
        if self._bar is not None:
            self._task = self._bar.add_task("sketching", total=1.0 if self._n_bytes else None, words="")
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


def _bar(console: Console, words: str) -> Any:
    """Return a bar with some words beside it, for people at a terminal, or None."""
    if console.quiet or not sys.stderr.isatty():
        return None
    from rich.console import Console as Terminal  # takes its time to import
    from rich.progress import BarColumn, Progress, TextColumn

    columns = TextColumn("{task.description}"), BarColumn(), TextColumn(words)
    return Progress(*columns, console=Terminal(stderr=True), transient=True)


@contextlib.contextmanager
def cluster_progress(console: Console) -> Iterator[Callable[[int, int], None]]:
    """Give what shows how many of a cluster's tasks are done."""
    said = time.monotonic()
    with contextlib.ExitStack() as stack:
        bar = _bar(console, "{task.completed:.0f} of {task.total:.0f} tasks")
        if bar is not None:
            stack.enter_context(bar)
            shown = bar.add_task("cluster", total=1.0, visible=False)

        def watch(done: int, total: int) -> None:
            nonlocal said
            if bar is not None:
                bar.update(shown, completed=done, total=max(1, total), visible=total > 0)
            elif total and time.monotonic() - said >= _SECONDS_A_LINE:
                said = time.monotonic()
                console.say(f"cluster: {done:,} of {total:,} tasks done")

        yield watch


_SECONDS_A_LOOK = 0.1


@contextlib.contextmanager
def watched(console: Console, stoppable: bool) -> Iterator[None]:
    """Show the steps of what is decoded inside; if it is stoppable, the first Ctrl-C ends its search, the second us."""
    with _line(console) as show, _stopping(console if stoppable else None) as stopped:

        def watch(step: Step) -> bool:
            show(step)
            return stopped()

        with watching(watch):
            yield


@contextlib.contextmanager
def _line(console: Console) -> Iterator[Callable[[Step], None]]:
    began = shown = time.monotonic()
    with contextlib.ExitStack() as stack:
        status: Any = None
        if not console.quiet and sys.stderr.isatty():
            from rich.console import Console as Terminal

            status = stack.enter_context(Terminal(stderr=True).status("decoding", spinner="line"))

        def show(step: Step) -> None:
            nonlocal shown
            now = time.monotonic()
            if now - shown < (_SECONDS_A_LOOK if status is not None else _SECONDS_A_LINE):
                return
            shown = now
            many = f", {step.evaluations:,} evaluations" if step.evaluations else ""
            words = f"decoding: {step.stage}{many}, {format_duration(now - began)}"
            if status is not None:
                status.update(words)
            else:
                console.say(words)

        yield show


@contextlib.contextmanager
def _stopping(console: Console | None) -> Iterator[Callable[[], bool]]:
    """Give a function that tells whether Ctrl-C was pressed; without a console, Ctrl-C does what it does elsewhere."""
    if console is None or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    pressed = False

    def press(*_: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        console.say("stopping: the best so far will be written; Ctrl-C once more stops at once")

    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)
