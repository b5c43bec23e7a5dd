"""Kinds of arguments: files that are read or written, numbers, words; what is wrong with one is said in our words.

A shell asks for proposals while somebody types: whatever goes wrong is no proposal, and nothing is read but the head of
a file here.
"""

from __future__ import annotations

import glob
import itertools
import math
import os
import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from qckm.common import atomic
from qckm.kernels.sketcher import parse_device
from qckm.sketch import checkpoints
from qckm.sources.opening import paths_of, tables_of

Kind = TypeVar("Kind", "Input", "Output")
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


class Input(click.Path):
    """Files that are read: a path, a folder, a pattern, "-" for standard input. What is wrong is said on opening."""

    def __init__(self) -> None:
        super().__init__(readable=False, allow_dash=True)


class OneFile(Input):
    """One file that is read; a pattern stands for it if no other file matches."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the file that a pattern stands for."""
        if isinstance(value, str) and not is_stream(value) and glob.has_magic(value) and not os.path.exists(value):
            found = paths_of(value)
            if len(found) != 1:
                sketches = len(found) > 1 and all(name.endswith(".qckm") for name in found)
                remedy = f" Merge them: qckm merge {shlex.quote(value)} -o all.qckm" if sketches else ""
                self.fail(f"expected one file, got {len(found)} of the pattern {value!r}.{remedy}", param, ctx)
            value = found[0]
        return super().convert(value, param, ctx)


def sketch_files(_: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files that names, folders and patterns of sketches stand for, in their order."""
    found: list[str] = []
    for path in given:
        pattern = os.path.join(glob.escape(path), "*.qckm") if os.path.isdir(path) else path
        files = [path] if is_stream(path) else paths_of(pattern)
        if not files:
            raise click.UsageError(f"{path}: expected sketches, found no file that matches.")
        found += files
    return tuple(found)


class Output(click.Path):
    """A file that is written; its name has one of the endings, if there are any. "-" is standard output.

    Parameters
    ----------
    *endings : str
    resumable : bool
        Whether a checkpoint is kept beside it.
    in_json : bool
        Whether, without a name, it is part of what --json prints.
    folder : bool
        Whether it may be a folder, whose name has no ending.
    """

    def __init__(self, *endings: str, resumable: bool = False, in_json: bool = False, folder: bool = False) -> None:
        super().__init__(readable=False, allow_dash=True)
        self.endings, self.resumable, self.in_json, self.folder = endings, resumable, in_json, folder

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse a name of no format."""
        known = os.path.splitext(value)[1].lower() in self.endings or (self.folder and is_folder(value))
        if value != "-" and self.endings and not known:
            self.fail(f"expected a name that ends in {', '.join(self.endings)}, got {value!r}.", param, ctx)
        return super().convert(value, param, ctx)


def is_folder(path: str) -> bool:
    """Whether a name is that of a folder of files: it has no ending."""
    return path != "-" and not os.path.splitext(path.rstrip("/"))[1]


def require_apart(context: click.Context) -> None:
    """Refuse, before any work, outputs that would take the place of an input or of each other, or cannot be written."""
    _require_one_on_stdout(context)
    inputs = [path for _, path in _given(context, Input)]
    outputs = [path for kind, path in _given(context, Output) if not (kind.folder and is_folder(path))]
    # Those are written beside the output, and removed at the end.
    outputs += [checkpoints.path_of(path) for kind, path in _given(context, Output) if kind.resumable]
    for one, other in itertools.combinations(outputs, 2):
        if _same(one, other):
            raise click.UsageError(f"Expected different files to write to, got {one} twice: give each its own name.")
    for output in filter(os.path.isfile, outputs):
        for given in inputs:
            if any(_same(output, path) for path in paths_of(given)):
                raise click.UsageError(
                    f"Expected an output that is no input, got {output}, which would be overwritten: name another file."
                )
    for output in outputs:
        atomic.require_replaceable(output)


def _require_one_on_stdout(context: click.Context) -> None:
    as_json = context.params["as_json"]
    count = int(as_json)
    for param in context.command.params:
        if isinstance(param.type, Output):
            path = context.params[param.name or ""]
            by_default = path is None and param.name == "output" and not (as_json and param.type.in_json)
            count += path == "-" or by_default
    if count > 1:
        raise click.UsageError("Only one thing can go to stdout, the output, another or --json: name a file with -o.")


def _given(context: click.Context, kind: type[Kind]) -> Iterator[tuple[Kind, str]]:
    """Yield the files that arguments of a kind name."""
    for param in context.command.params:
        if isinstance(param.type, kind):
            given = context.params[param.name or ""] or ()
            for path in [given] if isinstance(given, str) else given:
                if not is_stream(path):
                    yield param.type, path


def is_stream(path: str) -> bool:
    """Whether a path has no content to lose, as a URL; /dev/stdout is one even where it is sent to a file."""
    return (
        path == "-"
        or "://" in path
        or atomic.is_device(path)
        or os.path.dirname(os.path.abspath(path)) in ("/dev", "/dev/fd")
    )


def _same(one: str, other: str) -> bool:
    if os.path.exists(one) and os.path.exists(other):
        return os.path.samefile(one, other)
    return os.path.realpath(one) == os.path.realpath(other)


class Parsed(click.ParamType):  # type: ignore[type-arg]  # generic in some versions only
    """A word that a function makes something of, or refuses in its own words; shells propose some."""

    def __init__(self, name: str, parse: Callable[[str], object], complete: Complete | None = None) -> None:
        self.name, self._parse, self._complete = name, parse, complete

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return what the function makes of a word; what it has made stays."""
        try:
            return self._parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Propose words."""
        return self._complete(ctx, param, incomplete) if self._complete else []


def _names(value: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.split(","))
    if not all(names):
        raise ValueError(f"expected names with commas between, got {value!r}.")
    return names


def _seconds(value: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h|)", value)
    if not found or not float(found[1]) > 0:
        raise ValueError(f"expected a time such as 60s, 5m or 1h, got {value!r}.")
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


def _device(value: str) -> str:
    parse_device(value)
    return value


def _engine(value: str) -> str:
    from qckm.engines import parse_engine  # takes its time to import

    parse_engine(value)
    return value


class Whole(click.IntRange):
    """A whole number, with words for what is none: click speaks of "a valid integer range"."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        try:
            found = int(value)
        except (ValueError, TypeError):
            found = None
        if found is None or (self.min is not None and found < self.min) or (self.max is not None and found > self.max):
            least = "" if self.min is None else f" of {self.min:g} or more"
            self.fail(f"expected a whole number{least}, got {value!r}.", param, ctx)
        return found


class Number(click.FloatRange):
    """A number within a range, with words for what is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        try:
            return super().convert(float(value), param, ctx)
        except ValueError:
            self.fail(f"expected a number, got {value!r}.", param, ctx)


class Scale(Number):
    """A length > 0: click's range lets NaN and infinity pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse what is no length."""
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"expected a finite number > 0, got {value}.", param, ctx)
        return found


