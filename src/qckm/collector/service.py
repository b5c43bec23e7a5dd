"""A collector at work: what its doors (HTTP, MQTT) share, and what it does on its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from qckm.collector import messages, schema, senders, upkeep
from qckm.collector.counting import Outcome
from qckm.collector.database import Database
from qckm.collector.decoding import Decoder
from qckm.collector.group_commit import Committer
from qckm.collector.messages import Arrival
from qckm.collector.refusals import Limits, Reason, Refused, Unavailable
from qckm.collector.senders import Directory, stamp_of
from qckm.collector.settings import HOUR, Settings
from qckm.errors import CollectorError
from qckm.sketch import SketchOperator

log = logging.getLogger("qckm.collector")
T = TypeVar("T")
# How many messages are looked at before other requests get their turn.
_TURN = 50
# How long a database may take to start.
_START_SECONDS = 60
# Seconds between looks for new tokens and devices that strangers can bring about.
_SOON = 0.1
# Seconds between attempts to write, and how long one may take.
_TRY, _TRY_SECONDS = 1.0, 5
# The text of a refusal that is kept, as an example.
_WORDS = 300


class Metrics:
    """What Prometheus is told of one collector, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        given: dict[str, Any] = {"registry": self.registry}
        seconds, sizes = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5), (1, 10, 100, 1000, 10_000)
        self.messages = Counter("qckm_messages", "Messages of devices, by what became of them", ["outcome"], **given)
        self.parts = Counter("qckm_parts", "Parts, by what became of them", ["outcome"], **given)
        self.rows = Counter("qckm_rows", "Rows that were added to sums", **given)
        self.refused = Counter("qckm_refused", "Whatever was refused, by reason", ["reason"], **given)
        durable = "Transactions, until they are on the disk"
        self.commits = Histogram("qckm_commit_seconds", durable, buckets=seconds, **given)
        self.batch = Histogram("qckm_commit_messages", "Messages in a transaction", buckets=sizes, **given)
        self.waiting = Gauge("qckm_waiting_messages", "Messages that wait for a commit", **given)
        self.mqtt = Gauge("qckm_mqtt_connected", "Whether there is a connection to the broker", **given)


