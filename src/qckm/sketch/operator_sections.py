"""The sections of a file that hold its operator (file-format.md).

One says what is common to all operators. Frequencies and dither have a section of their own: a recipe that they are
made from again, or inline, every number of them. Files of one operator are mostly read one after the other: it is made
once for all of them that are held.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Array, Floats, sha256
from qckm.errors import FileError
from qckm.kernels.reference import TABLE_SIZE
from qckm.operator import Operator, signatures
from qckm.operator.codes import MOST_COMPONENTS, MOST_FEATURES, Codes, Recipe, count_octaves
from qckm.operator.request import Dither
from qckm.operator.signatures import Signature
from qckm.operator.structured import StructuredCodes, block_size, unpack_signs
from qckm.sketch import packed
from qckm.sketch.packed import Cursor, varint

INLINE, OPERATOR, RECIPE, NAMES, OCTAVES, RANGES = b"I", b"O", b"R", b"n", b"o", b"r"
TAGS = (INLINE, OPERATOR, RECIPE, NAMES, OCTAVES, RANGES)
_FINGERPRINT = 8  # bytes: they tell an operator that came out otherwise than its writer's
_LARGEST = 1 << 48  # of n and m: keeps sizes far from overflow
_FURTHEST = 1 << 60  # steps from 0 to an origin that is written as a whole number of them
_DENSE, _STRUCTURED = range(2)
# Signatures and laws that are written as a number. The list may grow at its end.
_WORDS = (
    "custom", "one-bit", "exponential", "2-bit", "3-bit", "4-bit", "triangle", "modulo", "gaussian", "folded-gaussian",
    "adapted-radius", "concentrated-radius", "balanced-radius", "integer-gaussian", "integer-concentrated",
    "integer-balanced",
)  # fmt: skip
_DITHERS: tuple[Dither, ...] = ("single", "paired")

OperatorType = TypeVar("OperatorType", bound=Operator)

_held: WeakValueDictionary[bytes, Any] = WeakValueDictionary()


def sections_of(operator: Operator) -> dict[bytes, bytes]:
    """Return the sections that an operator makes."""
    found = {OPERATOR: operator.short_fingerprint + _facts(operator)}
    codes = operator.codes
    if codes.recipe is not None:
        found[RECIPE] = _recipe(codes.recipe)
    else:
        found[INLINE] = _inline(operator)
        if codes.octaves != octaves_that_seem(codes.frequency_codes, operator.law):
            found[OCTAVES] = varint(codes.octaves)
    if operator.feature_names is not None:
        found[NAMES] = b"".join(map(packed.text, operator.feature_names))
    if operator.ranges is not None:
        found[RANGES] = b"".join(map(packed.floats, operator.ranges))
    return found


def octaves_that_seem(codes: npt.NDArray[np.int16] | StructuredCodes, law: str) -> int:
    """Return how many octaves inline frequencies have where a file does not say it, and no file did at first."""
    return 1 if isinstance(codes, StructuredCodes) or law == "custom" else count_octaves(codes)


def operator_of(sections: Mapping[bytes, memoryview], kind: type[OperatorType]) -> OperatorType:
    """Return the operator, an object of that class, of a file's sections, if they are as `sections_of` writes them."""
    own = {tag: bytes(sections[tag]) for tag in TAGS if tag in sections}
    key = sha256(b"".join(tag + varint(len(content)) + content for tag, content in own.items())).digest()
    found: OperatorType | None = _held.get(key)
    if found is None:
        found = _held[key] = _made(own, kind)
    return found


def may_be_of(sections: Mapping[bytes, memoryview], operator: Operator) -> bool:
    """Return whether sections claim to be of an operator: by its fingerprint, and no larger than it."""
    own = operator.short_fingerprint + varint(operator.n_features) + varint(operator.n_frequencies)
    return bytes(sections.get(OPERATOR, b"")[: len(own)]) == own


def _made(own: dict[bytes, bytes], kind: type[OperatorType]) -> OperatorType:
    if OPERATOR not in own or (INLINE in own) == (RECIPE in own):
        raise FileError("Expected an operator, section O, and its frequencies, section I or R.")
    cursor = Cursor(own[OPERATOR])
    fingerprint, facts = bytes(cursor.take(_FINGERPRINT)), _read_facts(cursor)
    cursor.end()
    n, m = facts.shape
    cursor = Cursor(own[RECIPE] if RECIPE in own else own[INLINE])
    octaves = Cursor(own[OCTAVES]).varint() if OCTAVES in own else None
    codes = _read_recipe(cursor, n, m) if RECIPE in own else _read_inline(cursor, n, m, facts.law, octaves)
    cursor.end()
    names = ranges = None
    if NAMES in own:
        cursor = Cursor(own[NAMES])
        names = tuple(cursor.text() for _ in range(n))
        cursor.end()
    if RANGES in own:
        cursor = Cursor(own[RANGES])
        ranges = cursor.floats(n), cursor.floats(n)
        cursor.end()
    operator = kind(codes, *facts[1:], names, ranges)
    if operator.short_fingerprint != fingerprint:
        raise FileError("The operator's fingerprint does not match the file's: it was not written by qckm.")
    if sections_of(operator) != own:
        raise FileError("The operator is not written as the format says.")
    return operator


class _Facts(NamedTuple):
    """(n, m), and then the fields of an operator that are no frequencies, in their order."""

    shape: tuple[int, int]
    steps: Floats
    origin: Floats
    signature: Signature
    dither: Dither
    law: str
    scale: float | None
    units: Floats


