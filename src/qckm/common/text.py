"""Text for people: sizes, times and values in words; and text of others, made safe to look at."""

from __future__ import annotations

import re
import traceback
import unicodedata
from collections.abc import Mapping, Sequence

# They join letters and emoji, and change nothing but the two characters they stand between.
_JOINERS = "\u200c\u200d"
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://.")
# Of a URL within a text, also one whose second slash was forgotten: what a scheme begins, up to a space or a quote.
_URL_WITHIN = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:/+)([^\s'\"<>]*[^\s'\"<>:,.])")
# What of a URL behind its path may be a signature, or a token.
_BEHIND = re.compile(r"[?#;]")
# Between the URLs of a chain, in which one is within what another one gives.
_CHAINED = re.compile(r"::(?=[A-Za-z][A-Za-z0-9+.-]*:[/:])")
# Where the host ends: a password may have any of these, if whoever typed it did not know how it is to be written.
_END_OF_HOST = re.compile(r"[/?#;]")
_PORT = re.compile(r"(\[.*\]|[^:]*)(:\d*)?")
# Shorter words of a secret are no secret, and may be anywhere.
_LEAST_SECRET = 4
# Of a list, in words.
_MOST_SHOWN = 12


def format_bytes(number: float) -> str:
    """Return a number of bytes in words.

    Examples
    --------
    >>> format_bytes(999), format_bytes(8192), format_bytes(3e15)
    ('999 bytes', '8.2 kB', '3000.0 TB')
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def format_duration(seconds: float) -> str:
    """Return a time in words.

    Examples
    --------
    >>> format_duration(2.55), format_duration(61), format_duration(3725)
    ('2.5 s', '1:01', '1:02:05')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def format_value(value: object) -> str:
    """Return what JSON can hold in words; of a long list, its first values.

    Examples
    --------
    >>> format_value(True), format_value(None), format_value(1234567), format_value(0.1 + 0.2)
    ('yes', '–', '1,234,567', '0.3')
    >>> format_value({"sketch": 1.5, "rows": [1, 2]}), format_value(range(100))
    ('sketch 1.5, rows 1, 2', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … (100)')
    """
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.6g}"
        case str():
            return value
        case Mapping():
            return ", ".join(f"{name} {format_value(part)}" for name, part in value.items())
        case Sequence():
            shown = ", ".join(map(format_value, value[:_MOST_SHOWN]))
            return shown if len(value) <= _MOST_SHOWN else f"{shown}, … ({len(value)})"
    return str(value)


def facts_as_html(title: str, facts: Mapping[str, object]) -> str:
    """Return facts as a small table of HTML, for a notebook; names and values may be anybody's.

    Examples
    --------
    >>> facts_as_html("Sketch", {"rows": 1200, "columns": ["<b>"]})
    '<table><caption>Sketch</caption><tr><th>rows</th><td>1,200</td></tr><tr><th>columns</th><td>&lt;b&gt;</td></tr></table>'
    """
    from html import escape  # it brings the names of all characters

    lines = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(visible(format_value(value)))}</td></tr>"
        for name, value in facts.items()
    )
    return f"<table><caption>{escape(title)}</caption>{lines}</table>"


def is_url(path: str) -> bool:
    """Whether a path is that of a file elsewhere.

    Examples
    --------
    >>> is_url("s3://bucket/rows.parquet"), is_url("rows.parquet"), is_url("C://rows.csv")
    (True, False, False)
    """
    return _URL.match(path) is not None


def public_name(url: str) -> str:
    """Return what a URL may be called in messages, models and reports: no user, no query, in which a signature may be.

    Examples
    --------
    >>> public_name("https://me:secret@host:80/a/rows.csv?X-Amz-Signature=ab12#x"), public_name("rows.csv?")
    ('https://host:80/a/rows.csv', 'rows.csv?')
    """
    if not is_url(url):
        return public_words(url) if _CHAINED.search(url) else url
    schemes = (part.partition("://") for part in _CHAINED.split(url))
    return "::".join(f"{scheme}{slashes}{_parts_of(rest)[1]}" for scheme, slashes, rest in schemes)


def _parts_of(rest: str) -> tuple[str, str, str]:
    """Return of what follows a scheme who asks, password included, the host and the path, and what is behind them."""
    host, before = _END_OF_HOST.split(rest, maxsplit=1)[0], _BEHIND.split(rest, maxsplit=1)[0]
    at = host.rfind("@")
    if at < 0 and not _PORT.fullmatch(host):  # behind the colon is half a password, and the @ is further on
        at = before.rfind("@") if "@" in before else rest.find("@")
        before = rest[: host.index(":")] if at < 0 else _BEHIND.split(rest[at + 1 :], maxsplit=1)[0]
    else:
        before = before[at + 1 :]
    return rest[: max(at, 0)], before, rest[at + 1 + len(before) :]


