"""How the golden files of version 1 were made. Not run again: they are what old users have on their disks."""

from pathlib import Path

import numpy as np

import qckm
from qckm.operator.codes import Codes
from qckm.operator.structured import StructuredCodes

HERE = Path(__file__).parent
ROWS = np.array([[0.0, 1.0], [0.5, -1.0], [-2.25, 3.0], [100.0, 0.125]])


def operator(signature, dither):
    """An operator of written-down numbers: no random generator whose stream may change."""
    frequencies = np.array([[1.0, -0.5, 0.25, 2.0, 0.0], [0.5, 1.5, -1.0, 0.125, 3.0]])
    return qckm.SketchOperator.from_frequencies(
        frequencies, signature, dither, phases=[0.0, 1.0, 2.0, 3.0, 4.0], origin=[1.0, -1.0], steps=2.0**-11
    )


def structured():
    """Structured frequencies of written-down numbers, two blocks of 128."""
    numbers = np.arange(2 * 3 * 128)
    signs = (1 - 2 * ((numbers * 40503 >> 7) & 1)).astype(np.int8).reshape(2, 3, 128)
    codes = StructuredCodes(signs, np.array([1, 2], np.int32), np.arange(100, 240, dtype=np.int32))
    dither = (np.arange(140) * 100_003 % 2**24).astype(np.int32)
    steps, origin = np.full(2, 2.0**-11), np.array([1.0, -1.0])
    return qckm.SketchOperator(Codes(codes, dither), steps, origin, qckm.signatures.get("one-bit"), "paired")


def ramp(t):
    """A signature of one's own."""
    return np.clip(1.2 * np.cos(t), -1, 1)


def sketches():
    """Return the sketch of each golden file."""
    return {
        "v1-one-bit": operator("one-bit", "paired").sketch(ROWS).without_column_sums(),
        "v1-exponential": operator("exponential", "paired").sketch(ROWS).without_column_sums(),
        "v1-custom-single": operator(ramp, "single").sketch(ROWS).without_column_sums(),
        "v1-weighted": operator("triangle", "single").sketch(ROWS, [0.5, 1.5, 2.0, 0.25]),
        "v1-structured": structured().sketch(ROWS).without_column_sums(),
        "v1-empty": operator("one-bit", "single").empty(),
    }


if __name__ == "__main__":
    for name, sketch in sketches().items():
        sketch.save(HERE / f"{name}.qckm")
