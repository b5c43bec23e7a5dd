"""One thread writes; whatever comes while it waits for the disk is in its next transaction."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from qckm.collector.counting import Outcome, count_messages
from qckm.collector.database import Database
from qckm.collector.messages import Arrival
from qckm.collector.refusals import Unavailable
from qckm.collector.settings import Settings
from qckm.errors import QckmError

log = logging.getLogger("qckm.collector")
_FAULT = "A fault of the collector's: see its log."


@dataclass(eq=False)
class _Waiting:
    """Something to be written, and who waits for it."""

    done: asyncio.Future[Any]
    arrivals: Sequence[Arrival] = ()
    job: Callable[[Database], Any] | None = None
    key: str = ""  # jobs that change the same things are done in the order of their keys by everybody


@dataclass
class Committer:
    """Takes messages and jobs from coroutines, and answers when they are on the disk."""

    address: str
    settings: Settings
    observe: Callable[[float, int], None] = lambda seconds, messages: None
    waiting_messages: int = 0
    _queue: list[_Waiting] = field(default_factory=list)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None
    _stopping: bool = False

    def start(self) -> None:
        """Begin to write; to be called within the event loop."""
        self._thread = ThreadPoolExecutor(1, "qckm-commit")
        self._db = Database(self.address)
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Write what waits, and end."""
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            await self._task
        await asyncio.get_running_loop().run_in_executor(self._thread, self._db.close)
        self._thread.shutdown()

    async def count(self, arrivals: Sequence[Arrival]) -> list[Outcome]:
        """Count messages; return when that is on the disk."""
        if self.waiting_messages + len(arrivals) > self.settings.most_waiting:
            raise Unavailable(f"{self.waiting_messages} messages wait to be written: come again in a moment.")
        self.waiting_messages += len(arrivals)
        try:
            outcomes: list[Outcome] = await self._submit(arrivals)
        finally:
            self.waiting_messages -= len(arrivals)
        return outcomes

    async def do(self, job: Callable[[Database], Any], key: str = "") -> Any:
        """Do something within a transaction; return its result when it is on the disk."""
        return await self._submit((), job, key)

    async def _submit(self, *what: Any) -> Any:
        if self._stopping:
            raise Unavailable("The collector is stopping: come again in a moment.")
        waiting = _Waiting(asyncio.get_running_loop().create_future(), *what)
        self._queue.append(waiting)
        self._wake.set()
        return await waiting.done

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._queue or not self._stopping:
            if not self._queue:
                self._wake.clear()
                await self._wake.wait()
                continue
            batch, self._queue = self._queue, []
            began = time.perf_counter()
            try:
                results = await loop.run_in_executor(self._thread, self._write, batch)
            except Exception as error:
                failure = error if isinstance(error, Unavailable) else Unavailable(_FAULT)
                log.error("commit failed", extra={"error": str(error)}, exc_info=failure is not error)
                results = [failure] * len(batch)
            self.observe(time.perf_counter() - began, sum(len(waiting.arrivals) for waiting in batch))
            for waiting, result in zip(batch, results, strict=True):
                if waiting.done.cancelled():
                    continue
                if isinstance(result, Exception):
                    waiting.done.set_exception(result)
                else:
                    waiting.done.set_result(result)

    def _write(self, batch: list[_Waiting]) -> list[Any]:
        """Write all of it in one transaction."""
        arrivals = [arrival for waiting in batch for arrival in waiting.arrivals]
        with self._db.writing() as db:
            outcomes = iter(count_messages(db, arrivals, self.settings, int(time.time())) if arrivals else ())
            results: list[Any] = [[next(outcomes) for _ in waiting.arrivals] for waiting in batch]
            for at in sorted(range(len(batch)), key=lambda at: batch[at].key):
                job = batch[at].job
                if job is not None:
                    results[at] = _do(db, job)
        return results


def _do(db: Database, job: Callable[[Database], Any]) -> Any:
    """Return a job's result, or its error: one that is refused changes nothing, and does not stop the others."""
    try:
        with db.nested():
            return job(db)
    except Unavailable:
        raise
    except QckmError as error:
        return error
    except Exception:  # of one job: the others must not wait for it to be understood
        log.exception("a fault in a job")
        return Unavailable(_FAULT)