def public_words(words: str) -> str:
    """Return a text in which every URL is called as `public_name` calls it.

    Examples
    --------
    >>> public_words("--operator=https://me:secret@host/a.qckm?sig=ab12: expected a sketch")
    '--operator=https://host/a.qckm: expected a sketch'
    """
    return _URL_WITHIN.sub(_public_match, words)


def _public_match(found: re.Match[str]) -> str:
    first, *others = _CHAINED.split(found[2])
    return "::".join([found[1] + _parts_of(first)[1], *map(public_words, others)])


def without_secrets(words: str, url: str) -> str:
    """Return what a library or a server says of a URL, without what the URL's public name leaves out.

    Examples
    --------
    >>> without_secrets("nonnumeric port: 'secret@host'", "https://me:secret@host/a?sig=ab12")
    "nonnumeric port: '…@host'"
    """
    words = public_words(words.replace(url, public_name(url)))
    for part in _secrets_of(url):
        words = words.replace(part, "…")
    return words


def public_cause(error: Exception, url: str) -> Exception | None:
    """Return what an error came of, or none if what Python shows of that has any of what the public name leaves out."""
    words = "".join(traceback.format_exception(error))
    return None if any(part in words for part in _secrets_of(url)) else error


def _secrets_of(url: str) -> list[str]:
    """Return what a URL's public name leaves out, whole and in parts, the longest first."""
    hidden = set[str]()
    for part in _CHAINED.split(url):
        user, _, behind = _parts_of(part.partition("://")[2])
        hidden |= {user, *re.split(r"[:/?#;@]", user), behind[1:], *re.split(r"[?#;&=]", behind)}
    hidden |= {repr(part)[1:-1] for part in hidden}  # as errors quote them
    return sorted((part for part in hidden if len(part) >= _LEAST_SECRET), key=len, reverse=True)


def shortened(text: str, longest: int) -> str:
    """Return a text, cut where it is longer than that."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def visible(text: str) -> str:
    r"""Return a text on one line, in which whatever is not to be seen is shown as an escape.

    These are control characters (terminals obey them), line and paragraph separators, marks that turn the direction of
    writing, other invisible marks, unpaired surrogates (no encoding has them) and characters that do not exist.

    Examples
    --------
    >>> print(visible("a\x1b]52;c;ZXZpbA==\x07b\n\u202egnp.exe"))
    a\x1b]52;c;ZXZpbA==\x07b\n\u202egnp.exe
    """
    if text.isprintable():
        return text
    return "".join(one if _is_seen(one) else one.encode("unicode_escape").decode("ascii") for one in text)


def _is_seen(character: str) -> bool:
    return character.isprintable() or character in _JOINERS or unicodedata.category(character) == "Zs"


# Text in CSV files is in quotes where it has to be, and no formula to the spreadsheet that opens it. The rule: a text
# that a spreadsheet would take for a formula gets an apostrophe in front, and so does one that is such a text behind
# apostrophes, so that all texts come back when one apostrophe is taken away. A number is no formula.

PREFIX = "'"
# What spreadsheets begin a formula with, also in its wide form; a tab or a line's end in front of it is passed over.
_FORMULA = tuple("=+-@＝＋－＠\t\r\n")
_PASSED_OVER = " \ufeff"  # the second begins a file, perhaps with a name behind it
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def is_formula(text: str) -> bool:
    """Whether a text begins as formulas do, numbers with a sign included."""
    return text.lstrip(_PASSED_OVER).startswith(_FORMULA)


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
    quoted = ('"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ',"\r\n') else cell for cell in cells)
    return ",".join(quoted) + "\n"


def excess_in_words(excess: float, high: float) -> str:
    """Return how far above the best SSE centroids are expected to be, and a limit that they are hardly above.

    Examples
    --------
    >>> excess_in_words(0.0183, 0.06)
    'SSE expected within 2 % of the best, hardly above 6 %'
    >>> excess_in_words(0.0002, 0.001), excess_in_words(1.5, 7.5)
    ('SSE expected within 0.1 % of the best', 'SSE perhaps several times the best')
    """
    if high <= 0.001:
        return "SSE expected within 0.1 % of the best"
    if excess >= 1:
        return "SSE perhaps several times the best"
    return f"SSE expected within {_per_cent(excess)} of the best, hardly above {_per_cent(high)}"


def _per_cent(share: float) -> str:
    return f"{max(100 * share, 0.1):.{1 if share < 0.00995 else 0}f} %"
