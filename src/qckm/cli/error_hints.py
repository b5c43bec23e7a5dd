"""What to do about an error on the command line: the library speaks of Python, and says what its remedy is about."""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import shlex
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
    "parts": "--no-parts, of `qckm merge` and `qckm subtract`, neither checks nor keeps names",
    "public operator": "`qckm operator --ranges FILE` makes one of public knowledge; or --operator-is-public",
    "standardize": "--standardize, where the operator is made",
    "sketch": "`qckm decode SKETCH -k K -o model.json` makes a model of it, `qckm info` shows what is in it",
}


def hint_for(said: QckmError | str) -> str:
    """Return what to add to the words of an error or a remark: a sentence with flags, or nothing."""
    about: Topic | None = getattr(said, "about", None)
    end = "" if str(said).endswith((".", "?", "!")) else "."
    return f"{end} On the command line: {HINTS[about]}." if about else ""


def missing_hint(error: OSError) -> str:
    """Return what to add where a file is not there: a name that is like it, or the verb that makes such a file."""
    if error.errno != errno.ENOENT or not isinstance(error.filename, str):
        return ""
    folder, name = os.path.split(error.filename)
    stem, ending = os.path.splitext(name)
    hint = "."
    with contextlib.suppress(OSError):
        there = {os.path.splitext(other)[0]: other for other in os.listdir(folder or ".")}
        near = difflib.get_close_matches(stem, there, 1, 0.75)
        hint += f" Did you mean {os.path.join(folder, there[near[0]])}?" if near else ""
    made = _MAKERS.get(ending.lower())
    return hint + (f" {made.format(path=shlex.quote(error.filename))}" if made else "")


_MAKERS = {
    ".qckm": "`qckm operator DATA -k K -o {path}` makes an operator, `qckm sketch DATA -k K -o {path}` a sketch.",
    ".json": "`qckm fit DATA -k K -o {path}` makes a model.",
}


def remarks_in_words(remarks: Iterable[str]) -> list[str]:
    """Return remarks with their remedies on the command line."""
    return [f"{remark}{hint_for(remark)}" for remark in remarks]
