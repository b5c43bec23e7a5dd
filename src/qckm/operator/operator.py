"""Operator: frequencies + dither + signature, and everything else two sketches must share to be added."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Array, Floats, Value, sha256
from qckm.errors import OperatorError
from qckm.kernels import reference as kernel
from qckm.operator.arguments import as_names, as_origin, as_ranges, as_steps, as_units
from qckm.operator.codes import Codes
from qckm.operator.request import Dither
from qckm.operator.signatures import Signature
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
        """The frequencies as integers, (n, m), in 2**24ths of a turn a step; or structured ones."""
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

    @property
    def short_fingerprint(self) -> bytes:
        """The first 8 bytes of the fingerprint: what stands for the operator in a sensor's message."""
        return bytes.fromhex(self.fingerprint)[:8]

    @cached_property
    def fingerprint(self) -> str:
        """A hex digest of all that the bits of a sketch depend on."""
        n, m = self.codes.shape
        digest = sha256(f"{self.arithmetic} {n} {m} {self.dither} {self.signature.full_scale}\n".encode())
        digest.update(self.codes.to_bytes())
        arrays: list[tuple[Array, str]] = [
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
