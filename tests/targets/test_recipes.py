"""Frequencies that the exported C makes from twenty recipes, on machines that this one is not: one digest."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from golden.twenty_operators import DIGEST, digest_of, twenty_operators
from qckm.export.as_c import render_recipe
from qckm.export.rendering import read_source, with_prefix
from qckm.operator.codes import Codes
from qckm.operator.structured import StructuredCodes, block_size, unpack_signs
from sensor import boards

HERE = Path(__file__).parent / "recipes"
QUIET = [*boards.WARNINGS, "-Wno-unused-function"]  # rows are not read
FLAGS = ["-std=c99", "-O2", *QUIET]
WASM = ["--target=wasm32", "-ffreestanding", "-nostdlib", "-Wl,--no-entry", "-Wl,--export=run"]
# The compiler, its own options, the folder of the platform, and what runs the program.
MACHINES = {
    "x86": ("gcc", [], boards.FIRMWARE / "host", []),
    "aarch64": ("aarch64-linux-gnu-gcc", ["-static"], boards.FIRMWARE / "host", ["qemu-aarch64-static"]),
    "s390x": ("s390x-linux-gnu-gcc", ["-static"], boards.FIRMWARE / "host", ["qemu-s390x-static"]),
    "wasm": ("clang", WASM, HERE / "wasm", ["node", str(HERE / "wasm" / "run.js")]),
}


def is_dense(operator):
    return not isinstance(operator.frequency_codes, StructuredCodes)


def write_recipes(folder, operators):
    """Write recipes.h: the C of each recipe under a name of its own, and lists of the names."""
    texts, names = [], {"DENSE": [], "STRUCTURED": []}
    for number, operator in enumerate(operators):
        recipe, name = operator.codes.recipe, f"r{number}"
        sizes = {"FEATURES": recipe.n, "FREQUENCIES": recipe.m, "BLOCK": block_size(recipe.n)}
        defines = "".join(f"#define QCKM_{size} {value}u\n" for size, value in sizes.items())
        parts = [read_source("export", "c", "portability.h"), read_source("kernels", "core", "arithmetic.h")]
        texts.append(with_prefix("\n".join([*parts, defines, render_recipe(recipe)]), name))
        names["DENSE" if is_dense(operator) else "STRUCTURED"].append(f"X({name}, {name.upper()})")
    texts += [f"#define {kind}(X) {' '.join(found)}" for kind, found in names.items()]
    (folder / "recipes.h").write_text("\n".join(texts) + "\n")
    (folder / "rows.h").write_text("static const int16_t rows[] ROWS_IN_FLASH = {0};\n")


def read_operators(operators, data):
    """Return the operators with what a program has written in place of their frequencies and dither."""
    found, at = {}, 0
    for number in sorted(range(len(operators)), key=lambda i: not is_dense(operators[i])):  # as the program does
        operator = operators[number]
        n, m = operator.codes.shape
        if is_dense(operator):
            table = np.frombuffer(data, [("codes", "<i2", (n,)), ("dither", "<i4")], m, at)
            codes = np.ascontiguousarray(table["codes"].T).astype(np.int16)
        else:
            shape = operator.frequency_codes.packed_signs().shape
            signs = np.frombuffer(data, np.uint8, int(np.prod(shape)), at).reshape(shape)
            at += signs.nbytes
            table = np.frombuffer(data, [("radii", "<i4"), ("dither", "<i4")], m, at)
            codes = StructuredCodes(
                unpack_signs(signs), operator.frequency_codes.factors, table["radii"].astype(np.int32)
            )
        at += table.nbytes
        found[number] = replace(operator, codes=Codes(codes, table["dither"].astype(np.int32)))
    assert at == len(data)
    return [found[number] for number in range(len(operators))]


@pytest.mark.parametrize("machine", [*MACHINES, "cortex-m0"])
def test_one_digest_of_twenty_operators(machine, tmp_path):
    operators = twenty_operators()
    write_recipes(tmp_path, operators)
    if machine in boards.ALL:
        board = boards.ALL[machine]
        if board.missing():
            pytest.skip(board.missing())
        data = board.run(board.build([HERE / "main.c"], tmp_path, QUIET))
    else:
        compiler, options, platform, runner = MACHINES[machine]
        for tool in (compiler, *runner[:1], *(["wasm-ld"] if machine == "wasm" else [])):
            if shutil.which(tool) is None:
                pytest.skip(f"{tool} is not installed: `make test-targets` installs it where it may")
        program = str(tmp_path / "program")
        words = [compiler, *FLAGS, f"-I{tmp_path}", f"-I{platform}", *options, str(HERE / "main.c"), "-o", program]
        built = subprocess.run(words, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stderr[:3000]
        data = subprocess.run([*runner, program], capture_output=True, check=True).stdout
    assert digest_of(read_operators(operators, data)) == DIGEST
