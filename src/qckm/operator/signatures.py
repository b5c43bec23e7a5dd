"""How a phase becomes a number: the paper's section 3, where any centred periodic function may stand for exp(−i·).

A signature is a table of 4096 integers, one for each 4096th of a turn. The table *is* the signature: its harmonics are
computed from it, so a function of the user's own is as exact, and as fast, as the built-in ones. Nothing else in the
code asks which signature it has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Value
from qckm.errors import SignatureError
from qckm.kernels.reference import COSINE_TABLE, ONE_BIT_TABLE, TABLE_SIZE

ONE_BIT = "one-bit"
FULL_SCALE = 32767  # what stands for 1 in a table; the one-bit signature alone counts in units of 1

_ANGLES = 2 * np.pi * (np.arange(TABLE_SIZE) + 0.5) / TABLE_SIZE
# A discontinuity between two angles of the table moves the mean by up to its height / 4096.
_CENTRED_WITHIN = 1e-3
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Signature(Value):
    """A 2π-periodic function, centred and in [−1, 1], as the integers that are added up.

    Parameters
    ----------
    name : str
        What it is called in files and messages.
    table : ndarray of int16, shape (4096,)
        Its values at the middles of 4096 equal parts of a turn.
    full_scale : int
        The table value that stands for 1: 32767, or 1 in the one-bit signature.

    Examples
    --------
    >>> import qckm
    >>> one_bit = qckm.signatures.get("one-bit")
    >>> abs(one_bit.harmonics[1:4]).round(4)  # 2/π, 0, 2/3π
    array([0.6366, 0.    , 0.2122])
    >>> one_bit([0.0, 3.0])
    array([ 1., -1.])
    """

    name: str
    table: npt.NDArray[np.int16]
    full_scale: int = FULL_SCALE

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.table.shape != (TABLE_SIZE,) or self.table.dtype != np.int16:
            raise SignatureError(f"Expected a name and a table of {TABLE_SIZE} int16, got {self.table.shape}.")
        # A file says whether it is the one-bit signature, and nothing more of the full scale.
        if self.full_scale != (1 if self.name == ONE_BIT and self.is_one_bit else FULL_SCALE):
            raise SignatureError(f"Expected a full scale of {FULL_SCALE}, got {self.full_scale!r}: scale the table.")
        if (np.abs(self.table.astype(np.int32)) > self.full_scale).any():
            raise SignatureError(f"Expected table values from {-self.full_scale} to {self.full_scale}.")
        self.table.setflags(write=False)
        if self.amplitude < _CENTRED_WITHIN:
            raise SignatureError(
                "Expected a signature with a first harmonic, got F₁ = 0: the paper's method reads the data off that "
                "harmonic. A function of period π has none; stretch it to period 2π."
            )

    @classmethod
    def from_function(cls, function: Callable[[Any], Any], name: str = "custom") -> Signature:
        """Make a signature of any function of the phase in radians; refuse with a reason one that cannot be used.

        Examples
        --------
        >>> import numpy as np
        >>> Signature.from_function(lambda t: np.cos(t) ** 3).name
        'custom'
        """
        values = _evaluate(function, _ANGLES)
        if not np.isfinite(values).all():
            raise SignatureError("Expected a signature with finite values, got NaN or infinity.")
        if not np.allclose(values, _evaluate(function, _ANGLES + 2 * np.pi), atol=1e-6):
            raise SignatureError("Expected a signature of period 2π, got one that changes when its phase turns once.")
        if np.abs(values).max() > 1 + _ROUNDING:
            raise SignatureError(
                f"Expected values in [-1, 1], got {values[np.abs(values).argmax()]:.4g}: divide by it."
            )
        if abs(values.mean()) > _CENTRED_WITHIN:
            raise SignatureError(f"Expected a centred signature, got mean {values.mean():.4g}: subtract it.")
        return cls(name, _table(np.clip(values, -1, 1)))

    def __call__(self, phase: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Evaluate at phases in radians, as the sketch does."""
        part = np.floor(np.asarray(phase, np.float64) * (TABLE_SIZE / (2 * np.pi))).astype(np.int64) % TABLE_SIZE
        values: npt.NDArray[np.float64] = self.table[part] / self.full_scale
        return values

    @cached_property
    def harmonics(self) -> npt.NDArray[np.complex128]:
        """Fourier coefficients F_k for k = 0 … 2047; F_−k is the conjugate of F_k.

        The function that is measured is the staircase of the table, whose coefficients are those of the discrete
        transform times sinc(k / 4096): exact, whatever the shape.
        """
        k = np.arange(TABLE_SIZE // 2)
        discrete = np.fft.fft(self.table / self.full_scale)[k] / TABLE_SIZE
        coefficients: npt.NDArray[np.complex128] = (
            discrete * np.sinc(k / TABLE_SIZE) * np.exp(-1j * np.pi * k / TABLE_SIZE)
        )
        return coefficients

    @property
    def amplitude(self) -> float:
        """Height of the first harmonic f₁(t) = 2|F₁|·cos(t + arg F₁)."""
        return float(2 * abs(self.harmonics[1]))

    @cached_property
    def is_one_bit(self) -> bool:
        """Whether each contribution is +1 or −1, so that a row can be sent as bits."""
        return self.full_scale == 1 and np.array_equal(self.table, ONE_BIT_TABLE)

    @property
    def is_pure_tone(self) -> bool:
        """Whether there is nothing beyond the first harmonic: then a pair needs no dither, as in CKM."""
        return bool(np.abs(self.harmonics[2:]).max() < 1e-4 * abs(self.harmonics[1]))


def _evaluate(function: Callable[[Any], Any], angles: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Call a user's function on an array, or number by number where it cannot take one."""
    try:
        values = np.asarray(function(angles))
    except (TypeError, ValueError):
        values = np.asarray([function(float(angle)) for angle in angles])
    if values.shape != angles.shape or values.dtype.kind not in "biuf":
        raise SignatureError(
            f"Expected a function from phases to as many real numbers, got shape {values.shape} of {values.dtype}."
        )
    return values.astype(np.float64)


# Where in the turn each table entry lies: the middle of its part, in 65536ths. The built-in tables are made from these
# integers by exact or correctly rounded arithmetic, so that they do not depend on anybody's cosine.
_PARTS = np.arange(TABLE_SIZE)
_FROM_TOP = np.minimum(16 * _PARTS + 8, 65536 - (16 * _PARTS + 8))


def _table(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int16]:
    return np.rint(FULL_SCALE * values).astype(np.int16)


def multi_bit(bits: int) -> Signature:
    """Return the universal quantiser that keeps the `bits` least significant bits: a staircase of 2**bits levels.

    Its first stair is centred as sign(cos) is, which it equals for one bit.

    Examples
    --------
    >>> sorted(set(multi_bit(2).table.tolist()))
    [-32767, -10922, 10922, 32767]
    """
    if not 1 <= bits <= 8:
        raise SignatureError(f"Expected 1 to 8 bits, got {bits}: beyond 8, take the modulo signature.")
    top = 2**bits - 1
    stairs = (((_PARTS + TABLE_SIZE // 4) << bits) // TABLE_SIZE) & top
    if bits == 1:
        return Signature(ONE_BIT, (1 - 2 * stairs).astype(np.int16), full_scale=1)
    return Signature(f"{bits}-bit", _table((top - 2 * stairs) / top))


SIGNATURES: dict[str, Callable[[], Signature]] = {
    "exponential": lambda: Signature("exponential", COSINE_TABLE),
    ONE_BIT: lambda: multi_bit(1),
    "2-bit": lambda: multi_bit(2),
    "3-bit": lambda: multi_bit(3),
    "4-bit": lambda: multi_bit(4),
    "triangle": lambda: Signature("triangle", _table(1 - _FROM_TOP / 16384)),
    "modulo": lambda: Signature("modulo", _table((2 * _PARTS + 1) / TABLE_SIZE - 1)),
}


# A name of `SIGNATURES`, a signature, or a function of radians that is to be one.
SignatureLike = str | Signature | Callable[[Any], Any]


def get(signature: SignatureLike) -> Signature:
    """Return the signature of that name, of that function, or the signature itself.

    Examples
    --------
    >>> round(get("exponential").amplitude, 4)
    1.0
    """
    if isinstance(signature, Signature):
        return signature
    if callable(signature):
        return Signature.from_function(signature)
    if signature not in SIGNATURES:
        raise SignatureError(f"Expected a function, or a signature among {', '.join(SIGNATURES)}, got {signature!r}.")
    return _built_in(signature)


@cache
def _built_in(name: str) -> Signature:
    """Make a signature once: it cannot be changed."""
    return SIGNATURES[name]()
