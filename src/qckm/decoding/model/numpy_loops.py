"""The decoder's loops in NumPy: all there is without the C core, and what it is tested against."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.decoding.model.loops import Descent, Rules
from qckm.decoding.model.quasi_newton import descend
from qckm.decoding.model.waves import Misfit, Waves

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


def ascend(
    waves: Waves,
    points: Floats,
    residual: Floats,
    damping: Floats,
    stride: float,
    steps: int,
    lower: Floats,
    upper: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Climb to where the first harmonic correlates with a damped residual."""
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
    waves: Waves,
    sizes: tuple[int, int, int],
    widths: Floats,
    evenness: float,
    start: Floats,
    low: Floats,
    high: Floats,
    rules: Rules,
) -> tuple[Descent, Floats]:
    """Fit K clusters with r axes each and so many free widths."""
    K, r, free = sizes
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
