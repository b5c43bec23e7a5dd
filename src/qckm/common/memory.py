"""How much memory there is: so that what would not fit is refused in a sentence, not ended by the system.

`QCKM_MEMORY` (bytes, or 8G, 500M) says how much may be taken; without it, it is what is free.
"""

from __future__ import annotations

import contextlib
import os
import re

from qckm.common.text import format_bytes
from qckm.errors import QckmError

# What a file or a number may ask for without being asked: its size says nothing of it.
_MOST = 6 << 30
# So little is not worth a question: where it is not free, the system makes it so.
_LITTLE = 1 << 28
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_CGROUPS = "/sys/fs/cgroup"


def bytes_in(variable: str) -> int | None:
    """Return the number of bytes that a variable of the environment says, such as 8G, if it is there."""
    text = os.environ.get(variable)
    if not text:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not found:
        raise QckmError(f"Expected {variable} to be a number of bytes such as 8G, got {text!r}.")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def free() -> int | None:
    """Return how many bytes a process can get: of the machine, of its container, of its own limits; None if unknown."""
    known = [bytes_ for bytes_ in (_of_machine(), _of_container(), _of_process()) if bytes_ is not None]
    return max(0, min(known)) if known else None


def lacking(needed: int) -> str | None:
    """Return in words why so many bytes may not be taken, more than are free or than is usual; None if they may."""
    if needed <= _LITTLE:
        return None
    asked, there = bytes_in("QCKM_MEMORY"), free()
    most = asked if asked is not None else min(_MOST, _MOST if there is None else there)
    if needed <= most:
        return None
    known = "" if there is None else f" ({format_bytes(there)} are free)"
    return f"takes about {format_bytes(needed)} of memory, and {format_bytes(most)} are allowed{known}"


def _of_machine() -> int | None:
    with contextlib.suppress(OSError, ValueError, StopIteration), open("/proc/meminfo", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _of_container() -> int | None:
    """Return what is left of the limits of control groups, version 2, of this process and those above."""
    with contextlib.suppress(OSError, StopIteration):
        with open("/proc/self/cgroup", encoding="utf-8") as lines:
            path = next(line.strip().split("::", 1)[1] for line in lines if line.startswith("0::"))
        left = []
        while True:
            with contextlib.suppress(OSError, ValueError):  # "max" is no number
                folder = _CGROUPS + path.rstrip("/")
                most = _number(f"{folder}/memory.max")
                left.append(most - _number(f"{folder}/memory.current") + _cached(f"{folder}/memory.stat"))
            if path in ("", "/"):
                return min(left) if left else None
            path = os.path.dirname(path)
    return None


def _of_process() -> int | None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        with open("/proc/self/statm", encoding="ascii") as file:
            return limit - int(file.read().split()[0]) * resource.getpagesize()
    return None


def _cached(path: str) -> int:
    """Return what is used for copies of files, and given up when it is needed."""
    with open(path, encoding="ascii") as lines:
        return sum(int(line.split()[1]) for line in lines if line.startswith(("inactive_file ", "active_file ")))


def _number(path: str) -> int:
    with open(path, encoding="ascii") as file:
        return int(file.read())
