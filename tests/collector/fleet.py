"""A fleet for tests: an operator, rows of devices, signed messages, a server of its own in a thread."""

from __future__ import annotations

import contextlib
import json
import threading
import time
import urllib.error
import urllib.request
from dataclasses import replace

import numpy as np

import qckm
from qckm.collector import senders, sums
from qckm.collector.database import Database
from qckm.collector.messages import check, split
from qckm.collector.schema import prepare
from qckm.collector.senders import Device
from qckm.collector.settings import Settings
from qckm.collector.windows import Asked
from qckm.sensor import signed, wire
from servers import free_port

OPERATOR = qckm.SketchOperator.draw(n_features=3, n_frequencies=40, scale=1.0, random_state=0)
# 2026-11-16T12:00Z.
NOON = 1794830400
DEFAULT = Settings()


def rows_of(seed: int, count: int = 100) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return 4 * rng.integers(0, 3, (count, 1)) + rng.normal(size=(count, 3))


def message(device: Device, sequence: int, rows: np.ndarray, boot: int = 1, time: int = 0, kind: str = "bits") -> bytes:
    """Return the bytes of a signed message of some rows."""
    if kind == "bits":
        made = wire.bits_message(OPERATOR, OPERATOR.encode(rows), device.number, sequence)
    else:
        made = wire.counters_message(OPERATOR.sketch(rows), device.number, sequence)
    return signed.dumps(replace(made, boot=boot, time=time), device.key)


def arrivals(data: bytes, devices, settings=DEFAULT, now=NOON):
    return [check(each, {d.number: d for d in devices}, OPERATOR, settings, now) for each in split(memoryview(data))]


def new_store(path, settings: Settings = DEFAULT) -> Database:
    db = Database(str(path))
    prepare(db, OPERATOR, settings)
    return db


def whole(db: Database, **asked) -> qckm.Sketch:
    """Return the sum of what is asked for, of all by default."""
    with db.reading():
        return sums.sketch_of(db, OPERATOR, Asked(**asked))


def add_devices(db: Database, *names: str) -> list[Device]:
    return senders.create_devices(db, names, None, None, NOON)


@contextlib.contextmanager
def running(store, settings: Settings = DEFAULT, operator=OPERATOR, broker=None, certificate=None, key=None):
    """Run a collector in a thread; yield its URL."""
    from qckm.collector.server import Address, make_server
    from qckm.collector.service import Service

    service = Service.open(str(store), settings, operator)
    address = Address(port=free_port(), certificate=certificate, key=key)
    server = make_server(service, address, broker)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until = time.monotonic() + 20
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            assert time.monotonic() < until, "the server did not start in time"
            time.sleep(0.01)
        yield address.url
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def call(method: str, url: str, token: str | None = None, data: bytes | None = None, headers=None):
    """Make one request; return the status, and the answer, read as JSON if it is such."""
    given = {} if token is None else {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(url, data, {**given, **(headers or {})}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            status, body, kind = answer.status, answer.read(), answer.headers.get_content_type()
    except urllib.error.HTTPError as error:
        status, body, kind = error.code, error.read(), error.headers.get_content_type()
    return status, json.loads(body) if kind == "application/json" else body
