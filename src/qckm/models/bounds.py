"""How much a file may grow when it is read."""

from __future__ import annotations

from qckm.errors import FileError

# Centroids hardly compress; zeros and repeated numbers do, in models small enough not to matter.
_FREE = 1 << 26
_TIMES = 16


def require_sane(needed: int, available: int) -> None:
    """Refuse a file that says of itself that it grows to many times its size: that is no model, but an attack."""
    most = _FREE + _TIMES * available
    if needed > most:
        raise FileError(f"expected at most {most:,} bytes of a file of {available:,}, got {needed:,}: no sane model")
