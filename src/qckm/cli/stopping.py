"""Signals that end a run: they raise KeyboardInterrupt, as Ctrl-C does, and a run that goes on is ended a second later.

Python handles a signal between two of its own steps. While a library computes, that may be minutes. So a thread waits
for signals, too. Where the main thread has not taken notice after half a second, or not ended after another half, it
removes what the run would have removed and ends the process. What is written is whole or not there at all, as ever.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from qckm.common.atomic import remove_leftovers

# Seconds. The last is for a checkpoint on a slow disk.
_UNTIL_NOTICED, _UNTIL_ENDED, _WHILE_SAVING = 0.5, 0.5, 30.0

_done_saving = threading.Event()
_done_saving.set()
_exit_codes: list[int] = []  # of a run that has ended, while what was registered to run at exit does


def obey_signals(failed: int = 1) -> None:
    """End the run on SIGTERM and, where it is not ignored (nohup), on SIGHUP; called by the main thread, once.

    `failed` is the exit code of a run that is ended before it takes notice.
    """
    numbers = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    noticed = threading.Event()

    def stop(_: int, __: FrameType | None) -> None:
        noticed.set()
        raise KeyboardInterrupt

    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
    if sys.platform == "win32":  # there, what wakes up a thread must be a socket
        return
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)

    def watch() -> None:
        # Others, such as Ctrl-C, may be pressed again; and a server may have come to handle them in its own way.
        while not any(number in numbers and signal.getsignal(number) is stop for number in os.read(ours, 64)):
            pass
        if noticed.wait(_UNTIL_NOTICED):
            threading.Event().wait(_UNTIL_ENDED)
            _done_saving.wait(_WHILE_SAVING)
        else:
            os.write(2, b"qckm: stopped\n")
        remove_leftovers()
        os._exit(_exit_codes[0] if _exit_codes else failed)

    threading.Thread(target=watch, daemon=True).start()


def leave(code: int) -> NoReturn:
    """End the process with an exit code, which stays that one if a signal comes meanwhile.

    What was registered to run at exit runs. But Python does not take itself apart: a thread of Arrow that reads ahead,
    or lets go of a block after a faulty cell, would then call Python in vain, and abort the process with another code.
    """
    _exit_codes.append(code)
    try:
        atexit._run_exitfuncs()
    finally:
        os._exit(code)


@contextlib.contextmanager
def saving() -> Iterator[None]:
    """Have the time that it takes to write what a stopped run has found."""
    _done_saving.clear()
    try:
        yield
    finally:
        _done_saving.set()
