"""Many messages of many devices to one sketch: no row twice, no damage in the sum, and a word on what is missing."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qckm.errors import MessageError
from qckm.sensor import wire
from qckm.sensor.resync import read_stream
from qckm.sketch import Sketch, SketchOperator
from qckm.sketch.columns import unknown_bounds


@dataclass
class Device:
    """What came of one device: which messages, and what was wrong with the others.

    `digests` maps the sequence numbers that are in the sum to what the message said, so that one that comes again is
    told from another that claims the same number.
    """

    rows: int = 0
    saturated: int = 0
    repeated: int = 0
    refused: int = 0
    digests: dict[int, bytes] = field(default_factory=dict)

    @property
    def messages(self) -> int:
        """How many messages are in the sum."""
        return len(self.digests)

    def gaps(self) -> list[tuple[int, int]]:
        """Return the runs of sequence numbers, first and last, that are missing below the greatest that came."""
        numbers = np.sort(np.fromiter(self.digests, np.int64, len(self.digests)))
        edges = np.concatenate([[-1], numbers])
        at = np.flatnonzero(np.diff(edges) > 1)
        return [(int(edges[i]) + 1, int(edges[i + 1]) - 1) for i in at]

    @property
    def missing(self) -> int:
        """How many messages are missing below the greatest number that came."""
        return sum(last - first + 1 for first, last in self.gaps())


class Pool:
    """Adds up messages of one operator. A message is counted whole or not at all, and never twice.

    Parameters
    ----------
    operator : SketchOperator

    Examples
    --------
    >>> import numpy as np, qckm
    >>> from qckm.sensor import Pool, wire
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=8, scale=1.0, random_state=0)
    >>> message = wire.dumps(wire.bits_message(op, op.encode(np.eye(2)), device=3, sequence=1))
    >>> pool = Pool(op)
    >>> pool.add(message), pool.add(message)
    (True, False)
    >>> pool.sketch == op.sketch(np.eye(2)), pool.devices[3].repeated, pool.devices[3].gaps()
    (True, 1, [(0, 0)])
    """

    def __init__(self, operator: SketchOperator) -> None:
        self.operator = operator
        self.devices: dict[int, Device] = {}
        self._damaged: Counter[int | None] = Counter()  # by the device that the damaged header names, if it is legible
        self._total = np.zeros(operator.n_measurements, np.int64)

    def add(self, data: bytes) -> bool:
        """Add one message. Return whether it is new; raise `MessageError` for one that cannot be counted.

        Either way, what is not counted changes nothing but the notes on its device.
        """
        try:
            message = wire.loads(data)
        except MessageError:
            self._note_damage(data)
            raise
        return self._add(message)

    def add_stream(self, data: bytes) -> Iterator[MessageError]:
        """Add all messages of some bytes, one after the other; yield what is wrong, and go on behind it."""
        for at, found in read_stream(data):
            if isinstance(found, MessageError):
                self._note_damage(data[at : at + wire.HEADER.size])
                yield found
                continue
            try:
                self._add(found)
            except MessageError as error:
                yield error

    def _add(self, message: wire.Message) -> bool:
        # A device is known by a message that can be counted, or by one that says its name in a header at least.
        device = self.devices.setdefault(message.device, Device())
        try:
            part = wire.sum_of(message, self.operator)
            digest = hashlib.sha256(wire.dumps(message)).digest()[:16]
            known = device.digests.get(message.sequence)
            if known == digest:
                device.repeated += 1
                return False
            if known is not None:
                raise MessageError(
                    f"{message.name}: another message of the same number is in the sum already. Did the device start "
                    "anew from 0, or do two share a number? Not counted."
                )
        except MessageError:
            device.refused += 1
            raise
        device.digests[message.sequence] = digest
        device.rows += message.rows
        device.saturated += message.saturated
        if part is not None:
            self._total += part
        return True

    def _note_damage(self, data: bytes) -> None:
        named = data[:2] == wire.MAGIC and len(data) >= wire.HEADER.size
        self._damaged[wire.HEADER.unpack_from(data)[4] if named else None] += 1

    @property
    def unreadable(self) -> int:
        """How many damaged pieces name nobody who is known otherwise: the name may be part of the damage."""
        return sum(times for number, times in self._damaged.items() if number not in self.devices)

    @property
    def count(self) -> int:
        """How many rows are in the sum."""
        return sum(device.rows for device in self.devices.values())

    @property
    def sketch(self) -> Sketch:
        """The sketch of all rows that were counted."""
        if not self.count:
            return self.operator.empty()
        saturated = sum(device.saturated for device in self.devices.values())
        return Sketch(
            self.operator, self._total.copy(), self.count, saturated, unknown_bounds(self.operator.n_features)
        )

    def report(self) -> list[dict[str, Any]]:
        """Return what came of each device, in order of their numbers."""
        return [
            {
                "device": number,
                "messages": device.messages,
                "rows": device.rows,
                "saturated": device.saturated,
                "repeated": device.repeated,
                "refused": device.refused + self._damaged[number],
                "missing": device.missing,
                "gaps": device.gaps(),
            }
            for number, device in sorted(self.devices.items())
        ]
