"""Measure the decoder: `python -m decoder phase --trials 100` in experiments/.

Results are kept in decoder/results/, a row for each run, none left out; what is there is not run again.
"""

from __future__ import annotations

import argparse

from decoder import tables
from decoder.tables import EXPERIMENTS
from decoder.trials import run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *EXPERIMENTS], help=", ".join(EXPERIMENTS))
    parser.add_argument("--trials", type=int, default=12)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    tables.FIRST_SEED = args.first_seed
    names = args.names or list(EXPERIMENTS)
    done = run({name: list(EXPERIMENTS[name].trials(args.trials)) for name in names}, args.jobs)
    for name in names:
        print(f"## {name}")
        EXPERIMENTS[name].show(done[name])


if __name__ == "__main__":
    main()
