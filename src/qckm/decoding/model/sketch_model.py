"""Models of a sketch: what clusters, or points, would contribute, how far that is from the sketch, and the gradient.

`SketchModel`: a cluster N(c, τI) contributes an atom, the expectation of the signature over it (loops.py).
`FirstHarmonicModel` is the paper's: a point c contributes a(c) = 2|F₁|·cos(Ωᵀ(c − origin) + ξ + arg F₁), the first
harmonic of its signature, and in a paired sketch the same a quarter turn on (equation QCKMclustering).

Everything counts in dimensionless coordinates u = (c − origin) / length, with a length per feature, in proportion to
its unit, that makes the frequencies of order one: solvers then see the same problem whatever the data's units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.model import c_loops, numpy_loops
from qckm.decoding.model.loops import N_HARMONICS, Loops, Waves
from qckm.decoding.task import count_rows
from qckm.kernels import library
from qckm.operator.signatures import Signature
from qckm.sketch import Sketch, SketchOperator

# For each measurement, so many at the frequency 0.
_SHARE_AT_ZERO = 1 / 30


def loops() -> Loops:
    """Return the fastest loops there are: those of the C core, or NumPy's where it was not built."""
    return numpy_loops if library.load() is None else c_loops


@dataclass(frozen=True, eq=False, kw_only=True)
class Coordinates:
    """Coordinates in which frequencies are of order one."""

    origin: Floats  # (n,), in data units …
    length: Floats  # … as is one of these coordinates, (n,)

    def to_points(self, centers: Floats) -> Floats:
        """Turn data units into these coordinates."""
        return (centers - self.origin) / self.length

    def to_centers(self, points: Floats) -> Floats:
        """Turn these coordinates into data units."""
        return points * self.length + self.origin


def length_of(operator: SketchOperator, omega: Floats) -> Floats:
    """Return the length (n,), in data units, that makes the mean square norm of frequencies (n, m) 1."""
    squares = ((omega * operator.units[:, np.newaxis]) ** 2).sum(axis=0)
    length: Floats = operator.units / np.sqrt(squares.mean())
    return length


@dataclass(frozen=True, eq=False, kw_only=True)
class SketchModel(Coordinates):
    """Clusters seen by one operator, beside the sketch they should explain."""

    waves: Waves  # of the operator's frequencies, and of the frequency 0 some times
    n_frequencies: int  # without the latter
    paired: bool
    signature: Signature
    count: float  # of rows, as far as it is known
    spread: float  # one of these coordinates, in units
    noise: float  # E‖z − E z‖², the sampling noise of a sketch of so many rows, and the noise of a private one
    added: float  # the latter's variance, a measurement
    mean: Floats  # where the data are, (n,) …
    deviation: Floats  # … and how far they reach
    column_means: Floats | None  # of all rows, exactly, (n,), where the sketch has the sums of its columns …
    column_variances: Floats | None  # … and the variances

    @classmethod
    def of(cls, sketch: Sketch, spread: Floats | None = None, n_harmonics: int | None = None) -> SketchModel:
        """Return the model of a sketch; `spread` is the data's standard deviation by feature, where it is known.

        With more harmonics than usual it is slower, and true for lower frequencies or narrower clusters.
        """
        operator = sketch.operator
        omega = operator.frequencies
        spread_of_one = float(1 / np.sqrt(((omega * operator.units[:, np.newaxis]) ** 2).sum(axis=0).mean()))
        length = operator.units * spread_of_one
        omega = np.ascontiguousarray(omega * length[:, np.newaxis])
        z = sketch.values() - operator.signature.harmonics[0].real
        both = np.zeros((2, operator.n_frequencies))
        both[: 2 if operator.paired else 1] = z.reshape(-1, operator.n_frequencies)
        harmonics, step = _harmonics(operator, n_harmonics)
        mean, deviation = _whereabouts(sketch, spread)
        count = count_rows(sketch)
        waves = Waves(
            frequencies=omega,
            phases=operator.phases,
            halves=(omega**2).sum(axis=0) / 2,
            harmonics=harmonics,
            step=step,
            z=both,
        )
        return cls(
            waves=_with_zero(waves),
            n_frequencies=operator.n_frequencies,
            paired=operator.paired,
            signature=operator.signature,
            count=count,
            origin=operator.origin,
            length=length,
            spread=spread_of_one,
            noise=sketch.sampling_noise() * sketch.count / count,
            added=sketch.noise_variance,
            mean=(mean - operator.origin) / length,
            deviation=deviation / length,
            column_means=None if sketch.column_means is None else (sketch.column_means - operator.origin) / length,
            column_variances=None if sketch.column_variances is None else sketch.column_variances / length**2,
        )

    @property
    def n_measurements(self) -> int:
        """The numbers in the sketch, M."""
        return self.n_frequencies * (2 if self.paired else 1)

    def contributions(self, points: Floats) -> Floats:
        """Return what rows at points (rows, n) contribute to the sketch, (rows, 2·m); nothing at the frequency 0."""
        waves = self.waves
        values = np.zeros((len(points), *waves.z.shape))
        phases = points @ waves.frequencies[:, : self.n_frequencies] + waves.phases[: self.n_frequencies]
        for half in range(2 if self.paired else 1):
            values[:, half, : self.n_frequencies] = self.signature(phases + half * np.pi / 2)
        return values.reshape(len(points), -1)

    @property
    def energy(self) -> float:
        """‖z‖², without what the noise of a private sketch adds to it."""
        return float((self.waves.z[:, : self.n_frequencies] ** 2).sum()) - self.added * self.n_measurements

    def furthest(self, lower: Floats, upper: Floats) -> float:
        """Return how many deviations the ends of a box are from the mean, at most; 1 or more."""
        seen = self.deviation > 0
        reach = np.maximum(upper - self.mean, self.mean - lower)[seen] / self.deviation[seen]
        return float(reach.max(initial=1.0))


