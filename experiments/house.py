"""How far a reader has to walk: files and functions on the way of three calls, lines per package, cycles, repetition.

Each call runs in a process of its own, under a profiler that notes which functions of `src/qckm` are entered, in any
thread, but for those that only importing a module calls. Of these, hand-overs are those that another file calls by
name: not its private helpers, nor properties, operators and nested functions. Cycles are those of all imports, also of
those within functions and for type checkers. A line is written twice if it is part of six lines in a row that stand
elsewhere, too, apart from names and values.

Results: results/house.csv, a line per quantity and a column per state of the code, which `--state` names. `--list`
prints the files and functions instead (hand-overs with a star), `--cycles` the cycles, `--twice` what is written twice.
"""

from __future__ import annotations

import argparse
import ast
import csv
import io
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "house.csv"
PACKAGE = Path(__file__).parents[1] / "src" / "qckm"
SMALL = 60  # lines
RUN = 6  # lines in a row

MAKE_DATA = """
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
rng = np.random.default_rng(0)
X = 9 * rng.integers(0, 2, (2000, 3)) + rng.normal(size=(2000, 3))
pq.write_table(pa.table(dict(zip("abc", X.T))), "data.parquet")
np.save("data.npy", X)
"""
CALLS = {
    "qckm fit data.parquet": """
from qckm.cli import run
assert run(["fit", "data.parquet", "-k", "4", "-o", "model.json", "--quiet"]) == 0
""",
    "CompressiveKMeans.fit(X)": """
import numpy as np
X = np.load("data.npy")
import qckm
qckm.CompressiveKMeans(4, random_state=0).fit(X).cluster_centers_
""",
    "decode(sketch)": """
import numpy as np
import qckm
sketch = qckm.SketchOperator.draw(3, 120, 2.0, random_state=0).sketch(np.load("data.npy"))
START
qckm.decode(sketch, 4, random_state=0)
""",
}
# A function is a hand-over if another file of the package calls it, by its name: no property, no operator.
TRACER = """
import functools, inspect, sys, threading
entered = {}
def note(frame, event, _):
    code = frame.f_code
    if event != "call" or not code.co_filename.startswith(PACKAGE) or not code.co_flags & 1 or code.co_name[0] == "<":
        return
    before = frame.f_back
    while before is not None and not before.f_code.co_filename.startswith(PACKAGE):
        before = before.f_back
    if before is not None and before.f_code.co_name == "<module>":
        return
    handed = before is None or before.f_code.co_filename != code.co_filename
    key = code.co_filename, code.co_qualname, frame.f_globals["__name__"]
    entered[key] = entered.get(key, False) or handed
def start():
    entered.clear()
    threading.setprofile(note)
    sys.setprofile(note)
start()
BODY
sys.setprofile(None)
for (file, name, module), handed in sorted(entered.items()):
    if "<locals>" in name or name.endswith("__"):
        handed = False
    elif "." in name:
        kind, method = name.rsplit(".", 1)
        handed &= callable(getattr(functools.reduce(getattr, kind.split("."), sys.modules[module]), method))
    print("entered", file, name, int(handed), sep="\\t")
"""


def functions_of(call: str, folder: str) -> list[tuple[str, str, bool]]:
    """Return the functions of the package that a call enters: file, name, and whether it is a hand-over."""
    body = CALLS[call].replace("START", "start()")
    code = TRACER.replace("PACKAGE", repr(str(PACKAGE))).replace("BODY", body)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder)
    lines = [line.split("\t") for line in done.stdout.splitlines() if line.startswith("entered\t")]
    return [(str(Path(file).relative_to(PACKAGE)), name, handed == "1") for _, file, name, handed in lines]


