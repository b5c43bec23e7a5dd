"""How the golden files of version 3 were made. Not run again: they are what users have on their disks."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from make_v1 import ROWS, operator, ramp, structured
from make_v2 import LEDGER

import qckm

HERE = Path(__file__).parent
# Operators of a few bytes: of unlike gains, of three octaves, without dither.
RECIPES = {
    "units": {"units": [1.0, 3.0], "feature_names": ["a", "größe"]},
    "octaves": {"octaves": 3, "law": "integer-concentrated"},
    "exponential": {"signature": "exponential", "law": "integer-gaussian"},
}


def recipe(**how):
    """Return an operator whose frequencies are made from a recipe."""
    wishes = {"n_features": 2, "n_frequencies": 5, "scale": 1.0, "law": "integer-balanced", "random_state": 3}
    return qckm.SketchOperator.draw(**{**wishes, **how})


def sketches():
    """Return the sketch of each golden file; the noise is written down."""
    one_bit = operator("one-bit", "paired")
    seen = one_bit.sketch(ROWS).without_products()
    public = replace(one_bit, ranges=(np.array([-10.0, -20.0]), np.array([10.0, 20.0])), feature_names=("a", "größe"))
    noisy = one_bit.sketch(ROWS).total + 41 * np.arange(-5, 5)
    private = replace(
        seen, operator=public, total=noisy, count=7, saturated=0, bounds=public.ranges, ledger=LEDGER, column_sums=None
    )
    return {
        "v3-one-bit": seen,
        "v3-exponential": operator("exponential", "paired").sketch(ROWS).without_products(),
        "v3-custom-single": operator(ramp, "single").sketch(ROWS).without_column_sums(),
        "v3-real-weights": operator("triangle", "single").sketch(ROWS, [0.5, 1.5, 2.0, 0.25]),
        "v3-many": one_bit.sketch(ROWS, [1, 2, 3, 2**39]).without_products(),
        "v3-structured": structured().sketch(ROWS).without_products(),
        "v3-empty": operator("one-bit", "single").empty(),
        "v3-forgotten": seen - one_bit.sketch(ROWS[3:]),
        "v3-no-bounds": replace(seen, operator=public, skipped=3).without_bounds(),
        "v3-private": private,
        "v3-parts": (
            one_bit.sketch(ROWS[:3], part="berlin/2026-11-16") + one_bit.sketch(ROWS[3:], part="größe")
        ).without_products(),
        **{f"v3-recipe-{name}": recipe(**how).sketch(ROWS) for name, how in RECIPES.items()},
        "v3-products": one_bit.sketch(ROWS, [1, 2, 3, 2**39]),
    }


if __name__ == "__main__":
    for name, sketch in sketches().items():
        sketch.save(HERE / f"{name}.qckm")
