"""How large sketches are, from the library itself."""

from __future__ import annotations

import numpy as np

import qckm
from figures.results import table

K = 10


def files(*features: str) -> str:
    """Return the sums' and the file's size for some numbers of features, at the default m = 5nK and 10⁵ rows."""
    rows = []
    for n in map(int, features):
        m = max(100, 5 * n * K)
        operator = qckm.SketchOperator.draw(n, m, 1.0, frequencies="dense", random_state=0)
        sketch = operator.sketch(np.random.default_rng(0).normal(size=(1000, n)), np.full(1000, 100))
        parts = qckm.files.sizes(qckm.files.dumps(sketch))
        rows.append([str(n), f"{m:,}".replace(",", " "), _size(parts["sums"]), _size(sum(parts.values()))])
    return table(["n", "m", "sums", "file"], rows)


def _size(count: int) -> str:
    kilobytes = count / 1000
    if kilobytes >= 1000:
        return f"{kilobytes / 1000:.1f} MB"
    return f"{kilobytes:.0f} kB" if kilobytes >= 10 else f"{kilobytes:.1f} kB"
