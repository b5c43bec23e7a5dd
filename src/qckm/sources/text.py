"""What is known beforehand of the text in a CSV, and what text is a number."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from qckm.errors import SourceError

# What they mean to whoever cuts a text into records, or reads numbers.
_TAKEN = '"\r\n'
_TAB = ("\\t", "tab")


@dataclass(frozen=True)
class TextFormat:
    r"""What is known of a CSV; None where its first lines tell.

    Parameters
    ----------
    header : bool, optional
        Whether the first line holds names.
    delimiter : str, optional
        One ASCII character, "\t" or "tab" for a tab.
    decimal : str
        "." or ",", the mark between whole digits and others.
    comment : str, optional
        One ASCII character: lines that begin with it are passed over.

    Examples
    --------
    >>> TextFormat(delimiter="tab").delimiter
    '\t'
    """

    header: bool | None = None
    delimiter: str | None = None
    decimal: str = "."
    comment: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter in _TAB:
            object.__setattr__(self, "delimiter", "\t")
        for name in ("delimiter", "comment"):
            value = getattr(self, name)
            if value is not None and (
                not isinstance(value, str) or len(value) != 1 or not value.isascii() or value in _TAKEN
            ):
                raise SourceError(f"Expected one ASCII character, and no quote or line end, as {name}, got {value!r}.")
        if self.decimal not in (".", ","):
            raise SourceError(f"Expected decimal '.' or ',', got {self.decimal!r}.")
        if self.delimiter == self.decimal:
            raise SourceError(f"Expected a delimiter other than the decimal mark, got {self.decimal!r} for both.")
        if self.delimiter is not None and (self.delimiter.isalnum() or self.delimiter in "+-"):
            raise SourceError(f"Expected a delimiter that is no part of a number or name, got {self.delimiter!r}.")
        if self.comment is not None and (self.comment == self.delimiter or self.comment in "0123456789+-."):
            raise SourceError(f"Expected a comment mark that no row begins with, got {self.comment!r}.")


# Nothing is known beforehand: the first lines tell.
UNKNOWN = TextFormat()


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
