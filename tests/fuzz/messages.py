"""Sensors' messages, in streams with damage: fields are changed and CRCs redone, messages lie in messages."""

import random
import zlib
from pathlib import Path

import numpy as np

import qckm
from fuzz.mutations import NUMBERS, mutate_bytes
from qckm.errors import MessageError
from qckm.sensor import Pool, wire

OPERATOR = qckm.SketchOperator.draw(2, 5, scale=1.0, random_state=0)  # ten bits per row: the last byte has room
ROWS = np.random.default_rng(0).normal(size=(6, 2))


def _message(sequence: int, rows: int, kind: int) -> bytes:
    if kind == wire.BITS:
        return wire.dumps(wire.bits_message(OPERATOR, OPERATOR.encode(ROWS[:rows]), 1, sequence))
    bits = 16 if kind == wire.COUNTERS_16 else 32
    return wire.dumps(wire.counters_message(OPERATOR.sketch(ROWS[:rows]), 2, sequence, bits))


MESSAGES = [_message(sequence, sequence % 6, kind) for sequence in range(12) for kind in wire.KINDS]
EXAMPLES = {"all": b"".join(MESSAGES), "none": b""}


def make(rng: random.Random) -> bytes:
    """Return messages one after the other, some of them damaged or forged."""
    return b"".join(_piece(rng) for _ in range(rng.randint(1, 8)))


def _piece(rng: random.Random) -> bytes:
    message, kind = rng.choice(MESSAGES), rng.random()
    if kind < 0.3:
        return message
    if kind < 0.45:
        return mutate_bytes(message, rng)
    if kind < 0.5:
        return rng.randbytes(rng.randint(1, 40))
    if kind < 0.55:
        return rng.choice((b"Q", b"Qk", b"Qk\x01", b"Qk\x01\x01", message[: wire.HEADER.size]))
    if kind < 0.65:  # a message within a message
        return wire.dumps(wire.Message(rng.randint(1, 3), OPERATOR.short_fingerprint, 1, 0, 1, 0, message))
    fields = list(wire.HEADER.unpack_from(message))
    place = rng.randrange(len(fields))
    fields[place] = rng.randbytes(len(fields[place])) if isinstance(fields[place], bytes) else _number(place, rng)
    payload = message[wire.HEADER.size : -4]
    body = wire.HEADER.pack(*fields) + (payload if rng.random() < 0.7 else mutate_bytes(payload, rng))
    return body + zlib.crc32(body).to_bytes(4, "little")


def _number(place: int, rng: random.Random) -> int:
    return rng.choice((*NUMBERS, *range(9))) % (256 if place < 3 else 2**32)


def check(data: bytes, folder: Path) -> None:
    """Pool a stream; what is counted is what whole messages say, each once, found by the slowest way there is."""
    pool = Pool(OPERATOR)
    errors = list(pool.add_stream(data))
    total, counted, damaged = OPERATOR.empty().total.tolist(), {}, False
    for message in whole_messages(data):
        assert message is None or wire.loads(wire.dumps(message)) == message
        try:
            part = None if message is None else wire.sum_of(message, OPERATOR)
        except MessageError:
            message = None
        known = None if message is None else counted.get((message.device, message.sequence))
        if message is None or (known and known != message):
            damaged = True
        elif not known:
            counted[message.device, message.sequence] = message
            total = [
                one + other
                for one, other in zip(total, [0] * len(total) if part is None else part.tolist(), strict=True)
            ]
    assert bool(errors) == damaged
    assert pool.sketch.count == sum(message.rows for message in counted.values())
    assert pool.sketch.saturated == sum(message.saturated for message in counted.values())
    assert pool.sketch.total.tolist() == total
    pool.report()


def whole_messages(data: bytes) -> list[wire.Message | None]:
    """Return the messages of a stream, None for damage: byte by byte, the first whole one counts."""
    found: list[wire.Message | None] = []
    at = 0
    while at < len(data):
        try:
            message, size = wire.read(memoryview(data)[at:])
            found.append(message)
            at += size
        except MessageError:
            if found[-1:] != [None]:
                found.append(None)
            at += 1
    return found
