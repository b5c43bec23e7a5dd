"""Bytes go to standard output, or to a file that appears whole or not at all."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from qckm import files


@contextlib.contextmanager
def writing(target: str) -> Iterator[Callable[[bytes], None]]:
    """Give a function that writes to stdout for "-", else to a file that appears whole, at the end, or not at all."""
    with contextlib.ExitStack() as stack:
        file: Any = sys.stdout.buffer
        if target != "-":
            # Without a buffer, which would fail once more on closing.
            file = stack.enter_context(open(stack.enter_context(files.replacing(target)), "wb", buffering=0))

        def write(data: bytes) -> None:
            with files.naming("standard output" if target == "-" else target):
                left = memoryview(data)
                while left:
                    left = left[file.write(left) :]
                file.flush()

        yield write


def write_bytes(target: str, data: bytes) -> None:
    """Write bytes to stdout for "-", else to a file."""
    with writing(target) as write:
        write(data)
