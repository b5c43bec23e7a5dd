"""Which sequence numbers of a device were counted: no message twice, in bounded memory, whatever the order.

Of each boot, numbers are remembered in blocks of 64, four bytes of the MAC each, so that a message that comes again is
told from another one that claims its number. Blocks below the floor are forgotten, and their numbers refused.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from qckm.collector.refusals import Reason

BLOCK = 64
MOST_BOOTS = 8
_MARK = struct.Struct("<I")


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
