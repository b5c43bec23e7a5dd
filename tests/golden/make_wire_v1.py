"""How the golden messages of version 1 were made. Not run again: they are what devices in the field send."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from golden.make_v1 import operator
from qckm.sensor import wire

READINGS = np.array([[0, 0], [1, -1], [-2250, 3000], [-32768, 32767]], np.int16)


def messages():
    """Return each golden message, of the operator of v1-one-bit.qckm."""
    op = operator("one-bit", "paired")
    rows = READINGS * op.steps
    sketch, bits = op.sketch(rows), op.encode(rows)
    return {
        "bits": wire.bits_message(op, bits, device=7, sequence=0, saturated=int(sketch.saturated)),
        "counters-16": wire.counters_message(sketch, device=7, sequence=1),
        "counters-32": wire.counters_message(sketch, device=0xFFFFFFFF, sequence=258, counter_bits=32),
        "no-rows": wire.bits_message(op, bits[:0], device=0, sequence=0),
    }


if __name__ == "__main__":
    lines = [f"{name} {wire.dumps(message).hex()}\n" for name, message in messages().items()]
    (Path(__file__).parent / "wire-v1.txt").write_text("".join(lines))
