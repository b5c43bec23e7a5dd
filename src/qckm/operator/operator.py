"""Operator: frequencies + dither + signature, and everything else two sketches must share; the ways to make one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Array, Floats, Value, sha256
from qckm.common.random import RandomStateLike, as_generator
from qckm.errors import OperatorError
from qckm.kernels import reference as kernel
from qckm.operator import drawing, seeded, signatures
from qckm.operator.codes import Codes
from qckm.operator.laws import Law
from qckm.operator.request import (
    LAW_OF_RANGES,
    Dither,
    Drawn,
    OperatorRequest,
    as_count,
    as_names,
    as_origin,
    as_ranges,
    as_steps,
    as_units,
    choose_n_frequencies,
    draw_dither,
    needs_dither,
    per_frequency,
    require_lengths,
    suit_ranges,
)
from qckm.operator.signatures import Signature, SignatureLike
from qckm.operator.structured import StructuredCodes


@dataclass(frozen=True, eq=False)
class Operator(Value):
    """What is measured of a row: A_f with its frequencies, dither, signature, origin and steps, all as integers.

    Parameters
    ----------
    codes : Codes
        Frequencies and dither, and at how many scales they are.
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
    ranges : pair of ndarray of float64, shape (n,), optional
        A note: what the columns may be, lower and upper, where the operator was made from public knowledge alone, no
        row having been looked at (`from_ranges`). It is what a private sketch says of the rows' whereabouts.
    """

    codes: Codes
    steps: Floats
    origin: Floats
    signature: Signature
    dither: Dither
    law: str = "custom"
    scale: float | None = None
    units: Floats = None  # type: ignore[assignment]  # ones, once made
    feature_names: tuple[str, ...] | None = None
    ranges: tuple[Floats, Floats] | None = None

    def __post_init__(self) -> None:
        n, m = self.codes.shape
        object.__setattr__(self, "units", as_units(self.units, n))
        object.__setattr__(self, "feature_names", as_names(self.feature_names, n))
        if self.ranges is not None:
            object.__setattr__(self, "ranges", as_ranges(*self.ranges, n))
        if self.steps.shape != (n,) or self.origin.shape != (n,):
            raise OperatorError(
                f"Expected steps ({n},) and origin ({n},) for frequencies ({n}, {m}), got "
                f"{self.steps.shape} and {self.origin.shape}."
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
        for array in (self.steps, self.origin, self.units, *(self.ranges or ())):
            array.setflags(write=False)

    @classmethod
    def draw(
        cls,
        n_features: int,
        n_frequencies: int,
        scale: float,
        law: str | Law = "integer-gaussian",
        signature: SignatureLike = "one-bit",
        dither: Dither = "paired",
        origin: npt.ArrayLike | None = None,
        units: npt.ArrayLike | None = None,
        steps: npt.ArrayLike | None = None,
        random_state: RandomStateLike = None,
        frequencies: drawing.Arrangement = "auto",
        feature_names: Sequence[str] | None = None,
        octaves: int = 1,
        extent: npt.ArrayLike | None = None,
    ) -> Self:
        """Draw an operator at random.

        Parameters
        ----------
        n_features, n_frequencies : int
            n and m.
        scale : float
            The kernel's length s = sqrt(n / E‖ω‖²), in units.
        law : str or Law, default "integer-gaussian"
            "integer-gaussian", "integer-balanced" or "integer-concentrated": made by integers alone from a seed that is
            drawn, so that a file holds a few bytes in place of the frequencies. "gaussian", "balanced-radius" and
            "concentrated-radius" are spread as these and are written whole, as are "folded-gaussian", "adapted-radius"
            and "seeded", which is that of `from_seed`.
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
            that take m·log n rather than m·n operations per row. "auto": structured where that is at least twice as
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
        request = OperatorRequest(n_features, n_frequencies, scale, units, steps, extent, signature, dither, octaves)
        drawn, note = drawing.draw(request, law, frequencies, as_generator(random_state))
        return cls._of(request, drawn, note, origin, feature_names)

    @classmethod
    def from_ranges(
        cls,
        lower: npt.ArrayLike,
        upper: npt.ArrayLike,
        n_clusters: int,
        n_frequencies: int | None = None,
        octaves: int | None = None,
        law: str | Law = LAW_OF_RANGES,
        signature: SignatureLike = "one-bit",
        dither: Dither = "paired",
        units: npt.ArrayLike | None = None,
        random_state: RandomStateLike = None,
        feature_names: Sequence[str] | None = None,
        private: bool = False,
    ) -> Self:
        """Draw an operator from what the columns may be, and look at no row.

        The origin is the middle of the ranges. Clusters are at most as wide as K of them that fill the ranges, and may
        be much narrower: frequencies are measured at several scales, and decoding takes what suits. Where ranges are
        public, so is the operator, and a sketch of it may be released (`qckm.privacy.release`). Values beyond the
        ranges are clipped, where they are further from the middle than `op.reach`.

        Parameters
        ----------
        lower, upper : array-like of shape (n,)
            The least and the greatest value that each column may have: public knowledge, not the rows' own extremes.
        n_clusters : int
            K.
        n_frequencies : int, optional
            How many frequencies to measure at each scale; 20nK by default, or 5nK if sketches are to be private.
        octaves : int, optional
            How many scales, each half of the one before; 5 by default, or as many as fit, in one column of many
            clusters.
        law : str or Law, default "integer-balanced"
        signature, dither, random_state, feature_names
            As those of `draw`.
        units : array-like of shape (n,), optional
            The size of a unit of each feature, 1 by default: `upper − lower`, to count each column by its range.
        private : bool, default False
            Whether sketches are to be released with noise, of which each measurement has the more, the more there are.

        Returns
        -------
        SketchOperator

        Examples
        --------
        >>> import qckm
        >>> op = qckm.SketchOperator.from_ranges([0, 0, 0], [255, 255, 255], n_clusters=10, random_state=0)
        >>> op.octaves, op.n_frequencies, op.origin
        (5, 3000, array([127.5, 127.5, 127.5]))
        """
        low, high = as_ranges(lower, upper)
        n, K = low.size, as_count("n_clusters", n_clusters)
        m = choose_n_frequencies(n, K, not private) if n_frequencies is None else n_frequencies
        sizes = as_units(units, n)
        coarsest, steps, most = suit_ranges(low, high, sizes, K)
        octaves = most if octaves is None else as_count("octaves", octaves)
        finest = coarsest / 2 ** (octaves - 1)
        request = OperatorRequest(n, m, finest, sizes, steps, None, signature, dither, octaves)
        drawn, note = drawing.draw(request, law, "dense", as_generator(random_state))
        return cls._of(request, drawn, note, (low + high) / 2, feature_names, (low, high))

    @classmethod
    def from_frequencies(
        cls,
        frequencies: npt.ArrayLike,
        signature: SignatureLike = "one-bit",
        dither: Dither = "paired",
        phases: npt.ArrayLike | None = None,
        origin: npt.ArrayLike | None = None,
        steps: npt.ArrayLike | None = None,
        law: str = "custom",
        scale: float | None = None,
        random_state: RandomStateLike = None,
        units: npt.ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        octaves: int = 1,
    ) -> Self:
        """Make an operator of frequencies of your own, (n, m) in radians per data unit, and dither `phases` in radians.

        The frequencies are rounded to 2π / (2**24 · step); `op.frequencies` gives back what is measured. Phases are
        drawn uniformly unless given, except that a pair of a pure tone (the exponential signature) needs none: 0.
        `units` and `feature_names` are notes: the frequencies are those given, in data units. Several `octaves` are
        blocks of frequencies, the lowest first, each exactly twice the one before.

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
            dither_codes = draw_dither(m, needs_dither(signature, dither), as_generator(random_state))
        else:
            turns = per_frequency("phases", phases, m) * (kernel.TURN / (2 * np.pi))
            dither_codes = (np.rint(turns).astype(np.int64) % kernel.TURN).astype(np.int32)
        start = as_origin(origin, sizes)
        notes = (law, scale, as_units(units, n), as_names(feature_names, n))
        return cls(Codes(codes, dither_codes, as_count("octaves", octaves)), sizes, start, signature, dither, *notes)

    @classmethod
    def from_seed(
        cls,
        n_features: int,
        n_frequencies: int,
        scale: float,
        seed: int,
        signature: SignatureLike = "one-bit",
        dither: Dither = "paired",
        origin: npt.ArrayLike | None = None,
        units: npt.ArrayLike | None = None,
        steps: npt.ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        extent: npt.ArrayLike | None = None,
    ) -> Self:
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
        request = OperatorRequest(n_features, n_frequencies, scale, units, steps, extent, signature, dither)
        drawn, note = seeded.draw_codes(request, seed)
        return cls._of(request, drawn, note, origin, feature_names)

    @classmethod
    def _of(
        cls,
        request: OperatorRequest,
        drawn: Drawn,
        note: str,
        origin: npt.ArrayLike | None,
        feature_names: Sequence[str] | None,
        ranges: tuple[Floats, Floats] | None = None,
    ) -> Self:
        start, names = as_origin(origin, drawn.steps), as_names(feature_names, request.n)
        return cls(*drawn, start, request.signature, request.dither, note, request.scale, request.units, names, ranges)

    @property
    def n_features(self) -> int:
        """The number of features of a row, n."""
        return self.codes.shape[0]

    @property
    def n_frequencies(self) -> int:
        """The number of frequencies, m."""
        return self.codes.shape[1]

    @property
    def frequency_codes(self) -> npt.NDArray[np.int16] | StructuredCodes:
        """The frequencies as integers, (n, m), in 2**24ths of a turn per step; or structured ones."""
        return self.codes.frequency_codes

    @property
    def dither_codes(self) -> npt.NDArray[np.int32]:
        """The dither as integers, (m,), in 2**24ths of a turn."""
        return self.codes.dither_codes

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

    @property
    def octaves(self) -> int:
        """At how many scales, a factor 2 apart, the frequencies are measured."""
        return self.codes.octaves

    def octave(self, j: int) -> Self:
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
        if octaves == 1 or isinstance(self.frequency_codes, StructuredCodes):
            return self
        m = self.n_frequencies // octaves
        here = slice(j * m, (j + 1) * m)
        frequencies = np.ascontiguousarray(self.frequency_codes[:, here])
        return replace(
            self,
            codes=Codes(frequencies, self.dither_codes[here].copy()),
            scale=None if self.scale is None else self.scale * 2.0 ** (octaves - 1 - j),
        )

    @property
    def frequencies(self) -> Floats:
        """The frequencies that are measured, (n, m), in radians per data unit."""
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

    @property
    def short_fingerprint(self) -> bytes:
        """The first 8 bytes of the fingerprint: what stands for the operator in a sensor's message."""
        return bytes.fromhex(self.fingerprint)[:8]

    @cached_property
    def fingerprint(self) -> str:
        """A hex digest of all that the bits of a sketch depend on."""
        n, m = self.codes.shape
        digest = sha256(f"{self.arithmetic} {n} {m} {self.dither} {self.signature.full_scale}\n".encode())
        codes = self.frequency_codes
        arrays: list[tuple[Array, str]] = (
            [(codes, "<i2")]
            if isinstance(codes, np.ndarray)
            else [(codes.packed_signs(), "u1"), (codes.factors, "<i4"), (codes.radii, "<i4")]
        )
        arrays += [
            (self.dither_codes, "<i4"),
            (self.steps, "<f8"),
            (self.origin + 0.0, "<f8"),  # -0.0 and 0.0 are one origin
            (self.signature.table, "<i2"),
        ]
        for array, kind in arrays:
            digest.update(array.astype(kind).tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operator) and self.difference(other) is None

    def difference(self, other: Operator) -> str | None:
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
            f"{type(self).__name__}(n_features={self.n_features}, n_frequencies={self.n_frequencies}, "
            f"signature={self.signature.name!r}, dither={self.dither!r}, law={self.law!r}, scale={self.scale}, "
            f"fingerprint={self.fingerprint[:12]!r})"
        )
