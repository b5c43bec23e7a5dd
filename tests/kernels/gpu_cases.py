"""Random problems for the GPU's kernels: `python tests/kernels/gpu_cases.py SEED COUNT SECONDS` compares many."""

import sys
import time

import numpy as np

from qckm.kernels import reference
from qckm.kernels.portable import Measurement, PortableSketcher

NUMBERS = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")
USUAL = (1, 2, 3, 7, 10, 14, 15, 16, 20, 31, 32, 40)
SELDOM = (13, 17, 30, 33, 63, 64, 65, 100, 200, 256, 513, 600)
PLACES = ("host", "contiguous", "fortran", "strided")


def draw_measurement(rng):
    n = int(rng.choice(SELDOM if rng.integers(10) == 0 else USUAL))
    m = int(rng.choice([1, 7, 15, 16, 17, 50, 129, 300]))
    largest = int(rng.choice([3000, 32767]))
    tables = {
        "one-bit": reference.ONE_BIT_TABLE,
        "cosine": reference.COSINE_TABLE,
        "any": rng.integers(-32767, 32768, 4096).astype(np.int16),
    }
    steps = 2.0 ** rng.integers(-14, 3, n)
    far = 2**40 if rng.integers(8) == 0 else 5000
    return Measurement(
        rng.integers(-largest, largest + 1, (n, m)).astype(np.int16),
        rng.integers(0, reference.TURN, m).astype(np.int32),
        steps,
        rng.integers(-far, far, n) * steps,
        tables[str(rng.choice(list(tables)))],
        bool(rng.integers(2)),
    )


def draw_rows(rng, measurement, number):
    """Return rows (rows, n), as the CPU takes them: half numbers as float32, ties and clipped values among them."""
    rows, n = int(rng.choice([0, 1, 2, 15, 127, 128, 129, 1000, 5000])), len(measurement.steps)
    if number.startswith(("int", "uint")):
        low, high = (0, 200) if number.startswith("u") else (-100, 100)
        return rng.integers(low, high, (rows, n)).astype(number)
    if rng.integers(3) == 0:
        values = rng.integers(-70000, 70000, (rows, n)) * (measurement.steps / 2) + measurement.origin
    else:
        values = rng.normal(size=(rows, n)) * float(rng.choice([1.0, 10.0, 1e4]))
    if number == "bfloat16":
        return (values.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    with np.errstate(over="ignore"):
        values = values.astype(number)
    values = np.where(np.isfinite(values), values, 1).astype(number)
    if rows and rng.integers(12) == 0:
        values[int(rng.integers(rows)), int(rng.integers(n))] = rng.choice([np.nan, np.inf, -np.inf])
    return values


def place(rows, number, where):
    """Return the rows where the GPU's kernels are to find them."""
    import cupy

    if number == "bfloat16":
        import torch

        return torch.from_numpy(rows).to(torch.bfloat16).cuda()
    if where == "host":
        return rows
    there = cupy.asarray(rows)
    if where == "fortran":
        return cupy.asfortranarray(there)
    if where == "strided":
        wider = cupy.zeros((len(rows), rows.shape[1] + 3), rows.dtype)
        wider[:, 1:-2] = there
        return wider[:, 1:-2]
    return there


def difference(seed):
    """Return what differs between the GPU and the reference in a random case; nothing, if all is well."""
    from qckm.kernels.cuda.gpu_sketcher import GpuSketcher

    rng = np.random.default_rng(seed)
    measurement, number = draw_measurement(rng), str(rng.choice(NUMBERS))
    rows = draw_rows(rng, measurement, number)
    largest = int(rng.choice([5, 1000, 2**33]))
    weights = rng.integers(0, largest, len(rows)) if rng.integers(3) == 0 else None
    there = place(rows, number, str(rng.choice(PLACES)))
    expected = PortableSketcher(measurement).sum(rows.astype(np.float64), weights)
    sketcher = GpuSketcher(measurement)
    found = sketcher.sum(there, weights)
    if found.bad_row != expected.bad_row:
        return f"bad row {found.bad_row}, not {expected.bad_row}"
    if expected.bad_row is not None:
        return ""
    for name in ("total", "count", "saturated", "lower", "upper", "codes", "squares", "products"):
        if not np.array_equal(getattr(found, name), getattr(expected, name)):
            return name
    if np.array_equal(measurement.table, reference.ONE_BIT_TABLE):
        bits, wanted = (np.zeros((len(rows), -(-measurement.n_measurements // 8)), np.uint8) for _ in range(2))
        PortableSketcher(measurement).encode(rows.astype(np.float64), wanted)
        if sketcher.encode(there, bits) is not None or not np.array_equal(bits, wanted):
            return "bits"
    return ""


def main(seed, count, seconds):
    began, wrong, done = time.monotonic(), 0, 0
    while done < count and time.monotonic() - began < seconds:
        found = difference([seed, done])
        wrong += bool(found)
        if found:
            print(f"seed [{seed}, {done}]: {found} differ(s)")
        done += 1
    print(f"cases {done} wrong {wrong}")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(*(int(value) for value in sys.argv[1:4]))))
