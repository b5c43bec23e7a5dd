"""Measure the decoder: `python -m decoder phase --trials 100` in experiments/.

Results are kept in decoder/results/, a row for each run, none left out; what is there is not run again.
"""

from __future__ import annotations

import argparse

from decoder.tables import EXPERIMENTS
from decoder.trials import run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *EXPERIMENTS], help=", ".join(EXPERIMENTS))
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    for name in args.names or EXPERIMENTS:
        experiment = EXPERIMENTS[name]
        done = run(name, experiment.trials(args.trials), args.jobs) if name != "verdict" else []
        print(f"## {name}")
        experiment.show(done)


if __name__ == "__main__":
    main()
