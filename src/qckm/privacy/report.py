"""The report of one device, as a message of a sensor (docs/wire-format.md): kind 4.

It carries what pooling needs: who, which report of theirs, the chance Q that a bit was kept, and s numbers of
measurements with a bit each. Header and CRC are those of every message; rows is 1, and nothing is said of clipping.
"""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

from qckm.errors import MessageError
from qckm.sensor import wire

ALL = 1 << 32  # chances are in 2³²ths
MOST_BITS = 64  # a report: beyond, ε is so large that nothing is private
# The least chance of keeping a bit: that of ε = 10⁻⁶ in 64 bits. Below, one report would outweigh millions of others.
LEAST_KEPT = ALL // 2 + 16
_CHANCE = struct.Struct("<II")  # Q and s


class Report(NamedTuple):
    """What a report says: measurement · 2 + bit, for each of its bits."""

    fingerprint: bytes
    device: int
    sequence: int
    kept: int
    entries: tuple[int, ...]

    @property
    def name(self) -> str:
        """How people refer to it."""
        return f"device {self.device}, report {self.sequence}"

    @property
    def epsilon(self) -> float:
        """What it has spent."""
        return epsilon_of_report(self.kept, len(self.entries))


def epsilon_of_report(kept: int, n_bits: int) -> float:
    """Return what a report of so many bits spends, each kept with a chance of kept/2³²."""
    return n_bits * math.log(kept / (ALL - kept))


def dumps(report: Report) -> bytes:
    """Return the bytes of a report."""
    payload = _CHANCE.pack(report.kept, len(report.entries)) + struct.pack(f"<{len(report.entries)}I", *report.entries)
    fields = (report.fingerprint, report.device, report.sequence, 1, 0, payload)
    return wire.dumps(wire.Message(wire.LOCAL, *fields))


def loads(data: bytes) -> Report:
    """Return the report of exactly these bytes; raise `MessageError` for any others."""
    return as_report(wire.loads(data))


def as_report(message: wire.Message) -> Report:
    """Return the report that a message holds."""
    if message.kind != wire.LOCAL:
        raise MessageError(f"{message.name}: expected a private report, got {wire.KINDS[message.kind]}.")
    if len(message.payload) < _CHANCE.size or message.rows != 1 or message.saturated:
        raise MessageError(f"{message.name}: expected one row, nothing of clipping, and a chance.")
    kept, size = _CHANCE.unpack_from(message.payload)
    if len(message.payload) != _CHANCE.size + 4 * size or not 1 <= size <= MOST_BITS or not LEAST_KEPT <= kept < ALL:
        raise MessageError(f"{message.name}: expected 1 to {MOST_BITS} bits, each kept with a chance above a half.")
    entries = struct.unpack_from(f"<{size}I", message.payload, _CHANCE.size)
    return Report(message.fingerprint, message.device, message.sequence, kept, entries)
