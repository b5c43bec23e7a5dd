"""L-BFGS within bounds, in NumPy: what the C core does (kernels/core/quasi_newton_inc.h), step by step.

Variables at a bound whose gradient pushes outwards rest, the others move along the quasi-Newton direction, and what
would leave the bounds is put back on them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qckm.common.arrays import Flags, Floats
from qckm.decoding.model.loops import Descent, Rules

Cost = Callable[[Floats], tuple[float, Floats]]

_MEMORY = 12  # steps that are remembered
_LENGTHS = 20  # tried of a direction


@dataclass
class _Place:
    x: Floats
    value: float
    gradient: Floats


def descend(cost: Cost, start: Floats, low: Floats, high: Floats, rules: Rules) -> Descent:
    """Descend from a start, within bounds, to where the rules say that it ends; costs come with their gradients."""
    first = np.clip(start, low, high)
    here, before, evaluations = _Place(first, *cost(first)), np.inf, 1
    past: deque[tuple[Floats, Floats]] = deque(maxlen=_MEMORY)
    for iteration in range(rules.iterations):
        if iteration % rules.every == 0:
            if before - here.value <= rules.gain * max(here.value, rules.least):
                break
            before = here.value
        steepest = np.abs(np.clip(here.x - here.gradient, low, high) - here.x).max(initial=0)
        if steepest <= rules.slope:
            break
        there, taken = _step_down(cost, here, _direction(here, low, high, past), low, high)
        evaluations += taken
        if there is None and past:  # no way down: forget the curvature, and try once more along the gradient
            past.clear()
            there, taken = _step_down(cost, here, _direction(here, low, high, past), low, high)
            evaluations += taken
        if there is None:
            break
        move, turn = there.x - here.x, there.gradient - here.gradient
        if move @ turn > 1e-10 * np.sqrt((move @ move) * (turn @ turn)):  # it curves upwards
            past.append((move, turn))
        here = there
    return Descent(here.x, here.value, evaluations)


def _direction(here: _Place, low: Floats, high: Floats, past: deque[tuple[Floats, Floats]]) -> Floats:
    """Return the two-loop quasi-Newton direction over the variables that are free to move."""
    pushes = here.gradient
    held: Flags = ((here.x <= low) & (pushes > 0)) | ((here.x >= high) & (pushes < 0))
    direction = np.where(held, 0.0, -pushes)
    alphas = []
    for move, turn in reversed(past):
        alphas.append(move @ direction / (move @ turn))
        direction = direction - alphas[-1] * turn
    if past:
        move, turn = past[-1]
        direction = direction * (move @ turn) / (turn @ turn)
    else:  # nothing is known yet: a tenth of the model's unit of length
        direction = direction * 0.1 / (np.linalg.norm(direction) + 1e-300)
    for (move, turn), alpha in zip(past, reversed(alphas), strict=True):
        direction = direction + (alpha - turn @ direction / (move @ turn)) * move
    return np.where(held, 0.0, direction)


def _step_down(cost: Cost, here: _Place, direction: Floats, low: Floats, high: Floats) -> tuple[_Place | None, int]:
    """Return a step that keeps a share of the decrease that the gradient promised, if there is one, and evaluations."""
    length = 1.0
    for attempt in range(_LENGTHS):
        trial = np.clip(here.x + length * direction, low, high)
        promised = float(here.gradient @ (trial - here.x))
        if not promised < 0:
            return None, attempt
        there = _Place(trial, *cost(trial))
        if there.value <= here.value + 1e-4 * promised:
            return there, attempt + 1
        # To the minimum of the parabola through both values and the slope, within reason.
        length *= min(max(-0.5 * promised / (there.value - here.value - promised), 0.1), 0.5)
    return None, _LENGTHS
