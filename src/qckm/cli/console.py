"""How a command speaks: messages to stderr, data to stdout or a file, exit codes; and remedies of what was typed.

Words are shown, never obeyed, whatever names of files and columns they hold. --quiet leaves warnings of the messages,
--json makes the data a summary. The library speaks of Python; remedies are to be pasted here: they hold the file, the
columns and the number of clusters of the command that went wrong.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import io
import json
import os
import re
import shlex
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import BinaryIO, Protocol

import click

from qckm.common import atomic, foreign_files
from qckm.common.text import public_name, public_words, visible
from qckm.errors import QckmError, Remark, Topic

# The exit codes. Of a command that answers a question (`drift`), 0 is no, 1 is yes, and 2 is whatever went wrong.
DONE, FAILED, MISUSED, DOUBTFUL = 0, 1, 2, 3

# Seconds between what is said of progress where nobody looks, and at a terminal.
_SECONDS_PER_LINE, _SECONDS_PER_LOOK = 5.0, 0.1

# The words after `qckm`: remedies repeat them, when what click knew of them is gone.
WORDS: ContextVar[tuple[str, ...]] = ContextVar("words", default=())


def say(words: str) -> None:
    """Say one line to the person at the terminal."""
    click.echo(visible(words), err=True)


def show(words: str) -> None:
    """Print one line of what was asked for, for a person to read."""
    print_data(visible(words))


def print_data(text: str) -> None:
    """Print what a program reads, as it is."""
    with atomic.naming("standard output"):
        click.echo(text)


def visible_lines(text: str) -> str:
    """Return lines of our own making, in which what others named is shown."""
    return "\n".join(map(visible, text.split("\n")))


def say_usage(error: click.ClickException) -> None:
    """Say what click found wrong, and how the verb is used."""
    words, message = io.StringIO(), public(error.format_message())
    error.show(file=words)
    text = public(words.getvalue())
    # Without any arguments, newer versions of click "find wrong" what is the help, of many lines.
    if not isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
        text = text.replace(message, visible(message))
    click.echo(visible_lines(text), err=True, nl=False)


def say_traceback(error: BaseException) -> None:
    """Say where something that should not happen did."""
    click.echo(visible_lines(public("".join(traceback.format_exception(error)))), err=True, nl=False)


def say_warnings() -> None:
    """Have Python's warnings said here, too, as all else."""

    def say_one(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        say(f"warning: {public(str(message))}")

    warnings.showwarning = say_one


@contextlib.contextmanager
def writing(target: str) -> Iterator[Callable[[bytes], None]]:
    """Give a function that writes to stdout for "-", else to a file that appears whole, at the end, or not at all."""
    with contextlib.ExitStack() as stack:
        file: BinaryIO | io.FileIO = sys.stdout.buffer
        if target != "-":
            # Without a buffer, which would fail once more on closing.
            file = stack.enter_context(open(stack.enter_context(atomic.replacing(target)), "wb", buffering=0))

        def write(data: bytes) -> None:
            if target == "-" and sys.stdout.isatty():  # read by a person, not by a program
                data = visible_lines(bytes(data).decode("utf-8", "backslashreplace")).encode()
            with atomic.naming("standard output" if target == "-" else target):
                left = memoryview(data)
                while left:
                    left = left[file.write(left) :]
                file.flush()

        yield write


def write_bytes(target: str, data: bytes) -> None:
    """Write bytes to stdout for "-", else to a file."""
    with writing(target) as write:
        write(data)


class Show(Protocol):
    """Takes words on how far something is, which are made when they are shown, and the share that is done."""

    def __call__(self, words: Callable[[], str], share: float | None = None) -> None:
        """Show both, if it is time to."""


@dataclass(frozen=True)
class Console:
    """How a command speaks."""

    quiet: bool = False
    json: bool = False

    def say(self, words: str) -> None:
        """Say something to the person at the terminal."""
        if not self.quiet:
            say(words)

    def warn(self, words: str) -> None:
        """Say what may be wrong with a result, and its remedy, however quiet the rest is."""
        say(f"warning: {public(with_remedy(words))}")

    @contextlib.contextmanager
    def showing(self, what: str, spinner: bool = False) -> Iterator[Show]:
        """Give what shows how far something is: at a terminal at once, elsewhere in a line every few seconds."""
        last, pause = time.monotonic(), _SECONDS_PER_LINE
        with contextlib.ExitStack() as stack:
            update: Callable[[str, float | None], None] = lambda words, _: self.say(f"{what}: {words}")  # noqa: E731
            if not self.quiet and sys.stderr.isatty():
                pause, update = _SECONDS_PER_LOOK, stack.enter_context(_spinner(what) if spinner else _bar(what))

            def show(words: Callable[[], str], share: float | None = None) -> None:
                nonlocal last
                if time.monotonic() - last >= pause:
                    last = time.monotonic()
                    update(words(), share)

            yield show

    def print_facts(self, facts: dict[str, object]) -> None:
        """Print a summary on stdout, if asked for: one line for a log, several for a person."""
        if self.json:
            print_data(json.dumps(facts, indent=1 if sys.stdout.isatty() else None))


@contextlib.contextmanager
def _bar(what: str) -> Iterator[Callable[[str, float | None], None]]:
    from rich.console import Console as Terminal  # takes its time to import
    from rich.progress import BarColumn, Progress, TextColumn

    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}")
    with Progress(*columns, console=Terminal(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, visible=False, words="")

        def update(words: str, share: float | None) -> None:
            bar.update(task, visible=True, words=words, completed=share, total=None if share is None else 1.0)

        yield update


@contextlib.contextmanager
def _spinner(what: str) -> Iterator[Callable[[str, float | None], None]]:
    from rich.console import Console as Terminal

    with Terminal(stderr=True).status(what, spinner="line") as status:
        yield lambda words, _: status.update(f"{what}: {words}")


def typed() -> list[str]:
    """Return the words after `qckm` that started this: as typed, or as another verb says (`demo` runs `fit`)."""
    context = click.get_current_context(silent=True)
    return list(context.obj if context is not None and context.obj else WORDS.get())


def command_again() -> str:
    """Return the command that does the same once more, without the secrets of URLs."""
    return shlex.join(["qckm", *(_public_word(word) for word in typed() if word != "--resume")])


def public(words: str) -> str:
    """Return words of ours without the secrets of URLs, of typed ones even if there are quotes or spaces in them."""
    for word in typed():
        url = _split_option(word)[1]
        if (shown := public_name(url)) != url:
            words = words.replace(url, shown).replace(repr(url)[1:-1], shown)
    return public_words(words)


def _public_word(word: str) -> str:
    option, value = _split_option(word)
    return option + public_words(public_name(value))


def _split_option(word: str) -> tuple[str, str]:
    """Return --option= and its value, of any other word nothing and itself."""
    option, equals, value = word.partition("=")
    return (option + equals, value) if equals and option.startswith("-") else ("", word)


HINTS: dict[Topic, str] = {
    "bad rows": "--on-bad skip",
    "checkpoint": "the command of that run, with --resume, finishes it",
    "columns": "--columns {columns}",
    "comment": "--comment '#'",
    "decimal": "--decimal ,",
    "exclude": "--exclude {columns}",
    "export": "{export}",
    "frequencies": "--frequencies, of `qckm fit` and `qckm sketch`",
    "a model": "`qckm predict DATA -m {path}` labels rows with it, `qckm info {path}` shows what is in it",
    "model": "`qckm fit {path} -k {k} -o model.json` makes a model of rows, `qckm decode` one of a sketch",
    "operator": "`qckm operator DATA -k {k} -o operator.qckm` draws one; all of `qckm sketch --operator` use it",
    "output": "-o names the output",
    "parts": "--no-parts, of `qckm merge` and `qckm subtract`, neither checks nor keeps names",
    "public operator": "`qckm operator --ranges FILE --private` makes one of public knowledge; or --operator-is-public",
    "rows": "`qckm sketch {path} -k {k} -o {stem}.qckm` makes a sketch of rows",
    "sketch": "`qckm decode {path} -k {k} -o model.json` makes a model of it, `qckm info {path}` shows what is in it",
    "standardize": "--standardize, where the operator is made",
}
# How to get rows out of files that are not read: with the path, and the path without its ending.
_PANDAS = "`python -c \"import pandas; pandas.read_excel('{path}').to_csv('{stem}.csv', index=False)\"`"
_EXPORTS = {
    foreign_files.EXCEL: _PANDAS,
    foreign_files.OLD_EXCEL: _PANDAS,
    foreign_files.ZIP: "`unzip {path}`",
    foreign_files.XZ: "`xz --decompress --keep {path}`",
    foreign_files.SEVEN_ZIP: "`7z x {path}`",
    foreign_files.DUCKDB: "`duckdb {path} \"EXPORT DATABASE '{stem}' (FORMAT parquet)\"`",
    foreign_files.SQLITE: (
        "`sqlite3 {path} .tables` names its tables; of one called rows, "
        "`sqlite3 -header -csv {path} 'SELECT * FROM rows' > {stem}.csv`"
    ),
    foreign_files.ORC: (
        "`python -c \"import pyarrow.orc as o, pyarrow.parquet as p; p.write_table(o.read_table('{path}'), "
        "'{stem}.parquet')\"`"
    ),
    foreign_files.JSON_LIST: "`jq -c '.[]' {path} > {stem}.jsonl`",
    foreign_files.UTF16: "`iconv -f UTF-16 -t UTF-8 {path} > {stem}-utf8.csv`",
}
# Which verb makes a file of an ending.
_MAKERS = {
    ".qckm": (
        "`qckm operator {data} -k {k} -o {path}` makes an operator, `qckm sketch {data} -k {k} -o {path}` a sketch."
    ),
    ".json": "`qckm fit {data} -k {k} -o {path}` makes a model.",
}
_ENDINGS = re.compile(r"(\.(parquet|pq|csv|tsv|jsonl|ndjson|arrow|feather|npy|npz|gz|zst|bz2|lz4))+$", re.IGNORECASE)


def with_remedy(said: QckmError | str) -> str:
    """Return the words of an error or a remark, with its remedy on the command line where it has one."""
    words = str(said)
    if not isinstance(said, (QckmError, Remark)) or not said.about:
        return words
    values = _values(said.values)
    if said.about == "export" and not values["export"]:
        return words
    end = "" if words.endswith((".", "?", "!")) else "."
    return f"{words}{end} On the command line: {HINTS[said.about].format(**values)}."


def _values(known: dict[str, str]) -> dict[str, str]:
    """Return what remedies are filled with: what is known of the error, else of the command."""
    path = known.get("path", "")
    if not path or not os.path.exists(path):
        path = next(iter(_files()), "FILE")
    stem = _ENDINGS.sub("", os.path.basename(os.path.normpath(path))) or "rows"
    columns = known.get("columns", "a,b,…")
    export = _EXPORTS.get(known.get("kind", ""), "") if path == known.get("path") == shlex.quote(path) else ""
    return {
        "path": shlex.quote(path),
        "stem": shlex.quote(stem),
        "columns": shlex.quote(columns),
        "k": _clusters(),
        "export": export.format(path=path, stem=os.path.splitext(os.path.basename(path))[0]),
    }


def _files() -> list[str]:
    """Return the words of the command that are files or patterns of files."""
    return [word for word in typed()[1:] if not word.startswith("-") and (os.path.exists(word) or "*" in word)]


def _clusters() -> str:
    """Return the number of clusters that was asked for, or one to begin with."""
    found = re.search(r"(?:^|\s)(?:-k\s?|--(?:clusters|k)[\s=])(\d+)(?=\s|$)", " ".join(typed()))
    return found[1] if found else "10"


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
    if not made:
        return hint
    data = [file for file in _files() if _ENDINGS.search(file)]
    return f"{hint} " + made.format(
        path=shlex.quote(error.filename), data=shlex.quote(data[0]) if data else "DATA", k=_clusters()
    )
