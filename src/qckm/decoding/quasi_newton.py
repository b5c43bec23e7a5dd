"""L-BFGS within bounds, in compiled parts: what to remember of a step, and which way to go next."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from qckm.common.compiling import compiled


@compiled
def remember(x, candidate, gradient, new_gradient, moves, turns, curvatures, stored):
    """Keep a step and how the gradient turned over it, where it curves upwards; return how many were kept."""
    spot, curvature, moved, turned = stored % moves.shape[0], 0.0, 0.0, 0.0
    for i in range(x.size):
        step, turn = candidate[i] - x[i], new_gradient[i] - gradient[i]
        curvature += step * turn
        moved += step * step
        turned += turn * turn
    kept = 0
    if curvature > 1e-10 * np.sqrt(moved * turned):
        kept = 1
        curvatures[spot] = curvature
        for i in range(x.size):
            moves[spot, i], turns[spot, i] = candidate[i] - x[i], new_gradient[i] - gradient[i]
    return kept


@compiled
def direction_of(x, low, high, gradient, moves, turns, curvatures, stored):
    """Return the two-loop quasi-Newton direction over the variables that are free to move."""
    size = x.size
    direction = np.empty(size)
    for i in range(size):
        outward = (x[i] <= low[i] and gradient[i] > 0) or (x[i] >= high[i] and gradient[i] < 0)
        direction[i] = 0.0 if outward else -gradient[i]
    memory = moves.shape[0]
    used = min(stored, memory)
    alphas = np.empty(memory)
    for back in range(used):
        s = (stored - 1 - back) % memory
        total = 0.0
        for i in range(size):
            total += moves[s, i] * direction[i]
        alphas[s] = total / curvatures[s]
        for i in range(size):
            direction[i] -= alphas[s] * turns[s, i]
    total = 0.0
    if used > 0:
        last = (stored - 1) % memory
        for i in range(size):
            total += turns[last, i] * turns[last, i]
        factor = curvatures[last] / total
    else:  # nothing is known yet: a tenth of the model's unit of length
        for i in range(size):
            total += direction[i] * direction[i]
        factor = 0.1 / (np.sqrt(total) + 1e-300)
    for i in range(size):
        direction[i] *= factor
    for forth in range(used):
        s = (stored - used + forth) % memory
        total = 0.0
        for i in range(size):
            total += turns[s, i] * direction[i]
        shift = alphas[s] - total / curvatures[s]
        for i in range(size):
            direction[i] += shift * moves[s, i]
    for i in range(size):
        if (x[i] <= low[i] and gradient[i] > 0) or (x[i] >= high[i] and gradient[i] < 0):
            direction[i] = 0.0
    return direction
