"""Text of others, made safe to look at: names in files may hold what acts on a terminal or deceives the eye."""

from __future__ import annotations

import unicodedata

# They join letters and emoji, and change nothing but the two characters they stand between.
_JOINERS = "\u200c\u200d"


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
