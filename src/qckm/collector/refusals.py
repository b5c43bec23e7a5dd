"""Why something was refused: a code for counting, words for people; and how much is too much."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field
from enum import StrEnum

from qckm.errors import CollectorError


class Reason(StrEnum):
    """What was wrong. Each has the HTTP status that goes with it."""

    DAMAGED = "damaged"
    UNSIGNED = "unsigned"
    UNKNOWN_DEVICE = "unknown device"
    MAC = "wrong MAC"
    OPERATOR = "another operator"
    CONTRADICTION = "contradiction"
    CONFLICT = "number used twice"
    TOO_OLD = "too old"
    OLD_BOOT = "old boot"
    TOO_LARGE = "too large"
    TOO_MANY = "too many"
    NO_TOKEN = "no token"
    WRONG_TOKEN = "wrong token"
    NO_RIGHT = "no right"
    NAME = "no such name"
    PART_EXISTS = "part exists"
    WITHDRAWN = "part withdrawn"
    CLOSED = "window closed"
    NOT_FOUND = "not found"
    BAD_REQUEST = "bad request"
    BUDGET = "budget spent"


STATUS: dict[Reason, int] = {
    Reason.TOO_LARGE: 413,
    Reason.TOO_MANY: 429,
    Reason.NO_TOKEN: 401,
    Reason.WRONG_TOKEN: 401,
    Reason.NO_RIGHT: 403,
    Reason.PART_EXISTS: 409,
    Reason.WITHDRAWN: 410,
    Reason.CLOSED: 410,
    Reason.NOT_FOUND: 404,
    Reason.BUDGET: 403,
}


class Refused(CollectorError):
    """Something that is not taken, or not given: nothing has changed."""

    def __init__(self, reason: Reason, words: str) -> None:
        super().__init__(words)
        self.reason = reason

    @property
    def status(self) -> int:
        """The HTTP status that goes with it."""
        return STATUS.get(self.reason, 400)


class Unavailable(CollectorError):
    """The database cannot be written right now: what was sent is not in it, or nobody knows. It is to be sent again."""


_BURST = 10.0  # seconds of the rate
_MOST_BUCKETS = 10_000


@dataclass
class Limits:
    """How much one sender may ask for: a bucket that fills at a rate, and has room for some seconds of it.

    Buckets of senders that have not been seen for longest are forgotten.
    """

    rate: float
    what: str
    _buckets: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def take(self, sender: str, amount: float = 1.0) -> None:
        """Take an amount, which may be 0, out of a sender's bucket, or refuse if it is empty; it may owe the rest."""
        left = self._left(sender)
        if left <= 0:
            wait = 1 - left / self.rate
            raise Refused(Reason.TOO_MANY, f"More than {self.rate:g} {self.what} a second: come again in {wait:.0f} s.")
        self._buckets[sender] = left - amount, time.monotonic()

    def _left(self, sender: str) -> float:
        now = time.monotonic()
        left, since = self._buckets.pop(sender, (_BURST * self.rate, now))
        left = min(_BURST * self.rate, left + self.rate * (now - since))
        self._buckets[sender] = left, now
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return left
