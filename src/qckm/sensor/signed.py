"""The message of version 2 (docs/wire-format.md): that of version 1 with a boot number, a time and a MAC for its CRC.

The MAC is keyed BLAKE2s of 128 bits (RFC 7693), with a key of 16 bytes that a device shares with whoever collects.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import replace
from typing import Final

from qckm.errors import MessageError
from qckm.sensor import wire
from qckm.sensor.wire import Message

VERSION: Final = 2
KEY_BYTES: Final = 16
MAC_BYTES: Final = 16
_CLOCK: Final = struct.Struct("<II")  # boot, time
TRAILER_BYTES: Final = _CLOCK.size + MAC_BYTES


def dumps(message: Message, key: bytes) -> bytes:
    """Return the bytes of a message, signed.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=8, scale=1.0, random_state=0)
    >>> message = replace(wire.bits_message(op, op.encode(np.eye(2)), device=3, sequence=0), boot=1)
    >>> data = dumps(message, bytes(16))
    >>> len(data), loads(data, bytes(16)) == message
    (60, True)
    """
    body = wire.header_of(message, VERSION) + message.payload + _CLOCK.pack(message.boot, message.time)
    return body + mac(body, key)


def mac(body: bytes | memoryview, key: bytes) -> bytes:
    """Return the MAC of all bytes of a message before it."""
    if len(key) != KEY_BYTES:
        raise MessageError(f"Expected a key of {KEY_BYTES} bytes, got {len(key)}.")
    return hashlib.blake2s(body, key=key, digest_size=MAC_BYTES).digest()


def size_of(data: memoryview) -> int:
    """Return the size of the message that starts here; raise `MessageError` where none does."""
    return wire.read_header(data, VERSION, TRAILER_BYTES)[1] + TRAILER_BYTES


def read(data: memoryview) -> Message:
    """Return what the message that starts here claims: nothing of it is to be believed before `is_signed`."""
    message, end = wire.read_header(data, VERSION, TRAILER_BYTES)
    boot, time = _CLOCK.unpack_from(data, end)
    return replace(message, payload=bytes(data[wire.HEADER.size : end]), boot=boot, time=time)


def is_signed(data: memoryview, key: bytes) -> bool:
    """Whether exactly these bytes are a message that was signed with a key; takes as long wherever it is wrong."""
    return hmac.compare_digest(mac(data[:-MAC_BYTES], key), bytes(data[-MAC_BYTES:]))


def loads(data: bytes, key: bytes) -> Message:
    """Return the message of exactly these bytes; raise `MessageError` if the key's holder did not sign them."""
    view = memoryview(data)
    if size_of(view) != len(data):
        raise MessageError(f"Expected a message of {size_of(view)} bytes, got {len(data)}: more than one message?")
    message = read(view)
    if not is_signed(view, key):
        raise MessageError(f"{message.name}: the MAC does not match: damaged, forged, or signed with another key.")
    return message
