"""The decoder's loops in the C core (kernels/core/decoder.h), called through ctypes: the GIL is let go meanwhile."""

from __future__ import annotations

import ctypes

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.model.loops import Climb, Descent, Misfit, Rules, Sizes, Waves
from qckm.kernels.library import Struct, call, fields, floats


class _Waves(Struct):
    _fields_ = fields(integers="n m n_harmonics step", arrays="frequencies phases halves harmonics z")


class _Clusters(Struct):
    _fields_ = fields(integers="K r", arrays="points weights widths axes")


class _Slopes(Struct):
    _fields_ = fields(arrays="points weights widths axes")


class _Rules(Struct):
    _fields_ = fields(integers="iterations every", numbers="gain least slope")


class _Descent(Struct):
    _fields_ = fields(integers="size", arrays="x low high", numbers="value", integers_after="evaluations")


class _Fitting(Struct):
    _fields_ = fields(integers="K r free", numbers="evenness", arrays="widths")


class _Ascent(Struct):
    _fields_ = fields(integers="S steps", numbers="stride", arrays="residual damping lower upper points values slopes")


def atoms(waves: Waves, points: Floats, widths: Floats, axes: Floats) -> Floats:
    """Return the atoms (K, 2, m) of clusters."""
    out = np.empty((len(points), 2, waves.phases.size))
    call("qckm_atoms", _waves(waves), _clusters(points, widths, widths, axes), out)
    return out


def misfit(waves: Waves, points: Floats, weights: Floats, widths: Floats, axes: Floats) -> Misfit:
    """Return how far clusters are from explaining a sketch."""
    slopes = [np.empty(part.shape) for part in (points, weights, widths, axes)]
    value = ctypes.c_double()
    call("qckm_misfit", _waves(waves), _clusters(points, weights, widths, axes), _Slopes(*slopes), value)
    return Misfit(value.value, *slopes)


def ascend(waves: Waves, points: Floats, climb: Climb) -> tuple[Floats, Floats, Floats]:
    """Climb to where the first harmonic correlates with a damped residual."""
    reached = np.array(points, np.float64, order="C")
    values, slopes = np.empty(len(points)), np.empty(points.shape)
    given = (floats(part) for part in (climb.residual, climb.damping, climb.lower, climb.upper))
    ascent = _Ascent(len(points), climb.steps, climb.stride, *given, reached, values, slopes)
    call("qckm_ascend", _waves(waves), ascent)
    return reached, values, slopes


def correlation(waves: Waves, point: Floats) -> tuple[float, Floats]:
    """Return ⟨a, z⟩ / ‖a‖ of the atom of a point (n,) of no width, a pure tone, and its gradient."""
    value, slopes = ctypes.c_double(), np.empty(point.shape)
    call("qckm_correlation", _waves(waves), floats(point), slopes, value)
    return value.value, slopes


def fit(
    waves: Waves, sizes: Sizes, widths: Floats, start: Floats, low: Floats, high: Floats, rules: Rules
) -> tuple[Descent, Floats]:
    """Fit K clusters with r axes each and so many free widths."""
    widths = np.array(widths, np.float64)
    descent = _descent(start, low, high)
    call("qckm_fit", _waves(waves), _Fitting(*sizes, widths), _Rules(*rules), descent)
    return _ended(descent), widths


def match(waves: Waves, start: Floats, low: Floats, high: Floats, rules: Rules) -> Descent:
    """Move a point (n,) to where its atom correlates best with z."""
    descent = _descent(start, low, high)
    call("qckm_match", _waves(waves), _Rules(*rules), descent)
    return _ended(descent)


def _waves(waves: Waves) -> _Waves:
    frequencies, phases, halves, harmonics, step, z = waves
    given = (floats(part) for part in (frequencies, phases, halves, harmonics, z))
    return _Waves(*frequencies.shape, len(harmonics), step, *given)


def _clusters(points: Floats, weights: Floats, widths: Floats, axes: Floats) -> _Clusters:
    return _Clusters(*axes.shape[:2], *(floats(part) for part in (points, weights, widths, axes)))


def _descent(start: Floats, low: Floats, high: Floats) -> _Descent:
    return _Descent(start.size, np.array(start, np.float64), floats(low), floats(high), 0.0, 0)


def _ended(descent: _Descent) -> Descent:
    return Descent(descent.held[0], descent.value, descent.evaluations)
