"""Random operators and rows, what devices must make of them, and the C program that says what they do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import qckm
from qckm.export.as_c import encode_readings
from qckm.sensor import render_c, signed, wire

BATCH = 7  # rows per message
FIRMWARE = Path(__file__).parent / "firmware"


@dataclass(frozen=True, eq=False)
class Case:
    """An encoder and the readings it gets, (rows, n)."""

    name: str
    operator: qckm.SketchOperator
    regenerate: bool
    counter_bits: int
    hints: bool
    readings: np.ndarray

    def expected(self, device: int) -> bytes:
        """Return what the device must send, by the reference arithmetic, and a self-test without complaint."""
        bits, clipped = encode_readings(self.operator, self.readings)
        key = bytes((17 * k + device) % 256 for k in range(signed.KEY_BYTES))
        sent = []
        for number, start in enumerate(range(0, len(bits), BATCH)):
            some, flags = bits[start : start + BATCH], clipped[start : start + BATCH]
            message = wire.bits_message(self.operator, some, device, number, int(flags.sum()))
            last = start + len(some) - 1
            sent.append(signed.dumps(replace(message, boot=3, time=last), key) if number % 2 else wire.dumps(message))
        sketch = self.operator.sketch(self.readings * self.operator.steps)
        assert sketch == self.operator.pool(bits)
        assert sketch.saturated == clipped.sum()
        message = wire.counters_message(sketch, device, len(sent), self.counter_bits)
        sent.append(wire.dumps(message))
        sent.append(signed.dumps(replace(message, sequence=len(sent), boot=3, time=9), key))
        return b"".join(sent) + b"\0"


def random_cases(n_cases: int, rows: int, seed: int, most_features: int = 12, most_frequencies: int = 100):
    """Return encoders of all kinds: laws, dithers, steps, origins, stored and regenerated, both counters."""
    rng = np.random.default_rng(seed)
    cases = []
    for number in range(n_cases):
        n = int(rng.integers(1, most_features + 1))
        m = int(rng.integers(1, most_frequencies + 1))
        step = 2.0 ** rng.integers(-12, 3)
        origin = rng.integers(-300, 300, n) * (number % 3) * (30 if number % 6 == 5 else 1)
        wishes = {
            "scale": float(step * rng.uniform(500, 4000)),
            "dither": "paired" if number % 4 else "single",
            "origin": origin * step,
            "steps": step,
        }
        if number % 2:
            operator = qckm.SketchOperator.from_seed(n, m, seed=int(rng.integers(2**32)), **wishes)
        else:
            law = "integer-balanced" if number % 4 else "concentrated-radius"
            operator = qckm.SketchOperator.draw(n, m, law=law, random_state=rng, **wishes)
        regenerate = number % 4 != 0 and number % 8 != 7
        readings = random_readings(rng, origin, rows)
        cases.append(
            Case(f"case{number}", operator, regenerate, 32 if number % 5 == 4 else 16, number % 8 < 4, readings)
        )
    return cases


def random_readings(rng: np.random.Generator, origin: np.ndarray, rows: int) -> np.ndarray:
    """Return int16 readings: all over the range, near the origin, and at the ends of the range."""
    n = len(origin)
    anywhere = rng.integers(-32768, 32768, (rows, n))
    near = np.clip(origin + rng.normal(0, 2000, (rows, n)), -32768, 32767).astype(np.int64)
    ends = rng.choice([-32768, -32767, -1, 0, 1, 32766, 32767], (rows, n))
    kinds = rng.choice(3, (rows, 1), p=[0.4, 0.5, 0.1])
    return np.choose(kinds, [anywhere, near, ends]).astype(np.int16)


def write_program(folder: Path, cases: list[Case]) -> None:
    """Write the generated parts of the program: encoders, list of cases, readings."""
    lines = [f"#define BATCH {BATCH}u"]
    for case in cases:
        text = render_c(case.operator, case.name, case.regenerate, case.counter_bits, case.hints)
        (folder / f"{case.name}.h").write_text(text)
        lines.append(f'#include "{case.name}.h"')
        lines.append(f"static const uint32_t rows_of_{case.name} = {len(case.readings)};")
    lines.append("#define CASES(X) " + " ".join(f"X({case.name}, {case.name.upper()})" for case in cases))
    (folder / "cases.h").write_text("\n".join(lines) + "\n")
    numbers = np.concatenate([case.readings.ravel() for case in cases]).tolist()
    (folder / "rows.h").write_text(f"static const int16_t rows[] ROWS_IN_FLASH = {{{','.join(map(str, numbers))}}};\n")


def expected_output(cases: list[Case]) -> bytes:
    """Return what the program must write."""
    return b"".join(case.expected(device) for device, case in enumerate(cases))


def first_difference(found: bytes, expected: bytes) -> str:
    """Say where two outputs part."""
    for at, (one, other) in enumerate(zip(found, expected, strict=False)):
        if one != other:
            return f"byte {at} of {len(expected)}: {one:#x}, expected {other:#x}"
    return f"{len(found)} bytes, expected {len(expected)}"
