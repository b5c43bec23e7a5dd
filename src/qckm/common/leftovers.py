"""Files that this process means to remove: known, so that it leaves none even where it has to end at once."""

from __future__ import annotations

import contextlib
import os
import shutil

_EXPECTED: set[str] = set()


def expect(path: str) -> None:
    """Note a file or a folder that is to be removed when the process ends, in whatever way it can still do so."""
    _EXPECTED.add(path)


def settle(path: str) -> None:
    """Forget a path that is gone, or is no leftover any more."""
    _EXPECTED.discard(path)


def remove(path: str) -> None:
    """Remove a file or a folder now."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            os.unlink(path)
    settle(path)


def remove_all() -> None:
    """Remove all that is noted."""
    for path in tuple(_EXPECTED):
        remove(path)
