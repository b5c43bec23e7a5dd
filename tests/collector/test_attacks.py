"""A hundred thousand messages, bodies and tokens that must not count: none does, and others are served meanwhile.

QCKM_ATTACKS scales it: 1 is the whole of it, as `make test-collector` runs it.
"""

import http.client
import json
import os
import threading
import time
from dataclasses import replace
from urllib.parse import urlsplit

import numpy as np
import pytest

from collector.fleet import OPERATOR, add_devices, message, new_store, rows_of, running
from collector.recording import record
from qckm.collector import senders, upkeep
from qckm.collector.database import Database
from qckm.sensor import signed
from qckm.sketch import files

pytestmark = [pytest.mark.peer, pytest.mark.timeout(600)]
SIZE = float(os.environ.get("QCKM_ATTACKS", "1"))
EACH = int(20_000 * SIZE)
BATCH = 100


class Line:
    """A connection that is kept."""

    def __init__(self, url, token):
        place = urlsplit(url)
        self.line = http.client.HTTPConnection(place.hostname, place.port, timeout=30)
        self.token = token

    def ask(self, method, path, body=None, token=None):
        headers = {"Authorization": f"Bearer {token or self.token}"}
        try:
            self.line.request(method, path, body, headers)
            answer = self.line.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):  # a server may hang up on whoever sends too much
            self.line.close()
            return 0, b""


def forged(rng, good, devices):
    data = bytearray(good)
    data[int(rng.integers(32, len(data)))] ^= int(rng.integers(1, 256))
    return bytes(data)


def strangers(rng, good, devices):
    made = signed.read(memoryview(good))
    return signed.dumps(replace(made, device=int(rng.integers(1000, 2**32))), devices[0].key)


def wrong_operator(rng, good, devices):
    made = signed.read(memoryview(good))
    return signed.dumps(replace(made, fingerprint=rng.bytes(8)), devices[made.device].key)


def truncated(rng, good, devices):
    return good[: int(rng.integers(0, len(good)))]


def contradicting(rng, good, devices):
    made = signed.read(memoryview(good))
    if rng.random() < 0.5:
        made = replace(made, saturated=made.rows + 1)
    else:
        made = replace(made, rows=made.rows + int(rng.integers(1, 2**31)))  # possible, but its number is taken
    return signed.dumps(made, devices[made.device].key)


def test_none_of_a_hundred_thousand_attacks_counts(tmp_path):
    rng = np.random.default_rng(0)
    db = new_store(tmp_path)
    devices = add_devices(db, *(f"hall/press-{i}" for i in range(50)))
    token = senders.create_token(db, "all", senders.RIGHTS, ["*"], 0)
    db.close()
    good = [message(devices[i % 40], i // 40, rows_of(i, 5), kind="counters") for i in range(400)]
    waits, stop = [], threading.Event()
    with running(tmp_path) as url:
        line = Line(url, token)
        assert json.loads(line.ask("POST", "/v1/messages", b"".join(good))[1])["accepted"] == 400
        before = line.ask("GET", "/v1/sketch")[1]

        def honest():
            """An honest sender of messages without rows: signs of life."""
            own, sequence = Line(url, token), 0
            while not stop.wait(0.05):
                began = time.perf_counter()
                status, told = own.ask("POST", "/v1/messages", message(devices[45], sequence, rows_of(0)[:0]))
                assert (status, json.loads(told)["accepted"]) == (200, 1)
                waits.append(time.perf_counter() - began)
                sequence += 1
            own.line.close()

        thread = threading.Thread(target=honest, daemon=True)
        thread.start()
        accepted = sent = 0
        for kind in (forged, strangers, wrong_operator, contradicting):
            for _ in range(EACH // BATCH):
                bad = [kind(rng, good[int(i)], devices) for i in rng.integers(0, 400, BATCH)]
                status, told = line.ask("POST", "/v1/messages", b"".join(bad))
                sent += BATCH
                assert status == 200
                accepted += json.loads(told)["accepted"]
        for _ in range(EACH // BATCH // 2):  # the same messages again
            again = b"".join(good[int(i)] for i in rng.integers(0, 400, BATCH))
            accepted += json.loads(line.ask("POST", "/v1/messages", again)[1])["accepted"]
            sent += BATCH
        for number in range(EACH // 2):
            kind = number % 5
            if kind == 0:
                status, told = line.ask("POST", "/v1/messages", truncated(rng, good[number % 400], devices))
                accepted += json.loads(told)["accepted"] if status == 200 else 0
            elif kind == 1:
                status, _ = line.ask("POST", "/v1/messages", rng.bytes(int(rng.integers(1, 2000))))
            elif kind == 2:
                status, _ = line.ask("PUT", f"/v1/parts/berlin/{number}", rng.bytes(200))
                assert status == 400
            elif kind == 3:
                status, _ = line.ask("GET", "/v1/sketch", token=f"qckm_{rng.bytes(4).hex()}_{rng.bytes(20).hex()}")
                assert status in (401, 429)
            else:
                shown = token[:-1] + ("0" if token[-1] != "0" else "1")
                status, _ = line.ask("POST", "/v1/messages", good[0], token=shown)
                assert status in (401, 429)
            sent += 1
        for _ in range(20):
            status, _ = line.ask("POST", "/v1/messages", bytes((16 << 20) + 1))
            assert status in (413, 0)
            sent += 1
        stop.set()
        thread.join(30)
        after = line.ask("GET", "/v1/sketch")[1]
        line.line.close()
    assert accepted == 0
    assert after == before
    assert files.loads(after) == OPERATOR.pool(OPERATOR.encode(np.concatenate([rows_of(i, 5) for i in range(400)])))
    assert len(waits) > 20
    assert np.quantile(waits, 0.99) < 1
    db = Database(str(tmp_path))
    assert list(upkeep.check(db)) == []
    reasons = {reason for (reason,) in db.rows("SELECT DISTINCT reason FROM refusals")}
    db.close()
    assert {
        "wrong MAC",
        "unknown device",
        "another operator",
        "contradiction",
        "number used twice",
        "damaged",
        "wrong token",
        "too many",
    } <= reasons
    record(
        "Attacks",
        f"{sent:,} messages, bodies and tokens, {accepted} accepted; {len(waits)} honest messages meanwhile, 99 % of "
        f"them answered within {1000 * np.quantile(waits, 0.99):.0f} ms",
    )
