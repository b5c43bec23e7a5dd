"""How many messages a second does a collector count, and how long do senders wait until they are on the disk?

python -m benchmarks.collector        # writes results/collector.md; three minutes; needs mosquitto and PostgreSQL

Collector and senders share the machine's cores. What is sent is made while it is sent: signed counters of 100 rows
each, m = 256, 1080 bytes, of 10 000 devices. "The server alone" is the same server that reads requests and answers
them, with nothing done: what is lost against it is the collector's own work.
"""

from __future__ import annotations

import http.client
import json
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import qckm
from benchmarks.machine import describe
from benchmarks.timing import Row
from qckm.collector import senders
from qckm.collector.database import Database
from qckm.collector.schema import prepare
from qckm.collector.settings import Settings
from qckm.sensor import signed, wire

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

DEVICES, GROUPS, BATCH, ROWS = 10_000, 40, 100, 100
RESULTS = Path(__file__).parent / "results" / "collector.md"
NULL_SERVER = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
async def take(request):
    body = await request.body()
    return JSONResponse({"accepted": len(body) // 1080, "repeated": 0, "refused": []})
async def ready(request):
    return JSONResponse({})
app = Starlette(routes=[Route("/v1/messages", take, methods=["POST"]), Route("/readyz", ready)])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False)
"""


class Fleet:
    """Devices in a store, and the messages that they send, in turn."""

    def __init__(self, store: str) -> None:
        self.store = store
        self.operator = qckm.SketchOperator.draw(n_features=6, n_frequencies=256, scale=1.0, random_state=0)
        db = Database(store)
        prepare(db, self.operator, Settings())
        names = [f"hall-{i % GROUPS}/press-{i}" for i in range(DEVICES)]
        self.devices = senders.create_devices(db, names, None, None, 0)
        self.token = senders.create_token(db, "gateway", ["relay", "read"], [], 0)
        db.close()
        rng = np.random.default_rng(0)
        self.templates = [
            wire.counters_message(self.operator.sketch(rng.normal(size=(ROWS, 6))), 0, 0) for _ in range(50)
        ]
        self._next, self._lock = 0, threading.Lock()

    def take(self, count: int) -> list[bytes]:
        """Return the next messages."""
        with self._lock:
            first, self._next = self._next, self._next + count
        found = []
        for number in range(first, first + count):
            device = self.devices[number % DEVICES]
            made = replace(self.templates[number % 50], device=device.number, sequence=number // DEVICES, boot=1)
            found.append(signed.dumps(made, device.key))
        return found


class Server:
    """A process that listens."""

    def __init__(self, words: list[str], port: int) -> None:
        self.port = port
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                line = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                line.request("GET", "/readyz")
                if line.getresponse().status == 200:
                    return
            except OSError:
                time.sleep(0.05)
        raise SystemExit("the server does not answer")

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(30)

    def megabytes(self) -> float:
        """Return the memory that it holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


def collector(store: str, port: int, *options: str) -> Server:
    """Start a collector."""
    words = [sys.executable, "-m", "qckm", "collect", "--store", store, "--port", str(port)]
    return Server([*words, "--messages-per-second", "1e9", *options], port)


def post(
    fleet: Fleet, port: int, count: int, senders_at_once: int = 4, batch: int = BATCH, rate: float = 0
) -> tuple[float, list[float]]:
    """Send so many messages; return messages a second, and how long each request took."""
    waits: list[float] = []
    turns = iter(range(count // batch))
    lock, began = threading.Lock(), time.perf_counter()

    def work() -> None:
        line = http.client.HTTPConnection("127.0.0.1", port)
        while True:
            with lock:
                turn = next(turns, None)
            if turn is None:
                return
            body = b"".join(fleet.take(batch))
            if rate:
                time.sleep(max(0.0, began + turn * batch / rate - time.perf_counter()))
            asked = time.perf_counter()
            line.request("POST", "/v1/messages", body, {"Authorization": f"Bearer {fleet.token}"})
            answer = line.getresponse()
            told = json.loads(answer.read())
            waits.append(time.perf_counter() - asked)
            assert answer.status == 200, told
            assert told["accepted"] == batch, told

    threads = [threading.Thread(target=work) for _ in range(senders_at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return count / (time.perf_counter() - began), waits


def publish(fleet: Fleet, port: int, count: int, rate: float = 0) -> tuple[float, list[float]]:
    """Publish so many messages; return how many a second were acknowledged by the collector, and how long each took."""
    import paho.mqtt.client as paho
    from paho.mqtt.enums import CallbackAPIVersion

    sent: dict[tuple[int, int], float] = {}
    waits: list[float] = []
    room, done = threading.Semaphore(2000), threading.Event()

    def on_message(client: object, data: object, heard: paho.MQTTMessage) -> None:
        device, now = int(heard.topic.rsplit("/", 1)[1]), time.perf_counter()
        for _, sequence, _ in struct.iter_unpack("<IIB", heard.payload):
            waits.append(now - sent.pop((device, sequence)))
            room.release()
            if len(waits) == count:
                done.set()

    client = paho.Client(CallbackAPIVersion.VERSION2)
    client.max_inflight_messages_set(2000)
    client.on_message = on_message
    client.connect("127.0.0.1", port)
    client.subscribe("fleet/acks/+")
    client.loop_start()
    time.sleep(1)
    began = time.perf_counter()
    for number in range(count):
        (message,) = fleet.take(1)
        device, sequence = struct.unpack_from("<II", message, 12)
        if rate:
            time.sleep(max(0.0, began + number / rate - time.perf_counter()))
        room.acquire()
        sent[device, sequence] = time.perf_counter()
        client.publish("fleet/messages", message, qos=1)
    assert done.wait(60), f"{count - len(waits)} were not acknowledged"
    speed = count / (time.perf_counter() - began)
    client.disconnect()
    client.loop_stop()
    return speed, waits


def p99(waits: list[float]) -> float:
    """Return what one in a hundred waited longer than, in milliseconds."""
    return float(np.quantile(waits, 0.99)) * 1000


def middle(runs: list[list[float]]) -> float:
    """Return the p99 of the run in the middle: others use the machine, too."""
    return sorted(map(p99, runs))[len(runs) // 2]


def told(runs: list[list[float]]) -> str:
    """Return the p99 of each run, and the median wait."""
    return (
        f"of three runs, {', '.join(f'{p99(waits):.0f}' for waits in runs)} ms; median {1000 * np.median(runs):.1f} ms"
    )


def rows() -> Iterator[Row]:
    """Yield what was measured."""
    from collector.fleet import free_port
    from collector.peers import Mosquitto, Postgres, stopping

    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(folder)
        with collector(folder, free_port()) as server:
            post(fleet, server.port, 20_000)
            port = free_port()
            with Server([sys.executable, "-c", NULL_SERVER, str(port)], port) as null:
                turns = [(post(fleet, server.port, 40_000), post(fleet, null.port, 40_000)[0]) for _ in range(3)]
            (speed, waits), alone = sorted(turns, key=lambda turn: turn[0][0])[1]
            note = f"{speed / alone:.0%} of the server alone; p99 {p99(waits):.0f} ms"
            yield Row("HTTP, batches of 100, SQLite", 3000, round(speed), "messages/s", note=note)
            runs = [post(fleet, server.port, 15_000, rate=3000)[1] for _ in range(3)]
            yield Row("… at 3000 messages/s, p99", 100, middle(runs), "ms", True, told(runs))
            single, waits = post(fleet, server.port, 10_000, batch=1, senders_at_once=8)
            yield Row("HTTP, one message a request", 0, single, "messages/s", note=f"p99 {p99(waits):.0f} ms")
            before = server.megabytes()
            post(fleet, server.port, 1_000_000)
            growth = server.megabytes() / before
            yield Row("memory after 10⁶ more messages", 1.1, growth, "×", True, f"{before:.0f} MB before")
    with stopping(Mosquitto()) as broker, tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(folder)
        with collector(folder, free_port(), "--mqtt", broker.url):
            time.sleep(1)
            publish(fleet, broker.port, 2000)
            speed, waits = publish(fleet, broker.port, 30_000)
            yield Row("MQTT, QoS 1, mosquitto, SQLite", 1500, speed, "messages/s", note=f"p99 {p99(waits):.0f} ms")
            runs = [publish(fleet, broker.port, 10_000, rate=1500)[1] for _ in range(3)]
            yield Row("… at 1500 messages/s, p99", 100, middle(runs), "ms", True, told(runs))
    with stopping(Postgres()) as postgres:
        fleet = Fleet(postgres.url)
        with collector(postgres.url, free_port()) as server:
            post(fleet, server.port, 10_000)
            speed, waits = post(fleet, server.port, 40_000)
            yield Row("HTTP, batches of 100, PostgreSQL", 0, speed, "messages/s", note=f"p99 {p99(waits):.0f} ms")


def main() -> None:
    """Print the table, and keep it."""
    lines = [describe(), "", "| what | target | measured | met | note |", "| --- | --- | --- | --- | --- |"]
    print(*lines, sep="\n", flush=True)
    for row in rows():
        lines.append(str(row))
        print(row, flush=True)
    RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