@dataclass
class Service:
    """One collector: its store, who may send, what waits to be written, and its numbers."""

    address: str
    settings: Settings
    operator: SketchOperator
    first_token: str | None = field(default=None, repr=False)  # where the store is new
    directory: Directory = field(default_factory=Directory)
    metrics: Metrics = field(default_factory=Metrics)
    publish: Callable[[str, bytes], None] | None = None  # below our topic, where there is a broker
    _looked: float = 0.0
    _look: asyncio.Task[None] | None = None
    _tried: float = -1e9
    _refused: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _local: threading.local = field(default_factory=threading.local)  # each thread that reads has a connection
    _reading: list[Database] = field(default_factory=list)

    @classmethod
    def open(cls, address: str, settings: Settings, operator: SketchOperator | None = None) -> Service:
        """Open a store, and make it if it is new: then it needs an operator. A database that starts is waited for."""
        db, until, said = Database(address), time.monotonic() + _START_SECONDS, ""
        while True:
            try:
                kept = schema.prepare(db, operator, settings)
                return cls(address, settings, kept, senders.first_token(db, int(time.time())))
            except Unavailable as error:
                if not db.is_postgresql:
                    raise
                if time.monotonic() > until:
                    remedy = f"Tried for {_START_SECONDS} s: start the database, or name another store with --store."
                    raise CollectorError(f"{str(error).rstrip('.')}. {remedy}") from error
                if str(error) != said:
                    log.warning("waiting for the database", extra={"error": str(error)})
                said = str(error)
                time.sleep(0.5)
            finally:
                db.close()

    async def start(self) -> None:
        """Begin to work; to be called within the event loop."""
        self.committer = Committer(self.address, self.settings, self._observe)
        self.committer.start()
        self.decoder = Decoder()
        self.limits = Limits(self.settings.messages_per_second, "messages")
        self.failures = Limits(self.settings.failures_per_second, "failed attempts")
        self._readers = ThreadPoolExecutor(2, "qckm-read")
        with contextlib.suppress(Unavailable):  # it is looked again soon
            await self._refresh()
        self.every(1.0, self._refresh)
        self.every(1.0, self._write_refusals)
        self.every(60.0, self._keep_up)

    async def stop(self) -> None:
        """End: what was taken is written first."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(Unavailable):
            await self._write_refusals()
        await self.committer.stop()
        self._readers.shutdown()
        for db in self._reading:
            db.close()

    def every(self, seconds: float, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do something again and again; what goes wrong is logged, and it is done again."""

        async def again() -> None:
            while True:
                await asyncio.sleep(seconds)
                try:
                    await work()
                except Unavailable as error:
                    log.warning("the store is not available", extra={"error": str(error)})
                except Exception:
                    log.exception("a fault in periodic work")

        self._tasks.append(asyncio.create_task(again()))

    async def read(self, question: Callable[[Database], T]) -> T:
        """Ask the store something, in another thread, of one state of it."""

        def ask() -> T:
            if not hasattr(self._local, "db"):
                self._local.db = Database(self.address)
                self._reading.append(self._local.db)
            with self._local.db.reading() as db:
                return question(db)

        return await asyncio.get_running_loop().run_in_executor(self._readers, ask)

    async def check_messages(self, bodies: Iterable[bytes], sender: str) -> list[Arrival | Refused]:
        """Return the messages of some bytes, each right in itself or refused."""
        found: dict[int, Arrival | Refused] = {}
        pieces = (piece for body in bodies for piece in messages.split(memoryview(body)))
        strangers = await self._check(enumerate(pieces), found)
        if strangers and await self.look_again():  # once for all of them, however many a stranger has sent
            await self._check(strangers, found)
        for each in found.values():
            if isinstance(each, Refused):
                # The sender is whoever brought it: a name that a forger has written in must not stand for the device.
                self.note_refusal(each, sender)
        return list(found.values())

    async def _check(
        self, pieces: Iterable[tuple[int, memoryview | Refused]], found: dict[int, Arrival | Refused]
    ) -> list[tuple[int, memoryview | Refused]]:
        """Find out what messages are, by their numbers; return those of unknown devices."""
        now, strangers = int(time.time()), []
        for number, piece in pieces:
            if number % _TURN == _TURN - 1:
                await asyncio.sleep(0)
            try:
                if isinstance(piece, Refused):
                    raise piece
                found[number] = messages.check(piece, self.directory.devices, self.operator, self.settings, now)
            except Refused as error:
                found[number] = error
                if error.reason is Reason.UNKNOWN_DEVICE:
                    strangers.append((number, piece))
        return strangers

    async def count(self, checked: Sequence[Arrival | Refused]) -> list[bool | Refused]:
        """Count messages; return, when that is on the disk, whether each was new, or why it was refused."""
        arrivals = [each for each in checked if isinstance(each, Arrival)]
        # A long list goes in pieces: as a whole it might be more than may wait.
        most, counted = max(1, self.settings.most_waiting // 4), list[Outcome]()
        for at in range(0, len(arrivals), most):
            counted += await self.committer.count(arrivals[at : at + most])
        outcomes, results, rows = iter(counted), list[bool | Refused](), 0
        for each in checked:
            if isinstance(each, Refused):
                results.append(each)
                continue
            outcome = next(outcomes)
            if isinstance(outcome, Reason):
                device = self.directory.devices.get(each.device)
                results.append(refused := Refused(outcome, f"{each.name}: {_WHY.get(outcome, outcome)}"))
                self.note_refusal(refused, device.name if device else "unknown")
            else:
                results.append(outcome)
                rows += each.rows * outcome
        accepted, repeated = results.count(True), results.count(False)
        became = {"accepted": accepted, "repeated": repeated, "refused": len(results) - accepted - repeated}
        for name, count in became.items():
            self.metrics.messages.labels(name).inc(count)
        self.metrics.rows.inc(rows)
        return results

    def note_refusal(self, error: Refused, sender: str) -> None:
        """Remember that something was refused; it is written to the store now and then."""
        self.metrics.refused.labels(error.reason.value).inc()
        key = sender, error.reason.value
        self._refused[key] = self._refused.get(key, (0, ""))[0] + 1, str(error)[:_WORDS]

    async def _write_refusals(self) -> None:
        if not self._refused:
            return
        noted, self._refused, now = self._refused, {}, int(time.time())

        def write(db: Database) -> None:
            db.many(
                "INSERT INTO refusals (sender, reason, times, last, words) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (sender, reason) DO UPDATE SET times = refusals.times + excluded.times, "
                "last = excluded.last, words = excluded.words",
                [(*key, times, now, words) for key, (times, words) in sorted(noted.items())],
            )

        try:
            await self.committer.do(write)
        except Unavailable:
            for key, (times, words) in noted.items():
                self._refused[key] = self._refused.get(key, (0, ""))[0] + times, words
            raise

    def _observe(self, seconds: float, count: int) -> None:
        self.metrics.commits.observe(seconds)
        if count:
            self.metrics.batch.observe(count)
        self.metrics.waiting.set(self.committer.waiting_messages)

    async def is_ready(self) -> bool:
        """Whether something can be written, as something was; anybody may ask, so it is tried once a second at most."""
        if time.monotonic() - self._tried > _TRY:
            self._tried = time.monotonic()
            put = "INSERT INTO jobs (name, due) VALUES ('ready', ?) ON CONFLICT (name) DO UPDATE SET due = excluded.due"
            self._trial = asyncio.create_task(
                asyncio.wait_for(self.committer.do(lambda db: db.execute(put, (int(time.time()),))), _TRY_SECONDS)
            )
        try:
            return bool(await asyncio.shield(self._trial))
        except (Unavailable, TimeoutError):
            return False

    async def look_again(self) -> bool:
        """Look whether somebody unknown has been made known meanwhile; all who ask at the same time share one look."""
        stamp = self.directory.stamp
        if self._look is None or self._look.done():

            async def look() -> None:
                await asyncio.sleep(max(0.0, self._looked + _SOON - time.monotonic()))
                await self._refresh()

            self._look = asyncio.create_task(look())
        await asyncio.shield(self._look)
        return self.directory.stamp != stamp

    async def _refresh(self) -> None:
        """Look whether tokens or devices were made or revoked."""
        self._looked, known = time.monotonic(), self.directory.stamp
        newer = await self.read(lambda db: None if known and stamp_of(db) == known else Directory.load(db))
        self.directory = newer or self.directory

    async def _keep_up(self) -> None:
        def work() -> None:
            now = int(time.time())
            with Database(self.address) as db:
                if not upkeep.is_due(db, "upkeep", now, HOUR):
                    return
                if not upkeep.is_steady(db, now):
                    log.info("upkeep waits until the clock has gone on for a day")
                    return
                days = upkeep.roll_up(db, self.operator, self.settings, now)
                closed = upkeep.close_parts(db, self.settings, now)
                gone = upkeep.forget_windows(db, self.settings, now)
                upkeep.forget_models(db, now)
                log.info("upkeep", extra={"days_made": days, "parts_closed": closed, "windows_forgotten": gone})

        await asyncio.get_running_loop().run_in_executor(self._readers, work)


_WHY = {
    Reason.CONFLICT: "another message of the same number was counted: the device restarts without a new boot number, "
    "or two share a key.",
    Reason.TOO_OLD: "older than the numbers that are remembered: whether it was counted is not known.",
    Reason.OLD_BOOT: "of a start before those that are remembered: whether it was counted is not known.",
    Reason.UNKNOWN_DEVICE: "no such device, or it was revoked.",
}
