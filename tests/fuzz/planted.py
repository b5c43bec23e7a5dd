"""Faults on purpose: the harness must find each of them, and must not take what is well for one."""

import ctypes
import random
import time
from pathlib import Path

from qckm.errors import FileError

KINDS = {
    b"loads": "loaded",
    b"is refused": "refused",
    b"aborts": "crash",
    b"reads where nothing is": "crash",
    b"computes for ever": "hang",
    b"waits for ever": "hang",
    b"raises something": "foreign exception",
    b"exits": "foreign exception",
    b"loads wrongly": "wrong load",
    b"takes memory": "memory",
}
EXAMPLES = {"well": b"loads"}


def make(rng: random.Random) -> bytes:
    """Return what is to happen: mostly nothing."""
    return rng.choice([*KINDS, *[b"loads", b"is refused"] * 5])


def check(data: bytes, folder: Path) -> None:
    """Do it."""
    if data == b"is refused":
        raise FileError("no")
    if data == b"aborts":
        ctypes.CDLL(None).abort()
    if data == b"reads where nothing is":
        ctypes.string_at(0)
    while data == b"computes for ever":
        pass
    if data == b"waits for ever":
        time.sleep(10**6)
    if data == b"raises something":
        raise KeyError("centers")
    if data == b"exits":
        raise SystemExit(0)
    if data == b"takes memory":
        bytes(range(256)) * (1 << 20)
    assert data != b"loads wrongly", "2 rows, got 3"
