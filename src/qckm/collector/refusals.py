"""Why something was refused: a code for counting, words for people."""

from __future__ import annotations

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
