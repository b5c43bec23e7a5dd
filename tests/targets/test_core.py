"""The C core on CPUs that this machine only emulates (qemu-user): the same integers, NEON and big-endian included."""

import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

import qckm
from qckm.common.arrays import wide_of
from qckm.kernels import reference
from qckm.kernels.sketcher import _is_exact_in_float32, _kind_of

HERE = Path(__file__).parent
CORE = HERE.parents[1] / "src" / "qckm" / "kernels" / "core"
N_CASES = 120
FLOATS = "46557642bb5b11b0"  # the digest that tests/kernels/loop_threads.c prints on every CPU


def case_bytes(op, X, order):
    """One case: what is measured, rows, and what the reference makes of them, in a byte order."""
    codes, clipped = reference.code_rows(X, op.steps, op.origin)
    made = op.frequency_codes
    contributions = reference.measure(reference.phases_of(codes, made, op.dither_codes), op.signature.table, op.paired)
    dense = isinstance(made, np.ndarray)
    inverse, origin = 1 / op.steps, op.origin / op.steps
    octaves = op.octaves if op.n_features > 2 else 1
    numbers = [
        op.n_features, op.n_frequencies, op.paired, _kind_of(op.signature.table), octaves,
        _is_exact_in_float32(inverse, origin), 0 if dense else made.signs.shape[2],
    ]  # fmt: skip
    arrays = [made] if dense else [made.signs, made.factors, made.radii]
    arrays += [op.dither_codes, op.signature.table, inverse, origin]

    def raw(array):
        return array.astype(array.dtype.newbyteorder(order)).tobytes()

    def whole(*values):
        return struct.pack(f"{order}{len(values)}q", *map(int, values))

    kind = ["f4", "f8", "i1", "u1", "i2"].index(f"{X.dtype.kind}{X.dtype.itemsize}")
    bits = reference.pack_bits(contributions) if op.signature.is_one_bit else np.empty((len(X), 0), np.uint8)
    parts = [whole(*numbers), *map(raw, arrays), whole(len(X), kind, X.dtype.itemsize), raw(X)]
    values = codes.astype(np.int64)
    gram = values.T @ values
    columns = (values.sum(axis=0), np.diag(gram), gram[np.triu_indices(len(gram), 1)])
    parts += [raw(contributions.sum(axis=0, dtype=np.int64)), *(raw(wide_of(sums)) for sums in columns)]
    parts += [whole(clipped.sum(), bits.shape[1]), bits.tobytes()]
    return b"".join(parts)


def cases(order):
    rng = np.random.default_rng(1)
    found = []
    while len(found) < N_CASES:
        n, m = int(rng.integers(1, 60)), int(rng.integers(1, 150))
        structured = n >= 30 and rng.random() < 0.5
        op = qckm.SketchOperator.draw(
            n, m, float(rng.choice([1.0, 20.0])),
            signature=str(rng.choice(["one-bit", "exponential", "triangle"])),
            dither=str(rng.choice(["paired", "single"])),
            origin=rng.normal(size=n) * rng.choice([0.0, 1e4]),
            octaves=1 if structured else int(rng.choice([1, 1, 3])),
            frequencies="structured" if structured else "dense",
            random_state=len(found),
        )  # fmt: skip
        X = op.origin + rng.standard_normal((int(rng.integers(1, 700)), n)) * rng.choice([1.0, 300.0])
        X = (
            (X % 100).astype(rng.choice(["i1", "u1", "i2"]))
            if rng.random() < 0.2
            else X.astype(rng.choice(["f4", "f8"]))
        )
        found.append(case_bytes(op, X, order))
    return struct.pack(f"{order}q", len(found)) + b"".join(found)


def compiled(machine, driver, to):
    """Compile a program with the core for another CPU; return it and what runs it."""
    compiler, emulator = f"{machine}-linux-gnu-gcc", f"qemu-{machine}-static"
    if not (shutil.which(compiler) and shutil.which(emulator)):
        pytest.skip(f"no {compiler} or {emulator} here: make test-targets installs them")
    sources = [str(path) for path in sorted(CORE.glob("*.c"))]
    flags = ["-O3", "-std=gnu11", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-static", f"-I{CORE}"]
    subprocess.run([compiler, *flags, str(driver), *sources, "-lm", "-lpthread", "-o", str(to)], check=True)
    return emulator, str(to)


@pytest.mark.parametrize(
    "machine, order, instructions", [("aarch64", "<", "neon"), ("aarch64", "<", "plain"), ("s390x", ">", "plain")]
)
def test_the_core_on_other_cpus(machine, order, instructions, tmp_path):
    data = tmp_path / "cases"
    program = compiled(machine, HERE / "core" / "driver.c", tmp_path / "driver")
    data.write_bytes(cases(order))
    done = subprocess.run([*program, str(data), instructions], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == f"{instructions}: {N_CASES} cases, 0 wrong", done.stdout + done.stderr


@pytest.mark.parametrize("machine", ["aarch64", "s390x"])
def test_loops_over_floats_on_other_cpus(machine, tmp_path):
    """NEON, and a CPU whose bytes are in another order, give the doubles of AVX-512, AVX2 and plain code on x86."""
    program = compiled(machine, HERE.parent / "kernels" / "loop_threads.c", tmp_path / "loops")
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"digest {FLOATS}"), done.stdout + done.stderr
