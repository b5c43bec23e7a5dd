"""What long tests found, printed; with QCKM_RECORD=1 it is kept in experiments/results/collector.txt, too."""

import os
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "experiments" / "results" / "collector.txt"


def record(test: str, words: str) -> None:
    """Say what a test found; what it found before is replaced."""
    line = f"{test}: {words}"
    print(line)
    if os.environ.get("QCKM_RECORD"):
        lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
        kept = [each for each in lines if not each.startswith(f"{test}: ")]
        RESULTS.write_text("\n".join([*kept, line]) + "\n")
