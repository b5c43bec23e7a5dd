"""The message that a sensor sends (docs/wire-format.md): header, bits of a batch of rows or counters, CRC.

Reading trusts nothing: bytes are a message only if length and CRC are right, and it enters a sum only if it is of the
sum's operator and does not contradict itself.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from qckm.errors import MessageError
from qckm.export.as_c import LONGEST_PAYLOAD
from qckm.sketch import Sketch, SketchOperator

MAGIC: Final = b"Qk"
VERSION: Final = 1
BITS, COUNTERS_16, COUNTERS_32, LOCAL = 1, 2, 3, 4
KINDS: Final = {
    BITS: "bits",
    COUNTERS_16: "counters of 16 bits",
    COUNTERS_32: "counters of 32 bits",
    LOCAL: "a private report",
}
HEADER: Final = struct.Struct(
    "<2sBB8sIIIII"
)  # magic, version, kind, fingerprint, device, sequence, rows, clipped, length
CRC: Final = struct.Struct("<I")
_SMALL = 1 << 14  # bytes


@dataclass(frozen=True)
class Message:
    """What one message says.

    Parameters
    ----------
    kind : int
        BITS, COUNTERS_16, COUNTERS_32 or LOCAL.
    fingerprint : bytes
        The first 8 bytes of the operator's.
    device, sequence : int
        Who sent it, and its number among all the messages of that device, from 0.
    rows, saturated : int
        How many rows it is about; of these, those with a clipped feature.
    payload : bytes
    boot, time : int
        Of a signed message (signed.py): which start of the device it is of, and when its rows were read, in seconds
        since 1970, 0 where the device has no clock.
    """

    kind: int
    fingerprint: bytes
    device: int
    sequence: int
    rows: int
    saturated: int
    payload: bytes
    boot: int = 0
    time: int = 0

    @property
    def name(self) -> str:
        """How people refer to it."""
        return f"device {self.device}, {f'boot {self.boot}, ' if self.boot else ''}sequence {self.sequence}"


def dumps(message: Message) -> bytes:
    """Return the bytes of a message.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=8, scale=1.0, random_state=0)
    >>> message = bits_message(op, op.encode(np.eye(2)), device=3, sequence=0)
    >>> len(dumps(message)), loads(dumps(message)) == message
    (40, True)
    """
    body = header_of(message, VERSION) + message.payload
    return body + CRC.pack(zlib.crc32(body))


def header_of(message: Message, version: int) -> bytes:
    """Return the first bytes of a message, which are the same in all versions but for the version's number."""
    fields = (message.device, message.sequence, message.rows, message.saturated, len(message.payload))
    return HEADER.pack(MAGIC, version, message.kind, message.fingerprint, *fields)


def loads(data: bytes) -> Message:
    """Return the message of exactly these bytes; raise `MessageError`, with what it claims to be, for any others."""
    message, size = read(memoryview(data))
    if size != len(data):
        raise MessageError(f"{message.name}: expected {size} bytes, got {len(data)}: more than one message?")
    return message


def read(data: memoryview) -> tuple[Message, int]:
    """Return the message that starts here, and its size."""
    message, end = read_header(data, VERSION, CRC.size)
    if zlib.crc32(data[:end]) != CRC.unpack_from(data, end)[0]:
        raise _damaged(message)
    return replace(message, payload=bytes(data[HEADER.size : end])), end + CRC.size


def damage(data: memoryview) -> MessageError:
    """Return what is wrong with bytes of which it is known that no message starts here: their CRC is not computed."""
    try:
        return _damaged(read_header(data, VERSION, CRC.size)[0])
    except MessageError as error:
        return error


def _damaged(message: Message) -> MessageError:
    return MessageError(f"{message.name}: the CRC does not match: damaged.")


def read_header(data: memoryview, expected: int, trailer: int) -> tuple[Message, int]:
    """Return what the header that starts here says, without a payload, and where the payload ends.

    `expected` is the version, `trailer` how many bytes must follow the payload.
    """
    if len(data) < HEADER.size:
        raise MessageError(f"Expected a message, got {len(data)} bytes: cut short.")
    magic, version, kind, fingerprint, device, sequence, rows, saturated, length = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise MessageError("Expected a message, got bytes that do not start as one.")
    name = f"device {device}, sequence {sequence}"
    if version != expected:
        hint = "signed, for a collector" if version == 2 else "not signed" if version == 1 else "of a newer qckm"
        raise MessageError(f"{name}: expected version {expected}, got {version}: damaged, or {hint}.")
    if kind not in KINDS or length > LONGEST_PAYLOAD:
        raise MessageError(f"{name}: expected kind 1 to 4 and a payload of at most {LONGEST_PAYLOAD} bytes: damaged.")
    end = HEADER.size + length
    if len(data) < end + trailer:
        raise MessageError(f"{name}: expected {end + trailer} bytes, got {len(data)}: cut short or damaged.")
    return Message(kind, fingerprint, device, sequence, rows, saturated, b""), end