def _facts(operator: Operator) -> bytes:
    signature = operator.signature
    table = b"" if _is_built_in(signature) else signature.table.astype("<i2").tobytes()
    exponents = np.frexp(operator.steps)[1].astype(np.int64) - 1
    units = b"" if (operator.units == 1).all() else packed.floats(operator.units)
    return b"".join(
        [
            varint(operator.n_features),
            varint(operator.n_frequencies),
            varint(_DITHERS.index(operator.dither)),
            packed.word(signature.name, _WORDS),
            varint(len(table) > 0) + table,
            packed.word(operator.law, _WORDS),
            packed.floats(np.array([operator.scale or 0.0])),
            packed.signed(exponents),
            _origin(operator),
            varint(len(units) > 0) + units,
        ]
    )


def _origin(operator: Operator) -> bytes:
    """Return the origin in steps; in data units where it is too far away for that."""
    steps = operator.origin / operator.steps
    if (np.abs(steps) < _FURTHEST).all():
        return varint(0) + packed.signed(steps.astype(np.int64))
    return varint(1) + packed.floats(operator.origin + 0.0)  # no −0


def _read_facts(cursor: Cursor) -> _Facts:
    n, m, paired = (cursor.varint() for _ in range(3))
    if not 0 < n < _LARGEST or not 0 < m < _LARGEST or paired >= len(_DITHERS):
        raise FileError(f"Expected n, m >= 1 and a dither of 0 or 1, got {n}, {m} and {paired}.")
    name = cursor.word(_WORDS)
    signature = Signature(name, cursor.array("<i2", TABLE_SIZE)) if cursor.varint() else signatures.get(name)
    law, scale = cursor.word(_WORDS), float(cursor.floats(1)[0])
    with np.errstate(all="ignore"):  # steps that are none are refused with the operator
        steps = np.ldexp(1.0, np.clip(cursor.signed(n), -2000, 2000).astype(np.int32))
        origin = cursor.floats(n) if cursor.varint() else cursor.signed(n).astype(np.float64) * steps
    units = cursor.floats(n) if cursor.varint() else np.ones(n)
    return _Facts((n, m), steps, origin, signature, _DITHERS[paired], law, scale or None, units)


def _inline(operator: Operator) -> bytes:
    codes = operator.frequency_codes
    dither = operator.dither_codes.astype("<i4").view(np.uint8).reshape(-1, 4)[:, :3]  # 24 bits each
    if isinstance(codes, StructuredCodes):
        arrays = [codes.packed_signs(), codes.factors.astype("<i4"), codes.radii.astype("<i4"), dither]
        return varint(_STRUCTURED) + b"".join(array.tobytes() for array in arrays)
    return varint(_DENSE) + codes.astype("<i2").tobytes() + dither.tobytes()


def _read_inline(cursor: Cursor, n: int, m: int, law: str, octaves: int | None) -> Codes:
    codes: Array | StructuredCodes
    if cursor.varint() == _STRUCTURED:
        size = block_size(n)
        signs = cursor.array("u1", -(-m // size) * 3 * (size // 8)).reshape(-1, 3, size // 8)
        codes = StructuredCodes(unpack_signs(signs), cursor.array("<i4", n), cursor.array("<i4", m))
    else:
        codes = cursor.array("<i2", n * m).reshape(n, m)
    three = cursor.array("u1", 3 * m).reshape(m, 3).astype(np.int32)
    octaves = octaves_that_seem(codes, law) if octaves is None else octaves
    return Codes(codes, three[:, 0] | three[:, 1] << 8 | three[:, 2] << 16, octaves)


def _recipe(recipe: Recipe) -> bytes:
    gains, factors = recipe.gains, recipe.factors
    same = bool((gains == gains[0]).all())
    parts = [
        varint((_STRUCTURED if factors is not None else _DENSE) + 2 * recipe.dithered),
        varint(recipe.octaves) + varint(recipe.degrees) + recipe.seed.to_bytes(8, "little"),
        varint(same) + (varint(int(gains[0])) if same else packed.whole(gains)),
    ]
    if factors is not None:
        own = bool((factors != 1).any())
        parts.append(varint(own) + (packed.whole(factors.astype(np.int64)) if own else b""))
    return b"".join(parts)


def _read_recipe(cursor: Cursor, n: int, m: int) -> Codes:
    kind, octaves, degrees = (cursor.varint() for _ in range(3))
    seed, structured = int.from_bytes(cursor.take(8), "little"), kind & 1 == _STRUCTURED
    if m * (1 if structured else n) > MOST_COMPONENTS or n > MOST_FEATURES:
        raise FileError(f"Expected a recipe of at most {MOST_COMPONENTS} numbers, got one of {n} by {m}.")
    count = 1 if structured else n
    gains = np.full(count, cursor.varint()) if cursor.varint() else _as_int64(cursor.whole(count))
    factors = None
    if structured:
        wide = _as_int64(cursor.whole(n)) if cursor.varint() else np.ones(n, np.int64)
        if (wide >> 16).any():
            raise FileError("Expected factors of structured frequencies from 1 to 32768.")
        factors = wide.astype(np.int32)
    recipe = Recipe(n, m, seed, degrees, gains, octaves, kind >> 1 == 1, factors)
    return Codes.made_from(recipe)


def _as_int64(numbers: Array) -> npt.NDArray[np.int64]:
    if numbers.dtype == object:
        raise FileError("Expected gains and factors of a recipe below 2**31.")
    return numbers.astype(np.int64)


def _is_built_in(signature: Signature) -> bool:
    if signature.name not in signatures.SIGNATURES:
        return False
    known = signatures.get(signature.name)
    return known is signature or (
        known.full_scale == signature.full_scale and np.array_equal(known.table, signature.table)
    )
