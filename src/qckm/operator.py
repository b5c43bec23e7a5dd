"""SketchOperator: frequencies + dither + signature, and everything else two sketches must share to be added."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from qckm import drawing, seeded, signatures
from qckm.arguments import (
    as_count,
    as_extent,
    as_jobs,
    as_names,
    as_origin,
    as_scale,
    as_steps,
    as_units,
    per_frequency,
    require_codes,
    require_lengths,
)
from qckm.drawing import Dither, Wishes
from qckm.elsewhere import engine_of
from qckm.errors import OperatorError, RowsError
from qckm.frequencies import Law, get_law
from qckm.kernels import reference as kernel
from qckm.kernels.portable import PortableSketcher
from qckm.kernels.sketcher import Measurement, Sketcher, count_bits, make_sketcher
from qckm.octaves import count_octaves
from qckm.random import as_generator
from qckm.rows import as_rows, as_weights, raise_not_finite, require_names
from qckm.signatures import Signature
from qckm.structured import StructuredCodes
from qckm.values import Value

if TYPE_CHECKING:
    from qckm.sketch import Sketch

Floats = npt.NDArray[np.float64]

@dataclass(frozen=True, eq=False)
class SketchOperator(Value):
    """What is measured of a row: A_f with its frequencies, dither, signature, origin and steps, all as integers.

    Build one with `draw` (random frequencies of a law) or `from_frequencies` (your own). Two operators are equal when
    they measure the same, as their fingerprints say, and decode alike: units and octaves are the same, too. Then, and
    only then, their sketches may be added.

    Parameters
    ----------
    frequency_codes : ndarray of int16, shape (n, m), or StructuredCodes
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
    units : ndarray of float64, shape (n,), optional
        The size of a unit of each feature, in which distances between rows count; ones by default. Not part of the
        fingerprint, as no bit depends on it; but decoding does, so operators of unlike units are not equal.
    feature_names : tuple of str, optional
        A note: the columns, in order. Frames with other columns are refused.

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

    frequency_codes: npt.NDArray[np.int16] | StructuredCodes
    dither_codes: npt.NDArray[np.int32]
    steps: Floats
    origin: Floats
    signature: Signature
    dither: Dither
    law: str = "custom"
    scale: float | None = None
    units: Floats = None  # type: ignore[assignment]  # ones, once made
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        n, m = self.frequency_codes.shape
        object.__setattr__(self, "units", as_units(self.units, n))
        object.__setattr__(self, "feature_names", as_names(self.feature_names, n))
        require_codes(self.frequency_codes, self.dither_codes)
        if self.dither_codes.shape != (m,) or self.steps.shape != (n,) or self.origin.shape != (n,):
            raise OperatorError(
                f"Expected dither ({m},), steps ({n},) and origin ({n},) for frequencies ({n}, {m}), got "
                f"{self.dither_codes.shape}, {self.steps.shape} and {self.origin.shape}."
            )
        if self.dither not in ("paired", "single"):
            raise OperatorError(f"Expected dither 'paired' or 'single', got {self.dither!r}.")
        as_steps(self.steps, n)
        if not np.array_equal(as_origin(self.origin, self.steps), self.origin):
            raise OperatorError("Expected a finite origin, a whole number of steps in each feature.")
        if not isinstance(self.law, str) or not (self.scale is None or 0 < self.scale < np.inf):
            raise OperatorError(
                f"Expected a law's name, and a finite scale > 0 or None, got {self.law!r}, {self.scale!r}."
            )
        for array in (self.frequency_codes, self.dither_codes, self.steps, self.origin, self.units):
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
        frequencies: Literal["auto", "dense", "structured"] = "auto",
        feature_names: Sequence[str] | None = None,
        octaves: int = 1,
        extent: npt.ArrayLike | None = None,
    ) -> SketchOperator:
        """Draw an operator at random.

        Parameters
        ----------
        n_features, n_frequencies : int
            n and m.
        scale : float
            The kernel's length s = sqrt(n / E‖ω‖²), in units.
        law : str or Law, default "gaussian"
            "gaussian", "folded-gaussian", "adapted-radius", "balanced-radius" or "concentrated-radius"; or "seeded",
            much like the last, of a seed that is drawn: see `from_seed`.
        signature : str, Signature or callable, default "one-bit"
            "exponential" is CKM. A callable must be 2π-periodic, centred and in [−1, 1].
        dither : {"paired", "single"}, default "paired"
            Whether each frequency is measured at ξ and ξ + π/2, or at ξ alone.
        origin : array-like of shape (n,), optional
            The point from which phases count, best near the middle of the data; 0 by default. Rounded to whole steps.
        units : array-like of shape (n,), optional
            The size of a unit of each feature, 1 by default: the standard deviations, to sketch standardised rows.
        steps : array-like of shape (n,), optional
            Resolution of each feature, a power of two; by default between 1/2048 and 1/1024 of scale · unit, which
            reaches 16 to 32 scales from the origin. Rows beyond `op.reach` are clipped.
        random_state : None, int, Generator or RandomState
        frequencies : {"auto", "dense", "structured"}, default "auto"
            "dense": independent directions. "structured": orthogonal blocks of Hadamard transforms, of the same law,
            that take m·log n rather than m·n operations a row. "auto": structured where that is at least twice as
            fast, from about 256 features on, dense elsewhere.
        feature_names : sequence of str, optional
            The columns, in order: a note that travels with the operator.
        octaves : int, default 1
            Where the scale is not known: at how many scales to measure the m frequencies, from `scale`, the finest, to
            2**(octaves − 1) times that; `decode` then takes the one that suits. octaves · m frequencies in all, dense.
        extent : array-like of shape (n,), optional
            How far rows go from the origin, in data units. Where that is further than steps reach by default, they are
            longer, as far as the frequencies fit; one in a hundred of these may be lowered for it.

        Returns
        -------
        SketchOperator
        """
        octaves = as_count("octaves", octaves)
        n, m = as_count("n_features", n_features), as_count("n_frequencies", n_frequencies)
        if frequencies not in ("auto", "dense", "structured"):
            raise OperatorError(f"Expected frequencies 'auto', 'dense' or 'structured', got {frequencies!r}.")
        rng = as_generator(random_state)
        if law == seeded.LAW:
            if frequencies == "structured":
                raise OperatorError("Seeded frequencies are dense: use another law for structured ones.")
            if octaves > 1:
                raise OperatorError("Seeded frequencies have one scale: use another law for more than one octave.")
            seed = int(rng.integers(2**32))
            return cls.from_seed(n, m, scale, seed, signature, dither, origin, units, steps, feature_names, extent)
        sizes, signature, law = as_units(units, n), signatures.get(signature), get_law(law)
        wishes = _wishes(n, m, scale, sizes, steps, extent, signature, dither)
        drawn = drawing.draw(wishes, law, frequencies, octaves, rng)
        start = as_origin(origin, drawn.steps)
        return cls(*drawn, start, signature, dither, law.name, wishes.scale, sizes, as_names(feature_names, n))

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
        units: npt.ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> SketchOperator:
        """Make an operator of frequencies of your own, (n, m) in radians a data unit, and dither `phases` in radians.

        The frequencies are rounded to 2π / (2**24 · step); `op.frequencies` gives back what is measured. Phases are
        drawn uniformly unless given, except that a pair of a pure tone (the exponential signature) needs none: 0.
        `units` and `feature_names` are notes: the frequencies are those given, in data units.

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
        require_lengths("frequencies", np.abs(omega[omega != 0]))
        signature = signatures.get(signature)
        sizes = as_steps(drawing.steps_of(omega) if steps is None else steps, n)
        codes = drawing.code_frequencies(omega, sizes)
        if phases is None:
            dither_codes = drawing.draw_dither(m, signature, dither, as_generator(random_state))
        else:
            turns = per_frequency("phases", phases, m) * (kernel.TURN / (2 * np.pi))
            dither_codes = (np.rint(turns).astype(np.int64) % kernel.TURN).astype(np.int32)
        start = as_origin(origin, sizes)
        notes = (law, scale, as_units(units, n), as_names(feature_names, n))
        return cls(codes, dither_codes, sizes, start, signature, dither, *notes)

    @classmethod
    def from_seed(
        cls,
        n_features: int,
        n_frequencies: int,
        scale: float,
        seed: int,
        signature: str | Signature | Callable[[Any], Any] = "one-bit",
        dither: Dither = "paired",
        origin: npt.ArrayLike | None = None,
        units: npt.ArrayLike | None = None,
        steps: npt.ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        extent: npt.ArrayLike | None = None,
    ) -> SketchOperator:
        """Make the operator of the seeded law: a device with little memory can make its frequencies itself.

        The same seed gives the same operator for ever, on every machine: the generator is written down in
        docs/arithmetic.md, and `op.export_c(path, regenerate=True)` writes it in C. Parameters are those of `draw`.

        Examples
        --------
        >>> import qckm
        >>> op = qckm.SketchOperator.from_seed(3, 64, scale=2.0, seed=7)
        >>> op.law, op == qckm.SketchOperator.from_seed(3, 64, scale=2.0, seed=7)
        ('seeded 7', True)
        """
        n, m = as_count("n_features", n_features), as_count("n_frequencies", n_frequencies)
        sizes, signature = as_units(units, n), signatures.get(signature)
        wishes = _wishes(n, m, scale, sizes, steps, extent, signature, dither)
        drawn, law = drawing.draw_seeded(wishes, seed)
        start = as_origin(origin, drawn.steps)
        return cls(*drawn, start, signature, dither, law, wishes.scale, sizes, as_names(feature_names, n))

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
    def arithmetic(self) -> str:
        """The name and version of the arithmetic, docs/arithmetic.md: that of dense or of structured frequencies."""
        return kernel.STRUCTURED_ARITHMETIC if isinstance(self.frequency_codes, StructuredCodes) else kernel.ARITHMETIC

    @property
    def n_measurements(self) -> int:
        """The length of a sketch, M: 2m paired, m single."""
        return self.n_frequencies * (2 if self.paired else 1)

    @cached_property
    def octaves(self) -> int:
        """At how many scales, a factor 2 apart, the frequencies were drawn to be measured; read off the codes.

        Frequencies of one's own are taken as they are: those that double may mean something else there.
        """
        if isinstance(self.frequency_codes, StructuredCodes) or self.law == "custom":
            return 1
        return count_octaves(self.frequency_codes)

    def octave(self, j: int) -> SketchOperator:
        """Return the operator of one octave alone: 0 has the coarsest scale, octaves − 1 the finest.

        Examples
        --------
        >>> import qckm
        >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=50, scale=1.0, octaves=3, random_state=0)
        >>> op.n_frequencies, [op.octave(j).scale for j in range(op.octaves)]
        (150, [4.0, 2.0, 1.0])
        """
        octaves = self.octaves
        if isinstance(j, (bool, np.bool_)) or not isinstance(j, (int, np.integer)) or not 0 <= j < octaves:
            raise OperatorError(f"Expected an octave from 0 to {octaves - 1}, got {j!r}.")
        if isinstance(self.frequency_codes, StructuredCodes) or octaves == 1:
            return self
        m = self.n_frequencies // octaves
        here = slice(j * m, (j + 1) * m)
        return replace(
            self,
            frequency_codes=np.ascontiguousarray(self.frequency_codes[:, here]),
            dither_codes=self.dither_codes[here].copy(),
            scale=None if self.scale is None else self.scale * 2.0 ** (octaves - 1 - j),
        )

    @property
    def frequencies(self) -> Floats:
        """The frequencies that are measured, (n, m), in radians a data unit."""
        codes = self.frequency_codes
        turns = codes.codes() if isinstance(codes, StructuredCodes) else codes.astype(np.float64)
        return turns * (2 * np.pi / kernel.TURN) / self.steps[:, np.newaxis]

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
        codes = self.frequency_codes
        arrays: list[tuple[npt.NDArray[Any], str]] = []
        if isinstance(codes, StructuredCodes):
            arrays += [(codes.packed_signs(), "u1"), (codes.factors, "<i4"), (codes.radii, "<i4")]
        else:
            arrays += [(codes, "<i2")]
        arrays += [
            (self.dither_codes, "<i4"),
            (self.steps, "<f8"),
            (self.origin + 0.0, "<f8"),  # -0.0 and 0.0 are one origin
            (self.signature.table, "<i2"),
        ]
        digest.update(f"{self.arithmetic} {n} {m} {self.dither} {self.signature.full_scale}\n".encode())
        for array, kind in arrays:
            digest.update(array.astype(kind).tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SketchOperator) and self.difference(other) is None

    def difference(self, other: SketchOperator) -> str | None:
        """Return in words what keeps sketches of two operators from being added; None where nothing does."""
        if self.fingerprint != other.fingerprint:
            return f"different operators: {self!r} and {other!r}"
        if not np.array_equal(self.units, other.units):
            return f"operators that count distances in different units: {self.units!r:.200} and {other.units!r:.200}"
        if self.octaves != other.octaves:
            return f"operators of {self.octaves} (law={self.law!r}) and {other.octaves} octaves (law={other.law!r})"
        return None

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

    def sketch(self, X: Any, sample_weight: Any = None, n_jobs: int | None = None) -> Sketch:
        """Sketch rows X: (rows, n): the sum of their contributions, in one pass, a bounded number of rows at a time.

        Parameters
        ----------
        X : array-like of shape (rows, n)
            NumPy (memmaps too), pandas, polars, pyarrow; float32, float64 or integers. NaN and infinity are refused.
            Dask arrays, data frames and bags, Spark DataFrames and Ray datasets are sketched where they are.
        sample_weight : array-like of shape (rows,), optional
            Whole numbers count a row that often, exactly; other weights make the sum a float64 one, and slower.
        n_jobs : int, optional
            How many threads; −1 for all cores. None, too, is all cores, but no more than OMP_NUM_THREADS or
            threadpoolctl allow. The result does not depend on it.

        Returns
        -------
        Sketch
        """
        from qckm.sketch import Sketch

        if engine_of(X):
            from qckm import engines

            return engines.sketch(self, X, sample_weight=sample_weight, n_jobs=as_jobs(n_jobs))
        require_names(X, self.feature_names)
        rows = as_rows(X, self.n_features)
        weights = None if sample_weight is None else as_weights(sample_weight, len(rows))
        if weights is not None and weights.dtype != np.int64:
            # Sums of floats depend on their order, which here depends on nothing.
            found = PortableSketcher(self._measurement).sum(rows, weights)
        else:
            found = self._sketcher.sum(rows, weights, as_jobs(n_jobs))  # type: ignore[arg-type]
        if found.bad_row is not None:
            raise_not_finite(rows[found.bad_row :][:1], found.bad_row)
        return Sketch(self, found.total, found.count, found.saturated, (found.lower, found.upper))

    def encode(self, X: Any, n_jobs: int | None = None) -> npt.NDArray[np.uint8]:
        """Encode rows X: (rows, n) as a sensor would: M bits a row, packed as uint8 (rows, ceil(M / 8)).

        Little bit first within a byte, 1 standing for a contribution of −1; bits beyond M are 0.
        """
        self._require_one_bit("encode")
        require_names(X, self.feature_names)
        rows = as_rows(X, self.n_features)
        bits = np.empty((len(rows), -(-self.n_measurements // 8)), np.uint8)
        bad_row = self._sketcher.encode(rows, bits, as_jobs(n_jobs))
        if bad_row is not None:
            raise_not_finite(rows[bad_row:][:1], bad_row)
        return bits

    def pool(self, bits: npt.ArrayLike, n_jobs: int | None = None) -> Sketch:
        """Sum the bits of rows, as `encode` packs them, to the sketch that the rows themselves would give.

        Bits say nothing of bounds or clipping: the sketch's bounds are those of what can be coded (`op.reach`).
        """
        from qckm.sketch import Sketch

        self._require_one_bit("pool")
        packed = np.asarray(bits)
        width = -(-self.n_measurements // 8)
        if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != width:
            raise RowsError(f"Expected bits as uint8 of shape (rows, {width}), got {packed.dtype} {packed.shape}.")
        ones = count_bits(packed, as_jobs(n_jobs))
        spare = ones[self.n_measurements :]
        if spare.any():
            raise RowsError(
                f"Expected the last {len(spare)} bit(s) of a row to be 0, got a 1: bits of another operator?"
            )
        total = len(packed) - 2 * ones[: self.n_measurements]
        return Sketch(self, total, len(packed), 0, self.reach) if len(packed) else self.empty()

    def export_c(
        self,
        path: str | os.PathLike[str],
        prefix: str = "qckm",
        regenerate: bool = False,
        counter_bits: int = 16,
        hints: bool = True,
    ) -> None:
        """Write a C99 header that computes the same bits on a device, with integers only (docs/sensor.md).

        Parameters
        ----------
        path : path
        prefix : str, default "qckm"
            What the names of functions and macros start with.
        regenerate : bool, default False
            Whether the device makes the frequencies itself, slower and in less flash; for the seeded law only.
        counter_bits : {16, 32}, default 16
            Local counters hold 65535 or 2**32 - 1 rows.
        hints : bool, default True
            Whether regenerated frequencies come with a byte each, of flash, that saves two thirds of the time.

        Examples
        --------
        >>> import os, tempfile, qckm
        >>> op = qckm.SketchOperator.from_seed(3, 64, scale=500.0, seed=7, steps=1.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     op.export_c(os.path.join(folder, "encoder.h"), regenerate=True)
        """
        from qckm.sensor import export_c

        export_c(self, path, prefix, regenerate, counter_bits, hints)

    @property
    def _measurement(self) -> Measurement:
        how = self.signature.table, self.paired, self.octaves
        return Measurement(self.frequency_codes, self.dither_codes, self.steps, self.origin, *how)

    @cached_property
    def _sketcher(self) -> Sketcher:
        return make_sketcher(self._measurement)

    def _require_one_bit(self, verb: str) -> None:
        if not self.signature.is_one_bit:
            raise OperatorError(
                f"Only the contributions of a one-bit signature are bits: cannot {verb} with {self.signature.name!r}. "
                "Use sketch, or draw the operator with signature='one-bit'."
            )


def _wishes(
    n: int,
    m: int,
    scale: Any,
    units: Floats,
    steps: npt.ArrayLike | None,
    extent: npt.ArrayLike | None,
    signature: Signature,
    dither: Dither,
) -> Wishes:
    grid = None if steps is None else as_steps(steps, n)
    reach = None if extent is None else as_extent(extent, n)
    require_lengths("scale times units", as_scale(scale) * units)
    return Wishes(n, m, as_scale(scale), units, grid, reach, signature, dither)
