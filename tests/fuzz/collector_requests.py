"""Requests to a collector: paths, parameters, tokens, sketches and signed messages, damaged, forged and signed anew.

An input is a request as text: method and target, a line of the token, and the body. All inputs of a process go to one
collector, and what it has counted after each must be what the slowest reader of the same requests finds.
"""

import asyncio
import hashlib
import json
import random
import struct
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np

import qckm
from fuzz.mutations import NUMBERS, ODD_VALUES, mutate_bytes
from qckm.collector import senders, sums
from qckm.collector.database import Database
from qckm.collector.schema import prepare
from qckm.collector.settings import Settings
from qckm.collector.windows import Asked
from qckm.errors import QckmError
from qckm.sensor import signed, wire
from qckm.sketch import files

OPERATOR = qckm.SketchOperator.draw(2, 5, scale=1.0, random_state=0)
ROWS = np.random.default_rng(0).normal(size=(6, 2))
KEYS = [bytes([number]) * 16 for number in range(4)]
SETTINGS = Settings(most_body=1 << 16, most_part=1 << 14, failures_per_second=1e9, messages_per_second=1e9, clusters=0)
STATUSES = {200, 201, 400, 401, 403, 404, 405, 409, 410, 413, 429}
PATHS = ("/v1/messages", "/v1/parts/berlin/a", "/v1/parts/berlin/2025-11-16", "/v1/parts", "/v1/sketch", "/v1/windows")
NAMES = ("from", "to", "group", "replace", "at", "limit", "format", "private")


def _message(device: int, sequence: int, rows: int, boot: int = 1, time: int = 0) -> bytes:
    made = wire.bits_message(OPERATOR, OPERATOR.encode(ROWS[:rows]), device, sequence)
    return signed.dumps(wire.Message(**{**made.__dict__, "boot": boot, "time": time}), KEYS[device])


MESSAGES = [_message(device, sequence, sequence % 6) for device in range(4) for sequence in range(4)]
SKETCHES = [files.dumps(OPERATOR.sketch(ROWS[:rows])) for rows in (1, 3)]


def _request(method: str, target: str, token: str, body: bytes) -> bytes:
    return f"{method} {target}\n{token}\n".encode("utf-8", "surrogatepass") + body


EXAMPLES = {
    "messages": _request("POST", "/v1/messages", "good", MESSAGES[1]),
    "part": _request("PUT", "/v1/parts/berlin/a", "good", SKETCHES[0]),
    "sketch": _request("GET", "/v1/sketch?group=berlin", "good", b""),
}


def make(rng: random.Random) -> bytes:
    """Return a request, most of it right."""
    path = rng.choice(PATHS)
    method = {"/v1/messages": "POST", "/v1/parts/berlin/a": "PUT", "/v1/parts/berlin/2025-11-16": "PUT"}.get(
        path, "GET"
    )
    body = b""
    if method == "POST":
        body = b"".join(_piece(rng) for _ in range(rng.randint(1, 6)))
    elif method == "PUT":
        body = rng.choice(SKETCHES)
        body = body if rng.random() < 0.3 else mutate_bytes(body, rng)
        if rng.random() < 0.5:
            path += "".join(rng.choice("/.~%é\x00 a1") for _ in range(rng.randint(1, 5)))
    if rng.random() < 0.1:
        method = rng.choice(("GET", "PUT", "POST", "DELETE", "PATCH", "HEAD"))
    asked = [f"{rng.choice(NAMES)}={quote(_value(rng))}" for _ in range(rng.choice((0, 0, 1, 2)))]
    token = rng.choice(("good", "good", "good", "good", "shop", "none", "wrong"))
    return _request(method, quote(path, "/%") + ("?" + "&".join(asked) if asked else ""), token, body)


def _value(rng: random.Random) -> str:
    usual = ("2025-11-16", "2025-11-16T05:00Z", "berlin", "true", "false", "10", "json", "parquet", "arrow")
    value = rng.choice((*usual, *NUMBERS, *ODD_VALUES))
    return str(value).encode("utf-8", "replace").decode()


def _piece(rng: random.Random) -> bytes:
    message, kind = rng.choice(MESSAGES), rng.random()
    if kind < 0.2:
        return message
    if kind < 0.35:
        return mutate_bytes(message, rng)
    if kind < 0.4:
        return rng.randbytes(rng.randint(1, 60))
    # Fields are changed, and a device that should not signs it all.
    fields = list(wire.HEADER.unpack_from(message))
    fields[1] = rng.choice((2, 2, 2, 2, 1, 3))
    place = rng.randrange(2, len(fields))
    if rng.random() < 0.7:
        fields[place] = (
            rng.randbytes(8) if place == 3 else rng.choice((*NUMBERS, *range(9))) % (256 if place == 2 else 2**32)
        )
    payload = message[wire.HEADER.size : -signed.TRAILER_BYTES]
    clock = struct.pack("<II", rng.choice((0, 1, 2, 9, 2**32 - 1)), rng.choice((0, 1, 2**31, 2**32 - 1)))
    body = wire.HEADER.pack(*fields) + (payload if rng.random() < 0.7 else mutate_bytes(payload, rng)) + clock
    return body + signed.mac(body, rng.choice(KEYS))


