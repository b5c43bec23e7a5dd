"""Write what it takes to test the core on another x86-64 Linux, with no Python, no compiler and no library there.

python tests/targets/kit.py build/kit      # here; then, there:
sh build/kit/run.sh                        # each instruction set that the CPU has, against the reference's integers
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from targets.test_core import CORE, cases  # noqa: E402

FLAGS = ["-O3", "-std=gnu11", "-ffp-contract=off", f"-I{CORE}"]
AVX512 = ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq"]
SETS = {"ssse3": ["-mssse3"], "avx2": ["-mavx2"], "avx512": AVX512, "avx512vnni": [*AVX512, "-mavx512vnni"]}
RUN = """#!/bin/sh
# Prints "0 wrong" for each instruction set that this CPU has.
cd "$(dirname "$0")" && grep -m 1 "model name" /proc/cpuinfo && wrong=0
for set in avx512vnni avx512 avx2 ssse3 plain; do
    ./driver cases $set
    case $? in 0) ;; 2) echo "$set: not on this CPU" ;; *) echo "$set: FAILED"; wrong=1 ;; esac
done
./threads || wrong=1
exit $wrong
"""


def main(folder: Path) -> None:
    """Build the programs, statically, and write the cases."""
    folder.mkdir(parents=True, exist_ok=True)
    objects = []
    for source in sorted(CORE.glob("*.c")):
        objects.append(str(folder / f"{source.stem}.o"))
        subprocess.run(["gcc", *FLAGS, *SETS.get(source.stem, []), "-c", str(source), "-o", objects[-1]], check=True)
    for program in (HERE / "core" / "driver.c", HERE.parent / "kernels" / "threads.c"):
        words = ["gcc", *FLAGS, "-static", "-pthread", str(program), *objects, "-lm", "-o", str(folder / program.stem)]
        subprocess.run(words, check=True)
    for name in objects:
        Path(name).unlink()
    (folder / "cases").write_bytes(cases("<"))
    (folder / "run.sh").write_text(RUN)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
