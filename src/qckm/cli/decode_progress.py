"""What a decoder is at: a line that moves on a terminal, a plain one every few seconds elsewhere; and Ctrl-C.

The first Ctrl-C ends the search, and the best so far is written; the second ends the program.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from qckm.cli.console import Console
from qckm.common.text import format_duration
from qckm.decoding.watching import Step, watching

_SECONDS_A_LINE = 5.0
_SECONDS_A_LOOK = 0.1


@contextlib.contextmanager
def watched(console: Console, stoppable: bool) -> Iterator[None]:
    """Show the steps of what is decoded inside; if it is stoppable, have Ctrl-C end its search."""
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
