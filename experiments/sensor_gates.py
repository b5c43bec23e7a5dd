"""What the one-bit channel takes as hardware: cells by yosys, as plain gates and on a small FPGA (iCE40).

`tests/install-tools.sh verilog` installs yosys.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import qckm
from common import keep
from qckm.sensor import export_verilog

GATES = "synth -flatten -top {top}; abc -g AND,OR,XOR,MUX"
FPGA = "synth_ice40 -top {top}"
FPGA_WITH_MULTIPLIER = "synth_ice40 -dsp -top {top}"
RUNS = [
    ("channel", "gates", "qckm_channel", GATES, 64),
    ("channel", "iCE40", "qckm_channel", FPGA, 64),
    ("channel", "iCE40, its multiplier", "qckm_channel", FPGA_WITH_MULTIPLIER, 64),
    ("encoder, n = 3, m = 64", "iCE40, its multiplier", "qckm_encoder", FPGA_WITH_MULTIPLIER, 64),
    ("encoder, n = 3, m = 256", "iCE40, its multiplier", "qckm_encoder", FPGA_WITH_MULTIPLIER, 256),
]


def cells(m: int, recipe: str) -> dict[str, int]:
    """Synthesise; return how many cells of each kind there are."""
    op = qckm.SketchOperator.from_seed(3, m, scale=2000.0, seed=7, steps=1.0)
    with tempfile.TemporaryDirectory() as folder:
        export_verilog(op, Path(folder) / "encoder.v")
        script = f"read_verilog encoder.v; {recipe}; tee -o stat.txt stat"
        subprocess.run(["yosys", "-q", "-p", script], cwd=folder, check=True, capture_output=True)
        text = (Path(folder) / "stat.txt").read_text()
    return {kind: int(number) for kind, number in re.findall(r"^\s+(\$_\w+_|SB_\w+)\s+(\d+)$", text, flags=re.M)}


def main() -> None:
    if shutil.which("yosys") is None:
        raise SystemExit("yosys is not installed: tests/install-tools.sh verilog")
    results = []
    for what, target, top, recipe, m in RUNS:
        found = cells(m, recipe.format(top=top))
        flops = sum(number for kind, number in found.items() if "DFF" in kind)
        multipliers, memories = found.get("SB_MAC16", 0), sum(n for kind, n in found.items() if "RAM" in kind)
        logic = sum(found.values()) - flops - multipliers - memories - found.get("SB_CARRY", 0)
        row = [what, target, logic, found.get("SB_CARRY", 0), flops, multipliers, memories]
        results.append(row)
        print(*row, sep="\t", flush=True)
    keep(
        "sensor_gates",
        ["module", "target", "gates or LUTs", "carries", "flip-flops", "multipliers", "memories"],
        results,
    )


if __name__ == "__main__":
    main()
