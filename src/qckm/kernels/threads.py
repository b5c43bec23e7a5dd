"""Threads: one pool a process, work shared out in order, as many at a time as one may take.

Sums of integers do not depend on who added what, so nothing here has to be fair or in order to be deterministic.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from operator import index
from threading import Lock
from typing import TYPE_CHECKING, SupportsIndex, TypeVar

from qckm.errors import OperatorError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")

# What brings libraries with threads of their own, when it is imported.
_BRINGS_LIBRARIES = ("scipy.linalg", "sklearn.mixture")

# By process: the child of a fork has no threads, and makes a pool of its own.
_pools: dict[int, ThreadPoolExecutor] = {}

# How many threads our own loops may take where BLAS is held to one.
_ALLOWED: ContextVar[int | None] = ContextVar("allowed", default=None)


class Tasks(Iterator[int]):
    """The numbers 0 … count − 1, each given to one thread, in increasing order, until `stop`."""

    def __init__(self, count: int) -> None:
        self._next, self._count, self._lock = 0, count, Lock()

    def __next__(self) -> int:
        with self._lock:
            if self._next >= self._count:
                raise StopIteration
            self._next += 1
            return self._next - 1

    def stop(self) -> None:
        """Give out no more."""
        with self._lock:
            self._count = 0


def share(work: Callable[[Tasks], Result], n_tasks: int, n_jobs: int | None = None) -> list[Result]:
    """Call `work` in as many threads as `count_threads` says, this one among them, all taking from the same tasks.

    An exception in one of them, Ctrl-C in this one included, lets the others finish the task they are at and no more.
    """
    tasks = Tasks(n_tasks)

    def each() -> Result:
        try:
            return work(tasks)
        except BaseException:
            tasks.stop()
            raise

    n_threads = min(n_tasks, count_threads(n_jobs)) if n_tasks > 1 else 1
    others = [_pool().submit(each) for _ in range(n_threads - 1)]
    try:
        return [each(), *(other.result() for other in others)]
    finally:
        tasks.stop()


def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # with its logging, a tenth of the time that importing us takes

    # Threads are only made when they are needed and none is idle: the pool is as large as the largest n_jobs so far.
    return _pools.setdefault(os.getpid(), ThreadPoolExecutor(max_workers=1024, thread_name_prefix="qckm"))


def as_jobs(n_jobs: SupportsIndex | None) -> int | None:
    """Return a number of threads, or None."""
    try:
        jobs = None if n_jobs is None else index(n_jobs)
    except TypeError:
        jobs = 0
    if jobs == 0:
        raise OperatorError(f"Expected n_jobs to be None, a number of threads, or -1 for all cores, got {n_jobs!r}.")
    return jobs


def count_threads(n_jobs: int | None) -> int:
    """Return how many threads to use.

    Parameters
    ----------
    n_jobs : int or None
        A number of threads; −1 for all cores there are, −2 for all but one; None for all cores, but no more than
        OMP_NUM_THREADS or a limit set with threadpoolctl.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return _ALLOWED.get() or min(cores, *_limits())
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def _limits() -> Iterator[int]:
    # A list of levels, "4,2", is for nested parallelism: ours is the outermost.
    variable = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if variable.isdecimal() and int(variable) > 0:
        yield int(variable)
    for library in _libraries().info():
        yield library["num_threads"]
    yield 1024


@contextmanager
def one_thread() -> Iterator[None]:
    """Have BLAS and OpenMP use one thread, of the libraries that are loaded by now; our own loops use more, as before.

    Small linear algebra is faster so, and its rounding must not depend on how many threads there are.
    """
    token = _ALLOWED.set(count_threads(None))
    try:
        with _libraries(tuple(name in sys.modules for name in _BRINGS_LIBRARIES)).limit(limits=1):
            yield
    finally:
        _ALLOWED.reset(token)


@cache
def _libraries(loaded: tuple[bool, ...] = ()) -> ThreadpoolController:
    """Look through all loaded libraries, which takes a millisecond: once is enough, until there are more."""
    from threadpoolctl import ThreadpoolController  # it looks for them when it is imported: only who needs it waits

    return ThreadpoolController()
