"""`make bench`: print the table of targets as measured here, and keep it with the machine's description."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from benchmarks.machine import describe

QUESTIONS = (
    "one_bit",
    "exponential",
    "threads",
    "pool",
    "calibration",
    "structured",
    "octaves",
    "memory",
    "waiting",
    "decoding",
    "end_to_end",
    "sizes",
)
RESULTS = Path(__file__).parent / "results"


def main(questions: list[str]) -> int:
    """Answer the questions, all unless some are named; all of them are kept as results/table.md."""
    lines = [describe(), "", "| what | target | measured | met | note |", "| --- | --- | --- | --- | --- |"]
    print(*lines, sep="\n", flush=True)
    for question in questions or QUESTIONS:
        for row in import_module(f"benchmarks.{question}").rows():
            lines.append(str(row))
            print(row, flush=True)
    if not questions:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "table.md").write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
