"""Text in CSV files: in quotes where it has to be, and no formula to the spreadsheet that opens it.

The rule: a text that a spreadsheet would take for a formula gets an apostrophe in front, and so does one that is such a
text behind apostrophes, so that all texts come back when one apostrophe is taken away. A number is no formula.
"""

from __future__ import annotations

import re

PREFIX = "'"
# What spreadsheets begin a formula with, also in its wide form; a tab or a line's end in front of it is passed over.
_FORMULA = tuple("=+-@＝＋－＠\t\r\n")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def is_formula(text: str) -> bool:
    """Whether a text begins as formulas do, numbers with a sign included."""
    return text.lstrip(" ").startswith(_FORMULA)


def guarded(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula.

    Examples
    --------
    >>> guarded("=1+1"), guarded("'=1+1"), guarded("-5.2"), guarded("O'Neill"), guarded("-x")
    ("'=1+1", "''=1+1", '-5.2', "O'Neill", "'-x")
    """
    stem = text.lstrip(PREFIX)
    return PREFIX + text if is_formula(stem) and not is_number(stem) else text


def is_number(text: str) -> bool:
    """Whether a text is a plain decimal number."""
    return _NUMBER.fullmatch(text.strip()) is not None


def line(cells: list[str]) -> str:
    r"""Return a line of CSV, with quotes around what would be taken for several cells or lines.

    Examples
    --------
    >>> line(["a", "b,c", 'a "b" c', "two\rlines", ""])
    'a,"b,c","a ""b"" c","two\rlines",\n'
    """
    return ",".join(map(_quoted, cells)) + "\n"


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ',"\r\n') else cell
