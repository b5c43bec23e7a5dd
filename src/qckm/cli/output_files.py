"""Bytes go to standard output, or to a file that appears whole or not at all."""

from __future__ import annotations

import contextlib
import functools
import io
import sys
from collections.abc import Callable, Iterator
from typing import BinaryIO

from qckm.cli.console import Console
from qckm.cli.terminal import visible_lines
from qckm.common import atomic
from qckm.sketch import files


@contextlib.contextmanager
def writing(target: str) -> Iterator[Callable[[bytes], None]]:
    """Give a function that writes to stdout for "-", else to a file that appears whole, at the end, or not at all."""
    with contextlib.ExitStack() as stack:
        file: BinaryIO | io.FileIO = sys.stdout.buffer
        if target != "-":
            # Without a buffer, which would fail once more on closing.
            file = stack.enter_context(open(stack.enter_context(atomic.replacing(target)), "wb", buffering=0))

        def write(data: bytes) -> None:
            if target == "-" and sys.stdout.isatty():  # read by a person, not by a program
                data = visible_lines(bytes(data).decode("utf-8", "backslashreplace")).encode()
            with atomic.naming("standard output" if target == "-" else target):
                left = memoryview(data)
                while left:
                    left = left[file.write(left) :]
                file.flush()

        yield write


def write_bytes(target: str, data: bytes) -> None:
    """Write bytes to stdout for "-", else to a file."""
    with writing(target) as write:
        write(data)


@contextlib.contextmanager
def updating(target: str, console: Console) -> Iterator[Callable[[bytes], None]]:
    """Give a function that writes to stdout for "-", else replaces a file that nobody else replaces meanwhile."""
    if target == "-" or atomic.is_device(target):
        yield functools.partial(write_bytes, target)
        return
    waiting = functools.partial(console.say, f"waiting for another process that is at work on {target}")
    with files.updating(target, waiting) as replace:
        yield replace
