"""The decoder's loops in NumPy: all there is without the C core, and what it is tested against."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Flags, Floats
from qckm.decoding.model.loops import Climb, Descent, Misfit, Rules, Sizes, Waves

Cost = Callable[[Floats], tuple[float, Floats]]

_MEMORY = 12  # steps that are remembered
_LENGTHS = 20  # tried of a direction
_FAINTEST = 60.0  # a blur beyond which nothing is left: exp(−60)


def atoms(waves: Waves, points: Floats, widths: Floats, axes: Floats) -> Floats:
    """Return the atoms (K, 2, m) of clusters."""
    out = np.zeros((len(points), 2, waves.phases.size))
    for _, wave, (a, b, c, d) in _harmonics(waves, points, widths, axes @ waves.frequencies):
        out[:, 0] += a * wave.real - b * wave.imag
        out[:, 1] += c * wave.real - d * wave.imag
    return out


def misfit(waves: Waves, points: Floats, weights: Floats, widths: Floats, axes: Floats) -> Misfit:
    """Return how far clusters are from explaining a sketch."""
    along = axes @ waves.frequencies
    residual = np.tensordot(weights, atoms(waves, points, widths, axes), 1) - waves.z
    product, by_phase, by_blur = np.zeros((3, len(points), waves.phases.size))
    for order, wave, (a, b, c, d) in _harmonics(waves, points, widths, along):
        # Both measurements are multiplied by their residuals at once: A_h·r₁ + A_h·iʰ·r₂.
        heard = wave * ((a + 1j * b) * residual[0] + (c + 1j * d) * residual[1])
        product += heard.real
        by_phase -= order * heard.imag
        by_blur -= order**2 * heard.real
    by_phase *= 2 * weights[:, np.newaxis]
    by_blur *= 2 * weights[:, np.newaxis]
    return Misfit(
        float((residual**2).sum()),
        by_phase @ waves.frequencies.T,
        2 * product.sum(axis=1),
        by_blur @ waves.halves,
        (by_blur[:, np.newaxis] * along) @ waves.frequencies.T,
    )


def ascend(waves: Waves, points: Floats, climb: Climb) -> tuple[Floats, Floats, Floats]:
    """Climb to where the first harmonic correlates with a damped residual."""
    residual, damping, stride, steps, lower, upper = climb
    a, b, c, d = waves.harmonics[0]
    target = damping * ((a + 1j * b) * residual[0] + (c + 1j * d) * residual[1])
    velocity = np.zeros(points.shape)
    for step in range(steps + 1):
        heard = target * np.exp(1j * (points @ waves.frequencies + waves.phases))
        values, slopes = heard.real.sum(axis=1), -heard.imag @ waves.frequencies.T
        if step < steps:
            norms = np.sqrt((slopes**2).sum(axis=1, keepdims=True) + 1e-300)
            velocity = 0.6 * velocity + 0.4 / norms * slopes
            points = np.clip(points + stride * velocity, lower, upper)
            stride *= 0.85
    return points, values, slopes


def correlation(waves: Waves, point: Floats) -> tuple[float, Floats]:
    """Return ⟨a, z⟩ / ‖a‖ of the atom of a point (n,) of no width, a pure tone, and its gradient."""
    turns = np.exp(1j * (point @ waves.frequencies + waves.phases))
    a, b, c, d = waves.harmonics[0]
    tones = np.stack([(a + 1j * b) * turns, (c + 1j * d) * turns])
    atom, slope = tones.real, -tones.imag
    norm = np.linalg.norm(atom)
    value = float((atom * waves.z).sum() / norm)
    by_phase = slope * (waves.z - value / norm * atom) / norm
    return value, waves.frequencies @ by_phase.sum(axis=0)


def fit(
    waves: Waves, sizes: Sizes, widths: Floats, start: Floats, low: Floats, high: Floats, rules: Rules
) -> tuple[Descent, Floats]:
    """Fit K clusters with r axes each and so many free widths."""
    K, r, free, evenness = sizes
    n = len(waves.frequencies)
    cuts = [K * n, K * n + K, K * n + K + free]

    def parts(x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        points, weights, own, axes = np.split(x, cuts)
        return points.reshape(K, n), weights, np.broadcast_to(own if free else widths, K), axes.reshape(K, r, n)

    def cost(x: Floats) -> tuple[float, Floats]:
        found = misfit(waves, *parts(x))
        price, by_widths = _price(parts(x)[2], evenness if free > 1 else 0.0)
        by_widths = by_widths + found.by_widths
        by_own = by_widths if free > 1 else by_widths.sum(keepdims=True)[:free]
        by_parts = (found.by_points, found.by_weights, by_own, found.by_axes)
        return found.value + price, np.concatenate([part.ravel() for part in by_parts])

    ended = descend(cost, start, low, high, rules)
    reached = np.array(parts(ended.x)[2])
    return ended._replace(value=ended.value - _price(reached, evenness if free > 1 else 0.0)[0]), reached


def match(waves: Waves, start: Floats, low: Floats, high: Floats, rules: Rules) -> Descent:
    """Move a point (n,) to where its atom correlates best with z."""

    def cost(point: Floats) -> tuple[float, Floats]:
        value, slopes = correlation(waves, point)
        return -value, -slopes

    return descend(cost, start, low, high, rules)


def _harmonics(
    waves: Waves, points: Floats, widths: Floats, along: Floats
) -> Iterator[tuple[int, npt.NDArray[np.complex128], Floats]]:
    """Yield the order of each harmonic, exp(−h²·b)·e^{ihT} of clusters (K, m), and the harmonic's four numbers."""
    phases = points @ waves.frequencies + waves.phases
    blurs = np.minimum(widths[:, np.newaxis] * waves.halves + (along**2).sum(axis=1) / 2, _FAINTEST)
    for h, numbers in enumerate(waves.harmonics):
        order = 1 + h * waves.step
        yield order, np.exp(1j * order * phases - order**2 * blurs), numbers


def _price(widths: Floats, evenness: float) -> tuple[float, Floats]:
    """Return the price of unequal widths, and its derivatives."""
    if not evenness:
        return 0.0, np.zeros(widths.shape)
    off = np.log(widths) - np.log(widths).mean()
    return float(evenness * (off**2).sum()), 2 * evenness * off / widths


@dataclass
class _Place:
    x: Floats
    value: float
    gradient: Floats


def descend(cost: Cost, start: Floats, low: Floats, high: Floats, rules: Rules) -> Descent:
    """Descend from a start to where the rules say that it ends: L-BFGS within bounds; costs come with their gradients.

    Variables at a bound whose gradient pushes outwards rest, the others move along the quasi-Newton direction, and what
    would leave the bounds is put back on them (kernels/core/quasi_newton_inc.h).
    """
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
