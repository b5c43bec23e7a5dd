"""SHA-256, imported when it is first asked for: Python's loads OpenSSL, which takes longer than most of qckm."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash


def sha256(data: bytes | memoryview = b"") -> _Hash:
    """Begin a digest with some bytes."""
    import hashlib

    return hashlib.sha256(data)