def _harmonics(operator: SketchOperator, wanted: int | None) -> tuple[Floats, int]:
    """Return the first harmonics as the loops want them, and the step from one to the next."""
    signature = operator.signature
    sizes = np.abs(signature.harmonics[1 : 2 * N_HARMONICS[2]])
    step = 2 if (sizes[1::2] < 1e-4 * sizes[0]).all() else 1
    orders = 1 + step * np.arange(1 if signature.is_pure_tone else wanted or N_HARMONICS[step])
    first = 2 * signature.harmonics[orders]
    second = first * 1j**orders if operator.paired else 0 * first
    return np.stack([first.real, first.imag, second.real, second.imag], axis=1), step


def _with_zero(waves: Waves) -> Waves:
    """Add what every sketch knows without measuring: at the frequency 0 each row contributes the same.

    So weights sum to 1. Without it, clusters too wide for the frequencies would not be missed, but their rows would.
    """
    count = max(1, int(_SHARE_AT_ZERO * waves.phases.size))
    nothing = np.zeros(count)
    frequencies = np.concatenate([waves.frequencies, np.zeros((len(waves.frequencies), count))], axis=1)
    return waves._replace(
        frequencies=np.ascontiguousarray(frequencies),
        phases=np.concatenate([waves.phases, nothing]),
        halves=np.concatenate([waves.halves, nothing]),
        z=np.concatenate([waves.z, np.repeat(waves.harmonics.sum(axis=0)[[0, 2], np.newaxis], count, axis=1)], axis=1),
    )


def _whereabouts(sketch: Sketch, spread: Floats | None) -> tuple[Floats, Floats]:
    """Return the mean and the standard deviation of the data, as far as they are known."""
    if spread is not None:
        return sketch.operator.origin, spread
    if sketch.column_means is not None and sketch.column_variances is not None:
        return sketch.column_means, np.sqrt(sketch.column_variances)
    lower, upper = sketch.coded_bounds
    return (lower + upper) / 2, (upper - lower) / 4


@dataclass(frozen=True, eq=False, kw_only=True)
class FirstHarmonicModel(Coordinates):
    """Points seen through the first harmonic of one operator, beside the sketch z: (M,) they should explain."""

    z: Floats
    frequencies: Floats  # (n, m), radians a length
    phases: Floats  # (m,), ξ + arg F₁
    amplitude: float
    paired: bool

    @classmethod
    def of(cls, sketch: Sketch) -> FirstHarmonicModel:
        """Return the model of a sketch."""
        operator = sketch.operator
        signature = operator.signature
        omega = operator.frequencies
        length = length_of(operator, omega)
        return cls(
            z=sketch.values() - signature.harmonics[0].real,
            frequencies=np.ascontiguousarray(omega * length[:, np.newaxis]),
            phases=operator.phases + np.angle(signature.harmonics[1]),
            amplitude=signature.amplitude,
            paired=operator.paired,
            origin=operator.origin,
            length=length,
        )

    def waves(self, sketch: Floats) -> Waves:
        """Return what the loops need to know to explain what is like a sketch (M,): pure tones, of no width."""
        halves = np.append(sketch, np.zeros(0 if self.paired else sketch.size)).reshape(2, -1)
        # a·cos(T) in the measurement at ξ and −b·sin(T) a quarter turn on; a single sketch has b = 0.
        tone = np.array([[self.amplitude, 0.0, 0.0, self.amplitude if self.paired else 0.0]])
        return Waves(self.frequencies, self.phases, np.zeros(self.phases.size), tone, 1, halves)

    def atoms(self, points: Floats) -> Floats:
        """Return the atoms (K, M) of points (K, n)."""
        no_widths, no_axes = np.zeros(len(points)), np.zeros((len(points), 0, points.shape[1]))
        both = loops().atoms(self.waves(self.z), points, no_widths, no_axes)
        return both.reshape(len(points), -1) if self.paired else both[:, 0]

    def residual(self, points: Floats, weights: Floats) -> Floats:
        """Return z − Σ_k α_k a(c_k), (M,)."""
        return self.z - weights @ self.atoms(points)
