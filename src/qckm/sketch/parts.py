"""Names of the parts that a sum is made of, so that none counts twice: 8 bytes each, which is not their text.

A sketch may have no names, or rows beside those of its named parts. What is not named is not checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qckm.common.arrays import sha256
from qckm.errors import FileError, MergeError, PartsWarning, SketchError, warn
from qckm.sketch.packed import Cursor

# A year of daily files of eleven shops. A file has 8 bytes of each.
MOST = 4096
_LONGEST = 200  # characters of a name
_BYTES = 8


@dataclass(frozen=True)
class Parts:
    """The names of a sketch's parts, as numbers of 64 bits.

    Parameters
    ----------
    ids : frozenset of int

    Examples
    --------
    >>> import qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=8, scale=1.0, random_state=0)
    >>> night = op.sketch([[0.0, 1.0]], part="berlin/2026-11-16")
    >>> "berlin/2026-11-16" in night.parts, "paris/2026-11-16" in night.parts, len(night.parts)
    (True, False, 1)
    """

    ids: frozenset[int] = frozenset()

    @classmethod
    def named(cls, name: str) -> Parts:
        """Return the parts that are one of this name."""
        return cls(frozenset({id_of(name)}))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and id_of(name) in self.ids

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self.ids))

    def __add__(self, other: Parts) -> Parts:
        """Return the parts of a sum; refuse one that is in both."""
        twice = self.ids & other.ids
        if twice:
            raise MergeError(
                f"Cannot add sketches that have {_some(twice)} in common: its rows would count twice. Leave one of "
                "them out; or, if these are different rows under one name, drop the names: sketch.without_parts().",
                about="parts",
            )
        found = self.ids | other.ids
        if len(found) > MOST:
            warn(
                f"A sketch keeps the names of up to {MOST} parts, and this one has {len(found)}: from now on it has "
                "none, and a part that is added twice is not noticed.",
                PartsWarning,
            )
            return Parts()
        return Parts(found)

    def __sub__(self, other: Parts) -> Parts:
        """Return the parts that are left; refuse to take out one that is not there, where any are known."""
        missing = other.ids - self.ids
        if missing and self.ids:
            raise MergeError(
                f"Cannot forget {_some(missing)}, which is not in the sketch: it was never added, or taken out before. "
                "If its rows were added without that name, drop it: part.without_parts().",
                about="parts",
            )
        return Parts(self.ids - other.ids)

    def dumps(self) -> bytes:
        """Return the numbers as a file has them, in order."""
        return np.array(sorted(self.ids), "<u8").tobytes()

    @classmethod
    def loads(cls, cursor: Cursor) -> Parts:
        """Return the parts of a file."""
        if cursor.left > MOST * _BYTES:
            raise FileError(f"Expected at most {MOST} names of parts, got {cursor.left} bytes of them.")
        ids = cursor.array("<u8", cursor.left // _BYTES).tolist()
        cursor.end()
        return cls(frozenset(ids))


def id_of(name: str) -> int:
    """Return the number that stands for a name: the first 8 bytes of SHA-256 of its UTF-8, little-endian.

    Examples
    --------
    >>> hex(id_of("berlin/2026-11-16"))
    '0x3b3614a7e2c65c73'
    """
    if not isinstance(name, str) or not name.strip() == name or not 0 < len(name) <= _LONGEST:
        raise SketchError(
            f"Expected the name of a part, up to {_LONGEST} characters such as 'berlin/2026-11-16', got {name!r:.80}."
        )
    digest = sha256(name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:_BYTES], "little")


def _some(ids: frozenset[int]) -> str:
    """Return parts in words: names are not known, numbers are."""
    first = f"{min(ids):016x}"
    return f"the part {first}" if len(ids) == 1 else f"{len(ids)} parts ({first}, …)"
