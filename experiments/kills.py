"""SIGKILL at random moments while `qckm sketch --resume` reads many files: all resumed runs must give the same bytes.

    python experiments/kills.py --kills 200

Each run is a process of its own, forked from one that has imported qckm and compiled the kernel, so that kills hit the
work and not the start of Python. A run that is killed is started again with the same command until it ends.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import qckm
import qckm.cli.commands.sketch_command  # imported before forking
from qckm.cli import run

FILES, ROWS, COLUMNS = 40, 40_000, 6
WORDS = ["sketch", "part*.parquet", "--scale", "2", "--frequencies", "500", "--seed", "1", "--resume", "--quiet"]
RESULT = Path(__file__).parent / "results" / "kills.txt"


def make_files() -> None:
    rng = np.random.default_rng(0)
    for number in range(FILES):
        X = rng.normal(size=(ROWS, COLUMNS)).astype(np.float32)
        table = pa.table({f"x{j}": X[:, j] for j in range(COLUMNS)})
        pq.write_table(table, f"part{number:02}.parquet", row_group_size=5000)


def start(output: str) -> int:
    """Start the command, with a checkpoint after every batch; return the process id."""
    child = os.fork()
    if child == 0:
        os._exit(run([*WORDS, "-o", output, "--checkpoint-every", "0.000001"]))
    return child


def ended(child: int, seconds: float) -> bool:
    """Wait at most so long for the process; kill it if it has not ended. Return whether it had."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0, f"the run failed: {status}"
            return True
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    kills = runs = with_checkpoint = same = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_files()
        operator = qckm.SketchOperator.draw(COLUMNS, 500, scale=2.0, random_state=0)
        operator.sketch(np.zeros((10, COLUMNS), np.float32), n_jobs=1)  # one thread: none must be running when we fork
        for _ in range(2):  # the second is timed: files are then in the system's cache
            began = time.monotonic()
            assert ended(start("whole.qckm"), 300)
            seconds = time.monotonic() - began
        expected = Path("whole.qckm").read_bytes()
        while kills < options.kills:
            output, patience = f"out{runs}.qckm", seconds
            while not ended(start(output), dice.uniform(0, patience)):
                kills += 1
                with_checkpoint += os.path.exists(f"{output}.checkpoint")
                patience *= 1.1  # on a machine that has become slower, too, it comes to an end
            runs += 1
            same += Path(output).read_bytes() == expected
        left = [name for name in os.listdir() if name.endswith(".checkpoint")]
        os.chdir("/")
    line = (
        f"{kills} kills (SIGKILL) in {runs} runs over {FILES} Parquet files, {with_checkpoint} of them after a first "
        f"checkpoint; {same} of {runs} runs ended with the bytes of the uninterrupted one; {len(left)} checkpoints left"
    )
    print(line)
    if options.kills >= 200:
        RESULT.write_text(line + "\n")
    return 0 if same == runs and not left else 1


if __name__ == "__main__":
    sys.exit(main())
