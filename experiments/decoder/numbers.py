"""Every number in the decoder, the choice of scale and the choice of K: `python -m decoder.numbers`.

The sources are parsed, so that none is left out, those of C by their twins in NumPy: what has a name, and every literal
in line but 0, 1, 2, one half, powers and indices. Each is of one of these kinds:

- steers: another value may give other centroids, another verdict or another scale. `decoder.constants` halves and
  doubles those of the decoder.
- effort: how often to try, for how long, and how much memory to use; more of it only costs time.
- arithmetic: when an iteration has converged, what counts as zero, a formula's own factors.
"""

from __future__ import annotations

import ast
import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCES = Path(__file__).parents[2] / "src" / "qckm"
MODULES = [
    *(f"decoding/{name}" for name in (
        "task", "model/loops", "model/numpy_loops", "model/mixture", "model/sketch_model",
        "search/attempts", "search/expectation", "search/scales", "search/search",
        "clouds/calibration", "clouds/cloud", "clouds/totals",
        "verdict/redrawn", "verdict/regret", "verdict/remarks", "targets/kmeans",
    )),
    "planning/pilot",
    "operator/request",
]  # fmt: skip
STEERS = {
    "attempts": ["ENOUGH_MEASUREMENTS", "OFTEN", "_ALIKE", "LEVEL"],
    "calibration": ["RIDGE"],
    "cloud": ["_STEP", "WIDER", "WIDEST"],
    "expectation": ["BY_CHANCE", "LEFT_OUT"],
    "scales": ["_LEAST_FREEDOM"],
    "regret": ["CONCENTRATION", "MOST_REGRET", "UPPER_LIMIT", "TOLERANCE"],
    "loops": ["N_HARMONICS", "MORE_HARMONICS"],
    "remarks": ["_EDGE"],
    "search": ["MOST_AXES", "STRIDE", "SHARE", "MORE_THAN_K", "EVENNESS", "WORTH"],
    "sketch_model": ["_SHARE_AT_ZERO"],
    "task": ["_LEAST_ROWS"],
    "totals": ["HEAVIER", "_MISSED"],
    "pilot": ["_FEW", "_MANY_CLUSTERS", "_MANY_FEATURES", "_OF_FEW", "_OF_PLENTY", "_OF_PURE_TONES", "_MOST_APART",
              "_LEAST_APART", "_LEAST_SHARE_OF_SPACING", "_SHARE_BEYOND", "_FURTHER"],
    "request": ["_WITH_ROWS", "_ALONE", "_ENOUGH", "_LEAST", "_OCTAVES", "_RADIANS"],
}  # fmt: skip
EFFORT = {
    "attempts": ["EFFORT", "LONGER", "SEARCHES", "_OFTEN"],
    "calibration": ["_MOST_STEPS", "_MOST_PRODUCTS"],
    "cloud": [
        "_POINTS",
        "_PER_CLUSTER",
        "_ROUNDS",
        "_MOST_CONTRIBUTIONS",
        "MIXED",
    ],
    "numpy_loops": ["_MEMORY", "_LENGTHS"],
    "redrawn": ["_REDRAWN", "_FRESH"],
    "regret": ["EXCHANGED", "_RUNS_ON_ROWS", "_RUNS_ON_POINTS"],
    "expectation": ["_ROWS", "_MOST_TANGENTS", "_MOST_COLUMNS", "_ROWS_A_TOTAL"],
    "mixture": ["_N_HARMONICS"],
    "scales": ["PATIENCE"],
    "search": ["STARTS", "STAGES", "STEPS", "BRIEF", "LONG", "IDLE", "OVERHEAD", "DENSITIES"],
    "pilot": ["PILOT_ROWS", "ROWS_PER_CLUSTER", "_RUNS"],
    "request": ["_MOST_COMPONENTS"],
}
ORDINARY = {0, 1, 2, 0.5, -1}


class Number(NamedTuple):
    """A number of the sources."""

    module: str
    line: int
    name: str
    value: str
    kind: str


def main() -> None:
    found = [number for module in MODULES for number in _numbers(module)]
    with (Path(__file__).parent / "numbers.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Number._fields)
        writer.writerows(found)
    for number in found:
        print(f"{number.module:22} {number.line:4} {number.kind:10} {number.name:24} {number.value}")
    print(", ".join(f"{count} {kind}" for kind, count in Counter(number.kind for number in found).most_common()))


def _numbers(module: str) -> Iterator[Number]:
    tree = ast.parse((SOURCES / f"{module}.py").read_text())
    name = module.split("/")[-1]
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            yield from _named(name, statement)
        else:
            for line, value, context in _in_line(statement, ""):
                yield Number(name, line, f"in line: {context}", value, "arithmetic")


def _named(module: str, statement: ast.Assign) -> Iterator[Number]:
    target, value = statement.targets[0], statement.value
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=True))
    for left, right in pairs:
        if not any(isinstance(node, ast.Constant) and _is_number(node.value) for node in ast.walk(right)):
            continue
        label = ast.unparse(left)
        kind = next((k for k, names in (("steers", STEERS), ("effort", EFFORT)) if label in names.get(module, [])), "")
        yield Number(module, statement.lineno, label, ast.unparse(right)[:40], kind or "arithmetic")


def _in_line(node: ast.AST, function: str) -> Iterator[tuple[int, str, str]]:
    if isinstance(node, ast.FunctionDef):
        function = node.name
    for field, child in ast.iter_fields(node):
        power = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and field == "right"
        for part in child if isinstance(child, list) else [child]:
            if isinstance(part, ast.Constant) and _is_number(part.value):
                if not power and part.value not in ORDINARY:
                    yield part.lineno, repr(part.value), function
            elif isinstance(part, ast.AST) and not isinstance(part, ast.Slice):
                yield from _in_line(part, function)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


if __name__ == "__main__":
    main()
