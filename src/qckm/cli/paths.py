"""Which of a verb's arguments are files it reads and files it writes: no output takes the place of another file."""

from __future__ import annotations

import glob
import itertools
import os
import shlex
from collections.abc import Iterator
from typing import Any, TypeVar

import click

from qckm.cli.sketch_io import is_sketch
from qckm.common import atomic
from qckm.sketch import checkpoints
from qckm.sources.opening import paths_of

Kind = TypeVar("Kind", "Input", "Output")


class Input(click.Path):
    """Files that are read: a path, a folder, a pattern, "-" for standard input. What is wrong is said on opening."""

    def __init__(self) -> None:
        super().__init__(readable=False, allow_dash=True)


class OneFile(Input):
    """One file that is read; a pattern stands for it if no other file matches."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the file that a pattern stands for."""
        if isinstance(value, str) and not _is_stream(value) and glob.has_magic(value) and not os.path.exists(value):
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
        files = [path]
        if os.path.isdir(path):
            files = sorted(glob.glob(os.path.join(glob.escape(path), "*.qckm")))
        elif not _is_stream(path):
            files = paths_of(path)
        if not files:
            raise click.UsageError(f"{path}: expected sketches, found no file that matches.")
        found += files
    return tuple(found)


def windows_of(context: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sketches that names stand for; what stands for other files is one window of data, and stays."""
    found: list[str] = []
    for path in given:
        names = sketch_files(context, param, (path,)) if _is_stream(path) or not _is_data(path) else (path,)
        found += names
    return tuple(found)


def _is_data(path: str) -> bool:
    files = paths_of(path)
    return bool(files) and os.path.exists(files[0]) and not is_sketch(files[0])


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
                if not _is_stream(path):
                    yield param.type, path


def _is_stream(path: str) -> bool:
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
