"""SketchOperator: frequencies + dither + signature, and everything else two sketches must share to be added."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from qckm import signatures
from qckm.errors import OperatorError, RowsError
from qckm.frequencies import Law, draw_frequencies, get_law
from qckm.kernels import reference as kernel
from qckm.random import as_generator
from qckm.rows import as_rows, as_weights, require_finite
from qckm.signatures import Signature

if TYPE_CHECKING:
    from qckm.sketch import Sketch

Dither = Literal["paired", "single"]
Floats = npt.NDArray[np.float64]

# Default resolution: a scale is cut into at least this many steps. A phase then moves by at most about
# ‖ω‖·scale/2048, and 32767 steps reach 16 to 32 scales either side of the origin.
STEPS_A_SCALE = 1024
# Beyond these a step or a frequency would leave the range of float64.
_SMALLEST = 1e-290
# The contributions of this many measurements are held at a time: 8 MB of phases.
_CHUNK = 1 << 20


@dataclass(frozen=True, eq=False)
class SketchOperator:
    """What is measured of a row: A_f with its frequencies, dither, signature, origin and steps, all as integers.

    Build one with `draw` (random frequencies of a law) or `from_frequencies` (your own). Two operators are equal when
    their fingerprints are: then, and only then, their sketches may be added.

    Parameters
    ----------
    frequency_codes : ndarray of int16, shape (n, m)
    dither_codes : ndarray of int32, shape (m,)
        In 2**24ths of a turn.
    steps : ndarray of float64, shape (n,)
        What one unit of a code is worth, powers of two.
    origin : ndarray of float64, shape (n,)
        The point from which phases count, a whole number of steps.
    signature : Signature
    dither : {"paired", "single"}
    law : str
        Where the frequencies came from; a note, not part of the fingerprint.
    scale : float or None
        Likewise.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=50, scale=1.0, random_state=0)
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> sketch = op.sketch(X)
    >>> sketch.count, sketch.values().shape
    (1000, (100,))
    >>> op.pool(op.encode(X)) == sketch  # the bits of a sensor give the same sketch
    True
    """

    frequency_codes: npt.NDArray[np.int16]
    dither_codes: npt.NDArray[np.int32]
    steps: Floats
    origin: Floats
    signature: Signature
    dither: Dither
    law: str = "custom"
    scale: float | None = None

    def __post_init__(self) -> None:
        n, m = self.frequency_codes.shape
        if self.dither_codes.shape != (m,) or self.steps.shape != (n,) or self.origin.shape != (n,):
            raise OperatorError(
                f"Expected dither ({m},), steps ({n},) and origin ({n},) for frequencies ({n}, {m}), got "
                f"{self.dither_codes.shape}, {self.steps.shape} and {self.origin.shape}."
            )
        if self.dither not in ("paired", "single"):
            raise OperatorError(f"Expected dither 'paired' or 'single', got {self.dither!r}.")
        if (self.dither_codes < 0).any() or (self.dither_codes >= kernel.TURN).any():
            raise OperatorError("Expected dither codes within one turn, 0 to 2**24 - 1.")
        if not np.isfinite(self.origin).all() or (np.rint(self.origin / self.steps) != self.origin / self.steps).any():
            raise OperatorError("Expected a finite origin, a whole number of steps in each feature.")
        for array in (self.frequency_codes, self.dither_codes, self.steps, self.origin):
            array.setflags(write=False)

    @classmethod
    def draw(
        cls,
        n_features: int,
        n_frequencies: int,
        scale: float,
        law: str | Law = "gaussian",
        signature: str | Signature | Callable[[Any], Any] = "one-bit",
        dither: Dither = "paired",
        origin: npt.ArrayLike | None = None,
        units: npt.ArrayLike | None = None,
        steps: npt.ArrayLike | None = None,
        random_state: Any = None,
    ) -> SketchOperator:
        """Draw an operator at random.

        Parameters
        ----------
        n_features, n_frequencies : int
            n and m.
        scale : float
            The kernel's length s = sqrt(n / E‖ω‖²), in units.
        law : str or Law, default "gaussian"
            "gaussian", "folded-gaussian", "adapted-radius" or "concentrated-radius".
        signature : str, Signature or callable, default "one-bit"
            "exponential" is CKM. A callable must be 2π-periodic, centred and in [−1, 1].
        dither : {"paired", "single"}, default "paired"
            Whether each frequency is measured at ξ and ξ + π/2, or at ξ alone.
        origin : array-like of shape (n,), optional
            The point from which phases count, best near the middle of the data; 0 by default. Rounded to whole steps.
        units : array-like of shape (n,), optional
            The size of a unit of each feature, 1 by default: the standard deviations, to sketch standardised rows.
        steps : array-like of shape (n,), optional
            Resolution of each feature, a power of two; by default between 1/2048 and 1/1024 of scale · unit.
        random_state : None, int, Generator or RandomState

        Returns
        -------
        SketchOperator
        """
        n, m = _count("n_features", n_features), _count("n_frequencies", n_frequencies)
        if not isinstance(scale, Real) or not _SMALLEST <= scale <= 1 / _SMALLEST:
            raise OperatorError(
                f"Expected a scale from {_SMALLEST} to {1 / _SMALLEST}, got {scale!r}: rescale the data."
            )
        law = get_law(law)
        sizes = _per_feature("units", units, n, 1.0)
        if not (sizes > 0).all():
            raise OperatorError("Expected units > 0; leave out features that are constant.")
        rng = as_generator(random_state)
        omega = draw_frequencies(n, m, float(scale), law, rng) / sizes[:, np.newaxis]
        if steps is None:
            steps = _power_of_two_below(scale * sizes / STEPS_A_SCALE)
        return cls.from_frequencies(
            omega, signature, dither, origin=origin, steps=steps, law=law.name, scale=float(scale), random_state=rng
        )

    @classmethod
    def from_frequencies(
        cls,
        frequencies: npt.ArrayLike,
        signature: str | Signature | Callable[[Any], Any] = "one-bit",
        dither: Dither = "paired",
        phases: npt.ArrayLike | None = None,
        origin: npt.ArrayLike | None = None,
        steps: npt.ArrayLike | None = None,
        law: str = "custom",
        scale: float | None = None,
        random_state: Any = None,
    ) -> SketchOperator:
        """Make an operator of frequencies of your own, (n, m) in radians a data unit, and dither `phases` in radians.

        The frequencies are rounded to 2π / (2**24 · step); `op.frequencies` gives back what is measured. Phases are
        drawn uniformly unless given, except that a pair of a pure tone (the exponential signature) needs none: 0.

        Examples
        --------
        >>> import numpy as np, qckm
        >>> op = qckm.SketchOperator.from_frequencies(np.eye(3), "exponential")
        >>> op.law, op.n_measurements, op.phases
        ('custom', 6, array([0., 0., 0.]))
        """
        omega = np.array(frequencies, np.float64)
        if omega.ndim != 2 or omega.size == 0 or not np.isfinite(omega).all():
            raise OperatorError(f"Expected finite frequencies of shape (n, m), got shape {omega.shape}.")
        n, m = omega.shape
        signature = signatures.get(signature)
        if steps is None:
            rms = np.sqrt((omega**2).mean(axis=1))
            rms[rms == 0] = 1.0  # a feature nobody looks at may have any step
            steps = _power_of_two_below(1 / (rms * STEPS_A_SCALE))
        sizes = _per_feature("steps", steps, n, 1.0)
        if not (sizes > 0).all() or (np.frexp(sizes)[0] != 0.5).any():
            raise OperatorError(
                "Expected steps that are powers of two (…, 0.25, 0.5, 1, 2, …), so that coding is exact."
            )
        codes = np.rint(omega * sizes[:, np.newaxis] * (kernel.TURN / (2 * np.pi)))
        if np.abs(codes).max() > kernel.CODE_LIMIT:
            k, j = np.unravel_index(np.abs(codes).argmax(), codes.shape)
            raise OperatorError(
                f"Frequency {j} does not fit: {omega[k, j]:.4g} radians a unit at a step of {sizes[k]:.4g} in feature "
                f"{k} is {abs(codes[k, j]):.0f} in 2**24ths of a turn, and int16 holds {kernel.CODE_LIMIT}. "
                f"Use a smaller step for that feature or a larger scale."
            )
        if phases is None:
            if dither == "paired" and signature.is_pure_tone:
                dither_codes = np.zeros(m, np.int32)
            else:
                dither_codes = as_generator(random_state).integers(0, kernel.TURN, size=(m,), dtype=np.int32)
        else:
            turns = _per_frequency("phases", phases, m) * (kernel.TURN / (2 * np.pi))
            dither_codes = (np.rint(turns).astype(np.int64) % kernel.TURN).astype(np.int32)
        start = np.rint(_per_feature("origin", origin, n, 0.0) / sizes) * sizes
        return cls(codes.astype(np.int16), dither_codes, sizes, start, signature, dither, law, scale)

    @property
    def n_features(self) -> int:
        """The number of features of a row, n."""
        return int(self.frequency_codes.shape[0])

    @property
    def n_frequencies(self) -> int:
        """The number of frequencies, m."""
        return int(self.frequency_codes.shape[1])

    @property
    def paired(self) -> bool:
        """Whether each frequency is measured twice, a quarter turn apart."""
        return self.dither == "paired"

    @property
    def n_measurements(self) -> int:
        """The length of a sketch, M: 2m paired, m single."""
        return self.n_frequencies * (2 if self.paired else 1)

    @property
    def frequencies(self) -> Floats:
        """The frequencies that are measured, (n, m), in radians a data unit."""
        radians_a_step = self.frequency_codes.astype(np.float64) * (2 * np.pi / kernel.TURN)
        return radians_a_step / self.steps[:, np.newaxis]

    @property
    def phases(self) -> Floats:
        """The dither ξ, (m,), in radians."""
        return self.dither_codes.astype(np.float64) * (2 * np.pi / kernel.TURN)

    @property
    def reach(self) -> tuple[Floats, Floats]:
        """The least and the greatest value of each feature that is not clipped."""
        span = kernel.CODE_LIMIT * self.steps
        return self.origin - span, self.origin + span

    @cached_property
    def fingerprint(self) -> str:
        """A hex digest of all that the bits of a sketch depend on."""
        digest = hashlib.sha256()
        n, m = self.frequency_codes.shape
        digest.update(f"{kernel.ARITHMETIC} {n} {m} {self.dither} {self.signature.full_scale}\n".encode())
        for array, kind in (
            (self.frequency_codes, "<i2"),
            (self.dither_codes, "<i4"),
            (self.steps, "<f8"),
            (self.origin + 0.0, "<f8"),  # -0.0 and 0.0 are one origin
            (self.signature.table, "<i2"),
        ):
            digest.update(array.astype(kind).tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SketchOperator) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return (
            f"SketchOperator(n_features={self.n_features}, n_frequencies={self.n_frequencies}, "
            f"signature={self.signature.name!r}, dither={self.dither!r}, law={self.law!r}, scale={self.scale}, "
            f"fingerprint={self.fingerprint[:12]!r})"
        )

    def empty(self) -> Sketch:
        """Return the sketch of no rows, where every sum starts; its file is how an operator travels."""
        from qckm.sketch import Sketch

        return Sketch.zero(self)

    def sketch(self, X: Any, sample_weight: Any = None) -> Sketch:
        """Sketch rows X: (rows, n): the sum of their contributions, in one pass, a bounded number of rows at a time.

        Parameters
        ----------
        X : array-like of shape (rows, n)
            NumPy (memmaps too), pandas, polars, pyarrow; float32, float64 or integers. NaN and infinity are refused.
        sample_weight : array-like of shape (rows,), optional
            Whole numbers count a row that often, exactly; other weights make the sum a float64 one.

        Returns
        -------
        Sketch
        """
        rows = as_rows(X, self.n_features)
        weights = None if sample_weight is None else as_weights(sample_weight, len(rows))
        total = self.empty()
        height = self._chunk_height
        for start in range(0, len(rows), height):
            part = slice(start, start + height)
            total += self._sketch_chunk(rows[part], None if weights is None else weights[part], start)
        return total

    def _sketch_chunk(
        self, rows: npt.NDArray[Any], weights: npt.NDArray[np.int64] | Floats | None, first_row: int
    ) -> Sketch:
        from qckm.sketch import Sketch

        require_finite(rows, rows.min(axis=0), rows.max(axis=0), first_row)
        if weights is not None:  # a row of weight 0 is no row: it must not widen the bounds either
            rows, weights = rows[weights > 0], weights[weights > 0]
            if not len(rows):
                return self.empty()
        codes, clipped = kernel.code_rows(rows, self.steps, self.origin)
        contributions = self._contributions(codes)
        if weights is None:
            total = contributions.sum(axis=0, dtype=np.int64)
            count, saturated = len(rows), int(clipped.sum())
        else:
            total = weights @ contributions.astype(weights.dtype)
            count, saturated = weights.sum().item(), weights[clipped].sum().item()
        bounds = rows.min(axis=0).astype(np.float64), rows.max(axis=0).astype(np.float64)
        return Sketch(self, total, count, saturated, bounds)

    def encode(self, X: Any) -> npt.NDArray[np.uint8]:
        """Encode rows X: (rows, n) as a sensor would: M bits a row, packed as uint8 (rows, ceil(M / 8)).

        Little bit first within a byte, 1 standing for a contribution of −1; bits beyond M are 0.
        """
        self._require_one_bit("encode")
        rows = as_rows(X, self.n_features)
        bits = np.empty((len(rows), -(-self.n_measurements // 8)), np.uint8)
        height = self._chunk_height
        for start in range(0, len(rows), height):
            part = rows[start : start + height]
            require_finite(part, part.min(axis=0), part.max(axis=0), start)
            codes, _ = kernel.code_rows(part, self.steps, self.origin)
            bits[start : start + height] = kernel.pack_bits(self._contributions(codes))
        return bits

    def pool(self, bits: npt.ArrayLike) -> Sketch:
        """Sum the bits of rows, as `encode` packs them, to the sketch that the rows themselves would give.

        Bits say nothing of bounds or clipping: the sketch's bounds are those of what can be coded (`op.reach`).
        """
        from qckm.sketch import Sketch

        self._require_one_bit("pool")
        packed = np.asarray(bits)
        width = -(-self.n_measurements // 8)
        if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != width:
            raise RowsError(f"Expected bits as uint8 of shape (rows, {width}), got {packed.dtype} {packed.shape}.")
        spare = 8 * width - self.n_measurements
        if spare and (packed[:, -1] >> (8 - spare)).any():
            raise RowsError(f"Expected the last {spare} bit(s) of a row to be 0, got a 1: bits of another operator?")
        total = np.zeros(self.n_measurements, np.int64)
        height = self._chunk_height
        for start in range(0, len(packed), height):
            part = packed[start : start + height]
            total += kernel.unpack_bits(part, self.n_measurements).sum(axis=0, dtype=np.int64)
        return Sketch(self, total, len(packed), 0, self.reach) if len(packed) else self.empty()

    @property
    def _chunk_height(self) -> int:
        return max(1, _CHUNK // self.n_measurements)

    def _contributions(self, codes: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
        phases = kernel.project(codes, self.frequency_codes, self.dither_codes)
        return kernel.measure(phases, self.signature.table, self.paired)

    def _require_one_bit(self, verb: str) -> None:
        if not self.signature.is_one_bit:
            raise OperatorError(
                f"Only the contributions of a one-bit signature are bits: cannot {verb} with {self.signature.name!r}. "
                "Use sketch, or draw the operator with signature='one-bit'."
            )


def _count(name: str, value: Any) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise OperatorError(f"Expected {name} to be a whole number >= 1, got {value!r}.")
    return int(value)


def _per_feature(name: str, values: npt.ArrayLike | None, n: int, default: float) -> Floats:
    if values is None:
        return np.full(n, default)
    try:
        array = np.broadcast_to(np.asarray(values, np.float64), (n,)).copy()
    except ValueError as error:
        raise OperatorError(f"Expected {name} of shape ({n},), got {np.shape(values)}.") from error
    if not np.isfinite(array).all():
        raise OperatorError(f"Expected finite {name}, got NaN or infinity.")
    return array


def _per_frequency(name: str, values: npt.ArrayLike, m: int) -> Floats:
    array = np.asarray(values, np.float64)
    if array.shape != (m,) or not np.isfinite(array).all():
        raise OperatorError(f"Expected finite {name} of shape ({m},), got {array.shape}.")
    return array


def _power_of_two_below(values: npt.ArrayLike) -> Floats:
    """Return the largest power of two ≤ each value, exactly: frexp reads the exponent, no logarithm rounds."""
    powers: Floats = np.ldexp(0.5, np.frexp(np.asarray(values, np.float64))[1])
    return powers
