"""The scale as the paper has it: the heuristic of Keriven et al. (2016) that its section 2 refers to.

|z(ω)| of clusters of variance σ² stays below exp(−σ²‖ω‖²/2). So: sketch a few thousand rows at frequencies of the
adapted-radius law, sort them by length, take the largest |z| of each block, fit the envelope, and draw again with the
σ² found, a few times. It starts at σ² = 1 and therefore only serves data of unit order, as the paper's are; qckm itself
asks a pilot k-means instead, which does not mind the units.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

import qckm
from qckm.operator.laws import LAWS

_FREQUENCIES, _BLOCKS, _ROUNDS, _ROWS = 500, 30, 5, 5000
_LAW = LAWS["adapted-radius"]


def published_scale(X: np.ndarray, rng: np.random.Generator) -> float:
    """Return the scale (in the sense of all laws of qckm) at which the paper's toolbox would sketch the rows X."""
    n, variance = X.shape[1], 1.0
    rows = X[rng.choice(len(X), min(_ROWS, len(X)), replace=False)]
    for _ in range(_ROUNDS):
        op = qckm.SketchOperator.draw(n, _FREQUENCIES, _scale(n, variance), _LAW, "exponential", random_state=rng)
        heights = np.hypot(*op.sketch(rows, n_jobs=1).values().reshape(2, -1))
        variance = _fit_envelope(np.linalg.norm(op.frequencies, axis=0), heights)
    return _scale(n, variance)


def _scale(n: int, variance: float) -> float:
    return float(np.sqrt(n / _LAW.mean_square(n) * variance))


def _fit_envelope(norms: np.ndarray, heights: np.ndarray) -> float:
    blocks = np.array_split(np.argsort(norms), _BLOCKS)
    peaks = np.array([block[np.argmax(heights[block])] for block in blocks])

    def misfit(log_variance: float) -> float:
        return float(((np.exp(-np.exp(log_variance) * norms[peaks] ** 2 / 2) - heights[peaks]) ** 2).sum())

    grid = np.linspace(-8, 8, 161)
    near = grid[np.argmin([misfit(value) for value in grid])]
    return float(np.exp(minimize_scalar(misfit, bounds=(near - 0.1, near + 0.1), method="bounded").x))
