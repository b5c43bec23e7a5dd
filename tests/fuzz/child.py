"""Checks inputs one after the other, in a process of its own: `python -m fuzz.child JOB PROGRESS`.

It says on standard output, a line of JSON each, what became of them. The file PROGRESS holds the number of the input it
is at, so that its parent knows it if the process dies.
"""

import contextlib
import faulthandler
import gc
import importlib
import json
import mmap
import os
import random
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

from fuzz.limits import LOADED, REFUSED, Limits, target_of

_ADDRESSES = 8 << 30  # bytes: a last resort, before the machine runs out of memory


@dataclass(frozen=True)
class Job:
    """Inputs `first` to `end - 1` of a run: its seed, and the names of its targets."""

    names: list[str]
    seed: int
    first: int
    end: int
    limits: Limits


def input_of(name: str, seed: int, number: int) -> bytes:
    """Return an input: the same for the same target, seed and number."""
    return importlib.import_module(f"fuzz.{name}").make(random.Random(f"{name} {seed} {number}"))


def run(job: Job, progress: mmap.mmap, folder: Path) -> None:
    """Check inputs, and count what becomes of them."""
    for name in job.names:
        module = importlib.import_module(f"fuzz.{name}")
        for data in module.EXAMPLES.values():
            module.check(data, folder)  # an example that does not load would make all that follows worthless
    gc.freeze()
    base = _peak()
    # The timer ends a process that computes for too long; it says where it was.
    faulthandler.register(signal.SIGPROF, chain=True)
    for number in range(job.first, job.end):
        progress[:8] = number.to_bytes(8, "little")
        name = target_of(number, job.names)
        data = input_of(name, job.seed, number)
        signal.setitimer(signal.ITIMER_PROF, job.limits.computing)
        outcome, words = _outcome(name, data, folder)
        signal.setitimer(signal.ITIMER_PROF, 0)
        more = _peak() - base
        if not words and more > job.limits.megabytes:
            outcome, words = "memory", f"it took {more} MB more than those before"
        base = max(base, _peak() - job.limits.megabytes // 2)  # what many inputs leave behind is not one's fault
        print(json.dumps([number, outcome, words]), flush=True)


def _outcome(name: str, data: bytes, folder: Path) -> tuple[str, str]:
    """Return what became of an input, and, of a finding, how."""
    from qckm.errors import QckmError

    try:
        return sys.modules[f"fuzz.{name}"].check(data, folder) or LOADED, ""
    except QckmError:
        return REFUSED, ""
    except AssertionError:
        return "wrong load", traceback.format_exc()
    except BaseException:
        return "foreign exception", traceback.format_exc()


def _peak() -> int:
    """Return the most memory this process has had, in MB; of Linux's two figures the one that forgets its parent's."""
    with contextlib.suppress(OSError, StopIteration), open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM:"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def main(job: str, path: str) -> None:
    """Do a job that is given as JSON."""
    faulthandler.enable()
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
    asked = json.loads(job)
    limits = Limits(**asked.pop("limits"))
    with open(path, "r+b") as file, tempfile.TemporaryDirectory(dir=quick_folder()) as folder:
        run(Job(**asked, limits=limits), mmap.mmap(file.fileno(), 8), Path(folder))
    sys.stdout.flush()
    os._exit(0)  # pyarrow may abort when a busy process ends (apache/arrow#34314)


def quick_folder() -> str | None:
    """Return a folder in memory, where there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


if __name__ == "__main__":
    main(*sys.argv[1:])
