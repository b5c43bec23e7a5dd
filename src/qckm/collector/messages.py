"""From bytes to messages that may be counted: signed by a known device, of this operator, possible, not counted before.

Of each boot of a device, sequence numbers are remembered in blocks of 64, four bytes of the MAC each, so that a message
that comes again is told from another one that claims its number, in bounded memory, whatever the order. Blocks below
the floor are forgotten, and their numbers refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from qckm.collector.refusals import Reason, Refused
from qckm.collector.senders import Device
from qckm.collector.settings import Settings
from qckm.collector.windows import Cell, cell_of_message
from qckm.common.arrays import Int64s
from qckm.errors import MessageError
from qckm.privacy.local import as_report
from qckm.sensor import signed, wire
from qckm.sketch import SketchOperator

BLOCK = 64
MOST_BOOTS = 8
_MARK = struct.Struct("<I")


@dataclass(frozen=True, eq=False)
class Arrival:
    """A message that is right in itself; whether it is new, only the store knows."""

    device: int
    boot: int
    sequence: int
    mark: int  # what is remembered of it: four bytes of its MAC, never 0
    cell: Cell  # where its rows belong
    believed: bool  # the time that it gives, if any
    rows: int
    saturated: int
    total: Int64s | None  # what its rows add to the sum, (M,)
    # Of a private report, whose sum is of its own kind: how likely bits were kept, in 2³²ths, and how many there are.
    setting: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        """How people refer to it."""
        return f"device {self.device}, boot {self.boot}, sequence {self.sequence}"


def split(data: memoryview) -> Iterator[memoryview | Refused]:
    """Yield the messages that follow one another in some bytes; behind damage there are none."""
    while data:
        try:
            size = signed.size_of(data)
        except MessageError as error:
            reason = Reason.UNSIGNED if data[:3] == wire.MAGIC + bytes([wire.VERSION]) else Reason.DAMAGED
            yield Refused(reason, f"{error} What follows is not read.")
            return
        yield data[:size]
        data = data[size:]


def check(
    data: memoryview, devices: Mapping[int, Device], operator: SketchOperator, settings: Settings, now: int
) -> Arrival:
    """Return what one message says, if it is to be believed. The MAC is looked at before anything else it says."""
    try:
        message = signed.read(data)
    except MessageError as error:
        raise Refused(Reason.DAMAGED, str(error)) from error
    device = devices.get(message.device)
    if device is None:
        raise Refused(Reason.UNKNOWN_DEVICE, f"{message.name}: no such device, or it was revoked.")
    if not signed.is_signed(data, device.key):
        raise Refused(Reason.MAC, f"{message.name}: the MAC does not match: damaged, forged, or of another key.")
    if message.fingerprint != operator.short_fingerprint:
        raise Refused(
            Reason.OPERATOR,
            f"{message.name}: of another operator, {message.fingerprint.hex()}, expected "
            f"{operator.short_fingerprint.hex()}: export its encoder anew.",
        )
    setting: tuple[int, int] | None = None
    try:
        if message.kind != wire.LOCAL:
            total = wire.sum_of(message, operator)
        else:
            total, setting = _sum_of_report(message, operator)
    except MessageError as error:
        raise Refused(Reason.CONTRADICTION, str(error)) from error
    cell, believed = cell_of_message(device.name, message.time, now, settings)
    mark = mark_of(data[-signed.MAC_BYTES :].tobytes())
    return Arrival(
        message.device,
        message.boot,
        message.sequence,
        mark,
        cell,
        believed,
        message.rows,
        message.saturated,
        total,
        setting,
    )


def _sum_of_report(message: wire.Message, operator: SketchOperator) -> tuple[Int64s, tuple[int, int]]:
    report = as_report(message)
    if max(report.entries) >> 1 >= operator.n_measurements:
        raise MessageError(f"{message.name}: expected measurements below {operator.n_measurements}.")
    total = np.zeros(operator.n_measurements, np.int64)
    for entry in report.entries:
        total[entry >> 1] += 1 - 2 * (entry & 1)
    return total, (report.kept, len(report.entries))


def mark_of(mac: bytes) -> int:
    """Return what is remembered of a message, never 0."""
    return int(_MARK.unpack_from(mac)[0]) or 1


@dataclass
class Boot:
    """What came of one start of a device."""

    top: int = -1  # the greatest number
    messages: int = 0
    floor: int = 0  # the first block that is remembered
    blocks: dict[int, bytearray] = field(default_factory=dict)  # those that were looked up

    def judge(self, sequence: int, mark: int) -> Reason | bool:
        """Return whether a message is new, or why it is refused; its block must have been looked up."""
        block, place = divmod(sequence, BLOCK)
        if block < self.floor:
            return Reason.TOO_OLD
        if block not in self.blocks:
            return True
        known = _MARK.unpack_from(self.blocks[block], place * _MARK.size)[0]
        if not known:
            return True
        return False if known == mark else Reason.CONFLICT

    def count(self, sequence: int, mark: int, window: int) -> None:
        """Remember a message that is new."""
        block, place = divmod(sequence, BLOCK)
        _MARK.pack_into(self.blocks.setdefault(block, bytearray(BLOCK * _MARK.size)), place * _MARK.size, mark)
        self.top = max(self.top, sequence)
        self.messages += 1
        self.floor = max(self.floor, self.top // BLOCK + 1 - window // BLOCK)


def room_for(boots: dict[int, Boot], number: int) -> bool:
    """Return whether messages of a boot can be counted: those of boots that were forgotten cannot be told apart."""
    return number in boots or len(boots) < MOST_BOOTS or number > min(boots)


def forgotten(boots: dict[int, Boot]) -> list[int]:
    """Return the boots that are too many: the oldest."""
    return sorted(boots)[:-MOST_BOOTS]
