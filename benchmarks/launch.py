"""Time and peak memory of a command.

By way of a small process: Linux counts what the parent held at the fork as the command's own peak.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass

_LAUNCHER = """
import json, os, sys, time
began = time.perf_counter()
child = os.spawnv(os.P_NOWAIT, sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(child, 0)
spent = usage.ru_utime + usage.ru_stime
json.dump([status, time.perf_counter() - began, usage.ru_maxrss / 1024, spent], open(int(sys.argv[1]), "w"))
"""


@dataclass(frozen=True)
class Ran:
    """Exit status, wall-clock seconds, peak memory in MB, what was printed, and processor seconds."""

    status: int
    seconds: float
    megabytes: float
    output: str
    errors: str
    processor: float


def launch(words: list[str]) -> Ran:
    """Run a command."""
    with tempfile.TemporaryFile("w+") as notes, tempfile.TemporaryFile("w+") as errors:
        launcher = [sys.executable, "-S", "-c", _LAUNCHER, str(notes.fileno()), *words]
        done = subprocess.run(launcher, stdout=subprocess.PIPE, stderr=errors, text=True, pass_fds=[notes.fileno()])
        notes.seek(0)
        errors.seek(0)
        status, seconds, megabytes, processor = json.load(notes)
        return Ran(status, seconds, megabytes, done.stdout, errors.read(), processor)
