"""What to do about an error on the command line: the library speaks of Python, and says what its remedy is about."""

from __future__ import annotations

from qckm.errors import QckmError, Topic

HINTS: dict[Topic, str] = {
    "bad rows": "--on-bad skip",
    "checkpoint": "the command of that run, with --resume, finishes it",
    "columns": "--columns a,b,…",
    "comment": "--comment '#'",
    "decimal": "--decimal ,",
    "frequencies": "--frequencies, of `qckm fit` and `qckm sketch`",
    "model": "`qckm fit` and `qckm decode` write models",
    "operator": "`qckm operator DATA -k K -o FILE`, then `qckm sketch --operator FILE` in every place",
    "output": "-o names the output",
    "public operator": "`qckm operator --ranges FILE` makes one of public knowledge; or --operator-is-public",
    "sketch": "`qckm decode SKETCH -k K -o model.json` makes a model of it, `qckm info` shows what is in it",
}


def hint_for(error: QckmError) -> str:
    """Return what to add to an error's words: a sentence with flags, or nothing."""
    return f" On the command line: {HINTS[error.about]}." if error.about else ""
