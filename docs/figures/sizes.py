"""How large sketches are, from the library itself."""

from __future__ import annotations

import numpy as np

import qckm
from figures.results import table

K = 10


def files(*features: str) -> str:
    """Return the sums' and the file's size for some numbers of features, at the default m = 5nK."""
    rows = []
    for n in map(int, features):
        m = max(100, 5 * n * K)
        operator = qckm.SketchOperator.draw(n, m, 1.0, frequencies="dense", random_state=0)
        sketch = operator.sketch(np.zeros((1, n)))
        rows.append(
            [str(n), f"{m:,}".replace(",", " "), _size(sketch.total.nbytes), _size(len(qckm.files.dumps(sketch)))]
        )
    return table(["n", "m", "sums", "file"], rows)


def _size(count: int) -> str:
    kilobytes = count / 1000
    if kilobytes >= 1000:
        return f"{kilobytes / 1000:.1f} MB"
    return f"{kilobytes:.0f} kB" if kilobytes >= 10 else f"{kilobytes:.1f} kB"
