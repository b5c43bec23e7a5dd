"""What `make mutants` found, as a table: of the small faults that mutmut planted, how many no test noticed.

Results: results/mutants.csv, a line per module that mutants/ has results of; lines of other modules stay, but for those
that src/ has no more. Survivors are printed by name: `.venv-mutants/bin/mutmut show NAME` shows one.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "mutants.csv"
PACKAGE = Path(__file__).parents[1] / "src" / "qckm"
MUTANTS = Path(__file__).parents[1] / "mutants" / "src" / "qckm"
COLUMNS = ["module", "planted", "noticed", "survived", "without a test here"]
# What mutmut notes: the exit code of pytest, 33 where no test that it runs gets there; all else is a time-out.
SURVIVED, NO_TEST = 0, 33


def main() -> None:
    table = {}
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            table = {row["module"]: row for row in csv.DictReader(file) if (PACKAGE / row["module"]).exists()}
    for path in sorted(MUTANTS.rglob("*.py.meta")):
        codes = {
            name: code for name, code in json.loads(path.read_text())["exit_code_by_key"].items() if code is not None
        }
        if not codes:
            continue
        survivors = [name for name, code in codes.items() if code == SURVIVED]
        untested = sum(code == NO_TEST for code in codes.values())
        module = str(path.relative_to(MUTANTS)).removesuffix(".meta")
        counts = [len(codes), len(codes) - len(survivors) - untested, len(survivors), untested]
        table[module] = dict(zip(COLUMNS, [module, *map(str, counts)], strict=True))
        print(*survivors, sep="\n")
    rows = [table[module] for module in sorted(table)]
    total = {name: str(sum(int(row[name]) for row in rows)) for name in COLUMNS[1:]}
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*rows, {"module": "all", **total}])


if __name__ == "__main__":
    main()
