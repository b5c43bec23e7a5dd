"""What to do about an error on the command line: the library speaks of Python, and says what its remedy is about."""

from __future__ import annotations

from collections.abc import Iterable

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
    "standardize": "--standardize, where the operator is made",
    "sketch": "`qckm decode SKETCH -k K -o model.json` makes a model of it, `qckm info` shows what is in it",
}


def hint_for(said: QckmError | str) -> str:
    """Return what to add to the words of an error or a remark: a sentence with flags, or nothing."""
    about: Topic | None = getattr(said, "about", None)
    return f" On the command line: {HINTS[about]}." if about else ""


def remarks_in_words(remarks: Iterable[str]) -> list[str]:
    """Return remarks with their remedies on the command line."""
    return [f"{remark}{hint_for(remark)}" for remark in remarks]
