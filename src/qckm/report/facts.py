"""Facts of a model, which come out of a file: a number only where one is there, and words for anything else."""

from __future__ import annotations

import numpy as np

from qckm.common.arrays import Floats
from qckm.common.text import format_value, shortened

# No count of rows or bytes is larger, and Python's integers know no end.
_LARGEST = 1e21
_LONGEST = 300
# Squares of larger numbers are no float64, nor those of smaller ones than its inverse.
FAR = 1e150


def number(value: object) -> float | None:
    """Return a finite number of a size that can be, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if -_LARGEST < value < _LARGEST else None


def amount(facts: dict[str, object], key: str) -> float | None:
    """Return a fact that counts something, or None."""
    found = number(facts.get(key))
    return found if found is not None and found >= 0 else None


def words(value: object) -> str:
    """Return a fact in words. Integers stay as they are: a seed is copied, not read."""
    return shortened(str(value) if type(value) is int else format_value(value), _LONGEST)


def count(value: object) -> str:
    """Return a number of things in words."""
    known = number(value)
    return words(value) if known is None else f"{known:,.0f}"


def aligned(values: Floats) -> list[str]:
    """Return the numbers of a column with the same number of decimals: three digits of the largest.

    Examples
    --------
    >>> import numpy as np
    >>> aligned(np.array([12.345, -0.000982])), aligned(np.array([1e7, 2.0]))
    (['12.3', '0.0'], ['1.00e+07', '2.00e+00'])
    """
    largest = float(np.abs(values).max())
    if not 1e-3 <= largest < 1e6:
        return [f"{value:.2e}" if value else "0" for value in values]
    decimals = max(0, 2 - int(np.floor(np.log10(largest))))
    return [f"{value:z.{decimals}f}" for value in values]


def percent(share: float, digits: int = 1) -> str:
    """Return a share in per cent; what is none, and far above 1, as it is."""
    return f"{share:.{digits}%}" if share < _LARGEST else f"{share:.3g}"