def bits_message(
    operator: SketchOperator,
    bits: npt.NDArray[np.uint8],
    device: int,
    sequence: int,
    saturated: int = 0,
) -> Message:
    """Return the message of rows' bits, as `op.encode` packs them."""
    fingerprint = operator.short_fingerprint
    return Message(BITS, fingerprint, device, sequence, len(bits), saturated, bits.tobytes())


def counters_message(sketch: Sketch, device: int, sequence: int, counter_bits: int = 16) -> Message:
    """Return the message of a one-bit sketch: for each measurement, of how many rows the bit was 1."""
    if not sketch.exact or not sketch.operator.signature.is_one_bit:
        raise MessageError("Only one-bit sketches of whole rows are counters: signature='one-bit', no real weights.")
    rows, saturated = int(sketch.count), int(sketch.saturated)
    ones = (rows - sketch.total) // 2
    kind, dtype = {16: (COUNTERS_16, "<u2"), 32: (COUNTERS_32, "<u4")}[counter_bits]
    if rows >= 1 << counter_bits:
        raise MessageError(f"Expected at most {(1 << counter_bits) - 1} rows, got {rows}: use wider counters.")
    fingerprint = sketch.operator.short_fingerprint
    return Message(kind, fingerprint, device, sequence, rows, saturated, ones.astype(dtype).tobytes())


def sum_of(message: Message, operator: SketchOperator) -> npt.NDArray[np.int64] | None:
    """Return what a message's rows add to a sum, (M,), or None if it has none.

    A message of another operator is refused, and one that cannot be true.
    """
    if message.fingerprint != operator.short_fingerprint:
        raise MessageError(
            f"{message.name}: of another operator ({message.fingerprint.hex()}, expected "
            f"{operator.short_fingerprint.hex()}): its bits mean something else."
        )
    if message.kind == LOCAL:
        raise MessageError(
            f"{message.name}: a private report, which cannot be added to bits: qckm.privacy.pool_reports adds them up."
        )
    n_measurements = operator.n_measurements
    width = -(-n_measurements // 8)
    size = {BITS: message.rows * width, COUNTERS_16: 2 * n_measurements, COUNTERS_32: 4 * n_measurements}[message.kind]
    if len(message.payload) != size:
        raise MessageError(
            f"{message.name}: expected {size} bytes of {KINDS[message.kind]}, got {len(message.payload)}."
        )
    if message.saturated > message.rows:
        raise MessageError(f"{message.name}: {message.saturated} clipped rows of {message.rows} cannot be.")
    if message.kind == BITS:
        bits = np.frombuffer(message.payload, np.uint8).reshape(message.rows, width)
        if 8 * width > n_measurements and (bits[:, -1] >> (n_measurements % 8)).any():
            raise MessageError(f"{message.name}: a bit beyond the last measurement is 1: not of this operator.")
        ones = _count_ones(bits, operator) if message.rows else None
    else:
        kind = "<u2" if message.kind == COUNTERS_16 else "<u4"
        ones = np.frombuffer(message.payload, kind).astype(np.int64)
        if (ones > message.rows).any():
            raise MessageError(f"{message.name}: a counter of {ones.max()} in {message.rows} rows cannot be.")
    return None if ones is None or not message.rows else message.rows - 2 * ones


def _count_ones(bits: npt.NDArray[np.uint8], operator: SketchOperator) -> npt.NDArray[np.int64]:
    """Count the ones of each measurement, (M,): most messages are too small for the fast kernel to pay."""
    if bits.size > _SMALL:
        return (len(bits) - operator.pool(bits).total.astype(np.int64)) // 2
    unpacked = np.unpackbits(bits, axis=1, count=operator.n_measurements, bitorder="little")
    ones: npt.NDArray[np.int64] = unpacked.sum(axis=0, dtype=np.int64)
    return ones