def imports_of(path: Path, modules: dict[str, Path]) -> Iterator[str]:
    """Yield the modules of the package that one imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            within = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from {name if name in modules else node.module for name in within} & set(modules)
        elif isinstance(node, ast.Import):
            yield from {alias.name for alias in node.names} & set(modules)


def cycles() -> list[list[str]]:
    """Return the groups of modules each of which imports every other, by way of others."""
    modules = {_name_of(path): path for path in PACKAGE.rglob("*.py")}
    graph = {name: set(imports_of(path, modules)) - {name} for name, path in modules.items()}
    reached = {name: _reached(name, graph) for name in graph}
    groups = {frozenset(other for other in reached[name] if name in reached[other]) for name in graph}
    return sorted((sorted(group) for group in groups if len(group) > 1), key=len, reverse=True)


def _name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _reached(start: str, graph: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    new = {start}
    while new:
        new = set().union(*(graph[name] for name in new)) - seen
        seen |= new
    return seen


def shapes_of(path: Path) -> list[tuple[int, str]]:
    """Return the lines of code of a file, with names and values left out: line number and shape."""
    tokens: dict[int, list[str]] = defaultdict(list)
    imports = set()
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        line = token.start[0]
        if token.type in (tokenize.NAME, tokenize.OP):
            first = not tokens[line]
            if first and token.string in ("import", "from"):
                imports.add(line)
            is_word = token.type == tokenize.OP or token.string in _KEYWORDS
            tokens[line].append(token.string if is_word else "name")
        elif token.type in (tokenize.NUMBER, tokenize.STRING):
            tokens[line].append("value")
    return [
        (line, " ".join(shape))
        for line, shape in sorted(tokens.items())
        if line not in imports and len(shape) > 1 and shape != ["value"]
    ]


_KEYWORDS = {"def", "class", "return", "if", "else", "elif", "for", "in", "not", "and", "or", "with", "try", "except"}
_KEYWORDS |= {"raise", "yield", "lambda", "None", "True", "False", "is", "while", "as", "self"}


def written_twice() -> dict[str, set[int]]:
    """Return the lines that are part of a run that stands elsewhere, too, by file."""
    places = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        shapes = shapes_of(path)
        for k in range(len(shapes) - RUN + 1):
            window = shapes[k : k + RUN]
            places[tuple(shape for _, shape in window)].append((path, [line for line, _ in window]))
    lines = defaultdict(set)
    for found in places.values():
        if len(found) > 1:
            for path, numbers in found:
                lines[str(path.relative_to(PACKAGE))].update(numbers)
    return lines


def counts() -> Iterator[tuple[str, int]]:
    """Yield what is counted, and how many there are."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", MAKE_DATA], check=True, cwd=folder)
        for call in CALLS:
            functions = functions_of(call, folder)
            outside = [found for found in functions if not found[0].startswith(("decoding", "clustering"))]
            for words, some in (("", functions), (" without decoding", outside)):
                yield f"files of {call}{words}", len({file for file, _, _ in some})
                yield f"hand-overs of {call}{words}", sum(handed for _, _, handed in some)
                yield f"functions of {call}{words}", len(some)
    lengths = {path: len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.py")}
    yield "files", len(lengths)
    yield (
        f"files under {SMALL} lines",
        sum(length < SMALL for path, length in lengths.items() if path.name != "__init__.py"),
    )
    found = cycles()
    yield "cycles", len(found)
    yield "modules in cycles", sum(map(len, found))
    yield "lines written twice", sum(map(len, written_twice().values()))
    packages: Counter[str] = Counter()
    for path, length in lengths.items():
        packages[path.relative_to(PACKAGE).parts[0]] += length
    for package in sorted(packages):
        yield f"lines of {package}", packages[package]
    yield "lines", sum(packages.values())
    yield "lines without collector", sum(packages.values()) - packages["collector"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", default="now", help="what the code's state is called in the results")
    for what in ("list", "cycles", "twice"):
        parser.add_argument(f"--{what}", action="store_true")
    asked = parser.parse_args()
    if asked.list:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-c", MAKE_DATA], check=True, cwd=folder)
            for call in CALLS:
                print(
                    call,
                    *(f"  {file}  {name}{'  *' * handed}" for file, name, handed in functions_of(call, folder)),
                    sep="\n",
                )
    elif asked.cycles:
        print(*(" ".join(group) for group in cycles()), sep="\n")
    elif asked.twice:
        print(*(f"{path}: {sorted(lines)}" for path, lines in written_twice().items()), sep="\n")
    else:
        _record(asked.state, dict(counts()))


def _record(state: str, found: dict[str, int]) -> None:
    """Write the counts as a column of the table, beside those of other states."""
    table: dict[str, dict[str, str]] = {}
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            table = {row["quantity"]: row for row in csv.DictReader(file)}
    states = list(dict.fromkeys([*(name for row in table.values() for name in row if name != "quantity"), state]))
    for quantity, count in found.items():
        print(f"{count:7}  {quantity}")
        table.setdefault(quantity, {"quantity": quantity})[state] = str(count)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["quantity", *states], restval="0", lineterminator="\n")
        writer.writeheader()
        writer.writerows(table.values())


if __name__ == "__main__":
    main()
