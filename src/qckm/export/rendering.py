"""What the languages share: names that start with a prefix of the user's."""

from __future__ import annotations

import os
import re

from qckm.errors import OperatorError

PREFIX = "qckm"


def require_prefix(prefix: str) -> None:
    """Refuse a prefix that no name can start with."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", prefix):
        raise OperatorError(f"Expected a prefix of letters, digits and _, got {prefix!r}.")


def with_prefix(text: str, prefix: str) -> str:
    """Return a text of ours with the names of a user's prefix.

    Examples
    --------
    >>> with_prefix("int qckm_encode(void); /* QCKM_BYTES */", "gait")
    'int gait_encode(void); /* GAIT_BYTES */'
    """
    return re.sub(r"\bqckm_", f"{prefix}_", re.sub(r"\bQCKM_", f"{prefix.upper()}_", text))


def read_source(*names: str) -> str:
    """Return a file of this package, by the folders to it."""
    with open(os.path.join(os.path.dirname(os.path.dirname(__file__)), *names), encoding="ascii") as file:
        return file.read()
