"""`make fuzz`; or, in tests/, `python -m fuzz [TARGET...] --inputs 100000 --seed 1`.

Without a seed a new one is drawn, and printed. Seed, target and number tell which input it is: `--number` checks one
alone, in this process, and so does `--input FILE` with bytes that were saved.
"""

import argparse
import csv
import importlib
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

from fuzz.child import input_of
from fuzz.harness import Report, fuzz
from fuzz.limits import FINDINGS, LOADED, REFUSED, SHARES
from qckm.errors import QckmError

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "results" / "fuzz.csv"
COLUMNS = ("date", "commit", "seed", "target", "inputs", LOADED, REFUSED, "other", *FINDINGS)


def main() -> int:
    """Run fuzzers; the exit code is 1 if anything was found."""
    asked = _arguments()
    names = asked.names or list(SHARES)
    seed = secrets.randbelow(2**32) if asked.seed is None else asked.seed
    if asked.input or asked.number is not None:
        return _check_one(names[0], asked.input.read_bytes() if asked.input else input_of(names[0], seed, asked.number))
    print(f"fuzzing {', '.join(names)} with seed {seed}", flush=True)
    start = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    report = fuzz(names, seed, asked.inputs, asked.jobs, asked.kept)
    print(*report.lines(), sep="\n")
    print(f"seed {seed}, {time.monotonic() - start:.0f} s")
    if asked.record:
        record(report, seed, RESULTS)
    print(*summary(RESULTS), sep="\n")
    return 1 if report.findings else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="TARGET", help=", ".join(SHARES))
    parser.add_argument("--inputs", type=int, default=60_000, help="in all")
    parser.add_argument("--seed", type=int, help="of an earlier run, to repeat it")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--number", type=int, help="check this input of a target alone")
    parser.add_argument("--input", type=Path, help="check the bytes of a file that was saved alone")
    parser.add_argument("--kept", type=Path, default=ROOT / "build" / "fuzz", help="where inputs are saved")
    parser.add_argument("--record", action="store_true", help="add the counts to experiments/results/fuzz.csv")
    return parser.parse_args()


def _check_one(name: str, data: bytes) -> int:
    """Check one input where a debugger reaches it; whatever else it raises is shown as it is."""
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        try:
            print(importlib.import_module(f"fuzz.{name}").check(data, Path(folder)) or LOADED)
        except QckmError as error:
            print(f"{REFUSED}: {error}")
    return 0


def record(report: Report, seed: int, path: Path) -> None:
    """Add the counts of a run to a file."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        for name, counts in report.counts.items():
            known = [counts[outcome] for outcome in (LOADED, REFUSED)]
            found = [counts[kind] for kind in FINDINGS]
            other = counts.total() - sum(known) - sum(found)
            writer.writerow([time.strftime("%Y-%m-%d"), _commit(), seed, name, counts.total(), *known, other, *found])


def _commit() -> str:
    """Return what the code was, as far as it was committed."""
    words = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


def summary(path: Path) -> list[str]:
    """Say what was recorded, in all."""
    if not path.exists():
        return []
    total: Counter[str] = Counter()
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            total.update({key: int(row[key]) for key in COLUMNS[4:]})
    found = ", ".join(f"{total[kind]} {kind}" for kind in FINDINGS)
    words = (
        f"{total['inputs']} inputs: {total[LOADED]} loaded, {total[REFUSED]} refused, {total['other']} other; {found}"
    )
    return [f"recorded so far, in {path.relative_to(ROOT)}: {words}"]


if __name__ == "__main__":
    sys.exit(main())
