"""How much one sender may ask for: a bucket that fills at a rate, and has room for some seconds of it."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field

from qckm.collector.refusals import Reason, Refused

_BURST = 10.0  # seconds of the rate
_MOST_BUCKETS = 10_000


@dataclass
class Limits:
    """A bucket for each sender; those that have not been seen for longest are forgotten."""

    rate: float
    what: str
    _buckets: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def take(self, sender: str, amount: float = 1.0) -> None:
        """Take an amount out of a sender's bucket, or refuse. A full bucket gives any amount, and owes it."""
        left = self._left(sender)
        if left <= 0:
            wait = 1 - left / self.rate
            raise Refused(Reason.TOO_MANY, f"More than {self.rate:g} {self.what} a second: come again in {wait:.0f} s.")
        self._buckets[sender] = left - amount, time.monotonic()

    def require(self, sender: str) -> None:
        """Refuse a sender whose bucket is empty."""
        if self._left(sender) <= 0:
            raise Refused(Reason.TOO_MANY, f"More than {self.rate:g} {self.what} a second: come again in a moment.")

    def _left(self, sender: str) -> float:
        now = time.monotonic()
        left, since = self._buckets.pop(sender, (_BURST * self.rate, now))
        left = min(_BURST * self.rate, left + self.rate * (now - since))
        self._buckets[sender] = left, now
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return left
