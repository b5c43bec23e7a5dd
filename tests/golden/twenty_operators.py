"""Twenty operators of all kinds whose frequencies are made from recipes, and what they must come to on any machine.

python tests/golden/twenty_operators.py        # prints the digest of docs/arithmetic.md
"""

import hashlib

import numpy as np

import qckm

LAWS = ("integer-gaussian", "integer-balanced", "integer-concentrated")
DIGEST = "e287ba0afaca05b3"  # docs/arithmetic.md has it, too


def twenty_operators():
    """Return dense ones, of one scale and of octaves, structured ones, and some without dither or of unlike units."""
    kinds = [(n, m, 1, "dense") for n, m in ((1, 40), (2, 17), (10, 500), (300, 64))]
    kinds += [(3, 30, 4, "dense"), (130, 200, 1, "structured")]
    found = []
    for law in LAWS:
        for seed, (n, m, octaves, kind) in enumerate(kinds):
            how = {"octaves": octaves, "frequencies": kind, "random_state": seed, "origin": np.zeros(n)}
            found.append(qckm.SketchOperator.draw(n, m, 2.0, law, **how))
    found.append(qckm.SketchOperator.draw(5, 50, 1.0, "integer-balanced", "exponential", random_state=1))
    unlike = {"dither": "single", "units": [1, 2, 3, 4, 5], "random_state": 1}
    found.append(qckm.SketchOperator.draw(5, 50, 1.0, "integer-balanced", **unlike))
    return found


def digest_of(operators):
    """Return the first 16 hex digits of SHA-256 over the fingerprints, in hex, one after the other."""
    return hashlib.sha256("".join(op.fingerprint for op in operators).encode()).hexdigest()[:16]


if __name__ == "__main__":
    print(digest_of(twenty_operators()))