class Collector:
    """A collector in this process, and what it should have counted."""

    def __init__(self, folder: Path) -> None:
        from qckm.collector.server import make_app
        from qckm.collector.service import Service

        self.store = str(folder / "collector")
        db = Database(self.store)
        prepare(db, OPERATOR, SETTINGS)
        for number, key in enumerate(KEYS):
            senders.create_devices(db, [f"hall/press-{number}"], number, [key], 0)
        self.tokens = {
            "good": senders.create_token(db, "good", ["send", "relay", "read"], ["*"], 0),
            "shop": senders.create_token(db, "shop", ["send"], ["paris/*"], 0),
            "wrong": "qckm_00000000_0",
        }
        db.close()
        self.db = Database(self.store)
        self.service = Service.open(self.store, SETTINGS)
        self.app = make_app(self.service)
        self.loop = asyncio.new_event_loop()
        self.loop.run_until_complete(self.service.start())
        self.messages: dict[tuple[int, int, int], bytes] = {}
        self.parts: dict[str, bytes] = {}

    def answer(self, method: str, target: str, token: str, body: bytes) -> tuple[int, bytes]:
        """Return status and body of an answer."""
        path, _, query = target.partition("?")
        headers = [(b"authorization", f"Bearer {self.tokens[token]}".encode())] if token in self.tokens else []
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
            "scheme": "http",
            "root_path": "",
        }
        said: list[dict] = []

        async def receive() -> dict:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict) -> None:
            said.append(message)

        self.loop.run_until_complete(self.app(scope, receive, send))
        return said[0]["status"], b"".join(each.get("body", b"") for each in said[1:])

    def expected(self) -> tuple[int, int, list[int]]:
        """Return the count, how many rows were clipped, and the sums."""
        sketch = OPERATOR.empty()
        for data in self.parts.values():
            sketch = sketch + files.loads(data).without_parts()
        count, saturated, total = sketch.count, sketch.saturated, sketch.total
        for data in self.messages.values():
            message = signed.read(memoryview(data))
            if message.rows:
                count, saturated = count + message.rows, saturated + message.saturated
                total = total + wire.sum_of(message, OPERATOR)
        return count, saturated, total.tolist()


_COLLECTOR: dict[Path, Collector] = {}


def check(data: bytes, folder: Path) -> str | None:
    """Ask a collector; what is in its store is what right requests have put there, and nothing fails."""
    if folder not in _COLLECTOR:
        _COLLECTOR[folder] = Collector(folder)
    there = _COLLECTOR[folder]
    head, token, body = data.split(b"\n", 2)
    method, _, target = head.decode("utf-8", "surrogatepass").partition(" ")
    status, answer = there.answer(method, target, token.decode(), body)
    assert status in STATUSES, (status, answer[:300])
    if status >= 400:
        assert set(json.loads(answer)) == {"error", "reason"}
    if method == "POST" and status == 200:
        _count(there, body, json.loads(answer))
    told = json.loads(answer) if method in ("PUT", "DELETE") and status in (200, 201) else {}
    if told.get("outcome") in ("accepted", "replaced"):
        there.parts[told["part"]] = body
    elif told.get("outcome") == "withdrawn":
        del there.parts[told["part"]]
    with there.db.reading():
        found = sums.sketch_of(there.db, OPERATOR, Asked())
    assert (found.count, found.saturated, found.total.tolist()) == there.expected()
    return None if status < 400 else "refused"


def _count(there: Collector, body: bytes, told: dict) -> None:
    """Read messages as slowly as can be; those that are right, and new, are counted, and no others."""
    accepted = 0
    while len(body) >= 32:
        (length,) = struct.unpack_from("<I", body, 28)
        if body[:3] != b"Qk\x02" or length > 1 << 20 or body[3] not in (1, 2, 3, 4) or len(body) < 32 + length + 24:
            break
        one, body = body[: 56 + length], body[56 + length :]
        device, sequence = struct.unpack_from("<II", one, 12)
        (boot,) = struct.unpack_from("<I", one, 32 + length)
        if device >= len(KEYS) or hashlib.blake2s(one[:-16], key=KEYS[device], digest_size=16).digest() != one[-16:]:
            continue
        try:
            wire.sum_of(signed.read(memoryview(one)), OPERATOR)
        except QckmError:
            continue
        boots = {known[:2] for known in there.messages if known[0] == device}
        top = max((known[2] for known in there.messages if known[:2] == (device, boot)), default=0)
        oldest = sorted(known[1] for known in boots)[:-8] if len(boots) > 8 else []
        if (device, boot, sequence) in there.messages or boot in oldest or sequence // 64 <= top // 64 - 16:
            continue
        if len(boots) >= 8 and (device, boot) not in boots and boot < min(known[1] for known in boots):
            continue
        there.messages[device, boot, sequence] = one
        accepted += 1
    assert told["accepted"] == accepted, (told, accepted)
