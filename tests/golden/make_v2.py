"""How the golden files of version 2 were made. Not run again: they are what users have on their disks."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from make_v1 import ROWS, operator

from qckm.sketch.ledger import Ledger, Spent

HERE = Path(__file__).parent
LEDGER = Ledger(
    2025.0,
    9.0,
    (Spent(0.0, 0.0, 0.0243),),
    1e-6,
    "gaussian",
    "add-remove",
    2,
    ("00112233445566aa",),
    ("ffeeddccbbaa9988",),
)


def sketches():
    """Return the sketch of each golden file; the noise is written down."""
    exact = operator("one-bit", "paired").sketch(ROWS).without_column_sums()
    ranges = np.array([-10.0, -20.0]), np.array([10.0, 20.0])
    public = replace(exact.operator, ranges=ranges)
    private = replace(
        exact,
        operator=public,
        total=exact.total + 41 * np.arange(-5, 5),
        count=7,
        saturated=0,
        bounds=ranges,
        ledger=LEDGER,
    )
    return {
        "v2-column-sums": operator("one-bit", "paired").sketch(ROWS, [1, 2, 3, 2**39]).without_products(),
        "v2-private": private,
        "v2-ranges": replace(exact, operator=public),
        "v2-weighted": operator("one-bit", "single").sketch(ROWS, [1, 2, 3, 4]).without_column_sums(),
    }


if __name__ == "__main__":
    for name, sketch in sketches().items():
        sketch.save(HERE / f"{name}.qckm")
