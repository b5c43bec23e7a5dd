"""What to do about an error on the command line: the library speaks of Python, and says what its remedy is about.

Remedies are to be pasted: they hold the file, the columns and the number of clusters of the command that went wrong.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import re
import shlex
from collections.abc import Iterable

from qckm.cli.console import typed
from qckm.common import foreign_files
from qckm.errors import QckmError, Topic

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
_ENDINGS = re.compile(r"(\.(parquet|pq|csv|tsv|jsonl|ndjson|arrow|feather|npy|npz|gz|zst|bz2|lz4))+$", re.IGNORECASE)


def hint_for(said: QckmError | str) -> str:
    """Return what to add to the words of an error or a remark: a sentence with flags, or nothing."""
    about: Topic | None = getattr(said, "about", None)
    if not about:
        return ""
    values = _values(getattr(said, "values", {}))
    if about == "export" and not values["export"]:
        return ""
    end = "" if str(said).endswith((".", "?", "!")) else "."
    return f"{end} On the command line: {HINTS[about].format(**values)}."


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


_MAKERS = {
    ".qckm": (
        "`qckm operator {data} -k {k} -o {path}` makes an operator, `qckm sketch {data} -k {k} -o {path}` a sketch."
    ),
    ".json": "`qckm fit {data} -k {k} -o {path}` makes a model.",
}


def remarks_in_words(remarks: Iterable[str]) -> list[str]:
    """Return remarks with their remedies on the command line."""
    return [f"{remark}{hint_for(remark)}" for remark in remarks]