def propose_files(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Propose names of files: the shell knows them."""
    return [CompletionItem(incomplete, type="file")]


def one_of(**values: str) -> Complete:
    """Propose values, each with a word on what it is."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(value, help=help_) for value, help_ in values.items() if value.startswith(incomplete)]

    return complete


def columns(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Propose columns of the first file named before, other than those that are there: numbers, or all to keep."""
    before, comma, last = incomplete.rpartition(",")
    named = before.split(",") if before else []
    for given in context.params.get(param.name or "") or ():
        named += [given] if isinstance(given, str) else list(given)
    return [
        CompletionItem(f"{before}{comma}{name}")
        for name in _held(context, numeric=param.name != "keep")
        if name.startswith(last) and name not in named and "," not in name and name.isprintable()
    ]


def _held(context: click.Context, numeric: bool) -> list[str]:
    """Return the columns of the first file of rows among the words before."""
    words: list[str] = []
    for name in ("data", "sample", "rows"):  # arguments that name rows, in the order they are asked in
        given = context.params.get(name) or ()
        words += [given] if isinstance(given, str) else given
    for word in (*words, *context.args):  # arguments are left over where the last option has no value yet
        for path in paths_of(word)[:1]:
            found = _columns_of(path, numeric) if os.path.isfile(path) else []  # a pipe would wait
            if found:
                return found
    return []


def _columns_of(path: str, numeric: bool) -> list[str]:
    try:
        held = tables_of(path)[0].columns
    except Exception:  # of a file that cannot be read nobody proposes anything
        return []
    return [column.name for column in held if column.numeric or not numeric]


COLUMNS = Parsed("a,b,…", _names, columns)
DURATION = Parsed("time", _seconds)
DEVICE = Parsed("device", _device, one_of(cpu="this machine's cores", cuda="a GPU"))
ENGINE = Parsed("engine", _engine, one_of(dask="Dask", spark="Spark", ray="Ray"))
