"""Compile the exported encoder to WebAssembly and write it, with its operator's numbers, to site/try/encoder.js.

python docs/browser/build.py            # needs clang and wasm-ld (Debian: apt-get install clang lld); `make try-it`
python docs/browser/build.py --draw     # draws the operator again, too: other bits, another fingerprint

A page that is opened from a file may not fetch anything, so the module lies in the script, in base64.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import qckm
from qckm.export import render_c

HERE = Path(__file__).parent
SITE = HERE / "site" / "try"
OPERATOR = SITE / "operator.qckm"
SCRIPT = SITE / "encoder.js"
# The plane of the page, -1 to 1 in both directions. Eight clusters: a drawing rarely has more. Three octaves, from the
# scale of eight clusters that fill the plane down to a quarter of it, about the width of the page's brush.
RANGES, CLUSTERS, FREQUENCIES, OCTAVES = ([-1.0, -1.0], [1.0, 1.0]), 8, 80, 3
FLAGS = (
    "--target=wasm32",
    "-Os",
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-ffreestanding",
    "-fno-builtin",
    "-nostdlib",
)
LINK = ("-Wl,--no-entry", "-Wl,--strip-all", "-Wl,-z,stack-size=16384")


def draw_operator() -> None:
    operator = qckm.SketchOperator.from_ranges(*RANGES, CLUSTERS, FREQUENCIES, OCTAVES, random_state=0)
    operator.empty().save(OPERATOR)


def load_operator() -> qckm.SketchOperator:
    operator = qckm.load(OPERATOR).operator
    if operator.origin.any() or np.ptp(operator.steps):
        raise SystemExit("The page's operator needs an origin of 0 and one step for both columns: see encoder.c.")
    return operator


def header(operator: qckm.SketchOperator) -> str:
    return render_c(operator, counter_bits=32) + f"\n#define STEP {float(operator.steps[0]).hex()}\n"


def source_hash(operator: qckm.SketchOperator) -> str:
    """Return what tells whether encoder.js was made of the sources as they are now."""
    return hashlib.sha256((header(operator) + (HERE / "encoder.c").read_text("ascii")).encode("ascii")).hexdigest()


def compile_wasm(operator: qckm.SketchOperator) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "encoder.h").write_text(header(operator), "ascii")
        out = Path(folder) / "encoder.wasm"
        subprocess.run(["clang", *FLAGS, *LINK, f"-I{folder}", HERE / "encoder.c", "-o", out], check=True)
        return out.read_bytes()


def script(operator: qckm.SketchOperator, wasm: bytes) -> str:
    """Return encoder.js: the module, and the numbers that the density and the small decoder need."""
    numbers = {
        "source": source_hash(operator),
        "fingerprint": operator.fingerprint,
        "step": float(operator.steps[0]),
        "frequencies": operator.frequency_codes.T.tolist(),
        "dither": operator.dither_codes.tolist(),
        "wasm": base64.b64encode(wasm).decode("ascii"),
    }
    lines = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(value, separators=(',', ':'))}" for name, value in numbers.items()
    )
    return f'// Made by docs/browser/build.py: do not edit.\n"use strict";\nconst ENCODER = {{\n{lines}\n}};\n'


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the encoder of the page to try qckm.")
    parser.add_argument("--draw", action="store_true", help="draw the operator again")
    if parser.parse_args().draw:
        draw_operator()
    operator = load_operator()
    wasm = compile_wasm(operator)
    SCRIPT.write_text(script(operator, wasm), "ascii")
    print(f"written: {SCRIPT.name}, with {len(wasm)} bytes of WebAssembly")
