"""How fingerprints-v1.txt was made, by the code of commit 77573ac, whose kernels numba compiled.

Operators of every law, signature, dither and kind of frequencies, and what they make of the same rows: the first bytes
of a digest of each. Not made again: whoever has sketches of the same seed somewhere else must be able to add them up.

    python tests/golden/make_fingerprints.py > tests/golden/fingerprints-v1.txt
"""

import hashlib
from itertools import product

import numpy as np

import qckm

LAWS = ("gaussian", "folded-gaussian", "adapted-radius", "concentrated-radius", "balanced-radius", "seeded")
SIGNATURES = ("one-bit", "exponential", "triangle", "2-bit", "modulo")
DITHERS = ("paired", "single")
# Features, frequencies, their kind, octaves, scale. Tiles and vectors of every instruction set are filled and not.
SIZES = (
    (1, 1, "dense", 1, 1.0),
    (1, 40, "dense", 3, 0.5),
    (2, 17, "dense", 1, 30.0),
    (3, 64, "dense", 1, 2.0),
    (4, 33, "dense", 2, 1.0),
    (5, 130, "dense", 1, 1e-3),
    (6, 255, "dense", 1, 0.7),
    (7, 100, "dense", 5, 0.3),
    (16, 71, "dense", 1, 1e6),
    (50, 96, "dense", 1, 4.0),
    (31, 64, "dense", 2, 1.0),
    (128, 65, "dense", 1, 10.0),
    (40, 150, "structured", 1, 3.0),
    (130, 300, "structured", 1, 8.0),
)
N_ROWS = 43


def rows(n: int, scale: float) -> np.ndarray:
    """Return rows of written-down numbers, far enough out for some to be clipped."""
    numbers = np.arange(N_ROWS * n, dtype=np.int64) * 40503 % 20011 - 10005
    return (scale * numbers.reshape(N_ROWS, n) / 1024).astype(np.float32)


def fingerprints():
    """Yield a name and the fingerprints of all sizes, for each law, signature and dither."""
    for law, signature, dither in product(LAWS, SIGNATURES, DITHERS):
        found = []
        for seed, (n, m, kind, octaves, scale) in enumerate(SIZES):
            if law == "seeded" and (kind == "structured" or octaves > 1):
                continue  # there are no such frequencies
            op = qckm.SketchOperator.draw(
                n, m, scale, law, signature, dither, random_state=seed, frequencies=kind, octaves=octaves
            )
            sketch = op.sketch(rows(n, scale), n_jobs=1)
            digest = hashlib.sha256(op.fingerprint.encode() + sketch.total.astype("<i8").tobytes())
            digest.update(repr((int(sketch.count), int(sketch.saturated))).encode())
            if op.signature.is_one_bit:
                digest.update(op.encode(rows(n, scale), n_jobs=1).tobytes())
            found.append(digest.hexdigest()[:8])
        yield f"{law} {signature} {dither}", found


if __name__ == "__main__":
    for name, found in fingerprints():
        print(name, *found)
