"""Why something was refused: a code for counting, words for people; and how much is too much."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field
from enum import StrEnum

from qckm.errors import CollectorError


class Reason(StrEnum):
    """What was wrong, and the HTTP status that goes with it."""

    status: int

    def __new__(cls, words: str, status: int = 400) -> Reason:
        """Make a word that knows its status."""
        reason = str.__new__(cls, words)
        reason._value_, reason.status = words, status
        return reason

    DAMAGED = "damaged"
    UNSIGNED = "unsigned"
    UNKNOWN_DEVICE = "unknown device"
    MAC = "wrong MAC"
    OPERATOR = "another operator"
    CONTRADICTION = "contradiction"
    CONFLICT = "number used twice"
    TOO_OLD = "too old"
    OLD_BOOT = "old boot"
    TOO_LARGE = "too large", 413
    TOO_MANY = "too many", 429
    NO_TOKEN = "no token", 401
    WRONG_TOKEN = "wrong token", 401
    NO_RIGHT = "no right", 403
    NAME = "no such name"
    PART_EXISTS = "part exists", 409
    WITHDRAWN = "part withdrawn", 410
    CLOSED = "window closed", 410
    NOT_FOUND = "not found", 404
    BAD_REQUEST = "bad request"
    BUDGET = "budget spent", 403


class Refused(CollectorError):
    """Something that is not taken, or not given: nothing has changed."""

    def __init__(self, reason: Reason, words: str) -> None:
        super().__init__(words)
        self.reason = reason


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
        now, full = time.monotonic(), _BURST * self.rate
        left, since = self._buckets.pop(sender, (full, now))
        left = min(full, left + self.rate * (now - since))
        self._buckets[sender] = left - (amount if left > 0 else 0), now
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        if left <= 0:
            wait = 1 - left / self.rate
            raise Refused(Reason.TOO_MANY, f"More than {self.rate:g} {self.what} a second: come again in {wait:.0f} s.")
