"""A fleet that never gives up, and somebody who kills everything it talks to.

Each device keeps a message until it is acknowledged, sends in any order, and a fifth of all it sends are messages that
have arrived before. What must be true in the end: the sketch of the collector is that of all rows, byte for byte.
"""

from __future__ import annotations

import http.client
import json
import random
import signal
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from collector.fleet import OPERATOR, add_devices, free_port, message, new_store
from qckm.collector import senders, upkeep
from qckm.collector.database import Database
from qckm.collector.settings import DAY
from qckm.sketch import files

SKEWED = Path(__file__).parent / "skewed.py"
ROWS = 5  # of a message
DUPLICATES = 0.2
BATCH = 100


class Collector:
    """A process that can be killed and started again, with another clock if need be."""

    def __init__(self, store: str, *options: str, mqtt: str = "") -> None:
        self.store, self.options, self.port = store, options, free_port()
        self.mqtt = ["--mqtt", mqtt] if mqtt else []
        self.log = Path(f"/tmp/qckm-chaos-{self.port}.log")
        self.kills = self.starts = 0
        self.process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, skew: float = 0.0) -> None:
        words = [sys.executable, str(SKEWED), str(skew), "collect", "--store", self.store, "--port", str(self.port)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([*words, *self.mqtt, *self.options], stderr=log)
        self.starts += 1

    def wait(self, seconds: float = 60) -> bool:
        """Wait until something that is sent can be written; return whether it can."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.process.poll() is not None:
                return False
            try:
                line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                line.request("GET", "/readyz")
                if line.getresponse().status == 200:
                    return True
            except (OSError, http.client.HTTPException):
                pass
            finally:
                line.close()
            time.sleep(0.02)
        return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.kills += 1

    def __enter__(self) -> Collector:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.log.unlink(missing_ok=True)


@dataclass
class Told:
    """What happened on the way."""

    messages: int = 0
    sent: int = 0
    repeated: int = 0
    failed_requests: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, **counts: int) -> None:
        with self.lock:
            for name, count in counts.items():
                setattr(self, name, getattr(self, name) + count)


class Chaos:
    """Everything that is to be sent, who sends it, and what it must add up to."""

    def __init__(self, store: str, devices: int, messages_each: int, shops: int, days: int, seed: int = 0) -> None:
        self.store, self.rng = store, np.random.default_rng(seed)
        db = new_store(store)
        names = [f"hall-{i % 10}/press-{i}" for i in range(devices)]
        self.devices = add_devices(db, *names)
        self.token = senders.create_token(db, "all", senders.RIGHTS, ["*"], 0)
        db.close()
        blocks = [self.rng.normal(size=(ROWS, 3)) + 4 * self.rng.integers(0, 3) for _ in range(200)]
        uses = np.zeros(len(blocks), np.int64)
        self.messages: list[bytes] = []
        for device in self.devices:
            for number in range(messages_each):
                # Half way, the device starts anew.
                boot, sequence = divmod(number, -(-messages_each // 2))
                block = int(self.rng.integers(len(blocks)))
                uses[block] += 1
                clock = int(time.time()) + int(self.rng.choice([0, 0, -3600, -3 * DAY, 10**8, -(10**8)]))
                kind = "bits" if number % 2 else "counters"
                self.messages.append(message(device, sequence, blocks[block], boot + 1, clock, kind))
        # Of all devices, message by message, so that all of them are at it at any time.
        order = np.arange(len(self.messages)).reshape(devices, messages_each).T.ravel()
        self.messages = [self.messages[i] for i in order]
        self.parts = {}
        today = int(time.time()) // DAY * DAY
        for shop in range(shops):
            for day in range(days):
                rows = self.rng.normal(size=(50, 3))
                name = time.strftime(f"shop-{shop:02}/%Y-%m-%d", time.gmtime(today - (day + 3) * DAY))
                self.parts[name] = OPERATOR.sketch(rows)
        every = np.concatenate(
            [np.repeat(OPERATOR.encode(block), used, axis=0) for block, used in zip(blocks, uses, strict=True)]
        )
        self.expected = sum(self.parts.values(), OPERATOR.empty()) + OPERATOR.pool(every)
        self.released = 0  # messages that may be sent by now
        self.told = Told(messages=len(self.messages))
        self.stopped = threading.Event()

    def http_worker(self, number: int, workers: int, urls: list[str]) -> None:
        """Send every so-manieth message, each until it is acknowledged."""
        rng = random.Random(number)
        mine = list(range(number, len(self.messages), workers))
        waiting: list[int] = []
        done: list[int] = []
        at = 0
        while (at < len(mine) or waiting) and not self.stopped.is_set():
            while at < len(mine) and mine[at] < self.released:
                waiting.append(mine[at])
                at += 1
            if not waiting:
                if self.stopped.wait(0.02):
                    return
                continue
            rng.shuffle(waiting)
            batch = waiting[:BATCH]
            again = [rng.choice(done) for _ in range(int(len(batch) * DUPLICATES / (1 - DUPLICATES)))] if done else []
            body = [*batch, *again]
            rng.shuffle(body)
            answer = self._post(rng.choice(urls), b"".join(self.messages[i] for i in body))
            if answer is None:
                self.told.add(failed_requests=1)
                time.sleep(0.05)
                continue
            assert not answer["refused"], answer["refused"][:3]
            self.told.add(sent=len(body), repeated=answer["repeated"])
            done += batch
            waiting = waiting[BATCH:]

    def _post(self, url: str, body: bytes) -> dict | None:
        place = urlsplit(url)
        line = http.client.HTTPConnection(place.hostname, place.port, timeout=30)
        try:
            line.request("POST", "/v1/messages", body, {"Authorization": f"Bearer {self.token}"})
            answer = line.getresponse()
            data = answer.read()
            return json.loads(data) if answer.status == 200 else None
        except (OSError, http.client.HTTPException):
            return None
        finally:
            line.close()

    def mqtt_worker(self, number: int, workers: int, port: int) -> None:
        """The same through a broker: a message is sent again until the collector itself has acknowledged it."""
        mine = list(range(number, len(self.messages), workers))
        key_of = {i: struct.unpack_from("<I", self.messages[i], 12) + self._boot_and_sequence(i) for i in mine}
        number_of = {key: i for i, key in key_of.items()}
        open_ones: dict[int, float] = {}
        at = 0
        lock = threading.Lock()

        def on_message(client, data, heard):
            device = int(heard.topic.rsplit("/", 1)[1])
            with lock:
                for boot, sequence, refused in struct.iter_unpack("<IIB", heard.payload):
                    assert not refused
                    open_ones.pop(number_of.get((device, boot, sequence)), None)

        client = paho.Client(CallbackAPIVersion.VERSION2, f"chaos-{number}")
        client.on_message = on_message
        client.on_connect = lambda client, *_: client.subscribe("fleet/acks/+", qos=1)
        client.reconnect_delay_set(1, 2)
        client.connect_async("127.0.0.1", port)
        client.loop_start()
        while at < len(mine) or open_ones:
            if self.stopped.is_set():
                break
            now = time.monotonic()
            with lock:
                due = [i for i, when in open_ones.items() if when < now]
                while at < len(mine) and mine[at] < self.released and len(open_ones) < 2000:
                    due.append(mine[at])
                    at += 1
                for i in due:
                    open_ones[i] = now + 3
            for i in due:
                for _ in range(2 if random.random() < DUPLICATES else 1):
                    client.publish("fleet/messages", self.messages[i], qos=1)
                    self.told.add(sent=1)
            time.sleep(0.05)
        client.disconnect()
        client.loop_stop()

    def _boot_and_sequence(self, i: int) -> tuple[int, int]:
        data = self.messages[i]
        return struct.unpack_from("<I", data, len(data) - 24)[0], struct.unpack_from("<I", data, 16)[0]

    def parts_worker(self, urls: list[str]) -> None:
        """Send every part twice, from time to time, until it is acknowledged."""
        rng = random.Random(1)
        names = [*self.parts, *self.parts]
        rng.shuffle(names)
        for number, name in enumerate(names):
            while self.released < number / len(names) * len(self.messages) and not self.stopped.wait(0.02):
                pass
            while not self._put(rng.choice(urls), name):
                self.told.add(failed_requests=1)
                if self.stopped.wait(0.1):
                    return

    def _put(self, url: str, name: str) -> bool:
        place = urlsplit(url)
        line = http.client.HTTPConnection(place.hostname, place.port, timeout=30)
        try:
            data = files.dumps(self.parts[name])
            line.request("PUT", f"/v1/parts/{name}", data, {"Authorization": f"Bearer {self.token}"})
            answer = line.getresponse()
            answer.read()
            return answer.status in (200, 201)
        except (OSError, http.client.HTTPException):
            return False
        finally:
            line.close()

    def run(
        self, urls: list[str], rounds: int, each_round, http_workers: int = 3, broker_port: int | None = None
    ) -> None:
        """Release the messages in rounds; in each, `each_round(number)` does its worst. Then wait for the last one."""
        workers = http_workers + (broker_port is not None)
        threads = [threading.Thread(target=self._guard, args=(self.parts_worker, urls))]
        for number in range(http_workers):
            threads.append(threading.Thread(target=self._guard, args=(self.http_worker, number, workers, urls)))
        if broker_port is not None:
            given = (self.mqtt_worker, workers - 1, workers, broker_port)
            threads.append(threading.Thread(target=self._guard, args=given))
        self.failures: list[BaseException] = []
        for thread in threads:
            thread.daemon = True
            thread.start()
        try:
            for number in range(rounds):
                self.released = (number + 1) * len(self.messages) // (rounds + 1)
                each_round(number)
                assert not self.failures, self.failures
            self.released = len(self.messages)
            until = time.monotonic() + 180
            while any(thread.is_alive() for thread in threads):
                assert not self.failures, self.failures
                assert time.monotonic() < until, "messages were not acknowledged in time"
                time.sleep(0.1)
        finally:
            self.stopped.set()
            for thread in threads:
                thread.join(60)
        assert not self.failures, self.failures

    def _guard(self, work, *given) -> None:
        try:
            work(*given)
        except BaseException as error:
            self.failures.append(error)

    def words(self) -> str:
        """What was sent."""
        told, devices = self.told, len(self.devices)
        return (
            f"{devices:,} devices, {told.messages:,} messages in {told.sent:,} tries, {len(self.parts):,} parts twice "
            f"each, {told.failed_requests:,} requests that failed; 0 lost, 0 double, the sketch of "
            f"{self.expected.count:,} rows is that of one place, byte for byte"
        )

    def verify(self, url: str) -> None:
        """The collector's sketch is that of all rows, byte for byte, and its store agrees with itself."""
        place = urlsplit(url)
        line = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
        line.request("GET", "/v1/sketch", headers={"Authorization": f"Bearer {self.token}"})
        answer = line.getresponse()
        data = answer.read()
        line.close()
        assert answer.status == 200, data
        assert data == files.dumps(self.expected)
        db = Database(self.store)
        try:
            assert list(upkeep.check(db)) == []
        finally:
            db.close()
