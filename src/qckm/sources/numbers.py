"""What text is a number: digits, a point, an exponent, in ASCII. Python's `float` takes more: "1_000", "１２"."""

from __future__ import annotations

import math
import re

# Its parts share digits in one way only: else a long cell that is no number takes the square of its time.
_NUMBER = re.compile(r"[ \t]*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t]*", re.ASCII)
_INFINITE = re.compile(r"[ \t]*([+-]?)inf(?:inity)?[ \t]*", re.ASCII | re.IGNORECASE)
# What stands for a value that is missing; pyarrow's list, and "none".
_MISSING = {"", "nan", "-nan", "na", "n/a", "#na", "#n/a", "#n/a n/a", "null", "none"}
_MISSING |= {"1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"}


def number(text: str, decimal: str = ".") -> float:
    """Return the number that a text is; NaN if it is none."""
    if decimal != ".":
        text = text.replace(".", "x").replace(decimal, ".")  # a point is none of its marks
    if _NUMBER.fullmatch(text):
        return float(text)
    infinite = _INFINITE.fullmatch(text)
    return math.copysign(math.inf, -1 if infinite[1] == "-" else 1) if infinite else math.nan


def is_text(cell: str, decimal: str = ".") -> bool:
    """Whether a cell holds neither a number nor something that stands for one: nothing, NaN, NA, infinity."""
    return cell.strip().lower() not in _MISSING and math.isnan(number(cell, decimal))
