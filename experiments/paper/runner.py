"""Long experiments in several sittings: what is in the table is not measured again, and a kill loses one trial at most.

A table is a CSV to which each finished job appends its rows. Jobs run in the order they are given; give them seed by
seed, and whatever has been measured when the time is up is an even share of every cell.
"""

from __future__ import annotations

import csv
import fcntl
import gzip
import io
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


class Table:
    """Rows of a CSV file, of which the first `n_keys` columns say what was measured, and the others what came out.

    Tables that are done may be packed, NAME.csv.gz in place of NAME.csv; whoever measures more unpacks them first.
    """

    def __init__(self, name: str, header: Sequence[str], n_keys: int, folder: Path = RESULTS) -> None:
        self.path, self.header, self.n_keys = folder / f"{name}.csv", list(header), n_keys
        self.packed = folder / f"{name}.csv.gz"

    def read(self) -> list[dict[str, str]]:
        """Return the rows, without a last line that was cut off when its writer was killed."""
        if self.path.exists():
            text = self.path.read_text()
        else:
            text = gzip.decompress(self.packed.read_bytes()).decode() if self.packed.exists() else ""
        lines = text[: text.rfind("\n") + 1].splitlines()
        if lines and lines[0] != ",".join(self.header):
            raise ValueError(
                f"Expected {self.path} to begin with {','.join(self.header)}, got {lines[0]}: another version or "
                "another program wrote it. Put the header there, or move the file away."
            )
        return list(csv.DictReader(lines))

    def pack(self) -> None:
        """Compress a table that is done: the same rows give the same bytes."""
        if self.path.exists():
            self.packed.write_bytes(gzip.compress(self.path.read_bytes(), mtime=0))
            self.path.unlink()

    def _unpack(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.packed.exists() and not self.path.exists():
            self.path.write_bytes(gzip.decompress(self.packed.read_bytes()))

    def done(self) -> set[tuple[str, ...]]:
        """Return the keys of what has been measured."""
        return {tuple(row[name] for name in self.header[: self.n_keys]) for row in self.read()}

    def append(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows at the end, after the header if there is none; a last line that was cut off goes."""
        self._unpack()
        with self.path.open("ab+") as file:
            file.seek(0)
            whole = file.read().rfind(b"\n") + 1
            file.truncate(whole)
            file.write(_csv(rows if whole else [self.header, *rows]))

    def replace(self, rows: Iterable[Sequence[Any]]) -> None:
        """Hold these rows instead; the old ones stay until the new are all written."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        part.write_bytes(_csv([self.header, *rows]))
        os.replace(part, self.path)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from measuring for this table; look up what is done within."""
        self._unpack()
        with self.path.open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                ours = os.path.samestat(os.fstat(file.fileno()), self.path.stat())  # not replaced in between
            except BlockingIOError:
                ours = False
            if not ours:
                raise SystemExit(f"Another process is measuring for {self.path}: wait until it ends, or stop it.")
            yield


def _csv(rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def run(
    table: Table, jobs: Sequence[Any], work: Callable[[Any], list[tuple]], processes: int, in_order: bool = True
) -> None:
    """Do the jobs and append what they return, in their order or as they end; say now and then how far it is.

    Jobs of unlike length are better not in order: what has ended would wait for a slow one, and be lost with it.
    """
    begun = said = time.monotonic()
    for number, rows in enumerate(_results(jobs, work, processes, in_order), 1):
        table.append(rows)
        if time.monotonic() - said > 30 or number == len(jobs):
            said = time.monotonic()
            print(f"{table.path.stem}: {number} of {len(jobs)} jobs, {said - begun:.0f} s", file=sys.stderr, flush=True)


def _results(
    jobs: Sequence[Any], work: Callable[[Any], list[tuple]], processes: int, in_order: bool
) -> Iterable[list[tuple]]:
    if processes <= 1:
        yield from map(work, jobs)
        return
    waiting = iter(jobs)
    # Not by a fork server, the default of later Pythons: that would be the workers' parent, and outlive us.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    # A few jobs ahead, not all: an interrupted run ends soon.
    with ProcessPoolExecutor(processes, context, initializer=_end_with, initargs=(os.getpid(),)) as pool:
        ahead = [pool.submit(work, job) for job in islice(waiting, 2 * processes)]
        while ahead:
            if not in_order:  # the first that has ended comes next
                wait(ahead, return_when=FIRST_COMPLETED)
                ahead.sort(key=lambda job: not job.done())
            yield ahead.pop(0).result()
            ahead += [pool.submit(work, job) for job in islice(waiting, 1)]


def _end_with(parent: int) -> None:
    """End this worker soon after its parent, which may be killed before it can say so."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
