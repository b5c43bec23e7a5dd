"""Twenty decodes with every instruction set, and with loops that NumPy and BLAS choose on other CPUs: the same or not.

    python same_decodes.py            # the table, to results/same_decodes.csv
    python same_decodes.py --child    # the twenty decodes alone, as JSON

The C core is asked for each of its sets (QCKM_INSTRUCTIONS). NumPy and OpenBLAS choose loops of their own by the CPU;
environment variables make them choose those of older ones. Of each setting: one digest of all centroids, weights,
objectives and verdicts, how many of the twenty differ from the first setting's, by how much their SSE does, and in how
many the verdict does.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import warnings

import numpy as np

import qckm
from common import keep, sse

HEADER = ("setting", "digest", "decodes that differ", "largest difference of SSE", "verdicts that differ")
SETS = ("avx512vnni", "avx512", "avx2", "ssse3", "plain")
OTHERS = (
    {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"},
    {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"},
    {"OPENBLAS_CORETYPE": "SkylakeX"},
    {"OPENBLAS_CORETYPE": "Sandybridge"},
    {"OPENBLAS_CORETYPE": "Prescott"},
)


def decodes() -> list[tuple[str, float, bool | None]]:
    """Return a digest, the SSE and the verdict of each decode: 1 to 4 columns, 2 to 6 clusters, some skewed."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, K = 1 + seed % 4, 2 + seed % 5
        widths = 1 if seed % 3 else rng.exponential(size=(2000, 1))
        X = 4 * rng.normal(size=(K, n))[rng.integers(K, size=2000)] + widths * rng.normal(size=(2000, n))
        signature = ("one-bit", "exponential", "triangle")[seed % 3]
        op = qckm.SketchOperator.draw(n, max(40, 5 * n * K), 1.5, signature=signature, random_state=seed)
        result = qckm.decode(op.sketch(X), K, random_state=seed, rows=X[:200] if seed % 5 == 4 else None)
        text = result.centers.tobytes() + result.weights.tobytes() + repr((result.objective, result.converged)).encode()
        found.append((hashlib.sha256(text).hexdigest(), sse(X, result.centers), result.converged))
    return found


def digest_of(found: list[tuple[str, float, bool | None]]) -> str:
    return hashlib.sha256("".join(one[0] for one in found).encode()).hexdigest()[:16]


def under(setting: dict[str, str]) -> list[tuple[str, float, bool | None]] | None:
    """Run the decodes in a process of that environment; None where the CPU lacks what is asked for."""
    words = [sys.executable, __file__, "--child"]
    done = subprocess.run(words, env={**os.environ, **setting}, capture_output=True, text=True, check=False)
    if "expected numpy, or what this CPU has" in done.stderr:
        return None
    assert done.returncode == 0, done.stderr
    return [tuple(one) for one in json.loads(done.stdout)]


def main() -> None:
    if "--child" in sys.argv:
        warnings.simplefilter("ignore")
        print(json.dumps(decodes()))
        return
    lines, first = [], None
    for setting in (*({"QCKM_INSTRUCTIONS": name} for name in SETS), *OTHERS):
        found = under(setting)
        name = " ".join(f"{key}={value}" for key, value in setting.items())
        if found is None:
            print(f"{name}: not on this CPU")
            continue
        first = found if first is None else first
        pairs = list(zip(found, first, strict=True))
        apart = max(abs(one[1] / other[1] - 1) for one, other in pairs)
        counts = (sum(one[0] != other[0] for one, other in pairs), sum(one[2] != other[2] for one, other in pairs))
        lines.append((name, digest_of(found), counts[0], f"{apart:.1e}", counts[1]))
        print(*lines[-1], sep="  ", flush=True)
    keep("same_decodes", HEADER, lines)


if __name__ == "__main__":
    main()
